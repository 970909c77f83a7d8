#include "base/types.h"
#include "engines/wfold/choice.h"
#include "isa/instruction.h"

#include <algorithm>

namespace tilebeat::wfold {

DryPorts::DryPorts(const ChipConfig& chip, int outstanding, int masters)
    : bus_(chip.core.bus),
      nram_(chip.core.nram),
      reads_(to_size(masters), {std::vector<Cycle>(to_size(std::min(outstanding, bus_.max_outstanding)), 0)}),
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
    access(granted_ + beats + bus_.request_cycles, write.offset, write.bytes, written_);
  }
  granted_ = granted;
  return granted;
}

Cycle DryPorts::read(int master, Cycle earliest, std::int64_t offset, std::int64_t bytes) {
  Reads& reads = nth(reads_, master);
  const Cycle granted = grant(std::max({earliest, free_, reads.taken[reads.oldest]}));
  free_ = granted + 1;
  const Cycle last = access(granted + bus_.request_cycles, offset, bytes, read_);
  reads.lane_free = std::max(last + 1 + bus_.response_cycles, reads.lane_free) +
                    ceil_div<std::int64_t>(bytes, bus_.bytes_per_clock);
  reads.taken[reads.oldest] = reads.lane_free;
  reads.oldest = (reads.oldest + 1) % reads.taken.size();
  return reads.lane_free;
}

void DryPorts::take_banks(Cycle at, Cycle cycles) {
  if (ssize(banks_taken_) < at + cycles) banks_taken_.resize(to_size(at + cycles));
  std::fill_n(banks_taken_.begin() + at, cycles, true);
}

// The cycle of a request's last access; older requests have made theirs. `data` is the data bus of its
// direction.
Cycle DryPorts::access(Cycle arrival, std::int64_t offset, std::int64_t bytes, DataBus& data) {
  const int a_clock = std::max(1, bus_.bytes_per_clock / nram_.bank_bytes);
  const auto next = [&](Cycle at) { data = {at, 0}; };
  if (const Cycle first = arrival + 1 + nram_.latency_cycles; first > data.at) next(first);
  for (std::int64_t word = offset / nram_.bank_bytes; word * nram_.bank_bytes < offset + bytes; ++word) {
    Cycle& used = nth(bank_used_, word % nram_.banks);
    if (data.words == a_clock || used >= data.at) next(std::max(data.at, used) + 1);
    while (data.at < ssize(banks_taken_) && banks_taken_[to_size(data.at)]) next(data.at + 1);
    used = data.at;
    ++data.words;
  }
  return data.at;
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
      ports_(*hardware.chip, hardware.dma.max_outstanding, config_.masters),
      limit_(run.read_mode == WfoldReadMode::kTransit ? 2 : to_size(config_.line_queue)),
      timing_(config_.masters, config_.weight_port_bytes),
      drained_at_(2, -1) {
  for (int master = 0; master < config_.masters; ++master)
    masters_.push_back(
        {WfoldReader(schedule, run.read_mode, config_.transit_bytes / 2, master), {}, {}, 0, {}});
  timing_.begin(schedule, 0);
}

// Makes a master's next fetch in the cycle in which the place of an earlier one is free.
void DryRun::fetch(int number) {
  Master& master = nth(masters_, number);
  Cycle begin = 0;
  if (master.left.size() == limit_) {
    begin = master.left.front();
    master.left.pop_front();
  }
  master.fetch = master.reader.fetch();
  master.reader.advance();
  master.lines_left = master.fetch.lines;
  master.arrived.clear();
  reads_ += static_cast<Cycle>(master.fetch.requests.size());
  for (const WfoldRequest& request : master.fetch.requests) {
    master.arrived.push_back(
        ports_.read(number, begin, run_.map + request.row * s_.geometry().row_bytes + request.bytes.begin,
                    request.bytes.end - request.bytes.begin));
  }
}

void DryRun::enter_line(int number, const WfoldTile& tile, const WfoldRefill& refill, int line) {
  if (!s_.line_exists(tile, refill, line, number)) {
    timing_.pass(number);
    return;
  }
  Master& master = nth(masters_, number);
  if (master.lines_left == 0) fetch(number);
  const std::size_t needed = requests_of_line(s_, master.fetch, tile, refill, line, number);
  const Cycle at = timing_.enter(number, master.arrived[needed - 1]);
  if (--master.lines_left == 0) master.left.push_back(at);
}

// The masters send the refill's lines in front of line `end`.
void DryRun::enter_lines(const WfoldTile& tile, const WfoldRefill& refill, int end) {
  for (; line_ < end; ++line_) {
    for (int master = 0; master < config_.masters; ++master) enter_line(master, tile, refill, line_);
  }
}

// Lets the regions' ports read on; a tile behind the next one waits for results that are not drained yet.
void DryRun::read_kernels() {
  timing_.read_kernels(
      [this](std::int64_t tile) -> std::optional<Cycle> {
        return tile > tile_ + 1 ? std::nullopt : std::optional(nth(drained_at_, tile % 2));
      },
      [this](const PortAccess& access) {
        if (config_.storage == StoragePlace::kShared) ports_.take_banks(access.at, access.cycles);
      });
}

// Makes the beats of a step whose kernels the units latch, line of columns by line of columns.
void DryRun::do_latched_step(const WfoldTile& tile, WfoldBeat& beat, Cycle drained_at) {
  const WfoldRefill refill = s_.refill(beat.refill);
  beat.kernel = tile.kernels_per_slave - 1;
  const Cycle complete = timing_.complete_at(beat, tile);
  for (int window = 0; window < tile.windows; ++window) {
    const auto [freed, needed] =
        s_.lines_of_window(refill.part, beat.step, window, window + 1 == tile.windows);
    enter_lines(tile, refill, needed);
    timing_.begin_step(drained_at, first_line_ + needed);
    const Cycle at = timing_.beat_after(complete);
    if (first_beat_ < 0) first_beat_ = at;
    for (beat.kernel = 0; window == 0 && beat.kernel < tile.kernels_per_slave; ++beat.kernel)
      timing_.latch(beat, tile, at);
    if (window == 0) read_kernels();
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
  read_kernels();
  if (s_.shape().kernels_first()) return do_latched_step(tile, beat, drained_at);
  const int needed = s_.lines_of_step(refill.part, beat.step).end;
  enter_lines(tile, refill, needed);
  timing_.begin_step(drained_at, first_line_ + needed);
  for (beat.kernel = 0; beat.kernel < tile.kernels_per_slave; ++beat.kernel) {
    const Cycle at = timing_.beat(beat, tile);
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
  }
  for (beat.refill = 0; beat.refill < s_.refills(); ++beat.refill) {
    const WfoldRefill refill = s_.refill(beat.refill);
    line_ = 0;
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
