#include "tilebeat/fabric/scratchpad.h"

#include "tilebeat/base/error.h"
#include "tilebeat/base/math.h"

#include <algorithm>

#include <fmt/format.h>

namespace tilebeat {

Scratchpad::Scratchpad(sc_core::sc_module_name name, const SimContext& context, const MemoryConfig& config,
                       std::int64_t size_bytes, std::uint64_t base, int bus_bytes, ScratchpadLayout layout,
                       int engine_ports)
    : sc_module(name),
      socket("socket"),
      context_(context),
      config_(config),
      base_(base),
      size_(static_cast<std::uint64_t>(size_bytes)),
      words_per_clock_(std::max(1, bus_bytes / config.bank_bytes)),
      layout_(layout),
      bank_ports_("bank_port", static_cast<std::size_t>(config.banks)),
      accessed_(static_cast<std::size_t>(config.banks)) {
  socket.register_nb_transport_fw(this, &Scratchpad::receive);
  socket.register_transport_dbg(this, &Scratchpad::debug);
  for (int i = 0; i < config.banks; ++i) {
    banks_.push_back(std::make_unique<SramBank>(fmt::format("bank{}", i).c_str(), context,
                                                size_bytes / config.banks,
                                                static_cast<int>(bus_and_region_ports()) + engine_ports));
    bank_ports_[static_cast<std::size_t>(i)].bind(banks_.back()->ports[0]);
  }
  SC_METHOD(step);
  sensitive << wake_;
  dont_initialize();
}

Scratchpad::Place Scratchpad::place_of(std::uint64_t offset) const {
  const auto width = static_cast<std::uint64_t>(config_.bank_bytes);
  const auto banks = static_cast<std::uint64_t>(config_.banks);
  const std::uint64_t left = width - offset % width;
  if (layout_ == ScratchpadLayout::kRegions) {
    const std::uint64_t region = size_ / banks;
    return {static_cast<std::size_t>(offset / region), offset % region, left};
  }
  const std::uint64_t word = offset / width;
  return {static_cast<std::size_t>(word % banks), word / banks * width + offset % width, left};
}

bool Scratchpad::inside(const tlm::tlm_generic_payload& payload) const {
  const std::uint64_t address = payload.get_address();
  return address >= base_ && payload.get_data_length() > 0 && address - base_ < size_ &&
         payload.get_data_length() <= size_ - (address - base_);
}

tlm::tlm_sync_enum Scratchpad::receive(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                       sc_core::sc_time&) {
  if (phase != tlm::BEGIN_REQ) return tlm::TLM_COMPLETED;
  if (!inside(payload)) {
    payload.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
    return tlm::TLM_COMPLETED;
  }
  const Cycle first = context_.clock.cycle_of(now_ps()) + 1 + config_.latency_cycles;
  (payload.is_read() ? stats.read_bytes : stats.write_bytes) += payload.get_data_length();
  requests_.push_back({&payload, first, 0});
  wake_.notify(to_sc_time(context_.clock.at(first) - now_ps()));  // an event keeps the earliest
  phase = tlm::END_REQ;
  return tlm::TLM_UPDATED;
}

void Scratchpad::step() {
  if (gate_.hold(context_.jitter)) return;
  const Cycle now = context_.clock.cycle_of(now_ps());
  respond(now);
  std::fill(accessed_.begin(), accessed_.end(), 0);
  for (Request& request : requests_) {
    if (request.next == now) access_words(request, now);
  }
  schedule(now);
}

// Requests whose last word was accessed in the cycle before.
void Scratchpad::respond(Cycle now) {
  const auto complete = [now](const Request& r) {
    return r.next <= now && r.done == r.payload->get_data_length();
  };
  for (const Request& request : requests_) {
    if (!complete(request)) continue;
    request.payload->set_response_status(tlm::TLM_OK_RESPONSE);
    tlm::tlm_phase phase = tlm::BEGIN_RESP;
    sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
    socket->nb_transport_bw(*request.payload, phase, delay);
  }
  requests_.erase(std::remove_if(requests_.begin(), requests_.end(), complete), requests_.end());
}

void Scratchpad::access_words(Request& request, Cycle now) {
  const unsigned length = request.payload->get_data_length();
  for (int i = 0; i < words_per_clock_ && request.done < length; ++i) {
    if (access_word(request)) continue;
    ++stats.conflict_clocks;
    break;
  }
  request.next = now + 1;
}

// The next word of a request; false when its bank has made its access in this cycle.
bool Scratchpad::access_word(Request& request) {
  tlm::tlm_generic_payload& payload = *request.payload;
  const Place place = place_of(payload.get_address() - base_ + request.done);
  if (accessed_[place.bank] != 0) return false;
  accessed_[place.bank] = 1;
  const auto bytes = static_cast<unsigned>(
      std::min<std::uint64_t>(place.word_left, payload.get_data_length() - request.done));
  transport(bank_ports_[place.bank], payload_, payload.get_command(), place.address,
            payload.get_data_ptr() + request.done, bytes);
  ++stats.words;
  request.done += bytes;
  return true;
}

void Scratchpad::schedule(Cycle now) {
  Cycle next = -1;
  for (const Request& request : requests_) {
    if (next < 0 || request.next < next) next = request.next;
  }
  if (next > now) wake_.notify(to_sc_time(context_.clock.at(next) - now_ps()));
}

unsigned Scratchpad::debug(tlm::tlm_generic_payload& payload) {
  if (!inside(payload)) return 0;
  const std::uint64_t begin = payload.get_address() - base_;
  const std::uint64_t end = begin + payload.get_data_length();
  for (std::uint64_t at = begin; at < end;) {
    const Place place = place_of(at);
    const std::uint64_t stop = std::min(end, at + place.word_left);
    payload_.set_command(payload.get_command());
    payload_.set_address(place.address);
    payload_.set_data_ptr(payload.get_data_ptr() + (at - begin));
    payload_.set_data_length(static_cast<unsigned>(stop - at));
    bank_ports_[place.bank]->transport_dbg(payload_);
    at = stop;
  }
  return payload.get_data_length();
}

}  // namespace tilebeat
