#pragma once

#include "tilebeat/mapping/matrix_backend.h"

#include <memory>

#include "tiling.h"

namespace tilebeat::switch_array {

/// Turns the jobs of a unit into tasks: loads of maps and kernels, runs, stores (SPEC SW-7). What it is given
/// outlives it.
std::unique_ptr<MatrixLowering> make_lowering(TaskGraph& graph, const EnginePlace& place,
                                              const Problem& problem, const Tiling& tiling,
                                              const HardwareConfig& hardware, const PortPath& path);

/// Where the words of channel block `plane` of a kernel block begin, in bytes from those of its first.
std::uint64_t words_offset(const Problem& problem, const ArrayShape& array, int kernel_block, int plane);

}  // namespace tilebeat::switch_array
