#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "load_layer.h"
#include "npy_header.h"
#include "tensor_source.h"
#include "window.h"

namespace tilebeat {
namespace {

constexpr std::int32_t kUint8ToInt8 = -128;
constexpr Range kRandomWeights{-127, 127};
constexpr Range kRandomBias{-1000, 1000};

void infer_output(const Conv2d& conv, const TensorInfo& input, const Place& place, TensorInfo& output) {
  const std::int64_t channels = input.shape[3];
  if (channels % conv.groups != 0 || conv.out_channels % conv.groups != 0) {
    place.key("groups").refuse_value(conv.groups, fmt::format("a divisor of {} channels and {} out_channels",
                                                              channels, conv.out_channels));
  }
  const WindowShape window{conv.kernel, conv.stride, conv.dilation, conv.pads};
  output.shape = {input.shape[0], output_pixels(window, input.shape, 0, place),
                  output_pixels(window, input.shape, 1, place), conv.out_channels};
  check_shape(output.shape, place);
  output.dtype = conv.requant ? conv.requant->dtype : DType::kInt32;
  output.zero_point = conv.requant ? conv.requant->zero_point : 0;
}

/// `outputs` names the field that says how many output channels there are.
void check_requant(const Conv2d& conv, const char* outputs, const Place& place) {
  if (!conv.requant) return;
  const std::size_t scales = conv.requant->scale.size();
  if (scales != 1 && scales != static_cast<std::size_t>(conv.out_channels)) {
    place.key("scale").refuse(
        fmt::format("a list of {} entries", scales),
        fmt::format("a number or a list of {} entries, the {}", conv.out_channels, outputs));
  }
  check_zero_point(conv.requant->zero_point, conv.requant->dtype, place.key("zero_point"));
}

void load_weights(const WeightsSpec& weights, const std::vector<std::int64_t>& shape, const Place& place,
                  Conv2d& conv) {
  const std::optional<Range> range = weights.dtype.value_or(DType::kInt8) == DType::kInt8
                                         ? std::optional<Range>(kRandomWeights)
                                         : std::nullopt;
  conv.weights = load_tensor(weights.source, {shape, weights.dtype, DType::kInt8, range}, place);
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

/// Sum of |w - zw| over one kernel's int8 weights.
std::int64_t kernel_size(const std::uint8_t* weights, std::int64_t count, std::int32_t zero_point) {
  constexpr std::int64_t kBlock = 4096;  // 32-bit sums inside: a large network has 10^8 weights
  std::int64_t sum = 0;
  for (std::int64_t begin = 0; begin < count; begin += kBlock) {
    const std::int64_t end = std::min(begin + kBlock, count);
    std::int32_t block = 0;
    for (std::int64_t i = begin; i < end; ++i)
      block += std::abs(static_cast<std::int8_t>(weights[i]) - zero_point);
    sum += block;
  }
  return sum;
}

/// SPEC NU-3: no accumulator can leave int32, whatever the input's elements are.
void check_accumulators(const std::string& name, const Conv2d& conv, const TensorInfo& input,
                        const Place& place) {
  const std::int64_t farthest =
      std::max(input.zero_point - dtype_min(input.dtype), dtype_max(input.dtype) - input.zero_point);
  const std::int64_t per_kernel = conv.weights.elements() / conv.out_channels;
  std::int64_t bound = 0;
  for (std::int64_t kernel = 0; kernel < conv.out_channels; ++kernel) {
    const std::int64_t sum = kernel_size(&conv.weights.bytes[static_cast<std::size_t>(kernel * per_kernel)],
                                         per_kernel, conv.weight_zero_point);
    const std::int64_t bias = conv.bias.empty() ? 0 : conv.bias[static_cast<std::size_t>(kernel)];
    bound = std::max(bound, std::abs(bias) + sum * farthest);
  }
  if (bound > INT32_MAX) {
    place.refuse(fmt::format("layer \"{}\" with accumulators of up to {}", name, bound),
                 fmt::format("at most {}, the greatest int32", INT32_MAX));
  }
}

/// B as kernels: [columns, K] of [K, columns].
Tensor transposed(const Tensor& matrix, std::int64_t rows, std::int64_t columns) {
  Tensor made = matrix;
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t column = 0; column < columns; ++column)
      made.bytes[static_cast<std::size_t>(column * rows + row)] =
          matrix.bytes[static_cast<std::size_t>(row * columns + column)];
  }
  return made;
}

/// `spec` with its kernel; the weights are written in the shape `weights`.
void load_kernels(const Conv2dSpec& spec, const std::vector<std::int64_t>& weights, const LayerSource& source,
                  Conv2d& conv) {
  const Place& place = source.place;
  load_weights(spec.weights, weights, place.key("weights"), conv);
  conv.weights.shape = {conv.out_channels, conv.kernel[0], conv.kernel[1],
                        source.input().shape[3] / conv.groups};
  if (spec.bias) load_bias(*spec.bias, place.key("bias"), conv);
  check_accumulators(source.spec.name, conv, source.input(), place);
}

}  // namespace

void load_operator(const Conv2dSpec& spec, const LayerSource& source, Layer& layer) {
  Conv2d conv = spec.conv;
  infer_output(conv, source.input(), source.place, layer.output);
  check_requant(conv, "out_channels", source.place.key("requant"));
  load_kernels(spec,
               {conv.out_channels, conv.kernel[0], conv.kernel[1], source.input().shape[3] / conv.groups},
               source, conv);
  layer.operation = std::move(conv);
}

void load_operator(const FullyConnectedSpec& spec, const LayerSource& source, Layer& layer) {
  Conv2d conv = spec.layer.conv;
  const auto& map = source.input().shape;
  conv.kernel = {static_cast<int>(map[1]), static_cast<int>(map[2])};
  infer_output(conv, source.input(), source.place, layer.output);
  check_requant(conv, "out_features", source.place.key("requant"));
  load_kernels(spec.layer, {conv.out_channels, map[1] * map[2] * map[3]}, source, conv);
  layer.operation = std::move(conv);
}

void load_operator(const MatmulSpec& spec, const LayerSource& source, Layer& layer) {
  const TensorInfo& a = source.input();
  const Place& place = source.place;
  if (a.shape.size() < 2) {
    source.input_place(0).refuse(
        fmt::format("{} with shape {}", shown(source.spec.inputs.front()), shape_text(a.shape)),
        "rows [..., K] with two axes at least");
  }
  Conv2d conv = spec.layer.conv;
  conv.pixels = PixelAxes::kRows;
  const std::int64_t length = a.shape.back(), columns = conv.out_channels;
  layer.output.shape = a.shape;
  layer.output.shape.back() = columns;
  check_shape(layer.output.shape, place);
  layer.output.dtype = conv.requant ? conv.requant->dtype : DType::kInt32;
  layer.output.zero_point = conv.requant ? conv.requant->zero_point : 0;
  check_requant(conv, "out_features", place.key("requant"));
  const std::vector<std::int64_t> shape = spec.transpose_b ? std::vector<std::int64_t>{columns, length}
                                                           : std::vector<std::int64_t>{length, columns};
  load_weights(spec.layer.weights, shape, place.key("weights"), conv);
  if (!spec.transpose_b) conv.weights = transposed(conv.weights, length, columns);
  conv.weights.shape = {columns, 1, 1, length};
  if (spec.layer.bias) load_bias(*spec.layer.bias, place.key("bias"), conv);
  check_accumulators(source.spec.name, conv, a, place);
  layer.operation = std::move(conv);
}

}  // namespace tilebeat
