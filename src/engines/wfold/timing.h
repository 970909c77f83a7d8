#pragma once

#include "base/activity.h"
#include "base/types.h"
#include "engines/wfold/schedule.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tilebeat::wfold {

/// A clock that only counts: one of the three of WfoldTiming when stall causes are not needed.
class PlainClock {
 public:
  Cycle settled_at() const { return at_; }
  void settle(Cycle at) { at_ = std::max(at_, at); }
  void spend(Activity /*activity*/, Cycle cycles) { at_ += cycles; }

 private:
  Cycle at_ = 0;
};

/// The cycles in which lines enter the first buffers, kernel lines are complete and beats are done (SPEC
/// WF-8): the recurrence of the planner's dry run (with plain clocks) and of the unit in tile granularity
/// (with ledgers).
///
/// A line enters when it is ready, one a cycle, into a place that was freed in an earlier cycle; lines that
/// do not exist only take their places, any number in a cycle before the next line. A region's port reads the
/// next kernel line into a slot whose line was used in an earlier cycle; at the beginning of a kernel tile it
/// reads the records first, one a cycle. A beat is done when its kernel line is complete and, at the
/// beginning of a step, its lines have entered, and at the beginning of a tile a half of the third buffers
/// was drained, all in earlier cycles.
template <class Clock>
class WfoldTiming {
 public:
  /// Begins a run in cycle `now`.
  void begin(const WfoldSchedule& schedule, Cycle now) {
    places_ = schedule.places();
    entered_ = freed_ = 0;
    entered_at_.assign(to_size(places_), now - 1);
    freed_at_.assign(2 * to_size(places_), now - 1);
    used_at_.assign(to_size(schedule.shape().kernel_lines()), now - 1);
    for (Clock* clock : {&beats, &ports, &broadcast}) clock->settle(now);
  }

  /// Lines of the run that have entered or do not exist.
  std::int64_t entered() const { return entered_; }
  /// Whether a place for another line is known to become free.
  bool has_place() const { return entered_ - freed_ < places_; }
  /// The next line is ready in cycle `ready`; returns the cycle in which it enters. `has_place()` holds.
  Cycle enter(Cycle ready) {
    wait(broadcast, Activity::kLineLoad, ready);
    const Cycle at = take_place();
    broadcast.spend(Activity::kBusy, 1);
    return at;
  }
  /// The next line does not exist; its place is marked. `has_place()` holds.
  void pass() { take_place(); }

  /// The ports read `records` records after the results of an earlier tile have left in cycle `drained_at`.
  void read_records(Cycle drained_at, int records) {
    wait(ports, Activity::kOutputDrain, drained_at + 1);
    ports.spend(Activity::kBusy, records);
  }
  /// The ports read a kernel line in `cycles` cycles. Returns the last of them.
  Cycle read_kernel_line(std::size_t slot, Cycle cycles) {
    wait(ports, Activity::kWeightRelease, used_at_[slot] + 1);
    ports.spend(Activity::kBusy, cycles);
    return ports.settled_at() - 1;
  }

  /// Lets the next beat wait until results have left the third buffers in cycle `drained_at`, and the first
  /// `needed` lines of the run have entered.
  void begin_step(Cycle drained_at, std::int64_t needed) {
    wait(beats, Activity::kOutputDrain, drained_at + 1);
    wait(beats, Activity::kInputLoad, nth(entered_at_, (needed - 1) % places_) + 1);
  }
  /// Makes a beat with the kernel line of a slot that is complete in cycle `complete`. Returns its cycle.
  Cycle beat(std::size_t slot, Cycle complete) {
    const Cycle at = beat(complete);
    used_at_[slot] = at;
    return at;
  }
  /// Makes a beat with kernel lines that are complete in cycle `complete` and were latched by this beat or an
  /// earlier one. Returns its cycle.
  Cycle beat(Cycle complete) {
    wait(beats, Activity::kWeightLoad, complete + 1);
    const Cycle at = beats.settled_at();
    beats.spend(Activity::kBusy, 1);
    return at;
  }
  /// The line of a slot was latched in cycle `at`.
  void latch(std::size_t slot, Cycle at) { used_at_[slot] = at; }
  /// The places of the lines of the run in front of `end` are free after cycle `at`.
  void free_lines(std::int64_t end, Cycle at) {
    for (; freed_ < end; ++freed_) freed_at(freed_) = at;
  }

  Clock beats, ports, broadcast;  ///< busy: a beat; an access of a region's port; a line enters

 private:
  // Books the cycles up to `until` on `cause`.
  static void wait(Clock& clock, Activity cause, Cycle until) {
    if (until > clock.settled_at()) clock.spend(cause, until - clock.settled_at());
  }
  // Gives the next line its place; returns the cycle.
  Cycle take_place() {
    if (entered_ >= places_) wait(broadcast, Activity::kInputRelease, freed_at(entered_ - places_) + 1);
    const Cycle at = broadcast.settled_at();
    nth(entered_at_, entered_ % places_) = at;
    ++entered_;
    return at;
  }
  // Lines that a dilated kernel skips are freed before they enter: at most a first buffer full of them.
  Cycle& freed_at(std::int64_t line) { return nth(freed_at_, line % ssize(freed_at_)); }

  int places_ = 0;
  std::int64_t entered_ = 0, freed_ = 0;  // lines of the run
  std::vector<Cycle> entered_at_;         // by place of the first buffer
  std::vector<Cycle> freed_at_;           // by line, of twice as many lines
  std::vector<Cycle> used_at_;            // by slot of the buffer for kernel lines
};

}  // namespace tilebeat::wfold
