// The W-fold master in tile granularity: the clocks of lines, kernel lines and beats as soon as what they
// depend on is known. The rules are those of wfold_clock.cpp, which works them out clock by clock.
#include "tilebeat/base/math.h"
#include "tilebeat/engine/wfold/wfold_master.h"
#include "tilebeat/engine/wfold/wfold_slave.h"

#include <algorithm>

namespace tilebeat {
namespace {

// Books the clocks up to `until` on `cause`.
void wait_until(CycleLedger& ledger, Activity cause, Cycle until) {
  if (until > ledger.settled_at()) ledger.spend(cause, until - ledger.settled_at());
}

}  // namespace

void WfoldMaster::run_ahead() {
  bool moved = true;
  while (moved) {
    moved = place_lines();
    while (place_step()) moved = true;
  }
}

// Lines that have arrived enter the first buffers.
bool WfoldMaster::place_lines() {
  const WfoldSchedule& schedule = job_->schedule;
  bool moved = false;
  while (reader.more_lines()) {
    const Cycle ready = reader.line_ready();
    if (ready < 0 || entered_ - freed_ >= config_.first_buffer_lines) break;
    const auto place = static_cast<std::size_t>(entered_ % config_.first_buffer_lines);
    last_line_ = std::max({ready, last_line_ + 1, freed_at_[place] + 1});
    wait_until(broadcast_ledger, Activity::kMemory, ready);
    wait_until(broadcast_ledger, Activity::kInputRelease, last_line_);
    broadcast_ledger.spend(Activity::kBusy, 1);

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
    reader.leave(last_line_);
    entered_at_[place] = last_line_;
    ++entered_;
    ++stats.broadcast_lines;
    moved = true;
  }
  if (!reader.more_lines()) broadcast_ledger.enter(Activity::kNoWork, last_line_ + 1);
  return moved;
}

// The beats of a step whose lines have entered; false when they have not, or no half of the third buffers is
// known to be free.
bool WfoldMaster::place_step() {
  if (!beat_.more) return false;
  const WfoldSchedule& schedule = job_->schedule;
  const WfoldBeat first = beat_.beat;
  const std::int64_t last = first.first_line + schedule.lines_of_step(beat_.refill.part, first.step).end - 1;
  if (last >= entered_) return false;
  Cycle drained_at = -1;
  if (first.refill == 0 && first.step == 0) {
    drained_at = half_drained(first.tile);
    if (drained_at < -1) return false;
  }
  const Cycle lines_at = entered_at_[static_cast<std::size_t>(last % config_.first_buffer_lines)];
  for (int k = 0; k < beat_.tile.kernels_per_slave; ++k) {
    const Cycle complete = place_kernel_line(drained_at);
    if (k == 0) {
      wait_until(slaves_ledger, Activity::kOutputDrain, drained_at + 1);
      wait_until(slaves_ledger, Activity::kInputLoad, lines_at + 1);
    }
    wait_until(slaves_ledger, Activity::kWeightLoad, complete + 1);
    last_beat_ = slaves_ledger.settled_at();
    slaves_ledger.spend(Activity::kBusy, 1);
    used_at_[static_cast<std::size_t>(schedule.second_slot(beat_.beat, beat_.tile))] = last_beat_;
    ++stats.beats;
    if (k == 0) {
      for (const std::int64_t end = freed_after(beat_); freed_ < end; ++freed_)
        freed_at_[static_cast<std::size_t>(freed_ % config_.first_buffer_lines)] = last_beat_;
    }
    if (k + 1 < beat_.tile.kernels_per_slave) beat_.beat.kernel = k + 1;
  }
  const Walk walk = beat_;
  advance(beat_);
  const bool tile_ends = !beat_.more || beat_.beat.tile != first.tile;
  if (tile_ends || beat_.beat.refill != first.refill) compute_refill(walk);
  if (!beat_.more) weights_ledger.enter(Activity::kNoWork, port_free_);
  if (tile_ends) end_tile(walk, last_beat_);
  return true;
}

// The clock in which the kernel line of the next beat is complete.
Cycle WfoldMaster::place_kernel_line(Cycle drained_at) {
  const WfoldBeat& beat = beat_.beat;
  if (setup_.post_parameters && begins_kernel_tile(beat)) {
    wait_until(weights_ledger, Activity::kOutputDrain, drained_at + 1);
    weights_ledger.spend(Activity::kBusy, beat_.tile.kernels_per_slave);
  }
  const auto slot = static_cast<std::size_t>(job_->schedule.second_slot(beat, beat_.tile));
  wait_until(weights_ledger, Activity::kWeightRelease, used_at_[slot] + 1);
  weights_ledger.spend(Activity::kBusy, port_clocks(job_->schedule.kernel_line(beat, beat_.tile)));
  port_free_ = weights_ledger.settled_at();
  ++stats.kernel_lines;
  return port_free_ - 1;
}

// All beats of a refill in every slave, and the reads of the regions that they stand for.
void WfoldMaster::compute_refill(const Walk& last) {
  ++stats.refills;
  const WfoldSchedule& schedule = job_->schedule;
  const auto steps = static_cast<std::int64_t>(schedule.steps(last.refill.part).size());
  SlaveChunk chunk;
  chunk.job = job_.get();
  chunk.first = last.beat;
  chunk.first.step = chunk.first.kernel = 0;
  chunk.first.step_number -= steps - 1;
  chunk.tile = last.tile;
  chunk.lines = refill_lines_.front().data();
  chunk.half = half_of(last.beat.tile);
  chunk.record_set = record_set_of(last.tile);
  chunk.new_kernels = chunk.first.refill == 0 && begins_kernel_tile(chunk.first);
  chunk.port_bytes = config_.weight_port_bytes;
  for (auto& slave : slave_chunks) send_message(slave, payload_, chunk);
  refill_lines_.pop_front();
}

}  // namespace tilebeat
