#include "tilebeat/engine/control/host.h"

#include "tilebeat/engine/control/command_processor.h"

#include <cstring>
#include <utility>

namespace tilebeat {

constexpr int kWritesPerProgram = 3;

Host::Host(sc_core::sc_module_name name, const SimContext& context, const HostConfig& config,
           std::vector<ProgramEntry> programs, std::uint64_t registers)
    : sc_module(name),
      port("port", context, 1, wake_),
      interrupt("interrupt"),
      context_(context),
      config_(config),
      programs_(std::move(programs)),
      registers_(registers),
      write_at_(config.register_write_cycles) {
  interrupt.register_b_transport(this, &Host::take_interrupt);
  SC_METHOD(step);
  sensitive << wake_;
  ledger.enter(Activity::kBusy, 0);
}

void Host::take_interrupt(tlm::tlm_generic_payload& payload, sc_core::sc_time&) {
  payload.set_response_status(tlm::TLM_OK_RESPONSE);
  interrupted_ = true;
  const Cycle next = context_.clock.cycle_of(now_ps()) + 1;
  wake_.notify(to_sc_time(context_.clock.at(next) - now_ps()));
}

void Host::step() {
  if (gate_.hold(context_.jitter)) return;
  const Cycle now = context_.clock.cycle_of(now_ps());
  if (interrupted_) {
    interrupted_ = false;
    ++next_;
    writes_done_ = 0;
    write_at_ = now + config_.register_write_cycles;
    ledger.enter(Activity::kBusy, now);
  }
  if (finished()) {
    ledger.enter(Activity::kNoWork, now);
    return;
  }
  if (write_under_way_ && port.front_ready(now)) {
    port.recycle(port.take_front());
    write_under_way_ = false;
    ++writes_done_;
    write_at_ = now + config_.register_write_cycles;
    ledger.enter(writes_done_ < kWritesPerProgram ? Activity::kBusy : Activity::kNoWork, now);
  }
  if (write_under_way_ || writes_done_ == kWritesPerProgram) return;
  if (now < write_at_) {
    wake_.notify(to_sc_time(context_.clock.at(write_at_) - now_ps()));
    return;
  }
  const ProgramEntry& program = programs_[next_];
  const std::pair<CommandRegister, std::uint64_t> writes[kWritesPerProgram] = {
      {CommandRegister::kProgramAddress, program.address},
      {CommandRegister::kProgramBytes, program.bytes},
      {CommandRegister::kStart, 1},
  };
  const auto& [offset, value] = writes[writes_done_];
  std::vector<std::uint8_t> data(sizeof value);
  std::memcpy(data.data(), &value, sizeof value);
  port.issue(tlm::TLM_WRITE_COMMAND, registers_ + static_cast<std::uint64_t>(offset), sizeof value,
             std::move(data), now);
  write_under_way_ = true;
  ledger.enter(Activity::kMemory, now);
}

}  // namespace tilebeat
