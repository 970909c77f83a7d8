#pragma once

#include "tilebeat/mapping/matrix_backend.h"

#include <map>
#include <memory>
#include <tuple>

#include "tiling.h"

namespace tilebeat::switch_array {

/// Cycles in which the input arrangement takes a map, by height, width, channels, whether its pixels lie
/// apart, and bytes a cycle of the path. Worked out once for all lowerings of a layer.
using ArrangingCycles = std::map<std::tuple<int, int, int, bool, int, int>, double>;

/// Turns the jobs of a unit into tasks: loads of maps and kernels, runs, stores (SPEC SW-7). What it is given
/// outlives it.
std::unique_ptr<MatrixLowering> make_lowering(TaskGraph& graph, const EnginePlace& place,
                                              const Problem& problem, const Tiling& tiling,
                                              const HardwareConfig& hardware, const PortPath& path,
                                              ArrangingCycles& arranging);

}  // namespace tilebeat::switch_array
