#pragma once

#include "tilebeat/schema/place.h"

#include <array>
#include <vector>

namespace tilebeat {

/// The geometry that convolution and pooling share. Pairs are [height, width], pads are
/// [top, left, bottom, right].
struct WindowShape {
  std::array<int, 2> kernel, stride, dilation;
  std::array<int, 4> pads;

  /// Pixels from the first to the last tap along axis 0 (height) or 1 (width).
  std::int64_t extent(std::size_t axis) const {
    return (kernel[axis] - std::int64_t{1}) * dilation[axis] + 1;
  }
};

/// Output pixels along `axis` of a map of `shape` [N, H, W, C]. Throws UserError at the layer's `place` if
/// the window does not fit the padded map.
std::int64_t output_pixels(const WindowShape& window, const std::vector<std::int64_t>& shape,
                           std::size_t axis, const Place& place);

}  // namespace tilebeat
