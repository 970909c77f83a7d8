// Convolutions and fully connected layers of TensorFlow Lite.
#include <algorithm>

#include <fmt/format.h>

#include "tflite_lowering.h"

namespace tilebeat {
namespace {

constexpr std::int64_t kMostStride = 65535;

std::array<std::int64_t, 2> pair_of(Attributes& attributes, const std::string& name) {
  const auto pair = attributes.integers(name);
  if (!pair || pair->size() != 2) throw Unsupported(fmt::format("it lacks its option {}", name));
  for (const std::int64_t value : *pair) {
    if (value < 1 || value > kMostStride) throw Unsupported(fmt::format("a {} of {}", name, value));
  }
  return {(*pair)[0], (*pair)[1]};
}

/// The window of a convolution; with SAME padding the output has ceil(in / stride) pixels.
WindowFields window_of(Attributes& attributes, const Extents& map, const Extents& kernels, bool dilated) {
  WindowFields window;
  window.kernel = {kernels[1], kernels[2]};
  window.stride = pair_of(attributes, "stride");
  if (dilated) window.dilation = pair_of(attributes, "dilation");
  const std::string padding = attributes.text("padding", "");
  if (padding != "SAME" && padding != "VALID") throw Unsupported(fmt::format("padding {}", padding));
  for (std::size_t axis = 0; padding == "SAME" && axis < 2; ++axis) {
    const std::int64_t in = map[1 + axis], stride = window.stride[axis];
    const std::int64_t extent = (window.kernel[axis] - 1) * window.dilation[axis] + 1;
    const std::int64_t total =
        std::max<std::int64_t>(0, ((in + stride - 1) / stride - 1) * stride + extent - in);
    window.pads[axis] = total / 2, window.pads[axis + 2] = total - total / 2;
  }
  return window;
}

void need_map(const Held& x) {
  if (x.shape.size() != 4) throw Unsupported(fmt::format("an input of {} axes", x.shape.size()));
}

}  // namespace

Kernels TfliteLowering::kernels_of(const GraphNode& node, std::size_t weights, std::size_t bias,
                                   std::int64_t axis) const {
  const GraphTensor& tensor = input(node, weights);
  Kernels kernels;
  kernels.weights = constant(node, weights);
  const Quantisation& q = tensor.quantisation;
  if (tensor.type != input(node, 0).type && weights != 0 && tensor.type != ElementType::kInt8)
    throw Unsupported(fmt::format("weights of {}", element_name(tensor.type)));
  if (tensor.type != ElementType::kInt8 && tensor.type != ElementType::kUint8)
    throw Unsupported(fmt::format("weights of {}", element_name(tensor.type)));
  if (q.scales.empty()) throw Unsupported("weights without a scale");
  if (q.scales.size() > 1 && q.axis != axis)
    throw Unsupported(fmt::format("weights with scales along axis {}", q.axis));
  kernels.scales = q.scales;
  kernels.zero_point = q.zero_points.front();
  if (std::any_of(q.zero_points.begin(), q.zero_points.end(),
                  [&](std::int64_t z) { return z != kernels.zero_point; }))
    throw Unsupported("weights with several zero points");
  if (bias >= node.inputs.size() || !node.inputs[bias]) return kernels;
  kernels.bias = constant(node, bias);
  if (kernels.bias->type != ElementType::kInt32)
    throw Unsupported(fmt::format("a bias of {}", element_name(kernels.bias->type)));
  kernels.bias->shape = {kernels.bias->elements()};
  return kernels;
}

void TfliteLowering::convolution(const GraphNode& node, Attributes& attributes) {
  const Held x = held(node, 0);
  need_map(x);
  const Kernels kernels = kernels_of(node, 1, 2, 0);
  const Extents& w = kernels.weights.shape;
  if (w.size() != 4 || w[3] < 1 || x.shape[3] % w[3] != 0)
    throw Unsupported(fmt::format("kernels {} on a map of {}", extents_text(w), extents_text(x.shape)));
  const WindowFields window = window_of(attributes, x.shape, w, true);
  const Wanted made = wanted(node, attributes.text("activation", "NONE"));
  set(node, emitter_.conv2d(x, kernels, window, x.shape[3] / w[3], ConvolutionKind::kPlain, made.name, made));
}

void TfliteLowering::depthwise(const GraphNode& node, Attributes& attributes) {
  const Held x = held(node, 0);
  need_map(x);
  Kernels kernels = kernels_of(node, 1, 2, 3);
  const Extents w = kernels.weights.shape;
  const std::int64_t channels = x.shape[3];
  if (w.size() != 4 || w[0] != 1 || channels < 1 || w[3] % channels != 0)
    throw Unsupported(fmt::format("kernels {} on a map of {}", extents_text(w), extents_text(x.shape)));
  const std::int64_t multiplier = attributes.integer("depth_multiplier", 0);
  if (multiplier != 0 && multiplier != w[3] / channels)
    throw Unsupported(fmt::format("a depth_multiplier of {} with kernels {}", multiplier, extents_text(w)));
  const WindowFields window = window_of(attributes, x.shape, w, true);
  // [1, Kh, Kw, Co] as [Co, Kh, Kw, 1]
  const std::vector<std::uint8_t> plain = kernels.weights.bytes;
  const std::int64_t taps = w[1] * w[2];
  for (std::int64_t tap = 0; tap < taps; ++tap) {
    for (std::int64_t c = 0; c < w[3]; ++c)
      kernels.weights.bytes[static_cast<std::size_t>(c * taps + tap)] =
          plain[static_cast<std::size_t>(tap * w[3] + c)];
  }
  kernels.weights.shape = {w[3], w[1], w[2], 1};
  const Wanted made = wanted(node, attributes.text("activation", "NONE"));
  set(node, emitter_.conv2d(x, kernels, window, channels, ConvolutionKind::kDepthwise, made.name, made));
}

void TfliteLowering::fully_connected(const GraphNode& node, Attributes& attributes) {
  const Kernels kernels = kernels_of(node, 1, 2, 0);
  const Extents& w = kernels.weights.shape;
  if (attributes.integer("weights_format", 0) != 0) throw Unsupported("shuffled weights");
  attributes.without_effect("keep_num_dims");  // the output's shape is declared
  Held x = held(node, 0);
  if (w.size() != 2 || w[1] < 1 || element_count(x.shape) % w[1] != 0)
    throw Unsupported(fmt::format("weights {} on {}", extents_text(w), extents_text(x.shape)));
  x = emitter_.reshape(x, {element_count(x.shape) / w[1], 1, 1, w[1]}, x.holder + "_rows");
  const Wanted made = wanted(node, attributes.text("activation", "NONE"));
  set(node, emitter_.fully_connected(x, kernels, made.name, made));
}

void TfliteLowering::transposed(const GraphNode& node, Attributes& attributes) {
  const Held x = held(node, 2);
  need_map(x);
  const Kernels kernels = kernels_of(node, 1, 3, 0);
  const Extents &w = kernels.weights.shape, shape = *output(node).shape;
  if (w.size() != 4 || shape.size() != 4 || w[3] != x.shape[3])
    throw Unsupported(fmt::format("kernels {} on a map of {}", extents_text(w), extents_text(x.shape)));
  if (constant(node, 0).integers() != shape)
    throw Unsupported("an output shape that is not the declared one");
  // The padding is that of the convolution which makes x of the output.
  WindowFields window = window_of(attributes, shape, w, false);
  std::array<std::int64_t, 2> more{0, 0};
  for (std::size_t axis = 0; axis < 2; ++axis) {
    const std::int64_t whole = (x.shape[1 + axis] - 1) * window.stride[axis] + window.kernel[axis];
    const std::int64_t cut = whole - window.pads[axis] - shape[1 + axis];
    window.pads[axis + 2] = std::max<std::int64_t>(0, cut);
    more[axis] = std::max<std::int64_t>(0, -cut);
  }
  const Wanted made = wanted(node, attributes.text("activation", "NONE"));
  set(node, emitter_.conv_transpose(x, kernels, window, more, shape, made));
}

}  // namespace tilebeat
