#include "tilebeat/fabric/scratchpad.h"

#include "tilebeat/base/error.h"
#include "tilebeat/base/math.h"

#include <algorithm>
#include <functional>

#include <fmt/format.h>

namespace tilebeat {

Scratchpad::Scratchpad(sc_core::sc_module_name name, const SimContext& context, const MemoryConfig& config,
                       std::int64_t size_bytes, std::uint64_t base, int bus_bytes)
    : sc_module(name),
      socket("socket"),
      context_(context),
      config_(config),
      base_(base),
      size_(static_cast<std::uint64_t>(size_bytes)),
      words_per_clock_(std::max(1, bus_bytes / config.bank_bytes)),
      bank_ports_("bank_port", static_cast<std::size_t>(config.banks)) {
  socket.register_nb_transport_fw(this, &Scratchpad::receive);
  socket.register_transport_dbg(this, &Scratchpad::debug);
  for (int i = 0; i < config.banks; ++i) {
    banks_.push_back(std::make_unique<SramBank>(fmt::format("bank{}", i).c_str(), context, size_bytes / config.banks, 1));
    bank_ports_[static_cast<std::size_t>(i)].bind(banks_.back()->ports[0]);
  }
  SC_METHOD(answer);
  sensitive << wake_;
  dont_initialize();
}

bool Scratchpad::inside(const tlm::tlm_generic_payload& payload) const {
  const std::uint64_t address = payload.get_address();
  return address >= base_ && payload.get_data_length() > 0 && address - base_ < size_ &&
         payload.get_data_length() <= size_ - (address - base_);
}

tlm::tlm_sync_enum Scratchpad::receive(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase, sc_core::sc_time&) {
  if (phase != tlm::BEGIN_REQ) return tlm::TLM_COMPLETED;
  if (!inside(payload)) {
    payload.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
    return tlm::TLM_COMPLETED;
  }
  const Cycle now = context_.clock.cycle_of(now_ps());
  const Cycle last = access_words(payload, now + 1 + config_.latency_cycles);
  answers_.push_back({last + 1, received_++, &payload});
  std::push_heap(answers_.begin(), answers_.end(), std::greater<>());
  wake_.notify(to_sc_time(context_.clock.at(answers_.front().at) - now_ps()));
  phase = tlm::END_REQ;
  return tlm::TLM_UPDATED;
}

// Reads or writes the words of a request from clock `first` on; returns the clock of the last access.
Cycle Scratchpad::access_words(tlm::tlm_generic_payload& payload, Cycle first) {
  const auto width = static_cast<std::uint64_t>(config_.bank_bytes);
  const auto banks = static_cast<std::uint64_t>(config_.banks);
  const std::uint64_t begin = payload.get_address() - base_;
  const std::uint64_t end = begin + payload.get_data_length();
  const Picoseconds now = now_ps();
  const Picoseconds period = context_.clock.period_ps();
  (payload.is_read() ? stats.read_bytes : stats.write_bytes) += payload.get_data_length();
  Cycle last = first;
  int of_clock = 0;  // words accessed in this clock
  for (std::uint64_t at = begin; at < end;) {
    const std::uint64_t word = at / width;
    const std::uint64_t stop = std::min(end, (word + 1) * width);
    const Picoseconds wanted = context_.clock.at(last) - now;
    const Picoseconds taken =
        transport(bank_ports_[static_cast<std::size_t>(word % banks)], payload_, payload.get_command(),
                  word / banks * width + at % width, payload.get_data_ptr() + (at - begin),
                  static_cast<unsigned>(stop - at), to_sc_time(wanted));
    const Cycle waited = (taken - wanted) / period;
    stats.conflict_clocks += waited;
    ++stats.words;
    if (waited > 0) of_clock = 0;
    last += waited;
    at = stop;
    if (++of_clock == words_per_clock_ && at < end) of_clock = 0, ++last;
  }
  return last;
}

void Scratchpad::answer() {
  if (gate_.hold(context_.jitter)) return;
  const Cycle now = context_.clock.cycle_of(now_ps());
  while (!answers_.empty() && answers_.front().at <= now) {
    tlm::tlm_generic_payload& payload = *answers_.front().payload;
    std::pop_heap(answers_.begin(), answers_.end(), std::greater<>());
    answers_.pop_back();
    payload.set_response_status(tlm::TLM_OK_RESPONSE);
    tlm::tlm_phase phase = tlm::BEGIN_RESP;
    sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
    socket->nb_transport_bw(payload, phase, delay);
  }
  if (!answers_.empty()) wake_.notify(to_sc_time(context_.clock.at(answers_.front().at) - now_ps()));
}

unsigned Scratchpad::debug(tlm::tlm_generic_payload& payload) {
  if (!inside(payload)) return 0;
  const auto width = static_cast<std::uint64_t>(config_.bank_bytes);
  const auto banks = static_cast<std::uint64_t>(config_.banks);
  const std::uint64_t begin = payload.get_address() - base_;
  const std::uint64_t end = begin + payload.get_data_length();
  for (std::uint64_t at = begin; at < end;) {
    const std::uint64_t word = at / width;
    const std::uint64_t stop = std::min(end, (word + 1) * width);
    payload_.set_command(payload.get_command());
    payload_.set_address(word / banks * width + at % width);
    payload_.set_data_ptr(payload.get_data_ptr() + (at - begin));
    payload_.set_data_length(static_cast<unsigned>(stop - at));
    bank_ports_[static_cast<std::size_t>(word % banks)]->transport_dbg(payload_);
    at = stop;
  }
  return payload.get_data_length();
}

void Scratchpad::inject_fault(std::int64_t address, std::uint8_t mask) {
  const std::int64_t word = address / config_.bank_bytes;
  banks_[static_cast<std::size_t>(word % config_.banks)]->inject_fault(
      word / config_.banks * config_.bank_bytes + address % config_.bank_bytes, mask);
}

}  // namespace tilebeat
