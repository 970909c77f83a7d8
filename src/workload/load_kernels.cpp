#include "workload/load_layer.h"
#include "workload/tensor_source.h"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

namespace tilebeat {
namespace {

constexpr std::int32_t kUint8ToInt8 = -128;
constexpr Range kRandomWeights{-127, 127};
constexpr Range kRandomBias{-1000, 1000};

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

/// The greatest distance of an element from its zero point.
std::int64_t farthest(const TensorInfo& info) {
  return std::max(info.zero_point - dtype_min(info.dtype), dtype_max(info.dtype) - info.zero_point);
}

void check_bound(const std::string& name, std::int64_t bound, const Place& place) {
  if (bound > INT32_MAX) {
    place.refuse(fmt::format("layer \"{}\" with accumulators of up to {}", name, bound),
                 fmt::format("at most {}, the greatest int32", INT32_MAX));
  }
}

}  // namespace

void check_requant(Conv2d& conv, const char* outputs, const Place& place) {
  if (!conv.requant) {
    if (conv.activation.kind == ActivationKind::kFunction)
      place.fail("is missing: an activation that is a function of the real value needs its scale");
    return;
  }
  Requant& requant = *conv.requant;
  const auto check_list = [&](const std::vector<double>& scales, const char* key) {
    if (scales.size() <= 1 || scales.size() == static_cast<std::size_t>(conv.out_channels)) return;
    place.key(key).refuse(
        fmt::format("a list of {} entries", scales.size()),
        fmt::format("a number or a list of {} entries, the {}", conv.out_channels, outputs));
  };
  check_list(requant.scale, "scale"), check_list(requant.weight_scale, "weight_scale");
  if (requant.scale.empty()) {  // the three scales are there
    for (const double weight_scale : requant.weight_scale)
      requant.scale.push_back(*requant.input_scale * weight_scale / *requant.output_scale);
  }
  check_zero_point(conv.requant->zero_point, conv.requant->dtype, place.key("zero_point"));
}

void load_weights(const WeightsSpec& weights, const std::vector<std::int64_t>& shape, const Place& place,
                  Conv2d& conv) {
  const std::optional<Range> range = weights.dtype.value_or(DType::kInt8) == DType::kInt8
                                         ? std::optional<Range>(kRandomWeights)
                                         : std::nullopt;
  conv.weights = load_tensor(weights.source, {shape, weights.dtype, DType::kInt8, range}, place);
  if (!is_byte(conv.weights.dtype))
    place.key("file").refuse(fmt::format("a file of {}", dtype_name(conv.weights.dtype)), "int8 or uint8");
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

void check_accumulators(const std::string& name, const Conv2d& conv, const TensorInfo& input,
                        const Place& place) {
  const std::int64_t outputs = conv.out_channels;
  // Products with leading axes have several kernels for one output channel.
  const std::int64_t per_kernel = conv.weights.shape.back() * conv.kernel[0] * conv.kernel[1];
  std::int64_t bound = 0;
  for (std::int64_t kernel = 0; kernel * per_kernel < conv.weights.elements(); ++kernel) {
    const std::int64_t sum = kernel_size(&conv.weights.bytes[static_cast<std::size_t>(kernel * per_kernel)],
                                         per_kernel, conv.weight_zero_point);
    const std::int64_t bias = conv.bias.empty() ? 0 : conv.bias[static_cast<std::size_t>(kernel % outputs)];
    bound = std::max(bound, std::abs(bias) + sum * farthest(input));
  }
  check_bound(name, bound, place);
}

void check_transposed_accumulators(const std::string& name, const Conv2d& conv, const TensorInfo& input,
                                   const Place& place) {
  const std::int64_t depth = conv.weights.shape.back();
  const auto tap = [&](std::int64_t kernel, int row, int column) {
    const std::int64_t at = ((kernel * conv.kernel[0] + row) * conv.kernel[1] + column) * depth;
    return kernel_size(&conv.weights.bytes[static_cast<std::size_t>(at)], depth, conv.weight_zero_point);
  };
  std::int64_t bound = 0;
  for (std::int64_t kernel = 0; kernel < conv.out_channels; ++kernel) {
    const std::int64_t bias = conv.bias.empty() ? 0 : conv.bias[static_cast<std::size_t>(kernel)];
    bound = std::max(bound, std::abs(bias));
    for (int r = 0; r < std::min(conv.stride[0], conv.kernel[0]); ++r) {
      for (int c = 0; c < std::min(conv.stride[1], conv.kernel[1]); ++c) {
        std::int64_t sum = 0;
        for (int row = r; row < conv.kernel[0]; row += conv.stride[0]) {
          for (int column = c; column < conv.kernel[1]; column += conv.stride[1])
            sum += tap(kernel, row, column);
        }
        bound = std::max(bound, std::abs(bias) + sum * farthest(input));
      }
    }
  }
  check_bound(name, bound, place);
}

void check_accumulators(const std::string& name, const Conv2d& conv, const TensorInfo& a, const TensorInfo& b,
                        const Place& place) {
  std::int64_t bias = 0;
  for (const std::int32_t value : conv.bias) bias = std::max(bias, std::abs(std::int64_t{value}));
  check_bound(name, bias + conv.product.inner * farthest(a) * farthest(b), place);
}

namespace {

/// Throws UserError unless `axes` are the axes of `shape` in another order.
void check_axes(const std::vector<int>& axes, const std::vector<std::int64_t>& shape, const Place& place) {
  std::vector<int> sorted = axes;
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t i = 0; i < sorted.size() || i < shape.size(); ++i) {
    if (i >= sorted.size() || i >= shape.size() || sorted[i] != static_cast<int>(i))
      place.refuse(fmt::format("[{}]", fmt::join(axes, ", ")),
                   fmt::format("each of the {} axes of its shape once", shape.size()));
  }
}

/// The elements of `file`, whose axis i is axis axes[i] of the result, in the order of `shape`.
Tensor permuted(const Tensor& file, const std::vector<int>& axes, const std::vector<std::int64_t>& shape) {
  Tensor made{shape, file.dtype, std::vector<std::uint8_t>(file.bytes.size())};
  std::vector<std::int64_t> strides(shape.size(), 1), steps(shape.size());
  for (std::size_t axis = shape.size() - 1; axis > 0; --axis) strides[axis - 1] = strides[axis] * shape[axis];
  for (std::size_t i = 0; i < axes.size(); ++i) steps[i] = strides[static_cast<std::size_t>(axes[i])];
  const auto size = static_cast<std::size_t>(dtype_size(file.dtype));
  std::vector<std::int64_t> at(shape.size(), 0);
  std::int64_t to = 0;
  for (std::size_t from = 0; from < file.bytes.size(); from += size) {
    std::copy_n(&file.bytes[from], size, &made.bytes[static_cast<std::size_t>(to) * size]);
    for (std::size_t axis = at.size(); axis-- > 0;) {
      to += steps[axis];
      if (++at[axis] < file.shape[axis]) break;
      to -= steps[axis] * file.shape[axis];
      at[axis] = 0;
    }
  }
  return made;
}

}  // namespace

Tensor load_input(const InputSpec& input, const Place& place) {
  const TensorInfo& info = input.info;
  const auto load = [&](const std::vector<std::int64_t>& shape) {
    return load_tensor(input.source, {shape, info.dtype, info.dtype, std::nullopt, true}, place);
  };
  if (input.file_axes.empty()) return load(info.shape);
  check_axes(input.file_axes, info.shape, place.key("file_axes"));
  if (input.source.random) return load(info.shape);
  std::vector<std::int64_t> shape;
  for (const int axis : input.file_axes) shape.push_back(info.shape[static_cast<std::size_t>(axis)]);
  const Tensor file = load_npy(input.source.file.value(), place.key("file"));
  // A file in the order of the tensor is taken, too, where its shape tells.
  if (!same_but_ones(file.shape, shape) && same_but_ones(file.shape, info.shape)) return load(info.shape);
  return permuted(load(shape), input.file_axes, info.shape);
}

}  // namespace tilebeat
