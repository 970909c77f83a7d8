#include "tilebeat/engines/rolling/sim/result_buffer.h"

#include "tilebeat/base/math.h"
#include "tilebeat/units/post_processing.h"

#include <algorithm>
#include <cstring>

namespace tilebeat::rolling {
namespace {

constexpr int kSumBytes = 4;
constexpr std::uint64_t kBurstBoundary = 4096;  // that no burst crosses

}  // namespace

ResultBuffer::ResultBuffer(const char* name, const SimContext& context, const RollingConfig& config,
                           int max_outstanding, Granularity granularity, sc_core::sc_event& changed)
    : port(name, context, max_outstanding, changed),
      config_(config),
      granularity_(granularity),
      left_{-1, -1} {}

std::optional<Cycle> ResultBuffer::left(std::int64_t number) const {
  return left_[static_cast<std::size_t>(number % 2)];
}

void ResultBuffer::begin(std::int64_t number, const OutputBlock& block) {
  Half& half = halves_[static_cast<std::size_t>(number % 2)];
  const int side = std::max({block.rows.size, block.columns.size, block.parts * block.lines});
  half.stride = static_cast<std::size_t>(side);
  half.sums.assign(half.stride * half.stride, 0);
  left_[static_cast<std::size_t>(number % 2)].reset();
}

void ResultBuffer::complete(std::int64_t number, const Round& round, std::vector<PostParameter> records,
                            Cycle at) {
  Drain drain;
  drain.number = number;
  drain.job = round.job, drain.block = round.block;
  drain.records = std::move(records);
  drain.complete = at;
  if (round.job->setup.realignment == Realignment::kRolling)
    drain.clocks = round.job->schedule.realignment(round.block);
  drains_.push_back(std::move(drain));
}

void ResultBuffer::take(Cycle now) {
  while (port.front_ready(now)) {
    port.recycle(port.take_front());
    if (under_way_.front() != nullptr) --under_way_.front()->unwritten;
    under_way_.pop_front();
  }
}

// In clock granularity lines move clock by clock; what is read in tile granularity lies in its place anyway.
void ResultBuffer::realign(Drain& drain, Cycle now) {
  if (granularity_ == Granularity::kTile) return;
  const Cycle begun = *drain.realigned_to - drain.clocks;
  for (; drain.shifted < drain.clocks && begun + drain.shifted < now; ++drain.shifted) {
    for (const RollingSchedule::Shift& shift : drain.job->schedule.shifts(drain.block, drain.shifted)) {
      std::int32_t* first = &sum(drain.number, {shift.line, shift.indices.begin});
      std::int32_t* end = first + shift.indices.size;
      std::rotate(first, shift.right ? end - 1 : first + 1, end);
    }
  }
}

void ResultBuffer::drain(Cycle now, Activity idle) {
  if (!drains_.empty() && drains_.front().realigned_to) realign(drains_.front(), now);
  while (now >= free_at_) {
    if (drains_.empty() || drains_.front().complete >= now) {
      ledger.enter(drains_.empty() ? idle : Activity::kOutputReady, now);
      return;
    }
    Drain& front = drains_.front();
    if (!front.realigned_to) {
      front.realigned_to = free_at_ = now + front.clocks;
      stats.realign_clocks += front.clocks;
      if (front.clocks > 0) ledger.enter(Activity::kBusy, now);
      continue;
    }
    if (static_cast<int>(staged_.size()) >= config_.write_queue) {
      ledger.enter(blocker(now, idle), now);
      return;
    }
    ledger.enter(Activity::kBusy, now);
    stage_row(front, now);
    if (front.next_row < front.block.rows.size) continue;
    left_[static_cast<std::size_t>(front.number % 2)] = free_at_ - 1;
    drains_.pop_front();
  }
}

// A row of the output block leaves the buffer.
void ResultBuffer::stage_row(Drain& drain, Cycle now) {
  const ConvSetup& conv = drain.job->conv;
  const RollingRun& run = drain.job->run;
  const int element = dtype_size(conv.output_type), columns = drain.block.columns.size;
  const int row = drain.next_row++;
  std::vector<std::uint8_t> data(static_cast<std::size_t>(columns * element));
  for (int column = 0; column < columns; ++column) {
    const SumPlace place = granularity_ == Granularity::kTile
                               ? SumPlace{row, column}
                               : drain.job->schedule.aligned_at(drain.block, {row, column});
    const PostParameter record =
        drain.records.empty() ? PostParameter{} : drain.records[static_cast<std::size_t>(column)];
    const std::int32_t value = post_process(sum(drain.number, place), conv, record);
    std::memcpy(data.data() + static_cast<std::ptrdiff_t>(column) * element, &value,
                static_cast<std::size_t>(element));
  }
  free_at_ = now + ceil_div(columns * kSumBytes, config_.drain_bytes);
  stats.results += columns;
  const std::uint64_t address = run.result +
                                static_cast<std::uint64_t>(drain.block.rows.begin + row) * run.result_pixel +
                                static_cast<std::uint64_t>(drain.block.columns.begin * element);
  for (std::size_t begin = 0; begin < data.size();) {
    Staged staged;
    staged.address = address + begin;
    const std::size_t end =
        std::min<std::size_t>(data.size(), begin + (kBurstBoundary - staged.address % kBurstBoundary));
    staged.data.assign(data.begin() + static_cast<std::ptrdiff_t>(begin),
                       data.begin() + static_cast<std::ptrdiff_t>(end));
    staged.ready = free_at_ + config_.post_latency_cycles;
    if (end == data.size()) staged.completes = drain.job;
    staged_.push_back(std::move(staged));
    begin = end;
  }
}

// What keeps the front request from being sent; kBusy when nothing does.
Activity ResultBuffer::blocker(Cycle now, Activity idle) const {
  if (!port.granted(now)) return port.waits_for();
  if (staged_.empty()) {
    if (!port.empty()) return Activity::kMemory;
    return drains_.empty() ? idle : Activity::kOutputReady;
  }
  if (staged_.front().ready > now) return Activity::kStaging;
  return port.has_room() ? Activity::kBusy : Activity::kOutstanding;
}

void ResultBuffer::write(Cycle now, Activity idle) {
  const Activity wait = blocker(now, idle);
  if (wait != Activity::kBusy) {
    port.ledger.enter(wait, now);
    return;
  }
  Staged staged = std::move(staged_.front());
  staged_.pop_front();
  under_way_.push_back(std::move(staged.completes));
  const int bytes = static_cast<int>(staged.data.size());
  ++stats.requests;
  stats.bytes += bytes;
  port.issue(tlm::TLM_WRITE_COMMAND, staged.address, bytes, std::move(staged.data), now);
}

void ResultBuffer::schedule(NextClock& next) const {
  next.at(free_at_);
  if (!drains_.empty()) next.at(drains_.front().complete + 1);
  if (!staged_.empty()) next.at(staged_.front().ready);
  if (port.ledger.current() == Activity::kBusy) next.at(port.ledger.settled_at() + 1);
}

}  // namespace tilebeat::rolling
