// ONNX operators that move elements, and those between real numbers and integers.
#include "base/types.h"
#include "import/evaluate.h"
#include "import/onnx_lowering.h"
#include "import/problems.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace tilebeat {
namespace {

/// `source`, with one number per axis of the source, in the order of the holder's axes.
Extents held_order(const Extents& source, const Extents& axes, std::int64_t otherwise) {
  Extents made(std::max<std::size_t>(axes.size(), 4), otherwise);
  for (std::size_t i = 0; i < axes.size(); ++i) made[map_axis(i, axes.size())] = nth(source, axes[i]);
  return made;
}

/// The axis of the scales in a constant that changes its shape.
std::int64_t moved_axis(const Quantisation& q, const Extents& from, const Extents& to) {
  if (q.scales.size() <= 1) return 0;
  std::int64_t before = 1, outer = 1;
  for (std::int64_t axis = 0; axis < q.axis; ++axis) before *= nth(from, axis);
  for (std::size_t axis = 0; axis < to.size(); outer *= to[axis++]) {
    if (outer == before && to[axis] == nth(from, q.axis)) return to_signed(axis);
  }
  throw Unsupported("a reshape that divides the axis of the scales");
}

}  // namespace

/// Whether a node quantises anew what a pair has made, for another pair: ONNX Runtime makes one pair of both,
/// with a scale of its own.
bool OnnxLowering::between_pairs(const GraphNode& node) const {
  const auto made_by = [&](std::size_t tensor, const char* op) -> const GraphNode* {
    for (const GraphNode& maker : graph_.nodes) {
      if (maker.op == op && !maker.outputs.empty() && maker.outputs[0] == tensor) return &maker;
    }
    return nullptr;
  };
  const GraphNode* before = made_by(*node.inputs[0], "DequantizeLinear");
  if (before == nullptr || !before->inputs[0] || !is_quantised_[*before->inputs[0]]) return false;
  const auto& readers = readers_[*node.outputs[0]];
  return std::any_of(readers.begin(), readers.end(),
                     [&](std::size_t reader) { return graph_.nodes[reader].op == "DequantizeLinear"; });
}

void OnnxLowering::quantize(const GraphNode& node, Attributes& attributes) {
  read_pair_attributes(attributes);
  Wanted wanted = quantised_result(node, 1, 2);
  OnnxValue x = value(node, 0);
  if (x.known()) throw Unsupported("a constant");
  x = materialised(x);
  const bool stays = x.real && x.held.type == wanted.type && x.held.scale == wanted.scale &&
                     x.held.zero_point == wanted.zero_point;
  if (!stays && x.held.type == ElementType::kFloat32) {
    if (options_.float_on_host) x = for_chip(x, wanted.name);
    x.held = emitter_.quantize(x.held, wanted);
  } else if (!stays) {
    if (!x.real) throw Unsupported(fmt::format("an operand of {}", element_name(x.held.type)));
    x.held = emitter_.function("requantize", x.held, x.held.shape, wanted);
    if (between_pairs(node)) emitter_.name_inexact(x.held, "requantize");
  }
  x.real = false;
  set(node, x);
}

void OnnxLowering::dequantize(const GraphNode& node, Attributes& attributes) {
  const std::int64_t axis = attributes.integer("axis", 1), made = attributes.integer("output_dtype", 1);
  read_pair_attributes(attributes);
  if (made != 0 && onnx_type(static_cast<std::int32_t>(made)) != ElementType::kFloat32)
    throw Unsupported(fmt::format("a result of {}", onnx_type_name(static_cast<std::int32_t>(made))));
  OnnxValue x = value(node, 0);
  Quantisation q;
  for (const double scale : numbers(node, 1)) q.scales.push_back(static_cast<float>(scale));
  for (const double zero : has(node, 2) ? numbers(node, 2) : std::vector<double>(q.scales.size(), 0))
    q.zero_points.push_back(whole_number(zero));
  if (q.scales.empty() || q.scales.size() != q.zero_points.size())
    throw Unsupported("scales without their zero points");
  if (std::any_of(q.scales.begin(), q.scales.end(), [](float s) { return !(s > 0); }))
    throw Unsupported("a scale that is not positive");
  if (q.scales.size() > 1) q.axis = to_signed(axis_of(axis, x.shape.size()));
  if (x.known()) {
    if (q.scales.size() > 1 && nth(x.shape, q.axis) != ssize(q.scales))
      throw Unsupported("scales that do not fit their axis");
    x.stands = q;
    return set(node, x);
  }
  if (q.scales.size() > 1) throw Unsupported("an activation with several scales");
  x.held.scale = q.scales[0];
  if (x.held.type == ElementType::kInt32) {
    if (q.zero_points[0] != 0) throw Unsupported("a zero point of int32");
    x.held = emitter_.dequantize(x.held, graph_.tensors[*node.outputs.at(0)].name);
    return set(node, x);
  }
  if (!is_byte(x.held.type) || x.real) throw Unsupported("an operand of float32");
  if (x.held.zero_point != q.zero_points[0])
    throw Unsupported(
        fmt::format("a zero point of {} for a tensor made with {}", q.zero_points[0], x.held.zero_point));
  x.real = true;
  set(node, x);
}

void OnnxLowering::dynamic_quantize(const GraphNode& node, Attributes&) {
  OnnxValue x = value(node, 0);
  if (!x.known() && x.real) {
    x.held = emitter_.dequantize(x.held, graph_.tensors[*node.inputs[0]].name + "_real");
    x.real = false;
  }
  if (x.known() || x.held.type != ElementType::kFloat32)
    throw Unsupported("an operand that is no float32 activation");
  x = materialised(x);
  const std::array<std::pair<const char*, ElementType>, 3> results{
      {{"y", ElementType::kUint8}, {"scale", ElementType::kFloat32}, {"zero_point", ElementType::kUint8}}};
  for (std::size_t i = 0; i < results.size() && i < node.outputs.size(); ++i) {
    if (!node.outputs[i]) continue;
    OnnxValue made = x;
    if (i > 0) made = made_of({"", {1, 1, 1, 1}, results[i].second}, {}, {});
    made.held.holder = builder_.add_layer(graph_.tensors[*node.outputs[i]].name, "dynamic_quantize",
                                          {x.held.holder}, {{"result", results[i].first}});
    made.held.type = results[i].second;
    set(node, made, i);
  }
}

void OnnxLowering::transpose(const GraphNode& node, Attributes& attributes) {
  OnnxValue x = value(node, 0);
  const std::size_t rank = x.shape.size();
  std::vector<std::int64_t> perm(rank);
  for (std::size_t i = 0; i < rank; ++i) perm[i] = to_signed(rank - 1 - i);
  if (const auto wish = attributes.integers("perm")) perm = *wish;
  std::vector<std::int64_t> sorted = perm;
  std::sort(sorted.begin(), sorted.end());
  if (sorted.size() != rank) throw Unsupported("a perm of another rank");
  for (std::size_t i = 0; i < rank; ++i) {
    if (sorted[i] != to_signed(i)) throw Unsupported("a perm that is no permutation");
  }
  if (x.known()) {  // integers that stand for weights
    x.constant = evaluate(node, {&*x.constant}, graph_.opset).at(0);
    x.shape = x.constant->shape;
    x.stands->axis =
        x.stands->scales.size() > 1 ? std::find(perm.begin(), perm.end(), x.stands->axis) - perm.begin() : 0;
    return set(node, x);
  }
  x = materialised(x);
  Extents shape;
  for (const std::int64_t axis : perm) shape.push_back(nth(x.shape, axis));
  for (std::int64_t& axis : x.axes) axis = std::find(perm.begin(), perm.end(), axis) - perm.begin();
  x.shape = x.viewed = shape;
  set(node, x);
}

void OnnxLowering::reshape(const GraphNode& node, Attributes& attributes) {
  OnnxValue x = value(node, 0);
  const KnownInputs inputs = known(node);
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    if (inputs[i] == nullptr && node.inputs[i]) throw Unsupported("a shape that is not known");
  }
  const Extents shape = moved_shape(node, x.shape, inputs, attributes);
  if (x.known()) {  // integers that stand for real numbers
    x.stands->axis = moved_axis(*x.stands, x.shape, shape);
    x.constant->shape = x.shape = shape;
    return set(node, x);
  }
  if (element_count(shape) != element_count(x.shape)) throw Unsupported("a shape of other elements");
  if (shape.size() > 6) throw Unsupported(fmt::format("a tensor of {} axes", shape.size()));
  if (shape == x.shape) return set(node, x);
  const Extents plain = layout_axes(Layout::kPlain, x.axes.size());
  if (x.axes == plain && x.viewed == x.shape) {
    x.held = emitter_.reshape(x.held, map_shape(shape), graph_.tensors[*node.outputs.at(0)].name);
    x.axes = layout_axes(Layout::kPlain, shape.size());
    x.shape = x.viewed = shape;
    return set(node, x);
  }
  // The elements keep their order until an operator needs another one: weights that follow can be reordered.
  const Extents before = x.viewed;
  x.shape = shape;
  x.viewed = before;
  set(node, x);
}

/// `axis` of the source.
void OnnxLowering::join(const GraphNode& node, std::vector<OnnxValue> parts, std::int64_t axis,
                        const Wanted& wanted) {
  const Extents axes = materialised(parts.at(0)).axes;
  std::vector<Held> held;
  Extents shape = parts[0].shape;
  const std::size_t at = axis_of(axis, shape.size());
  shape[at] = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    OnnxValue& part = parts[i];
    if (part.shape.size() != shape.size()) throw Unsupported("parts of another rank");
    for (std::size_t other = 0; other < shape.size(); ++other) {
      if (other != at && part.shape[other] != shape[other]) throw Unsupported("parts of another shape");
    }
    shape[at] += part.shape[at];
    part = laid_out(part, axes);
    const bool same = part.held.scale == wanted.scale && part.held.zero_point == wanted.zero_point &&
                      part.held.type == wanted.type;
    held.push_back(same ? part.held
                        : emitter_.function("requantize", part.held, part.held.shape,
                                            {fmt::format("{}_part{}", wanted.name, i), wanted.type,
                                             wanted.scale, wanted.zero_point}));
  }
  const auto place = to_size(std::find(axes.begin(), axes.end(), to_signed(at)) - axes.begin());
  const std::size_t held_axis = map_axis(place, axes.size());
  FieldsJson fields = FieldsJson::object();
  const Extents to = held_shape(shape, axes);
  if (held_axis + 1 != to.size()) fields["axis"] = held_axis;
  if (held.size() == 1) return set(node, made_of(held[0], shape, axes));
  set(node, made_of(emitter_.movement("concat", held, to, wanted.name, fields), shape, axes));
}

void OnnxLowering::concat(const GraphNode& node, Attributes& attributes) {
  std::vector<OnnxValue> parts;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) parts.push_back(real(node, i));
  const Wanted wanted = need_result(node);
  if (wanted.range && *wanted.range != element_bounds(wanted.type))
    throw Unsupported("an activation behind it");
  join(node, parts, attributes.integer("axis", 1), wanted);
}

void OnnxLowering::quantised_concat(const GraphNode& node, Attributes& attributes) {
  std::vector<OnnxValue> parts;
  for (std::size_t i = 2; i + 2 < node.inputs.size(); i += 3)
    parts.push_back(quantised(node, i, i + 1, i + 2));
  join(node, parts, attributes.integer("axis", 1), quantised_result(node, 0, 1));
}

void OnnxLowering::pad(const GraphNode& node, Attributes& attributes) {
  OnnxValue x = value(node, 0);
  if (x.known() || x.held.type == ElementType::kFloat32) x = real(node, 0);
  x = materialised(x);
  const std::size_t rank = x.shape.size();
  if (rank > 4) throw Unsupported(fmt::format("a tensor of {} axes", rank));
  const KnownInputs inputs = known(node);
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    if (inputs[i] == nullptr && node.inputs[i]) throw Unsupported("pads that are not known");
  }
  const PadSides sides = read_pad(attributes, inputs, rank);
  if (sides.mode != "constant") {
    for (std::size_t axis = 0; axis < rank; ++axis) {
      if (sides.before[axis] != 0 || sides.after[axis] != 0)
        x = gathered(x, axis, sides.sources(axis, x.shape[axis]),
                     fmt::format("{}_{}{}", graph_.tensors[*node.outputs.at(0)].name, sides.mode, axis));
    }
    return set(node, x);
  }
  const Extents before = held_order(sides.before, x.axes, 0), after = held_order(sides.after, x.axes, 0);
  if (before[0] != 0 || after[0] != 0) throw Unsupported("a padding of the batch");
  FieldsJson fields{{"pads", {before[1], before[2], after[1], after[2]}}};
  if (before[3] != 0 || after[3] != 0) fields["channel_pads"] = {before[3], after[3]};
  const auto [low, high] = element_bounds(x.held.type);
  const double element =
      x.real ? static_cast<double>(std::nearbyint(static_cast<float>(sides.value) / x.held.scale)) +
                   static_cast<double>(x.held.zero_point)
             : sides.value;
  fields["value"] = whole_number(std::clamp(element, static_cast<double>(low), static_cast<double>(high)));
  Extents shape = x.shape;
  for (std::size_t axis = 0; axis < rank; ++axis) shape[axis] += sides.before[axis] + sides.after[axis];
  x.held = emitter_.movement("pad", {x.held}, held_shape(shape, x.axes),
                             graph_.tensors[*node.outputs.at(0)].name, fields);
  x.shape = x.viewed = shape;
  set(node, x);
}

void OnnxLowering::resize(const GraphNode& node, Attributes& attributes) {
  OnnxValue x = value(node, 0);
  if (x.known() || x.held.type == ElementType::kFloat32) x = real(node, 0);
  x = laid_out(x, Layout::kMap);
  const ResizeRule rule = read_resize(node, attributes, known(node), x.shape, graph_.opset);
  FieldsJson fields{{"size", rule.size}, {"mode", rule.mode}, {"coordinate_mode", rule.coordinates}};
  if (rule.mode == "nearest") fields["nearest_mode"] = rule.nearest;
  x.shape = x.viewed = {x.shape[0], x.shape[1], rule.size[0], rule.size[1]};
  const bool named = rule.mode == "nearest" || calibration_ != nullptr;
  x.held = emitter_.resize(x.held, held_shape(x.shape, x.axes), graph_.tensors[*node.outputs.at(0)].name,
                           fields, named ? Rounding::kRuntime : Rounding::kExact);
  set(node, x);
}

/// Elements `indices` along `axis` of the source.
OnnxValue OnnxLowering::gathered(const OnnxValue& value, std::size_t axis, const Extents& indices,
                                 const std::string& name) {
  OnnxValue made = value;
  made.shape[axis] = ssize(indices), made.viewed = made.shape;
  const auto place =
      to_size(std::find(value.axes.begin(), value.axes.end(), to_signed(axis)) - value.axes.begin());
  made.held = emitter_.movement("gather", {value.held}, held_shape(made.shape, made.axes), name,
                                {{"axis", map_axis(place, value.axes.size())}, {"indices", indices}});
  return made;
}

void OnnxLowering::slice(const GraphNode& node, Attributes& attributes) {
  OnnxValue x = value(node, 0);
  if (x.known()) throw Unsupported("a constant that stands for real numbers");
  x = materialised(x);
  const KnownInputs inputs = known(node);
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    if (inputs[i] == nullptr && node.inputs[i]) throw Unsupported("bounds that are not known");
  }
  SliceRange range = read_slice(attributes, inputs, x.shape);
  const std::string name = graph_.tensors[*node.outputs.at(0)].name;
  for (std::size_t axis = 0; axis < x.shape.size(); ++axis) {
    if (range.shape[axis] < 1) throw Unsupported("a slice without elements");
    if (range.steps[axis] > 0) continue;
    Extents indices;
    for (std::int64_t i = 0; i < range.shape[axis]; ++i)
      indices.push_back(range.starts[axis] + i * range.steps[axis]);
    x = gathered(x, axis, indices, fmt::format("{}_reversed{}", name, axis));
    range.starts[axis] = 0, range.ends[axis] = range.shape[axis], range.steps[axis] = 1;
  }
  if (range.shape == x.shape) return set(node, x);
  const Extents held = held_order(range.steps, x.axes, 1);
  x.held = emitter_.movement("slice", {x.held}, held_shape(range.shape, x.axes), name,
                             {{"starts", held_order(range.starts, x.axes, 0)},
                              {"ends", held_order(range.ends, x.axes, 1)},
                              {"steps", held}});
  x.shape = x.viewed = range.shape;
  set(node, x);
}

void OnnxLowering::split(const GraphNode& node, Attributes& attributes) {
  OnnxValue x = value(node, 0);
  if (x.known()) throw Unsupported("a constant that stands for real numbers");
  x = materialised(x);
  const std::size_t axis = axis_of(attributes.integer("axis", 0), x.shape.size());
  std::int64_t begin = 0;
  std::size_t output = 0;
  for (const std::int64_t part : read_split(attributes, known(node), x.shape[axis], node.outputs.size())) {
    if (part < 1) throw Unsupported("a part without elements");
    Extents starts(x.shape.size(), 0), ends = x.shape, shape = x.shape;
    starts[axis] = begin, ends[axis] = begin + part, shape[axis] = part;
    begin += part;
    OnnxValue made = x;
    made.held = emitter_.movement(
        "slice", {x.held}, held_shape(shape, x.axes), graph_.tensors[node.outputs[output].value()].name,
        {{"starts", held_order(starts, x.axes, 0)}, {"ends", held_order(ends, x.axes, 1)}});
    made.shape = made.viewed = shape;
    set(node, made, output++);
  }
}

void OnnxLowering::gather(const GraphNode& node, Attributes& attributes) {
  OnnxValue x = value(node, 0);
  if (x.known() || x.held.type == ElementType::kFloat32) x = real(node, 0);
  if (!value(node, 1).known()) throw Unsupported("indices that are computed");
  const Constant& indices = *value(node, 1).constant;
  x = laid_out(x, Layout::kPlain);
  const std::size_t axis = axis_of(attributes.integer("axis", 0), x.shape.size());
  Extents entries, shape(x.shape.begin(), x.shape.begin() + to_signed(axis));
  for (const std::int64_t index : indices.integers())
    entries.push_back(to_signed(axis_of(index, to_size(x.shape[axis]))));
  if (entries.empty()) throw Unsupported("no indices");
  shape.insert(shape.end(), indices.shape.begin(), indices.shape.end());
  shape.insert(shape.end(), x.shape.begin() + to_signed(axis) + 1, x.shape.end());
  if (shape.size() > 6) throw Unsupported(fmt::format("a tensor of {} axes", shape.size()));
  const std::string name = graph_.tensors[*node.outputs.at(0)].name;
  const std::size_t held_axis = map_axis(axis, x.shape.size());
  Extents held = x.held.shape;
  held[held_axis] = ssize(entries);
  x.held = emitter_.movement("gather", {x.held}, held, name, {{"axis", held_axis}, {"indices", entries}});
  x.held = emitter_.reshape(x.held, map_shape(shape), name + "_map");
  x.axes = layout_axes(Layout::kPlain, shape.size());
  x.shape = x.viewed = shape;
  set(node, x);
}

/// DepthToSpace, SpaceToDepth.
void OnnxLowering::blocks(const GraphNode& node, Attributes& attributes) {
  OnnxValue x = value(node, 0);
  if (x.known() || x.held.type == ElementType::kFloat32) x = real(node, 0);
  x = laid_out(x, Layout::kMap);
  if (x.shape.size() != 4) throw Unsupported(fmt::format("a map of {} axes", x.shape.size()));
  const bool to_space = node.op == "DepthToSpace";
  const std::int64_t b = attributes.integer("blocksize", 0), c = x.shape[1], h = x.shape[2], w = x.shape[3];
  if (b < 1 || b > UINT16_MAX) throw Unsupported(fmt::format("a blocksize of {}", b));
  if (to_space ? c % (b * b) != 0 : h % b != 0 || w % b != 0)
    throw Unsupported(fmt::format("a blocksize of {} for shape {}", b, extents_text(x.shape)));
  FieldsJson fields{{"block_size", b}};
  if (to_space) {
    const std::string mode = attributes.text("mode", "DCR");
    if (mode != "DCR" && mode != "CRD") throw Unsupported(fmt::format("mode {}", mode));
    if (mode == "CRD") fields["mode"] = "crd";
  }
  x.shape = to_space ? Extents{x.shape[0], c / (b * b), h * b, w * b}
                     : Extents{x.shape[0], c * b * b, h / b, w / b};
  x.viewed = x.shape;
  x.held = emitter_.movement(to_space ? "depth_to_space" : "space_to_depth", {x.held},
                             held_shape(x.shape, x.axes), graph_.tensors[*node.outputs.at(0)].name, fields);
  set(node, x);
}

void OnnxLowering::same(const GraphNode& node, Attributes& attributes) {
  for (const char* name : {"ratio", "seed"}) attributes.without_effect(name);  // only used in training
  if (node.outputs.size() > 1 && node.outputs[1]) throw Unsupported("a mask");
  if (has(node, 2) && numbers(node, 2) != std::vector<double>{0}) throw Unsupported("training_mode");
  set(node, value(node, 0));
}

}  // namespace tilebeat
