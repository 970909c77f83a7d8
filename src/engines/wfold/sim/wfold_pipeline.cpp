#include "tilebeat/engines/wfold/sim/wfold_pipeline.h"

#include "tilebeat/base/math.h"

#include <algorithm>

namespace tilebeat {
namespace {

// Books the cycles up to `until` on `cause`.
void wait_until(CycleLedger& ledger, Activity cause, Cycle until) {
  if (until > ledger.settled_at()) ledger.spend(cause, until - ledger.settled_at());
}

}  // namespace

void WfoldWalk::begin(const WfoldSchedule& schedule) {
  beat = {};
  tile = schedule.tile(0);
  refill = schedule.refill(0);
  more = true;
}

void WfoldWalk::advance(const WfoldSchedule& schedule) {
  const std::int64_t old_tile = beat.tile;
  const int old_refill = beat.refill;
  more = schedule.advance(beat, tile);
  if (!more) return;
  if (beat.tile != old_tile) tile = schedule.tile(beat.tile);
  if (beat.tile != old_tile || beat.refill != old_refill) refill = schedule.refill(beat.refill);
}

std::int64_t WfoldWalk::lines_needed(const WfoldSchedule& schedule) const {
  return beat.first_line + schedule.lines_of_step(refill.part, beat.step).end;
}

std::int64_t WfoldWalk::lines_freed(const WfoldSchedule& schedule) const {
  const int next = beat.step + 1;
  const bool last = next == static_cast<int>(schedule.steps(refill.part).size());
  return beat.first_line +
         (last ? schedule.lines(refill.part) : schedule.lines_of_step(refill.part, next).first);
}

void WfoldPipeline::begin(const WfoldSchedule& schedule, Cycle now) {
  schedule_ = &schedule;
  walk_.begin(schedule);
  entered_ = freed_ = 0;
  const auto places = static_cast<std::size_t>(schedule.shape().first_lines);
  entered_at_.assign(places, now - 1);
  freed_at_.assign(2 * places, now - 1);
  used_at_.assign(static_cast<std::size_t>(schedule.shape().second_lines), now - 1);
  for (CycleLedger* ledger : {&beats, &ports, &broadcast}) ledger->settle(now);
}

void WfoldPipeline::idle(Activity cause, Cycle now) {
  for (CycleLedger* ledger : {&beats, &ports, &broadcast}) ledger->enter(cause, now);
}

Cycle WfoldPipeline::enter(Cycle ready) {
  const int places = schedule_->shape().first_lines;
  const auto place = static_cast<std::size_t>(entered_ % places);
  wait_until(broadcast, Activity::kLineLoad, ready);
  if (entered_ >= places) wait_until(broadcast, Activity::kInputRelease, freed_at(entered_ - places) + 1);
  entered_at_[place] = broadcast.settled_at();
  broadcast.spend(Activity::kBusy, 1);
  ++entered_;
  return entered_at_[place];
}

void WfoldPipeline::no_more_lines() {
  broadcast.enter(Activity::kNoWork, broadcast.settled_at());
}

// Lines that a dilated kernel steps over are free before they enter: at most a first buffer full of them.
Cycle& WfoldPipeline::freed_at(std::int64_t line) {
  return freed_at_[static_cast<std::size_t>(line % static_cast<std::int64_t>(freed_at_.size()))];
}

Cycle WfoldPipeline::do_step(Cycle drained_at) {
  const auto last =
      static_cast<std::size_t>((walk_.lines_needed(*schedule_) - 1) % schedule_->shape().first_lines);
  const Cycle lines_at = entered_at_[last];
  const std::int64_t freed = walk_.lines_freed(*schedule_);
  const int kernels = walk_.tile.kernels_per_slave;
  for (int k = 0; k < kernels; ++k) {
    const Cycle complete = fetch_kernel_line(drained_at);
    if (k == 0) {
      wait_until(beats, Activity::kOutputDrain, drained_at + 1);
      wait_until(beats, Activity::kInputLoad, lines_at + 1);
    }
    wait_until(beats, Activity::kWeightLoad, complete + 1);
    const Cycle at = beats.settled_at();
    beats.spend(Activity::kBusy, 1);
    used_at_[static_cast<std::size_t>(schedule_->second_slot(walk_.beat, walk_.tile))] = at;
    for (; k == 0 && freed_ < freed; ++freed_) freed_at(freed_) = at;
    walk_.advance(*schedule_);
  }
  if (!walk_.more) ports.enter(Activity::kNoWork, ports.settled_at());
  return beats.settled_at() - 1;
}

// The cycle in which the kernel line of the next beat is complete.
Cycle WfoldPipeline::fetch_kernel_line(Cycle drained_at) {
  if (schedule_->geometry().post_parameters && walk_.begins_kernel_tile()) {
    wait_until(ports, Activity::kOutputDrain, drained_at + 1);
    ports.spend(Activity::kBusy, walk_.tile.kernels_per_slave);
  }
  const auto slot = static_cast<std::size_t>(schedule_->second_slot(walk_.beat, walk_.tile));
  wait_until(ports, Activity::kWeightRelease, used_at_[slot] + 1);
  const ByteRange bytes = schedule_->kernel_line(walk_.beat, walk_.tile);
  ports.spend(Activity::kBusy, ceil_div<std::int64_t>(bytes.end - bytes.begin, port_bytes_));
  return ports.settled_at() - 1;
}

}  // namespace tilebeat
