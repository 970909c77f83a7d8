#pragma once

#include "engines/wfold/schedule.h"
#include "engines/wfold/timing.h"
#include "observe/statistics.h"

#include <cstdint>

namespace tilebeat::wfold {

/// A walk over the beats of a run, with the tile and refill that it is at.
struct WfoldWalk {
  WfoldBeat beat;
  WfoldTile tile;
  WfoldRefill refill;
  bool more = true;

  void begin(const WfoldSchedule& schedule);
  /// Goes to the next beat, or to the next kernel line.
  void advance(const WfoldSchedule& schedule) { move(schedule, &WfoldSchedule::advance); }
  void advance_kernel_line(const WfoldSchedule& schedule) {
    move(schedule, &WfoldSchedule::advance_kernel_line);
  }
  bool begins_step() const { return beat.kernel == 0 && beat.window == 0; }
  bool begins_tile() const { return beat.refill == 0 && beat.step == 0 && begins_step(); }
  bool begins_kernel_tile() const { return beat.step_number == 0 && begins_step(); }
  /// Lines of the run that have to be in the slaves' buffers for the step, or for the beat when kernels are
  /// in the first buffers.
  std::int64_t lines_needed(const WfoldSchedule& schedule) const;
  /// Lines of the run whose places are free after the first beat of the step, or after the beat.
  std::int64_t lines_freed(const WfoldSchedule& schedule) const;

 private:
  using Advance = bool (WfoldSchedule::*)(WfoldBeat&, const WfoldTile&) const;
  void move(const WfoldSchedule& schedule, Advance to_next);
  bool last_window() const { return beat.window + 1 == tile.windows; }
};

/// The cycles of broadcast lines, kernel lines and beats of a run, computed as soon as they are determined.
/// Pure arithmetic; in clock granularity WfoldMaster finds the same cycles one by one.
class WfoldPipeline : public wfold::WfoldTiming<CycleLedger> {
 public:
  /// A region's port delivers `port_bytes` a cycle.
  explicit WfoldPipeline(int port_bytes) : port_bytes_(port_bytes) {}

  /// Begins a run in cycle `now`. The schedule outlives it.
  void begin(const WfoldSchedule& schedule, Cycle now);
  /// The engine is idle: the cycles from `now` on belong to `cause`.
  void idle(Activity cause, Cycle now);
  /// Call it when all lines of the run have entered.
  void no_more_lines() { broadcast.enter(Activity::kNoWork, broadcast.settled_at()); }

  /// The next step.
  const WfoldWalk& next() const { return walk_; }
  /// Whether the next step's lines have entered.
  bool lines_there() const { return walk_.more && walk_.lines_needed(*schedule_) <= entered(); }
  /// Computes the beats of the next step, or one beat of it when kernels are in the first buffers. The half
  /// of the third buffers was drained in cycle `drained_at`, which is before the run's beginning when the
  /// step does not wait for it. Returns the cycle of the last beat.
  Cycle do_step(Cycle drained_at);

 private:
  Cycle read_step_kernels(Cycle drained_at);
  Cycle do_latched_beat(Cycle drained_at);

  int port_bytes_;
  Cycle kernels_complete_ = 0;  // of the step, when kernels are in the first buffers
  const WfoldSchedule* schedule_ = nullptr;
  WfoldWalk walk_;
};

}  // namespace tilebeat::wfold
