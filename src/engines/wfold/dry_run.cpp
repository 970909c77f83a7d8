#include "base/types.h"
#include "engines/wfold/choice.h"
#include "isa/instruction.h"

#include <algorithm>

namespace tilebeat::wfold {

DryPorts::DryPorts(const ChipConfig& chip, int outstanding)
    : bus_(chip.core.bus),
      nram_(chip.core.nram),
      taken_(to_size(std::min(outstanding, bus_.max_outstanding)), 0),
      bank_used_(to_size(nram_.banks), -1) {}

// The cycle in which a read sent in cycle `at` is granted; writes that were sent earlier come first.
Cycle DryPorts::grant(Cycle at) {
  Cycle granted = at;
  for (; !writes_.empty() && writes_.front().at < at; writes_.pop_front()) {
    const Write& write = writes_.front();
    granted_ = std::max(write.at, granted_ + 1);
    if (granted_ > at) break;
    if (granted_ == at) granted = at + 1;
    const Cycle beats = ceil_div<std::int64_t>(write.bytes, bus_.bytes_per_clock);
    access(granted_ + beats + bus_.request_cycles, write.offset, write.bytes);
  }
  granted_ = granted;
  return granted;
}

Cycle DryPorts::read(Cycle earliest, std::int64_t offset, std::int64_t bytes) {
  const Cycle granted = grant(std::max({earliest, free_, taken_[oldest_]}));
  free_ = granted + 1;
  const Cycle last = access(granted + bus_.request_cycles, offset, bytes);
  lane_free_ = std::max(last + 1 + bus_.response_cycles, lane_free_) +
               ceil_div<std::int64_t>(bytes, bus_.bytes_per_clock);
  taken_[oldest_] = lane_free_;
  oldest_ = (oldest_ + 1) % taken_.size();
  return lane_free_;
}

// The cycle of a request's last access; older requests have made theirs.
Cycle DryPorts::access(Cycle arrival, std::int64_t offset, std::int64_t bytes) {
  const int a_clock = std::max(1, bus_.bytes_per_clock / nram_.bank_bytes);
  Cycle now = arrival + 1 + nram_.latency_cycles;
  int here = 0;
  for (std::int64_t word = offset / nram_.bank_bytes; word * nram_.bank_bytes < offset + bytes; ++word) {
    Cycle& used = nth(bank_used_, word % nram_.banks);
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
      bus_bytes_(hardware.chip->core.bus.bytes_per_clock),
      trip_(hardware.chip->core.bus.request_cycles + hardware.chip->core.bus.response_cycles +
            hardware.chip->core.nram.latency_cycles + 3),
      ports_(*hardware.chip, hardware.dma.max_outstanding),
      reader_(schedule, run.read_mode, config_.transit_bytes / 2),
      limit_(run.read_mode == WfoldReadMode::kTransit ? 2 : to_size(config_.line_queue)),
      drained_at_(2, -1) {
  timing_.begin(schedule, 0);
}

// Makes the next fetch in the cycle in which the place of an earlier one is free.
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
  reads_ += static_cast<Cycle>(window_.fetch.requests.size());
  for (const WfoldRequest& request : window_.fetch.requests) {
    window_.arrived.push_back(
        ports_.read(begin, run_.map + request.row * s_.geometry().row_bytes + request.bytes.begin,
                    request.bytes.end - request.bytes.begin));
  }
}

void DryRun::enter_line(const WfoldTile& tile, const WfoldRefill& refill, int line) {
  if (!s_.line_exists(tile, refill, line)) {
    timing_.pass();
    return;
  }
  if (window_.lines_left == 0) fetch();
  const std::size_t needed = requests_of_line(s_, window_.fetch, tile, refill, line);
  const Cycle at = timing_.enter(window_.arrived[needed - 1]);
  if (--window_.lines_left == 0) left_.push_back(at);
}

// Makes the beats of a step whose kernels the units latch, line of columns by line of columns.
void DryRun::do_latched_step(const WfoldTile& tile, WfoldBeat& beat, Cycle drained_at) {
  const int part = s_.refill(beat.refill).part;
  std::vector<std::size_t> slots;
  Cycle complete = 0;
  for (beat.kernel = 0; beat.kernel < tile.kernels_per_slave; ++beat.kernel) {
    slots.push_back(to_size(s_.kernel_slot(beat, tile)));
    complete = timing_.read_kernel_line(slots.back(), s_.port_cycles(beat, tile, config_.weight_port_bytes));
  }
  for (int window = 0; window < tile.windows; ++window) {
    const auto [freed, needed] = s_.lines_of_window(part, beat.step, window, window + 1 == tile.windows);
    timing_.begin_step(drained_at, first_line_ + needed);
    const Cycle at = timing_.beat(complete);
    if (first_beat_ < 0) first_beat_ = at;
    for (const std::size_t slot : slots) {
      if (window == 0) timing_.latch(slot, at);
    }
    timing_.free_lines(first_line_ + freed, at);
  }
}

// Makes the beats of a step; the tile's half of the third buffers was drained in cycle `drained_at`.
void DryRun::do_step(const WfoldTile& tile, WfoldBeat& beat, Cycle drained_at) {
  const WfoldRefill refill = s_.refill(beat.refill);
  const bool last = beat.step + 1 == count_of(s_.steps(refill.part));
  const std::int64_t freed =
      first_line_ + (last ? s_.lines(refill.part) : s_.lines_of_step(refill.part, beat.step + 1).first);
  beat.step_number = step_number_++;
  if (s_.shape().kernels_first()) return do_latched_step(tile, beat, drained_at);
  timing_.begin_step(drained_at, first_line_ + s_.lines_of_step(refill.part, beat.step).end);
  for (beat.kernel = 0; beat.kernel < tile.kernels_per_slave; ++beat.kernel) {
    const auto slot = to_size(s_.kernel_slot(beat, tile));
    const Cycle at = timing_.beat(
        slot, timing_.read_kernel_line(slot, s_.port_cycles(beat, tile, config_.weight_port_bytes)));
    if (first_beat_ < 0) first_beat_ = at;
    if (beat.kernel == 0) timing_.free_lines(freed, at);
  }
}

void DryRun::tile() {
  const WfoldTile tile = s_.tile(tile_);
  const Cycle drained = nth(drained_at_, tile_ % 2);
  WfoldBeat beat;
  beat.tile = tile_;
  if (tile.kernel_tile != kernel_tile_) {
    kernel_tile_ = tile.kernel_tile;
    step_number_ = 0;
    if (s_.geometry().post_parameters) timing_.read_records(drained, tile.kernels_per_slave);
  }
  for (beat.refill = 0; beat.refill < s_.refills(); ++beat.refill) {
    const WfoldRefill refill = s_.refill(beat.refill);
    for (int line = 0; line < s_.lines(refill.part); ++line) enter_line(tile, refill, line);
    for (beat.step = 0; beat.step < count_of(s_.steps(refill.part)); ++beat.step)
      do_step(tile, beat, drained);
    first_line_ += s_.lines(refill.part);
  }
  if (run_.ends_sums) drain(tile);
  ++tile_;
}

// Results leave the third buffers, M bytes of int32 a cycle, and are written column by column or line by line
// (SPEC WF-7).
void DryRun::drain(const WfoldTile& tile) {
  const int bytes = tile.kernels * element_;
  const bool gapless =
      bytes <= run_.result_granularity && run_.result_pixel == static_cast<std::uint32_t>(bytes);
  const int fold = gapless ? config_.line_bytes / run_.result_granularity : 1;
  const Cycle slices = ceil_div(tile.kernels * 4, config_.line_bytes);
  const Cycle begin = std::max(drain_free_, beats_end() + config_.adder_stages - 1);
  Cycle writes = 0, beats = 0;
  Cycle out = begin;
  for (int column = 0; column < tile.columns; column += fold) {
    const int columns = std::min(fold, tile.columns - column);
    const std::int64_t pixel = std::int64_t{tile.row} * run_.columns + tile.column + column;
    const int piece = columns * run_.result_granularity;
    for (int from = 0; from < columns * bytes; from += piece, ++writes) {
      const int end = std::min(from + piece, columns * bytes);
      // The cycle in which the last bytes of the request leave.
      const Cycle last = out + ceil_div<Cycle>(columns * slices * end, columns * bytes);
      write_ = std::max(write_ + 1, last + config_.post_latency_cycles);
      ports_.write(write_, run_.result + pixel * run_.result_pixel + from, end - from);
      beats += ceil_div(end - from, bus_bytes_);
    }
    out += columns * slices;
  }
  // While they leave, the next tile is read, with as many requests as this one, or fewer where it has fewer
  // columns. Results that are not written in time wait in the write queue, then in the third buffers.
  const int next = tile_ + 1 < s_.tiles() ? s_.tile(tile_ + 1).columns : 0;
  reads_ = reads_ * std::min(next, tile.columns) / tile.columns;
  waiting_ = std::max<Cycle>(0, waiting_ - (begin - drain_free_));
  waiting_ = std::max<Cycle>(0, waiting_ + std::max(beats, writes + reads_) - (out - begin));
  const Cycle late = std::max<Cycle>(0, waiting_ - config_.write_queue);
  waiting_ -= late;
  reads_ = 0;
  drain_free_ = out + late;
  nth(drained_at_, tile_ % 2) = drain_free_ - 1;
  stored_ = write_ + trip_;
}

}  // namespace tilebeat::wfold
