#pragma once

#include "engines/wfold/schedule.h"
#include "engines/wfold/timing.h"
#include "observe/statistics.h"

#include <cstdint>

namespace tilebeat::wfold {

/// The cycles of broadcast lines, kernel lines and beats of a run, computed as soon as they are determined.
/// Pure arithmetic; in clock granularity WfoldMaster finds the same cycles one by one.
class WfoldPipeline : public wfold::WfoldTiming<CycleLedger> {
 public:
  using WfoldTiming::WfoldTiming;

  /// Begins a run in cycle `now`. The schedule outlives it.
  void begin(const WfoldSchedule& schedule, Cycle now);
  /// The engine is idle: the cycles from `now` on belong to `cause`.
  void idle(Activity cause, Cycle now);
  /// Call it when all lines of a master in the run have entered.
  void no_more_lines(int master) { rest(nth(broadcast, master)); }
  /// Call it when the ports have read all kernel lines of the run.
  void no_more_kernels() { rest(ports); }

  /// The next step.
  const WfoldWalk& next() const { return walk_; }
  /// Whether the next step's lines have entered.
  bool lines_there() const;
  /// Computes the beats of the next step, or one beat of it when kernels are in the first buffers, whose
  /// kernel lines have been read. The half of the third buffers was drained in cycle `drained_at`, which is
  /// before the run's beginning when the step does not wait for it. Returns the cycle of the last beat.
  Cycle do_step(Cycle drained_at);

 private:
  static void rest(CycleLedger& ledger) { ledger.enter(Activity::kNoWork, ledger.settled_at()); }
  Cycle do_latched_beat(Cycle drained_at);

  Cycle kernels_complete_ = 0;  // of the step, when kernels are in the first buffers
  const WfoldSchedule* schedule_ = nullptr;
  WfoldWalk walk_;
};

}  // namespace tilebeat::wfold
