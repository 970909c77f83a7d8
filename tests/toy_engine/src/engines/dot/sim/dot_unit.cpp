#include "engines/dot/sim/dot_unit.h"

#include "tilebeat/error.h"
#include "units/matrix_unit.h"
#include "units/post_processing.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

namespace tilebeat::dot {
namespace {

// Programs written by hand may say anything; nothing may be zero that something is divided by.
void check(const ConvSetup& s, const DotRun& r, const DotSchedule& schedule, int register_bytes) {
  if (s.kernel_h * s.kernel_w == 0 || r.rows * r.columns == 0 || r.kernels == 0 || r.channels == 0 ||
      r.group_kernels == 0) {
    throw SimulationError(fmt::format("dot.run: {} x {} outputs of {} kernels {} x {} over {} channels",
                                      r.rows, r.columns, r.kernels, s.kernel_h, s.kernel_w, r.channels));
  }
  if (schedule.kernel_bytes() - kPostParameterBytes > register_bytes) {
    throw SimulationError(fmt::format("dot.run: a kernel takes {} bytes, the register has {}",
                                      schedule.kernel_bytes() - kPostParameterBytes, register_bytes));
  }
}

}  // namespace

DotUnit::DotUnit(sc_core::sc_module_name name, const SimContext& context, const DotConfig& config,
                 const DmaConfig& ports)
    : CommandedUnit(name, context, Unit::kMatrix),
      operands("operands", context, ports.max_outstanding, wake_),
      results("results", context, ports.max_outstanding, wake_),
      config_(config),
      ports_(ports) {
  SC_METHOD(step);
  sensitive << wake_;
  dont_initialize();
}

void DotUnit::take(const Instruction& instruction, Cycle) {
  queue_.push_back(instruction);
}

void DotUnit::step() {
  if (gate_.hold(context_.jitter)) return;
  const Cycle now = context_.clock.cycle_of(now_ps());
  take_responses(now);
  begin_next(now);
  compute(now);
  read_ahead();
  request(now);
  write(now);
  schedule(now);
}

void DotUnit::take_responses(Cycle now) {
  while (operands.front_ready(now)) {
    std::vector<std::uint8_t> data = operands.take_front();
    const auto operand =
        std::find_if(ahead_.begin(), ahead_.end(), [](const Operand& o) { return !o.complete(); });
    operand->data.insert(operand->data.end(), data.begin(), data.end());
    operands.recycle(std::move(data));
  }
  while (results.front_ready(now)) {
    results.recycle(results.take_front());
    if (--unfinished_ == 0) finish_run(now);
  }
  // Everything was read: who overwrites the operands need not wait for the results.
  if (!run_ || released_ || next_step_ < run_->steps()) return;
  if (!std::all_of(ahead_.begin(), ahead_.end(), [](const Operand& o) { return o.complete(); })) return;
  released_ = true;
  tell(UnitMessage::Kind::kReleased, queue_.front().release_signals);
}

void DotUnit::begin_next(Cycle now) {
  while (!run_ && !queue_.empty()) {
    const Instruction& front = queue_.front();
    const auto* setup = front.operation.get_if<ConvSetup>();
    if (setup == nullptr) {
      begin_run(now);
      return;
    }
    setup_ = *setup;
    tell(UnitMessage::Kind::kReleased, front.release_signals);
    tell(UnitMessage::Kind::kDone, front.done_signals);
    queue_.pop_front();
  }
}

void DotUnit::begin_run(Cycle now) {
  const auto* run = queue_.front().operation.get_if<DotRun>();
  if (run == nullptr)
    throw SimulationError(summary(queue_.front()) + ": the matrix unit of this core is a dot-product engine");
  run_.emplace(setup_, *run);
  check(setup_, *run, *run_, config_.kernel_bytes);
  began_ = now;
  next_step_ = 0, sum_ = 0, released_ = false;
  unfinished_ = std::int64_t{run->rows} * run->columns * run->kernels;
  read_ahead();
}

void DotUnit::finish_run(Cycle now) {
  show_work(context_, *this, queue_.front(), began_, now, {});
  tell(UnitMessage::Kind::kDone, queue_.front().done_signals);
  queue_.pop_front();
  run_.reset();
}

// The operands of as many steps as bursts may be under way.
void DotUnit::read_ahead() {
  if (!run_) return;
  const DotRun& run = run_->run();
  while (next_step_ < run_->steps() && static_cast<int>(ahead_.size()) < ports_.max_outstanding) {
    Operand operand;
    operand.step = run_->step(next_step_++);
    if (operand.step.begins_kernel) {
      Operand kernel;
      kernel.kernel = true;
      kernel.bytes = run_->kernel_bytes();
      kernel.address = run.weights + static_cast<std::uint64_t>(operand.step.kernel) *
                                         static_cast<std::uint64_t>(kernel.bytes);
      ahead_.push_back(std::move(kernel));
    }
    if (operand.step.map_byte >= 0) {
      operand.bytes = run.channels;
      operand.address = run.map + static_cast<std::uint64_t>(operand.step.map_byte);
    }
    ahead_.push_back(std::move(operand));
  }
}

// What keeps the next step from the multipliers; kBusy when nothing does.
Activity DotUnit::blocker(Cycle now) const {
  if (now < free_at_) return Activity::kBusy;
  if (ahead_.empty()) return run_ ? Activity::kOutputReady : blocker_;
  const Operand& front = ahead_.front();
  if (!front.complete()) return front.kernel ? Activity::kWeightLoad : Activity::kInputLoad;
  const bool full = static_cast<int>(waiting_.size()) >= ports_.max_outstanding;
  return !front.kernel && front.step.ends_output && full ? Activity::kOutputSpace : Activity::kBusy;
}

void DotUnit::compute(Cycle now) {
  while (now >= free_at_ && !ahead_.empty() && blocker(now) == Activity::kBusy) {
    Operand operand = std::move(ahead_.front());
    ahead_.pop_front();
    if (operand.kernel) {  // a transfer between registers, in the cycle of the first step
      kernel_ = std::move(operand.data);
      ++kernels_loaded;
    } else {
      multiply(operand, now);
    }
  }
  ledger.enter(blocker(now), now);
}

void DotUnit::multiply(const Operand& operand, Cycle now) {
  const DotRun& run = run_->run();
  const ConvSetup& setup = run_->setup();
  const std::uint8_t* weights = kernel_.data() + kPostParameterBytes + operand.step.tap * run.channels;
  for (int i = 0; i < operand.bytes; ++i) {
    const std::uint8_t byte = operand.data[static_cast<std::size_t>(i)];
    const int x = setup.input_type == DType::kUint8 ? byte : static_cast<std::int8_t>(byte);
    sum_ += (x - setup.input_zero_point) * (static_cast<std::int8_t>(weights[i]) - setup.weight_zero_point);
  }
  free_at_ = now + run_->step_clocks(config_.lanes);
  beats += run_->step_clocks(config_.lanes);
  if (!operand.step.ends_output) return;
  const std::int32_t value = post_process(sum_, setup, decode_post_parameter(kernel_.data()));
  sum_ = 0;
  useful_macs += run.macs_per_output;
  const int element = dtype_size(setup.output_type);
  Result result;
  result.address = run.result + static_cast<std::uint64_t>(operand.step.output) * run.result_pixel +
                   static_cast<std::uint64_t>(operand.step.kernel * element);
  result.data.resize(static_cast<std::size_t>(element));
  std::memcpy(result.data.data(), &value, result.data.size());  // little-endian, as memories are
  result.ready = free_at_;
  waiting_.push_back(std::move(result));
}

void DotUnit::request(Cycle now) {
  const auto wanting =
      std::find_if(ahead_.begin(), ahead_.end(), [](const Operand& o) { return o.requested < o.bytes; });
  if (wanting == ahead_.end()) {
    const bool more = run_ && next_step_ < run_->steps();
    operands.ledger.enter(more ? Activity::kLanding : operands.empty() ? idle() : Activity::kMemory, now);
    return;
  }
  if (!operands.granted(now) || !operands.has_room()) {
    operands.ledger.enter(operands.granted(now) ? Activity::kOutstanding : operands.waits_for(), now);
    return;
  }
  // Bursts do not cross multiples of their largest size.
  const std::uint64_t address = wanting->address + static_cast<std::uint64_t>(wanting->requested);
  const auto left =
      ports_.burst_bytes - static_cast<int>(address % static_cast<std::uint64_t>(ports_.burst_bytes));
  const int bytes = std::min(wanting->bytes - wanting->requested, left);
  wanting->requested += bytes;
  operands.issue(tlm::TLM_READ_COMMAND, address, bytes, operands.buffer(bytes), now);
}

void DotUnit::write(Cycle now) {
  if (waiting_.empty() || waiting_.front().ready > now) {
    results.ledger.enter(results.empty() ? (run_ ? Activity::kOutputReady : blocker_) : Activity::kMemory,
                         now);
    return;
  }
  if (!results.granted(now) || !results.has_room()) {
    results.ledger.enter(results.granted(now) ? Activity::kOutstanding : results.waits_for(), now);
    return;
  }
  Result result = std::move(waiting_.front());
  waiting_.pop_front();
  const int bytes = static_cast<int>(result.data.size());
  results.issue(tlm::TLM_WRITE_COMMAND, result.address, bytes, std::move(result.data), now);
}

// Responses and commands wake the unit by themselves.
void DotUnit::schedule(Cycle now) {
  Cycle next = -1;
  const auto at = [&](Cycle cycle) {
    if (cycle > now && (next < 0 || cycle < next)) next = cycle;
  };
  at(free_at_);
  if (!waiting_.empty()) at(waiting_.front().ready);
  for (const BurstPort* port : {&operands, &results}) {
    if (port->ledger.current() == Activity::kBusy) at(now + 1);
  }
  if (next >= 0) wake_.notify(to_sc_time(context_.clock.at(next) - now_ps()));
}

}  // namespace tilebeat::dot
