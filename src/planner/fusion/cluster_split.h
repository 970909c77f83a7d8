#pragma once

#include "planner/language/mapping_file.h"
#include "planner/language/matrix_backend.h"
#include "planner/layer/shards.h"

#include <cstdint>

namespace tilebeat {

/// The resources of its cluster that a layer of a fusion group may use.
struct ClusterShare {
  int rows = 1, columns = 1;  ///< most output rows and columns of a step
  int cores = 1;
  std::int64_t operand_bytes = 0;  ///< of an NRAM buffer for a tile's map
  std::int64_t result_bytes = 0;   ///< of an NRAM buffer for a tile's results
  std::int64_t slice_bytes = 0;    ///< of an NRAM buffer for partial sums of another core
  /// Kernels of a core: of splits that cost the same the one with the longest runs in memory, or the one with
  /// the fewest kernels; or the fewest at any cost in cycles.
  enum class Kernels : std::uint8_t { kAny, kFewAtEqualCost, kFewest } kernels = Kernels::kAny;
  /// Cycles of loading the layer's streamed kernels: at DRAM's rate, through the SRAM to several cores, and
  /// to a single core that has all kernels.
  double dram_load = 0, shared_load = 0, own_load = 0;
};

/// The split of a step's outputs over the cores of a cluster and into tiles that has the lowest estimate.
/// Cores compute and the cluster's bus moves data at the same time, except before the first tile and after
/// the last one, so several small tiles are often faster than a large one. The cores of a reduction group
/// share the layer's channels (ShardedLayer); the groups share outputs and kernels. Throws UserError when not
/// even one grain of outputs fits.
LayerMapping split_over_cluster(const ShardedLayer& layer, const ChipConfig& chip, const ClusterShare& share);

}  // namespace tilebeat
