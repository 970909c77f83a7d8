#include "units/command_processor.h"

#include "base/types.h"
#include "sim/context.h"
#include "tilebeat/error.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

namespace tilebeat {
namespace {

// Runs `action`; a SimulationError from it is rethrown with the instruction's address.
template <class Action>
auto at_instruction(std::uint64_t address, Action action) {
  try {
    return action();
  } catch (const SimulationError& error) {
    throw SimulationError(fmt::format("instruction at {:#x}: {}", address, error.what()));
  }
}

}  // namespace

CommandProcessor::CommandProcessor(sc_core::sc_module_name name, const SimContext& context,
                                   const HostConfig& host, const DmaConfig& dma,
                                   const std::vector<std::vector<Unit>>& present, int completion_ports,
                                   std::uint64_t base)
    : sc_module(name),
      registers("registers"),
      fetch("fetch", context, 2, fetch_wake_),
      units("unit", present.size()),
      completions("completion", to_size(completion_ports)),
      interrupt("interrupt"),
      sync_out("sync_out"),
      sync_in("sync_in"),
      start_in("start_in"),
      context_(context),
      host_(host),
      dma_(dma),
      program_(base) {
  registers.register_nb_transport_fw(this, &CommandProcessor::write_register, 0);
  sync_in.register_b_transport(this, &CommandProcessor::receive_sync);
  start_in.register_b_transport(this, &CommandProcessor::receive_start);
  for (std::size_t i = 0; i < queue_of_.size(); ++i) queue_of_[i] = static_cast<Unit>(i);
  for (std::size_t i = 0; i < present.size(); ++i) {
    nth(state_, present[i].front()).socket = to_int(i);
    for (const Unit unit : present[i]) nth(queue_of_, unit) = present[i].front();
  }
  for (auto& port : completions) port.register_b_transport(this, &CommandProcessor::receive_completion);
  SC_METHOD(fetch_step);
  sensitive << fetch_wake_;
  dont_initialize();
  SC_METHOD(control_step);
  sensitive << control_wake_;
  dont_initialize();
  if (context_.trace() != nullptr) declare_signals();
  if (context_.observers.programs != nullptr) {
    log_ = context_.observers.programs;
    processor_ = log_->add_processor(report_name(*this));
  }
}

// Wakes the control in phase kGrant of `cycle`.
void CommandProcessor::wake_control(Cycle cycle) {
  const Picoseconds delay = context_.clock.at(cycle, Phase::kGrant) - now_ps();
  control_wake_.notify(to_sc_time(std::max<Picoseconds>(delay, 0)));
}

tlm::tlm_sync_enum CommandProcessor::write_register(int, tlm::tlm_generic_payload& payload,
                                                    tlm::tlm_phase& phase, sc_core::sc_time&) {
  bool started = false;
  const tlm::tlm_sync_enum answer = program_.write(payload, phase, started);
  if (started) start_next_cycle();
  return answer;
}

void CommandProcessor::receive_start(ProgramStart& start, sc_core::sc_time&) {
  if (running_ || start_at_ >= 0)
    throw SimulationError(fmt::format("{}: started while a program is running", name()));
  program_.address = start.address;
  program_.bytes = start.bytes;
  start_next_cycle();
}

// Arrivals are acted upon in the next cycle.
void CommandProcessor::start_next_cycle() {
  start_at_ = context_.clock.cycle_of(now_ps()) + 1;
  wake_control(start_at_);
}

void CommandProcessor::receive_sync(SyncDelivery& delivery, sc_core::sc_time&) {
  std::visit(
      Overloaded{[this](SyncDelivery::Release) { barrier_ = BarrierState::kReleased; },
                 [this](SyncDelivery::Receive signal) { received_signals_.push_back(signal.semaphore); }},
      delivery.content);
  wake_control(context_.clock.cycle_of(now_ps()));
}

void CommandProcessor::receive_completion(UnitMessage& message, sc_core::sc_time&) {
  inbox_.push_back(message);
  wake_control(context_.clock.cycle_of(now_ps()));
}

void CommandProcessor::start() {
  if (running_) throw SimulationError("command processor: started while a program is running");
  if (program_.address % kInstructionBytes != 0 || program_.bytes == 0 ||
      program_.bytes % kInstructionBytes != 0) {
    throw SimulationError(
        fmt::format("command processor: a program of {} bytes at {:#x} is not whole instructions of {} bytes",
                    program_.bytes, program_.address, kInstructionBytes));
  }
  running_ = true;
  fetch_address_ = decode_address_ = program_.address;
  buffer_.clear();
  const Cycle next = context_.clock.cycle_of(now_ps()) + 1;
  notify_at(fetch_wake_, context_.clock, next);
}

// Requests the program ahead of the decoder, as far as there is room in the instruction buffer.
void CommandProcessor::fetch_step() {
  if (fetch_gate_.hold(context_.jitter)) return;
  const Cycle now = context_.clock.cycle_of(now_ps());
  while (fetch.front_ready(now)) {
    std::vector<std::uint8_t> data = fetch.take_front();
    buffer_.insert(buffer_.end(), data.begin(), data.end());
    buffer_reserved_ -= ssize(data);
    stats.fetched_bytes += ssize(data);
    fetch.recycle(std::move(data));
    wake_control(now);
  }
  const std::uint64_t end = program_.address + program_.bytes;
  if (!running_ || fetch_address_ >= end) {
    fetch.ledger.enter(running_ ? Activity::kNoWork : Activity::kHost, now);
    return;
  }
  constexpr std::uint64_t kFetchBytes =
      256;  // four instructions: a longer burst would make the first of them wait for its end
  // The largest power of two that fits the buffer: bursts of at least 64 bytes then hold whole instructions.
  std::uint64_t window = kFetchBytes;
  while (window > to_unsigned(std::min(dma_.burst_bytes, host_.instruction_buffer_bytes))) window /= 2;
  const auto bytes = to_int(std::min(end - fetch_address_, window - fetch_address_ % window));
  const auto used = ssize(buffer_) + buffer_reserved_;
  if (used + bytes > host_.instruction_buffer_bytes) {
    fetch.ledger.enter(Activity::kLanding, now);
  } else if (!fetch.granted(now)) {
    fetch.ledger.enter(fetch.waits_for(), now);
  } else if (!fetch.has_room()) {
    fetch.ledger.enter(Activity::kOutstanding, now);
  } else {
    buffer_reserved_ += bytes;
    fetch.issue(tlm::TLM_READ_COMMAND, fetch_address_, bytes, fetch.buffer(bytes), now);
    log_fetch(fetch_address_, bytes, now);
    fetch_address_ += to_unsigned(bytes);
    fetch_wake_.notify(to_sc_time(context_.clock.period_ps()));
  }
}

void CommandProcessor::control_step() {
  if (control_gate_.hold(context_.jitter)) return;
  const Cycle now = context_.clock.cycle_of(now_ps());
  // Handles the completions of this cycle in a fixed order; counting up commutes, so the order of arrival
  // does not matter.
  for (const UnitMessage& message : inbox_) {
    UnitState& unit = nth(state_, message.unit);
    if (message.kind == UnitMessage::Kind::kReleased) {
      --unit.held;
      const std::uint64_t released = nth(unit.under_way, unit.released++).address;
      if (context_.bytes != nullptr) context_.bytes->released(released, now);
    } else {
      retire(unit, message.with_release, now);
    }
    for (const Semaphore s : message.signals) {
      if (s != 0) ++semaphores_[s];
    }
  }
  inbox_.clear();
  for (const Semaphore s : received_signals_) ++semaphores_[s];
  received_signals_.clear();
  if (start_at_ > now) {
    wake_control(start_at_);
  } else if (start_at_ >= 0) {
    start_at_ = -1;
    start();
  }
  if (last_decode_ < now) {
    ledger.enter(decode_blocker_, now);
    if (running_) decode_one(now);
  }
  give_signal(now);
  dispatch(now);
  tell_blockers();
  if (context_.trace() != nullptr) trace_queues(now);
}

// An instruction of a unit is done: the one that was just released, or the oldest.
void CommandProcessor::retire(UnitState& unit, bool with_release, Cycle now) {
  const auto done = unit.under_way.begin() + (with_release ? unit.released - 1 : 0);
  log(done->address, ProgramStage::kRetire, now);
  if (context_.bytes != nullptr) context_.bytes->done(done->address, now);
  unit.under_way.erase(done);
  --unit.released;
}

// Signals: for each unit, the instructions queued for it and held by it; and the address of the next
// instruction to decode.
void CommandProcessor::declare_signals() {
  Trace& trace = *context_.observers.trace;
  address_signal_ = trace.add_signal(name(), "decode_addr", 48);
  for (std::size_t i = 0; i < state_.size(); ++i) {
    if (state_[i].socket < 0) continue;
    state_[i].queue_signal =
        trace.add_signal(name(), fmt::format("{}_queue", kUnitNames[i]), 8, Radix::kDecimal);
    state_[i].held_signal =
        trace.add_signal(name(), fmt::format("{}_held", kUnitNames[i]), 8, Radix::kDecimal);
  }
}

void CommandProcessor::trace_queues(Cycle now) {
  Trace& trace = *context_.observers.trace;
  const Picoseconds at =
      context_.clock.at(now + 1);  // decisions of this cycle are visible from the next edge on
  trace.change(address_signal_, at, decode_address_);
  for (const UnitState& unit : state_) {
    if (unit.socket < 0) continue;
    trace.change(unit.queue_signal, at, unit.queue.size());
    trace.change(unit.held_signal, at, to_unsigned(unit.held));
  }
}

// Moves one instruction from the buffer to its queue, or executes a fence.
void CommandProcessor::decode_one(Cycle now) {
  if (buffer_.size() < kInstructionBytes) {
    if (decode_address_ >= program_.address + program_.bytes)
      throw SimulationError("command processor: the program ends without halt");
    decode_blocker_ = Activity::kInstructionFetch;
    ledger.enter(decode_blocker_, now);
    return;
  }
  InstructionBytes bytes;
  std::copy_n(buffer_.begin(), kInstructionBytes, bytes.begin());
  Queued queued;
  queued.address = decode_address_;
  queued.instruction = at_instruction(decode_address_, [&] { return decode(bytes); });
  queued.instruction.address = decode_address_;
  if (log_ != nullptr) log_decode(queued, now);
  const Unit unit = unit_of(queued.instruction);
  if (queued.instruction.operation.is<Signal>()) {
    if (count_of(signals_) >= dma_.command_queue) {
      decode_blocker_ = Activity::kQueueFull;
      ledger.enter(decode_blocker_, now);
      return;  // the signal that goes out wakes the control again
    }
    signals_.push_back(queued);
    log(queued.address, ProgramStage::kWait, now + 1);
  } else if (unit == Unit::kSync) {
    if (!at_instruction(decode_address_, [&] { return execute_sync(queued, now); })) {
      decode_blocker_ = sync_blocker_;
      ledger.enter(decode_blocker_, now);
      return;
    }
    tokens_taken_ = false;
    log(queued.address, ProgramStage::kRetire, now + 1);
    if (!running_) log_end(now + 1);
  } else {
    UnitState& state = nth(state_, nth(queue_of_, unit));
    if (state.socket < 0) {
      throw SimulationError(fmt::format("instruction at {:#x}: this processor has no {} unit",
                                        decode_address_, nth(kUnitNames, unit)));
    }
    if (count_of(state.queue) >= dma_.command_queue) {
      decode_blocker_ = Activity::kQueueFull;
      ledger.enter(decode_blocker_, now);
      return;  // a dispatch from that queue wakes the control again
    }
    state.queue.push_back(queued);
    log(queued.address, ProgramStage::kWait, now + 1);
  }
  buffer_.erase(buffer_.begin(), running_ ? buffer_.begin() + kInstructionBytes : buffer_.end());
  decode_address_ += kInstructionBytes;
  ++stats.instructions;
  last_decode_ = now;
  ledger.enter(Activity::kBusy, now);
  decode_blocker_ = running_ ? Activity::kInstructionFetch : Activity::kHost;
  wake_control(now + 1);
  notify_at(fetch_wake_, context_.clock, now + 1);
}

// Logs the instructions that begin in the requested bytes.
void CommandProcessor::log_fetch(std::uint64_t address, int bytes, Cycle now) {
  if (log_ == nullptr) return;
  const std::uint64_t offset = address - program_.address;
  const std::uint64_t first = ceil_div<std::uint64_t>(offset, kInstructionBytes) * kInstructionBytes;
  for (std::uint64_t at = first; at < offset + to_unsigned(bytes); at += kInstructionBytes)
    log(program_.address + at, ProgramStage::kFetch, now);
}

void CommandProcessor::log_decode(const Queued& queued, Cycle now) {
  if (decoding_ == queued.address) return;
  decoding_ = queued.address;
  log_->name(processor_, number_of(queued.address), disassemble(queued.instruction));
  log(queued.address, ProgramStage::kDecode, now);
}

// Logs the end of the program: instructions fetched after its halt are not executed.
void CommandProcessor::log_end(Cycle now) {
  for (std::uint64_t at = decode_address_ + kInstructionBytes; at < fetch_address_; at += kInstructionBytes)
    log(at, ProgramStage::kFlush, now);
  programs_fetched_ += (fetch_address_ - program_.address) / kInstructionBytes;
  decoding_.reset();
}

bool CommandProcessor::all_idle() const {
  return signals_.empty() && std::all_of(state_.begin(), state_.end(), [](const UnitState& u) {
           return u.queue.empty() && u.held == 0 && u.under_way.empty();
         });
}

// Takes one token of each semaphore in `waits`, or none when one of them is zero.
bool CommandProcessor::take_tokens(const Semaphores& waits) {
  std::array<std::uint32_t, kSemaphores> taken = semaphores_;
  for (const Semaphore s : waits) {
    if (s == 0) continue;
    if (taken[s] == 0) return false;
    --taken[s];
  }
  semaphores_ = taken;
  return true;
}

bool CommandProcessor::execute_barrier(const Barrier& barrier) {
  if (barrier_ == BarrierState::kReleased) {
    barrier_ = BarrierState::kNone;
    return true;
  }
  if (barrier_ == BarrierState::kNone) {
    if (sync_out.size() == 0) throw SimulationError("barrier: this processor has no barrier controller");
    barrier_ = BarrierState::kArrived;
    sync_out.send({SyncRequest::Arrive{barrier.id, barrier.participants}});
  }
  sync_blocker_ = Activity::kBarrier;
  return false;
}

// Sends the first waiting signal, when its tokens are there.
void CommandProcessor::give_signal(Cycle now) {
  if (signals_.empty() || last_signal_ == now) return;
  const Queued queued = signals_.front();
  if (!take_tokens(queued.instruction.waits)) return;
  signals_.pop_front();
  log(queued.address, ProgramStage::kRetire, now + 1);
  last_signal_ = now;
  at_instruction(queued.address, [&] { execute_signal(queued.instruction.operation.get<Signal>()); });
  for (const Semaphores& own : {queued.instruction.release_signals, queued.instruction.done_signals}) {
    for (const Semaphore s : own) {
      if (s != 0) ++semaphores_[s];
    }
  }
  wake_control(now + 1);
}

void CommandProcessor::execute_signal(const Signal& signal) {
  if (signal.processors == 0) return;  // only its own tokens count
  if (sync_out.size() == 0) throw SimulationError("signal: this processor has no others beside it");
  sync_out.send({SyncRequest::Give{signal.processors, signal.semaphore, signal.cluster_distance}});
}

// Executes an instruction of the command processor itself. False: not yet; `sync_blocker_` is the cause.
bool CommandProcessor::execute_sync(const Queued& queued, Cycle now) {
  if (!tokens_taken_ && !take_tokens(queued.instruction.waits)) {
    for (const Semaphore s : queued.instruction.waits) {
      if (s != 0 && semaphores_[s] == 0) sync_blocker_ = semaphore_activity(s);
    }
    return false;
  }
  tokens_taken_ = true;
  if (const auto* barrier = queued.instruction.operation.get_if<Barrier>()) return execute_barrier(*barrier);
  sync_blocker_ = Activity::kLayerEnd;
  if (!all_idle()) return false;
  layer_begun_ = false;
  if (const auto* end = queued.instruction.operation.get_if<LayerEnd>()) {
    if (context_.watch != nullptr) context_.watch->layer_ended(end->layer, now);
    return true;
  }
  if (!queued.instruction.operation.is<Halt>())
    throw SimulationError(summary(queued.instruction) + ": no operation of the command processor");
  if (!fetch.empty())
    return false;  // what was fetched beyond the halt arrives before another program may start
  running_ = false;
  semaphores_.fill(0);
  interrupt.send({decode_address_});
  return true;
}

void CommandProcessor::dispatch(Cycle now) {
  for (std::size_t i = 0; i < state_.size(); ++i) {
    UnitState& unit = state_[i];
    if (unit.queue.empty() || unit.held >= kUnitDepth || !take_tokens(unit.queue.front().instruction.waits))
      continue;
    unit.dispatched = unit.queue.front().instruction;
    const std::uint64_t address = unit.queue.front().address;
    unit.queue.pop_front();
    ++unit.held;
    unit.under_way.push_back({address, unit.dispatched.release_signals, unit.dispatched.done_signals});
    log(address, ProgramStage::kExecute, now + 1);
    unit.told = blocker_of(unit);
    UnitCommand command{UnitCommand::Dispatch{unit.dispatched, unit.told}};
    at_instruction(address, [&] { nth(units, unit.socket).send(command); });
    if (i == to_size(Unit::kMatrix) && !layer_begun_) {
      layer_begun_ = true;
      if (context_.watch != nullptr) context_.watch->matrix_begun(now);
    }
    wake_control(now + 1);
  }
}

// The cause for which a unit's next instruction does not come: the missing token of the head of its queue, or
// the program's own stall.
Activity CommandProcessor::blocker_of(const UnitState& unit) const {
  if (!running_) return Activity::kHost;
  if (unit.queue.empty()) return decode_blocker_;
  for (const Semaphore s : unit.queue.front().instruction.waits) {
    if (s != 0 && semaphores_[s] == 0) return cause_of(s);
  }
  return Activity::kDispatch;
}

namespace {

// Whether an instruction gives a token of `semaphore`.
template <class Instruction>
bool gives(const Instruction& instruction, Semaphore semaphore) {
  const auto has = [semaphore](const Semaphores& given) {
    return std::find(given.begin(), given.end(), semaphore) != given.end();
  };
  return has(instruction.release_signals) || has(instruction.done_signals);
}

}  // namespace

// The cause of a missing token. Space for results is given by a store: while that has not begun because its
// DMA engine has other copies before it, these are what is waited for.
Activity CommandProcessor::cause_of(Semaphore missing) const {
  const Activity cause = semaphore_activity(missing);
  if (cause != Activity::kOutputSpace) return cause;
  for (const Unit engine : {Unit::kIodma, Unit::kMvdma, Unit::kGdma, Unit::kIostore}) {
    const UnitState& unit = nth(state_, engine);
    std::size_t before = 0;
    for (const UnderWay& sent : unit.under_way) {
      if (gives(sent, missing)) return before > 0 ? Activity::kStoreQueue : cause;
      ++before;
    }
    for (const Queued& queued : unit.queue) {
      if (gives(queued.instruction, missing)) return before > 0 ? Activity::kStoreQueue : cause;
      ++before;
    }
  }
  return cause;
}

void CommandProcessor::tell_blockers() {
  for (std::size_t i = 0; i < state_.size(); ++i) {
    UnitState& unit = state_[i];
    if (unit.socket < 0) continue;
    const Activity blocker = blocker_of(unit);
    if (blocker == unit.told) continue;
    unit.told = blocker;
    nth(units, unit.socket).send({WaitsFor{blocker}});
  }
}

tlm::tlm_sync_enum CommandRegisters::write(tlm::tlm_generic_payload& payload, tlm::tlm_phase phase,
                                           bool& started) {
  if (phase != tlm::BEGIN_REQ) return tlm::TLM_ACCEPTED;
  const std::uint64_t offset = payload.get_address() - base_;
  std::uint64_t value = 0;
  if (payload.get_command() != tlm::TLM_WRITE_COMMAND || payload.get_data_length() != sizeof value ||
      offset % sizeof value != 0 || offset >= kCommandRegisterBytes) {
    payload.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
    return tlm::TLM_COMPLETED;
  }
  std::memcpy(&value, payload.get_data_ptr(), sizeof value);
  switch (static_cast<CommandRegister>(offset)) {
    case CommandRegister::kProgramAddress:
      address = value;
      break;
    case CommandRegister::kProgramBytes:
      bytes = value;
      break;
    case CommandRegister::kStart:
      started = true;
      break;
  }
  payload.set_response_status(tlm::TLM_OK_RESPONSE);
  return tlm::TLM_COMPLETED;
}

}  // namespace tilebeat
