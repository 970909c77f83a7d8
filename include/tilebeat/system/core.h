#pragma once

#include "tilebeat/fabric/interconnect.h"
#include "tilebeat/fabric/scratchpad.h"
#include "tilebeat/system/simulation_options.h"
#include "tilebeat/system/snapshot.h"
#include "tilebeat/system/unit_probes.h"
#include "tilebeat/units/command_processor.h"
#include "tilebeat/units/copy_engine.h"
#include "tilebeat/units/matrix_unit.h"
#include "tilebeat/units/vector_unit.h"

#include <memory>

#include <systemc>

namespace tilebeat {

/// A core (SPEC HI-2): command processor, matrix unit, vector unit, NRAM and WRAM behind a bus, IODMA and
/// MVDMA. Bus and command processor are made from what the matrix unit and the other units list.
class Core : public sc_core::sc_module {
 public:
  /// `core` is its number in the chip, `processor` that of its command processor.
  Core(sc_core::sc_module_name name, const SimContext& context, const HardwareConfig& hardware, int core,
       int processor, const SimulationOptions& options, BuildOrder& order);

  std::unique_ptr<CommandProcessor> control;
  std::unique_ptr<CopyEngine> iodma, mvdma;  ///< their outer ports are the core's
  std::unique_ptr<Interconnect> bus;         ///< its last initiator port takes broadcasts

  /// The matrix unit's ports to the chip's interconnect.
  std::vector<NamedPort> dram_ports() { return matrix_->dram_ports(); }
  const Scratchpad& nram() const { return *nram_; }
  const Scratchpad& wram() const { return *wram_; }
  /// A fault of SimulationOptions that is in this core.
  void inject_fault(const MemoryFault& fault);
  SC_HAS_PROCESS(Core);

  /// Adds what its parts have counted, and what the core did as a whole: as of the snapshot's cycle or, when
  /// the core computes for a layer that it has not ended, as of the cycle in which it began to.
  void collect(Snapshot& snapshot);
  Cycle settled_at();
  /// Shows all ledgers.
  void probe(UnitProbes& probes);

 private:
  void visit(StatVisitor& visitor);
  void count(Snapshot& snapshot);
  void record_begin();

  SimContext context_;
  sc_core::sc_event begun_;
  Snapshot at_begin_;  ///< the core's part, when it began to compute for the layer it has not ended yet
  std::unique_ptr<Scratchpad> nram_, wram_;
  std::unique_ptr<VectorUnit> vector_;
  std::unique_ptr<MatrixUnit> matrix_;
};

}  // namespace tilebeat
