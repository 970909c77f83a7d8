#include "planner/language/problem.h"

#include "base/numerics.h"
#include "base/types.h"
#include "tilebeat/error.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <tuple>

#include <fmt/format.h>

namespace tilebeat {
namespace {

// A convolution's parameters without its weights, which can be large.
Conv2d without_weights(const Conv2d& conv) {
  Conv2d copy;
  copy.pixels = conv.pixels, copy.form = conv.form;
  copy.kernel = conv.kernel, copy.stride = conv.stride, copy.dilation = conv.dilation, copy.pads = conv.pads;
  copy.groups = conv.groups, copy.out_channels = conv.out_channels;
  copy.product = conv.product, copy.kernels = conv.kernels;
  copy.weight_zero_point = conv.weight_zero_point;
  copy.bias = conv.bias, copy.activation = conv.activation, copy.requant = conv.requant;
  return copy;
}

// Weights with zeros between the taps, for the dense kernel that equals `conv` at dilation 1: the baseline of
// SW-3.
Tensor insert_zeros(const Conv2d& conv, const Tensor& weights, const std::array<int, 2>& dense_kernel) {
  const std::int64_t depth = weights.shape[3];
  Tensor dense;
  dense.dtype = weights.dtype;
  dense.shape = {conv.out_channels, dense_kernel[0], dense_kernel[1], depth};
  dense.bytes.assign(to_size(dense.elements()), static_cast<std::uint8_t>(conv.weight_zero_point));
  for (int k = 0; k < conv.out_channels; ++k) {
    for (int r = 0; r < conv.kernel[0]; ++r) {
      for (int s = 0; s < conv.kernel[1]; ++s) {
        const auto from = ((std::int64_t{k} * conv.kernel[0] + r) * conv.kernel[1] + s) * depth;
        const auto to = ((std::int64_t{k} * dense_kernel[0] + r * conv.dilation[0]) * dense_kernel[1] +
                         s * conv.dilation[1]) *
                        depth;
        std::memcpy(dense.bytes.data() + to, weights.bytes.data() + from, to_size(depth));
      }
    }
  }
  return dense;
}

// The width of the map that `rows` pixels form. Engines take powers of two of its rows and columns at a time,
// so a width that is a multiple of 8 is preferred, then an even height, then a nearly square map.
int width_of(std::int64_t rows) {
  constexpr std::int64_t kWidest = 256;
  const auto worth = [rows](std::int64_t width) {
    const std::int64_t height = rows / width;
    return std::tuple(width % 8 == 0, height % 2 == 0, width % 2 == 0, -std::abs(width - height));
  };
  std::int64_t best = rows <= kWidest ? rows : 1;
  for (std::int64_t width = 1; width <= std::min(rows, kWidest); ++width) {
    if (rows % width == 0 && worth(width) > worth(best)) best = width;
  }
  return to_int(best);
}

// The leading axes of one operand of a product, aligned with the product's.
std::vector<std::int64_t> aligned(std::vector<std::int64_t> axes, std::size_t count) {
  axes.insert(axes.begin(), count - axes.size(), 1);
  return axes;
}

// By image of the product: the number of the matrix in an operand with leading axes `operand`.
std::vector<int> matrices_of(const std::vector<std::int64_t>& axes,
                             const std::vector<std::int64_t>& operand) {
  std::vector<int> matrices{0};
  for (std::size_t axis = 0; axis < axes.size(); ++axis) {
    std::vector<int> longer;
    for (const int matrix : matrices) {
      for (int i = 0; i < to_int(axes[axis]); ++i)
        longer.push_back(operand[axis] == 1 ? matrix : matrix * to_int(axes[axis]) + i);
    }
    matrices = std::move(longer);
  }
  return matrices;
}

// By image of a product, the matrices of A and B that it is made of, and the rows of each image.
struct ProductImages {
  std::vector<int> maps, sets;
  std::int64_t rows = 1;
};
ProductImages images_of(const MatrixProduct& product, const std::vector<std::int64_t>& output) {
  std::vector<std::int64_t> axes(output.begin(), output.end() - 2);
  std::vector<std::int64_t> a = aligned(product.a_axes, axes.size()),
                            b = aligned(product.b_axes, axes.size());
  std::int64_t rows = product.rows;
  // Matrices of A that are multiplied with the same B become one when their rows follow one another.
  while (!axes.empty() && b.back() == 1 && product.a == MatrixOrder::kPlain) {
    rows *= axes.back();
    axes.pop_back(), a.pop_back(), b.pop_back();
  }
  return {matrices_of(axes, a), matrices_of(axes, b), rows};
}

// Sets the images, pixels and kernels of a product of matrices.
void set_product(Problem& p, const Workload& workload, const Layer& layer) {
  const MatrixProduct& product = p.conv.product;
  const ProductImages images = images_of(product, layer.output.shape);
  p.map_images = images.maps, p.kernel_sets = images.sets;
  p.batch = count_of(p.map_images);
  p.sets = *std::max_element(p.kernel_sets.begin(), p.kernel_sets.end()) + 1;
  p.channels = to_int(product.inner);
  p.map_order = product.a;
  p.width = p.out_width = width_of(images.rows);
  p.height = p.out_height = to_int(images.rows / p.width);
  if (p.conv.kernels == KernelSource::kWeights) return;
  KernelTensor& kernels = p.kernel_tensor.emplace();
  kernels.info = workload.tensor(layer.inputs.at(1));
  // Strides of the stored B; `inner` may be only a part of its channels.
  const std::vector<std::int64_t>& stored = kernels.info.shape;
  const std::int64_t row = stored.back();
  kernels.set_stride = stored[stored.size() - 2] * row;
  (product.b == MatrixOrder::kPlain ? kernels.channel_stride : kernels.kernel_stride) = row;
}

// A transposed convolution is computed as a sub-pixel convolution.
Problem transposed_problem(const Workload& workload, const Layer& layer, int block_kernels) {
  const auto& conv = std::get<Conv2d>(layer.operation);
  SubpixelConv made = subpixel_conv(conv, layer.output.shape);
  Problem p;
  p.name = layer.name, p.block_kernels = block_kernels;
  p.weights = made.conv.weights;
  p.conv = without_weights(made.conv);
  p.interleaving = made.interleaving;
  p.useful_taps = useful_taps(conv);
  p.input = workload.tensor(layer.inputs.front()), p.output = layer.output;
  const auto& shape = p.input.shape;
  p.batch = to_int(shape[0]), p.channels = to_int(shape[3]);
  p.height = to_int(shape[1]), p.width = to_int(shape[2]);
  p.out_height = made.outs[0], p.out_width = made.outs[1];
  return p;
}

// Every weight of `weights` twice.
Tensor doubled(const Tensor& weights) {
  Tensor made{weights.shape, weights.dtype, {}};
  made.shape.back() *= 2;
  made.bytes.reserve(2 * weights.bytes.size());
  for (const std::uint8_t weight : weights.bytes) made.bytes.insert(made.bytes.end(), 2, weight);
  return made;
}

// A problem whose input is int16 as one of its bytes.
Problem in_halves(Problem p) {
  if (p.input.dtype != DType::kInt16) return p;
  p.of_halves = true;
  p.input.dtype = DType::kUint8;
  p.input.shape.back() *= 2;
  p.channels *= 2;
  std::vector<std::int64_t> shape = p.weights.shape();
  shape.back() *= 2;
  p.weights = p.weights.mapped(shape, "for both halves of int16", doubled);
  return p;
}

// Whether the maps of a convolution may be taken for the rows of a matrix, and are enough to gain by it.
bool is_of_rows(const Conv2d& conv, const TensorInfo& map) {
  constexpr std::int64_t kFewest = 8;
  const std::array<int, 2> one{1, 1};
  const std::array<int, 4> none{0, 0, 0, 0};
  return conv.pixels == PixelAxes::kMap && map.shape[0] >= kFewest && map.shape[1] * map.shape[2] == 1 &&
         conv.groups == 1 && conv.kernel == one && conv.stride == one && conv.pads == none;
}

}  // namespace

MapExtents rows_as_map(const TensorInfo& tensor, int maps) {
  const std::int64_t channels = tensor.shape.back(), rows = tensor.elements() / channels / maps;
  const int width = width_of(rows);
  return {maps, to_int(rows / width), width, to_int(channels)};
}

std::optional<MapExtents> map_of_product(const Layer& layer) {
  const auto* conv = std::get_if<Conv2d>(&layer.operation);
  if (conv == nullptr || conv->pixels != PixelAxes::kMatrices || conv->kernels != KernelSource::kInput ||
      conv->product.a != MatrixOrder::kPlain)
    return std::nullopt;
  const ProductImages images = images_of(conv->product, layer.output.shape);
  for (std::size_t i = 0; i < images.maps.size(); ++i) {
    if (images.maps[i] != to_int(i)) return std::nullopt;
  }
  const int width = width_of(images.rows);
  return MapExtents{count_of(images.maps), to_int(images.rows / width), width, to_int(conv->product.inner)};
}

namespace {

Problem problem_of(const Workload& workload, const Layer& layer, const HardwareConfig& hardware,
                   int block_kernels) {
  const PlannerConfig& planner = hardware.planner;
  Problem p;
  p.name = layer.name;
  const auto& conv = std::get<Conv2d>(layer.operation);
  if (conv.form == ConvForm::kTransposed) return transposed_problem(workload, layer, block_kernels);
  p.conv = without_weights(conv);
  p.weights = conv.weights;
  p.useful_taps = p.taps();
  p.block_kernels = block_kernels;
  if (planner.zero_inserted && conv.pixels != PixelAxes::kMatrices) {
    for (std::size_t axis = 0; axis < 2; ++axis) {
      p.conv.kernel[axis] = (conv.kernel[axis] - 1) * conv.dilation[axis] + 1;
      p.conv.dilation[axis] = 1;
    }
    std::vector<std::int64_t> shape = conv.weights.shape();
    shape[1] = p.conv.kernel[0], shape[2] = p.conv.kernel[1];
    p.weights = conv.weights.mapped(
        shape,
        fmt::format("with zeros inserted for a dilation of {} x {}", conv.dilation[0], conv.dilation[1]),
        [plain = without_weights(conv), kernel = p.conv.kernel](const Tensor& weights) {
          return insert_zeros(plain, weights, kernel);
        });
  }
  p.input = workload.tensor(layer.inputs.front());
  p.output = layer.output;
  if (!hardware.fused && planner.map_layout == MapLayout::kNhwc && is_of_rows(conv, p.input))
    p.conv.pixels = PixelAxes::kRows;
  const auto dim = [](std::int64_t d) { return to_int(d); };
  if (conv.pixels == PixelAxes::kMatrices) {
    set_product(p, workload, layer);
    return p;
  }
  if (p.conv.pixels == PixelAxes::kRows) {
    const MapExtents map = rows_as_map(p.input);
    p.channels = map.channels;
    p.width = p.out_width = map.width;
    p.height = p.out_height = map.height;
    return p;
  }
  p.batch = dim(p.input.shape[0]), p.height = dim(p.input.shape[1]), p.width = dim(p.input.shape[2]);
  p.channels = dim(p.input.shape[3]);
  p.out_height = dim(p.output.shape[1]), p.out_width = dim(p.output.shape[2]);
  return p;
}

}  // namespace

Problem make_problem(const Workload& workload, const Layer& layer, const HardwareConfig& hardware,
                     int block_kernels) {
  Problem made = in_halves(problem_of(workload, layer, hardware, block_kernels));
  made.in_streams =
      !made.kernel_tensor && (made.weights.four_bits() != nullptr || (made.of_halves && hardware.decodes()));
  return made;
}

TensorLayout Problem::map_layout(std::uint64_t address) const {
  TensorLayout layout = TensorLayout::dense(address, height, width, channels);
  if (map_order == MatrixOrder::kPlain) return layout;
  layout.pixel_stride = 1, layout.row_stride = width;
  layout.channel_stride = std::int64_t{height} * width;
  return layout;
}

Interval channels_of_kernels(const Problem& p, Interval kernels) {
  const int kernels_per_group = p.conv.out_channels / p.conv.groups;
  const int channels_per_group = p.channels / p.conv.groups;
  const int last = std::min(p.conv.out_channels, kernels.end) - 1;
  return {kernels.begin / kernels_per_group * channels_per_group,
          (last / kernels_per_group + 1) * channels_per_group};
}

std::uint16_t narrow(const Problem& p, std::int64_t value, const char* what) {
  if (value < 0 || value > UINT16_MAX)
    throw UserError(
        fmt::format("layer '{}' cannot fit: {} {} is beyond {}", p.name, what, value, UINT16_MAX));
  return static_cast<std::uint16_t>(value);
}

std::int16_t narrow_offset(const Problem& p, std::int64_t value) {
  if (value < INT16_MIN || value > INT16_MAX)
    throw UserError(
        fmt::format("layer '{}' cannot fit: padding of {} pixels is beyond {}", p.name, -value, -INT16_MIN));
  return static_cast<std::int16_t>(value);
}

namespace {

Rescale rescale_of(const Requant& requant) {
  switch (requant.arithmetic) {
    case Arithmetic::kExact:
      return Rescale::kReal64;
    case Arithmetic::kFloat32:
    case Arithmetic::kFloat32Ort:
      return Rescale::kReal32;
    case Arithmetic::kFixed:
    case Arithmetic::kTflm:
      break;
  }
  if (requant.roundings == Roundings::kShort)
    return requant.rule == ProductRule::kFullyConnected ? Rescale::kReal64Away : Rescale::kShortMultiplier;
  return requant.rounds_twice() ? Rescale::kDoubleRounding : Rescale::kSingleRounding;
}

// Sets the factor of kernel `index` in the form of its record (SPEC NU-6).
void set_factor(const Requant& requant, std::size_t index, PostParameter& parameter) {
  const auto of_kernel = [index](const std::vector<double>& list) {
    return list.size() == 1 ? list[0] : list[index];
  };
  if (requant.arithmetic == Arithmetic::kExact) {
    parameter.scale = of_kernel(requant.scale);
    return;
  }
  const auto sx = static_cast<float>(*requant.input_scale), sy = static_cast<float>(*requant.output_scale);
  const auto sw = static_cast<float>(of_kernel(requant.weight_scale));
  const float rounded = sx * sw;
  if (requant.arithmetic != Arithmetic::kFixed) {
    const float scale = rounded / sy;
    parameter.scale = double{scale};
    return;
  }
  const bool connected = requant.rule == ProductRule::kFullyConnected;
  const double exact = double{sx} * sw;
  if (requant.roundings == Roundings::kShort) {
    parameter.scale = connected ? exact / sy : short_factor(fixed_factor(exact / sy));
    return;
  }
  const FixedFactor factor = fixed_factor((connected ? double{rounded} : exact) / sy);
  parameter.scale = factor.multiplier, parameter.shift = factor.shift;
}

}  // namespace

ConvSetup conv_setup(const Problem& p) {
  const Conv2d& c = p.conv;
  ConvSetup s;
  s.kernel_h = narrow(p, c.kernel[0], "kernel height"), s.kernel_w = narrow(p, c.kernel[1], "kernel width");
  s.stride_h = narrow(p, c.stride[0], "stride"), s.stride_w = narrow(p, c.stride[1], "stride");
  s.dilation_h = narrow(p, c.dilation[0], "dilation"), s.dilation_w = narrow(p, c.dilation[1], "dilation");
  set_field(s.input_zero_point, p.input.zero_point);
  set_field(s.weight_zero_point, c.weight_zero_point);
  s.input_type = p.of_halves ? DType::kInt16 : p.input.dtype;
  if (p.kernel_tensor) s.weight_type = p.kernel_tensor->info.dtype;
  s.output_type = p.output.dtype;
  s.requantise = c.requant.has_value();
  s.post_parameters = p.has_post_parameters();
  s.function = c.activation.function;
  s.output_scale = c.activation.output_scale, s.slope = c.activation.slope;
  s.clamp = c.activation.kind == ActivationKind::kRelu || c.activation.kind == ActivationKind::kClamp;
  s.clamp_low = c.activation.kind == ActivationKind::kRelu ? 0 : c.activation.low;
  s.clamp_high = c.activation.kind == ActivationKind::kRelu ? INT32_MAX : c.activation.high;
  s.output_zero_point = c.requant ? c.requant->zero_point : 0;
  if (!c.requant) return s;
  s.rescale = rescale_of(*c.requant);
  if (const auto& range = c.requant->range) {
    set_field(s.floor, (*range)[0] - dtype_min(s.output_type));
    set_field(s.ceiling, dtype_max(s.output_type) - (*range)[1]);
  }
  return s;
}

PostParameter post_parameter(const Problem& p, int kernel) {
  PostParameter parameter;
  if (kernel >= p.conv.out_channels) return parameter;
  const auto index = to_size(kernel);
  if (p.conv.requant) set_factor(*p.conv.requant, index, parameter);
  if (p.conv.bias.empty()) return parameter;
  const bool short_sums = p.conv.requant && p.conv.requant->arithmetic == Arithmetic::kFixed &&
                          p.conv.requant->roundings != Roundings::kShort;
  if (p.of_halves && !short_sums)
    parameter.set_wide_bias(p.conv.bias[index]);
  else
    parameter.bias = static_cast<std::int32_t>(p.conv.bias[index]);
  return parameter;
}

Problem tile_problem(const Problem& problem, const OutputTile& tile) {
  Problem local = problem;
  local.batch = 1;
  local.height = tile.h.ins, local.width = tile.w.ins;
  local.out_height = tile.h.outs, local.out_width = tile.w.outs;
  local.conv.pads = {-tile.h.offset, -tile.w.offset, 0, 0};
  return local;
}

namespace {

// The kernels of the phases of `conv`: phases row by row, with the channels of a phase together.
Tensor phase_kernels(const Conv2d& conv, const Tensor& weights, const SubpixelAxis& h,
                     const SubpixelAxis& w) {
  const std::int64_t depth = weights.shape[3];
  Tensor kernels;
  kernels.dtype = weights.dtype;
  kernels.shape = {std::int64_t{h.stride} * w.stride * conv.out_channels, h.taps, w.taps, depth};
  kernels.bytes.assign(to_size(kernels.elements()), static_cast<std::uint8_t>(conv.weight_zero_point));
  std::int64_t to = 0;
  const auto copy_tap = [&](int kernel, int row, int column) {
    if (row < conv.kernel[0] && column < conv.kernel[1]) {
      const std::int64_t from =
          ((std::int64_t{kernel} * conv.kernel[0] + row) * conv.kernel[1] + column) * depth;
      std::copy_n(weights.bytes.begin() + from, depth, kernels.bytes.begin() + to);
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
  // Outputs count from the first one that the first pixel reaches, including those that `pads` cuts off.
  const int first = conv.pads[axis] / made.stride;
  made.lead = conv.pads[axis] % made.stride;
  made.outs = to_int((conv.pads[axis] + out - 1) / made.stride) - first + 1;
  made.pad = made.taps - 1 - first;
  return made;
}

SubpixelConv subpixel_conv(const Conv2d& conv, const std::vector<std::int64_t>& output) {
  const SubpixelAxis h = subpixel_axis(conv, 0, output[1]), w = subpixel_axis(conv, 1, output[2]);
  const int phases = h.stride * w.stride;
  SubpixelConv made;
  made.interleaving = {
      {h.stride, w.stride}, {h.lead, w.lead}, to_int(output[1]), to_int(output[2]), conv.out_channels};
  made.outs = {h.outs, w.outs};
  Conv2d& c = made.conv;
  c.kernel = {h.taps, w.taps};
  c.pads = {h.pad, w.pad, 0, 0};
  c.out_channels = phases * conv.out_channels;
  c.weights = conv.weights.mapped({c.out_channels, h.taps, w.taps, conv.weights.shape().back()},
                                  fmt::format("phases of {} x {}", h.stride, w.stride),
                                  [plain = without_weights(conv), h, w](const Tensor& weights) {
                                    return phase_kernels(plain, weights, h, w);
                                  });
  c.weight_zero_point = conv.weight_zero_point;
  c.bias = repeated(conv.bias, phases);
  c.activation = conv.activation, c.requant = conv.requant;
  if (c.requant && c.requant->scale.size() > 1) c.requant->scale = repeated(conv.requant->scale, phases);
  if (c.requant && c.requant->weight_scale.size() > 1)
    c.requant->weight_scale = repeated(conv.requant->weight_scale, phases);
  return made;
}

}  // namespace tilebeat
