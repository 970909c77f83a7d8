#pragma once

#include "config/hardware_config.h"
#include "fabric/burst_port.h"
#include "fabric/transport.h"
#include "observe/statistics.h"
#include "sim/clock.h"
#include "sim/context.h"
#include "units/command_processor.h"

#include <cstdint>
#include <string>
#include <vector>

#include <systemc>

namespace tilebeat {

/// Starts all processors of a program on one command of the host (SPEC HI-5, `host.start` = "table"): reads a
/// table of programs from DRAM and sends each entry to its processor over a wire of its own.
///
/// Registers are those of a command processor: the table's address, its length in bytes, start. An entry has
/// kEntryBytes: the program's address (8 bytes), its length in bytes (4) and the processor's number (4),
/// little-endian. Entries come in bursts of four, two bursts under way. Throughput: one entry a cycle, from
/// the cycle after its burst has arrived; the processor begins to fetch as if its start register had been
/// written in that cycle. What is wrong with a table (an entry cut off, a processor that is not there, one
/// that runs) ends the simulation with a SimulationError.
class StartUnit : public sc_core::sc_module {
  sc_core::sc_event wake_;  // declared first: the port notifies it

 public:
  static constexpr int kEntryBytes = 16;

  tlm_utils::simple_target_socket_tagged<StartUnit> registers;  ///< target behind the interconnect
  BurstPort port;
  sc_core::sc_vector<MessageInitiator<ProgramStart>> to;  ///< one a processor

  /// `base` is the address of the first register.
  StartUnit(sc_core::sc_module_name name, const SimContext& context, int processors, std::uint64_t base);
  SC_HAS_PROCESS(StartUnit);

  CycleLedger ledger;  ///< busy: a processor was started

 private:
  tlm::tlm_sync_enum write_register(int, tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                    sc_core::sc_time& delay);
  void step();
  void begin();
  void request(Cycle now);
  void give(Cycle now);

  SimContext context_;
  MethodGate gate_;
  CommandRegisters table_;
  Cycle start_at_ = -1;                // a write to kStart takes effect here
  std::uint64_t next_ = 0, end_ = 0;   // bytes of the table that are not requested
  std::uint64_t left_ = 0;             // bytes of the table that are not given
  std::vector<std::uint8_t> arrived_;  // and not given
};

/// An entry that the host starts with one sequence of register writes: a program in memory and the processor
/// that runs it, or a table of programs and the start unit.
struct ProgramEntry {
  std::uint64_t registers = 0;  ///< address of the first register
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
};
/// Programs that run at the same time under a label, one per processor (SPEC SW-6).
struct ProgramSet {
  std::string label;
  std::vector<ProgramEntry> programs;  ///< or the table of the programs
  std::size_t processors = 0;          ///< processors that interrupt at the end
};

/// The cause that lets a host begin.
enum class StartedBy : std::uint8_t {
  kItself,   ///< the host begins in cycle 0
  kOutside,  ///< the host begins when `Host::start` is called
};

/// The host CPU (document 000 [0227], 310): starts programs by writing the command processors' registers over
/// the interconnect, one set after the other, each when all programs of the previous one have interrupted.
///
/// Between two sets its software may compute layers of a network, which takes no cycles: it tells its watch.
///
/// Three register writes an entry of a set, first the addresses and lengths of all, then the starts;
/// `register_write_cycles` cycles of software before each.
class Host : public sc_core::sc_module {
  sc_core::sc_event wake_;  // declared first: the port notifies it

 public:
  BurstPort port;
  sc_core::sc_vector<MessageTarget<ProgramEnd>> interrupts;  ///< one a processor

  /// `sets` run in this order.
  Host(sc_core::sc_module_name name, const SimContext& context, const HostConfig& config,
       std::vector<ProgramSet> sets, int processors, StartedBy started_by = StartedBy::kItself);
  SC_HAS_PROCESS(Host);

  /// Begins in cycle `now`; called once a run, for hosts that do not begin by themselves.
  void start(Cycle now);
  /// `sets` run after the next start; the host has not begun, or has finished.
  void follow(std::vector<ProgramSet> sets);

  CycleLedger ledger;
  /// Whether all programs have run.
  bool finished() const { return next_ == sets_.size(); }

 private:
  void take_interrupt(ProgramEnd& message, sc_core::sc_time& delay);
  void step();

  SimContext context_;
  HostConfig config_;
  std::vector<ProgramSet> sets_;
  MethodGate gate_;
  bool started_;
  bool began_ = false;
  std::size_t next_ = 0;         // set
  std::size_t writes_done_ = 0;  // register writes of the set that are done, three per entry
  std::size_t interrupted_ = 0;  // its programs that have ended
  Cycle write_at_ = 0;           // the next write is sent here
  bool write_under_way_ = false;
};

}  // namespace tilebeat
