// Operators of TensorFlow Lite: convolutions and fully connected layers, those on single elements, windows
// and rows, and those that move elements.
#include "base/types.h"
#include "import/tflite_lowering.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

namespace tilebeat {
std::int64_t axis_in(std::int64_t axis, std::size_t rank) {
  if (axis < 0) axis += to_signed(rank);
  if (axis < 0 || axis >= to_signed(rank)) throw Unsupported(fmt::format("axis {}", axis));
  return axis;
}

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

void need_map(const Held& x) {
  if (x.shape.size() != 4) throw Unsupported(fmt::format("an input of {} axes", x.shape.size()));
}

}  // namespace

WindowFields tflite_window(Attributes& attributes, const Extents& map, const Extents& kernels, bool dilated) {
  WindowFields window;
  window.kernel = {kernels[1], kernels[2]};
  window.stride = pair_of(attributes, "stride");
  if (dilated) window.dilation = pair_of(attributes, "dilation");
  const std::string padding = attributes.text("padding", "");
  if (padding == "EXPLICIT") {
    const auto pads = attributes.integers("pads").value_or(Extents(4, 0));
    std::copy_n(pads.begin(), 4, window.pads.begin());
    return window;
  }
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

Kernels TfliteLowering::kernels_of(const GraphNode& node, std::size_t weights, std::size_t bias,
                                   std::int64_t axis) const {
  const GraphTensor& tensor = input(node, weights);
  Kernels kernels;
  kernels.weights = constant(node, weights);
  kernels.four_bits = kernels.weights.four_bits;
  const Quantisation& q = tensor.quantisation;
  if (tensor.type != input(node, 0).type && weights != 0 && tensor.type != ElementType::kInt8)
    throw Unsupported(fmt::format("weights of {}", element_name(tensor.type)));
  if (tensor.type != ElementType::kInt8 && tensor.type != ElementType::kUint8)
    throw Unsupported(fmt::format("weights of {}", element_name(tensor.type)));
  if (q.scales.empty()) throw Unsupported("weights without a scale");
  if (q.scales.size() > 1 && q.axis != axis)
    throw Unsupported(fmt::format("weights with scales along axis {}", q.axis));
  kernels.scales = q.scales;
  set_zero_points({q.zero_points.begin(), q.zero_points.end()}, axis, kernels);
  if (bias >= node.inputs.size() || !node.inputs[bias]) return kernels;
  kernels.bias = constant(node, bias);
  const bool of_int16 = output(node).type == ElementType::kInt16;
  if (kernels.bias->type != ElementType::kInt32 && !(of_int16 && kernels.bias->type == ElementType::kInt64))
    throw Unsupported(fmt::format("a bias of {}", element_name(kernels.bias->type)));
  kernels.bias->shape = {kernels.bias->elements()};
  return kernels;
}

void TfliteLowering::set_sums(const GraphNode& node, const std::string& option, Kernels& kernels) const {
  const std::size_t map = node.op == "TRANSPOSE_CONV" ? 2 : 0;
  if (input(node, map).type != ElementType::kInt16) return;
  const std::vector<std::int64_t>& zeros = input(node, 1).quantisation.zero_points;
  if (std::any_of(zeros.begin(), zeros.end(), [](std::int64_t zero) { return zero != 0; }))
    throw Unsupported("weights with a zero point on a map of int16");
  const bool of_32_bits = kernels.bias && kernels.bias->type == ElementType::kInt32;
  if (node.op == "FULLY_CONNECTED") {
    kernels.short_sums = of_32_bits || (!kernels.bias && option != "INT64");
    return;
  }
  kernels.short_sums = option == "INT32" && node.op != "DEPTHWISE_CONV_2D";
  if (kernels.bias && of_32_bits != kernels.short_sums)
    throw Unsupported(
        fmt::format("a bias of {} with quantized_bias_type {}", element_name(kernels.bias->type), option));
}

void TfliteLowering::convolution(const GraphNode& node, Attributes& attributes) {
  const Held x = held(node, 0);
  need_map(x);
  Kernels kernels = kernels_of(node, 1, 2, 0);
  set_sums(node, attributes.text("bias_type", ""), kernels);
  const Extents& w = kernels.weights.shape;
  if (w.size() != 4 || w[3] < 1 || x.shape[3] % w[3] != 0)
    throw Unsupported(fmt::format("kernels {} on a map of {}", extents_text(w), extents_text(x.shape)));
  const WindowFields window = tflite_window(attributes, x.shape, w, true);
  const Wanted made = wanted(node, attributes.text("activation", "NONE"));
  // Sums of 32 bits of several groups are rounded as those of a depthwise convolution.
  const std::int64_t groups = x.shape[3] / w[3];
  const auto kind = kernels.short_sums && groups > 1 ? ConvolutionKind::kDepthwise : ConvolutionKind::kPlain;
  set(node, emitter_.conv2d(x, kernels, window, groups, kind, made.name, made));
}

void TfliteLowering::depthwise(const GraphNode& node, Attributes& attributes) {
  const Held x = held(node, 0);
  need_map(x);
  Kernels kernels = kernels_of(node, 1, 2, 3);
  set_sums(node, "", kernels);
  const Extents w = kernels.weights.shape;
  const std::int64_t channels = x.shape[3];
  if (w.size() != 4 || w[0] != 1 || channels < 1 || w[3] % channels != 0)
    throw Unsupported(fmt::format("kernels {} on a map of {}", extents_text(w), extents_text(x.shape)));
  const std::int64_t multiplier = attributes.integer("depth_multiplier", 0);
  if (multiplier != 0 && multiplier != w[3] / channels)
    throw Unsupported(fmt::format("a depth_multiplier of {} with kernels {}", multiplier, extents_text(w)));
  const WindowFields window = tflite_window(attributes, x.shape, w, true);
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
  Kernels kernels = kernels_of(node, 1, 2, 0);
  set_sums(node, attributes.text("bias_type", ""), kernels);
  const Extents w = kernels.weights.shape;
  if (attributes.integer("weights_format", 0) != 0) throw Unsupported("shuffled weights");
  attributes.without_effect("keep_num_dims");  // the output's shape is declared
  Held x = held(node, 0);
  if (w.size() != 2 || w[1] < 1 || element_count(x.shape) % w[1] != 0)
    throw Unsupported(fmt::format("weights {} on {}", extents_text(w), extents_text(x.shape)));
  x = emitter_.reshape(x, {element_count(x.shape) / w[1], 1, 1, w[1]}, x.holder + "_rows");
  const Wanted made = wanted(node, attributes.text("activation", "NONE"));
  if (kernels.short_sums && kernels.scales.size() > 1) {
    // Their scales are multiplied as those of a convolution.
    kernels.weights.shape = {w[0], 1, 1, w[1]};
    return set(node,
               emitter_.conv2d(x, kernels, WindowFields{}, 1, ConvolutionKind::kPlain, made.name, made));
  }
  set(node, emitter_.fully_connected(x, kernels, made.name, made));
}

void TfliteLowering::transposed(const GraphNode& node, Attributes& attributes) {
  const Held x = held(node, 2);
  need_map(x);
  Kernels kernels = kernels_of(node, 1, 3, 0);
  set_sums(node, attributes.text("bias_type", ""), kernels);
  const Extents &w = kernels.weights.shape, shape = *output(node).shape;
  if (w.size() != 4 || shape.size() != 4 || w[3] != x.shape[3])
    throw Unsupported(fmt::format("kernels {} on a map of {}", extents_text(w), extents_text(x.shape)));
  if (constant(node, 0).integers() != shape)
    throw Unsupported("an output shape that is not the declared one");
  // The padding of the convolution that would compute x from the output.
  WindowFields window = tflite_window(attributes, shape, w, false);
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
  FieldsJson fields = FieldsJson::object();
  const bool shifts = node.op != "MUL" && attributes.integer("powers_of_two", 0) != 0;
  if (shifts && made.type == ElementType::kInt16) fields["power_of_two_scales"] = true;
  set(node, emitter_.elementwise(lower_case(node.op), a, b, map_shape(*output(node).shape), made,
                                 Rounding::kRuntime, fields));
}

void TfliteLowering::pool(const GraphNode& node, Attributes& attributes) {
  Held x = held(node, 0);
  const Extents& shape = *output(node).shape;
  if (x.shape.size() != 4 || shape.size() != 4) throw Unsupported("a tensor that is no map");
  need_same_scale(node, 0);
  if (x.type == ElementType::kInt16) x.scale = output(node).quantisation.scales.at(0);
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

Extents TfliteLowering::reduced_axes(const GraphNode& node) const {
  const std::size_t rank = input(node, 0).shape->size();
  Extents axes;
  for (const std::int64_t axis : constant(node, 1).integers())
    axes.push_back(to_signed(map_axis(to_size(axis_in(axis, rank)), rank)));
  std::sort(axes.begin(), axes.end());
  axes.erase(std::unique(axes.begin(), axes.end()), axes.end());
  if (axes.empty()) throw Unsupported("a reduction over no axes");
  return axes;
}

Held TfliteLowering::with_neighbours(const GraphNode& node, Held x, Extents& axes) {
  const auto is_reduced = [&axes](std::int64_t axis) {
    return std::find(axes.begin(), axes.end(), axis) != axes.end();
  };
  Extents order;
  bool apart = false;
  for (std::int64_t axis = axes.front(); axis <= axes.back(); ++axis) {
    order.push_back(axis);
    apart = apart || (!is_reduced(axis) && nth(x.shape, axis) != 1);
  }
  if (!apart) {
    axes = order;
    return x;
  }
  Extents perm(x.shape.size());
  std::iota(perm.begin(), perm.end(), 0);
  std::stable_partition(perm.begin(), perm.end(), [&](std::int64_t axis) { return !is_reduced(axis); });
  Extents shape;
  for (const std::int64_t axis : perm) shape.push_back(nth(x.shape, axis));
  const auto first = ssize(perm) - ssize(axes);
  for (std::size_t i = 0; i < axes.size(); ++i) axes[i] = first + to_signed(i);
  return emitter_.movement("transpose", {x}, shape, layer_name(node) + "_axes", {{"perm", perm}});
}

/// The built-in kernel has one rule for the axes 1 and 2 of a map that keeps its axes, and one for all
/// others.
void TfliteLowering::mean(const GraphNode& node, Attributes& attributes) {
  const Extents said = constant(node, 1).integers();
  const bool keeps = attributes.integer("keep_dims", 0) != 0;
  const bool of_map = node.op == "MEAN" && keeps && input(node, 0).shape->size() == 4 &&
                      (said == Extents{1, 2} || said == Extents{2, 1});
  Extents axes = reduced_axes(node);
  const Held x = with_neighbours(node, held(node, 0), axes);
  Extents shape = x.shape;
  for (const std::int64_t axis : axes) nth(shape, axis) = 1;
  FieldsJson fields{{"axes", axes}};
  const bool of_int16 = x.type == ElementType::kInt16;  // has one rule
  const bool named = node.op == "MEAN" &&
                     (of_int16 || (of_map ? builder_.arithmetic() == Arithmetic::kFixed : in_fixed_point()));
  if (named && !of_map && !of_int16) fields["rule"] = "any_axes";
  set(node, emitter_.function(node.op == "MEAN" ? "reduce_mean" : "reduce_sum", x, shape, wanted(node),
                              fields, named ? Rounding::kRuntime : Rounding::kExact));
}

/// REDUCE_MAX; REDUCE_MIN is the maximum of the complements.
void TfliteLowering::reduce_extreme(const GraphNode& node, Attributes& attributes) {
  attributes.without_effect("keep_dims");  // the output's shape is declared
  need_same_scale(node, 0);
  Extents axes = reduced_axes(node);
  Held x = with_neighbours(node, held(node, 0), axes);
  Extents shape = x.shape;
  for (const std::int64_t axis : axes) nth(shape, axis) = 1;
  const std::string name = layer_name(node);
  if (node.op == "REDUCE_MAX")
    return set(node, emitter_.movement("reduce_max", {x}, shape, name, {{"axes", axes}}));
  const auto limits = element_bounds(x.type);
  const Wanted complement{name + "_complement", x.type, x.scale, limits[0] + limits[1] - x.zero_point};
  const Held most = emitter_.movement("reduce_max", {emitter_.linear(x, {-1}, {0}, complement)}, shape,
                                      name + "_most", {{"axes", axes}});
  set(node, emitter_.linear(most, {-1}, {0}, wanted(node)));
}

/// MAXIMUM and MINIMUM compare elements, which have one scale.
void TfliteLowering::extreme(const GraphNode& node, Attributes&) {
  const std::size_t rank = std::max(input(node, 0).shape->size(), input(node, 1).shape->size());
  need_same_scale(node, 0), need_same_scale(node, 1);
  Held a = held(node, 0, rank), b = held(node, 1, rank);
  if (a.type == ElementType::kInt16) a.scale = b.scale = output(node).quantisation.scales.at(0);
  const Held made = emitter_.elementwise(node.op == "MAXIMUM" ? "max" : "min", a, b,
                                         map_shape(*output(node).shape), wanted(node), Rounding::kSame);
  set(node, made);
}

/// PRELU: what is below 0 times its slope, and what is above, of which one is 0.
void TfliteLowering::slopes(const GraphNode& node, Attributes&) {
  const std::size_t rank = input(node, 0).shape->size();
  const Held x = held(node, 0), alpha = held(node, 1, rank);
  const Wanted made = wanted(node);
  const auto limits = element_bounds(x.type), bounds = element_bounds(made.type);
  const Wanted below{made.name + "_below", x.type, x.scale, x.zero_point, {{limits[0], x.zero_point}}};
  const Wanted above{
      made.name + "_above", made.type, made.scale, made.zero_point, {{made.zero_point, bounds[1]}}};
  const Wanted scaled{made.name + "_scaled", made.type, made.scale, made.zero_point};
  const FieldsJson none = FieldsJson::object();
  const Held negative = emitter_.function("requantize", x, x.shape, below, none, Rounding::kSame);
  // Both products are rounded as those of MUL and of a requantisation; one of them is 0.
  const Rounding product = in_fixed_point() ? Rounding::kRuntime : Rounding::kSame;
  const Held sloped = emitter_.elementwise("mul", negative, alpha, x.shape, scaled, product);
  const Held positive = emitter_.function("requantize", x, x.shape, above, none, product);
  const Held sum = emitter_.elementwise("add", positive, sloped, x.shape, made, Rounding::kSame);
  if (!in_fixed_point()) emitter_.name_inexact(sum, "prelu");
  set(node, sum);
}

/// BATCH_MATMUL of two tensors, of which either may be a constant.
void TfliteLowering::product(const GraphNode& node, Attributes& attributes) {
  attributes.without_effect("asymmetric_quantize_inputs");  // of hybrid products
  constexpr std::size_t kMapAxes = 4;
  std::array<Held, 2> operands;
  for (std::size_t i = 0; i < 2; ++i) {
    if (input(node, i).shape->size() < 2) throw Unsupported("a product with a vector");
    Extents shape = *input(node, i).shape;
    shape.insert(shape.begin(), kMapAxes - std::min(kMapAxes, shape.size()), 1);
    Held& x = operands.at(i);
    x = emitter_.reshape(held(node, i), shape, fmt::format("{}_operand{}", layer_name(node), i));
    if (attributes.integer(i == 0 ? "adj_x" : "adj_y", 0) == 0) continue;
    Extents perm(shape.size());
    std::iota(perm.begin(), perm.end(), 0);
    std::swap(perm.back(), perm[perm.size() - 2]);
    std::swap(shape.back(), shape[shape.size() - 2]);
    x = emitter_.movement("transpose", {x}, shape, fmt::format("{}_turned{}", layer_name(node), i),
                          {{"perm", perm}});
  }
  Extents shape = *output(node).shape;
  shape.insert(shape.begin(), kMapAxes - std::min(kMapAxes, shape.size()), 1);
  const Wanted made = wanted(node);
  const bool named = in_fixed_point() && operands[0].type == ElementType::kInt8;
  const Held result = emitter_.product(operands[0], operands[1], shape, made.name, made,
                                       named ? Roundings::kTwo : Roundings::kByRule);
  if (!named && builder_.arithmetic() != Arithmetic::kExact) emitter_.name_inexact(result, "matmul");
  set(node, result);
}

void TfliteLowering::softmax(const GraphNode& node, Attributes& attributes) {
  const Held x = held(node, 0);
  const float beta = attributes.real("beta", 1);
  FieldsJson fields = FieldsJson::object();
  if (beta != 1) fields["beta"] = static_cast<double>(beta);
  set(node, emitter_.function("softmax", x, x.shape, wanted(node), fields,
                              is_micro() ? Rounding::kExact : Rounding::kRuntime));
}

void TfliteLowering::function(const GraphNode& node, Attributes& attributes) {
  const Held x = held(node, 0);
  FieldsJson fields = FieldsJson::object();
  bool named = node.op == "LOGISTIC" || node.op == "TANH" ? !is_micro() : in_fixed_point();
  if (node.op == "LEAKY_RELU") {
    const float slope = attributes.real("alpha", 0);
    fields["slope"] = static_cast<double>(slope);
    named = (named || x.type == ElementType::kInt16) && slope >= 0;
    if (x.type == ElementType::kInt16 && slope < 0) throw Unsupported("a negative alpha for int16");
  }
  const std::string op = node.op == "LOGISTIC" ? "sigmoid" : lower_case(node.op);
  set(node,
      emitter_.function(op, x, x.shape, wanted(node), fields, named ? Rounding::kRuntime : Rounding::kExact));
}

/// XNNPACK has no activation between tensors of different scales.
void TfliteLowering::requantize(const GraphNode& node, Attributes&) {
  const Held x = held(node, 0);
  const bool converts = node.op == "QUANTIZE";
  const Wanted made = wanted(node, converts ? "NONE" : node.op);
  if (x.type == ElementType::kFloat32) return set(node, emitter_.quantize(x, made));
  const bool same = x.scale == made.scale && x.zero_point == made.zero_point && x.type == made.type;
  if (x.type == ElementType::kInt16 && !converts)  // its factor is rounded to float32
    return set(node, emitter_.function("leaky_relu", x, x.shape, made, {{"slope", 0}}));
  set(node, emitter_.function("requantize", x, x.shape, made, FieldsJson::object(),
                              converts || same || in_fixed_point() ? Rounding::kRuntime : Rounding::kExact));
}

void TfliteLowering::dequantize(const GraphNode& node, Attributes&) {
  const Held x = held(node, 0);
  if (x.type == ElementType::kFloat32 || output(node).type != ElementType::kFloat32)
    throw Unsupported("a conversion that is not from int8, uint8 or int16 to float32");
  set(node, emitter_.dequantize(x, layer_name(node)));
}

// ---- all of them, by their names ----

const std::map<std::string, TfliteLowering::Row>& TfliteLowering::table() {
  using T = TfliteLowering;
  static const std::map<std::string, Row> operators{
      {"CONV_2D", {&T::convolution, Promise::kRule}},
      {"DEPTHWISE_CONV_2D", {&T::depthwise, Promise::kRule}},
      {"FULLY_CONNECTED", {&T::fully_connected, Promise::kRule}},
      {"TRANSPOSE_CONV", {&T::transposed, Promise::kRule}},
      {"ADD", {&T::elementwise, Promise::kRule}},
      {"SUB", {&T::elementwise, Promise::kRule}},
      {"MUL", {&T::elementwise, Promise::kRule}},
      {"AVERAGE_POOL_2D", {&T::pool, Promise::kRule}},
      {"MAX_POOL_2D", {&T::pool, Promise::kMoves}},
      {"MAXIMUM", {&T::extreme, Promise::kMoves}},
      {"MINIMUM", {&T::extreme, Promise::kMoves}},
      {"PRELU", {&T::slopes, Promise::kRule}},
      {"BATCH_MATMUL", {&T::product, Promise::kRule}},
      {"MEAN", {&T::mean, Promise::kRule}},
      {"SUM", {&T::mean, Promise::kInexact}},
      {"REDUCE_MAX", {&T::reduce_extreme, Promise::kMoves}},
      {"REDUCE_MIN", {&T::reduce_extreme, Promise::kMoves}},
      {"SOFTMAX", {&T::softmax, Promise::kRule}},
      {"LOGISTIC", {&T::function, Promise::kRule}},
      {"TANH", {&T::function, Promise::kRule}},
      {"HARD_SWISH", {&T::function, Promise::kRule}},
      {"LEAKY_RELU", {&T::function, Promise::kByClass}},
      {"RELU", {&T::requantize, Promise::kRule}},
      {"RELU6", {&T::requantize, Promise::kRule}},
      {"RELU_N1_TO_1", {&T::requantize, Promise::kRule}},
      {"QUANTIZE", {&T::requantize, Promise::kRule}},
      {"DEQUANTIZE", {&T::dequantize, Promise::kRule}},
      {"RESHAPE", {&T::reshape, Promise::kMoves}},
      {"SQUEEZE", {&T::reshape, Promise::kMoves}},
      {"EXPAND_DIMS", {&T::reshape, Promise::kMoves}},
      {"PAD", {&T::pad, Promise::kMoves}},
      {"PADV2", {&T::pad, Promise::kMoves}},
      {"CONCATENATION", {&T::concatenation, Promise::kByClass}},
      {"TRANSPOSE", {&T::transpose, Promise::kMoves}},
      {"RESIZE_BILINEAR", {&T::resize, Promise::kByClass}},
      {"RESIZE_NEAREST_NEIGHBOR", {&T::resize, Promise::kMoves}},
      {"DEPTH_TO_SPACE", {&T::blocks, Promise::kMoves}},
      {"SPACE_TO_DEPTH", {&T::blocks, Promise::kMoves}},
      {"SLICE", {&T::slice, Promise::kMoves}},
      {"STRIDED_SLICE", {&T::slice, Promise::kMoves}},
      {"SPLIT", {&T::split, Promise::kMoves}},
      {"SPLIT_V", {&T::split_by_lengths, Promise::kMoves}},
      {"ARG_MAX", {&T::arg_max, Promise::kMoves}},
      {"EXP", {&T::tabulated, Promise::kRule}},
      {"LOG", {&T::tabulated, Promise::kRule}},
      {"ELU", {&T::tabulated, Promise::kRule}},
      {"GELU", {&T::tabulated, Promise::kRule}},
      {"RSQRT", {&T::tabulated, Promise::kInexact}},
      {"ABS", {&T::tabulated, Promise::kRule}},
      {"NEG", {&T::tabulated, Promise::kRule}},
      {"GATHER", {&T::gather, Promise::kMoves}},
      {"PACK", {&T::pack, Promise::kMoves}},
      {"UNPACK", {&T::unpack, Promise::kMoves}},
      {"SPACE_TO_BATCH_ND", {&T::space_to_batch, Promise::kMoves}},
      {"BATCH_TO_SPACE_ND", {&T::batch_to_space, Promise::kMoves}},
  };
  return operators;
}

std::optional<Promise> TfliteLowering::promise(const std::string& op) {
  const auto found = table().find(op);
  return found == table().end() ? std::nullopt : std::optional(found->second.promise);
}

std::optional<Promise> tflite_promise(const std::string& op) {
  return TfliteLowering::promise(op);
}

}  // namespace tilebeat
