#pragma once

#include "fabric/interconnect.h"
#include "fabric/scratchpad.h"
#include "fabric/write_bridge.h"
#include "sim/context.h"
#include "system/snapshot.h"
#include "system/system.h"
#include "system/unit_probes.h"
#include "units/command_processor.h"
#include "units/commanded_unit.h"
#include "units/copy_engine.h"
#include "units/matrix_unit.h"
#include "units/vector_unit.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <systemc>

namespace tilebeat {

/// A core (SPEC HI-2): command processor, matrix unit, vector unit, NRAM and WRAM behind a bus, IODMA and
/// MVDMA. Bus and command processor are made from what the matrix unit and the other units list.
class Core : public sc_core::sc_module, private RunWatch {
 public:
  /// `core` is its number in the chip, `processor` that of its command processor.
  Core(sc_core::sc_module_name name, const SimContext& context, const HardwareConfig& hardware, int core,
       int processor, const SimulationOptions& options, BuildOrder& order);

  std::unique_ptr<CommandProcessor> control;
  std::unique_ptr<CopyEngine> iodma, mvdma;  ///< the core uses their outer ports as its own
  std::unique_ptr<CopyEngine> iostore;       ///< likewise; null: IODMA also stores
  std::unique_ptr<Interconnect> bus;         ///< its last initiator port takes broadcasts

  /// The ports to the chip's interconnect of the matrix unit, and of the IODMA for stores if there is one.
  std::vector<NamedPort> dram_ports();
  const Scratchpad& nram() const { return *nram_; }
  const Scratchpad& wram() const { return wram_ ? *wram_ : nram_->second(); }
  /// A fault of SimulationOptions that is in this core.
  void inject_fault(const PlacedFault& fault);
  SC_HAS_PROCESS(Core);

  /// Adds the counts of its parts and of the core as a whole: as of the snapshot's cycle or, while the core
  /// works on a layer that it has not finished, as of the cycle in which it began that work.
  void collect(Snapshot& snapshot);
  Cycle settled_at();
  /// Shows all ledgers.
  void probe(UnitProbes& probes);
  /// The plan has no program for it: from now on its units account for that.
  void leave_unused();
  /// Tables in memory may be replaced: the matrix unit holds none any more.
  void forget_tables() { matrix_->forget_tables(); }

 private:
  void visit(StatVisitor& visitor);
  void count(Snapshot& snapshot);
  void record_begin();
  void matrix_begun(Cycle at) override;
  void layer_ended(std::uint32_t layer, Cycle at) override;

  Races races_;
  RunWatch* system_watch_;  ///< what else hears how programs advance; null: nothing
  SimContext context_;
  FaultSpace::Cells engine_cells_;  ///< where a fault of the engine is
  sc_core::sc_event begun_;
  Snapshot at_begin_;  ///< the core's part, when it began to compute for the layer it has not ended yet
  bool is_begin_recorded_ = false;  ///< `at_begin_` is of the work that began last
  Scratchpad& wram_block() { return wram_ ? *wram_ : nram_->second(); }
  std::unique_ptr<Scratchpad> nram_, wram_;  // wram_ is null where it is a block of nram_
  std::unique_ptr<VectorUnit> vector_;
  std::unique_ptr<MatrixUnit> matrix_;
};

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

  const Scratchpad& sram() const { return *sram_; }
  /// A fault of the SRAM.
  void inject_fault(const Fault& fault) { inject(fault, sram_->bank(fault.bank)); }
  /// Adds the counts of its parts, as of the snapshot's cycle.
  void collect(Snapshot& snapshot);
  Cycle settled_at();
  /// Shows all ledgers.
  void probe(UnitProbes& probes);
  /// As of Core.
  void leave_unused();

 private:
  void build_engines(const SimContext& context, const ChipConfig& chip, const std::vector<AddressRange>& map,
                     BuildOrder& order);
  BurstPort& broadcast_port();
  void visit(StatVisitor& visitor);

  std::unique_ptr<Scratchpad> sram_;
  /// GDMA, CDMA and the broadcast engine, or the merged engine.
  std::vector<std::unique_ptr<CopyEngine>> engines_;
  std::unique_ptr<VectorUnit> scalar_;  ///< null: there is none
};

// Buses and command processors are made from what their units list, and bound by the same lists.

template <class T>
std::vector<T> joined(std::vector<T> first, const std::vector<T>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

std::vector<std::string> names_of(const std::vector<NamedPort>& ports);
/// Binds each port that has a socket to the bus's initiator port of the same number.
void bind_ports(Interconnect& bus, const std::vector<NamedPort>& ports);

/// A command processor of these units; `registers` is the address of its registers.
std::unique_ptr<CommandProcessor> make_control(const SimContext& context, const HardwareConfig& hardware,
                                               const std::vector<UnitSockets>& units,
                                               std::uint64_t registers);
/// Binds the units that `control` was made for.
void bind_units(CommandProcessor& control, const std::vector<UnitSockets>& units);

}  // namespace tilebeat
