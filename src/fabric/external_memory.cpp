#include "fabric/external_memory.h"

#include "fabric/burst.h"
#include "tilebeat/error.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>
#include <sysc/kernel/sc_dynamic_processes.h>

namespace tilebeat {
namespace {

void call_back(tlm_utils::passthrough_target_socket<ExternalMemory>& socket,
               tlm::tlm_generic_payload& payload, tlm::tlm_phase phase) {
  sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
  socket->nb_transport_bw(payload, phase, delay);
}

}  // namespace

ExternalMemory::ExternalMemory(const sc_core::sc_module_name& name, const SimContext& context, Port& memory,
                               int most)
    : sc_module(name), socket("socket"), context_(context), memory_(memory), most_(most) {
  socket.register_nb_transport_fw(this, &ExternalMemory::receive);
  socket.register_transport_dbg(this, &ExternalMemory::debug);
  ledger.enter(Activity::kNoWork, 0);
}

void ExternalMemory::withdraw(std::uint64_t begin, std::uint64_t end) {
  const auto overlaps = [&](const tlm::tlm_dmi& region) {
    return region.get_start_address() <= end && begin <= region.get_end_address();
  };
  granted_.erase(std::remove_if(granted_.begin(), granted_.end(), overlaps), granted_.end());
}

tlm::tlm_sync_enum ExternalMemory::receive(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                           sc_core::sc_time& delay) {
  if (phase != tlm::BEGIN_REQ || delay != sc_core::SC_ZERO_TIME || held_ != nullptr)
    throw SimulationError(
        fmt::format("{}: expected BEGIN_REQ without delay, not before the previous END_REQ", name()));
  if (under_way_ == most_) {
    held_ = &payload;
    return tlm::TLM_ACCEPTED;
  }
  begin(payload);
  phase = tlm::END_REQ;
  return tlm::TLM_UPDATED;
}

void ExternalMemory::begin(tlm::tlm_generic_payload& payload) {
  ++under_way_, ++stats.requests;
  ledger.enter(Activity::kBusy, std::max(ledger.settled_at(), context_.clock.cycle_of(now_ps())));
  waiting_.push_back(&payload);
  if (free_ < count_of(waiting_)) {
    ++workers_;
    sc_core::sc_spawn([this] { serve(); }, fmt::format("{}_worker{}", basename(), workers_).c_str());
  } else {
    arrived_.notify(sc_core::SC_ZERO_TIME);
  }
}

// A worker: serves requests one after the other.
void ExternalMemory::serve() {
  while (true) {
    while (waiting_.empty()) {
      ++free_;
      sc_core::wait(arrived_);
      --free_;
    }
    tlm::tlm_generic_payload& payload = *waiting_.front();
    waiting_.pop_front();
    const Picoseconds earliest = context_.clock.at(context_.clock.cycle_of(now_ps()) + 1);
    access(payload);
    if (now_ps() < earliest) sc_core::wait(to_sc_time(earliest - now_ps()));
    end(payload);
  }
}

void ExternalMemory::access(tlm::tlm_generic_payload& payload) {
  if (!access_directly(payload)) transport(payload);
  (payload.is_read() ? stats.read_bytes : stats.written_bytes) += payload.get_data_length();
}

bool ExternalMemory::access_directly(tlm::tlm_generic_payload& payload) {
  const std::uint64_t first = payload.get_address(), last = first + payload.get_data_length() - 1;
  const auto region = std::find_if(granted_.begin(), granted_.end(), [&](const tlm::tlm_dmi& granted) {
    return granted.get_start_address() <= first && last <= granted.get_end_address() &&
           (payload.is_read() ? granted.is_read_allowed() : granted.is_write_allowed());
  });
  if (region == granted_.end()) return false;
  unsigned char* const bytes = region->get_dmi_ptr() + (first - region->get_start_address());
  const sc_core::sc_time latency =
      payload.is_read() ? region->get_read_latency() : region->get_write_latency();
  if (payload.is_read())
    std::memcpy(payload.get_data_ptr(), bytes, payload.get_data_length());
  else
    std::memcpy(bytes, payload.get_data_ptr(), payload.get_data_length());
  ++stats.direct;
  sc_core::wait(latency);
  return true;
}

void ExternalMemory::transport(tlm::tlm_generic_payload& payload) {
  tlm::tlm_generic_payload access;  // without the extensions of this fabric
  access.set_command(payload.get_command());
  access.set_address(payload.get_address());
  access.set_data_ptr(payload.get_data_ptr());
  access.set_data_length(payload.get_data_length());
  access.set_streaming_width(payload.get_data_length());
  sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
  memory_->b_transport(access, delay);
  sc_core::wait(delay);
  if (access.is_response_error())
    throw SimulationError(fmt::format("{}: the memory answered {} to {} of {} bytes at {:#x}", name(),
                                      access.get_response_string(), payload.is_read() ? "a read" : "a write",
                                      payload.get_data_length(), payload.get_address()));
  if (!access.is_dmi_allowed()) return;
  tlm::tlm_dmi granted;
  access.set_address(payload.get_address());
  if (!memory_->get_direct_mem_ptr(access, granted)) return;
  constexpr std::size_t kMostRegions = 64;
  withdraw(granted.get_start_address(), granted.get_end_address());  // another worker may have asked as well
  if (granted_.size() == kMostRegions) granted_.erase(granted_.begin());
  granted_.push_back(granted);
}

void ExternalMemory::end(tlm::tlm_generic_payload& payload) {
  const Cycle now = context_.clock.round_up(now_ps());
  note_wait(payload, now, Activity::kDataLatency);
  payload.set_response_status(tlm::TLM_OK_RESPONSE);
  --under_way_;
  if (under_way_ == 0 && held_ == nullptr) ledger.enter(Activity::kNoWork, now);
  call_back(socket, payload, tlm::BEGIN_RESP);
  if (held_ == nullptr) return;
  tlm::tlm_generic_payload& next = *held_;
  held_ = nullptr;
  note_wait(next, now, Activity::kTargetQueue);
  begin(next);
  call_back(socket, next, tlm::END_REQ);
}

}  // namespace tilebeat
