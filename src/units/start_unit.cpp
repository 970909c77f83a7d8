#include "tilebeat/units/start_unit.h"

#include "tilebeat/base/error.h"
#include "tilebeat/units/messages.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

namespace tilebeat {
namespace {

constexpr std::uint64_t kBurstBytes = 4 * StartUnit::kEntryBytes;
constexpr int kOutstanding = 2;

}  // namespace

StartUnit::StartUnit(sc_core::sc_module_name name, const SimContext& context, int processors,
                     std::uint64_t base)
    : sc_module(name),
      registers("registers"),
      port("port", context, kOutstanding, wake_),
      to("to", static_cast<std::size_t>(processors)),
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

// One entry a cycle goes out.
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
  send_(to[processor], start);
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
    port.issue(tlm::TLM_READ_COMMAND, next_, static_cast<int>(bytes), port.buffer(static_cast<int>(bytes)),
               now);
    next_ += bytes;
  }
}

}  // namespace tilebeat
