#pragma once

#include "config/hardware_config.h"
#include "fabric/scratchpad.h"
#include "isa/instruction.h"
#include "observe/statistics.h"
#include "sim/context.h"
#include "units/commanded_unit.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <systemc>

namespace tilebeat {

/// The size of an instruction's work, as far as the unit knows it.
struct WorkSize {
  std::optional<std::int64_t> bytes = {};  ///< moved
  std::optional<std::int64_t> macs = {};   ///< useful multiply-accumulates
};

/// Shows in the timeline, if there is one, that `module` worked on `instruction` in the cycles [begin, end).
void show_work(const SimContext& context, const sc_core::sc_module& module, const Instruction& instruction,
               Cycle begin, Cycle end, const WorkSize& size);

/// A memory cell that stores some bits flipped (SPEC CY-3: corrupting one byte must fail the check), or, with
/// a time, whose bits flip once (an upset).
struct Fault {
  int bank = 0;
  std::int64_t address = 0;  ///< byte within the bank
  std::uint8_t mask = 1;
  std::optional<Cycle> at = {};  ///< an upset at the beginning of this cycle
};

/// Injects a fault into a bank.
inline void inject(const Fault& fault, SramBank& bank) {
  if (fault.at)
    bank.upset(fault.address, fault.mask, *fault.at);
  else
    bank.inject_fault(fault.address, fault.mask);
}

/// A matrix engine as a core or a board sees it (SPEC HI-2): the engine with everything between it and the
/// memories. It is not a module itself: its parts are modules of the core or board in whose constructor it is
/// made. Its owner binds the sockets and ports that it lists, and knows nothing else of it.
class MatrixUnit {
 public:
  virtual ~MatrixUnit() = default;

  /// Its ports to the memories, in the order of arbitration.
  virtual std::vector<NamedPort> memory_ports() = 0;
  /// Its ports to the chip's interconnect, in a core only: those that its description names, in that order.
  virtual std::vector<NamedPort> dram_ports() { return {}; }
  /// The units that the command processor commands, in the order of its sockets.
  virtual std::vector<UnitSockets> units() = 0;
  /// Number of ports of its own at every bank of NRAM and of WRAM (Scratchpad::engine_port).
  virtual int nram_ports() const { return 0; }
  virtual int wram_ports() const { return 0; }
  /// Bytes of an access to a region of WRAM (Scratchpad::region_port); 0: WRAM has no regions.
  virtual int region_port_bytes() const { return 0; }
  /// Whether NRAM and WRAM are blocks of one memory, whose ports both use (Scratchpad::divide).
  virtual bool divides_memory() const { return false; }
  /// Called once in a core: binds the ports to its memories that bypass the bus.
  virtual void bind_memories(Scratchpad& /*nram*/, Scratchpad& /*wram*/) {}
  /// Passes all counters of its parts to `visitor`.
  virtual void visit(StatVisitor& visitor) = 0;
  /// Called between two runs: tables in memory may be replaced, so that none is held any more.
  virtual void forget_tables() {}
  /// Injects a fault into cells of its own, if the engine's configuration describes such
  /// (EngineConfig::fault_space).
  virtual void inject_fault(const Fault& /*fault*/) {}
  /// Injects an upset into a register of its PEs (EngineConfig::pe_space), in clock granularity.
  virtual void upset_pe(const Fault& /*upset*/) {}
  /// Called when a cell of its core's memories is faulty: the unit must compute with the words that it reads,
  /// even where it knows what was written.
  virtual void read_every_word() {}
};

/// The arguments of make_matrix_unit; outlives the call.
struct MatrixUnitContext {
  const SimContext& context;
  const HardwareConfig& hardware;
  BuildOrder& order;
  Granularity granularity = Granularity::kTile;
  bool trace_accumulators = false;
  std::string channel_prefix;  ///< prefix of the names of the engine's DMA channels
  std::uint64_t nram = 0;      ///< address of the core's NRAM
};

/// The unit of the engine that `hardware.dataflow` names, its parts built in any order and bound to one
/// another. Defined by the list of engines (engines/list.h), not by this level.
std::unique_ptr<MatrixUnit> make_matrix_unit(const MatrixUnitContext& context);

}  // namespace tilebeat
