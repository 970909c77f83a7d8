#pragma once

#include "tilebeat/hardware.h"
#include "tilebeat/plan.h"
#include "tilebeat/workload.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tilebeat {

/// The options of a simulation.
struct RunOptions {
  /// The smallest step that a matrix engine takes: a tile, or one clock after the other, which takes far
  /// longer. Cycles and outputs are the same.
  enum class Granularity : std::uint8_t { kTile, kClock };
  Granularity granularity = Granularity::kTile;
  /// The main memory: the DRAM of the hardware file, or a memory of the user's behind `Accelerator::memory`.
  /// Plans expect the former.
  enum class Dram : std::uint8_t { kInside, kExternal };
  Dram dram = Dram::kInside;
};

/// What a run found out. It cannot be changed; copies share it, and it outlives everything it was made from.
class Result {
 public:
  /// The results of one layer, or of one fusion group.
  struct Layer {
    std::string name, op;               ///< as in NetworkPlan::Layer
    std::vector<std::string> layers;    ///< the layers of a fusion group; empty for a single layer
    std::int64_t cycles = 0;            ///< from the completion of the layer before to its own
    std::int64_t estimated_cycles = 0;  ///< the planner's estimate; 0: it has none
    std::int64_t macs = 0;              ///< useful multiply-accumulates
    double utilization = 0;             ///< share of the peak of all matrix units, 0 to 1
    std::int64_t dram_read_bytes = 0, dram_write_bytes = 0;  ///< bytes that went over DRAM's ports
  };

  /// Whether the run came to its end and kept all invariants. `failures` is empty then, and only then are the
  /// numbers those of a whole run.
  bool passed() const { return failures().empty(); }
  /// What went wrong in the simulated hardware: deadlocks, faulting instructions, broken invariants.
  const std::vector<std::string>& failures() const;

  /// Cycles from the start of the programs to the end of the last layer: the sum over `layers`.
  std::int64_t cycles() const;
  /// Useful multiply-accumulates, and their share of the peak of all cores, 0 to 1.
  std::int64_t macs() const;
  double utilization() const;
  /// Layers and fusion groups in the order of their completion.
  const std::vector<Layer>& layers() const;
  /// The outputs that are in DRAM at the end, by layer name: of all layers, but for those inside of fusion
  /// groups.
  const std::map<std::string, TensorData>& outputs() const;

  /// A statistic by name, as the report has it: `counter("dram0.ch0", "row_hits")` of `counters`, in the
  /// counter's unit; `module_cycles("cluster0.core0.engine.array", "busy")` of `modules`, in cycles of the
  /// module's clock, "busy" or the name of a stall. A stall that a module did not have is 0. Throws
  /// UserError, with the nearest name, where there is no such module, counter or stall.
  std::int64_t counter(const std::string& module, const std::string& name) const;
  std::int64_t module_cycles(const std::string& module, const std::string& cause) const;

  /// The report (JSON, docs/outputs.md): cycles of every module by cause, counters, energy, the hardware. It
  /// has no provenance; equal runs have equal texts.
  std::string report() const;
  /// The tables that `tilebeat run` prints, for people.
  std::string table() const;

  /// The library's own; users have no definition of it.
  struct Inner;
  explicit Result(std::shared_ptr<const Inner> inner) : inner_(std::move(inner)) {}
  const std::shared_ptr<const Inner>& inner() const { return inner_; }

 private:
  std::shared_ptr<const Inner> inner_;
};

/// Runs `plan`, which was made for this hardware, on a chip by itself, without a SystemC top level of the
/// user's. Errors of the simulated hardware become `failures` of the result.
///
/// SystemC elaborates once a process: a process can call this once, and have no other SystemC design. Whoever
/// wants more runs forks before each of them. Throws UserError when SystemC has elaborated already, or the
/// plan is one for other hardware.
Result simulate(const Hardware& hardware, const NetworkPlan& plan, const RunOptions& options = {});

}  // namespace tilebeat
