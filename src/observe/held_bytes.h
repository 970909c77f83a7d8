#pragma once

#include "base/types.h"

#include <cstdint>
#include <vector>

namespace tilebeat {

/// How many bytes of a memory hold something over time (SPEC UI-8). A line, at most 4096 of which make up the
/// memory, is held in the cycles of its accesses, and between two of them if the later one is a read: what is
/// overwritten, or never accessed again, is held no more. Time is kept in at most 64 slices of equal length:
/// before there would be more, every two become one.
///
/// Accesses of one cycle give the same in any order; a memory's accesses come in the order of their cycles.
class HeldBytes {
 public:
  enum class Access : std::uint8_t { kRead, kWrite };

  /// Of a memory of `size` bytes, at least 1.
  explicit HeldBytes(std::uint64_t size);

  /// Bytes [begin, end) of the memory are accessed in `cycle`.
  void access(Access kind, std::uint64_t begin, std::uint64_t end, Cycle cycle);
  bool ever_accessed() const { return accessed_; }
  /// Cycles of a slice, a power of two, that every access so far and a run up to `end` have room with.
  Cycle slice_cycles(Cycle end) const;
  /// Bytes of the lines that are held in any cycle of a slice, for the slices of `slice_cycles` (that of this
  /// memory, or a larger power of two) that cover the cycles [begin, end).
  std::vector<std::int64_t> by_slice(Cycle slice_cycles, Cycle begin, Cycle end) const;

 private:
  static constexpr int kSlices = 64, kFirstShift = 4;
  struct Line {
    std::uint64_t slices = 0;      // a bit each; 0: never accessed
    Cycle before = 0, latest = 0;  // the cycle of the latest accesses, and of those before
  };
  void join();
  std::uint64_t bits(Cycle from, Cycle to) const;

  std::uint64_t size_, line_bytes_ = 1;
  int shift_ = kFirstShift;  // a slice has 2^shift cycles
  bool accessed_ = false;
  std::vector<Line> lines_;
};

}  // namespace tilebeat
