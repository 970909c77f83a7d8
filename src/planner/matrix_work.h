#pragma once

#include "tilebeat/mapping/layer_mapping.h"
#include "tilebeat/mapping/matrix_backend.h"

#include <cstdint>

#include "kernel_loads.h"

namespace tilebeat {

/// A matrix layer on a chip: where its tensors lie in DRAM, and how it is mapped. What it refers to outlives
/// it.
struct MatrixWork {
  const MatrixLayer& layer;
  const HardwareConfig& hardware;
  const LayerMapping& mapping;
  const WeightPlace& weights;
  TensorLayout input, output;
  const ChipConfig& chip() const { return *hardware.chip; }
};

/// Outputs and kernel blocks that one core computes, and of which images.
struct CorePart {
  Interval rows, columns, blocks, images;
  bool empty() const { return rows.empty() || columns.empty() || blocks.empty() || images.empty(); }
};
CorePart part_of_core(const Problem& problem, const Grain& grain, const LayerMapping& mapping, int core);
/// The largest part of a core.
CorePart largest_part(const Problem& problem, const Grain& grain, const LayerMapping& mapping);

constexpr int kResultBuffers = 2;  ///< of a core, in NRAM

/// Bytes of the buffers that a mapping takes.
struct Footprint {
  std::int64_t map = 0, result = 0, kernels = 0;  ///< of one buffer
  std::int64_t nram = 0, wram = 0;                ///< of all
};
/// Throws UserError that says which buffer does not fit, and which limit that is.
Footprint footprint_of(const MatrixWork& work);
/// The bytes of the largest group of kernel blocks, as it lies in WRAM.
std::int64_t group_bytes(const MatrixLayer& layer, const WeightPlace& weights, const LayerMapping& mapping);
/// The job of the largest tile and the most kernels.
MatrixJob largest_job(const MatrixLayer& layer, const LayerMapping& mapping);

}  // namespace tilebeat
