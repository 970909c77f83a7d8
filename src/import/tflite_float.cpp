// Float networks of TensorFlow Lite in the operators of ONNX, which are calibrated and quantised: arithmetic.
#include "import/tflite_float.h"

#include "base/types.h"
#include "import/operator_table.h"
#include "import/tflite_float_form.h"

#include <algorithm>

namespace tilebeat {

void FloatForm::convolution(const GraphNode& node, Attributes& attributes) {
  const bool depthwise = node.op == "DEPTHWISE_CONV_2D";
  const std::size_t output = result(node), x = operand(node, 0);
  const Extents w = constant(node, 1).shape;
  const Extents map = shape_of(x);
  if (map.size() != 4 || w.size() != 4 || w[depthwise ? 0 : 3] < 1)
    throw Unsupported(fmt::format("kernels {} on a map of {}", extents_text(w), extents_text(map)));
  const WindowFields window = tflite_window(attributes, map, w, true);
  attributes.without_effect("depth_multiplier");  // it is that of the shapes
  const std::size_t weights = turned_constant(node, 1, depthwise ? Numbers{3, 0, 1, 2} : Numbers{0, 3, 1, 2});
  std::vector<Operand> inputs{channels_first(x), weights};
  if (node.inputs.size() > 2 && node.inputs[2]) inputs.push_back(node.inputs[2]);
  const std::size_t before = before_last(output);
  add_activated("Conv", inputs, before, attributes.text("activation", "NONE"),
                {{"strides", Numbers{window.stride[0], window.stride[1]}},
                 {"dilations", Numbers{window.dilation[0], window.dilation[1]}},
                 {"pads", Numbers(window.pads.begin(), window.pads.end())},
                 {"group", depthwise ? map[3] : map[3] / w[3]}});
  channels_last(before, output);
}

void FloatForm::transposed_convolution(const GraphNode& node, Attributes& attributes) {
  const std::size_t output = result(node), x = operand(node, 2);
  const Extents w = constant(node, 1).shape, shape = shape_of(output), map = shape_of(x);
  if (map.size() != 4 || w.size() != 4 || shape.size() != 4) throw Unsupported("a tensor that is no map");
  const WindowFields window = tflite_window(attributes, shape, w, false);
  Numbers pads(window.pads.begin(), window.pads.end()), more{0, 0};
  for (std::size_t axis = 0; axis < 2; ++axis) {
    const std::int64_t whole = (map[1 + axis] - 1) * window.stride[axis] + window.kernel[axis];
    const std::int64_t cut = whole - window.pads[axis] - shape[1 + axis];
    pads[axis + 2] = std::max<std::int64_t>(0, cut), more[axis] = std::max<std::int64_t>(0, -cut);
  }
  std::vector<Operand> inputs{channels_first(x), turned_constant(node, 1, {3, 0, 1, 2})};
  if (node.inputs.size() > 3 && node.inputs[3]) inputs.push_back(node.inputs[3]);
  const std::size_t before = before_last(output);
  add_activated(
      "ConvTranspose", inputs, before, attributes.text("activation", "NONE"),
      {{"strides", Numbers{window.stride[0], window.stride[1]}}, {"pads", pads}, {"output_padding", more}});
  channels_last(before, output);
}

void FloatForm::fully_connected(const GraphNode& node, Attributes& attributes) {
  const std::size_t output = result(node);
  const Extents w = constant(node, 1).shape;
  if (attributes.integer("weights_format", 0) != 0) throw Unsupported("shuffled weights");
  for (const char* name : {"keep_num_dims", "asymmetric_quantize_inputs"}) attributes.without_effect(name);
  const std::int64_t elements = element_count(shape_of(operand(node, 0)));
  if (w.size() != 2 || w[1] < 1 || elements % w[1] != 0)
    throw Unsupported(fmt::format("weights {} on {} elements", extents_text(w), elements));
  const std::size_t rows = new_tensor(operand(node, 0), {elements / w[1], w[1]});
  add("Reshape", {operand(node, 0), numbers(output, shape_of(rows))}, rows);
  std::vector<Operand> inputs{rows, operand(node, 1)};
  if (node.inputs.size() > 2 && node.inputs[2]) inputs.push_back(node.inputs[2]);
  const std::size_t made = new_tensor(output, {elements / w[1], w[0]});
  add_activated("Gemm", inputs, made, attributes.text("activation", "NONE"), {{"transB", std::int64_t{1}}});
  add("Reshape", {made, numbers(output, shape_of(output))}, output);
}

void FloatForm::elementwise(const GraphNode& node, Attributes& attributes) {
  static const std::map<std::string, std::string> ops{
      {"ADD", "Add"},     {"SUB", "Sub"},     {"MUL", "Mul"},     {"DIV", "Div"},
      {"MAXIMUM", "Max"}, {"MINIMUM", "Min"}, {"PRELU", "PRelu"}, {"POW", "Pow"}};
  add_activated(ops.at(node.op), {operand(node, 0), operand(node, 1)}, result(node),
                attributes.text("activation", "NONE"));
}

void FloatForm::squares(const GraphNode& node, Attributes&) {
  const std::size_t output = result(node);
  std::size_t x = operand(node, 0);
  if (node.op == "SQUARED_DIFFERENCE") {
    x = new_tensor(output, shape_of(output));
    add("Sub", {operand(node, 0), operand(node, 1)}, x);
  }
  if (node.op == "RSQRT") {
    const std::size_t root = new_tensor(output, shape_of(output));
    add("Sqrt", {x}, root);
    return add("Reciprocal", {root}, output);
  }
  add("Mul", {x, x}, output);
}

void FloatForm::pool(const GraphNode& node, Attributes& attributes) {
  const std::size_t output = result(node), x = operand(node, 0);
  const auto kernel = attributes.integers("kernel");
  if (!kernel || kernel->size() != 2 || shape_of(x).size() != 4) throw Unsupported("it lacks its options");
  const WindowFields window =
      tflite_window(attributes, shape_of(x), {1, (*kernel)[0], (*kernel)[1], 1}, false);
  const std::size_t before = before_last(output);
  add_activated(node.op == "MAX_POOL_2D" ? "MaxPool" : "AveragePool", {channels_first(x)}, before,
                attributes.text("activation", "NONE"),
                {{"kernel_shape", *kernel},
                 {"strides", Numbers{window.stride[0], window.stride[1]}},
                 {"pads", Numbers(window.pads.begin(), window.pads.end())}});
  channels_last(before, output);
}

void FloatForm::reduce(const GraphNode& node, Attributes& attributes) {
  static const std::map<std::string, std::string> ops{
      {"MEAN", "ReduceMean"}, {"SUM", "ReduceSum"}, {"REDUCE_MAX", "ReduceMax"}, {"REDUCE_MIN", "ReduceMin"}};
  add(ops.at(node.op), {operand(node, 0), numbers(result(node), constant(node, 1).integers())}, result(node),
      {{"keepdims", attributes.integer("keep_dims", 0)}});
}

void FloatForm::softmax(const GraphNode& node, Attributes& attributes) {
  const float beta = attributes.real("beta", 1);
  std::size_t x = operand(node, 0);
  if (beta != 1 && node.op == "SOFTMAX") {
    const std::size_t scaled = new_tensor(x, shape_of(x));
    add("Mul", {x, number(x, static_cast<double>(beta))}, scaled);
    x = scaled;
  }
  add(node.op == "SOFTMAX" ? "Softmax" : "LogSoftmax", {x}, result(node), {{"axis", std::int64_t{-1}}});
}

void FloatForm::bounds(const GraphNode& node, Attributes&) {
  activate(node.op, operand(node, 0), result(node));
}

void FloatForm::function(const GraphNode& node, Attributes& attributes) {
  if (node.op == "LEAKY_RELU")
    return add("LeakyRelu", {operand(node, 0)}, result(node), {{"alpha", attributes.real("alpha", 0)}});
  add("Gelu", {operand(node, 0)}, result(node),
      {{"approximate", std::string(attributes.integer("approximate", 0) != 0 ? "tanh" : "none")}});
}

const std::map<std::string, std::string>& FloatForm::names() {
  static const std::map<std::string, std::string> names{
      {"LOGISTIC", "Sigmoid"}, {"TANH", "Tanh"},  {"HARD_SWISH", "HardSwish"},
      {"ELU", "Elu"},          {"EXP", "Exp"},    {"LOG", "Log"},
      {"SQRT", "Sqrt"},        {"ABS", "Abs"},    {"NEG", "Neg"},
      {"FLOOR", "Floor"},      {"CEIL", "Ceil"},  {"SIN", "Sin"},
      {"COS", "Cos"},          {"ROUND", "Round"}};
  return names;
}

const std::map<std::string, FloatForm::Rule>& FloatForm::rules() {
  using F = FloatForm;
  static const std::map<std::string, Rule> rules{
      {"CONV_2D", &F::convolution},
      {"DEPTHWISE_CONV_2D", &F::convolution},
      {"TRANSPOSE_CONV", &F::transposed_convolution},
      {"FULLY_CONNECTED", &F::fully_connected},
      {"ADD", &F::elementwise},
      {"SUB", &F::elementwise},
      {"MUL", &F::elementwise},
      {"DIV", &F::elementwise},
      {"MAXIMUM", &F::elementwise},
      {"MINIMUM", &F::elementwise},
      {"PRELU", &F::elementwise},
      {"POW", &F::elementwise},
      {"SQUARED_DIFFERENCE", &F::squares},
      {"SQUARE", &F::squares},
      {"RSQRT", &F::squares},
      {"AVERAGE_POOL_2D", &F::pool},
      {"MAX_POOL_2D", &F::pool},
      {"MEAN", &F::reduce},
      {"SUM", &F::reduce},
      {"REDUCE_MAX", &F::reduce},
      {"REDUCE_MIN", &F::reduce},
      {"SOFTMAX", &F::softmax},
      {"LOG_SOFTMAX", &F::softmax},
      {"RELU", &F::bounds},
      {"RELU6", &F::bounds},
      {"RELU_N1_TO_1", &F::bounds},
      {"LEAKY_RELU", &F::function},
      {"GELU", &F::function},
      {"RESHAPE", &F::reshape},
      {"SQUEEZE", &F::reshape},
      {"EXPAND_DIMS", &F::reshape},
      {"PAD", &F::pad},
      {"PADV2", &F::pad},
      {"MIRROR_PAD", &F::pad},
      {"CONCATENATION", &F::concat},
      {"TRANSPOSE", &F::transpose},
      {"RESIZE_BILINEAR", &F::resize},
      {"RESIZE_NEAREST_NEIGHBOR", &F::resize},
      {"DEPTH_TO_SPACE", &F::blocks},
      {"SPACE_TO_DEPTH", &F::blocks},
      {"SLICE", &F::slice},
      {"STRIDED_SLICE", &F::slice},
      {"SPLIT", &F::split},
      {"SPLIT_V", &F::split},
      {"GATHER", &F::gather},
      {"PACK", &F::pack},
      {"UNPACK", &F::pack},
      {"BATCH_MATMUL", &F::matmul},
      {"DEQUANTIZE", &F::dequantize},
      {"ARG_MAX", &F::arg_max},
  };
  return rules;
}

bool has_float_form(const std::string& op) {
  return FloatForm::has(op);
}

ModelGraph float_form(const ModelGraph& graph) {
  return FloatForm(graph).take();
}

}  // namespace tilebeat
