#pragma once

#include "tilebeat/fabric/burst_port.h"
#include "tilebeat/fabric/message.h"
#include "tilebeat/observe/ledger.h"
#include "tilebeat/sim/context.h"
#include "tilebeat/sim/next_clock.h"
#include "tilebeat/units/command_processor.h"

#include <cstdint>
#include <vector>

#include <systemc>

namespace tilebeat {

/// Starts all processors of a program at the host's one word (SPEC HI-5, `host.start` = "table"): reads a
/// table of programs from DRAM and hands each entry to its processor over a wire of its own.
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

  tlm_utils::simple_target_socket_tagged<StartUnit> registers;  ///< behind the interconnect
  BurstPort port;
  sc_core::sc_vector<tlm_utils::simple_initiator_socket_tagged<StartUnit>> to;  ///< one a processor

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
  MessageSender send_;
};

}  // namespace tilebeat
