#pragma once

#include "planner/language/mapping_file.h"
#include "planner/language/matrix_backend.h"
#include "planner/layer/operand_transfers.h"
#include "planner/layer/shards.h"

#include <cstdint>
#include <vector>

namespace tilebeat {

/// A matrix layer on a chip: its mapping and the places of its tensors in DRAM. All that it refers to
/// outlives it.
struct MatrixWork {
  const ShardedLayer& layer;
  const HardwareConfig& hardware;
  const LayerMapping& mapping;
  TensorLayout output;
  std::int64_t wram_at = 0;  ///< offset in WRAM of its kernel buffers
  const ChipConfig& chip() const { return *hardware.chip; }
};

/// The output pixels, kernel blocks and images that one reduction group computes.
struct CorePart {
  Interval rows, columns, blocks, images;
  bool empty() const { return rows.empty() || columns.empty() || blocks.empty() || images.empty(); }
};
/// Numbers of parts of the output rows, columns and kernel blocks; one part per reduction group.
struct Split {
  int rows = 1, columns = 1, kernels = 1;
};
/// All splits for at most `reduction groups` reduction groups with no more parts than `most`, ordered by
/// parts of the kernels, of the rows and of the columns.
std::vector<Split> splits_of(int reduction_groups, const Split& most);

/// The part that the core number `core` of those that work computes; `problem` is that of its shard.
CorePart part_of_core(const Problem& problem, const Grain& grain, const LayerMapping& mapping, int core);
/// The number of the shard that this core computes.
int shard_of_core(const LayerMapping& mapping, int core);
/// Its number among all cores of the chip.
int core_of(const ChipConfig& chip, const LayerMapping& mapping, int core);
/// The largest part of any reduction group.
CorePart largest_part(const Problem& problem, const Grain& grain, const LayerMapping& mapping);

/// The most map rows that a map buffer holds.
int map_rows(const MatrixLayer& layer, const LayerMapping& mapping);
/// NRAM bytes of the map of a tile of `rows` x `columns` outputs and of its results over the kernels of a
/// load, for the largest tile of the layer.
struct TileBytes {
  std::int64_t map = 0, result = 0;
};
TileBytes tile_bytes(const MatrixLayer& layer, const LayerMapping& mapping, int rows, int columns);
/// Whether the engine allows `map_strips` for the layer.
bool may_share_rows(const Shard& share);

constexpr int kResultBuffers = 2;  ///< result buffers of a core, in NRAM

/// Bytes of the buffers of a mapping.
struct Footprint {
  std::int64_t map = 0, result = 0, kernels = 0;  ///< of one buffer
  /// one buffer for partial sums of another core; one for results of the exchange
  std::int64_t slice = 0, ended = 0;
  std::int64_t post = 0;            ///< post-parameters of one kernel load
  std::int64_t nram = 0, wram = 0;  ///< of all buffers together
};
/// Throws UserError that names the buffer that does not fit and its limit.
Footprint footprint_of(const MatrixWork& work);
/// The WRAM bytes of the largest group of kernel blocks of a shard.
std::int64_t group_bytes(const Shard& shard, const LayerMapping& mapping);
/// A core's NRAM bytes with tiles of `rows` x `columns` outputs: buffers for maps, buffers of the partial-sum
/// exchange, and all buffers including results.
struct NramBytes {
  std::int64_t maps = 0, sums = 0, all = 0;
};
NramBytes nram_bytes(const ShardedLayer& layer, const MatrixLayer& of_core, const LayerMapping& mapping,
                     int rows, int columns);
/// The job with the largest tile and the most kernels.
MatrixJob largest_job(const MatrixLayer& layer, const LayerMapping& mapping);

/// A job of a core: a tile and the kernels that are used for it.
struct CoreStep {
  OutputTile tile;
  int tile_number = 0;  ///< number in its map; images with the same map have the same tiles
  KernelGroup group;
  int group_number = 0;  ///< number among the core's kernel groups of all sets
};

/// The steps of a core in order: set of kernels after set, in each set its tiles and kernel loads in the
/// mapping's order.
std::vector<CoreStep> core_steps(const Problem& problem, const LayerMapping& mapping, const Grain& grain,
                                 const CorePart& part);

}  // namespace tilebeat
