// Operators whose output are elements of the input in another order.
// Operators that move bytes and compute nothing.
#include "workload/load_layer.h"
#include "workload/npy.h"
#include "workload/tensor_source.h"

#include <algorithm>

#include <fmt/format.h>

namespace tilebeat {
namespace {

std::vector<std::int64_t> strides_of(const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> strides(shape.size(), 1);
  for (std::size_t axis = shape.size() - 1; axis > 0; --axis) strides[axis - 1] = strides[axis] * shape[axis];
  return strides;
}

}  // namespace

void load_operator(const TransposeSpec& spec, const LayerSource& source, Layer& layer) {
  const auto& shape = source.input().shape;
  std::vector<int> sorted = spec.perm;
  std::sort(sorted.begin(), sorted.end());
  bool all = sorted.size() == shape.size();
  for (std::size_t i = 0; i < sorted.size(); ++i) all = all && sorted[i] == static_cast<int>(i);
  if (!all)
    source.place.key("perm").refuse(fmt::format("[{}]", fmt::join(spec.perm, ", ")),
                                    fmt::format("the axes of {}, each once", shape_text(shape)));
  const std::vector<std::int64_t> strides = strides_of(shape);
  Move move;
  layer.output = source.input();
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const auto from = static_cast<std::size_t>(spec.perm[axis]);
    layer.output.shape[axis] = shape[from];
    move.strides.push_back(strides[from]);
  }
  layer.operation = std::move(move);
}

void load_operator(const SliceSpec& spec, const LayerSource& source, Layer& layer) {
  const auto& shape = source.input().shape;
  const auto check = [&](const char* key, const std::vector<std::int64_t>& list) {
    if (list.size() != shape.size())
      source.place.key(key).refuse(
          fmt::format("a list of {} entries", list.size()),
          fmt::format("{} entries, one an axis of {}", shape.size(), shape_text(shape)));
  };
  check("starts", spec.starts), check("ends", spec.ends);
  if (!spec.steps.empty()) check("steps", spec.steps);
  const std::vector<std::int64_t> strides = strides_of(shape);
  Move move;
  layer.output = source.input();
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const std::int64_t step = spec.steps.empty() ? 1 : spec.steps[axis], first = spec.starts[axis];
    const std::int64_t end = spec.ends[axis];
    if (first >= end || end > shape[axis])
      source.place.key("ends").item(axis).refuse_value(
          end, fmt::format("{} to {}, behind the start and inside the input", first + 1, shape[axis]));
    layer.output.shape[axis] = (end - first + step - 1) / step;
    move.strides.push_back(strides[axis] * step);
    move.offset += strides[axis] * first;
  }
  layer.operation = std::move(move);
}

void load_operator(const GatherSpec& spec, const LayerSource& source, Layer& layer) {
  const auto& shape = source.input().shape;
  const int axis = axis_of(spec.axis, shape.size(), source.place.key("axis"));
  const auto along = static_cast<std::size_t>(axis);
  for (std::size_t i = 0; i < spec.indices.size(); ++i) {
    if (spec.indices[i] >= shape[along])
      source.place.key("indices").item(i).refuse_value(
          spec.indices[i], fmt::format("0 to {}, the input has {}", shape[along] - 1, shape[along]));
  }
  layer.output = source.input();
  layer.output.shape[along] = static_cast<std::int64_t>(spec.indices.size());
  check_shape(layer.output.shape, source.place);
  layer.operation = Gather{axis, spec.indices};
}

namespace {

void load_reshape(std::vector<std::int64_t> shape, const LayerSource& source, Layer& layer) {
  layer.output = source.input();
  layer.output.shape = std::move(shape);
  layer.operation = Reshape{};
}

}  // namespace

void load_flatten(const LayerSource& source, Layer& layer) {
  const auto& shape = source.input().shape;
  const std::vector<std::int64_t> flat{shape[0], 1, 1, shape[1] * shape[2] * shape[3]};
  check_shape(flat, source.place);
  load_reshape(flat, source, layer);
}

void load_operator(const ReshapeSpec& spec, const LayerSource& source, Layer& layer) {
  const Place place = source.place.key("shape");
  check_shape(spec.shape, place);
  const std::int64_t elements = source.input().elements();
  if (TensorInfo{spec.shape, DType::kInt8, 0}.elements() != elements) {
    place.refuse(shape_text(spec.shape), fmt::format("a shape of {} elements, as many as {} has", elements,
                                                     shown(source.spec.inputs.front())));
  }
  load_reshape(spec.shape, source, layer);
}

void load_operator(const ConcatSpec& spec, const LayerSource& source, Layer& layer) {
  const TensorInfo& first = source.input();
  const std::string first_name = shown(source.spec.inputs.front());
  const int axis = axis_of(spec.axis, first.shape.size(), source.place.key("axis"));
  const auto joined = static_cast<std::size_t>(axis);
  const bool channels = first.shape.size() == 4 && axis == 3;
  layer.output = first;
  layer.operation = Concat{axis};
  for (std::size_t i = 1; i < source.inputs.size(); ++i) {
    const TensorInfo& input = source.inputs[i];
    const std::string name = shown(source.spec.inputs[i]);
    std::vector<std::int64_t> shape = input.shape;
    if (shape.size() == first.shape.size()) shape[joined] = first.shape[joined];
    if (shape != first.shape) {
      source.input_place(i).refuse(fmt::format("{} with shape {}", name, shape_text(input.shape)),
                                   channels ? fmt::format("a map [{}, {}, {}, C], as {}", first.shape[0],
                                                          first.shape[1], first.shape[2], first_name)
                                            : fmt::format("the shape {} of {} but for axis {}",
                                                          shape_text(first.shape), first_name, axis));
    }
    if (input.dtype != first.dtype || input.zero_point != first.zero_point) {
      source.input_place(i).refuse(
          fmt::format("{} of {} with zero point {}", name, dtype_name(input.dtype), input.zero_point),
          fmt::format("{} with zero point {}, as {}; requantize it first", dtype_name(first.dtype),
                      first.zero_point, first_name));
    }
    layer.output.shape[joined] += input.shape[joined];
  }
  check_shape(layer.output.shape, source.place);
}

void load_operator(const PadSpec& spec, const LayerSource& source, Layer& layer) {
  layer.output = source.input();
  Pad pad = spec.pad;
  pad.value = spec.value.value_or(layer.output.zero_point);
  check_zero_point(pad.value, layer.output.dtype, source.place.key("value"));
  auto& shape = layer.output.shape;
  shape[1] += pad.pads[0] + pad.pads[2], shape[2] += pad.pads[1] + pad.pads[3];
  shape[3] += pad.channel_pads[0] + pad.channel_pads[1];
  check_shape(shape, source.place);
  layer.operation = pad;
}

void load_operator(const ResizeSpec& spec, const LayerSource& source, Layer& layer) {
  const TensorInfo& input = source.input();
  if (input.shape[1] > kTapExtent.high || input.shape[2] > kTapExtent.high) {
    source.input_place(0).refuse(
        fmt::format("{} with shape {}", shown(source.spec.inputs[0]), shape_text(input.shape)),
        fmt::format("a map of at most {} x {} pixels", kTapExtent.high, kTapExtent.high));
  }
  if (spec.rounding && spec.mode != Resize::Mode::kNearest) {
    source.place.key("nearest_mode").refuse("a nearest_mode with mode \"bilinear\"", "mode \"nearest\"");
  }
  layer.output = input;
  layer.output.shape[1] = spec.size[0], layer.output.shape[2] = spec.size[1];
  check_shape(layer.output.shape, source.place);
  layer.operation =
      Resize{spec.mode, spec.coordinates, spec.rounding.value_or(Resize::Rounding::kPreferFloor)};
}

}  // namespace tilebeat
