#pragma once

#include "tilebeat/fabric/interconnect.h"
#include "tilebeat/fabric/scratchpad.h"
#include "tilebeat/fabric/write_bridge.h"
#include "tilebeat/sim/build_order.h"
#include "tilebeat/system/snapshot.h"
#include "tilebeat/system/unit_probes.h"
#include "tilebeat/units/command_processor.h"
#include "tilebeat/units/copy_engine.h"
#include "tilebeat/units/matrix_unit.h"
#include "tilebeat/units/vector_unit.h"

#include <memory>
#include <vector>

#include <systemc>

namespace tilebeat {

/// The memory core of a cluster (SPEC HI-3): command processor, SRAM behind the cluster's bus, GDMA, CDMA,
/// and the broadcast bus to the cores with the DMA engine that feeds it. Options: one merged DMA engine
/// instead of these three; a scalar unit that adds, subtracts and multiplies in SRAM (document 001 [47]).
class MemoryCore : public sc_core::sc_module {
 public:
  MemoryCore(sc_core::sc_module_name name, const SimContext& context, const HardwareConfig& hardware,
             int cluster, int processor, BuildOrder& order);

  std::unique_ptr<CommandProcessor> control;
  std::unique_ptr<WriteBridge> broadcast;  ///< one output a core
  std::unique_ptr<WriteBridge> cdma_in;    ///< takes writes of other clusters
  std::unique_ptr<Interconnect> bus;       ///< its first initiator ports are the cores' MVDMAs

  /// The ports to DRAM and to the other clusters: those of GDMA and CDMA, or of the merged engine.
  BurstPort& dram_port() { return engines_.front()->outer; }
  BurstPort& link_port();

  /// A fault of the SRAM.
  const Scratchpad& sram() const { return *sram_; }
  void inject_fault(const Fault& fault) { sram_->inject_fault(fault.bank, fault.address, fault.mask); }
  /// Adds what its parts have counted, as of the snapshot's cycle.
  void collect(Snapshot& snapshot);
  Cycle settled_at();
  /// Shows all ledgers.
  void probe(UnitProbes& probes);

 private:
  void build_engines(const SimContext& context, const ChipConfig& chip, const std::vector<AddressRange>& map,
                     BuildOrder& order);
  BurstPort& broadcast_port();
  void visit(StatVisitor& visitor);

  std::unique_ptr<Scratchpad> sram_;
  std::vector<std::unique_ptr<CopyEngine>>
      engines_;                         ///< GDMA, CDMA, that of the broadcast; or the merged one
  std::unique_ptr<VectorUnit> scalar_;  ///< null: there is none
};

}  // namespace tilebeat
