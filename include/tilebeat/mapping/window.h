#pragma once

#include "tilebeat/base/math.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace tilebeat {

/// Positions [begin, end) of a dimension.
struct Interval {
  int begin = 0, end = 0;
  int size() const { return end - begin; }
  bool empty() const { return end <= begin; }
};
inline bool operator==(const Interval& a, const Interval& b) {
  return a.begin == b.begin && a.end == b.end;
}

/// Part `index` of `parts` of [0, extent): sizes are multiples of `granule` but for the last, and as even as
/// that allows. A part may be empty.
inline Interval part_of(int extent, int parts, int index, int granule) {
  const std::int64_t units = ceil_div(extent, granule);
  const auto at = [&](int i) {
    return static_cast<int>(std::min<std::int64_t>(extent, units * i / parts * granule));
  };
  return {at(index), at(index + 1)};
}
/// At least the size of the largest of these parts, and less than a granule more.
inline int largest_part_of(int extent, int parts, int granule) {
  return std::min(extent, static_cast<int>(ceil_div(ceil_div(extent, granule), parts)) * granule);
}

/// The outputs of a part along one axis, the inputs inside the map that they need, and where tap 0 of the
/// first output lies, counted from the first of these inputs (negative: on padding).
struct Window {
  int out = 0, outs = 0, in = 0, ins = 0, offset = 0;
};

/// One axis of an operator that reads a map of `extent` pixels through a sliding window: the receptive field
/// of convolutions and poolings.
struct WindowAxis {
  int extent = 0, kernel = 1, stride = 1, dilation = 1, pad = 0;

  /// What outputs `outs` need.
  Window window(Interval outs) const {
    const int first = outs.begin * stride - pad;
    const int last = (outs.end - 1) * stride + (kernel - 1) * dilation - pad;
    const int begin = std::clamp(first, 0, extent);
    const int end = std::clamp(last + 1, begin, extent);
    return {outs.begin, outs.size(), begin, end - begin, first - begin};
  }
  /// Inputs that `outs` neighbouring outputs need away from the map's edges; never more than the map has.
  int span(int outs) const {
    const std::int64_t ins = (outs - std::int64_t{1}) * stride + (kernel - std::int64_t{1}) * dilation + 1;
    return static_cast<int>(std::min<std::int64_t>(ins, extent));
  }
  /// `outs` outputs away from the map's edges.
  Window inner(int outs) const { return {0, outs, 0, span(outs), 0}; }
  /// Of the taps of the first `outs` outputs, the share that lies in the map; the others are padding.
  double share_inside(int outs) const {
    std::int64_t inside = 0;
    for (int o = 0; o < outs; ++o) {
      for (int k = 0; k < kernel; ++k) {
        const int at = o * stride + k * dilation - pad;
        inside += at >= 0 && at < extent ? 1 : 0;
      }
    }
    return static_cast<double>(inside) / (static_cast<double>(outs) * kernel);
  }
  /// Inputs that any tap of any of the first `outs` outputs touches.
  std::int64_t touched(int outs) const {
    std::vector<bool> used(static_cast<std::size_t>(extent), false);
    for (int o = 0; o < outs; ++o) {
      for (int k = 0; k < kernel; ++k) {
        const int at = o * stride + k * dilation - pad;
        if (at >= 0 && at < extent) used[static_cast<std::size_t>(at)] = true;
      }
    }
    return std::count(used.begin(), used.end(), true);
  }
};

}  // namespace tilebeat
