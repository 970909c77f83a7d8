#pragma once

#include "planner/language/mapping_file.h"
#include "planner/language/matrix_backend.h"
#include "planner/layer/kernel_loads.h"
#include "planner/layer/shards.h"

#include <cstdint>
#include <vector>

namespace tilebeat {

/// A matrix layer on a chip: where its tensors lie in DRAM, and how it is mapped. What it refers to outlives
/// it.
struct MatrixWork {
  const ShardedLayer& layer;
  const HardwareConfig& hardware;
  const LayerMapping& mapping;
  TensorLayout output;
  std::int64_t wram_at = 0;  ///< bytes of WRAM in front of its buffers for kernels
  const ChipConfig& chip() const { return *hardware.chip; }
};

/// Outputs and kernel blocks that one reduction group of cores computes, and of which images.
struct CorePart {
  Interval rows, columns, blocks, images;
  bool empty() const { return rows.empty() || columns.empty() || blocks.empty() || images.empty(); }
};
/// Parts of the outputs' rows and columns and of the kernel blocks, one part a reduction group of cores.
struct Split {
  int rows = 1, columns = 1, kernels = 1;
};
/// All splits for at most `reduction groups` reduction groups with no more parts than `most`: by parts of the
/// kernels, of the rows and of the columns.
std::vector<Split> splits_of(int reduction_groups, const Split& most);

/// Of the share's problem.
CorePart part_of_core(const Problem& problem, const Grain& grain, const LayerMapping& mapping, int core);
/// Which share of the layer a core computes.
int shard_of_core(const LayerMapping& mapping, int core);
/// The largest part of a reduction group.
CorePart largest_part(const Problem& problem, const Grain& grain, const LayerMapping& mapping);

/// Rows of the map that a buffer for maps holds, at most.
int map_rows(const MatrixLayer& layer, const LayerMapping& mapping);
/// Bytes of NRAM that the map of a tile of `rows` x `columns` outputs takes, and its results over the kernels
/// of a load: the largest of `layer`, mapped so.
struct TileBytes {
  std::int64_t map = 0, result = 0;
};
TileBytes tile_bytes(const MatrixLayer& layer, const LayerMapping& mapping, int rows, int columns);
/// Whether `map_strips` is possible.
bool may_share_rows(const Shard& share);

constexpr int kResultBuffers = 2;  ///< of a core, in NRAM

/// Bytes of the buffers that a mapping takes.
struct Footprint {
  std::int64_t map = 0, result = 0, kernels = 0;  ///< of one buffer
  std::int64_t slice = 0, ended = 0;              ///< likewise: sums of another core, and results of them
  std::int64_t post = 0;                          ///< post-parameters of one load of kernels
  std::int64_t nram = 0, wram = 0;                ///< of all
};
/// Throws UserError that says which buffer does not fit, and which limit that is.
Footprint footprint_of(const MatrixWork& work);
/// The bytes of the largest group of kernel blocks of a share, as it lies in WRAM.
std::int64_t group_bytes(const MatrixLayer& layer, const WeightPlace& weights, const LayerMapping& mapping);
/// Bytes of a core's NRAM that a mapping takes with tiles of `rows` x `columns` outputs: buffers for maps and
/// results, and for sums of other cores and what becomes of them.
struct NramBytes {
  std::int64_t maps = 0, sums = 0, all = 0;
};
NramBytes nram_bytes(const ShardedLayer& layer, const MatrixLayer& of_core, const LayerMapping& mapping,
                     int rows, int columns);
/// The job of the largest tile and the most kernels.
MatrixJob largest_job(const MatrixLayer& layer, const LayerMapping& mapping);

}  // namespace tilebeat
