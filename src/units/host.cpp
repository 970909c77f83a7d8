#include "tilebeat/units/host.h"

#include "tilebeat/units/command_processor.h"
#include "tilebeat/units/messages.h"

#include <cstring>
#include <utility>

namespace tilebeat {
namespace {

constexpr std::size_t kWritesPerProgram = 3;

struct RegisterWrite {
  std::uint64_t address, value;
};

// Addresses and lengths of all programs, then all starts.
RegisterWrite register_write(const ProgramSet& set, std::size_t number) {
  const std::size_t programs = set.programs.size();
  const bool starts = number >= 2 * programs;
  const ProgramEntry& program = set.programs[starts ? number - 2 * programs : number / 2];
  const auto at = [&](CommandRegister r) { return program.registers + static_cast<std::uint64_t>(r); };
  if (starts) return {at(CommandRegister::kStart), 1};
  if (number % 2 == 0) return {at(CommandRegister::kProgramAddress), program.address};
  return {at(CommandRegister::kProgramBytes), program.bytes};
}

}  // namespace

Host::Host(sc_core::sc_module_name name, const SimContext& context, const HostConfig& config,
           std::vector<ProgramSet> sets, int processors, StartedBy started_by)
    : sc_module(name),
      port("port", context, 1, wake_),
      interrupts("interrupt", static_cast<std::size_t>(processors)),
      context_(context),
      config_(config),
      sets_(std::move(sets)),
      started_(started_by == StartedBy::kItself),
      write_at_(config.register_write_cycles) {
  for (int i = 0; i < processors; ++i)
    interrupts[static_cast<std::size_t>(i)].register_b_transport(this, &Host::take_interrupt, i);
  SC_METHOD(step);
  sensitive << wake_;
  ledger.enter(started_ ? Activity::kBusy : Activity::kNoWork, 0);
}

void Host::start(Cycle now) {
  started_ = true;
  write_at_ = now + config_.register_write_cycles;
  ledger.enter(Activity::kBusy, now);
  notify_at(wake_, context_.clock, now + 1);
}

void Host::take_interrupt(int processor, tlm::tlm_generic_payload& payload, sc_core::sc_time&) {
  message_of<ProgramEnd>(payload, interrupts[static_cast<std::size_t>(processor)]);
  ++interrupted_;
  const Cycle next = context_.clock.cycle_of(now_ps()) + 1;
  notify_at(wake_, context_.clock, next);
}

void Host::step() {
  if (!started_ || gate_.hold(context_.jitter)) return;
  const Cycle now = context_.clock.cycle_of(now_ps());
  if (!finished() && interrupted_ == sets_[next_].processors) {
    interrupted_ = 0;
    ++next_;
    if (finished() && on_finished) on_finished(now);
    writes_done_ = 0;
    write_at_ = now + config_.register_write_cycles;
    ledger.enter(Activity::kBusy, now);
  }
  if (finished()) {
    ledger.enter(Activity::kNoWork, now);
    return;
  }
  const std::size_t writes = kWritesPerProgram * sets_[next_].programs.size();
  if (write_under_way_ && port.front_ready(now)) {
    port.recycle(port.take_front());
    ledger.explain(port.trail(), now);
    write_under_way_ = false;
    ++writes_done_;
    write_at_ = now + config_.register_write_cycles;
    ledger.enter(writes_done_ < writes ? Activity::kBusy : Activity::kNoWork, now);
  }
  if (write_under_way_ || writes_done_ == writes) return;
  if (now < write_at_) {
    notify_at(wake_, context_.clock, write_at_);
    return;
  }
  const RegisterWrite write = register_write(sets_[next_], writes_done_);
  std::vector<std::uint8_t> data(sizeof write.value);
  std::memcpy(data.data(), &write.value, sizeof write.value);
  port.issue(tlm::TLM_WRITE_COMMAND, write.address, sizeof write.value, std::move(data), now);
  write_under_way_ = true;
  ledger.enter(Activity::kMemory, now);
}

}  // namespace tilebeat
