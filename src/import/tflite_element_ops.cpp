// Operators of TensorFlow Lite on single elements, windows and rows.
#include <algorithm>

#include <fmt/format.h>

#include "tflite_lowering.h"

namespace tilebeat {
namespace {

std::string lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

}  // namespace

void TfliteLowering::elementwise(const GraphNode& node, Attributes& attributes) {
  const std::size_t rank = std::max(input(node, 0).shape->size(), input(node, 1).shape->size());
  const Held a = held(node, 0, rank), b = held(node, 1, rank);
  const Wanted made = wanted(node, attributes.text("activation", "NONE"));
  set(node, emitter_.elementwise(lower_case(node.op), a, b, map_shape(*output(node).shape), made));
}

void TfliteLowering::pool(const GraphNode& node, Attributes& attributes) {
  const Held x = held(node, 0);
  const Extents& shape = *output(node).shape;
  if (x.shape.size() != 4 || shape.size() != 4) throw Unsupported("a tensor that is no map");
  need_same_scale(node, 0);
  const auto kernel = attributes.integers("kernel"), stride = attributes.integers("stride");
  const std::string padding = attributes.text("padding", "");
  if (!kernel || !stride) throw Unsupported("it lacks its options");
  if (padding != "SAME" && padding != "VALID") throw Unsupported(fmt::format("padding {}", padding));
  WindowFields window;
  for (std::size_t axis = 0; axis < 2; ++axis) {
    window.kernel[axis] = (*kernel)[axis], window.stride[axis] = (*stride)[axis];
    if (window.kernel[axis] < 1 || window.stride[axis] < 1) throw Unsupported("a window of no pixels");
    const std::int64_t in = x.shape[1 + axis];
    const std::int64_t out = padding == "SAME" ? (in + window.stride[axis] - 1) / window.stride[axis]
                                               : (in - window.kernel[axis]) / window.stride[axis] + 1;
    if (out != shape[1 + axis]) throw Unsupported("an output shape that its window does not make");
    const std::int64_t total =
        std::max<std::int64_t>(0, (out - 1) * window.stride[axis] + window.kernel[axis] - in);
    if (padding == "SAME") window.pads[axis] = total / 2, window.pads[axis + 2] = total - total / 2;
  }
  const Wanted made = wanted(node, attributes.text("activation", "NONE"));
  set(node, node.op == "MAX_POOL_2D" ? emitter_.max_pool(x, window, shape, made)
                                     : emitter_.average_pool(x, window, false, shape, made));
}

void TfliteLowering::mean(const GraphNode& node, Attributes& attributes) {
  const Held x = held(node, 0);
  const std::size_t rank = input(node, 0).shape->size();
  attributes.without_effect("keep_dims");  // the output's shape is declared
  Extents axes, shape = x.shape;
  for (std::int64_t axis : constant(node, 1).integers()) {
    if (axis < 0) axis += static_cast<std::int64_t>(rank);
    if (axis < 0 || axis >= static_cast<std::int64_t>(rank)) throw Unsupported(fmt::format("axis {}", axis));
    const std::size_t held_axis = map_axis(static_cast<std::size_t>(axis), rank);
    axes.push_back(static_cast<std::int64_t>(held_axis));
    shape[held_axis] = 1;
  }
  std::sort(axes.begin(), axes.end());
  set(node, emitter_.function("reduce_mean", x, shape, wanted(node), {{"axes", axes}}));
}

void TfliteLowering::softmax(const GraphNode& node, Attributes& attributes) {
  const Held x = held(node, 0);
  const float beta = attributes.real("beta", 1);
  FieldsJson fields = FieldsJson::object();
  if (beta != 1) fields["beta"] = static_cast<double>(beta);
  set(node, emitter_.function("softmax", x, x.shape, wanted(node), fields));
}

void TfliteLowering::function(const GraphNode& node, Attributes& attributes) {
  const Held x = held(node, 0);
  FieldsJson fields = FieldsJson::object();
  if (node.op == "LEAKY_RELU") fields["slope"] = static_cast<double>(attributes.real("alpha", 0));
  const bool stated = node.op == "LOGISTIC" || node.op == "TANH";
  const std::string op = node.op == "LOGISTIC" ? "sigmoid" : lower_case(node.op);
  set(node, emitter_.function(op, x, x.shape, wanted(node), fields,
                              stated ? Rounding::kRuntime : Rounding::kExact));
}

void TfliteLowering::requantize(const GraphNode& node, Attributes&) {
  const Held x = held(node, 0);
  const Wanted made = wanted(node, node.op == "QUANTIZE" ? "NONE" : node.op);
  set(node, x.type == ElementType::kFloat32 ? emitter_.quantize(x, made)
                                            : emitter_.function("requantize", x, x.shape, made));
}

void TfliteLowering::dequantize(const GraphNode& node, Attributes&) {
  const Held x = held(node, 0);
  if (x.type == ElementType::kFloat32 || output(node).type != ElementType::kFloat32)
    throw Unsupported("a conversion that is not from int8 or uint8 to float32");
  set(node, emitter_.dequantize(x, layer_name(node)));
}

}  // namespace tilebeat
