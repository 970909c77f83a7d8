#pragma once

#include "tilebeat/mapping/transfer.h"

#include <cstdint>
#include <vector>

namespace tilebeat {

/// Tensors whose elements are gone through in one order: index i, one number an axis, is element
/// offset + sum of i[axis] * strides[axis] of a tensor. The last axis is a line.
struct LineAxes {
  struct Tensor {
    std::int64_t offset = 0;
    std::vector<std::int64_t> strides;  ///< in elements; 0: the axis is repeated
    int element_bytes = 1;
  };
  std::vector<std::int64_t> extents;
  std::vector<Tensor> operands;
  Tensor result;

  std::int64_t line() const { return extents.back(); }
  std::int64_t lines() const;
  /// Lines that follow one another at the same distances: the extent of the axis before the last one.
  std::int64_t neighbours() const { return extents.size() > 1 ? extents[extents.size() - 2] : 1; }
};

/// What a line is to the operation.
enum class LineUse : std::uint8_t {
  kElements,  ///< a run of elements: it may be cut, and lines be joined
  kPixel      ///< a pixel, whose channels stay together
};

/// The same with as few axes as say it.
LineAxes joined(const LineAxes& axes, LineUse use);

/// `count` neighbouring lines from line number `first` on, elements [begin, end) of each.
struct Lines {
  std::int64_t first = 0, count = 1, begin = 0, end = 0;
};
/// The element of `tensor` where `lines` begin.
std::int64_t element_of(const LineAxes& axes, const LineAxes::Tensor& tensor, const Lines& lines);
/// The copy of lines between such a tensor and a buffer where they lie without gaps.
CopyShape lines_shape(const LineAxes& axes, const LineAxes::Tensor& tensor, const Lines& lines,
                      TransferEnd tensor_end);

/// Strides in elements of a dense tensor of shape `shape`.
std::vector<std::int64_t> dense_strides(const std::vector<std::int64_t>& shape);

}  // namespace tilebeat
