// Operators of TensorFlow Lite: convolutions and fully connected layers, those on single elements, windows
// and rows, and those that move elements.
#include "base/types.h"
#include "import/tflite_lowering.h"

#include <algorithm>

#include <fmt/format.h>

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
      nth(kernels.weights.bytes, c * taps + tap) = nth(plain, tap * w[3] + c);
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
  // The padding of the convolution that would compute x from the output.
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
    if (axis < 0) axis += to_signed(rank);
    if (axis < 0 || axis >= to_signed(rank)) throw Unsupported(fmt::format("axis {}", axis));
    const std::size_t held_axis = map_axis(to_size(axis), rank);
    axes.push_back(to_signed(held_axis));
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

namespace {

std::int64_t axis_in(std::int64_t axis, std::size_t rank) {
  if (axis < 0) axis += to_signed(rank);
  if (axis < 0 || axis >= to_signed(rank)) throw Unsupported(fmt::format("axis {}", axis));
  return axis;
}

}  // namespace

void TfliteLowering::reshape(const GraphNode& node, Attributes& attributes) {
  need_same_scale(node, 0);
  // The shape that the file declares for the output already follows from these.
  for (const char* name : {"new_shape", "squeeze_dims"}) attributes.without_effect(name);
  const Held x = held(node, 0);
  set(node, emitter_.reshape(x, map_shape(*output(node).shape), layer_name(node)));
}

void TfliteLowering::pad(const GraphNode& node, Attributes&) {
  need_same_scale(node, 0);
  const Held x = held(node, 0);
  const std::size_t rank = input(node, 0).shape->size();
  const std::vector<std::int64_t> wish = constant(node, 1).integers();
  if (x.shape.size() != 4 || wish.size() != 2 * rank) throw Unsupported("paddings that do not fit its map");
  std::array<std::array<std::int64_t, 2>, 4> sides{};
  for (std::size_t axis = 0; axis < rank; ++axis)
    sides[map_axis(axis, rank)] = {wish[2 * axis], wish[2 * axis + 1]};
  if (sides[0][0] != 0 || sides[0][1] != 0) throw Unsupported("a padding of the batch");
  FieldsJson fields{{"pads", {sides[1][0], sides[2][0], sides[1][1], sides[2][1]}}};
  if (sides[3][0] != 0 || sides[3][1] != 0) fields["channel_pads"] = sides[3];
  Extents shape = x.shape;
  for (std::size_t axis = 0; axis < 4; ++axis) {
    if (sides[axis][0] < 0 || sides[axis][1] < 0) throw Unsupported("a negative padding");
    shape[axis] += sides[axis][0] + sides[axis][1];
  }
  if (node.op == "PADV2") {
    need_same_scale(node, 2);
    fields["value"] = constant(node, 2).integers().at(0);
  }
  set(node, emitter_.movement("pad", {x}, shape, layer_name(node), fields));
}

void TfliteLowering::concatenation(const GraphNode& node, Attributes& attributes) {
  const Wanted made = wanted(node, attributes.text("activation", "NONE"));
  if (made.range && *made.range != byte_range(made.type)) throw Unsupported("a fused activation");
  const std::size_t rank = output(node).shape->size();
  const std::size_t axis = map_axis(to_size(axis_in(attributes.integer("axis", 0), rank)), rank);
  std::vector<Held> parts;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    Held part = held(node, i);
    if (part.scale != made.scale || part.zero_point != made.zero_point || part.type != made.type)
      part =
          emitter_.function("requantize", part, part.shape,
                            {fmt::format("{}_part{}", made.name, i), made.type, made.scale, made.zero_point});
    parts.push_back(part);
  }
  const Extents shape = map_shape(*output(node).shape);
  FieldsJson fields = FieldsJson::object();
  if (axis + 1 != shape.size()) fields["axis"] = axis;
  set(node, emitter_.movement("concat", parts, shape, made.name, fields));
}

void TfliteLowering::transpose(const GraphNode& node, Attributes&) {
  need_same_scale(node, 0);
  const std::size_t rank = input(node, 0).shape->size();
  const std::vector<std::int64_t> wish = constant(node, 1).integers();
  const Held x = held(node, 0);
  if (wish.size() != rank || output(node).shape->size() != rank)
    throw Unsupported("a permutation of another rank");
  Extents perm(x.shape.size()), shape(x.shape.size());
  for (std::size_t axis = 0; axis < perm.size(); ++axis) perm[axis] = to_signed(axis);
  for (std::size_t axis = 0; axis < rank; ++axis)
    perm[map_axis(axis, rank)] = to_signed(map_axis(to_size(axis_in(wish[axis], rank)), rank));
  for (std::size_t axis = 0; axis < perm.size(); ++axis) shape[axis] = nth(x.shape, perm[axis]);
  set(node, emitter_.movement("transpose", {x}, shape, layer_name(node), {{"perm", perm}}));
}

void TfliteLowering::resize(const GraphNode& node, Attributes& attributes) {
  need_same_scale(node, 0);
  const Held x = held(node, 0);
  const Extents& shape = *output(node).shape;
  if (x.shape.size() != 4 || shape.size() != 4) throw Unsupported("a tensor that is no map");
  if (constant(node, 1).integers() != Extents{shape[1], shape[2]})
    throw Unsupported("a size that is not the declared one");
  const bool corners = attributes.integer("align_corners", 0) != 0;
  const bool half = attributes.integer("half_pixel_centers", 0) != 0;
  if (corners && half) throw Unsupported("align_corners with half_pixel_centers");
  FieldsJson fields{{"size", {shape[1], shape[2]}},
                    {"coordinate_mode", corners ? "align_corners"
                                        : half  ? "half_pixel"
                                                : "asymmetric"}};
  if (node.op == "RESIZE_BILINEAR") {
    fields["mode"] = "bilinear";
  } else {
    fields["nearest_mode"] = corners || half ? "round_prefer_ceil" : "floor";
  }
  set(node, emitter_.movement("resize", {x}, shape, layer_name(node), fields));
}

/// The block size is the ratio between the declared output and the input.
void TfliteLowering::blocks(const GraphNode& node, Attributes&) {
  need_same_scale(node, 0);
  const Held x = held(node, 0);
  const Extents& shape = *output(node).shape;
  if (x.shape.size() != 4 || shape.size() != 4) throw Unsupported("a tensor that is no map");
  const bool to_space = node.op == "DEPTH_TO_SPACE";
  const Extents &wide = to_space ? shape : x.shape, &deep = to_space ? x.shape : shape;
  const std::int64_t b = deep[1] > 0 ? wide[1] / deep[1] : 0;
  if (deep[0] != wide[0] || deep[1] * b != wide[1] || deep[2] * b != wide[2] || wide[3] * b * b != deep[3])
    throw Unsupported(fmt::format("blocks that make {} of {}", extents_text(shape), extents_text(x.shape)));
  set(node, emitter_.movement(lower_case(node.op), {x}, shape, layer_name(node), {{"block_size", b}}));
}

void TfliteLowering::emit_slice(const GraphNode& node, std::size_t output_index, const Extents& starts,
                                const Extents& ends, const Extents& steps) {
  need_same_scale(node, node.op == "SPLIT" ? 1 : 0, output_index);
  const std::size_t source = node.op == "SPLIT" ? 1 : 0, rank = input(node, source).shape->size();
  const Held x = held(node, source);
  Extents from(x.shape.size(), 0), to = x.shape, by(x.shape.size(), 1), shape = x.shape;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const std::size_t at = map_axis(axis, rank);
    if (steps[axis] < 1 || starts[axis] < 0 || ends[axis] > x.shape[at] || starts[axis] >= ends[axis])
      throw Unsupported(fmt::format("a slice from {} to {} by {} of {}", starts[axis], ends[axis],
                                    steps[axis], x.shape[at]));
    from[at] = starts[axis], to[at] = ends[axis], by[at] = steps[axis];
    shape[at] = (ends[axis] - starts[axis] + steps[axis] - 1) / steps[axis];
  }
  set(node,
      emitter_.movement("slice", {x}, shape, layer_name(node, output_index),
                        {{"starts", from}, {"ends", to}, {"steps", by}}),
      output_index);
}

void TfliteLowering::slice(const GraphNode& node, Attributes&) {
  const Extents& shape = *input(node, 0).shape;
  const std::vector<std::int64_t> begin = constant(node, 1).integers(), size = constant(node, 2).integers();
  if (begin.size() != shape.size() || size.size() != shape.size())
    throw Unsupported("a slice of another rank");
  Extents ends(shape.size());
  for (std::size_t axis = 0; axis < shape.size(); ++axis)
    ends[axis] = size[axis] == -1 ? shape[axis] : begin[axis] + size[axis];
  emit_slice(node, 0, begin, ends, Extents(shape.size(), 1));
}

void TfliteLowering::strided_slice(const GraphNode& node, Attributes& attributes) {
  const Extents& shape = *input(node, 0).shape;
  std::vector<std::int64_t> begin = constant(node, 1).integers(), end = constant(node, 2).integers();
  const std::vector<std::int64_t> steps = constant(node, 3).integers();
  if (begin.size() != shape.size() || end.size() != shape.size() || steps.size() != shape.size())
    throw Unsupported("a slice of another rank");
  for (const char* name : {"ellipsis_mask", "new_axis_mask", "offset"}) {
    if (attributes.integer(name, 0) != 0) throw Unsupported(fmt::format("an {}", name));
  }
  const std::int64_t begin_mask = attributes.integer("begin_mask", 0),
                     end_mask = attributes.integer("end_mask", 0);
  const std::int64_t shrink = attributes.integer("shrink_axis_mask", 0);
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const std::int64_t extent = shape[axis];
    if (begin[axis] < 0) begin[axis] += extent;
    if (end[axis] < 0) end[axis] += extent;
    if ((begin_mask >> axis & 1) != 0) begin[axis] = 0;
    if ((end_mask >> axis & 1) != 0) end[axis] = extent;
    if ((shrink >> axis & 1) != 0) end[axis] = begin[axis] + 1;
    end[axis] = std::min(end[axis], extent);
  }
  emit_slice(node, 0, begin, end, steps);
}

void TfliteLowering::split(const GraphNode& node, Attributes& attributes) {
  const Extents& shape = *input(node, 1).shape;
  const auto axis = to_size(axis_in(constant(node, 0).integers().at(0), shape.size()));
  const std::int64_t parts = attributes.integer("num_splits", 0);
  if (parts < 1 || parts != ssize(node.outputs) || shape[axis] % parts != 0)
    throw Unsupported(fmt::format("{} parts of {}", parts, shape[axis]));
  for (std::int64_t part = 0; part < parts; ++part) {
    Extents starts(shape.size(), 0), ends = shape;
    starts[axis] = part * (shape[axis] / parts), ends[axis] = starts[axis] + shape[axis] / parts;
    emit_slice(node, to_size(part), starts, ends, Extents(shape.size(), 1));
  }
}

// ---- all of them, by their names ----

const std::map<std::string, TfliteLowering::Lower>& TfliteLowering::table() {
  using T = TfliteLowering;
  static const std::map<std::string, Lower> operators{
      {"CONV_2D", &T::convolution},
      {"DEPTHWISE_CONV_2D", &T::depthwise},
      {"FULLY_CONNECTED", &T::fully_connected},
      {"TRANSPOSE_CONV", &T::transposed},
      {"ADD", &T::elementwise},
      {"SUB", &T::elementwise},
      {"MUL", &T::elementwise},
      {"AVERAGE_POOL_2D", &T::pool},
      {"MAX_POOL_2D", &T::pool},
      {"MEAN", &T::mean},
      {"SOFTMAX", &T::softmax},
      {"LOGISTIC", &T::function},
      {"TANH", &T::function},
      {"HARD_SWISH", &T::function},
      {"LEAKY_RELU", &T::function},
      {"RELU", &T::requantize},
      {"RELU6", &T::requantize},
      {"RELU_N1_TO_1", &T::requantize},
      {"QUANTIZE", &T::requantize},
      {"DEQUANTIZE", &T::dequantize},
      {"RESHAPE", &T::reshape},
      {"SQUEEZE", &T::reshape},
      {"EXPAND_DIMS", &T::reshape},
      {"PAD", &T::pad},
      {"PADV2", &T::pad},
      {"CONCATENATION", &T::concatenation},
      {"TRANSPOSE", &T::transpose},
      {"RESIZE_BILINEAR", &T::resize},
      {"RESIZE_NEAREST_NEIGHBOR", &T::resize},
      {"DEPTH_TO_SPACE", &T::blocks},
      {"SPACE_TO_DEPTH", &T::blocks},
      {"SLICE", &T::slice},
      {"STRIDED_SLICE", &T::strided_slice},
      {"SPLIT", &T::split},
  };
  return operators;
}

}  // namespace tilebeat
