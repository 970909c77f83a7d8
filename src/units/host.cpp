#include "units/host.h"

#include "tilebeat/error.h"
#include "units/command_processor.h"
#include "units/commanded_unit.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

namespace tilebeat {
namespace {

constexpr std::size_t kWritesPerProgram = 3;

struct RegisterWrite {
  std::uint64_t address, value;
};

// Order of the writes: addresses and lengths of all programs, then all starts.
RegisterWrite register_write(const ProgramSet& set, std::size_t number) {
  const std::size_t programs = set.programs.size();
  const bool starts = number >= 2 * programs;
  const ProgramEntry& program = set.programs[starts ? number - 2 * programs : number / 2];
  const auto at = [&](CommandRegister r) { return program.registers + to_unsigned(r); };
  if (starts) return {at(CommandRegister::kStart), 1};
  if (number % 2 == 0) return {at(CommandRegister::kProgramAddress), program.address};
  return {at(CommandRegister::kProgramBytes), program.bytes};
}

}  // namespace

Host::Host(sc_core::sc_module_name name, const SimContext& context, const HostConfig& config,
           std::vector<ProgramSet> sets, int processors, StartedBy started_by)
    : sc_module(name),
      port("port", context, 1, wake_),
      interrupts("interrupt", to_size(processors)),
      context_(context),
      config_(config),
      sets_(std::move(sets)),
      started_(started_by == StartedBy::kItself),
      write_at_(config.register_write_cycles) {
  for (auto& interrupt : interrupts) interrupt.register_b_transport(this, &Host::take_interrupt);
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

void Host::follow(std::vector<ProgramSet> sets) {
  sets_ = std::move(sets);
  next_ = writes_done_ = interrupted_ = 0;
  started_ = began_ = false;
}

void Host::take_interrupt(ProgramEnd&, sc_core::sc_time&) {
  ++interrupted_;
  const Cycle next = context_.clock.cycle_of(now_ps()) + 1;
  notify_at(wake_, context_.clock, next);
}

void Host::step() {
  if (!started_ || gate_.hold(context_.jitter)) return;
  const Cycle now = context_.clock.cycle_of(now_ps());
  const auto tell = [this] {
    if (context_.watch != nullptr) context_.watch->programs_ran(next_);
  };
  if (!began_) began_ = true, tell();
  if (!finished() && interrupted_ == sets_[next_].processors) {
    interrupted_ = 0;
    ++next_;
    tell();
    if (finished() && context_.watch != nullptr) context_.watch->run_ended(now);
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

namespace {

constexpr std::uint64_t kBurstBytes = 4 * StartUnit::kEntryBytes;
constexpr int kOutstanding = 2;

}  // namespace

StartUnit::StartUnit(sc_core::sc_module_name name, const SimContext& context, int processors,
                     std::uint64_t base)
    : sc_module(name),
      registers("registers"),
      port("port", context, kOutstanding, wake_),
      to("to", to_size(processors)),
      context_(context),
      table_(base) {
  registers.register_nb_transport_fw(this, &StartUnit::write_register, 0);
  SC_METHOD(step);
  sensitive << wake_;
  dont_initialize();
  ledger.enter(Activity::kHost, 0);
  port.ledger.enter(Activity::kHost, 0);
}

tlm::tlm_sync_enum StartUnit::write_register(int, tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                             sc_core::sc_time&) {
  bool started = false;
  const tlm::tlm_sync_enum answer = table_.write(payload, phase, started);
  if (started) {
    start_at_ = context_.clock.cycle_of(now_ps()) + 1;  // acted upon a cycle later
    notify_at(wake_, context_.clock, start_at_);
  }
  return answer;
}

void StartUnit::begin() {
  const auto entry = std::uint64_t{kEntryBytes};
  if (left_ > 0) throw SimulationError(fmt::format("{}: started while it reads a table", name()));
  if (table_.bytes == 0 || table_.bytes % entry != 0 || table_.address % kBurstBytes != 0) {
    throw SimulationError(
        fmt::format("{}: a table of {} bytes at {:#x} is not whole entries of {} bytes at a "
                    "multiple of {}",
                    name(), table_.bytes, table_.address, entry, kBurstBytes));
  }
  next_ = table_.address;
  end_ = next_ + table_.bytes;
  left_ = table_.bytes;
}

void StartUnit::step() {
  if (gate_.hold(context_.jitter)) return;
  const Cycle now = context_.clock.cycle_of(now_ps());
  if (start_at_ == now) {
    start_at_ = -1;
    begin();
  }
  while (port.front_ready(now)) {
    std::vector<std::uint8_t> data = port.take_front();
    ledger.explain(port.trail(), now);
    arrived_.insert(arrived_.end(), data.begin(), data.end());
    port.recycle(std::move(data));
  }
  give(now);
  request(now);
}

// Sends one entry a cycle.
void StartUnit::give(Cycle now) {
  if (arrived_.empty()) {
    ledger.enter(left_ > 0 ? Activity::kMemory : Activity::kHost, now);
    return;
  }
  ProgramStart start;
  std::uint32_t bytes = 0, processor = 0;
  std::memcpy(&start.address, arrived_.data(), 8);
  std::memcpy(&bytes, arrived_.data() + 8, 4);
  std::memcpy(&processor, arrived_.data() + 12, 4);
  start.bytes = bytes;
  if (processor >= to.size()) {
    throw SimulationError(
        fmt::format("{}: the table names processor {}, there are {}", name(), processor, to.size()));
  }
  arrived_.erase(arrived_.begin(), arrived_.begin() + kEntryBytes);
  left_ -= kEntryBytes;
  ledger.enter(Activity::kBusy, now);
  to[processor].send(start);
  notify_at(wake_, context_.clock, now + 1);
}

void StartUnit::request(Cycle now) {
  if (next_ == end_) {
    port.ledger.enter(left_ > 0 || !port.empty() ? Activity::kNoWork : Activity::kHost, now);
  } else if (!port.granted(now)) {
    port.ledger.enter(port.waits_for(), now);
  } else if (!port.has_room()) {
    port.ledger.enter(Activity::kOutstanding, now);
  } else {
    const std::uint64_t bytes = std::min(kBurstBytes, end_ - next_);
    port.issue(tlm::TLM_READ_COMMAND, next_, to_int(bytes), port.buffer(to_int(bytes)), now);
    next_ += bytes;
  }
}

}  // namespace tilebeat
