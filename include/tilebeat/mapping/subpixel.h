#pragma once

#include "tilebeat/workload/operators.h"

#include <array>
#include <cstdint>
#include <vector>

namespace tilebeat {

/// One axis of a transposed convolution as a convolution of stride 1 (a sub-pixel convolution). Its output q
/// holds `stride` neighbouring outputs of the layer, each made by kernels of its own, which have every
/// stride-th tap: output q * stride + phase - lead of the layer is made of phase `phase`. Tap j of phase r is
/// tap r + (taps - 1 - j) * stride of the layer's kernel; where that has none, the weight is its zero point.
struct SubpixelAxis {
  int stride = 1;
  int taps = 1;  ///< of every phase
  int pad = 0;   ///< in front of the map
  int outs = 1;
  int lead = 0;  ///< phases of the first output that the layer does not have

  /// The tap of the layer's kernel that tap `tap` of phase `phase` is; the kernel may be shorter.
  int kernel_tap(int phase, int tap) const { return phase + (taps - 1 - tap) * stride; }
};

/// Axis 0 (height) or 1 (width) of `conv`, which is transposed and makes `out` pixels.
SubpixelAxis subpixel_axis(const Conv2d& conv, std::size_t axis, std::int64_t out);

/// How the results of a sub-pixel convolution lie in the layer's output: each of its pixels has the channels
/// of stride[0] rows of stride[1] pixels, of which the first lead[0] rows and lead[1] columns of the map, and
/// what lies beyond `height` and `width`, are left out.
struct Interleaving {
  std::array<int, 2> stride{1, 1}, lead{0, 0};
  int height = 1, width = 1, channels = 1;  ///< of the layer's output
};

/// `conv`, which is transposed, for an output of that shape as a sub-pixel convolution with its weights.
struct SubpixelConv {
  Conv2d conv;
  Interleaving interleaving;
  std::array<int, 2> outs{1, 1};
};
SubpixelConv subpixel_conv(const Conv2d& conv, const std::vector<std::int64_t>& output);

}  // namespace tilebeat
