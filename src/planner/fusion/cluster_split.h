#pragma once

#include "planner/language/mapping_file.h"
#include "planner/language/matrix_backend.h"
#include "planner/layer/shards.h"

#include <cstdint>

namespace tilebeat {

/// What a layer of a fusion group may use in its cluster.
struct ClusterShare {
  int rows = 1, columns = 1;  ///< most of the outputs of a step
  int cores = 1;
  std::int64_t operand_bytes = 0;  ///< of a buffer in NRAM for a tile's map
  std::int64_t result_bytes = 0;   ///< of one for its results
  std::int64_t slice_bytes = 0;    ///< of one for sums of another core of its reduction group
  bool fewest_kernels = false;     ///< a core has as few of them as can be, however long it takes
  /// Cycles in which the layer's kernels come where they are streamed: at DRAM's rate, through the SRAM to
  /// several cores, and to one core alone, which has them all.
  double dram_load = 0, shared_load = 0, own_load = 0;
};

/// How a step's outputs are spread over the cores of a cluster, and in which tiles: the split that is
/// expected to take least. Cores compute, or move through the cluster's bus where that takes longer; before
/// the first tile and behind the last one they do only one of the two, so several small tiles are often
/// faster than a large one. Throws UserError when not even one grain of outputs fits.
/// Cores of a reduction group share the layer's channels (ShardedLayer), and reduction groups the outputs and
/// kernels.
LayerMapping split_over_cluster(const ShardedLayer& layer, const ChipConfig& chip, const ClusterShare& share);

}  // namespace tilebeat
