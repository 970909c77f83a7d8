#include "tilebeat/fabric/sram_bank.h"

#include <algorithm>
#include <cstring>

namespace tilebeat {

SramBank::SramBank(sc_core::sc_module_name name, const SimContext& context, std::int64_t size_bytes, int port_count)
    : sc_module(name),
      ports("port", static_cast<std::size_t>(port_count)),
      context_(context),
      storage_(static_cast<std::size_t>(size_bytes), 0),
      ports_(static_cast<std::size_t>(port_count)) {
  for (int i = 0; i < port_count; ++i) {
    auto& socket = ports[static_cast<std::size_t>(i)];
    socket.register_b_transport(this, &SramBank::b_transport, i);
    socket.register_get_direct_mem_ptr(this, &SramBank::get_direct_mem_ptr, i);
  }
}

void SramBank::trace_port(const std::string& scope, const std::string& signal, int port, int word_bytes) {
  if (context_.observers.trace == nullptr) return;
  Port& p = ports_[static_cast<std::size_t>(port)];
  p.word_bytes = std::min(word_bytes, 8);
  p.data_signal = context_.observers.trace->add_signal(scope, signal, 8 * p.word_bytes);
  p.address_signal = context_.observers.trace->add_signal(scope, signal + "_addr", 32);
}

void SramBank::inject_fault(std::int64_t address, std::uint8_t mask) {
  fault_address_ = address;
  fault_mask_ = mask;
}

void SramBank::b_transport(int port, tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
  Port& p = ports_[static_cast<std::size_t>(port)];
  const std::uint64_t address = payload.get_address();
  const unsigned length = payload.get_data_length();
  if (payload.get_command() == tlm::TLM_IGNORE_COMMAND) {
    p.stats.accesses += static_cast<std::int64_t>(address);
    p.stats.bytes += static_cast<std::int64_t>(address) * length;
    payload.set_response_status(tlm::TLM_OK_RESPONSE);
    return;
  }
  if (address + length > storage_.size()) {
    payload.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
    return;
  }
  const Picoseconds now = now_ps();
  const Picoseconds at = std::max(now + static_cast<Picoseconds>(delay.value()), p.free_at);
  p.free_at = at + context_.clock.period_ps();
  delay = to_sc_time(at - now);
  ++p.stats.accesses;
  p.stats.bytes += length;
  std::uint8_t* cell = storage_.data() + address;
  if (payload.get_command() == tlm::TLM_WRITE_COMMAND) {
    std::memcpy(cell, payload.get_data_ptr(), length);
    if (fault_mask_ != 0) corrupt(address, length);
  } else {
    std::memcpy(payload.get_data_ptr(), cell, length);
  }
  if (p.data_signal >= 0 || p.address_signal >= 0) {
    std::uint64_t value = 0;
    std::memcpy(&value, cell, std::min<std::size_t>(length, static_cast<std::size_t>(p.word_bytes)));
    context_.observers.trace->change(p.data_signal, at, value);
    context_.observers.trace->change(p.address_signal, at, address / length);
  }
  payload.set_response_status(tlm::TLM_OK_RESPONSE);
}

void SramBank::corrupt(std::uint64_t address, unsigned length) {
  const auto fault = static_cast<std::uint64_t>(fault_address_);
  if (fault >= address && fault < address + length) storage_[fault] ^= fault_mask_;
}

bool SramBank::get_direct_mem_ptr(int, tlm::tlm_generic_payload&, tlm::tlm_dmi& dmi) {
  dmi.set_dmi_ptr(storage_.data());
  dmi.set_start_address(0);
  dmi.set_end_address(storage_.size() - 1);
  dmi.allow_read_write();
  return true;
}

}  // namespace tilebeat
