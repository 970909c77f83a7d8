#include "engines/switch_array/operations.h"
#include "engines/switch_array/sim/array_messages.h"
#include "engines/switch_array/sim/dma_channels.h"
#include "tilebeat/error.h"
#include "units/matrix_unit.h"

#include <algorithm>

#include <fmt/format.h>

namespace tilebeat::switch_array {
namespace {

// The place of a stored block in memory.
StridedBlock block_of(const StoreOutput& store) {
  return {store.address, store.pixel_bytes, store.columns, store.pixel_stride, store.rows, store.row_stride};
}

}  // namespace

StoreChannel::StoreChannel(sc_core::sc_module_name name, const SimContext& context, const DmaConfig& config,
                           int bytes_per_clock)
    : CommandedUnit(name, context, Unit::kStore),
      port("port", context, config.max_outstanding, wake_),
      source("source"),
      config_(config),
      bytes_per_clock_(bytes_per_clock),
      source_held_(context.holds(kOutputBuffer)) {
  SC_METHOD(step);
  sensitive << wake_;
  dont_initialize();
  if (Trace* trace = context_.trace(); trace != nullptr)
    busy_signal_ = trace->add_signal(this->name(), "reading", 1);
}

void StoreChannel::take(const Instruction& instruction, Cycle) {
  commands_.push_back(instruction);
}

Footprint StoreChannel::footprint(const Instruction& instruction) const {
  const auto& store = instruction.operation.get<StoreOutput>();
  const StridedBlock block = block_of(store);
  Footprint made;
  made.buffers[kOutputBuffer].reads.add(store.source, store.source + to_unsigned(block.total_bytes()));
  add(block, made.chip.writes);
  return made;
}

void StoreChannel::step() {
  if (gate_.hold(context_.jitter)) return;
  const Cycle now = context_.clock.cycle_of(now_ps());
  take_responses(now);
  release(now);
  const bool issued = request(now);
  read_source(now);
  if (!issued) port.ledger.enter(request_blocker(now), now);
  schedule(now);
}

void StoreChannel::take_responses(Cycle now) {
  while (port.front_ready(now)) {
    port.recycle(port.take_front());
    const bool last = last_flags_.front();
    last_flags_.pop_front();
    if (!last) continue;
    tell(UnitMessage::Kind::kDone, storing_.front().done_signals);
    storing_.pop_front();
  }
}

void StoreChannel::release(Cycle now) {
  if (!releasing_ || now < read_free_) return;
  show_work(context_, *this, commands_.front(), store_begin_, now, {bytes - stored_before_});
  tell(UnitMessage::Kind::kReleased, commands_.front().release_signals);
  commands_.pop_front();
  releasing_ = false;
}

void StoreChannel::read_source(Cycle now) {
  if (now < read_free_) return;
  if (cutter_.empty() && !commands_.empty()) {
    const auto& store = commands_.front().operation.get<StoreOutput>();
    cutter_.emplace_back(block_of(store), config_.burst_bytes);
    source_address_ = store.source;
    storing_.push_back(commands_.front());
    store_begin_ = now;
    stored_before_ = bytes;
  }
  if (cutter_.empty()) {
    data_ledger.enter(blocker_, now);
    return;
  }
  BurstCutter& cutter = cutter_.front();
  const int burst_bytes = cutter.bytes();
  if (staged_bytes_ + burst_bytes > config_.buffer_bytes) {
    data_ledger.enter(request_blocker(now), now);
    return;
  }
  if (source_held_ != nullptr) {
    source_held_->access("store.output", Holds::Access::kRead, source_address_,
                         source_address_ + to_unsigned(burst_bytes), now);
  }
  Staged staged;
  staged.address = cutter.address();
  staged.data = port.buffer(burst_bytes);
  const int beats = ceil_div(burst_bytes, bytes_per_clock_);
  for (int i = 0; i < beats; ++i) {
    const int at = i * bytes_per_clock_;
    transport(source, payload_, tlm::TLM_READ_COMMAND, source_address_ + to_unsigned(at),
              staged.data.data() + at, static_cast<unsigned>(std::min(bytes_per_clock_, burst_bytes - at)),
              to_sc_time(i * context_.clock.period_ps()));
    if (payload_.is_response_error()) throw SimulationError("store.output: reads beyond the output buffer");
  }
  source_address_ += to_unsigned(burst_bytes);
  cutter.advance();
  staged.ready = now + beats;
  staged.last = cutter.done();
  if (staged.last) {
    cutter_.clear();
    releasing_ = true;
  }
  staged_bytes_ += burst_bytes;
  bytes += burst_bytes;
  staged_.push_back(std::move(staged));
  read_free_ = now + beats;
  data_ledger.enter(Activity::kBusy, now);
  if (Trace* trace = context_.trace(); trace != nullptr) {
    trace->change(busy_signal_, context_.clock.at(now), 1);
    trace->change(busy_signal_, context_.clock.at(read_free_), 0);
  }
}

// The cause that keeps the front burst from being requested; kBusy when nothing does.
Activity StoreChannel::request_blocker(Cycle now) const {
  if (!port.granted(now)) return port.waits_for();
  if (staged_.empty()) return port.empty() ? blocker_ : Activity::kMemory;
  if (staged_.front().ready > now) return Activity::kStaging;
  if (!port.has_room()) return Activity::kOutstanding;
  return Activity::kBusy;
}

bool StoreChannel::request(Cycle now) {
  if (port.granted(now)) {  // a granted burst has left the staging buffer
    staged_bytes_ -= granting_bytes_;
    granting_bytes_ = 0;
  }
  if (request_blocker(now) != Activity::kBusy) return false;
  Staged staged = std::move(staged_.front());
  staged_.pop_front();
  const int burst_bytes = count_of(staged.data);
  granting_bytes_ += burst_bytes;
  last_flags_.push_back(staged.last);
  port.issue(tlm::TLM_WRITE_COMMAND, staged.address, burst_bytes, std::move(staged.data), now);
  return true;
}

void StoreChannel::schedule(Cycle now) {
  NextClock next(now);
  if (now < read_free_) next.at(read_free_);
  if (!staged_.empty()) next.at(staged_.front().ready);
  if (port.ledger.current() == Activity::kBusy) next.at(now + 1);
  wake_at(next);
}

}  // namespace tilebeat::switch_array
