#pragma once

#include "engines/wfold/schedule.h"
#include "observe/statistics.h"

#include <cstdint>
#include <vector>

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
/// is known (SPEC WF-8). Pure arithmetic; WfoldMaster works the same out cycle by cycle.
///
/// A line enters the first buffers when it is ready, one a cycle, into a place that was freed in an earlier
/// cycle. A region's port delivers `port_bytes` a cycle of the next kernel line into a slot whose line was
/// used in an earlier cycle; at the beginning of a kernel tile it reads the records first, one a cycle. A
/// beat is done when its kernel line is complete and, at the beginning of a step, its lines have entered, and
/// at the beginning of a tile a half of the third buffers was drained, all in earlier cycles.
class WfoldPipeline {
 public:
  explicit WfoldPipeline(int port_bytes) : port_bytes_(port_bytes) {}

  /// A run begins in cycle `now`. The schedule outlives it.
  void begin(const WfoldSchedule& schedule, Cycle now);
  /// Nothing is to be done: the cycles from `now` on belong to `cause`.
  void idle(Activity cause, Cycle now);

  /// A place for another line is known to become free.
  bool has_place() const { return entered_ - freed_ < schedule_->shape().first_lines; }
  /// The next line is ready in cycle `ready`; returns the cycle in which it enters. `has_place()` holds.
  Cycle enter(Cycle ready);
  /// All lines of the run have entered.
  void no_more_lines();

  /// The step that is done next.
  const WfoldWalk& next() const { return walk_; }
  /// Its lines have entered.
  bool lines_there() const { return walk_.more && walk_.lines_needed(*schedule_) <= entered_; }
  /// Its beats; `drained_at` is the cycle in which the half of the third buffers was drained, or less than
  /// `now` of the run's beginning when it does not wait for that. Returns the cycle of the last beat.
  Cycle do_step(Cycle drained_at);

  // Busy: a beat; an access of a region's port; a line enters.
  CycleLedger beats, ports, broadcast;

 private:
  Cycle fetch_kernel_line(Cycle drained_at);
  Cycle& freed_at(std::int64_t line);

  int port_bytes_;
  const WfoldSchedule* schedule_ = nullptr;
  WfoldWalk walk_;
  std::int64_t entered_ = 0, freed_ = 0;  // lines of the run
  std::vector<Cycle> entered_at_;         // by place of the first buffer
  std::vector<Cycle> freed_at_;           // by line, of twice as many lines
  std::vector<Cycle> used_at_;            // by slot of the second buffer
};

}  // namespace tilebeat
