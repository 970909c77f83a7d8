#pragma once

#include "tilebeat/sim/clock.h"

#include <algorithm>
#include <limits>

namespace tilebeat {

/// The first cycle after `now` in which a module has something to do.
class NextClock {
 public:
  explicit NextClock(Cycle now) : now_(now) {}

  /// There is something to do in cycle `cycle`; one that is not after now does not count.
  void at(Cycle cycle) {
    if (cycle > now_) first_ = std::min(first_, cycle);
  }
  /// There is something to do at all.
  bool any() const { return first_ != kNever; }
  /// The first cycle of all, if there is any.
  Cycle first() const { return first_; }

 private:
  static constexpr Cycle kNever = std::numeric_limits<Cycle>::max();
  Cycle now_;
  Cycle first_ = kNever;
};

/// Notifies `event` in phase kAct of `cycle`, which lies ahead. An earlier notification stands.
inline void notify_at(sc_core::sc_event& event, const ClockDomain& clock, Cycle cycle) {
  event.notify(to_sc_time(clock.at(cycle) - now_ps()));
}
/// The same, if there is something to do.
inline void notify_at(sc_core::sc_event& event, const ClockDomain& clock, const NextClock& next) {
  if (next.any()) notify_at(event, clock, next.first());
}

}  // namespace tilebeat
