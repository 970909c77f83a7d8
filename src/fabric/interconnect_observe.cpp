// Statistics, traces and the untimed accesses of the interconnect.
#include "fabric/interconnect.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace tilebeat {

namespace {

constexpr int kAddressBytes = 6;  // of an address on a bus

}  // namespace

void Interconnect::account(Lane& lane, Cycle upto) {
  const Activity otherwise = lane.waiting         ? lane.cause
                             : lane.at_target > 0 ? Activity::kMemory
                             : lane.under_way > 0 ? Activity::kBusLatency
                                                  : Activity::kNoWork;
  lane.ledger.advance(upto, otherwise);
}

Interconnect::Lane& Interconnect::lane_of(const Payload& payload) {
  Port& port = nth(ports_, BurstPool::extension(payload).initiator.value());
  return payload.is_read() ? port.read : port.write;
}

void Interconnect::settle(Cycle end) {
  for (Port& port : ports_) {
    account(port.read, end);
    account(port.write, end);
    port.statistics.settled_at = end;
    for (BeatLedger* ledger : {&port.read.ledger, &port.write.ledger}) ledger->close();
    port.statistics.read_cycles = port.read.ledger.cycles();
    port.statistics.write_cycles = port.write.ledger.cycles();
  }
  for (Target& target : targets_) {
    if (target.bytes_per_clock == 0) continue;
    for (BeatLedger* ledger : {&target.read, &target.write}) ledger->advance(end, Activity::kNoWork);
  }
}

std::vector<TargetPortBeats> Interconnect::target_beats() const {
  std::vector<TargetPortBeats> beats;
  for (const Target& target : targets_) {
    if (target.bytes_per_clock == 0) continue;
    beats.push_back({target.name, nth(target.read.cycles(), Activity::kBusy),
                     nth(target.write.cycles(), Activity::kBusy)});
  }
  return beats;
}

void Interconnect::visit_ledgers(const std::string& module, StatVisitor& visitor) {
  for (Port& port : ports_) {
    const std::string name = fmt::format("{}.{}", module, port.statistics.name);
    visitor.ledger(name + ".read", port.read.ledger.ledger());
    visitor.ledger(name + ".write", port.write.ledger.ledger());
  }
}

unsigned Interconnect::debug(int /*port*/, Payload& payload) {
  const std::uint64_t address = payload.get_address();
  const std::optional<AddressRange> range = find(address);
  if (!range) return 0;
  const unsigned length = payload.get_data_length();
  payload.set_data_length(static_cast<unsigned>(std::min<std::uint64_t>(length, range->end - address)));
  const unsigned done = nth(target_ports, range->target)->transport_dbg(payload);
  payload.set_data_length(length);
  return done;
}

bool Interconnect::direct_memory(int /*port*/, Payload& payload, tlm::tlm_dmi& dmi) {
  const std::optional<AddressRange> range = find(payload.get_address());
  if (!range) {
    dmi.set_start_address(payload.get_address());
    dmi.set_end_address(payload.get_address());
    return false;
  }
  const bool granted = nth(target_ports, range->target)->get_direct_mem_ptr(payload, dmi);
  if (dmi.get_start_address() < range->begin) {
    if (granted) dmi.set_dmi_ptr(dmi.get_dmi_ptr() + (range->begin - dmi.get_start_address()));
    dmi.set_start_address(range->begin);
  }
  dmi.set_end_address(std::min<sc_dt::uint64>(dmi.get_end_address(), range->end - 1));
  return granted;
}

void Interconnect::invalidate_direct_memory(int /*target*/, sc_dt::uint64 begin, sc_dt::uint64 end) {
  for (auto& socket : initiator_ports) socket->invalidate_direct_mem_ptr(begin, end);
}

void Interconnect::declare_signals(Port& port) {
  Trace* trace = context_.trace();
  if (trace == nullptr) return;
  const std::string scope = fmt::format("{}.{}", name(), port.statistics.name);
  port.signals.request = trace->add_signal(scope, "req", 1);
  port.signals.address = trace->add_signal(scope, "addr", 48);
  port.signals.beats = {Strobe(trace, scope, "rbeat"), Strobe(trace, scope, "wbeat")};
  port.signals.outstanding = trace->add_signal(scope, "outstanding", 16, Radix::kDecimal);
  const auto named = [&](const char* signal, int width, Radix radix) {
    return trace->add_signal(scope, signal, width, radix, Shown::kWhenNamed);
  };
  port.signals.write = named("req_write", 1, Radix::kHexadecimal);
  port.signals.bytes = named("req_bytes", 32, Radix::kDecimal);
  for (const bool writes : {false, true}) {
    const std::size_t kind = writes ? 1 : 0;
    port.signals.data[kind].add(*trace, {scope, writes ? "wdata" : "rdata", 8 * config_.bytes_per_clock,
                                         Radix::kHexadecimal, Shown::kWhenNamed});
    port.signals.done[kind] = Strobe(trace, scope, writes ? "wdone" : "rdone", Shown::kWhenNamed);
    port.signals.which[kind].add(*trace, {scope, writes ? "wdone_addr" : "rdone_addr", 8 * kAddressBytes,
                                          Radix::kHexadecimal, Shown::kWhenNamed});
  }
}

void Interconnect::trace_request(const Port& port, const Payload& payload, Cycle now) {
  Trace& trace = *context_.observers.trace;
  trace.change(port.signals.request, context_.clock.at(now), 1);
  trace.change(port.signals.address, context_.clock.at(now), payload.get_address());
  trace.change(port.signals.write, context_.clock.at(now), payload.is_write() ? 1 : 0);
  trace.change(port.signals.bytes, context_.clock.at(now), payload.get_data_length());
}

void Interconnect::trace_grant(const Port& port, Cycle now) {
  // Seen from outside, a grant takes effect with the next edge.
  Trace& trace = *context_.observers.trace;
  trace.change(port.signals.request, context_.clock.at(now + 1), 0);
  trace.change(port.signals.outstanding, context_.clock.at(now + 1), to_unsigned(port.outstanding));
}

// Traces the beats of a burst, which are packed from its first byte on.
void Interconnect::trace_beats(const Port& port, const Payload& payload, Cycle begin, Cycle count) {
  Trace* trace = context_.trace();
  if (trace == nullptr) return;
  const std::size_t kind = payload.is_read() ? 0 : 1;
  const auto width = to_size(config_.bytes_per_clock), bytes = std::size_t{payload.get_data_length()};
  traced_beat_.resize(width);
  for (std::size_t at = 0; count > 0; at += width, ++begin, --count) {
    const std::size_t length = at < bytes ? std::min(width, bytes - at) : 0;
    std::fill(std::copy_n(payload.get_data_ptr() + at, length, traced_beat_.begin()), traced_beat_.end(),
              std::uint8_t{0});
    port.signals.beats[kind].high(trace, context_.clock.at(begin), context_.clock.at(begin + 1),
                                  port.signals.data[kind], traced_beat_.data());
  }
}

void Interconnect::trace_delivery(const Port& port, const Payload& payload, Cycle now) {
  Trace* trace = context_.trace();
  if (trace == nullptr) return;
  trace->change(port.signals.outstanding, context_.clock.at(now), to_unsigned(port.outstanding));
  const std::size_t kind = payload.is_read() ? 0 : 1;
  std::array<std::uint8_t, kAddressBytes> address{};
  for (std::size_t i = 0; i < address.size(); ++i)
    address.at(i) = static_cast<std::uint8_t>(payload.get_address() >> (8 * i));
  port.signals.done[kind].high(trace, context_.clock.at(now), context_.clock.at(now + 1),
                               port.signals.which[kind], address.data());
}

}  // namespace tilebeat
