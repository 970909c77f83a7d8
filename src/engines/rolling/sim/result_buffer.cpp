#include "engines/rolling/sim/result_buffer.h"

#include "base/types.h"
#include "units/post_processing.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace tilebeat::rolling {
namespace {

constexpr int kSumBytes = 4;
constexpr std::uint64_t kWriteBoundary = 4096;  // a boundary that no burst crosses

}  // namespace

ResultBuffer::ResultBuffer(const char* name, const SimContext& context, const RollingConfig& config,
                           int max_outstanding, const std::optional<MemoryConfig>& memory,
                           Granularity granularity, sc_core::sc_event& changed)
    : config_(config), granularity_(granularity), slots_free_from_(to_size(record_slots_of(config)), 0) {
  if (memory)
    port.emplace(name, context, *memory, config.port_bytes);
  else
    bus.emplace(name, context, max_outstanding, changed);
}

void ResultBuffer::declare_signals(const SimContext& context, const std::string& scope) {
  trace.emplace(context, scope, config_);
  if (port) port->declare_signals(*context.observers.trace, scope + ".port");
}

std::optional<Cycle> ResultBuffer::free_from(std::int64_t number) const {
  return nth(free_from_, number % 2);
}

void ResultBuffer::begin(std::int64_t number, const OutputBlock& block) {
  Half& half = nth(halves_, number % 2);
  const int side = std::max({block.rows.size, block.columns.size, block.parts * block.lines});
  half.stride = to_size(side);
  half.sums.assign(half.stride * half.stride, 0);
  nth(free_from_, number % 2).reset();
}

void ResultBuffer::complete(std::int64_t number, const Round& round, Cycle at) {
  Drain drain;
  drain.number = number;
  drain.job = round.job, drain.block = round.block;
  drain.column = round.column, drain.ends_column = round.ends_column;
  drain.complete = at;
  if (round.job->setup.realignment == Realignment::kRolling)
    drain.clocks = round.job->schedule.realignment(round.block);
  drains_.push_back(std::move(drain));
}

void ResultBuffer::take(Cycle now) {
  while (bus && bus->front_ready(now)) {
    bus->recycle(bus->take_front());
    if (Job* job = under_way_.front().get(); job != nullptr) --job->unwritten, job->written = now;
    under_way_.pop_front();
  }
}

// In clock granularity lines move cycle by cycle; in tile granularity rows are read from their final places.
void ResultBuffer::realign(Drain& drain, Cycle now) {
  if (granularity_ == Granularity::kTile) return;
  const Cycle begun = *drain.realigned_to - drain.clocks;
  for (; drain.shifted < drain.clocks && begun + drain.shifted < now; ++drain.shifted) {
    for (const RollingSchedule::Shift& shift : drain.job->schedule.shifts(drain.block, drain.shifted)) {
      Sum* first = &sum(drain.number, {shift.line, shift.indices.begin});
      Sum* end = first + shift.indices.size;
      std::rotate(first, shift.right ? end - 1 : first + 1, end);
    }
    if (trace) trace->shifted(half(drain.number), drain.shifted + 1, begun + drain.shifted + 1);
  }
}

void ResultBuffer::drain(Cycle now, Activity idle) {
  if (bus) {
    drain_to_bus(now, idle);
    return;
  }
  if (granularity_ == Granularity::kClock) drain_until(now);
  if (!drains_.empty()) return;
  for (CycleLedger* each : {&ledger, &requests_}) {
    if (each->settled_at() <= now) each->enter(idle, now);
  }
}

void ResultBuffer::drain_ahead() {
  if (port) drain_until(std::numeric_limits<Cycle>::max());
}

// On a shared bus a row leaves when the queue has a free place in the present cycle.
void ResultBuffer::drain_to_bus(Cycle now, Activity idle) {
  if (!drains_.empty() && drains_.front().realigned_to) realign(drains_.front(), now);
  while (now >= free_at_) {
    if (drains_.empty() || drains_.front().complete >= now) {
      ledger.enter(drains_.empty() ? idle : Activity::kOutputReady, now);
      return;
    }
    Drain& front = drains_.front();
    if (!front.realigned_to) {
      front.realigned_to = free_at_ = now + front.clocks;
      if (trace) trace->realigns(half(front.number), now, front.clocks);
      stats.realign_clocks += front.clocks;
      if (front.clocks > 0) ledger.enter(Activity::kBusy, now);
      continue;
    }
    if (front.column && !(front.column->in_place && *front.column->in_place < now)) {
      ledger.enter(Activity::kWeightLoad, now);
      return;
    }
    if (count_of(staged_) >= config_.write_queue) {
      ledger.enter(Activity::kWriteQueue, now);
      return;
    }
    ledger.enter(Activity::kBusy, now);
    free_at_ = now + row_cycles(front);
    stage_row(front, now);
    if (front.next_row == front.block.rows.size) end_drain();
  }
}

// Drains all rows that begin to drain by cycle `last`.
void ResultBuffer::drain_until(Cycle last) {
  if (!drains_.empty() && drains_.front().realigned_to) realign(drains_.front(), last);
  while (!drains_.empty()) {
    Drain& front = drains_.front();
    if (!front.realigned_to) {
      const Cycle begin = std::max(front.complete + 1, free_at_);
      if (begin > last) return;
      ledger.spend(Activity::kOutputReady, begin - ledger.settled_at());
      ledger.spend(Activity::kBusy, front.clocks);
      front.realigned_to = free_at_ = begin + front.clocks;
      if (trace) trace->realigns(half(front.number), begin, front.clocks);
      stats.realign_clocks += front.clocks;
      continue;
    }
    if (front.column && !front.column->in_place) return;
    const Cycle ready = front.column ? std::max(free_at_, *front.column->in_place + 1) : free_at_;
    const bool full = count_of(sent_) >= config_.write_queue;
    const Cycle begin = full ? std::max(ready, sent_.front() + 1) : ready;
    if (begin > last) return;
    if (full) sent_.pop_front();
    ledger.spend(Activity::kWeightLoad, ready - ledger.settled_at());
    ledger.spend(Activity::kWriteQueue, begin - ledger.settled_at());
    free_at_ = begin + row_cycles(front);
    ledger.spend(Activity::kBusy, free_at_ - begin);
    write_row(front, begin);
    if (front.next_row == front.block.rows.size) end_drain();
  }
}

void ResultBuffer::end_drain() {
  const Drain& front = drains_.front();
  nth(free_from_, front.number % 2) = free_at_;
  if (front.ends_column) nth(slots_free_from_, front.column->number % ssize(slots_free_from_)) = free_at_;
  drains_.pop_front();
}

int ResultBuffer::row_cycles(const Drain& drain) const {
  return ceil_div(drain.block.columns.size * kSumBytes, config_.drain_bytes);
}

std::uint64_t ResultBuffer::address_of_row(const Drain& drain) const {
  const RollingRun& run = drain.job->run;
  return run.result + to_unsigned(drain.block.rows.begin + drain.next_row) * run.result_pixel +
         to_unsigned(drain.block.columns.begin * dtype_size(drain.job->conv.output_type));
}

// Post-processes the next row of the output block.
void ResultBuffer::post_process_row(Drain& drain, std::vector<std::uint8_t>& data) {
  const ConvSetup& conv = drain.job->conv;
  const auto element = to_size(dtype_size(conv.output_type));
  const int columns = drain.block.columns.size, row = drain.next_row;
  data.resize(to_size(columns) * element);
  stats.results += columns;
  std::uint8_t* to = data.data();
  const bool in_place = granularity_ == Granularity::kTile;
  if (in_place && drain.column) {
    tilebeat::post_process_row(&sum(drain.number, {row, 0}), columns, conv, drain.column->records.data(), to);
    return;
  }
  const PostParameter none{};
  for (int column = 0; column < columns; ++column, to += element) {
    const SumPlace place =
        in_place ? SumPlace{row, column} : drain.job->schedule.aligned_at(drain.block, {row, column});
    const PostParameter& record = drain.column ? nth(drain.column->records, column) : none;
    const std::int64_t value = post_process(sum(drain.number, place), conv, record);
    std::memcpy(to, &value, element);
  }
}

// Traces the next row, which leaves from cycle `at` on.
void ResultBuffer::trace_row(Drain& drain, Cycle at) {
  if (!trace || granularity_ == Granularity::kTile) return;
  std::vector<std::int32_t> sums;
  for (int column = 0; column < drain.block.columns.size; ++column)
    sums.push_back(static_cast<std::int32_t>(
        sum(drain.number, drain.job->schedule.aligned_at(drain.block, {drain.next_row, column}))));
  trace->drained(half(drain.number), drain.next_row, sums, at);
}

// Stages a row for the bus: one request, or two where the row crosses a burst boundary.
void ResultBuffer::stage_row(Drain& drain, Cycle now) {
  trace_row(drain, now);
  post_process_row(drain, row_);
  const std::uint64_t address = address_of_row(drain);
  for (std::size_t begin = 0; begin < row_.size();) {
    Staged staged;
    staged.address = address + begin;
    const std::size_t end =
        std::min<std::size_t>(row_.size(), begin + (kWriteBoundary - staged.address % kWriteBoundary));
    staged.data.assign(row_.begin() + to_signed(begin), row_.begin() + to_signed(end));
    staged.ready = free_at_ + config_.post_latency_cycles;
    if (end == row_.size()) staged.completes = drain.job;
    staged_.push_back(std::move(staged));
    begin = end;
  }
  ++drain.next_row;
}

// Starts writing a row to the scratchpad in cycle `at`.
void ResultBuffer::write_row(Drain& drain, Cycle at) {
  trace_row(drain, at);
  post_process_row(drain, row_);
  const std::uint64_t address = address_of_row(drain);
  const int bytes = count_of(row_), accesses = port->accesses(address, bytes);
  const Cycle sent = std::max(free_at_ + config_.post_latency_cycles, next_request_);
  requests_.spend(Activity::kOutputReady, std::max<Cycle>(0, at - requests_.settled_at()));
  requests_.spend(Activity::kStaging, sent - requests_.settled_at());
  requests_.spend(Activity::kBusy, accesses);
  next_request_ = sent + accesses;
  sent_.push_back(sent);
  if (count_of(sent_) > config_.write_queue) sent_.pop_front();
  stats.requests += accesses;
  stats.bytes += bytes;
  Job& job = *drain.job;
  --job.unwritten, job.written = next_request_;
  if (granularity_ == Granularity::kClock)
    staged_.push_back({address, row_, sent, nullptr});
  else
    port->direct_write(address, row_.data(), bytes, sent);
  ++drain.next_row;
}

// The cause that keeps the front request from being sent over the bus; kBusy when nothing does.
Activity ResultBuffer::blocker(Cycle now, Activity idle) const {
  if (!bus->granted(now)) return bus->waits_for();
  if (staged_.empty()) {
    if (!bus->empty()) return Activity::kMemory;
    return drains_.empty() ? idle : Activity::kOutputReady;
  }
  if (staged_.front().ready > now) return Activity::kStaging;
  return bus->has_room() ? Activity::kBusy : Activity::kOutstanding;
}

void ResultBuffer::write(Cycle now, Activity idle) {
  if (port) {
    for (; !staged_.empty() && staged_.front().ready <= now; staged_.pop_front()) {
      const Staged& front = staged_.front();
      port->write(front.address, front.data.data(), count_of(front.data), 0);
    }
    return;
  }
  const Activity wait = blocker(now, idle);
  if (wait != Activity::kBusy) {
    bus->ledger.enter(wait, now);
    return;
  }
  Staged staged = std::move(staged_.front());
  staged_.pop_front();
  under_way_.push_back(std::move(staged.completes));
  const int bytes = count_of(staged.data);
  ++stats.requests;
  stats.bytes += bytes;
  bus->issue(tlm::TLM_WRITE_COMMAND, staged.address, bytes, std::move(staged.data), now);
}

void ResultBuffer::schedule(NextClock& next) const {
  next.at(free_at_);
  if (!drains_.empty()) {
    const Drain& front = drains_.front();
    next.at(front.complete + 1);
    if (front.column && front.column->in_place) next.at(*front.column->in_place + 1);
  }
  if (!staged_.empty()) next.at(staged_.front().ready);
  if (port) {
    next.at(requests_.settled_at());
    if (!sent_.empty()) next.at(sent_.front() + 1);
  } else if (bus->ledger.current() == Activity::kBusy) {
    next.at(bus->ledger.settled_at() + 1);
  }
}

}  // namespace tilebeat::rolling
