// Operators that move elements, and those that make shapes of tensors.
#include "base/types.h"
#include "import/evaluate.h"
#include "import/problems.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include <fmt/format.h>

namespace tilebeat {
namespace {

/// The tensor whose element at `at` is x's at start + sum of at[axis] * steps[axis].
Constant gathered(const Constant& x, const Extents& shape, std::int64_t start, const Extents& steps) {
  Constant made{x.type, shape, std::vector<std::uint8_t>(room_for(shape) * element_bytes(x.type))};
  const std::size_t size = element_bytes(x.type);
  Extents at(shape.size(), 0);
  std::int64_t from = start;
  for (std::size_t to = 0; to < made.bytes.size(); to += size) {
    std::memcpy(&made.bytes[to], &x.bytes[to_size(from) * size], size);
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      from += steps[axis];
      if (++at[axis] < shape[axis]) break;
      from -= steps[axis] * shape[axis];
      at[axis] = 0;
    }
  }
  return made;
}

Extents strides_of(const Extents& shape) {
  Extents strides(shape.size(), 1);
  for (std::size_t axis = shape.size(); axis-- > 1;) strides[axis - 1] = strides[axis] * shape[axis];
  return strides;
}

Constant transpose(const Constant& x, Attributes& attributes) {
  const std::size_t rank = x.shape.size();
  std::vector<std::int64_t> perm(rank);
  for (std::size_t i = 0; i < rank; ++i) perm[i] = to_signed(rank - 1 - i);
  if (const auto wish = attributes.integers("perm")) perm = *wish;
  std::vector<std::int64_t> sorted = perm;
  std::sort(sorted.begin(), sorted.end());
  Extents shape, steps;
  const Extents strides = strides_of(x.shape);
  for (std::size_t i = 0; i < std::max(sorted.size(), rank); ++i) {
    if (sorted.size() != rank || sorted[i] != to_signed(i))
      throw Unsupported("a perm that is no permutation");
    shape.push_back(nth(x.shape, perm[i]));
    steps.push_back(nth(strides, perm[i]));
  }
  return gathered(x, shape, 0, steps);
}

Constant slice(const Constant& x, const SliceRange& range) {
  const Extents strides = strides_of(x.shape);
  Extents steps = strides;
  std::int64_t start = 0;
  for (std::size_t axis = 0; axis < steps.size(); ++axis) {
    start += range.starts[axis] * strides[axis];
    steps[axis] *= range.steps[axis];
  }
  return gathered(x, range.shape, start, steps);
}

Evaluated split(const GraphNode& node, const KnownInputs& inputs, Attributes& attributes) {
  const Constant& x = need(inputs, 0);
  const std::size_t axis = axis_of(attributes.integer("axis", 0), x.shape.size());
  Evaluated made;
  std::int64_t begin = 0;
  for (const std::int64_t part : read_split(attributes, inputs, x.shape[axis], node.outputs.size())) {
    SliceRange range{Extents(x.shape.size(), 0), x.shape, Extents(x.shape.size(), 1), x.shape};
    range.starts[axis] = begin, range.shape[axis] = part;
    made.push_back(slice(x, range));
    begin += part;
  }
  return made;
}

Constant concat(const KnownInputs& inputs, Attributes& attributes) {
  Extents shape = need(inputs, 0).shape;
  const std::size_t axis = axis_of(attributes.integer("axis", 1), shape.size());
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    Extents other = need(inputs, i).shape;
    if (other.size() != shape.size()) throw Unsupported("parts of another rank");
    sum += other[axis];
    other[axis] = shape[axis];
    if (other != shape || inputs[i]->type != inputs[0]->type) throw Unsupported("parts of another shape");
  }
  Constant made{inputs[0]->type, shape, {}};
  made.shape[axis] = sum;
  std::size_t outer = 1, inner = element_bytes(made.type);
  for (std::size_t i = 0; i < axis; ++i) outer *= to_size(shape[i]);
  for (std::size_t i = axis + 1; i < shape.size(); ++i) inner *= to_size(shape[i]);
  for (std::size_t i = 0; i < outer; ++i) {
    for (const Constant* part : inputs) {
      const std::size_t bytes = inner * to_size(part->shape[axis]);
      made.bytes.insert(made.bytes.end(), part->bytes.begin() + to_signed(i * bytes),
                        part->bytes.begin() + to_signed((i + 1) * bytes));
    }
  }
  return made;
}

/// Pads with elements of the tensor itself.
Constant repeated(const Constant& x, const PadSides& sides) {
  const std::size_t rank = x.shape.size();
  std::vector<Extents> sources;
  Extents shape;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    sources.push_back(sides.sources(axis, x.shape[axis]));
    shape.push_back(ssize(sources.back()));
  }
  const Extents strides = strides_of(x.shape);
  const std::vector<double> values = x.values();
  std::vector<double> made(room_for(shape));
  Extents at(rank, 0);
  for (double& value : made) {
    std::int64_t from = 0;
    for (std::size_t axis = 0; axis < rank; ++axis) from += nth(sources[axis], at[axis]) * strides[axis];
    value = nth(values, from);
    for (std::size_t axis = rank; axis-- > 0;) {
      if (++at[axis] < shape[axis]) break;
      at[axis] = 0;
    }
  }
  return make_constant(x.type, shape, made);
}

Constant pad(const KnownInputs& inputs, Attributes& attributes) {
  const Constant& x = need(inputs, 0);
  const PadSides sides = read_pad(attributes, inputs, x.shape.size());
  Extents shape = x.shape;
  for (std::size_t axis = 0; axis < shape.size(); ++axis)
    shape[axis] += sides.before[axis] + sides.after[axis];
  if (sides.mode != "constant") return repeated(x, sides);
  std::vector<double> made(room_for(shape), sides.value);
  const Extents strides = strides_of(shape);
  Extents at(shape.size(), 0);
  for (const double value : x.values()) {
    std::int64_t to = 0;
    for (std::size_t axis = 0; axis < shape.size(); ++axis)
      to += (at[axis] + sides.before[axis]) * strides[axis];
    nth(made, to) = value;
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      if (++at[axis] < x.shape[axis]) break;
      at[axis] = 0;
    }
  }
  return make_constant(x.type, shape, made);
}

Constant gather(const KnownInputs& inputs, Attributes& attributes) {
  const Constant &x = need(inputs, 0), &indices = need(inputs, 1);
  const std::size_t axis = axis_of(attributes.integer("axis", 0), x.shape.size());
  std::size_t outer = 1, inner = element_bytes(x.type);
  for (std::size_t i = 0; i < axis; ++i) outer *= to_size(x.shape[i]);
  for (std::size_t i = axis + 1; i < x.shape.size(); ++i) inner *= to_size(x.shape[i]);
  Constant made{x.type, {x.shape.begin(), x.shape.begin() + to_signed(axis)}, {}};
  made.shape.insert(made.shape.end(), indices.shape.begin(), indices.shape.end());
  made.shape.insert(made.shape.end(), x.shape.begin() + to_signed(axis) + 1, x.shape.end());
  element_count(made.shape);
  for (std::size_t i = 0; i < outer; ++i) {
    for (const std::int64_t index : indices.integers()) {
      const std::size_t at = i * to_size(x.shape[axis]) + axis_of(index, to_size(x.shape[axis]));
      made.bytes.insert(made.bytes.end(), x.bytes.begin() + to_signed(at * inner),
                        x.bytes.begin() + to_signed((at + 1) * inner));
    }
  }
  return made;
}

/// One axis of a Resize: the two elements of an output, and the weight of the second one.
struct Taps {
  std::int64_t low = 0, high = 0;
  double share = 0;
};

Taps taps_of(const ResizeRule& rule, std::int64_t out, std::int64_t in, std::int64_t size) {
  const double o = static_cast<double>(out), i = static_cast<double>(in), s = static_cast<double>(size);
  double place = o * i / s;  // asymmetric
  if (rule.coordinates == "half_pixel" || (rule.coordinates == "pytorch_half_pixel" && size > 1))
    place = (o + 0.5) * i / s - 0.5;
  if (rule.coordinates == "pytorch_half_pixel" && size == 1) place = 0;
  if (rule.coordinates == "align_corners") place = size == 1 ? 0 : o * (i - 1) / (s - 1);
  const auto limited = [&](double at) {
    return std::clamp<std::int64_t>(static_cast<std::int64_t>(at), 0, in - 1);
  };
  if (rule.mode == "bilinear") {
    const double low = std::floor(place);
    return {limited(low), limited(low + 1), place - low};
  }
  const double whole = rule.nearest == "floor"                ? std::floor(place)
                       : rule.nearest == "ceil"               ? std::ceil(place)
                       : rule.nearest == "round_prefer_floor" ? std::ceil(place - 0.5)
                                                              : std::floor(place + 0.5);
  return {limited(whole), limited(whole), 0};
}

Constant resize(const GraphNode& node, const KnownInputs& inputs, std::int64_t opset,
                Attributes& attributes) {
  const Constant& x = need(inputs, 0);
  const ResizeRule rule = read_resize(node, attributes, inputs, x.shape, opset);
  const std::vector<double> in = x.values();
  const std::int64_t height = x.shape[2], width = x.shape[3], h = rule.size[0], w = rule.size[1];
  std::vector<double> made;
  for (std::int64_t plane = 0; plane < x.shape[0] * x.shape[1]; ++plane) {
    const auto at = [&](std::int64_t i, std::int64_t j) { return nth(in, (plane * height + i) * width + j); };
    for (std::int64_t i = 0; i < h; ++i) {
      const Taps row = taps_of(rule, i, height, h);
      for (std::int64_t j = 0; j < w; ++j) {
        const Taps column = taps_of(rule, j, width, w);
        const double top =
            at(row.low, column.low) * (1 - column.share) + at(row.low, column.high) * column.share;
        const double bottom =
            at(row.high, column.low) * (1 - column.share) + at(row.high, column.high) * column.share;
        made.push_back(top * (1 - row.share) + bottom * row.share);
      }
    }
  }
  return make_constant(x.type, {x.shape[0], x.shape[1], h, w}, made);
}

Constant expand(const KnownInputs& inputs) {
  const Constant& x = need(inputs, 0);
  const Extents shape = broadcast_shape(x.shape, need(inputs, 1).integers());
  element_count(shape);
  const Extents strides = strides_of(x.shape);
  Extents steps(shape.size(), 0);
  for (std::size_t i = 1; i <= x.shape.size(); ++i)
    steps[shape.size() - i] = x.shape[x.shape.size() - i] == 1 ? 0 : strides[x.shape.size() - i];
  return gathered(x, shape, 0, steps);
}

Extents squeezed(const GraphNode& node, const Extents& from, const KnownInputs& inputs,
                 Attributes& attributes) {
  const auto axes = axes_of(attributes, inputs);
  Extents shape;
  if (node.op == "Unsqueeze") {
    if (!axes || axes->size() > 8) throw Unsupported("axes that are not known");
    const std::size_t rank = from.size() + axes->size();
    std::vector<bool> added(rank, false);
    for (const std::int64_t axis : *axes) added[axis_of(axis, rank)] = true;
    std::size_t next = 0;
    for (std::size_t i = 0; i < rank; ++i)
      shape.push_back(added[i] || next >= from.size() ? 1 : from[next++]);
    return shape;
  }
  std::vector<bool> gone(from.size(), !axes);
  for (const std::int64_t axis : axes.value_or(Extents{})) gone[axis_of(axis, from.size())] = true;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (!gone[i] || (from[i] != 1 && !axes)) shape.push_back(from[i]);
    if (gone[i] && axes && from[i] != 1) throw Unsupported("an axis that is not 1");
  }
  return shape;
}

Constant with_shape(const Constant& x, Extents shape) {
  if (element_count(shape) != x.elements()) throw Unsupported("a shape of other elements");
  return {x.type, std::move(shape), x.bytes};
}

Extents flattened(const Extents& from, std::int64_t axis) {
  const std::size_t at = axis == ssize(from) ? from.size() : axis_of(axis, from.size());
  Extents shape{1, 1};
  for (std::size_t i = 0; i < from.size(); ++i) shape[i < at ? 0 : 1] *= from[i];
  return shape;
}

Constant constant_of(Attributes& attributes) {
  if (const Constant* value = attributes.tensor("value")) return *value;
  if (attributes.has("value_float"))
    return make_constant(ElementType::kFloat32, {}, {static_cast<double>(attributes.real("value_float", 0))});
  if (attributes.has("value_int"))
    return make_constant(ElementType::kInt64, {}, {static_cast<double>(attributes.integer("value_int", 0))});
  if (const auto list = attributes.integers("value_ints"))
    return make_constant(ElementType::kInt64, {to_signed(list->size())}, {list->begin(), list->end()});
  if (const auto list = attributes.reals("value_floats"))
    return make_constant(ElementType::kFloat32, {to_signed(list->size())}, {list->begin(), list->end()});
  throw Unsupported("a value of another kind");
}

Constant shape_of(const Constant& x, Attributes& attributes) {
  const auto rank = ssize(x.shape);
  const auto limited = [&](std::int64_t at) {
    return std::clamp<std::int64_t>(at < 0 ? at + rank : at, 0, rank);
  };
  const std::int64_t begin = limited(attributes.integer("start", 0)),
                     end = limited(attributes.integer("end", rank));
  std::vector<double> extents;
  for (std::int64_t i = begin; i < end; ++i) extents.push_back(static_cast<double>(nth(x.shape, i)));
  return make_constant(ElementType::kInt64, {ssize(extents)}, extents);
}

Constant filled(const KnownInputs& inputs, Attributes& attributes) {
  const Extents shape = need(inputs, 0).integers();
  const Constant* value = attributes.tensor("value");
  const auto count = room_for(shape);
  return value != nullptr && value->elements() == 1
             ? make_constant(value->type, shape, std::vector<double>(count, value->values()[0]))
             : make_constant(ElementType::kFloat32, shape, std::vector<double>(count, 0));
}

/// DepthToSpace, SpaceToDepth: channels are pixels of a block, then `depth`; in mode CRD vice versa.
Constant blocks(const GraphNode& node, const Constant& x, Attributes& attributes) {
  if (x.shape.size() != 4) throw Unsupported("a map of another rank");
  const std::int64_t b = attributes.integer("blocksize", 0), n = x.shape[0], c = x.shape[1], h = x.shape[2],
                     w = x.shape[3], plane = h * w;
  const bool to_space = node.op == "DepthToSpace";
  if (b < 1 || b > UINT16_MAX || (to_space ? c % (b * b) != 0 : h % b != 0 || w % b != 0))
    throw Unsupported(fmt::format("a blocksize of {} for shape {}", b, extents_text(x.shape)));
  Constant made;
  if (to_space) {
    const std::int64_t depth = c / (b * b);
    const std::string mode = attributes.text("mode", "DCR");
    if (mode != "DCR" && mode != "CRD") throw Unsupported(fmt::format("mode {}", mode));
    const std::int64_t pixel = mode == "DCR" ? depth * plane : plane, channel = mode == "DCR" ? 1 : b * b;
    made = gathered(x, {n, depth, h, b, w, b}, 0, {c * plane, channel * plane, w, b * pixel, 1, pixel});
    made.shape = {n, depth, h * b, w * b};
  } else {
    made = gathered(x, {n, b, b, c, h / b, w / b}, 0, {c * plane, w, 1, plane, b * w, b});
    made.shape = {n, c * b * b, h / b, w / b};
  }
  return made;
}

constexpr std::array<std::string_view, 20> kMovementOps{
    "Transpose", "Slice",    "Split",   "Concat",          "Pad",          "Gather",      "Resize",
    "Upsample",  "Expand",   "Squeeze", "Unsqueeze",       "Reshape",      "Flatten",     "Identity",
    "Dropout",   "Constant", "Shape",   "ConstantOfShape", "DepthToSpace", "SpaceToDepth"};

}  // namespace

bool is_movement_op(const std::string& op) {
  return std::find(kMovementOps.begin(), kMovementOps.end(), op) != kMovementOps.end();
}

Extents moved_shape(const GraphNode& node, const Extents& from, const KnownInputs& inputs,
                    Attributes& attributes) {
  if (node.op == "Flatten") return flattened(from, attributes.integer("axis", 1));
  if (node.op != "Reshape") return squeezed(node, from, inputs, attributes);
  const bool zeros_stay = attributes.integer("allowzero", 0) != 0;
  return reshaped(from, need(inputs, 1).integers(), zeros_stay);
}

Evaluated evaluate_movement(const GraphNode& node, const KnownInputs& inputs, std::int64_t opset,
                            Attributes& attributes) {
  const std::string& op = node.op;
  if (op == "Constant") return {constant_of(attributes)};
  if (op == "ConstantOfShape") return {filled(inputs, attributes)};
  if (op == "Concat") return {concat(inputs, attributes)};
  if (op == "Split") return split(node, inputs, attributes);
  if (op == "Pad") return {pad(inputs, attributes)};
  if (op == "Gather") return {gather(inputs, attributes)};
  if (op == "Resize" || op == "Upsample") return {resize(node, inputs, opset, attributes)};
  if (op == "Expand") return {expand(inputs)};
  const Constant& x = need(inputs, 0);
  if (op == "Transpose") return {transpose(x, attributes)};
  if (op == "DepthToSpace" || op == "SpaceToDepth") return {blocks(node, x, attributes)};
  if (op == "Slice") return {slice(x, read_slice(attributes, inputs, x.shape))};
  const bool reshapes = op == "Reshape" || op == "Flatten" || op == "Squeeze" || op == "Unsqueeze";
  if (reshapes) return {with_shape(x, moved_shape(node, x.shape, inputs, attributes))};
  if (op == "Shape") return {shape_of(x, attributes)};
  if (op == "Dropout") {
    for (const char* name : {"ratio", "seed"}) attributes.without_effect(name);  // only used in training
    if (node.outputs.size() > 1 && node.outputs[1]) throw Unsupported("a mask");
    if (inputs.size() > 2 && inputs[2] != nullptr && inputs[2]->integers() != Extents{0})
      throw Unsupported("training_mode");
  }
  return {x};
}

namespace {

constexpr double kMostExtent = 65535;

const Constant* filled(const KnownInputs& inputs, std::size_t i) {
  return i < inputs.size() && inputs[i] != nullptr && inputs[i]->elements() > 0 ? inputs[i] : nullptr;
}

void set_sizes(const std::vector<double>& scales, const Extents& shape, ResizeRule& rule) {
  if (scales.size() != 4 || scales[0] != 1 || scales[1] != 1)
    throw Unsupported("scales of batch or channels");
  for (std::size_t axis = 0; axis < 2; ++axis) {
    const double exact = static_cast<double>(shape[2 + axis]) * scales[2 + axis];
    if (!(exact >= 1) || exact > kMostExtent)
      throw Unsupported(fmt::format("a scale of {}", scales[2 + axis]));
    rule.size[axis] = static_cast<std::int64_t>(std::floor(exact));
    // Positions follow from the scale; they change if it is not the quotient of the sizes.
    if (exact != std::floor(exact))
      throw Unsupported(fmt::format("a scale of {} that makes no whole number of pixels", scales[2 + axis]));
  }
}

void check_rule(Attributes& attributes, ResizeRule& rule) {
  rule.coordinates = attributes.text("coordinate_transformation_mode", "half_pixel");
  rule.nearest = attributes.text("nearest_mode", "round_prefer_floor");
  if (rule.coordinates != "half_pixel" && rule.coordinates != "pytorch_half_pixel" &&
      rule.coordinates != "align_corners" && rule.coordinates != "asymmetric")
    throw Unsupported(fmt::format("coordinate_transformation_mode {}", rule.coordinates));
  if (attributes.integer("antialias", 0) != 0) throw Unsupported("antialias");
  if (attributes.integer("exclude_outside", 0) != 0) throw Unsupported("exclude_outside");
  if (attributes.text("keep_aspect_ratio_policy", "stretch") != "stretch")
    throw Unsupported("keep_aspect_ratio_policy");
  if (attributes.has("axes")) throw Unsupported("its attribute axes");
  for (const char* name : {"cubic_coeff_a", "extrapolation_value"})
    attributes.without_effect(name);  // of refused modes
}

}  // namespace

ResizeRule read_resize(const GraphNode& node, Attributes& attributes, const KnownInputs& inputs,
                       const Extents& shape, std::int64_t opset) {
  if (shape.size() != 4) throw Unsupported("a tensor that is no map");
  ResizeRule rule;
  const std::string mode = attributes.text("mode", "nearest");
  if (mode != "nearest" && mode != "linear") throw Unsupported(fmt::format("mode {}", mode));
  rule.mode = mode == "linear" ? "bilinear" : "nearest";
  if (node.op == "Upsample" || opset < 11) {
    rule.coordinates = "asymmetric", rule.nearest = "floor";
    const auto list = attributes.reals("scales");
    const Constant* input = filled(inputs, 1);
    if (!list && input == nullptr) throw Unsupported("scales that are not known");
    set_sizes(list ? std::vector<double>(list->begin(), list->end()) : input->values(), shape, rule);
    return rule;
  }
  check_rule(attributes, rule);
  if (const Constant* sizes = filled(inputs, 3)) {
    const std::vector<std::int64_t> wish = sizes->integers();
    if (wish.size() != 4 || wish[0] != shape[0] || wish[1] != shape[1])
      throw Unsupported("sizes of batch or channels");
    for (std::size_t axis = 0; axis < 2; ++axis) {
      rule.size[axis] = wish[2 + axis];
      if (rule.size[axis] < 1 || rule.size[axis] > 65535)
        throw Unsupported(fmt::format("a size of {}", rule.size[axis]));
    }
    return rule;
  }
  const Constant* scales = filled(inputs, 2);
  if (scales == nullptr) throw Unsupported("scales that are not known");
  set_sizes(scales->values(), shape, rule);
  return rule;
}

}  // namespace tilebeat
