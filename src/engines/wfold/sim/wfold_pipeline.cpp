// The W-fold master in tile granularity: computes all cycles that are determined at once.
#include "engines/wfold/sim/wfold_pipeline.h"

#include "base/types.h"
#include "engines/wfold/sim/wfold_engine.h"
#include "engines/wfold/sim/wfold_master.h"

#include <algorithm>

namespace tilebeat::wfold {
void WfoldWalk::begin(const WfoldSchedule& schedule) {
  beat = {};
  tile = schedule.tile(0);
  refill = schedule.refill(0);
  more = true;
}

void WfoldWalk::move(const WfoldSchedule& schedule, Advance to_next) {
  const std::int64_t old_tile = beat.tile;
  const int old_refill = beat.refill;
  more = (schedule.*to_next)(beat, tile);
  if (!more) return;
  if (beat.tile != old_tile) tile = schedule.tile(beat.tile);
  if (beat.tile != old_tile || beat.refill != old_refill) refill = schedule.refill(beat.refill);
}

std::int64_t WfoldWalk::lines_needed(const WfoldSchedule& schedule) const {
  if (schedule.shape().kernels_first())
    return beat.first_line + schedule.lines_of_window(refill.part, beat.step, beat.window, last_window()).end;
  return beat.first_line + schedule.lines_of_step(refill.part, beat.step).end;
}

std::int64_t WfoldWalk::lines_freed(const WfoldSchedule& schedule) const {
  if (schedule.shape().kernels_first())
    return beat.first_line +
           schedule.lines_of_window(refill.part, beat.step, beat.window, last_window()).first;
  const int next = beat.step + 1;
  const bool last = next == count_of(schedule.steps(refill.part));
  return beat.first_line +
         (last ? schedule.lines(refill.part) : schedule.lines_of_step(refill.part, next).first);
}

void WfoldPipeline::begin(const WfoldSchedule& schedule, Cycle now) {
  schedule_ = &schedule;
  walk_.begin(schedule);
  WfoldTiming::begin(schedule, now);
}

void WfoldPipeline::idle(Activity cause, Cycle now) {
  for (CycleLedger* ledger : {&beats, &ports, &broadcast}) ledger->enter(cause, now);
}

// Reads the kernel lines of the next step; returns the cycle in which the last one is complete.
Cycle WfoldPipeline::read_step_kernels(Cycle drained_at) {
  WfoldBeat line = walk_.beat;
  Cycle complete = 0;
  for (line.kernel = 0; line.kernel < walk_.tile.kernels_per_slave; ++line.kernel) {
    if (schedule_->geometry().post_parameters && line.step_number == 0 && line.kernel == 0)
      read_records(drained_at, walk_.tile.kernels_per_slave);
    complete = read_kernel_line(to_size(schedule_->kernel_slot(line, walk_.tile)),
                                schedule_->port_cycles(line, walk_.tile, port_bytes_));
  }
  return complete;
}

// Makes a beat of one line of columns with the kernels that the units latch in the first beat of the step.
Cycle WfoldPipeline::do_latched_beat(Cycle drained_at) {
  const bool latches = walk_.begins_step();
  if (latches) kernels_complete_ = read_step_kernels(drained_at);
  begin_step(drained_at, walk_.lines_needed(*schedule_));
  const Cycle at = beat(kernels_complete_);
  WfoldBeat line = walk_.beat;
  for (line.kernel = 0; latches && line.kernel < walk_.tile.kernels_per_slave; ++line.kernel)
    latch(to_size(schedule_->kernel_slot(line, walk_.tile)), at);
  free_lines(walk_.lines_freed(*schedule_), at);
  walk_.advance(*schedule_);
  if (!walk_.more) ports.enter(Activity::kNoWork, ports.settled_at());
  return at;
}

Cycle WfoldPipeline::do_step(Cycle drained_at) {
  if (schedule_->shape().kernels_first()) return do_latched_beat(drained_at);
  const std::int64_t needed = walk_.lines_needed(*schedule_), freed = walk_.lines_freed(*schedule_);
  const int kernels = walk_.tile.kernels_per_slave;
  for (int k = 0; k < kernels; ++k) {
    if (schedule_->geometry().post_parameters && walk_.begins_kernel_tile())
      read_records(drained_at, kernels);
    const auto slot = to_size(schedule_->kernel_slot(walk_.beat, walk_.tile));
    const Cycle complete =
        read_kernel_line(slot, schedule_->port_cycles(walk_.beat, walk_.tile, port_bytes_));
    if (k == 0) begin_step(drained_at, needed);
    const Cycle at = beat(slot, complete);
    if (k == 0) free_lines(freed, at);
    walk_.advance(*schedule_);
  }
  if (!walk_.more) ports.enter(Activity::kNoWork, ports.settled_at());
  return beats.settled_at() - 1;
}

void WfoldMaster::run_ahead() {
  bool moved = true;
  while (moved) {
    moved = enter_lines();
    while (do_step()) moved = true;
  }
}

// Enters lines that have arrived into the first buffers.
bool WfoldMaster::enter_lines() {
  const WfoldSchedule& schedule = job_->schedule;
  bool moved = false;
  while (reader.more_lines()) {
    const bool absent = reader.next_is_absent();
    const Cycle ready = absent ? 0 : reader.line_ready();
    if (ready < 0 || !pipeline_.has_place()) return moved;
    if (lines_in_back_ == 0) {
      tile_lines_.push_back(std::move(spare_lines_));
      tile_lines_.back().resize(to_size(schedule.lines_per_tile() * config_.line_bytes));
    }
    std::int16_t* const widened =
        tile_lines_.back().data() +
        (first_line_of(to_int(lines_in_back_ % schedule.groups())) + lines_in_back_ / schedule.groups()) *
            config_.line_bytes;
    if (++lines_in_back_ == schedule.lines_per_tile()) lines_in_back_ = 0;
    moved = true;
    if (absent) {
      std::fill_n(widened, config_.line_bytes, std::int16_t{0});
      pipeline_.pass();
      reader.pass();
      continue;
    }
    reader.form(line_.data());
    widen_line(line_.data(), config_.line_bytes, setup_, widened);
    reader.leave(pipeline_.enter(ready));
    ++stats.broadcast_lines;
  }
  pipeline_.no_more_lines();
  return moved;
}

// Computes the beats of a step; false when its lines are not there, or no half of the third buffers is known
// to be free.
bool WfoldMaster::do_step() {
  if (!pipeline_.lines_there()) return false;
  const WfoldWalk walk = pipeline_.next();
  Cycle drained_at = kAlwaysFree;
  if (walk.begins_tile()) {
    drained_at = half_drained(walk.beat.tile);
    if (drained_at == kNotYet) return false;
  }
  const Cycle last_beat = pipeline_.do_step(drained_at);
  stats.beats += job_->schedule.shape().kernels_first() ? 1 : walk.tile.kernels_per_slave;
  if (walk.begins_step()) stats.kernel_lines += walk.tile.kernels_per_slave;
  const WfoldWalk& next = pipeline_.next();
  if (!next.more || next.beat.tile != walk.beat.tile) compute_tile(walk);
  end_step(walk, next, last_beat);
  return true;
}

// The first line of a group of slaves among the lines of a tile, which are kept group by group.
std::int64_t WfoldMaster::first_line_of(int group) const {
  return group * (job_->schedule.lines_per_tile() / job_->schedule.groups());
}

// Equal steps of all tiles read lines at equal positions of the tile.
void WfoldMaster::find_step_lines() {
  const WfoldSchedule& schedule = job_->schedule;
  step_lines_.clear();
  std::ptrdiff_t first = 0;
  for (int number = 0; number < schedule.refills(); ++number) {
    const int part = schedule.refill(number).part;
    const std::vector<int>& columns = schedule.steps(part);
    for (const int column : columns)
      step_lines_.push_back(first + std::ptrdiff_t{column - columns.front()} * job_->run.granularity);
    first += std::ptrdiff_t{schedule.lines_of_group(part)} * config_.line_bytes;
  }
}

// Computes all beats of a tile in every slave and counts their reads of the regions; `last` is its last step.
void WfoldMaster::compute_tile(const WfoldWalk& last) {
  const auto steps = count_of(step_lines_);
  WfoldBeat first = last.beat;
  first.refill = first.step = first.window = 0;
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
                   new_kernels,
                   port_from_,
                   pipeline_.ports.settled_at()};
  for (int slave = 0; slave < config_.slaves; ++slave) {
    chunk.lines =
        tile_lines_.front().data() + first_line_of(job_->schedule.group_of_slave(slave)) * config_.line_bytes;
    nth(slave_chunks, slave).send(chunk);
  }
  port_from_ = chunk.port_until;
  spare_lines_ = std::move(tile_lines_.front());
  tile_lines_.pop_front();
}

}  // namespace tilebeat::wfold
