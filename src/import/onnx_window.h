#pragma once

#include <array>

#include "attributes.h"

namespace tilebeat {

/// The window of a convolution or a pooling on maps [N, C, H, W]; [N, C, W] has H = 1 and a kernel of 1
/// there.
struct OnnxWindow {
  std::array<std::int64_t, 2> kernel{1, 1}, stride{1, 1}, dilation{1, 1};
  std::array<std::int64_t, 4> pads{0, 0, 0, 0};  ///< [top, left, bottom, right]
  std::array<std::int64_t, 2> output{1, 1};  ///< pixels; with ceil_mode the last window may leave the pads
};

/// Shape of a map as [N, C, H, W]. Throws Unsupported for other ranks than 3 and 4.
Extents as_map(const Extents& shape);
/// The shape [N, C, H, W] as one of `rank` axes.
Extents from_map(const Extents& map, std::size_t rank);

/// Reads kernel_shape, strides, dilations, pads, auto_pad and ceil_mode. `kernel`: the weights' extents, none
/// of poolings. Throws Unsupported when they do not fit.
OnnxWindow read_window(Attributes& attributes, const Extents& map, const std::optional<Extents>& kernel,
                       std::size_t rank);

/// Those of a transposed convolution: strides, pads, output_padding, output_shape, auto_pad.
struct OnnxTransposedWindow {
  OnnxWindow window;  ///< its pads are cut off the output
  std::array<std::int64_t, 2> more{0, 0};
};
OnnxTransposedWindow read_transposed_window(Attributes& attributes, const Extents& map, const Extents& kernel,
                                            std::size_t rank);

}  // namespace tilebeat
