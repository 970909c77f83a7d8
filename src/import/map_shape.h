#pragma once

#include "tilebeat/import/graph.h"

namespace tilebeat {

/// How tensors of fewer axes lie as maps: [C], [N, C] and [N, T, C] as [1, 1, 1, C], [N, 1, 1, C], [N, 1, T,
/// C].
Extents map_shape(const Extents& shape);
/// Axis `axis` of a tensor with `rank` axes, as an axis of its map.
std::size_t map_axis(std::size_t axis, std::size_t rank);

}  // namespace tilebeat
