// Convolutions of ONNX.
#include "base/types.h"
#include "import/calibrate.h"
#include "import/onnx_lowering.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace tilebeat {
namespace {

/// [Co, Ci, Kh, Kw] as [Co, Kh, Kw, Ci].
Constant channels_last(const Constant& weights) {
  const Extents k = as_map(weights.shape);
  Constant made{weights.type, {k[0], k[2], k[3], k[1]}, weights.bytes};
  const std::int64_t taps = k[2] * k[3];
  for (std::int64_t co = 0; co < k[0]; ++co) {
    for (std::int64_t ci = 0; ci < k[1]; ++ci) {
      for (std::int64_t tap = 0; tap < taps; ++tap)
        nth(made.bytes, (co * taps + tap) * k[1] + ci) = nth(weights.bytes, (co * k[1] + ci) * taps + tap);
    }
  }
  return made;
}

/// [C, Co, Kh, Kw] of a transposed convolution as [Co, C, Kh, Kw].
Constant outputs_first(const Constant& weights) {
  const Extents k = as_map(weights.shape);
  Constant made{weights.type, {k[1], k[0], k[2], k[3]}, weights.bytes};
  const std::int64_t taps = k[2] * k[3];
  for (std::int64_t c = 0; c < k[0]; ++c) {
    for (std::int64_t co = 0; co < k[1]; ++co)
      std::copy_n(&nth(weights.bytes, (c * k[1] + co) * taps), taps,
                  &nth(made.bytes, (co * k[0] + c) * taps));
  }
  return made;
}

WindowFields fields_of(const OnnxWindow& window) {
  return {window.kernel, window.stride, window.dilation, window.pads};
}

}  // namespace

void OnnxLowering::convolve(const GraphNode& node, Attributes& attributes, const OnnxValue& x,
                            Kernels kernels, const std::optional<Wanted>& wanted) {
  const OnnxValue map = laid_out(x, Layout::kMap);
  const std::size_t rank = map.shape.size();
  const Extents pixels = as_map(map.shape), k = as_map(kernels.weights.shape);
  const OnnxWindow window = read_window(attributes, pixels, Extents{k[2], k[3]}, rank);
  const std::int64_t groups = attributes.integer("group", 1);
  if (groups < 1 || k[0] % groups != 0 || k[1] * groups != pixels[1] || k[0] < 1)
    throw Unsupported(
        fmt::format("{} groups of kernels {} on a map of {}", groups, extents_text(k), extents_text(pixels)));
  if (kernels.bias && kernels.bias->elements() != k[0])
    throw Unsupported("a bias of another number of channels");
  kernels.weights = channels_last(kernels.weights);
  const auto kind = groups == pixels[1] && groups > 1 ? ConvolutionKind::kDepthwise : ConvolutionKind::kPlain;
  const std::string name = graph_.tensors[*node.outputs.at(0)].name;
  const Held made = emitter_.conv2d(map.held, kernels, fields_of(window), groups, kind,
                                    wanted ? wanted->name : name, wanted);
  const Extents shape = from_map({pixels[0], k[0], window.output[0], window.output[1]}, rank);
  set(node, made_of(made, shape, layout_axes(Layout::kMap, rank)));
}

void OnnxLowering::convolution(const GraphNode& node, Attributes& attributes) {
  const OnnxValue x = real(node, 0);
  const Kernels kernels = kernels_of(node, 1, 0, x.held.scale, 2);
  const auto wanted = real_result(node);
  if (wanted) return convolve(node, attributes, x, kernels, wanted);
  convolve(node, attributes, x, kernels, std::nullopt);
  sums_to_reals(node, x.held.scale, kernels);
}

void OnnxLowering::quantised_convolution(const GraphNode& node, Attributes& attributes) {
  const OnnxValue x = quantised(node, 0, 1, 2);
  Kernels kernels;
  if (!value(node, 3).known()) throw Unsupported("weights that are no constant");
  kernels.weights = *value(node, 3).constant;
  for (const double scale : numbers(node, 4)) kernels.scales.push_back(static_cast<float>(scale));
  set_zero_points(has(node, 5) ? numbers(node, 5) : std::vector<double>{0}, 0, kernels);
  add_bias(node, 8, x.held.scale, kernels);
  convolve(node, attributes, x, kernels, quantised_result(node, 6, 7));
}

void OnnxLowering::integer_convolution(const GraphNode& node, Attributes& attributes) {
  OnnxValue x = value(node, 0);
  if (x.known()) throw Unsupported("a constant operand");
  const bool computed = has(node, 2) && !value(node, 2).known();
  const std::int64_t zero = has(node, 2) && !computed ? whole_number(numbers(node, 2).at(0)) : 0;
  if (x.held.zero_point != zero) throw Unsupported("a zero point that is not the tensor's");
  Kernels kernels;
  if (!value(node, 1).known()) throw Unsupported("weights that are no constant");
  kernels.weights = *value(node, 1).constant;
  kernels.scales = {1};
  set_zero_points(has(node, 3) ? numbers(node, 3) : std::vector<double>{0}, 0, kernels);
  convolve(node, attributes, x, kernels, std::nullopt);
  if (!computed) return;
  // The zero point is a result of its own: a map of nothing else, within the same padding, tells what it
  // adds.
  const std::string name = graph_.tensors[*node.outputs.at(0)].name;
  const OnnxValue sums = value_of_output(node);
  OnnxValue map = laid_out(x, Layout::kMap);
  map.held = repeated(value(node, 2).held, map.held.shape, name + "_zero");
  convolve(node, attributes, map, kernels, std::nullopt);
  set(node, combined_reals("sub_sums", sums, value_of_output(node), name + "_centred"));
}

void OnnxLowering::transposed_convolution(const GraphNode& node, Attributes& attributes) {
  const OnnxValue x = laid_out(real(node, 0), Layout::kMap);
  const std::size_t rank = x.shape.size();
  if (attributes.integer("group", 1) != 1) throw Unsupported("groups");
  Kernels kernels = kernels_of(node, 1, value(node, 1).stands ? 1 : -1, x.held.scale, 2);
  const Extents map = as_map(x.shape), k = as_map(kernels.weights.shape);
  const OnnxTransposedWindow t = read_transposed_window(attributes, map, {k[2], k[3]}, rank);
  kernels.weights = channels_last(outputs_first(kernels.weights));
  const Wanted wanted = need_result(node);
  const Extents held{map[0], t.window.output[0], t.window.output[1], k[1]};
  const Held made = emitter_.conv_transpose(x.held, kernels, fields_of(t.window), t.more, held, wanted);
  if (calibration_ == nullptr && builder_.arithmetic() != Arithmetic::kExact)
    emitter_.name_inexact(made, "conv_transpose");
  set(node,
      made_of(made, from_map({held[0], held[3], held[1], held[2]}, rank), layout_axes(Layout::kMap, rank)));
}

/// A batch normalisation that no convolution has taken in becomes a depthwise convolution of one tap.
void OnnxLowering::batch_norm(const GraphNode& node, Attributes& attributes) {
  const OnnxValue x = real(node, 0);
  if (attributes.integer("training_mode", 0) != 0) throw Unsupported("training_mode");
  if (attributes.integer("spatial", 1) != 1) throw Unsupported("spatial 0");
  if (attributes.integer("is_test", 1) != 1) throw Unsupported("is_test 0");  // before opset 7
  attributes.without_effect("momentum");                                      // only used in training
  const double epsilon = attributes.real("epsilon", 1e-5F);
  const std::vector<double> gamma = numbers(node, 1), beta = numbers(node, 2), mean = numbers(node, 3),
                            variance = numbers(node, 4);
  std::vector<double> factors, offsets;
  for (std::size_t c = 0; c < gamma.size(); ++c) {
    factors.push_back(gamma[c] / std::sqrt(variance.at(c) + epsilon));
    offsets.push_back(beta.at(c) - mean.at(c) * factors.back());
  }
  const auto channels = ssize(gamma);
  const OnnxValue map = laid_out(x, Layout::kMap);
  const Extents pixels = as_map(map.shape);
  if (pixels[1] != channels) throw Unsupported("parameters of another number of channels");
  if (calibration_ == nullptr) {  // between quantised tensors
    const Held made = emitter_.linear(map.held, factors, offsets, need_result(node));
    emitter_.name_inexact(made, "scale");
    return set(node, made_of(made, map.shape, map.axes));
  }
  Kernels kernels;
  const Constant weights = make_constant(ElementType::kFloat32, {channels, 1, 1, 1}, factors);
  const Quantisation q = weight_scales(weights, 0);
  kernels.weights = quantised_constant(weights, q);
  kernels.scales = q.scales;
  for (std::size_t c = 0; c < offsets.size(); ++c)
    offsets[c] =
        std::nearbyint(offsets[c] / (static_cast<double>(x.held.scale) * static_cast<double>(q.scales[c])));
  kernels.bias = make_constant(ElementType::kInt32, {channels}, offsets);
  const Wanted wanted = need_result(node);
  const Held made =
      emitter_.conv2d(map.held, kernels, {}, channels, ConvolutionKind::kDepthwise, wanted.name, wanted);
  set(node, made_of(made, map.shape, map.axes));
}

}  // namespace tilebeat
