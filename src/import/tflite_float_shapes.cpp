// The same: operators that move elements, and products of tensors.
#include "base/types.h"
#include "import/tflite_float_form.h"

#include <algorithm>

namespace tilebeat {

void FloatForm::reshape(const GraphNode& node, Attributes& attributes) {
  for (const char* name : {"new_shape", "squeeze_dims"}) attributes.without_effect(name);  // declared
  add("Reshape", {operand(node, 0), numbers(result(node), shape_of(result(node)))}, result(node));
}

void FloatForm::pad(const GraphNode& node, Attributes& attributes) {
  const Numbers sides = constant(node, 1).integers();
  Numbers pads;
  for (const std::size_t end : {0U, 1U}) {
    for (std::size_t i = end; i < sides.size(); i += 2) pads.push_back(sides[i]);
  }
  std::vector<Operand> inputs{operand(node, 0), numbers(result(node), pads)};
  if (node.op == "PADV2") inputs.push_back(operand(node, 2));
  const bool mirrors = node.op == "MIRROR_PAD";
  if (mirrors && attributes.integer("mode", 0) != 0) throw Unsupported("mode SYMMETRIC");
  add("Pad", inputs, result(node), {{"mode", std::string(mirrors ? "reflect" : "constant")}});
}

void FloatForm::concat(const GraphNode& node, Attributes& attributes) {
  add_activated("Concat", node.inputs, result(node), attributes.text("activation", "NONE"),
                {{"axis", attributes.integer("axis", 0)}});
}

void FloatForm::transpose(const GraphNode& node, Attributes&) {
  add("Transpose", {operand(node, 0)}, result(node), {{"perm", constant(node, 1).integers()}});
}

void FloatForm::resize(const GraphNode& node, Attributes& attributes) {
  const std::size_t output = result(node);
  const bool corners = attributes.integer("align_corners", 0) != 0;
  const bool half = attributes.integer("half_pixel_centers", 0) != 0;
  const std::size_t before = before_last(output);
  Values values{{"coordinate_transformation_mode", std::string(corners ? "align_corners"
                                                               : half  ? "half_pixel"
                                                                       : "asymmetric")},
                {"mode", std::string(node.op == "RESIZE_BILINEAR" ? "linear" : "nearest")}};
  if (node.op != "RESIZE_BILINEAR")
    values["nearest_mode"] = std::string(corners || half ? "round_prefer_ceil" : "floor");
  add("Resize",
      {channels_first(operand(node, 0)), std::nullopt, std::nullopt, numbers(output, shape_of(before))},
      before, values);
  channels_last(before, output);
}

void FloatForm::blocks(const GraphNode& node, Attributes&) {
  const std::size_t output = result(node), x = operand(node, 0);
  const bool to_space = node.op == "DEPTH_TO_SPACE";
  const std::size_t before = before_last(output), map = channels_first(x);
  const Extents wide = shape_of(to_space ? output : x), deep = shape_of(to_space ? x : output);
  if (deep[1] < 1 || wide[1] % deep[1] != 0) throw Unsupported("blocks that its shapes do not tell");
  add(to_space ? "DepthToSpace" : "SpaceToDepth", {map}, before, {{"blocksize", wide[1] / deep[1]}});
  channels_last(before, output);
}

void FloatForm::slice(const GraphNode& node, Attributes& attributes) {
  const std::size_t output = result(node), x = operand(node, 0);
  const SliceBounds bounds = tflite_slice(
      node, attributes, shape_of(x), [&](std::size_t i) -> const Constant& { return constant(node, i); });
  Extents kept;
  Numbers axes;
  for (std::size_t axis = 0; axis < bounds.starts.size(); ++axis) {
    kept.push_back((bounds.ends[axis] - bounds.starts[axis] + bounds.steps[axis] - 1) / bounds.steps[axis]);
    axes.push_back(to_signed(axis));
  }
  const std::size_t part = kept == shape_of(output) ? output : new_tensor(output, kept);
  add("Slice",
      {x, numbers(x, bounds.starts), numbers(x, bounds.ends), numbers(x, axes), numbers(x, bounds.steps)},
      part);
  if (part != output) add("Reshape", {part, numbers(output, shape_of(output))}, output);
}

void FloatForm::split(const GraphNode& node, Attributes& attributes) {
  attributes.without_effect("num_splits");  // the outputs are counted
  const bool lengths = node.op == "SPLIT_V";
  const std::size_t x = operand(node, lengths ? 0 : 1);
  const std::int64_t axis = axis_in(constant(node, lengths ? 2 : 0).integers().at(0), shape_of(x).size());
  Numbers parts;
  for (std::size_t i = 0; i < node.outputs.size(); ++i)
    parts.push_back(shape_of(result(node, i)).at(to_size(axis)));
  GraphNode made;
  made.name = made_.tensors[x].name, made.op = "Split";
  made.inputs = {x, numbers(x, parts)}, made.outputs = node.outputs;
  made.attributes = {{"axis", axis}};
  made_.nodes.push_back(std::move(made));
}

void FloatForm::gather(const GraphNode& node, Attributes& attributes) {
  if (attributes.integer("batch_dims", 0) != 0) throw Unsupported("batch_dims");
  add("Gather", {operand(node, 0), operand(node, 1)}, result(node),
      {{"axis", attributes.integer("axis", 0)}});
}

/// PACK and UNPACK.
void FloatForm::pack(const GraphNode& node, Attributes& attributes) {
  for (const char* name : {"values_count", "num"})
    attributes.without_effect(name);  // the tensors are counted
  const bool joins = node.op == "PACK";
  const Extents whole = shape_of(joins ? result(node) : operand(node, 0));
  const std::int64_t axis = axis_in(attributes.integer("axis", 0), whole.size());
  Extents one = whole;
  one.at(to_size(axis)) = 1;
  if (!joins) {
    GraphNode made;
    made.name = made_.tensors[operand(node, 0)].name, made.op = "Split";
    made.inputs = {operand(node, 0)}, made.attributes = {{"axis", axis}};
    std::vector<std::size_t> parts;
    for (std::size_t i = 0; i < node.outputs.size(); ++i) parts.push_back(new_tensor(result(node, i), one));
    made.outputs.assign(parts.begin(), parts.end());
    made_.nodes.push_back(std::move(made));
    for (std::size_t i = 0; i < parts.size(); ++i)
      add("Reshape", {parts[i], numbers(parts[i], shape_of(result(node, i)))}, result(node, i));
    return;
  }
  std::vector<Operand> parts;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const std::size_t part = new_tensor(result(node), one);
    add("Reshape", {operand(node, i), numbers(part, one)}, part);
    parts.emplace_back(part);
  }
  add("Concat", parts, result(node), {{"axis", axis}});
}

void FloatForm::matmul(const GraphNode& node, Attributes& attributes) {
  attributes.without_effect("asymmetric_quantize_inputs");  // of hybrid products
  std::vector<Operand> inputs;
  for (std::size_t i = 0; i < 2; ++i) {
    const std::size_t x = operand(node, i);
    Numbers perm;
    for (std::size_t axis = 0; axis < shape_of(x).size(); ++axis) perm.push_back(to_signed(axis));
    if (perm.size() < 2) throw Unsupported("a product with a vector");
    std::swap(perm.back(), perm[perm.size() - 2]);
    inputs.emplace_back(attributes.integer(i == 0 ? "adj_x" : "adj_y", 0) != 0 ? permuted(x, perm) : x);
  }
  add("MatMul", inputs, result(node));
}

/// float16 constants are float32 already.
void FloatForm::dequantize(const GraphNode& node, Attributes&) {
  GraphTensor& to = made_.tensors[result(node)];
  const Constant from = constant(node, 0);
  if (from.type != ElementType::kFloat32)
    throw Unsupported(fmt::format("constants of {}", element_name(from.type)));
  to.data = from, to.type = ElementType::kFloat32;
}

void FloatForm::arg_max(const GraphNode& node, Attributes& attributes) {
  attributes.without_effect("output_type");
  const std::size_t x = operand(node, 0);
  add("ArgMax", {x}, result(node),
      {{"axis", axis_in(constant(node, 1).integers().at(0), shape_of(x).size())},
       {"keepdims", std::int64_t{0}}});
}

}  // namespace tilebeat
