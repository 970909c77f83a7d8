// Operators of TensorFlow Lite that move elements.
#include "base/types.h"
#include "import/tflite_lowering.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

namespace tilebeat {
namespace {

/// The source pixels along an axis of a nearest resize, in float32 as the kernels compute them.
Extents nearest_pixels(std::int64_t in, std::int64_t out, bool corners, bool half, ElementType type) {
  Extents pixels;
  const float ratio = corners && out > 1 ? static_cast<float>(in - 1) / static_cast<float>(out - 1)
                                         : static_cast<float>(in) / static_cast<float>(out);
  // The kernel of uint8 has 16 bits behind the point, where the places begin at 0.
  const bool whole = type == ElementType::kUint8 && !corners && !half;
  for (std::int64_t o = 0; o < out; ++o) {
    const float place = (static_cast<float>(o) + (half ? 0.5F : 0.0F)) * ratio;
    const std::int64_t pixel =
        whole ? o * (in * 65536 / out + 1) / 65536
              : static_cast<std::int64_t>(corners ? std::round(place) : std::floor(place));
    pixels.push_back(std::clamp<std::int64_t>(pixel, 0, in - 1));
  }
  return pixels;
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
  Held x = held(node, 0);
  const std::size_t rank = input(node, 0).shape->size();
  const std::vector<std::int64_t> wish = constant(node, 1).integers();
  if (x.shape.size() != 4 || wish.size() != 2 * rank) throw Unsupported("paddings that do not fit its map");
  std::array<std::array<std::int64_t, 2>, 4> sides{};
  for (std::size_t axis = 0; axis < rank; ++axis)
    sides[map_axis(axis, rank)] = {wish[2 * axis], wish[2 * axis + 1]};
  for (const auto& side : sides) {
    if (side[0] < 0 || side[1] < 0) throw Unsupported("a negative padding");
  }
  FieldsJson fields{{"pads", {sides[1][0], sides[2][0], sides[1][1], sides[2][1]}}};
  if (sides[3][0] != 0 || sides[3][1] != 0) fields["channel_pads"] = sides[3];
  FieldsJson of_images{{"pads", {sides[0][0], 0, sides[0][1], 0}}};
  if (node.op == "PADV2") {
    need_same_scale(node, 2);
    fields["value"] = of_images["value"] = constant(node, 2).integers().at(0);
  }
  const auto grown = [&](Extents shape, std::size_t begin, std::size_t end) {
    for (std::size_t axis = begin; axis < end; ++axis) shape[axis] += sides[axis][0] + sides[axis][1];
    return shape;
  };
  if (sides[0][0] + sides[0][1] > 0) {  // images as the rows of one map
    const std::string name = layer_name(node) + "_images";
    const Extents rows{1, x.shape[0], x.shape[1] * x.shape[2], x.shape[3]};
    const Extents padded{1, rows[1] + sides[0][0] + sides[0][1], rows[2], rows[3]};
    const Held made =
        emitter_.movement("pad", {emitter_.reshape(x, rows, x.holder + "_rows")}, padded, name, of_images);
    x = emitter_.reshape(made, grown(x.shape, 0, 1), name + "_map");
  }
  set(node, emitter_.movement("pad", {x}, grown(x.shape, 1, 4), layer_name(node), fields));
}

void TfliteLowering::concatenation(const GraphNode& node, Attributes& attributes) {
  const Wanted made = wanted(node, attributes.text("activation", "NONE"));
  if (made.range && *made.range != element_bounds(made.type)) throw Unsupported("a fused activation");
  const std::size_t rank = output(node).shape->size();
  const std::size_t axis = map_axis(to_size(axis_in(attributes.integer("axis", 0), rank)), rank);
  std::vector<Held> parts;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    Held part = held(node, i);
    if (part.type == ElementType::kInt16 && made.type == part.type) part.scale = made.scale;
    const Wanted same{fmt::format("{}_part{}", made.name, i), made.type, made.scale, made.zero_point};
    // The kernel of uint8 alone rescales its parts.
    const bool named = builder_.arithmetic() == Arithmetic::kFixed && part.type == ElementType::kUint8 &&
                       made.type == ElementType::kUint8;
    if (part.scale != made.scale || part.zero_point != made.zero_point || part.type != made.type)
      part = emitter_.function("requantize", part, part.shape, same,
                               named ? FieldsJson{{"rule", "concatenation"}} : FieldsJson::object(),
                               named ? Rounding::kRuntime : Rounding::kExact);
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
  const std::string name = layer_name(node);
  if (node.op == "RESIZE_BILINEAR") {
    const FieldsJson fields{{"size", {shape[1], shape[2]}},
                            {"coordinate_mode", corners ? "align_corners"
                                                : half  ? "half_pixel"
                                                        : "asymmetric"},
                            {"mode", "bilinear"}};
    const bool named = in_fixed_point() && x.type == ElementType::kInt8;
    return set(node, emitter_.resize(x, shape, name, fields, named ? Rounding::kRuntime : Rounding::kExact));
  }
  Held made = x;
  for (const std::size_t axis : {1U, 2U}) {
    const Extents pixels = nearest_pixels(x.shape[axis], shape[axis], corners, half, x.type);
    Extents same(to_size(x.shape[axis]));
    std::iota(same.begin(), same.end(), 0);
    if (pixels == same) continue;
    Extents to = made.shape;
    to[axis] = shape[axis];
    made = emitter_.movement("gather", {made}, to, fmt::format("{}_{}", name, axis == 1 ? "rows" : "columns"),
                             {{"axis", axis}, {"indices", pixels}});
  }
  set(node, made);
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

namespace {

void set_masks(const Extents& shape, Attributes& attributes, SliceBounds& bounds) {
  for (const char* name : {"ellipsis_mask", "new_axis_mask", "offset"}) {
    if (attributes.integer(name, 0) != 0) throw Unsupported(fmt::format("an {}", name));
  }
  const std::int64_t begin_mask = attributes.integer("begin_mask", 0),
                     end_mask = attributes.integer("end_mask", 0);
  const std::int64_t shrink = attributes.integer("shrink_axis_mask", 0);
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const std::int64_t extent = shape[axis];
    std::int64_t &begin = bounds.starts[axis], &end = bounds.ends[axis];
    if (begin < 0) begin += extent;
    if (end < 0) end += extent;
    if ((begin_mask >> axis & 1) != 0) begin = 0;
    if ((end_mask >> axis & 1) != 0) end = extent;
    if ((shrink >> axis & 1) != 0) end = begin + 1;
    end = std::min(end, extent);
  }
}

}  // namespace

SliceBounds tflite_slice(const GraphNode& node, Attributes& attributes, const Extents& shape,
                         const std::function<const Constant&(std::size_t)>& constant) {
  SliceBounds bounds{constant(1).integers(), constant(2).integers(), Extents(shape.size(), 1)};
  const bool strided = node.op == "STRIDED_SLICE";
  if (strided) bounds.steps = constant(3).integers();
  if (bounds.starts.size() != shape.size() || bounds.ends.size() != shape.size() ||
      bounds.steps.size() != shape.size())
    throw Unsupported("a slice of another rank");
  if (strided) set_masks(shape, attributes, bounds);
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (!strided)
      bounds.ends[axis] = bounds.ends[axis] == -1 ? shape[axis] : bounds.starts[axis] + bounds.ends[axis];
    if (bounds.steps[axis] < 1 || bounds.starts[axis] < 0 || bounds.ends[axis] > shape[axis] ||
        bounds.starts[axis] >= bounds.ends[axis])
      throw Unsupported(fmt::format("a slice from {} to {} by {} of {}", bounds.starts[axis],
                                    bounds.ends[axis], bounds.steps[axis], shape[axis]));
  }
  return bounds;
}

void TfliteLowering::slice(const GraphNode& node, Attributes& attributes) {
  const SliceBounds bounds =
      tflite_slice(node, attributes, *input(node, 0).shape,
                   [&](std::size_t i) -> const Constant& { return constant(node, i); });
  emit_slice(node, 0, bounds.starts, bounds.ends, bounds.steps);
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

/// GATHER by constant indices along one axis.
void TfliteLowering::gather(const GraphNode& node, Attributes& attributes) {
  need_same_scale(node, 0);
  if (attributes.integer("batch_dims", 0) != 0) throw Unsupported("batch_dims");
  const Held x = held(node, 0);
  const std::size_t rank = input(node, 0).shape->size();
  const auto axis = to_size(axis_in(attributes.integer("axis", 0), rank));
  const std::size_t at = map_axis(axis, rank);
  const Extents indices = constant(node, 1).integers();
  for (const std::int64_t index : indices) {
    if (index < 0 || index >= x.shape[at])
      throw Unsupported(fmt::format("index {} of {}", index, x.shape[at]));
  }
  if (indices.empty()) throw Unsupported("no indices");
  Extents shape = x.shape;
  shape[at] = ssize(indices);
  set(node, emitter_.movement("gather", {x}, shape, layer_name(node), {{"axis", at}, {"indices", indices}}));
}

/// PACK joins tensors along a new axis.
void TfliteLowering::pack(const GraphNode& node, Attributes& attributes) {
  const Extents& shape = *output(node).shape;
  const auto axis = to_size(axis_in(attributes.integer("axis", 0), shape.size()));
  if (attributes.integer("values_count", ssize(node.inputs)) != ssize(node.inputs))
    throw Unsupported(fmt::format("{} values", node.inputs.size()));
  Extents one = shape;
  one.at(axis) = 1;
  std::vector<Held> parts;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    need_same_scale(node, i);
    parts.push_back(
        emitter_.reshape(held(node, i), map_shape(one), fmt::format("{}_part{}", layer_name(node), i)));
  }
  if (parts.size() == 1) return set(node, parts[0]);
  set(node, emitter_.movement("concat", parts, map_shape(shape), layer_name(node),
                              {{"axis", map_axis(axis, shape.size())}}));
}

/// UNPACK divides a tensor into its slices along an axis.
void TfliteLowering::unpack(const GraphNode& node, Attributes& attributes) {
  const Extents& shape = *input(node, 0).shape;
  const auto axis = to_size(axis_in(attributes.integer("axis", 0), shape.size()));
  if (attributes.integer("num", ssize(node.outputs)) != ssize(node.outputs) ||
      ssize(node.outputs) != shape.at(axis))
    throw Unsupported(fmt::format("{} parts of {}", node.outputs.size(), shape.at(axis)));
  for (std::size_t part = 0; part < node.outputs.size(); ++part) {
    Extents starts(shape.size(), 0), ends = shape;
    starts[axis] = to_signed(part), ends[axis] = to_signed(part) + 1;
    emit_slice(node, part, starts, ends, Extents(shape.size(), 1));
  }
}

namespace {

/// One number an axis of a block, or two for paddings and crops.
Extents numbers_of(const Constant& constant, std::size_t count, const char* what) {
  Extents numbers = constant.integers();
  if (numbers.size() != count) throw Unsupported(fmt::format("{} {}", numbers.size(), what));
  if (std::any_of(numbers.begin(), numbers.end(), [](auto n) { return n < 0 || n > UINT16_MAX; }))
    throw Unsupported(fmt::format("{} beyond 0 to {}", what, UINT16_MAX));
  return numbers;
}

}  // namespace

/// Pixels of every phase of a block become a map of their own.
void TfliteLowering::space_to_batch(const GraphNode& node, Attributes&) {
  need_same_scale(node, 0);
  Held x = held(node, 0);
  const std::size_t rank = input(node, 0).shape->size(), axes = rank - 2;
  if (rank != 3 && rank != 4) throw Unsupported(fmt::format("a tensor of {} axes", rank));
  const Extents block = numbers_of(constant(node, 1), axes, "extents of a block");
  const Extents pads = numbers_of(constant(node, 2), 2 * axes, "paddings");
  std::array<std::int64_t, 2> b{1, 1};
  std::array<std::int64_t, 4> sides{0, 0, 0, 0};
  for (std::size_t i = 0; i < axes; ++i) {
    const std::size_t at = map_axis(1 + i, rank) - 1;
    b.at(at) = block[i], sides.at(at) = pads[2 * i], sides.at(2 + at) = pads[2 * i + 1];
  }
  const std::string name = layer_name(node);
  Extents shape = x.shape;
  for (const std::size_t at : {0U, 1U}) {
    shape[1 + at] += sides[at] + sides[2 + at];
    if (b[at] < 1 || shape[1 + at] % b[at] != 0) throw Unsupported(fmt::format("a block of {}", b[at]));
  }
  if (sides != std::array<std::int64_t, 4>{0, 0, 0, 0})
    x = emitter_.movement("pad", {x}, shape, name + "_padded", {{"pads", sides}});
  const std::int64_t h = shape[1] / b[0], w = shape[2] / b[1];
  x = emitter_.reshape(x, {shape[0], h, b[0], w, b[1], shape[3]}, name + "_blocks");
  x = emitter_.movement("transpose", {x}, {b[0], b[1], shape[0], h, w, shape[3]}, name + "_phases",
                        {{"perm", {2, 4, 0, 1, 3, 5}}});
  set(node, emitter_.reshape(x, {b[0] * b[1] * shape[0], h, w, shape[3]}, name));
}

/// Maps of all phases of a block become one map.
void TfliteLowering::batch_to_space(const GraphNode& node, Attributes&) {
  need_same_scale(node, 0);
  Held x = held(node, 0);
  const std::size_t rank = input(node, 0).shape->size(), axes = rank - 2;
  if (rank != 3 && rank != 4) throw Unsupported(fmt::format("a tensor of {} axes", rank));
  const Extents block = numbers_of(constant(node, 1), axes, "extents of a block");
  const Extents crops = numbers_of(constant(node, 2), 2 * axes, "crops");
  std::array<std::int64_t, 2> b{1, 1};
  Extents starts(4, 0), ends;
  for (std::size_t i = 0; i < axes; ++i) b.at(map_axis(1 + i, rank) - 1) = block[i];
  if (b[0] < 1 || b[1] < 1 || x.shape[0] % (b[0] * b[1]) != 0)
    throw Unsupported(fmt::format("a block of {} x {} for {} maps", b[0], b[1], x.shape[0]));
  const std::int64_t n = x.shape[0] / (b[0] * b[1]), h = x.shape[1], w = x.shape[2], c = x.shape[3];
  const std::string name = layer_name(node);
  x = emitter_.reshape(x, {b[0], b[1], n, h, w, c}, name + "_phases");
  x = emitter_.movement("transpose", {x}, {n, h, b[0], w, b[1], c}, name + "_blocks",
                        {{"perm", {2, 3, 0, 4, 1, 5}}});
  x = emitter_.reshape(x, {n, h * b[0], w * b[1], c}, name + "_whole");
  Extents shape = ends = x.shape;
  for (std::size_t i = 0; i < axes; ++i) {
    const std::size_t at = map_axis(1 + i, rank);
    starts[at] = crops[2 * i], ends[at] -= crops[2 * i + 1], shape[at] = ends[at] - starts[at];
    if (shape[at] < 1) throw Unsupported("crops that leave nothing");
  }
  if (shape != x.shape)
    x = emitter_.movement("slice", {x}, shape, name, {{"starts", starts}, {"ends", ends}});
  set(node, x);
}

}  // namespace tilebeat
