#pragma once

// Workloads of one convolution, built in memory.

#include "switch_array_formulas.h"
#include "workload/tensor_source.h"
#include "workload/workload.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace tilebeat::testing {

/// What a convolution of a test looks like; `conv_workload` fills it with random tensors. Output sizes
/// follow.
struct ConvShape {
  int batch = 1, height = 8, width = 14, channels = 3, out_channels = 16, groups = 1;
  std::array<int, 2> kernel{1, 1}, stride{1, 1}, dilation{1, 1};
  std::array<int, 4> pads{0, 0, 0, 0};
  DType input_type = DType::kInt8;
  int input_zero_point = 0, weight_zero_point = 0;
  bool bias = false;
  Activation activation;
  std::optional<Requant> requant;  ///< scales are taken as they are
  std::uint64_t seed = 1;

  int extent(int axis) const { return axis == 0 ? height : width; }
  int out_extent(int axis) const {
    const auto a = static_cast<std::size_t>(axis);
    return (extent(axis) + pads[a] + pads[a + 2] - (kernel[a] - 1) * dilation[a] - 1) / stride[a] + 1;
  }
};

/// The layer is called `conv`, its input `x`.
inline Workload conv_workload(const ConvShape& s) {
  Workload workload;
  workload.name = "test";
  TensorInfo input{{s.batch, s.height, s.width, s.channels}, s.input_type, s.input_zero_point};
  workload.input_data["x"] =
      random_tensor(input.shape, s.input_type, s.seed, dtype_min(s.input_type), dtype_max(s.input_type));
  workload.inputs["x"] = input;
  Conv2d conv;
  conv.kernel = s.kernel, conv.stride = s.stride, conv.dilation = s.dilation, conv.pads = s.pads;
  conv.groups = s.groups, conv.out_channels = s.out_channels;
  conv.weights = random_tensor({s.out_channels, s.kernel[0], s.kernel[1], s.channels / s.groups},
                               DType::kInt8, s.seed + 1, -128, 127);
  conv.weight_zero_point = s.weight_zero_point;
  if (s.bias) {
    const Tensor bias = random_tensor({s.out_channels}, DType::kInt32, s.seed + 2, -100000, 100000);
    for (int k = 0; k < s.out_channels; ++k) conv.bias.push_back(bias.at(k));
  }
  conv.activation = s.activation;
  conv.requant = s.requant;
  TensorInfo output{{s.batch, s.out_extent(0), s.out_extent(1), s.out_channels},
                    s.requant ? s.requant->dtype : DType::kInt32,
                    s.requant ? s.requant->zero_point : 0};
  workload.layers.push_back({"conv", "conv2d", "main", {"x"}, conv, output});
  workload.outputs = {"conv"};
  return workload;
}

/// The same layer as the formulas of SPEC section 3 see it.
inline SpecConv spec_conv(const ConvShape& s) {
  SpecConv c;
  c.batch = s.batch, c.height = s.height, c.width = s.width, c.channels = s.channels;
  c.out_height = s.out_extent(0), c.out_width = s.out_extent(1), c.out_channels = s.out_channels;
  for (std::size_t axis = 0; axis < 2; ++axis) {
    c.kernel[axis] = s.kernel[axis], c.stride[axis] = s.stride[axis], c.dilation[axis] = s.dilation[axis];
    c.pad[axis] = s.pads[axis];
  }
  c.conv_groups = s.groups;
  return c;
}

inline std::string to_text(const ConvShape& s) {
  return fmt::format(
      "map {}x{}x{}x{} {} zp {}, {} kernels {}x{} in {} groups zp {}, stride {},{}, dilation {},{}, pads "
      "{},{},{},{}, "
      "bias {}, activation {} {}, requant {} ({} scales), seed {}",
      s.batch, s.height, s.width, s.channels, dtype_name(s.input_type), s.input_zero_point, s.out_channels,
      s.kernel[0], s.kernel[1], s.groups, s.weight_zero_point, s.stride[0], s.stride[1], s.dilation[0],
      s.dilation[1], s.pads[0], s.pads[1], s.pads[2], s.pads[3], s.bias, static_cast<int>(s.activation.kind),
      static_cast<int>(s.activation.function), s.requant.has_value(), s.requant ? s.requant->scale.size() : 0,
      s.seed);
}

}  // namespace tilebeat::testing
