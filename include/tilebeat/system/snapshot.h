#pragma once

#include "tilebeat/engines/switch_array/sim/engine.h"
#include "tilebeat/engines/wfold/sim/engine.h"
#include "tilebeat/fabric/dram_controller.h"
#include "tilebeat/fabric/interconnect.h"
#include "tilebeat/fabric/scratchpad.h"
#include "tilebeat/report/run_result.h"
#include "tilebeat/sim/context.h"

#include <functional>
#include <string>
#include <vector>

namespace tilebeat {

/// A memory cell that stores some bits flipped (SPEC CY-3: corrupting one byte must fail the check).
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
  std::vector<Fault> faults;  ///< of the input banks (W-fold: of the NRAM's); in a chip, of its first core
  std::uint32_t jitter_seed = 0;       ///< 0: no random delta delays (SPEC CY-4)
  std::uint32_t build_order_seed = 0;  ///< 0: modules are built in their usual order
  std::function<void(Cycle now, std::size_t layers_done)> progress;  ///< called now and then; may be empty
};

/// All counters and ledgers of a chip at one instant.
struct Snapshot {
  Cycle at = 0;
  std::vector<ModuleCycles> modules;
  std::vector<Counter> counters;
  MemoryBytes bytes;
  ActivityCycles array{};  ///< of all PE arrays together
  std::int64_t beats = 0, macs = 0;

  void count(std::string module, const char* name, const char* unit, std::int64_t value) {
    counters.push_back({std::move(module), name, unit, value});
  }
};

// Add the statistics of parts, as of clock `at`, to a snapshot. `prefix` is the name of what contains the
// part, with a dot behind it, or empty.
void collect_ledger(Snapshot& snapshot, const std::string& name, CycleLedger& ledger, Cycle at);
void collect_engine(Snapshot& snapshot, const std::string& prefix, SwitchArrayEngine& engine);
void collect_wfold(Snapshot& snapshot, const std::string& prefix, const WfoldEngine& engine);
void collect_bus(Snapshot& snapshot, const std::string& name, Interconnect& bus, Cycle at);
void collect_dram(Snapshot& snapshot, const std::string& name, DramController& dram, Picoseconds at);
void collect_scratchpad(Snapshot& snapshot, const std::string& name, const Scratchpad& memory,
                        std::int64_t& read, std::int64_t& write);

}  // namespace tilebeat
