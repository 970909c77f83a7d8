// Operators of TensorFlow Lite that move elements.
#include <algorithm>

#include <fmt/format.h>

#include "tflite_lowering.h"

namespace tilebeat {
namespace {

std::int64_t axis_in(std::int64_t axis, std::size_t rank) {
  if (axis < 0) axis += static_cast<std::int64_t>(rank);
  if (axis < 0 || axis >= static_cast<std::int64_t>(rank)) throw Unsupported(fmt::format("axis {}", axis));
  return axis;
}

}  // namespace

void TfliteLowering::reshape(const GraphNode& node, Attributes& attributes) {
  need_same_scale(node, 0);
  // The shape that the file declares for the output is the one that these say.
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
  const std::size_t axis =
      map_axis(static_cast<std::size_t>(axis_in(attributes.integer("axis", 0), rank)), rank);
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
  for (std::size_t axis = 0; axis < perm.size(); ++axis) perm[axis] = static_cast<std::int64_t>(axis);
  for (std::size_t axis = 0; axis < rank; ++axis)
    perm[map_axis(axis, rank)] =
        static_cast<std::int64_t>(map_axis(static_cast<std::size_t>(axis_in(wish[axis], rank)), rank));
  for (std::size_t axis = 0; axis < perm.size(); ++axis)
    shape[axis] = x.shape[static_cast<std::size_t>(perm[axis])];
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
  const auto axis = static_cast<std::size_t>(axis_in(constant(node, 0).integers().at(0), shape.size()));
  const std::int64_t parts = attributes.integer("num_splits", 0);
  if (parts < 1 || parts != static_cast<std::int64_t>(node.outputs.size()) || shape[axis] % parts != 0)
    throw Unsupported(fmt::format("{} parts of {}", parts, shape[axis]));
  for (std::int64_t part = 0; part < parts; ++part) {
    Extents starts(shape.size(), 0), ends = shape;
    starts[axis] = part * (shape[axis] / parts), ends[axis] = starts[axis] + shape[axis] / parts;
    emit_slice(node, static_cast<std::size_t>(part), starts, ends, Extents(shape.size(), 1));
  }
}

}  // namespace tilebeat
