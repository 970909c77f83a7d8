#include "load_conv2d.h"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "npy_header.h"
#include "tensor_source.h"

namespace tilebeat {
namespace {

constexpr std::int32_t kUint8ToInt8 = -128;
constexpr Range kRandomWeights{-127, 127};
constexpr Range kRandomBias{-1000, 1000};

void check_input(const LayerSpec& spec, const TensorInfo& input, const Place& place) {
  const std::string& name = spec.inputs.front();
  const Place here = place.key("inputs").item(0);
  if (input.shape.size() != 4) {
    here.refuse(fmt::format("\"{}\" with shape {}", name, shape_text(input.shape)), "a map [N, H, W, C]");
  }
  if (input.dtype == DType::kInt32) {
    here.refuse(fmt::format("\"{}\" with int32 accumulators", name),
                "an int8 or uint8 tensor; give the layer that makes it a requant");
  }
}

/// Output pixels along axis 0 (height) or 1 (width).
std::int64_t output_extent(const Conv2d& conv, const TensorInfo& input, std::size_t axis,
                           const Place& place) {
  const std::int64_t padded = input.shape[1 + axis] + conv.pads[axis] + conv.pads[axis + 2];
  const std::int64_t window = (conv.kernel[axis] - std::int64_t{1}) * conv.dilation[axis] + 1;
  if (window > padded) {
    place.key("kernel").item(axis).refuse(
        fmt::format("{} with dilation {}, a window of {},", conv.kernel[axis], conv.dilation[axis], window),
        fmt::format("a window that fits the padded map of {}", padded));
  }
  return (padded - window) / conv.stride[axis] + 1;
}

void infer_output(const LayerSpec& spec, const TensorInfo& input, const Place& place, TensorInfo& output) {
  const Conv2d& conv = spec.conv;
  const std::int64_t channels = input.shape[3];
  if (channels % conv.groups != 0 || conv.out_channels % conv.groups != 0) {
    place.key("groups").refuse_value(conv.groups, fmt::format("a divisor of {} channels and {} out_channels",
                                                              channels, conv.out_channels));
  }
  output.shape = {input.shape[0], output_extent(conv, input, 0, place), output_extent(conv, input, 1, place),
                  conv.out_channels};
  check_shape(output.shape, place);
  output.dtype = conv.requant ? conv.requant->dtype : DType::kInt32;
  output.zero_point = conv.requant ? conv.requant->zero_point : 0;
}

void check_requant(const Conv2d& conv, const Place& place) {
  if (!conv.requant) return;
  const std::size_t scales = conv.requant->scale.size();
  if (scales != 1 && scales != static_cast<std::size_t>(conv.out_channels)) {
    place.key("scale").refuse(
        fmt::format("a list of {} entries", scales),
        fmt::format("a number or a list of {} entries, the out_channels", conv.out_channels));
  }
  check_zero_point(conv.requant->zero_point, conv.requant->dtype, place.key("zero_point"));
}

void load_weights(const LayerSpec& spec, std::int64_t channels, const Place& place, Conv2d& conv) {
  const WeightsSpec& weights = spec.weights;
  const std::optional<Range> range = weights.dtype.value_or(DType::kInt8) == DType::kInt8
                                         ? std::optional<Range>(kRandomWeights)
                                         : std::nullopt;
  conv.weights = load_tensor(weights.source,
                             {{conv.out_channels, conv.kernel[0], conv.kernel[1], channels / conv.groups},
                              weights.dtype,
                              DType::kInt8,
                              range},
                             place);
  if (conv.weights.dtype == DType::kInt32) place.key("file").refuse("a file of int32", "int8 or uint8");
  check_zero_point(weights.zero_point, conv.weights.dtype, place.key("zero_point"));
  conv.weight_zero_point = weights.zero_point;
  if (conv.weights.dtype == DType::kUint8) {
    conv.weights.dtype = DType::kInt8;
    conv.weight_zero_point += kUint8ToInt8;
    for (std::uint8_t& byte : conv.weights.bytes) byte = static_cast<std::uint8_t>(byte + kUint8ToInt8);
  }
}

void load_bias(const SourceSpec& source, const Place& place, Conv2d& conv) {
  const Tensor tensor =
      load_tensor(source, {{conv.out_channels}, DType::kInt32, DType::kInt32, kRandomBias}, place);
  for (std::int64_t c = 0; c < conv.out_channels; ++c) conv.bias.push_back(tensor.at(c));
}

/// SPEC NU-3: no accumulator can leave int32, whatever the input's elements are.
void check_accumulators(const Layer& layer, const Conv2d& conv, const TensorInfo& input, const Place& place) {
  const std::int64_t farthest =
      std::max(input.zero_point - dtype_min(input.dtype), dtype_max(input.dtype) - input.zero_point);
  const std::int64_t per_kernel = conv.weights.elements() / conv.out_channels;
  std::int64_t bound = 0;
  for (std::int64_t kernel = 0; kernel < conv.out_channels; ++kernel) {
    std::int64_t sum = 0;
    for (std::int64_t i = 0; i < per_kernel; ++i) {
      sum += std::abs(std::int64_t{conv.weights.at(kernel * per_kernel + i)} - conv.weight_zero_point);
    }
    const std::int64_t bias = conv.bias.empty() ? 0 : conv.bias[static_cast<std::size_t>(kernel)];
    bound = std::max(bound, std::abs(bias) + sum * farthest);
  }
  if (bound > INT32_MAX) {
    place.refuse(fmt::format("layer \"{}\" with accumulators of up to {}", layer.name, bound),
                 fmt::format("at most {}, the greatest int32", INT32_MAX));
  }
}

}  // namespace

void check_zero_point(std::int32_t zero_point, DType dtype, const Place& place) {
  if (zero_point < dtype_min(dtype) || zero_point > dtype_max(dtype)) {
    place.refuse_value(zero_point, fmt::format("{} to {}, the range of {}", dtype_min(dtype),
                                               dtype_max(dtype), dtype_name(dtype)));
  }
}

Layer load_conv2d(const LayerSpec& spec, const TensorInfo& input, const Place& place) {
  check_input(spec, input, place);
  Layer layer{spec.name,  std::string(kOperatorNames[static_cast<std::size_t>(spec.op)]),
              spec.scene, spec.inputs,
              spec.conv,  {}};
  auto& conv = std::get<Conv2d>(layer.operation);
  infer_output(spec, input, place, layer.output);
  check_requant(conv, place.key("requant"));
  load_weights(spec, input.shape[3], place.key("weights"), conv);
  if (spec.bias) load_bias(*spec.bias, place.key("bias"), conv);
  check_accumulators(layer, conv, input, place);
  return layer;
}

}  // namespace tilebeat
