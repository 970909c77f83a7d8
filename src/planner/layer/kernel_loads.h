#pragma once

#include "planner/language/mapping_file.h"
#include "planner/language/matrix_backend.h"

#include <cstdint>
#include <vector>

namespace tilebeat {

/// Kernel blocks of a set that are loaded together, and the channels that are added up with them.
struct KernelGroup {
  Interval blocks;
  Reduction reduction;
  int set = 0;
};
/// Of the first set.
std::vector<KernelGroup> kernel_groups(const Problem& problem, const LayerMapping& mapping,
                                       const Grain& grain, Interval blocks);

/// The weights of a group: from DRAM to a buffer of WRAM, which begins at `destination`; post-parameters that
/// lie apart come last. Kernels that are a tensor are read as they lie there and written where the engine
/// wants them, turned on the way where that needs it (SPEC OP-1).
std::vector<Transfer> weight_transfers(const MatrixLayer& layer, const WeightPlace& weights,
                                       const KernelGroup& group, std::uint64_t destination);
/// Bytes from the beginning of the buffer to the post-parameters in it, of a group that has some.
std::uint64_t post_offset(const MatrixLayer& layer, const WeightPlace& weights, const KernelGroup& group);
/// What a core does before these transfers: where a tensor leaves places of kernels or channels free, it sets
/// the buffer to the zero point.
std::vector<Copy> cleared_kernels(const MatrixLayer& layer, const WeightPlace& weights,
                                  const KernelGroup& group, std::uint64_t destination);
/// Bytes of WRAM that a group takes: in all regions together.
std::int64_t buffer_bytes(const MatrixLayer& layer, const WeightPlace& weights, const KernelGroup& group);

}  // namespace tilebeat
