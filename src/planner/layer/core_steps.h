#pragma once

#include "planner/layer/matrix_work.h"

#include <vector>

namespace tilebeat {

/// A job of a core: a tile and the kernels that are used for it.
struct CoreStep {
  OutputTile tile;
  int tile_number = 0;  ///< of its map: images with the same map have the same tiles
  KernelGroup group;
  int group_number = 0;  ///< of its kernels, over all sets
};

/// What a core does, one after the other: set of kernels by set, in each its tiles and its loads of kernels
/// in the mapping's order.
std::vector<CoreStep> core_steps(const Problem& problem, const LayerMapping& mapping, const Grain& grain,
                                 const CorePart& part);

}  // namespace tilebeat
