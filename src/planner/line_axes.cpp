#include "line_axes.h"

namespace tilebeat {

std::int64_t LineAxes::lines() const {
  std::int64_t count = 1;
  for (std::size_t axis = 0; axis + 1 < extents.size(); ++axis) count *= extents[axis];
  return count;
}

std::vector<std::int64_t> dense_strides(const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> strides(shape.size(), 1);
  for (std::size_t axis = shape.size() - 1; axis > 0; --axis) strides[axis - 1] = strides[axis] * shape[axis];
  return strides;
}

LineAxes joined(const LineAxes& axes, LineUse use) {
  LineAxes made = axes;
  const auto all = [&made](auto test) {
    for (const LineAxes::Tensor& operand : made.operands) {
      if (!test(operand.strides)) return false;
    }
    return test(made.result.strides);
  };
  const auto erase = [&made](std::size_t axis) {
    const auto at = static_cast<std::ptrdiff_t>(axis);
    made.extents.erase(made.extents.begin() + at);
    for (LineAxes::Tensor& operand : made.operands) operand.strides.erase(operand.strides.begin() + at);
    made.result.strides.erase(made.result.strides.begin() + at);
  };
  // Axis by axis from the end: an axis of one index goes, and one that continues the next one joins it.
  for (std::size_t axis = made.extents.size() - 1; axis-- > 0;) {
    if (made.extents[axis] == 1) {
      erase(axis);
      continue;
    }
    const bool is_line = axis + 2 == made.extents.size();
    if (is_line && use == LineUse::kPixel) continue;
    const bool continues = all([&](const std::vector<std::int64_t>& strides) {
      return strides[axis] == strides[axis + 1] * made.extents[axis + 1];
    });
    if (!continues) continue;
    made.extents[axis + 1] *= made.extents[axis];
    erase(axis);
  }
  return made;
}

std::int64_t element_of(const LineAxes& axes, const LineAxes::Tensor& tensor, const Lines& lines) {
  std::int64_t element = tensor.offset + lines.begin * tensor.strides.back(), rest = lines.first;
  for (std::size_t axis = axes.extents.size() - 1; axis-- > 0; rest /= axes.extents[axis])
    element += rest % axes.extents[axis] * tensor.strides[axis];
  return element;
}

CopyShape lines_shape(const LineAxes& axes, const LineAxes::Tensor& tensor, const Lines& lines,
                      TransferEnd tensor_end) {
  const std::int64_t size = tensor.element_bytes, length = lines.end - lines.begin;
  const std::int64_t step = tensor.strides.back();
  const std::int64_t row = axes.extents.size() > 1 ? tensor.strides[axes.extents.size() - 2] : 0;
  const bool is_run = step == 1 || length == 1;
  CopyShape shape;
  shape.run = is_run ? length * size : size;
  shape.columns = is_run ? 1 : length;
  shape.rows = lines.count;
  const bool from = tensor_end == TransferEnd::kSource;
  (from ? shape.source_column : shape.destination_column) = is_run ? 0 : step * size;
  (from ? shape.destination_column : shape.source_column) = is_run ? 0 : size;
  (from ? shape.source_row : shape.destination_row) = row * size;
  (from ? shape.destination_row : shape.source_row) = length * size;
  return shape;
}

}  // namespace tilebeat
