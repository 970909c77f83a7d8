#pragma once

#include "tilebeat/base/activity.h"
#include "tilebeat/base/types.h"

#include <algorithm>
#include <vector>

namespace tilebeat {

/// What a request has waited for, one after the other, since it was issued (SPEC CY-2): everyone whom it
/// passes adds what kept it there, and who waited for the answer learns it from `CycleLedger::explain`.
class WaitTrail {
 public:
  /// From the end of the wait before, up to cycle `until`, the request waited for `cause`; nothing when that
  /// cycle is already accounted for.
  void add(Cycle until, Activity cause) {
    if (until <= this->until()) return;
    if (!waits_.empty() && waits_.back().cause == cause) {
      waits_.back().until = until;
    } else {
      waits_.push_back({until, cause});
    }
  }
  /// The waits of a request that was made on behalf of this one.
  void add(const WaitTrail& other) {
    for (const Wait& wait : other.waits_) add(wait.until, wait.cause);
  }
  void clear() { waits_.clear(); }
  bool empty() const { return waits_.empty(); }
  /// The cycle up to which the waits are known.
  Cycle until() const { return waits_.empty() ? -1 : waits_.back().until; }

  /// Calls `spent(cause, cycles)` for the cycles [begin, end), in order. Those before the request belong to
  /// its first wait; those behind the last one are the answer's way.
  template <class Spent>
  void divide(Cycle begin, Cycle end, Spent spent) const {
    for (const Wait& wait : waits_) {
      if (begin == end) return;
      if (wait.until <= begin) continue;
      const Cycle stop = std::min(end, wait.until);
      spent(wait.cause, stop - begin);
      begin = stop;
    }
    if (begin < end) spent(Activity::kBusLatency, end - begin);
  }

 private:
  struct Wait {
    Cycle until;
    Activity cause;
  };
  std::vector<Wait> waits_;
};

}  // namespace tilebeat
