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
  /// The kind of lower bound that is the largest one of the layers with most of the cycles.
  std::string limit;
  Cycle limited = 0;  ///< cycles of these layers
};

/// One entry a scene, in the order of execution; none where the run has a single one.
std::vector<SceneResult> scenes_of(const RunResult& run);

/// The kind of a layer's largest lower bound: compute, beats, dram or port; of equal ones the simplest.
std::string limit_of(const LayerResult& layer);

}  // namespace tilebeat
