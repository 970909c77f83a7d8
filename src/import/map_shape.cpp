#include "map_shape.h"

namespace tilebeat {
namespace {

constexpr std::size_t kMapAxes = 4;

}  // namespace

Extents map_shape(const Extents& shape) {
  if (shape.size() >= kMapAxes) return shape;
  Extents map(kMapAxes, 1);
  for (std::size_t axis = 0; axis < shape.size(); ++axis) map[map_axis(axis, shape.size())] = shape[axis];
  return map;
}

std::size_t map_axis(std::size_t axis, std::size_t rank) {
  if (rank >= kMapAxes || (axis == 0 && rank > 1)) return axis;
  return axis + kMapAxes - rank;
}

}  // namespace tilebeat
