#pragma once

#include "planner/layer/matrix_work.h"

#include <vector>

namespace tilebeat {

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
