#pragma once

#include "tilebeat/mapping/window.h"
#include "tilebeat/workload/operators.h"

#include <cstdint>

namespace tilebeat {

/// One axis of a resize as VectorResize has it: output i lies at (first + i * step) / divisor of a source of
/// `extent` pixels, and takes the pixel below that place and, of a bilinear resize, the next one.
struct ResizeAxis {
  int extent = 1;
  std::int64_t first = 0, step = 1, divisor = 1;

  /// Pixels of the source that outputs `outs`, which are not empty, need.
  Interval needed(Resize::Mode mode, Interval outs) const;
  /// Pixels of the source that any of the first `outs` outputs needs.
  std::int64_t touched(Resize::Mode mode, int outs) const;
};

/// `in` pixels become `out`. The rounding of a nearest resize is part of `first`, so that it is always down.
ResizeAxis resize_axis(const Resize& resize, int in, int out);

}  // namespace tilebeat
