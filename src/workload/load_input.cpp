#include "load_input.h"

#include <algorithm>

#include <fmt/format.h>

#include "tensor_source.h"

namespace tilebeat {
namespace {

/// Throws UserError unless `axes` are the axes of `shape` in another order.
void check_axes(const std::vector<int>& axes, const std::vector<std::int64_t>& shape, const Place& place) {
  std::vector<int> sorted = axes;
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t i = 0; i < sorted.size() || i < shape.size(); ++i) {
    if (i >= sorted.size() || i >= shape.size() || sorted[i] != static_cast<int>(i))
      place.refuse(fmt::format("[{}]", fmt::join(axes, ", ")),
                   fmt::format("each of the {} axes of its shape once", shape.size()));
  }
}

/// The elements of `file`, whose axis i is axis axes[i] of the result, in the order of `shape`.
Tensor permuted(const Tensor& file, const std::vector<int>& axes, const std::vector<std::int64_t>& shape) {
  Tensor made{shape, file.dtype, std::vector<std::uint8_t>(file.bytes.size())};
  std::vector<std::int64_t> strides(shape.size(), 1), steps(shape.size());
  for (std::size_t axis = shape.size() - 1; axis > 0; --axis) strides[axis - 1] = strides[axis] * shape[axis];
  for (std::size_t i = 0; i < axes.size(); ++i) steps[i] = strides[static_cast<std::size_t>(axes[i])];
  const auto size = static_cast<std::size_t>(dtype_size(file.dtype));
  std::vector<std::int64_t> at(shape.size(), 0);
  std::int64_t to = 0;
  for (std::size_t from = 0; from < file.bytes.size(); from += size) {
    std::copy_n(&file.bytes[from], size, &made.bytes[static_cast<std::size_t>(to) * size]);
    for (std::size_t axis = at.size(); axis-- > 0;) {
      to += steps[axis];
      if (++at[axis] < file.shape[axis]) break;
      to -= steps[axis] * file.shape[axis];
      at[axis] = 0;
    }
  }
  return made;
}

}  // namespace

Tensor load_input(const InputSpec& input, const Place& place) {
  const TensorInfo& info = input.info;
  const auto load = [&](const std::vector<std::int64_t>& shape) {
    return load_tensor(input.source, {shape, info.dtype, info.dtype, std::nullopt, true}, place);
  };
  if (input.file_axes.empty()) return load(info.shape);
  check_axes(input.file_axes, info.shape, place.key("file_axes"));
  if (input.source.random) return load(info.shape);
  std::vector<std::int64_t> shape;
  for (const int axis : input.file_axes) shape.push_back(info.shape[static_cast<std::size_t>(axis)]);
  const Tensor file = load_npy(input.source.file.value(), place.key("file"));
  // A file in the order of the tensor is taken, too, where its shape tells.
  if (!same_but_ones(file.shape, shape) && same_but_ones(file.shape, info.shape)) return load(info.shape);
  return permuted(load(shape), input.file_axes, info.shape);
}

}  // namespace tilebeat
