#include "fabric/burst_port.h"

#include "fabric/burst.h"
#include "tilebeat/error.h"

#include <algorithm>

#include <fmt/format.h>

namespace tilebeat {

BurstPort::BurstPort(const char* name, const SimContext& context, int max_outstanding,
                     sc_core::sc_event& changed)
    : socket(name), context_(context), max_outstanding_(max_outstanding), changed_(changed) {
  socket.register_nb_transport_bw(this, &BurstPort::nb_transport_bw);
}

void BurstPort::notify_next_clock() {
  const Cycle next = context_.clock.cycle_of(now_ps()) + 1;
  changed_.notify(to_sc_time(context_.clock.at(next) - now_ps()));
}

void BurstPort::issue(tlm::tlm_command command, std::uint64_t address, int bytes,
                      std::vector<std::uint8_t> data, Cycle now) {
  ledger.enter(Activity::kBusy, now);
  data.resize(to_size(bytes));
  under_way_.push_back({std::move(data), nullptr, -1});
  Burst& burst = under_way_.back();
  burst.payload = &pool_.acquire(command, address, burst.data.data(), bytes);
  ungranted_ = true;
  waits_for_ = Activity::kBusGrant;
  tlm::tlm_phase phase = tlm::BEGIN_REQ;
  sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
  const tlm::tlm_sync_enum answer = socket->nb_transport_fw(*burst.payload, phase, delay);
  if (answer == tlm::TLM_COMPLETED) {  // refused at once, for example outside the address map
    ungranted_ = false;
    granted_at_ = now;
    mark_completed(*burst.payload);
  } else if (answer == tlm::TLM_UPDATED && phase == tlm::END_REQ) {
    ungranted_ = false;
    granted_at_ = now;
  }
}

tlm::tlm_sync_enum BurstPort::nb_transport_bw(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                              sc_core::sc_time&) {
  if (phase == tlm::END_REQ) {
    ungranted_ = false;
    granted_at_ = context_.clock.cycle_of(now_ps());
    notify_next_clock();
    return tlm::TLM_ACCEPTED;
  }
  if (phase == kStillWaiting) {
    waits_for_ = BurstPool::extension(payload).waits_for;
    notify_next_clock();
    return tlm::TLM_ACCEPTED;
  }
  mark_completed(payload);
  return tlm::TLM_COMPLETED;
}

void BurstPort::mark_completed(const tlm::tlm_generic_payload& payload) {
  const auto found = std::find_if(under_way_.begin(), under_way_.end(),
                                  [&](const Burst& b) { return b.payload == &payload; });
  found->completed = context_.clock.cycle_of(now_ps());
  notify_next_clock();
}

std::deque<BurstPort::Burst>::const_iterator BurstPort::oldest(tlm::tlm_command direction) const {
  return std::find_if(under_way_.begin(), under_way_.end(),
                      [direction](const Burst& b) { return b.payload->get_command() == direction; });
}

bool BurstPort::ready(tlm::tlm_command direction, Cycle now) const {
  const auto burst = oldest(direction);
  return burst != under_way_.end() && burst->completed >= 0 && burst->completed < now;
}

std::vector<std::uint8_t> BurstPort::take(tlm::tlm_command direction) {
  const auto place = under_way_.begin() + (oldest(direction) - under_way_.cbegin());
  Burst burst = std::move(*place);
  under_way_.erase(place);
  return finish(std::move(burst));
}

std::vector<std::uint8_t> BurstPort::take_front() {
  Burst burst = std::move(under_way_.front());
  under_way_.pop_front();
  return finish(std::move(burst));
}

std::vector<std::uint8_t> BurstPort::finish(Burst burst) {
  const tlm::tlm_response_status status = burst.payload->get_response_status();
  const std::uint64_t address = burst.payload->get_address();
  std::swap(trail_, BurstPool::extension(*burst.payload).trail);
  ledger.explain(trail_, context_.clock.cycle_of(now_ps()));
  burst.payload->release();
  if (status != tlm::TLM_OK_RESPONSE) {
    const char* const what = status == tlm::TLM_COMMAND_ERROR_RESPONSE ? "nothing can be read" : "no memory";
    throw SimulationError(
        fmt::format("{}: {} at address {:#x} ({} bytes)", socket.name(), what, address, burst.data.size()));
  }
  return std::move(burst.data);
}

std::vector<std::uint8_t> BurstPort::buffer(int bytes) {
  if (spare_.empty()) return std::vector<std::uint8_t>(to_size(bytes));
  std::vector<std::uint8_t> data = std::move(spare_.back());
  spare_.pop_back();
  data.resize(to_size(bytes));
  return data;
}

tlm::tlm_generic_payload& BurstPool::acquire(tlm::tlm_command command, std::uint64_t address,
                                             std::uint8_t* data, int bytes) {
  if (unused_.empty()) {
    all_.push_back(std::make_unique<tlm::tlm_generic_payload>(this));
    all_.back()->set_extension(new BurstExtension);  // the payload owns it and frees it in its destructor
    unused_.push_back(all_.back().get());
  }
  tlm::tlm_generic_payload& burst = *unused_.back();
  unused_.pop_back();
  burst.acquire();
  burst.set_command(command);
  burst.set_address(address);
  burst.set_data_ptr(data);
  burst.set_data_length(static_cast<unsigned>(bytes));
  burst.set_streaming_width(static_cast<unsigned>(bytes));
  burst.set_byte_enable_ptr(nullptr);
  burst.set_dmi_allowed(false);
  burst.set_response_status(tlm::TLM_INCOMPLETE_RESPONSE);
  burst.get_extension<BurstExtension>()->trail.clear();
  return burst;
}

BurstExtension& BurstPool::extension(const tlm::tlm_generic_payload& burst) {
  BurstExtension* extension = burst.get_extension<BurstExtension>();
  if (extension == nullptr) {
    throw SimulationError(
        fmt::format("a burst at address {:#x} carries no BurstExtension; take it from a BurstPool",
                    to_unsigned(burst.get_address())));
  }
  return *extension;
}

}  // namespace tilebeat
