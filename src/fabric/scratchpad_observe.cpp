// What a scratchpad shows in a waveform: the requests over the bus and the banks that serve them.
#include "base/types.h"
#include "fabric/scratchpad.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include <fmt/format.h>

namespace tilebeat {

void Scratchpad::declare_signals(Trace& trace) {
  const std::string scope = name();
  signals_ = std::make_unique<Signals>();
  Signals& s = *signals_;
  s.request = Strobe(&trace, scope, "req");
  s.write = trace.add_signal(scope, "write", 1);
  s.address = trace.add_signal(scope, "addr", 48);
  s.queue = trace.add_signal(scope, "queue", 16, Radix::kDecimal);
  s.read_words = trace.add_signal(scope, "read_words", 8, Radix::kDecimal);
  s.write_words = trace.add_signal(scope, "write_words", 8, Radix::kDecimal);
  s.banks = trace.add_signal(scope, "banks", std::min(std::max(2, config_.banks), 64));
  s.bank_conflict = trace.add_signal(scope, "bank_conflict", 1);
  s.port_taken = trace.add_signal(scope, "port_taken", 1);
  for (std::size_t bank = 0; bank < banks_.size(); ++bank) {
    for (std::size_t port = bus_and_region_ports(); port < banks_[bank]->ports.size(); ++port)
      banks_[bank]->trace_port(scope + ".engine", fmt::format("p{}b{}", port - bus_and_region_ports(), bank),
                               to_int(port), config_.bank_bytes, config_.bank_bytes, Shown::kWhenNamed);
    if (has_regions())
      banks_[bank]->trace_port(scope + ".engine", fmt::format("b{}", bank), 1, region_port_bytes_,
                               config_.bank_bytes, Shown::kWhenNamed);
  }
}

void Scratchpad::trace_request(const tlm::tlm_generic_payload& payload, Cycle now) {
  Trace* const trace = context_.trace();
  if (!signals_ || trace == nullptr) return;
  const Picoseconds at = context_.clock.at(now + 1);  // a request arrives after the edge of its cycle
  signals_->request.high(trace, at, context_.clock.at(now + 2));
  trace->change(signals_->write, at, payload.is_write() ? 1 : 0);
  trace->change(signals_->address, at, payload.get_address());
}

// Traces the memory's activity in this cycle; the signals return to 0 in the next cycle.
void Scratchpad::trace_cycle(Cycle now, const Busy& busy) {
  Trace* const trace = context_.trace();
  if (trace == nullptr) return;
  const Picoseconds at = context_.clock.at(now), end = context_.clock.at(now + 1);
  const auto pulse = [&](SignalId signal, std::uint64_t value) {
    trace->change(signal, at, value);
    trace->change(signal, end, 0);
  };
  std::uint64_t banks = 0;
  for (std::size_t bank = 0; bank < std::min(accessed_.size(), kMostBanks); ++bank)
    banks |= std::uint64_t{accessed_[bank]} << bank;
  pulse(signals_->banks, banks & ~busy.engine_banks);
  if (second_ != nullptr) pulse(signals_->engine_banks, busy.engine_banks);
  pulse(signals_->read_words, to_unsigned(busy.words[0]));
  pulse(signals_->write_words, to_unsigned(busy.words[1]));
  pulse(signals_->bank_conflict, busy.conflicts > 0 ? 1 : 0);
  pulse(signals_->port_taken, busy.ports_taken > 0 ? 1 : 0);
}

// Number of requests in the memory, and of the request that waits for a place.
void Scratchpad::trace_queue() {
  if (Trace* const trace = context_.trace(); signals_ && trace != nullptr)
    trace->change(signals_->queue, now_ps(), requests_.size() + (held_ != nullptr ? 1 : 0));
}

}  // namespace tilebeat
