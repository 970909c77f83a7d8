#pragma once

#include "tilebeat/base/activity.h"
#include "tilebeat/observe/ledger.h"
#include "tilebeat/observe/statistics.h"
#include "tilebeat/report/energy.h"
#include "tilebeat/workload/bound_cycles.h"
#include "tilebeat/workload/workload.h"

#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tilebeat {

/// Cycles of one module over a run or a layer, in its own clock domain; the activities sum to `cycles` (SPEC
/// CY-1).
struct ModuleCycles {
  std::string name;
  std::string clock;  ///< "npu" or "dram"
  Cycle cycles = 0;
  ActivityCycles activity{};
};

/// One counter of one module.
struct Counter {
  std::string module, name, unit;
  std::int64_t value = 0;
};

/// One element that differs from what it should be.
struct CheckDifference {
  std::string layer, against;  ///< "reference" or "expected"
  std::vector<std::int64_t> index;
  std::int32_t wanted = 0, got = 0;
};

/// What one layer took (SPEC UI-4).
struct LayerResult {
  std::string name, op, scene, dataflow;
  Cycle cycles = 0;  ///< from the previous layer's last completion to its own
  std::int64_t beats = 0;
  std::int64_t macs = 0;            ///< useful ones
  std::optional<MacLosses> losses;  ///< of the beats, where the engine tells them
  double utilization = 0;           ///< macs / (array_cycles() * a core's peak)
  /// Of all cores' PE arrays together: beats are busy, everything else is a stall. Sums to the layer's cycles
  /// of every core: `cycles` where the program lets no core begin a layer before all have ended the one
  /// before.
  ActivityCycles activity{};
  MemoryBytes bytes;
  std::int64_t results = 0;      ///< that were requantised, or that vector units made
  std::int64_t activations = 0;  ///< of rows of DRAM
  EnergyParts energy;
  BoundCycles bound;                ///< analytical
  Cycle estimated_cycles = 0;       ///< what the planner expected (SPEC MA-3); 0: nothing was known
  std::vector<std::string> layers;  ///< of the workload, of a fused unit
  std::vector<std::pair<std::string, std::string>> facts;  ///< what its engine tells of it: name and text
  std::string check = "off";                               ///< "passed", "failed" or "off"
  std::optional<Quality> quality;  ///< of its output against a float network's, where the workload has one
  std::string busiest;             ///< the module that was busy for the greatest share of the layer's cycles
  double busiest_share = 0;        ///< that share

  Cycle array_cycles() const { return std::accumulate(activity.begin(), activity.end(), Cycle{0}); }
};

/// What one core did over a run (SPEC HI-5).
struct CoreResult {
  std::string name;
  std::int64_t macs = 0;   ///< useful ones
  double utilization = 0;  ///< macs / (cycles * the core's peak)
  Cycle busy = 0;          ///< cycles of its PE array
  Cycle barrier = 0;       ///< cycles that its processor waited at barriers
  Cycle peer = 0;          ///< cycles that its processor waited for signals
};

/// A layer of the workload, and what it reads: other layers and inputs, by name.
struct LayerInputs {
  std::string name, op;
  std::vector<std::string> inputs;
};

/// Bytes that a memory holds over time (SPEC UI-8).
struct HeldByMemory {
  std::string module;
  std::int64_t bytes = 0;          ///< that it has
  std::vector<std::int64_t> held;  ///< in any cycle of each slice
};
struct MemoryOverTime {
  Cycle slice_cycles = 0;
  std::vector<HeldByMemory> memories;  ///< those that held anything
};

/// Everything a run found out, as plain values.
struct RunResult {
  std::string workload, hardware, granularity, dataflow;
  std::int64_t peak_macs_per_clock = 0;
  double clock_mhz = 1000;  ///< of the NPU
  int cores = 1;
  Cycle cycles = 0;
  std::int64_t macs = 0;
  std::optional<MacLosses> losses;  ///< as those of layers
  double utilization = 0;
  MemoryBytes bytes;
  std::int64_t results = 0, activations = 0;  ///< likewise
  EnergyResult energy;
  std::vector<LayerResult> layers;
  std::vector<CoreResult> core_results;  ///< of a chip
  std::vector<ModuleCycles> modules;
  std::vector<Counter> counters;
  std::vector<LayerInputs> graph;         ///< of the workload; empty for programs by hand
  MemoryOverTime memory_over_time;        ///< of the scratchpads of a chip
  std::map<std::string, Tensor> outputs;  ///< every layer's output
  std::vector<std::string> written;       ///< layers whose outputs are written as files
  std::vector<CheckDifference> differences;
  std::vector<std::string> failures;  ///< broken invariants, simulation errors: one line or more each
  bool passed() const { return differences.empty() && failures.empty(); }
};

}  // namespace tilebeat
