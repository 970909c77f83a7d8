#pragma once

#include "tilebeat/mapping/problem.h"
#include "tilebeat/mapping/tensor_layout.h"
#include "tilebeat/mapping/transfer.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace tilebeat {

/// The ways of the results of a tile, kernel blocks `blocks`, which lie at `source` without gaps, to the
/// layer's output; none where all of them are cut off. Of a transposed convolution only rows `outs` of the
/// output are stored, or all.
std::vector<Transfer> store_transfers(const Problem& problem, const TensorLayout& output,
                                      const OutputTile& tile, Interval blocks, std::uint64_t source,
                                      std::optional<Interval> outs = {});

}  // namespace tilebeat
