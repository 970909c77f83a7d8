#pragma once

#include "tilebeat/fabric/interconnect.h"
#include "tilebeat/fabric/scratchpad.h"
#include "tilebeat/fabric/write_bridge.h"
#include "tilebeat/system/matrix_unit.h"
#include "tilebeat/system/snapshot.h"
#include "tilebeat/units/command_processor.h"
#include "tilebeat/units/copy_engine.h"
#include "tilebeat/units/vector_unit.h"

#include <memory>

#include <systemc>

namespace tilebeat {

/// A core (SPEC HI-2): command processor, matrix unit, vector unit, NRAM and WRAM behind a bus, IODMA and
/// MVDMA. The switch array is the same engine as in the system on chip; its channels are bound to the core's
/// bus instead of DRAM.
class Core : public sc_core::sc_module {
 public:
  /// `core` is its number in the chip, `processor` that of its command processor.
  Core(sc_core::sc_module_name name, const SimContext& context, const HardwareConfig& hardware, int core,
       int processor, const SimulationOptions& options, BuildOrder& order);

  std::unique_ptr<CommandProcessor> control;
  std::unique_ptr<CopyEngine> iodma, mvdma;  ///< their outer ports are the core's
  std::unique_ptr<Interconnect> bus;         ///< its last initiator port takes broadcasts

  /// A fault of SimulationOptions.
  void inject_fault(const Fault& fault) { matrix_->inject_fault(fault, *nram_); }
  void collect(Snapshot& snapshot, Cycle at);
  Cycle settled_at();

 private:
  std::vector<std::pair<std::string, CycleLedger*>> ledgers();
  void bind(const std::string& dataflow);

  std::unique_ptr<Scratchpad> nram_, wram_;
  std::unique_ptr<VectorUnit> vector_;
  std::unique_ptr<MatrixUnit> matrix_;
};

/// The memory core of a cluster (SPEC HI-3): command processor, SRAM behind the cluster's bus, GDMA, CDMA,
/// and the broadcast bus to the cores with the DMA engine that feeds it.
class MemoryCore : public sc_core::sc_module {
 public:
  MemoryCore(sc_core::sc_module_name name, const SimContext& context, const HardwareConfig& hardware,
             int cluster, int processor, BuildOrder& order);

  std::unique_ptr<CommandProcessor> control;
  std::unique_ptr<CopyEngine> gdma, cdma, mvdma;  ///< the outer ports of gdma and cdma are the cluster's
  std::unique_ptr<WriteBridge> broadcast;         ///< one output a core
  std::unique_ptr<WriteBridge> cdma_in;           ///< takes writes of other clusters
  std::unique_ptr<Interconnect> bus;              ///< its first initiator ports are the cores' MVDMAs

  void collect(Snapshot& snapshot, Cycle at);
  Cycle settled_at();

 private:
  std::vector<std::pair<std::string, CycleLedger*>> ledgers();

  std::unique_ptr<Scratchpad> sram_;
};

}  // namespace tilebeat
