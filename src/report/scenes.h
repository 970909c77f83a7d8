#pragma once

#include "report/run_result.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tilebeat {

/// The sums over a scene's layers (SPEC SW-6); a step of a workload is one (AT-3).
struct SceneResult {
  std::string scene;
  Cycle cycles = 0;
  std::int64_t macs = 0;
  std::int64_t dram_read = 0, dram_write = 0;  ///< bytes
  double picojoules = 0;
  std::string limit;  ///< the kind of lower bound whose layers, those that it limits, take most of the cycles
  Cycle limited = 0;  ///< cycles of these layers
};

/// One entry a scene, in the order of execution; none where the run has a single one.
std::vector<SceneResult> scenes_of(const RunResult& run);

/// What all `steps` steps of a workload would come to, of which the run computed the first `simulated`, at
/// least three. `run` has come to its end.
Extrapolated extrapolated(const RunResult& run, int simulated, int steps);

/// The kind of a layer's largest lower bound: compute, beats, dram or port; of equal ones the simplest.
std::string limit_of(const LayerResult& layer);

}  // namespace tilebeat
