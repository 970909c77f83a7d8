// Operators whose output are elements of the input in another order.
#include <algorithm>

#include <fmt/format.h>

#include "load_layer.h"
#include "npy_header.h"
#include "tensor_source.h"

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

}  // namespace tilebeat
