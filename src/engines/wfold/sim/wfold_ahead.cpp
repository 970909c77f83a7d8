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
    if (lines_in_back_ == 0) {
      tile_lines_.push_back(std::move(spare_lines_));
      tile_lines_.back().resize(static_cast<std::size_t>(schedule.lines_per_tile() * config_.line_bytes));
    }
    reader.form(line_.data());
    widen_line(line_.data(), config_.line_bytes, setup_,
               tile_lines_.back().data() + lines_in_back_ * config_.line_bytes);
    if (++lines_in_back_ == schedule.lines_per_tile()) lines_in_back_ = 0;
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
  if (!next.more || next.beat.tile != walk.beat.tile) compute_tile(walk);
  end_step(walk, next, last_beat);
  return true;
}

// Steps of the same place in a tile read lines of the same place among the tile's.
void WfoldMaster::find_step_lines() {
  const WfoldSchedule& schedule = job_->schedule;
  step_lines_.clear();
  std::ptrdiff_t first = 0;
  for (int number = 0; number < schedule.refills(); ++number) {
    const int part = schedule.refill(number).part;
    const std::vector<int>& columns = schedule.steps(part);
    for (const int column : columns)
      step_lines_.push_back(first + std::ptrdiff_t{column - columns.front()} * job_->run.granularity);
    first += std::ptrdiff_t{schedule.lines(part)} * config_.line_bytes;
  }
}

// All beats of a tile in every slave, and the reads of the regions that they stand for; `last` is its last
// step.
void WfoldMaster::compute_tile(const WfoldWalk& last) {
  const auto steps = static_cast<int>(step_lines_.size());
  WfoldBeat first = last.beat;
  first.refill = first.step = 0;
  first.step_number -= steps - 1;
  const bool new_kernels = first.step_number == 0;
  SlaveChunk chunk{*job_,
                   first,
                   last.tile,
                   tile_lines_.front().data(),
                   step_lines_.data(),
                   steps,
                   half_of(last.beat.tile),
                   record_set_of(last.tile),
                   config_.weight_port_bytes,
                   new_kernels};
  for (auto& slave : slave_chunks) send_(slave, chunk);
  spare_lines_ = std::move(tile_lines_.front());
  tile_lines_.pop_front();
}

}  // namespace tilebeat
