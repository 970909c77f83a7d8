#pragma once

#include "tilebeat/engine/control/command_processor.h"
#include "tilebeat/engine/control/host.h"
#include "tilebeat/engine/dma/read_channel.h"
#include "tilebeat/engine/dma/store_channel.h"
#include "tilebeat/fabric/dram_controller.h"
#include "tilebeat/fabric/interconnect.h"
#include "tilebeat/planner/plan.h"
#include "tilebeat/report/run_result.h"
#include "tilebeat/system/switch_array_engine.h"

#include <memory>
#include <vector>

#include <systemc>

namespace tilebeat {

/// A bank cell that stores some bits flipped (SPEC CY-3: corrupting one byte must fail the check).
struct Fault {
  int bank = 0;
  std::int64_t address = 0;  ///< byte within the bank, both copies
  std::uint8_t mask = 1;
};

/// What a simulation is asked for, besides workload and hardware.
struct SimulationOptions {
  Granularity granularity = Granularity::kTile;
  Observers observers;
  bool trace_accumulators = false;
  std::vector<Fault> faults;
  std::uint32_t jitter_seed = 0;       ///< 0: no random delta delays (SPEC CY-4)
  std::uint32_t build_order_seed = 0;  ///< 0: modules are built in their usual order
  std::function<void(Cycle now, std::size_t layers_done)> progress;  ///< called now and then; may be empty
};

/// All counters and ledgers of the chip at one instant.
struct Snapshot {
  Cycle at = 0;
  std::vector<ModuleCycles> modules;
  std::vector<Counter> counters;
  MemoryBytes bytes;
  ActivityCycles array{};
  std::int64_t beats = 0, macs = 0;
};

/// The system on chip of document 000 figure 6 [0224-0228]: host CPU, DDR behind its controller, AXI-like
/// interconnect, and the switch-array engine with its DMA control.
class Soc : public sc_core::sc_module {
 public:
  Soc(sc_core::sc_module_name name, const HardwareConfig& hardware, const Plan& plan,
      const SimulationOptions& options, DeltaJitter* jitter);

  /// Reads and writes DRAM without time passing.
  void write_memory(std::uint64_t address, const std::vector<std::uint8_t>& bytes);
  std::vector<std::uint8_t> read_memory(std::uint64_t address, std::int64_t bytes);
  /// All programs have run.
  bool finished() const { return host_->finished(); }
  /// Snapshots at the end of each layer, in order of completion, with the layers' numbers.
  const std::vector<std::pair<std::uint32_t, Snapshot>>& layer_ends() const { return layer_ends_; }
  /// The counters and ledgers as they stand, up to the clock to which every ledger is settled.
  Snapshot snapshot_now();
  /// What every unit holds and waits for.
  std::string describe_state() const { return control_->describe_state(); }
  Cycle now() const { return context_.clock.cycle_of(now_ps()); }

 private:
  void build(const HardwareConfig& hardware, const Plan& plan, const SimulationOptions& options);
  void bind();
  std::vector<std::pair<const char*, CycleLedger*>> ledgers();
  Snapshot take_snapshot(Cycle at);
  void collect_ledgers(Snapshot& snapshot, Cycle at);
  void collect_fabric(Snapshot& snapshot, Cycle at);
  void collect_memories(Snapshot& snapshot);

  SimContext context_;
  BuildOrder order_;
  std::unique_ptr<Interconnect> interconnect_;
  std::unique_ptr<DramController> dram_;
  std::unique_ptr<Host> host_;
  std::unique_ptr<CommandProcessor> control_;
  std::unique_ptr<ReadChannel> load_, parameter_;
  std::unique_ptr<StoreChannel> store_;
  std::unique_ptr<SwitchArrayEngine> engine_;
  std::vector<std::pair<std::uint32_t, Snapshot>> layer_ends_;
};

}  // namespace tilebeat
