#include "fabric/sram_bank.h"

#include "base/copy_word.h"
#include "fabric/sparse_memory.h"
#include "sim/upset.h"
#include "tilebeat/error.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace tilebeat {
namespace {

constexpr std::size_t kPage = 4096, kCacheLine = 64;

// A bank's offset in its first page: one cache line behind that of its older sibling.
std::size_t first_byte(const sc_core::sc_object& bank) {
  const auto& siblings = bank.get_parent_object() == nullptr ? sc_core::sc_get_top_level_objects()
                                                             : bank.get_parent_object()->get_child_objects();
  return siblings.size() * kCacheLine % kPage;
}

}  // namespace

SramBank::SramBank(sc_core::sc_module_name name, const SimContext& context, std::int64_t size_bytes,
                   int port_count, int regions, BankPlace place)
    : sc_module(name),
      ports("port", to_size(port_count)),
      context_(context),
      place_(std::move(place)),
      period_ps_(context.clock.period_ps()),
      region_bytes_(to_unsigned(size_bytes / regions)),
      size_bytes_(to_unsigned(size_bytes)) {
  for (int i = 0; i < port_count; ++i) ports_.emplace_back(PortUse(this->name(), i, period_ps_));
  // Banks of one memory are accessed at the same address in the same cycle. Each begins in another cache line
  // of its page, or all of these accesses would fall into the same few sets of the machine's cache.
  cells_ = zero_pages(to_size(size_bytes) + kPage) + first_byte(*this);
  if (!place_.row) place_ = {std::make_shared<TimedWrites>(1), 0};
  place_.row->join(place_.number, *this);
  for (std::size_t i = 0; i < ports_.size(); ++i) {
    ports_[i].bank = this;
    ports[i].bind(ports_[i]);
  }
}

void SramBank::trace_port(const std::string& scope, const std::string& signal, int port, int word_bytes,
                          int address_unit, Shown shown) {
  Trace* const trace = context_.trace();
  if (trace == nullptr) return;
  nth(ports_, port).trace.emplace(*trace, scope, signal, word_bytes, address_unit, shown, period_ps_);
}

void SramBank::inject_fault(std::int64_t address, std::uint8_t mask) {
  fault_address_ = address;
  fault_mask_ = mask;
  withdraw_all();
}

void SramBank::upset(std::int64_t address, std::uint8_t mask, Cycle at) {
  withdraw_all();
  call_before(context_.clock, at, [this, address = to_unsigned(address), mask] {
    place_.row->commit(static_cast<Picoseconds>(simcontext()->time_stamp().value()));
    cells_[address] ^= mask;
    withdraw_written(address, address + 1);
  });
}

void SramBank::clear() {
  place_.row->commit(static_cast<Picoseconds>(simcontext()->time_stamp().value()));
  std::memset(cells_, 0, size_bytes_);
  written(0, size_bytes_);
}

// Withdraws all direct access, because from now on the bank must hear of all writes.
void SramBank::withdraw_all() {
  has_fault_ = true;
  granted_regions_ = exclusive_regions_ = 0;
  watch();
  for (auto& port : ports) port->invalidate_direct_mem_ptr(0, size_bytes_ - 1);
}

void SramBank::access(Port& port, tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
  const std::uint64_t address = payload.get_address();
  const unsigned length = payload.get_data_length();
  if (address + length > size_bytes_) {
    payload.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
    return;
  }
  const auto now = static_cast<Picoseconds>(simcontext()->time_stamp().value());
  const Picoseconds at = now + to_signed(delay.value());
  port.use.access(at, address, length);
  place_.row->commit(now);
  if (payload.get_command() == tlm::TLM_WRITE_COMMAND) {
    store(port, payload, at, now);
  } else {
    copy_word(payload.get_data_ptr(), cells_ + address, length);
    if (at > now) place_.row->look_ahead(place_.number, address, payload.get_data_ptr(), length, at);
  }
  if (port.trace) trace_access(port, payload, at);
  payload.set_response_status(tlm::TLM_OK_RESPONSE);
}

// Writes the data of an access that is made at time `at`.
void SramBank::store(const Port& port, const tlm::tlm_generic_payload& payload, Picoseconds at,
                     Picoseconds now) {
  const std::uint64_t address = payload.get_address();
  const unsigned length = payload.get_data_length();
  const bool is_watched = watched_begin_ < address + length && address < watched_end_;
  if (at > now) {
    // Who reads without transports hears of the write now, and again when it is made if he has asked by then.
    if (is_watched) withdraw_written(address, address + length);
    WriteRun word;
    word.due = at, word.address = address;
    word.bank = static_cast<std::uint32_t>(place_.number);
    word.word_bytes = length;
    word.port = static_cast<std::uint8_t>(port.use.port());
    place_.row->add(word, payload.get_data_ptr());
    return;
  }
  copy_word(cells_ + address, payload.get_data_ptr(), length);
  if (is_watched) written(address, address + length);
}

void SramBank::trace_access(Port& port, const tlm::tlm_generic_payload& payload, Picoseconds at) {
  const std::uint64_t address = payload.get_address();
  const std::uint8_t* const bytes = payload.get_data_ptr();
  if (payload.is_read()) return port.trace->access(at, address, bytes, payload.get_data_length());
  // What a stuck cell makes of a write is shown.
  shown_.assign(bytes, bytes + payload.get_data_length());
  falsify(address, address + shown_.size(), shown_.data());
  port.trace->access(at, address, shown_.data(), shown_.size());
}

// After a write: applies the faulty cell, and withdraws direct access to changed regions.
void SramBank::written(std::uint64_t begin, std::uint64_t end) {
  falsify(begin, end, cells_ + begin);
  withdraw_written(begin, end);
}

void SramBank::falsify(std::uint64_t begin, std::uint64_t end, std::uint8_t* bytes) const {
  const auto fault = to_unsigned(fault_address_);
  if (fault_mask_ != 0 && fault >= begin && fault < end) bytes[fault - begin] ^= fault_mask_;
}

void SramBank::withdraw_written(std::uint64_t begin, std::uint64_t end) {
  for (std::uint64_t region = begin / region_bytes_; region < 32 && region * region_bytes_ < end; ++region) {
    if ((granted_regions_ >> region & 1) != 0) withdraw(region);
  }
}

// Watches the bytes whose writes change more than cells: those that are granted, and a faulty one.
void SramBank::watch() {
  watched_begin_ = size_bytes_, watched_end_ = 0;
  const auto add = [this](std::uint64_t begin, std::uint64_t end) {
    watched_begin_ = std::min(watched_begin_, begin), watched_end_ = std::max(watched_end_, end);
  };
  for (std::uint64_t region = 0; region < 32; ++region) {
    if ((granted_regions_ >> region & 1) != 0) add(region * region_bytes_, (region + 1) * region_bytes_);
  }
  if (fault_mask_ != 0) add(to_unsigned(fault_address_), to_unsigned(fault_address_) + 1);
}

// Withdraws direct access to a region; notifies all ports except `but`, which knows already.
void SramBank::withdraw(std::uint64_t region, const Port* but) {
  granted_regions_ &= ~(std::uint32_t{1} << region);
  exclusive_regions_ &= ~(std::uint32_t{1} << region);
  watch();
  for (std::size_t i = 0; i < ports_.size(); ++i) {
    if (&ports_[i] != but)
      ports[i]->invalidate_direct_mem_ptr(region * region_bytes_, (region + 1) * region_bytes_ - 1);
  }
}

// Notes a grant and withdraws those that it excludes; false when the bank must see all writes.
bool SramBank::grant(const Port& port, tlm::tlm_command command, std::uint64_t region) {
  const bool exclusive = command == tlm::TLM_WRITE_COMMAND;
  if (exclusive && (has_fault_ || context_.trace() != nullptr)) return false;
  const std::uint32_t bit = std::uint32_t{1} << region;
  const std::uint32_t excluded = exclusive ? granted_regions_ | exclusive_regions_ : exclusive_regions_;
  if ((excluded & bit) != 0) withdraw(region, &port);
  (exclusive ? exclusive_regions_ : granted_regions_) |= bit;
  watch();
  return true;
}

tlm::tlm_sync_enum SramBank::Port::nb_transport_fw(tlm::tlm_generic_payload&, tlm::tlm_phase&,
                                                   sc_core::sc_time&) {
  throw SimulationError(std::string(bank->name()) + ": a bank's port takes blocking transports only");
}

bool SramBank::Port::get_direct_mem_ptr(tlm::tlm_generic_payload& payload, tlm::tlm_dmi& dmi) {
  bank->place_.row->commit(now_ps());
  auto* const direct = payload.get_extension<DirectAccess>();
  if (direct != nullptr) {
    direct->row = bank->place_.row.get();
    direct->use = &use;
    direct->bank = static_cast<std::uint32_t>(bank->place_.number);
    direct->port = static_cast<std::uint8_t>(use.port());
  }
  if (direct != nullptr && direct->keeps == DirectAccess::Keeps::kNothing) {
    direct->trace = trace ? &*trace : nullptr;
    dmi.set_dmi_ptr(bank->cells_);
    dmi.set_start_address(0);
    dmi.set_end_address(bank->size_bytes_ - 1);
    dmi.allow_read();
    return true;
  }
  const std::uint64_t region = payload.get_address() / bank->region_bytes_;
  if (payload.get_address() >= bank->size_bytes_) return false;
  if (!bank->grant(*this, payload.get_command(), region)) return false;
  dmi.set_dmi_ptr(bank->cells_ + region * bank->region_bytes_);
  dmi.set_start_address(region * bank->region_bytes_);
  dmi.set_end_address((region + 1) * bank->region_bytes_ - 1);
  if (bank->has_fault_)
    dmi.allow_read();  // writes must pass the faulty cell
  else
    dmi.allow_read_write();
  return true;
}

unsigned SramBank::Port::transport_dbg(tlm::tlm_generic_payload& payload) {
  const std::uint64_t address = payload.get_address();
  const unsigned length = payload.get_data_length();
  if (address + length > bank->size_bytes_) return 0;
  bank->place_.row->commit(now_ps());
  std::uint8_t* cell = bank->cells_ + address;
  if (payload.is_write()) {
    std::memcpy(cell, payload.get_data_ptr(), length);
    bank->written(address, address + length);
  } else {
    std::memcpy(payload.get_data_ptr(), cell, length);
  }
  return length;
}

}  // namespace tilebeat
