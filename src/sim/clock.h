#pragma once

#include "base/types.h"

#include <algorithm>
#include <limits>

#include <systemc>

namespace tilebeat {

/// The phases of one cycle (SPEC CY-4). A phase is a fixed time after the clock's edge, not a number of delta
/// cycles, so that what happens inside a phase cannot depend on the order in which processes run.
///   kAct:   modules act on the state they hold and send requests and completions;
///   kGrant: shared resources look at everything sent in kAct of this cycle and decide, by age, then port
///   number;
///   kRecord: what has become of the cycle is written down; nothing changes.
/// Whatever a grant sends reaches its receiver's inbox at once and is acted upon in the next kAct.
enum class Phase : int { kAct = 0, kGrant = 1, kRecord = 2 };

/// A cycle as pure arithmetic on picoseconds; nothing ticks.
class ClockDomain {
 public:
  /// `period_ps` is the length of a cycle, at least 100 ps so that the phases fit inside it.
  explicit constexpr ClockDomain(Picoseconds period_ps) : period_ps_(period_ps) {}

  constexpr Picoseconds period_ps() const { return period_ps_; }
  /// The cycle that the instant `at` lies in.
  constexpr Cycle cycle_of(Picoseconds at) const { return at / period_ps_; }
  /// The instant of `phase` in cycle `cycle`.
  constexpr Picoseconds at(Cycle cycle, Phase phase = Phase::kAct) const {
    return cycle * period_ps_ + to_int(phase);
  }
  /// The first cycle whose edge is at `at` or later: the cycle in which an event of another clock domain is
  /// taken over (SPEC HI-8).
  constexpr Cycle round_up(Picoseconds at) const { return ceil_div(at, period_ps_); }

 private:
  Picoseconds period_ps_;
};

/// The simulated time now.
inline Picoseconds now_ps() {
  return static_cast<Picoseconds>(sc_core::sc_time_stamp().value());  // the time resolution is 1 ps
}
/// `duration` picoseconds as a SystemC time.
inline sc_core::sc_time to_sc_time(Picoseconds duration) {
  return sc_core::sc_time::from_value(static_cast<sc_dt::uint64>(duration));
}

/// Collects the first cycle after `now` in which a module has something to do.
class NextClock {
 public:
  explicit NextClock(Cycle now) : now_(now) {}

  /// Adds work in cycle `cycle`; ignored unless it is after `now`.
  void at(Cycle cycle) {
    if (cycle > now_) first_ = std::min(first_, cycle);
  }
  /// Whether there is any work.
  bool any() const { return first_ != kNever; }
  /// The first cycle with work, if there is any.
  Cycle first() const { return first_; }

 private:
  static constexpr Cycle kNever = std::numeric_limits<Cycle>::max();
  Cycle now_;
  Cycle first_ = kNever;
};

/// Notifies `event` in phase kAct of `cycle`, a future cycle. An earlier notification stays valid.
inline void notify_at(sc_core::sc_event& event, const ClockDomain& clock, Cycle cycle) {
  event.notify(to_sc_time(clock.at(cycle) - now_ps()));
}
/// The same for the first cycle of `next`, if it has any.
inline void notify_at(sc_core::sc_event& event, const ClockDomain& clock, const NextClock& next) {
  if (next.any()) notify_at(event, clock, next.first());
}

}  // namespace tilebeat
