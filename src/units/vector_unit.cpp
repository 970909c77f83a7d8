#include "units/vector_unit.h"

#include "tilebeat/error.h"
#include "units/matrix_unit.h"

#include <algorithm>

#include <fmt/format.h>

namespace tilebeat {
namespace {

// Bytes of the operand buffer that a step takes. A step without operands, such as a pooling of padding alone,
// also waits in the buffer for its turn.
int room_of(const VectorStep& step) {
  return std::max(1, step.a_bytes + step.b_bytes);
}

}  // namespace

VectorUnit::VectorUnit(sc_core::sc_module_name name, const SimContext& context, const VectorConfig& config,
                       const DmaConfig& ports, std::uint64_t memory, Operations operations)
    : CommandedUnit(name, context, Unit::kVector),
      a("a", context, ports.max_outstanding, wake_),
      b("b", context, ports.max_outstanding, wake_),
      result("result", context, ports.max_outstanding, wake_),
      config_(config),
      ports_(ports),
      memory_(memory),
      operations_(operations) {
  SC_METHOD(step);
  sensitive << wake_;
  dont_initialize();
  if (Trace* trace = context_.trace(); trace != nullptr)
    busy_signal_ = trace->add_signal(this->name(), "busy", 1);
}

void VectorUnit::check(const VectorRun& run) const {
  const bool pooling = run.kind == VectorKind::kMaxPool || run.kind == VectorKind::kAveragePool ||
                       run.kind == VectorKind::kMean;
  check_quantised(run);
  check_reals(run);
  if (pooling || run.kind == VectorKind::kSoftmax) check_row(run.channels, run.a_type, "vector.run");
  const bool sums = run.kind == VectorKind::kAddSums || run.kind == VectorKind::kEndSums;
  const bool added = run.kind != VectorKind::kAddSums || run.out_type == DType::kInt32;
  if (sums && (run.a_type != DType::kInt32 || run.b_type != DType::kInt32 || !added)) {
    throw SimulationError(
        fmt::format("vector.run: {} of elements that are not int32", nth(kVectorKindNames, run.kind)));
  }
  check_parameters(VectorSteps::parameter_bytes(run), "vector.run");
}

// The operations whose operands and results are bytes or int16, or one of them alone.
void VectorUnit::check_quantised(const VectorRun& run) const {
  const bool softmax = run.kind == VectorKind::kSoftmax;
  const bool curve = run.kind == VectorKind::kSigmoid || run.kind == VectorKind::kTanh;
  const bool pooling = run.kind == VectorKind::kMaxPool || run.kind == VectorKind::kAveragePool ||
                       run.kind == VectorKind::kMean;
  if (!softmax && !curve && !pooling && run.kind != VectorKind::kTable && run.kind != VectorKind::kSlopes)
    return;
  const bool fixed = run.arithmetic == Arithmetic::kFixed;
  for (const DType type : {run.a_type, run.out_type}) {
    const bool fits = curve                            ? type == DType::kInt16
                      : run.kind == VectorKind::kTable ? is_byte(type)
                      : softmax                        ? is_byte(type) || (type == DType::kInt16 && fixed)
                                                       : is_quantised(type);
    if (!fits)
      throw SimulationError(
          fmt::format("vector.run: {} of {} elements", nth(kVectorKindNames, run.kind), dtype_name(type)));
  }
  if (softmax && is_byte(run.a_type) != is_byte(run.out_type))
    throw SimulationError(fmt::format("vector.run: softmax of {} with results of {}", dtype_name(run.a_type),
                                      dtype_name(run.out_type)));
}

void VectorUnit::check_parameters(int bytes, const char* operation) const {
  if (bytes > config_.parameter_bytes)
    throw SimulationError(fmt::format("{}: {} bytes of parameters, there is room for {}", operation, bytes,
                                      config_.parameter_bytes));
}

void VectorUnit::check(const VectorRow& run) const {
  const DType out = run.kind == RowKind::kArgMax ? DType::kInt32 : run.out_type;
  const bool fits = run.kind == RowKind::kArgMax ? run.out_type == out : is_byte(out);
  if (!is_byte(run.a_type) || !fits)
    throw SimulationError(
        fmt::format("vector.row: {} has no such types of elements", nth(kRowKindNames, run.kind)));
  check_row(run.channels, run.a_type, "vector.row");
  check_parameters(RowSteps::parameter_bytes(run), "vector.row");
}

// The operations between float32 and other elements have float32 ones, and sums, differences, products and
// quotients of float32; those of a runtime's arithmetic are bytes, or int16 in fixed point.
void VectorUnit::check_reals(const VectorRun& run) const {
  const bool combines = run.kind == VectorKind::kAdd || run.kind == VectorKind::kSub ||
                        run.kind == VectorKind::kMul || run.kind == VectorKind::kMax ||
                        run.kind == VectorKind::kMin;
  if (combines && run.a_type == DType::kFloat32 && run.b_type == DType::kFloat32 &&
      run.out_type == DType::kFloat32 && run.arithmetic == Arithmetic::kExact)
    return;
  const bool from_real = run.kind == VectorKind::kQuantize || run.kind == VectorKind::kRange ||
                         run.kind == VectorKind::kDynamic || run.kind == VectorKind::kDynamicZero;
  const bool to_real = run.kind == VectorKind::kDequantize || run.kind == VectorKind::kRange;
  const bool may_be_real = run.kind == VectorKind::kDynamic;
  const bool quantises =
      run.kind == VectorKind::kQuantize ? is_quantised(run.out_type) : is_byte(run.out_type);
  const bool out_fits =
      run.out_type == DType::kFloat32 ? to_real || may_be_real : !to_real && (!from_real || quantises);
  const bool all_fit =
      (run.a_type == DType::kFloat32) == from_real && out_fits && run.b_type != DType::kFloat32;
  const bool elementwise =
      run.kind == VectorKind::kAdd || run.kind == VectorKind::kSub || run.kind == VectorKind::kMul;
  const auto all = [&run](auto test) { return test(run.a_type) && test(run.b_type) && test(run.out_type); };
  const bool has_rule = all(is_byte) || (run.arithmetic == Arithmetic::kFixed &&
                                         all([](DType type) { return type == DType::kInt16; }));
  if (!all_fit || (elementwise && run.arithmetic != Arithmetic::kExact && !has_rule))
    throw SimulationError(
        fmt::format("vector.run: {} has no such types of elements", nth(kVectorKindNames, run.kind)));
}

void VectorUnit::check_row(int channels, DType type, const char* operation) const {
  const int longest = std::min(config_.row_elements, ports_.buffer_bytes / dtype_size(type));
  if (channels > longest)
    throw SimulationError(
        fmt::format("{}: {} channels, the row buffer holds {}", operation, channels, longest));
}

void VectorUnit::check(const VectorResize& run) const {
  if (!is_byte(run.type))
    throw SimulationError(fmt::format("vector.resize: of {} elements", dtype_name(run.type)));
  check_row(run.channels, run.type, "vector.resize");
}

// A scalar unit has an adder, a multiplier and a comparator.
void VectorUnit::check_wired(const Instruction& instruction) const {
  const auto* run = instruction.operation.get_if<VectorRun>();
  const bool scalar = run != nullptr && (run->kind == VectorKind::kAdd || run->kind == VectorKind::kSub ||
                                         run->kind == VectorKind::kMul || run->kind == VectorKind::kMax ||
                                         run->kind == VectorKind::kMin);
  if (operations_ == Operations::kScalar && !scalar)
    throw SimulationError(summary(instruction) +
                          ": a memory core's scalar unit executes add, sub, mul, max and min");
}

void VectorUnit::take(const Instruction& instruction, Cycle next) {
  check_wired(instruction);
  Job job;
  job.instruction = instruction;
  job.began = next;
  const auto admit = [&](const auto& run, DType out_type) {
    check(run);
    job.unwritten = std::int64_t{run.rows} * run.columns * run.channels * dtype_size(out_type);
  };
  if (const auto* resize = instruction.operation.get_if<VectorResize>()) {
    admit(*resize, resize->type);
  } else if (const auto* row = instruction.operation.get_if<VectorRow>()) {
    check(*row);
    job.unwritten = std::int64_t{row->pixels} * row->results() * dtype_size(row->out_type);
  } else {
    const auto& run = instruction.operation.get<VectorRun>();
    admit(run, run.out_type);
    if (run.kind == VectorKind::kRange) job.unwritten = kRangeReals * dtype_size(run.out_type);
  }
  jobs_.push_back(job);
}

void VectorUnit::step() {
  if (gate_.hold(context_.jitter)) return;
  const Cycle now = context_.clock.cycle_of(now_ps());
  take_responses(now);
  take_operands(a, a_order_, &Step::a, now);
  take_operands(b, b_order_, &Step::b, now);
  compute(now);
  make_steps();
  request(a, a_order_, &Step::a, &VectorStep::a, &VectorStep::a_bytes, now);
  request(b, b_order_, &Step::b, &VectorStep::b, &VectorStep::b_bytes, now);
  write(now);
  schedule(now);
}

void VectorUnit::take_operands(BurstPort& port, Order& order, Operand Step::*operand, Cycle now) {
  while (port.front_ready(now)) {
    std::vector<std::uint8_t> data = port.take_front();
    ledger.explain(port.trail(), now);
    std::vector<std::uint8_t>& all = (steps_[order.under_way.front() - first_step_].*operand).data;
    all.insert(all.end(), data.begin(), data.end());
    port.recycle(std::move(data));
    order.under_way.pop_front();
  }
}

void VectorUnit::take_responses(Cycle now) {
  while (result.front_ready(now)) {
    std::vector<std::uint8_t> data = result.take_front();
    ledger.explain(result.trail(), now);
    Job& job = jobs_.front();
    job.unwritten -= ssize(data);
    job.written += ssize(data);
    result.recycle(std::move(data));
    if (job.unwritten > 0) continue;
    show_work(context_, *this, job.instruction, job.began, now, {job.written});
    tell(UnitMessage::Kind::kDone, job.instruction.done_signals);
    jobs_.pop_front();
    --to_step_, --to_compute_;
  }
}

// The cause that keeps the next step out of the lanes; kBusy when nothing does.
Footprint VectorUnit::footprint(const Instruction& instruction) const {
  return {accessed_bytes(instruction.operation, memory_), {}};
}

Activity VectorUnit::lane_blocker(Cycle now) const {
  if (now < lanes_free_) return Activity::kBusy;
  if (steps_.empty()) return results_.empty() && jobs_.empty() ? blocker_ : Activity::kMemory;
  if (!steps_.front().complete()) return Activity::kMemory;
  if (result_bytes_ >= ports_.buffer_bytes)
    return result.granted(now) ? Activity::kOutstanding : result.waits_for();
  return Activity::kBusy;
}

void VectorUnit::compute(Cycle now) {
  if (now < lanes_free_) return;
  while (lane_blocker(now) == Activity::kBusy && !steps_.empty()) {
    Step current = std::move(steps_.front());
    steps_.pop_front();
    ++first_step_;
    operand_bytes_ -= room_of(current.step);
    Job& job = jobs_[to_compute_];
    if (current.step.parameters) {
      math_.load(current.a.data);
      continue;  // a register transfer, hidden under the operands' way
    }
    Result computed;
    computed.address = memory_ + current.step.result;
    math_.run(job.instruction.operation, current.step, current.a.data, current.b.data, computed.data);
    lanes_free_ = now + current.step.clocks;
    lane_clocks += current.step.clocks;
    if (!computed.data.empty()) {
      results += current.step.results;
      result_bytes_ += count_of(computed.data);
      computed.ready = lanes_free_ + config_.latency_cycles;
      results_.push_back(std::move(computed));
    }
    if (current.last_of_job) {
      tell(UnitMessage::Kind::kReleased, job.instruction.release_signals);
      ++to_compute_;
    }
    ledger.enter(Activity::kBusy, now);
    if (Trace* trace = context_.trace(); trace != nullptr) {
      trace->change(busy_signal_, context_.clock.at(now), 1);
      trace->change(busy_signal_, context_.clock.at(lanes_free_), 0);
    }
    return;
  }
  ledger.enter(lane_blocker(now), now);
}

// Steps whose operands have room.
void VectorUnit::make_steps() {
  while (true) {
    if (!stepping_) {
      if (to_step_ == jobs_.size()) return;
      stepping_ = steps_of(jobs_[to_step_].instruction.operation, config_.lanes, ports_.burst_bytes);
      ++to_step_;
    }
    const VectorStep& next = stepping_->step();
    const int bytes = room_of(next);
    if (operand_bytes_ > 0 && operand_bytes_ + bytes > ports_.buffer_bytes) return;
    operand_bytes_ += bytes;
    Step made;
    made.step = next;
    stepping_->advance();
    made.last_of_job = stepping_->done();
    if (made.last_of_job) stepping_.reset();
    steps_.push_back(std::move(made));
  }
}

// The next burst of the first step that has not requested all of its operand.
void VectorUnit::request(BurstPort& port, Order& order, Operand Step::*operand,
                         std::uint64_t VectorStep::*from, int VectorStep::*bytes, Cycle now) {
  const auto wants = [&](const Step& s) { return (s.*operand).requested < s.step.*bytes; };
  order.next = std::max(order.next, first_step_);
  while (order.next < first_step_ + steps_.size() && !wants(steps_[order.next - first_step_])) ++order.next;
  if (order.next == first_step_ + steps_.size()) {
    // With steps left, the buffer has no room for the next one.
    const bool full = stepping_ && stepping_->step().*bytes > 0;
    port.ledger.enter(full ? Activity::kLanding : !port.empty() ? Activity::kMemory : blocker_, now);
    return;
  }
  if (!port.granted(now) || !port.has_room()) {
    port.ledger.enter(port.granted(now) ? Activity::kOutstanding : port.waits_for(), now);
    return;
  }
  Step& wanting = steps_[order.next - first_step_];
  Operand& taken = wanting.*operand;
  const std::uint64_t address = memory_ + wanting.step.*from + to_unsigned(taken.requested);
  const auto window = to_unsigned(ports_.burst_bytes);
  const auto burst = to_int(
      std::min<std::uint64_t>(window - address % window, to_unsigned(wanting.step.*bytes - taken.requested)));
  taken.requested += burst;
  order.under_way.push_back(order.next);
  port.issue(tlm::TLM_READ_COMMAND, address, burst, port.buffer(burst), now);
}

void VectorUnit::write(Cycle now) {
  if (results_.empty() || results_.front().ready > now) {
    result.ledger.enter(!results_.empty() ? Activity::kStaging
                        : result.empty()  ? blocker_
                                          : Activity::kMemory,
                        now);
    return;
  }
  if (!result.granted(now) || !result.has_room()) {
    result.ledger.enter(result.granted(now) ? Activity::kOutstanding : result.waits_for(), now);
    return;
  }
  Result& front = results_.front();
  const std::uint64_t address = front.address + to_unsigned(front.sent);
  const auto window = to_unsigned(ports_.burst_bytes);
  const auto burst =
      to_int(std::min<std::uint64_t>(window - address % window, front.data.size() - to_size(front.sent)));
  std::vector<std::uint8_t> data(front.data.begin() + front.sent, front.data.begin() + front.sent + burst);
  front.sent += burst;
  result_bytes_ -= burst;
  if (front.sent == count_of(front.data)) results_.pop_front();
  result.issue(tlm::TLM_WRITE_COMMAND, address, burst, std::move(data), now);
}

void VectorUnit::schedule(Cycle now) {
  NextClock next(now);
  next.at(lanes_free_);
  if (!results_.empty()) next.at(results_.front().ready);
  for (const BurstPort* port : {&a, &b, &result}) {
    if (port->ledger.current() == Activity::kBusy) next.at(now + 1);
  }
  wake_at(next);
}

}  // namespace tilebeat
