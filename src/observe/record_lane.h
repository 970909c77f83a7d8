#pragma once

#include "base/types.h"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tilebeat {

/// The numbers of clocks of one period, by time: lanes of the same clocks ask for one time one after the
/// other.
class ClockNumbers {
 public:
  explicit ClockNumbers(Picoseconds period_ps) : period_ps_(period_ps) {}
  Picoseconds period_ps() const { return period_ps_; }
  /// The clock that begins at this time or next.
  Cycle from(Picoseconds at) {
    look_at(at);
    return begun_ + (begun_at_ < at ? 1 : 0);
  }
  /// The clock that has begun last by this time.
  Cycle at(Picoseconds at) {
    look_at(at);
    return begun_;
  }

 private:
  void look_at(Picoseconds at) {
    if (at == latest_) return;
    latest_ = at, begun_ = at / period_ps_, begun_at_ = begun_ * period_ps_;
  }

  Picoseconds period_ps_, latest_ = 0, begun_at_ = 0;
  Cycle begun_ = 0;
};

/// Room for records of a port that come in the order of their clocks, each the number of its clock, values
/// and a tail that never changes. Modules fill it themselves: a call that is not virtual, and one copy.
struct alignas(64) RecordLane {
  /// Bytes behind the room that may be written to: a short tail is copied as a word.
  static constexpr std::size_t kSlack = sizeof(std::uint64_t);
  static constexpr std::size_t kLine = 64;  ///< bytes of a cache's line

  char *next = nullptr, *end = nullptr;  ///< the room
  ClockNumbers* clocks = nullptr;        ///< of the port; null: nothing is added
  Cycle last = -1;                       ///< the clock of the last record
  std::size_t bytes = 0, tail_bytes = 0;
  const char* tail = nullptr;  ///< at least kSlack bytes are there

  /// Adds the record of the clock from `begin` to `done`. Returns the place for the bytes of its values;
  /// null: nothing is added: it is not exactly one clock, not later than the last record, or there is no
  /// room.
  std::uint8_t* add(Picoseconds begin, Picoseconds done) {
    const std::size_t record = sizeof last + bytes + tail_bytes;
    if (clocks == nullptr || done - begin != clocks->period_ps() || end - next < to_signed(record))
      return nullptr;
    const Cycle clock = clocks->from(begin);
    if (clock <= last) return nullptr;
    char* const values = next + sizeof clock;
    std::memcpy(next, &clock, sizeof clock);
    if (tail_bytes <= kSlack)
      std::memcpy(values + bytes, tail, kSlack);
    else
      std::memcpy(values + bytes, tail, tail_bytes);
    next += record, last = clock;
    // Many other lanes are filled before the next record, so that the processor does not foresee it.
    __builtin_prefetch(next + kLine, 1);
    return reinterpret_cast<std::uint8_t*>(values);
  }
};

}  // namespace tilebeat
