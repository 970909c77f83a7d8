#include "tilebeat/mapping/subpixel.h"

#include "tilebeat/base/math.h"

#include <algorithm>

namespace tilebeat {
namespace {

// One kernel of `conv` a phase, phases of a row first, the channels of a phase together.
Tensor phase_kernels(const Conv2d& conv, const SubpixelAxis& h, const SubpixelAxis& w) {
  const std::int64_t depth = conv.weights.shape[3];
  Tensor kernels;
  kernels.dtype = conv.weights.dtype;
  kernels.shape = {std::int64_t{h.stride} * w.stride * conv.out_channels, h.taps, w.taps, depth};
  kernels.bytes.assign(static_cast<std::size_t>(kernels.elements()),
                       static_cast<std::uint8_t>(conv.weight_zero_point));
  std::int64_t to = 0;
  const auto copy_tap = [&](int kernel, int row, int column) {
    if (row < conv.kernel[0] && column < conv.kernel[1]) {
      const std::int64_t from =
          ((std::int64_t{kernel} * conv.kernel[0] + row) * conv.kernel[1] + column) * depth;
      std::copy_n(conv.weights.bytes.begin() + from, depth, kernels.bytes.begin() + to);
    }
    to += depth;
  };
  for (int r = 0; r < h.stride; ++r) {
    for (int s = 0; s < w.stride; ++s) {
      for (int kernel = 0; kernel < conv.out_channels; ++kernel) {
        for (int i = 0; i < h.taps; ++i) {
          for (int j = 0; j < w.taps; ++j) copy_tap(kernel, h.kernel_tap(r, i), w.kernel_tap(s, j));
        }
      }
    }
  }
  return kernels;
}

template <class T>
std::vector<T> repeated(const std::vector<T>& values, int times) {
  std::vector<T> all;
  for (int i = 0; i < times; ++i) all.insert(all.end(), values.begin(), values.end());
  return all;
}

}  // namespace

SubpixelAxis subpixel_axis(const Conv2d& conv, std::size_t axis, std::int64_t out) {
  SubpixelAxis made;
  made.stride = conv.stride[axis];
  made.taps = ceil_div(conv.kernel[axis], made.stride);
  // Outputs are numbered from the first one that the first pixel reaches, which `pads` cuts off.
  const int first = conv.pads[axis] / made.stride;
  made.lead = conv.pads[axis] % made.stride;
  made.outs = static_cast<int>((conv.pads[axis] + out - 1) / made.stride) - first + 1;
  made.pad = made.taps - 1 - first;
  return made;
}

SubpixelConv subpixel_conv(const Conv2d& conv, const std::vector<std::int64_t>& output) {
  const SubpixelAxis h = subpixel_axis(conv, 0, output[1]), w = subpixel_axis(conv, 1, output[2]);
  const int phases = h.stride * w.stride;
  SubpixelConv made;
  made.interleaving = {{h.stride, w.stride},
                       {h.lead, w.lead},
                       static_cast<int>(output[1]),
                       static_cast<int>(output[2]),
                       conv.out_channels};
  made.outs = {h.outs, w.outs};
  Conv2d& c = made.conv;
  c.kernel = {h.taps, w.taps};
  c.pads = {h.pad, w.pad, 0, 0};
  c.out_channels = phases * conv.out_channels;
  c.weights = phase_kernels(conv, h, w);
  c.weight_zero_point = conv.weight_zero_point;
  c.bias = repeated(conv.bias, phases);
  c.activation = conv.activation, c.requant = conv.requant;
  if (c.requant && c.requant->scale.size() > 1) c.requant->scale = repeated(conv.requant->scale, phases);
  if (c.requant && c.requant->weight_scale.size() > 1)
    c.requant->weight_scale = repeated(conv.requant->weight_scale, phases);
  return made;
}

}  // namespace tilebeat
