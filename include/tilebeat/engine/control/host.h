#pragma once

#include "tilebeat/config/hardware_config.h"
#include "tilebeat/fabric/burst_port.h"
#include "tilebeat/fabric/transport.h"
#include "tilebeat/observe/ledger.h"
#include "tilebeat/sim/context.h"

#include <cstdint>
#include <string>
#include <vector>

#include <systemc>

namespace tilebeat {

/// A program in memory under a label (SPEC SW-6).
struct ProgramEntry {
  std::string label;
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
};

/// The host CPU (document 000 [0227], 310): starts programs by writing the command processor's registers over
/// the interconnect, one after the other, each when the previous one has interrupted.
///
/// Three register writes a program; `register_write_cycles` clocks of software before each.
class Host : public sc_core::sc_module {
  sc_core::sc_event wake_;  // declared first: the port notifies it

 public:
  BurstPort port;
  tlm_utils::simple_target_socket<Host> interrupt;

  /// `programs` run in this order; `registers` is the address of the command processor's first register.
  Host(sc_core::sc_module_name name, const SimContext& context, const HostConfig& config,
       std::vector<ProgramEntry> programs, std::uint64_t registers);
  SC_HAS_PROCESS(Host);

  CycleLedger ledger;
  /// All programs have run.
  bool finished() const { return next_ == programs_.size(); }

 private:
  void take_interrupt(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay);
  void step();

  SimContext context_;
  HostConfig config_;
  std::vector<ProgramEntry> programs_;
  std::uint64_t registers_;
  MethodGate gate_;
  std::size_t next_ = 0;  // program
  int writes_done_ = 0;   // of the three of that program
  Cycle write_at_ = 0;    // the next write is sent here
  bool write_under_way_ = false;
  bool interrupted_ = false;
};

}  // namespace tilebeat
