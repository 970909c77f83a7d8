#pragma once

#include "base/types.h"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tilebeat {

/// Room for records of a port that come in the order of their clocks, each the number of its clock, values
/// and a tail that never changes. Modules fill it themselves: a call that is not virtual, and one copy.
struct RecordLane {
  char *next = nullptr, *end = nullptr;  ///< the room
  Cycle last = -1;                       ///< the clock of the last record
  Picoseconds clock_ps = 0;              ///< of the port's clocks
  Picoseconds after_last = -1;           ///< when the clock behind the last one begins; negative: not known
  std::size_t bytes = 0, tail_bytes = 0;
  const char* tail = nullptr;

  /// Adds the record of the clock from `begin` to `done`. Returns the place for the bytes of its values;
  /// null: nothing is added: it is not exactly one clock, not later than the last record, or there is no
  /// room.
  std::uint8_t* add(Picoseconds begin, Picoseconds done) {
    const std::size_t record = sizeof last + bytes + tail_bytes;
    if (done - begin != clock_ps || end - next < to_signed(record)) return nullptr;
    Cycle clock = last + 1;
    if (begin != after_last) {
      clock = (begin + clock_ps - 1) / clock_ps;
      if (clock <= last) return nullptr;
    }
    char* const values = next + sizeof clock;
    std::memcpy(next, &clock, sizeof clock);
    std::memcpy(values + bytes, tail, tail_bytes);
    next += record, last = clock, after_last = begin + clock_ps;
    return reinterpret_cast<std::uint8_t*>(values);
  }
};

}  // namespace tilebeat
