#pragma once

#include <algorithm>
#include <cstdint>

namespace tilebeat {

/// Lower bounds of a layer's cycles (SPEC UI-4).
struct BoundCycles {
  std::int64_t compute = 0;  ///< its multiply-accumulates at peak
  std::int64_t beats = 0;    ///< its runs by the engine's schedule, spread evenly over all engines
  std::int64_t dram = 0;     ///< its tensors over DRAM once, at peak bandwidth
  std::int64_t cycles() const { return std::max({compute, beats, dram}); }
  /// Of both together.
  BoundCycles& operator+=(const BoundCycles& more) {
    compute += more.compute, beats += more.beats, dram += more.dram;
    return *this;
  }
};

}  // namespace tilebeat
