#include "dry_run.h"

#include "tilebeat/base/math.h"
#include "tilebeat/isa/instruction.h"

#include <algorithm>

namespace tilebeat::wfold {

DryPort::DryPort(const ChipConfig& chip, int outstanding)
    : bus_(chip.core.bus),
      nram_(chip.core.nram),
      taken_(static_cast<std::size_t>(std::min(outstanding, bus_.max_outstanding)), 0),
      bank_used_(static_cast<std::size_t>(nram_.banks), -1) {}

Cycle DryPort::next(Cycle earliest) const {
  Cycle at = std::max({earliest, free_, taken_[oldest_]});
  while (lost_.count(at) != 0) ++at;
  return at;
}

Cycle DryPort::read(Cycle at, std::int64_t offset, std::int64_t bytes) {
  free_ = at + 1;
  const Cycle last = access(at + bus_.request_cycles + 1 + nram_.latency_cycles, offset, bytes);
  lane_free_ = std::max(last + 1 + bus_.response_cycles, lane_free_) +
               ceil_div<std::int64_t>(bytes, bus_.bytes_per_clock);
  taken_[oldest_] = lane_free_;
  oldest_ = (oldest_ + 1) % taken_.size();
  lost_.erase(lost_.begin(), lost_.lower_bound(at));
  return lane_free_;
}

// The clock of the last access; older requests have made theirs.
Cycle DryPort::access(Cycle first, std::int64_t offset, std::int64_t bytes) {
  const int a_clock = std::max(1, bus_.bytes_per_clock / nram_.bank_bytes);
  Cycle now = first;
  int here = 0;
  for (std::int64_t word = offset / nram_.bank_bytes; word * nram_.bank_bytes < offset + bytes; ++word) {
    Cycle& used = bank_used_[static_cast<std::size_t>(word % nram_.banks)];
    if (here == a_clock || used >= now) now = std::max(now, used) + 1, here = 0;
    used = now;
    ++here;
  }
  return now;
}

DryRun::DryRun(const HardwareConfig& hardware, const WfoldRun& run, const WfoldSchedule& schedule,
               DType output)
    : config_(hardware.engine<WfoldConfig>()),
      run_(run),
      s_(schedule),
      element_(dtype_size(output)),
      trip_(hardware.chip->core.bus.request_cycles + hardware.chip->core.bus.response_cycles +
            hardware.chip->core.nram.latency_cycles + 3),
      port_(*hardware.chip, hardware.dma.max_outstanding),
      reader_(schedule, run.read_mode, config_.transit_bytes / 2),
      limit_(run.read_mode == WfoldReadMode::kTransit ? 2 : static_cast<std::size_t>(config_.line_queue)),
      entered_at_(static_cast<std::size_t>(config_.first_buffer_lines), -1),
      freed_at_(2 * static_cast<std::size_t>(config_.first_buffer_lines), -1),
      used_at_(static_cast<std::size_t>(config_.second_buffer_lines), -1),
      drained_at_(2, -1) {}

// The next fetch: in the clock in which the place of an earlier one is free.
void DryRun::fetch() {
  Cycle begin = 0;
  if (left_.size() == limit_) {
    begin = left_.front();
    left_.pop_front();
  }
  window_.fetch = reader_.fetch();
  reader_.advance();
  window_.lines_left = window_.fetch.lines;
  window_.arrived.clear();
  window_.begun = begin = port_.next(begin);
  for (const WfoldRequest& request : window_.fetch.requests) {
    const Cycle at = port_.next(begin);
    window_.arrived.push_back(port_.read(at, request.row * s_.geometry().row_bytes + request.bytes.begin,
                                         request.bytes.end - request.bytes.begin));
  }
}

void DryRun::enter_line(const WfoldTile& tile, const WfoldRefill& refill, int line) {
  if (window_.lines_left == 0) fetch();
  const std::size_t needed = requests_of_line(s_, window_.fetch, tile, refill, line);
  const Cycle ready = needed == 0 ? window_.begun + 1 : window_.arrived[needed - 1];
  const int places = config_.first_buffer_lines;
  Cycle at = std::max(entered_ + 1, ready);
  if (line_ >= places) at = std::max(at, freed_at(line_ - places) + 1);
  entered_ = entered_at_[static_cast<std::size_t>(line_ % places)] = at;
  ++line_;
  if (--window_.lines_left == 0) left_.push_back(at);
}

// The clock in which the kernel line of a beat is complete.
Cycle DryRun::kernel_line(const WfoldBeat& beat, const WfoldTile& tile) {
  const auto slot = static_cast<std::size_t>(s_.second_slot(beat, tile));
  weights_free_ = std::max(weights_free_, used_at_[slot] + 1) +
                  ceil_div(s_.block_bytes(s_.refill(beat.refill).block), config_.weight_port_bytes);
  return weights_free_ - 1;
}

// The beats of a step.
void DryRun::do_step(const WfoldTile& tile, WfoldBeat& beat) {
  const int part = s_.refill(beat.refill).part;
  const WfoldSchedule::LineSpan lines = s_.lines_of_step(part, beat.step);
  const bool last = beat.step + 1 == static_cast<int>(s_.steps(part).size());
  const std::int64_t freed =
      first_line_ + (last ? s_.lines(part) : s_.lines_of_step(part, beat.step + 1).first);
  const Cycle lines_at =
      entered_at_[static_cast<std::size_t>((first_line_ + lines.end - 1) % config_.first_buffer_lines)];
  beat_ = std::max(beat_, lines_at + 1);
  beat.step_number = step_number_++;
  for (beat.kernel = 0; beat.kernel < tile.kernels_per_slave; ++beat.kernel) {
    beat_ = std::max(beat_, kernel_line(beat, tile) + 1);
    if (first_beat_ < 0) first_beat_ = beat_;
    used_at_[static_cast<std::size_t>(s_.second_slot(beat, tile))] = beat_;
    for (; beat.kernel == 0 && freed_ < freed; ++freed_) freed_at(freed_) = beat_;
    ++beat_;
  }
}

void DryRun::tile() {
  const WfoldTile tile = s_.tile(tile_);
  beat_ = std::max(beat_, drained_at_[static_cast<std::size_t>(tile_ % 2)] + 1);
  WfoldBeat beat;
  beat.tile = tile_;
  if (tile_ == 0 && s_.geometry().post_parameters) weights_free_ += tile.kernels_per_slave;
  for (beat.refill = 0; beat.refill < s_.refills(); ++beat.refill) {
    const WfoldRefill refill = s_.refill(beat.refill);
    for (int line = 0; line < s_.lines(refill.part); ++line) enter_line(tile, refill, line);
    for (beat.step = 0; beat.step < static_cast<int>(s_.steps(refill.part).size()); ++beat.step)
      do_step(tile, beat);
    first_line_ += s_.lines(refill.part);
  }
  if (run_.ends_sums) drain(tile);
  ++tile_;
}

// Results leave the third buffers, M bytes of int32 a clock, and are written column by column or line by line
// (SPEC WF-7).
void DryRun::drain(const WfoldTile& tile) {
  const int bytes = tile.kernels * element_;
  const bool gapless =
      bytes <= run_.result_granularity && run_.result_pixel == static_cast<std::uint32_t>(bytes);
  const int columns = gapless ? config_.line_bytes / run_.result_granularity : 1;
  const int requests = gapless ? 1 : ceil_div<int>(bytes, run_.result_granularity);
  const Cycle slices = ceil_div(tile.kernels * 4, config_.line_bytes);
  drain_free_ = std::max(drain_free_, beat_);
  for (int column = 0; column < tile.columns; column += columns) {
    drain_free_ += slices * std::min(columns, tile.columns - column);
    write_ = std::max(write_, drain_free_ + config_.post_latency_cycles - requests);
    for (int i = 0; i < requests; ++i) port_.lose(write_++);
  }
  drained_at_[static_cast<std::size_t>(tile_ % 2)] = drain_free_ - 1;
  stored_ = write_ + trip_;
}

}  // namespace tilebeat::wfold
