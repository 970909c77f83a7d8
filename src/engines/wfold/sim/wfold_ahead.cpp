// The W-fold master in tile granularity: everything that is known is worked out at once.
#include "tilebeat/engines/wfold/sim/wfold_master.h"
#include "tilebeat/engines/wfold/sim/wfold_slave.h"

#include <algorithm>

namespace tilebeat {

void WfoldMaster::run_ahead() {
  bool moved = true;
  while (moved) {
    moved = enter_lines();
    while (do_step()) moved = true;
  }
}

// Lines that have arrived enter the first buffers.
bool WfoldMaster::enter_lines() {
  const WfoldSchedule& schedule = job_->schedule;
  bool moved = false;
  while (reader.more_lines()) {
    const Cycle ready = reader.line_ready();
    if (ready < 0 || !pipeline_.has_place()) return moved;
    const int part = schedule.refill(static_cast<int>(line_refill_ % schedule.refills())).part;
    if (lines_in_back_ == 0)
      refill_lines_.emplace_back(static_cast<std::size_t>(schedule.lines(part) * config_.line_bytes));
    reader.form(line_.data());
    widen_line(
        line_.data(), config_.line_bytes, setup_,
        refill_lines_.back().data() + static_cast<std::ptrdiff_t>(lines_in_back_) * config_.line_bytes);
    if (++lines_in_back_ == schedule.lines(part)) {
      lines_in_back_ = 0;
      ++line_refill_;
    }
    reader.leave(pipeline_.enter(ready));
    ++stats.broadcast_lines;
    moved = true;
  }
  pipeline_.no_more_lines();
  return moved;
}

// The beats of a step; false when its lines are not there, or no half of the third buffers is known to be
// free.
bool WfoldMaster::do_step() {
  if (!pipeline_.lines_there()) return false;
  const WfoldWalk walk = pipeline_.next();
  Cycle drained_at = kAlwaysFree;
  if (walk.begins_tile()) {
    drained_at = half_drained(walk.beat.tile);
    if (drained_at == kNotYet) return false;
  }
  const Cycle last_beat = pipeline_.do_step(drained_at);
  stats.beats += walk.tile.kernels_per_slave;
  stats.kernel_lines += walk.tile.kernels_per_slave;
  const WfoldWalk& next = pipeline_.next();
  if (!next.more || next.beat.tile != walk.beat.tile || next.beat.refill != walk.beat.refill)
    compute_refill(walk);
  end_step(walk, next, last_beat);
  return true;
}

// All beats of a refill in every slave, and the reads of the regions that they stand for; `last` is its last
// step.
void WfoldMaster::compute_refill(const WfoldWalk& last) {
  WfoldBeat first = last.beat;
  first.step_number -= last.beat.step;
  first.step = 0;
  const bool new_kernels = first.refill == 0 && first.step_number == 0;
  SlaveChunk chunk{*job_,
                   first,
                   last.tile,
                   refill_lines_.front().data(),
                   half_of(last.beat.tile),
                   record_set_of(last.tile),
                   config_.weight_port_bytes,
                   new_kernels};
  for (auto& slave : slave_chunks) send_(slave, chunk);
  refill_lines_.pop_front();
}

}  // namespace tilebeat
