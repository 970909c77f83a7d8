#pragma once

#include "planner/language/problem.h"
#include "planner/language/transfer.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace tilebeat {

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
