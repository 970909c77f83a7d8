#pragma once

#include "base/types.h"

#include <cstdint>
#include <vector>

namespace tilebeat {

/// The number of bytes of a memory that hold live data, over time (SPEC UI-8). The memory is divided into at
/// most 4096 lines. A line is held in the cycles of its accesses, and between two accesses if the later one
/// is a read: overwritten data, and data that are never accessed again, are not live. Time is kept in at most
/// 64 slices of equal length; before there would be more, every two are joined.
///
/// Accesses of one cycle give the same result in any order; a memory's accesses come in the order of their
/// cycles.
class HeldBytes {
 public:
  enum class Access : std::uint8_t { kRead, kWrite };

  /// `size`: bytes of the memory, at least 1.
  explicit HeldBytes(std::uint64_t size);

  /// Bytes [begin, end) of the memory are accessed in `cycle`.
  void access(Access kind, std::uint64_t begin, std::uint64_t end, Cycle cycle);
  bool ever_accessed() const { return accessed_; }
  /// Cycles of a slice, a power of two, with which the slices cover all accesses so far and a run up to
  /// `end`.
  Cycle slice_cycles(Cycle end) const;
  /// Bytes of the lines that are held in any cycle of a slice, by slice of `slice_cycles` cycles (this
  /// memory's, or a larger power of two) over the cycles [begin, end).
  std::vector<std::int64_t> by_slice(Cycle slice_cycles, Cycle begin, Cycle end) const;

 private:
  static constexpr int kSlices = 64, kFirstShift = 4;
  struct Line {
    std::uint64_t slices = 0;      // a bit per slice; 0: never accessed
    Cycle before = 0, latest = 0;  // cycles of the latest accesses, and of the ones before them
  };
  void join();
  std::uint64_t bits(Cycle from, Cycle to) const;

  std::uint64_t size_, line_bytes_ = 1;
  int shift_ = kFirstShift;  // a slice has 2^shift cycles
  bool accessed_ = false;
  std::vector<Line> lines_;
};

}  // namespace tilebeat
