#pragma once

#include "base/activity.h"
#include "observe/statistics.h"
#include "workload/workload.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tilebeat {

struct HardwareConfig;
struct RunResult;

/// Energies by their parts, in pJ (SPEC UI-10).
struct EnergyParts {
  double macs = 0;      ///< useful multiply-accumulates
  double results = 0;   ///< requantisation, and the operations of vector units
  double decoding = 0;  ///< of weights of four bits
  double buffers = 0;   ///< energy of the engines' buffers
  double nram = 0, wram = 0, sram = 0;
  double bus = 0;  ///< interconnects on chip
  double dram = 0;
  double leakage = 0;

  double total() const;
};

/// The parts by their names in reports.
struct EnergyPart {
  std::string_view name, meaning;
  double EnergyParts::*value;
};
constexpr std::array<EnergyPart, 10> kEnergyParts{{
    {"macs", "useful multiply-accumulates", &EnergyParts::macs},
    {"results", "requantisation, and the operations of vector units", &EnergyParts::results},
    {"decoding", "weights of four bits that become int8", &EnergyParts::decoding},
    {"buffers", "buffers of the engines", &EnergyParts::buffers},
    {"nram", "memories for maps and results", &EnergyParts::nram},
    {"wram", "memories for kernels", &EnergyParts::wram},
    {"sram", "memories of the clusters", &EnergyParts::sram},
    {"bus", "bytes over interconnects", &EnergyParts::bus},
    {"dram", "bytes over DRAM buses, rows that are opened", &EnergyParts::dram},
    {"leakage", "idle area, all the time", &EnergyParts::leakage},
}};

/// Area of what is on the chip, in mm2: without control and the controllers of DRAM.
struct Area {
  /// Of all cores: multiply-accumulate units, result units of the engines' post-processing, lanes of vector
  /// units, buffers of the engines, memories.
  double macs = 0, results = 0, lanes = 0, buffers = 0, nram = 0, wram = 0;
  double sram = 0;   ///< of all clusters
  double dma = 0;    ///< landing buffers of the copy engines of cores and clusters, and all decoders
  double buses = 0;  ///< a register and a multiplexer for each bit of the ports of interconnects
  double memories() const { return buffers + nram + wram + sram; }
  double total() const { return macs + results + lanes + memories() + dma + buses; }
};

/// The energy of one module: a memory, a bus port, a DRAM channel, the multiply-accumulate units of a core.
struct ModuleEnergy {
  std::string name;
  double pj = 0;
};

/// The energy of a run.
struct EnergyResult {
  std::string technology;
  EnergyParts parts;
  /// modules that take some; the rest of `parts` belongs to no single module
  std::vector<ModuleEnergy> modules;
  Area area;
  double seconds = 0;
  /// Energy-delay product in J s.
  double edp() const { return parts.total() * 1e-12 * seconds; }
  /// Mean power in W.
  double watts() const { return seconds > 0 ? parts.total() * 1e-12 / seconds : 0; }
};

/// Energy of a byte in a bank of `bytes` bytes, in pJ, by the table of the technology.
double memory_pj_per_byte(const HardwareConfig& hardware, std::int64_t bytes);
/// The area of the hardware that `run` was made on, whose counters tell the ports of interconnects.
Area area_of(const HardwareConfig& hardware, const RunResult& run);
/// Fills the energies of `run` and of its layers from what these have counted (SPEC UI-10: counts times the
/// technology's table).
void add_energy(const HardwareConfig& hardware, RunResult& run);

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
  std::int64_t wanted = 0, got = 0;
};

/// The port, bus or link that carries the most beats, one direction of it, and these beats: whatever moves as
/// many bytes over it takes at least as many cycles (SPEC UI-13).
struct PortBound {
  std::string name;  ///< empty: no port carries anything
  Cycle cycles = 0;
};

/// The results of one layer or fusion group (SPEC UI-4).
struct LayerResult {
  std::string name, op, scene, dataflow;
  Cycle cycles = 0;  ///< from the previous layer's last completion to its own
  std::int64_t beats = 0;
  std::int64_t macs = 0;            ///< useful MACs
  std::optional<MacLosses> losses;  ///< lost MACs of the beats, where the engine tells them
  double utilization = 0;           ///< macs / (array_cycles() * a core's peak)
  /// Cycles of all cores' PE arrays together: beats are busy, all others are stalls. Sums over every core to
  /// the layer's cycles: to `cycles` per core where the program lets no core begin a layer before all have
  /// finished the previous one.
  ActivityCycles activity{};
  MemoryBytes bytes;
  std::int64_t results = 0;      ///< results that were requantised or made by vector units
  std::int64_t decoded = 0;      ///< weights of four bits that became int8
  std::int64_t activations = 0;  ///< activations of DRAM rows
  EnergyParts energy;
  BoundCycles bound;  ///< analytical
  PortBound port;     ///< of the bytes that were moved
  /// cycles of the vector units and the DMA engines: they explain layers without multiply-accumulates
  HelperCycles helpers{};
  Cycle estimated_cycles = 0;       ///< the planner's estimate (SPEC MA-3); 0: unknown
  std::vector<std::string> layers;  ///< for a fusion group: its layers in the workload
  /// the engine's facts about the layer: name and text
  std::vector<std::pair<std::string, std::string>> facts;
  std::string check = "off";  ///< "passed", "failed" or "off"
  /// quality of the output against that of a float network, where the workload has one
  std::optional<Quality> quality;
  std::string busiest;       ///< the module with the largest busy fraction in the layer's cycles
  double busiest_share = 0;  ///< its busy fraction

  /// The largest of its lower bounds.
  Cycle bound_cycles() const { return std::max(bound.cycles(), port.cycles); }
  Cycle array_cycles() const { return std::accumulate(activity.begin(), activity.end(), Cycle{0}); }
};

/// A layer that the host computed: the chip took no cycles and moved nothing for it (SPEC RN-7).
struct HostLayerResult {
  std::string name, op;
  HostBytes bytes;
  /// as of LayerResult, but "passed" only by an expected file: there is no second implementation
  std::string check = "off";
};

/// The results of one core over a run (SPEC HI-5).
struct CoreResult {
  std::string name;
  std::int64_t macs = 0;   ///< useful MACs
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
  std::int64_t bytes = 0;          ///< size in bytes
  std::vector<std::int64_t> held;  ///< in any cycle of each slice
};
struct MemoryOverTime {
  Cycle slice_cycles = 0;
  std::vector<HeldByMemory> memories;  ///< memories that held anything
};

/// What a run of all steps of a workload would come to, of which the first ones were simulated (SPEC AT-3):
/// each number of a later step lies on the line that fits those of the simulated ones best.
struct Extrapolated {
  int simulated = 0, steps = 0;
  std::int64_t cycles = 0, dram_read = 0, dram_write = 0;  ///< of everything, simulated or not
  double picojoules = 0;
  Cycle last_step_cycles = 0;
  double deviation =
      0;  ///< how far the cycles of a simulated step are from the line at most, as a share of them
};

/// Everything a run found out, as plain values.
struct RunResult {
  std::string workload, hardware, granularity, dataflow;
  std::int64_t peak_macs_per_clock = 0;
  double clock_mhz = 1000;  ///< clock of the NPU
  int cores = 1;
  Cycle cycles = 0;
  std::int64_t macs = 0;
  std::optional<MacLosses> losses;  ///< as those of layers
  double utilization = 0;
  MemoryBytes bytes;
  std::int64_t results = 0, decoded = 0, activations = 0;  ///< as in LayerResult
  EnergyResult energy;
  std::optional<Extrapolated> extrapolated;  ///< where it was asked for
  std::vector<LayerResult> layers;
  std::vector<HostLayerResult> host_layers;  ///< in the order in which they were computed
  std::vector<CoreResult> core_results;      ///< cores of a chip
  std::vector<ModuleCycles> modules;
  std::vector<Counter> counters;
  std::vector<LayerInputs> graph;         ///< of the workload; empty for programs by hand
  MemoryOverTime memory_over_time;        ///< scratchpads of a chip
  std::map<std::string, Tensor> outputs;  ///< every layer's output
  std::vector<std::string> written;       ///< layers whose outputs are written as files
  std::vector<CheckDifference> differences;
  std::vector<std::string> failures;  ///< broken invariants, simulation errors: one line or more each
  bool passed() const { return differences.empty() && failures.empty(); }
};

}  // namespace tilebeat
