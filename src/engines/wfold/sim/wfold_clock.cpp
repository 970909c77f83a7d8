// The W-fold master's clocks in clock granularity.
#include "tilebeat/engines/wfold/sim/wfold_master.h"

#include <algorithm>

namespace tilebeat {

// Everything is decided on what the buffers hold at the beginning of the clock.
void WfoldMaster::run_clock(Cycle now) {
  const std::int64_t freed = freed_;
  SlaveClock clock;
  clock.job = job_.get();
  const Activity blocker = beat_blocker(now);
  pipeline_.beats.enter(blocker, now);
  if (blocker == Activity::kBusy) fill_beat(clock);
  read_weights(clock, now);
  enter_line(clock, freed, now);
  if (clock.beat != nullptr || clock.line != nullptr || clock.port_bytes > 0) {
    for (auto& slave : slave_control) send_(slave, clock);
  }
  if (context_.observers.trace != nullptr) trace_clock(clock, now);
  if (blocker == Activity::kBusy) commit_beat(now);
}

void WfoldMaster::trace_clock(const SlaveClock& clock, Cycle now) {
  Trace& trace = *context_.observers.trace;
  const Picoseconds at = context_.clock.at(now);
  trace.change(beat_signal_, at, clock.beat != nullptr ? 1 : 0);
  trace.change(broadcast_signal_, at, clock.line != nullptr ? 1 : 0);
  trace.change(weights_signal_, at, clock.port_bytes > 0 ? 1 : 0);
  if (clock.beat == nullptr) return;
  trace.change(tile_signal_, at, static_cast<std::uint64_t>(clock.beat->tile));
  trace.change(refill_signal_, at, static_cast<std::uint64_t>(clock.beat->refill));
}

// What keeps the next beat from being done in this clock; kBusy when nothing does.
Activity WfoldMaster::beat_blocker(Cycle now) const {
  const WfoldBeat& beat = beat_.beat;
  if (beat_.begins_tile()) {
    const Cycle drained_at = half_drained(beat.tile);
    if (drained_at == kNotYet || drained_at >= now) return Activity::kOutputDrain;
  }
  if (beat.kernel == 0) {
    const std::int64_t last = beat_.lines_needed(job_->schedule) - 1;
    const auto place = static_cast<std::size_t>(last % config_.first_buffer_lines);
    if (last >= entered_ || entered_at_[place] >= now) return Activity::kInputLoad;
  }
  const auto slot = static_cast<std::size_t>(job_->schedule.second_slot(beat, beat_.tile));
  if (!occupied_[slot] || complete_at_[slot] < 0 || complete_at_[slot] >= now) return Activity::kWeightLoad;
  return Activity::kBusy;
}

void WfoldMaster::fill_beat(SlaveClock& clock) const {
  const WfoldBeat& beat = beat_.beat;
  const WfoldSchedule& schedule = job_->schedule;
  const std::vector<int>& columns = schedule.steps(beat_.refill.part);
  const int offset = columns[static_cast<std::size_t>(beat.step)] - columns.front();
  clock.beat = &beat;
  clock.selects = beat.kernel == 0;
  clock.column = static_cast<int>(beat.first_line % config_.first_buffer_lines) * schedule.fold() + offset;
  clock.map_column = beat_.tile.column + columns[static_cast<std::size_t>(beat.step)];
  clock.beat_slot = schedule.second_slot(beat, beat_.tile);
  clock.half = half_of(beat.tile);
  clock.first = beat.refill == 0 && beat.step == 0;
}

void WfoldMaster::enter_line(SlaveClock& clock, std::int64_t freed, Cycle now) {
  if (!reader.more_lines()) {
    pipeline_.broadcast.enter(Activity::kNoWork, now);
    return;
  }
  const Cycle ready = reader.line_ready();
  if (ready < 0 || ready > now) {
    pipeline_.broadcast.enter(Activity::kMemory, now);
    return;
  }
  if (entered_ - freed >= config_.first_buffer_lines) {
    pipeline_.broadcast.enter(Activity::kInputRelease, now);
    return;
  }
  pipeline_.broadcast.enter(Activity::kBusy, now);
  reader.form(line_.data());
  reader.leave(now);
  clock.line = line_.data();
  clock.line_slot = static_cast<int>(entered_ % config_.first_buffer_lines);
  entered_at_[static_cast<std::size_t>(clock.line_slot)] = now;
  ++entered_;
  ++stats.broadcast_lines;
}

void WfoldMaster::read_weights(SlaveClock& clock, Cycle now) {
  if (!weights_.more) {
    pipeline_.ports.enter(Activity::kNoWork, now);
    return;
  }
  const WfoldSchedule& schedule = job_->schedule;
  if (records_left_ > 0) {
    const Cycle drained_at = half_drained(weights_.beat.tile);
    if (drained_at == kNotYet || drained_at >= now) {
      pipeline_.ports.enter(Activity::kOutputDrain, now);
      return;
    }
    pipeline_.ports.enter(Activity::kBusy, now);
    clock.record_set = record_set_of(weights_.tile);
    clock.record = weights_.tile.kernels_per_slave - records_left_;
    clock.port_bytes = kPostParameterBytes;
    clock.port_address =
        job_->run.weights + static_cast<std::uint64_t>(schedule.records_begin(weights_.tile.kernel_tile) +
                                                       clock.record * kPostParameterBytes);
    --records_left_;
    return;
  }
  const auto slot = static_cast<std::size_t>(schedule.second_slot(weights_.beat, weights_.tile));
  if (port_at_ == 0 && occupied_[slot]) {
    pipeline_.ports.enter(Activity::kWeightRelease, now);
    return;
  }
  pipeline_.ports.enter(Activity::kBusy, now);
  const ByteRange bytes = schedule.kernel_line(weights_.beat, weights_.tile);
  const auto left = static_cast<int>(bytes.end - bytes.begin) - port_at_;
  clock.port_bytes = std::min(config_.weight_port_bytes, left);
  clock.port_address = job_->run.weights + static_cast<std::uint64_t>(bytes.begin + port_at_);
  clock.second_slot = static_cast<int>(slot);
  clock.line_offset = port_at_;
  clock.line_complete = clock.port_bytes == left;
  occupied_[slot] = true;
  complete_at_[slot] = -1;
  port_at_ += clock.port_bytes;
  if (!clock.line_complete) return;
  complete_at_[slot] = now;
  port_at_ = 0;
  ++stats.kernel_lines;
  weights_.advance(schedule);
  if (weights_.more && setup_.post_parameters && weights_.begins_kernel_tile())
    records_left_ = weights_.tile.kernels_per_slave;
}

void WfoldMaster::commit_beat(Cycle now) {
  const WfoldSchedule& schedule = job_->schedule;
  const WfoldWalk done = beat_;
  ++stats.beats;
  occupied_[static_cast<std::size_t>(schedule.second_slot(done.beat, done.tile))] = false;
  if (done.beat.kernel == 0) freed_ = done.lines_freed(schedule);
  beat_.advance(schedule);
  if (!beat_.more || beat_.beat.kernel == 0) end_step(done, beat_, now);
}

}  // namespace tilebeat
