#pragma once

#include "engines/wfold/schedule.h"
#include "engines/wfold/timing.h"
#include "observe/statistics.h"

#include <cstdint>

namespace tilebeat {

/// A walk over the beats of a run, with the tile and refill that it is at.
struct WfoldWalk {
  WfoldBeat beat;
  WfoldTile tile;
  WfoldRefill refill;
  bool more = true;

  void begin(const WfoldSchedule& schedule);
  void advance(const WfoldSchedule& schedule);
  bool begins_tile() const { return beat.refill == 0 && beat.step == 0 && beat.kernel == 0; }
  bool begins_kernel_tile() const { return beat.step_number == 0 && beat.kernel == 0; }
  /// Lines of the run that have to be in the first buffers for the step.
  std::int64_t lines_needed(const WfoldSchedule& schedule) const;
  /// Lines of the run whose places are free after the first beat of the step.
  std::int64_t lines_freed(const WfoldSchedule& schedule) const;
};

/// The cycles of broadcast lines, kernel lines and beats of a run, worked out as soon as what they depend on
/// is known. Pure arithmetic; WfoldMaster works the same out cycle by cycle.
class WfoldPipeline : public wfold::WfoldTiming<CycleLedger> {
 public:
  /// A region's port delivers `port_bytes` a cycle.
  explicit WfoldPipeline(int port_bytes) : port_bytes_(port_bytes) {}

  /// A run begins in cycle `now`. The schedule outlives it.
  void begin(const WfoldSchedule& schedule, Cycle now);
  /// Nothing is to be done: the cycles from `now` on belong to `cause`.
  void idle(Activity cause, Cycle now);
  /// All lines of the run have entered.
  void no_more_lines() { broadcast.enter(Activity::kNoWork, broadcast.settled_at()); }

  /// The step that is done next.
  const WfoldWalk& next() const { return walk_; }
  /// Its lines have entered.
  bool lines_there() const { return walk_.more && walk_.lines_needed(*schedule_) <= entered(); }
  /// Its beats; `drained_at` is the cycle in which the half of the third buffers was drained, or less than
  /// `now` of the run's beginning when it does not wait for that. Returns the cycle of the last beat.
  Cycle do_step(Cycle drained_at);

 private:
  int port_bytes_;
  const WfoldSchedule* schedule_ = nullptr;
  WfoldWalk walk_;
};

}  // namespace tilebeat
