#pragma once

#include "tilebeat/config/hardware_config.h"
#include "tilebeat/fabric/burst_port.h"
#include "tilebeat/fabric/message.h"
#include "tilebeat/observe/ledger.h"
#include "tilebeat/sim/context.h"
#include "tilebeat/sim/next_clock.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <systemc>

namespace tilebeat {

/// What the host starts: a program in memory and the processor that runs it, or a table of programs and the
/// start unit.
struct ProgramEntry {
  std::uint64_t registers = 0;  ///< address of the first register
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
};
/// Programs that run at the same time, one a processor, under a label (SPEC SW-6).
struct ProgramSet {
  std::string label;
  std::vector<ProgramEntry> programs;  ///< or the table of them
  std::size_t processors = 0;          ///< that interrupt at the end
};

/// Who lets a host begin.
enum class StartedBy : std::uint8_t {
  kItself,   ///< it begins in cycle 0
  kOutside,  ///< it begins when `Host::start` is called
};

/// The host CPU (document 000 [0227], 310): starts programs by writing the command processors' registers over
/// the interconnect, one set after the other, each when all programs of the previous one have interrupted.
///
/// Three register writes an entry of a set, first the addresses and lengths of all, then the starts;
/// `register_write_cycles` cycles of software before each.
class Host : public sc_core::sc_module {
  sc_core::sc_event wake_;  // declared first: the port notifies it

 public:
  BurstPort port;
  sc_core::sc_vector<tlm_utils::simple_target_socket_tagged<Host>> interrupts;  ///< one a processor

  /// The sets run in this order.
  Host(sc_core::sc_module_name name, const SimContext& context, const HostConfig& config,
       std::vector<ProgramSet> sets, int processors, StartedBy started_by = StartedBy::kItself);
  SC_HAS_PROCESS(Host);

  /// Begins in cycle `now`; of hosts that do not begin by themselves, once.
  void start(Cycle now);

  /// Observer: in the cycle `at` the last program had run.
  std::function<void(Cycle at)> on_finished;

  CycleLedger ledger;
  /// All programs have run.
  bool finished() const { return next_ == sets_.size(); }

 private:
  void take_interrupt(int processor, tlm::tlm_generic_payload& payload, sc_core::sc_time& delay);
  void step();

  SimContext context_;
  HostConfig config_;
  std::vector<ProgramSet> sets_;
  MethodGate gate_;
  bool started_;
  std::size_t next_ = 0;         // set
  std::size_t writes_done_ = 0;  // of the three of each of its entries
  std::size_t interrupted_ = 0;  // its programs that have ended
  Cycle write_at_ = 0;           // the next write is sent here
  bool write_under_way_ = false;
};

}  // namespace tilebeat
