#pragma once

#include "planner/language/mapping_file.h"
#include "planner/language/matrix_backend.h"
#include "planner/language/problem.h"
#include "planner/language/transfer.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace tilebeat {

/// Kernel blocks of a set that are loaded together, and the input channels that they are used for.
struct KernelGroup {
  Interval blocks;
  Reduction reduction;
  int set = 0;
};
/// The kernel groups of the first set for blocks `blocks`, in the order of their loads.
std::vector<KernelGroup> kernel_groups(const Problem& problem, const LayerMapping& mapping,
                                       const Grain& grain, Interval blocks);

/// The transfers of a group's weights from DRAM to a buffer of WRAM at `destination`; separate
/// post-parameters come last. Kernels that are a tensor are read from their place and written in the engine's
/// layout, by transposing copies where needed (SPEC OP-1).
std::vector<Transfer> weight_transfers(const MatrixLayer& layer, const WeightPlace& weights,
                                       const KernelGroup& group, std::uint64_t destination);
/// The first of these transfers: without separate post-parameters.
std::vector<Transfer> kernel_transfers(const MatrixLayer& layer, const WeightPlace& weights,
                                       const KernelGroup& group, std::uint64_t destination);
/// Bytes of a group's kernels in the buffer, of those in each region: of int8 kernels.
std::int64_t group_extent(const MatrixLayer& layer, const WeightPlace& weights, const KernelGroup& group);
/// Offset of the post-parameters in the buffer of a group that has some; its kernels take `extent` bytes.
std::uint64_t post_offset(const MatrixLayer& layer, const WeightPlace& weights, const KernelGroup& group,
                          std::int64_t extent);
/// The core's copies before these transfers: where a kernel tensor does not fill the places of all kernels
/// and channels, they set the buffer to the zero point.
std::vector<Copy> cleared_kernels(const MatrixLayer& layer, const WeightPlace& weights,
                                  const KernelGroup& group, std::uint64_t destination);
/// Bytes of WRAM that a group takes, in all regions together; its kernels take `extent` bytes in each.
std::int64_t buffer_bytes(const WeightPlace& weights, const KernelGroup& group, std::int64_t extent);

/// Rows and columns of a map.
struct MapPart {
  Interval rows, columns;
};

/// The transfers of the results of a tile over kernel blocks `blocks`, which lie at `source` without gaps, to
/// the layer's output; none if all of them are cut off. For a transposed convolution only part `outs` of the
/// output is stored, or all.
std::vector<Transfer> store_transfers(const Problem& problem, const TensorLayout& output,
                                      const OutputTile& tile, Interval blocks, std::uint64_t source,
                                      std::optional<MapPart> outs = {});

}  // namespace tilebeat
