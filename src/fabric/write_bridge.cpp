#include "fabric/write_bridge.h"

#include "base/types.h"
#include "tilebeat/error.h"

#include <algorithm>

#include <fmt/format.h>

namespace tilebeat {

WriteBridge::WriteBridge(sc_core::sc_module_name name, const SimContext& context, int bytes_per_clock,
                         int max_outstanding, int output_count, std::vector<Window> windows)
    : sc_module(name),
      socket("socket"),
      context_(context),
      bytes_per_clock_(bytes_per_clock),
      max_outstanding_(max_outstanding),
      windows_(std::move(windows)),
      under_way_(to_size(output_count)) {
  ledger.enter(Activity::kNoWork, 0);
  socket.register_nb_transport_fw(this, &WriteBridge::receive);
  for (int i = 0; i < output_count; ++i)
    outputs.push_back(
        std::make_unique<BurstPort>(fmt::format("output{}", i).c_str(), context, max_outstanding, wake_));
  SC_METHOD(step);
  sensitive << wake_;
  dont_initialize();
  if (Trace* trace = context_.trace(); trace != nullptr) {
    aw_signal_ = trace->add_signal(this->name(), "aw", 1);
    w_signal_ = trace->add_signal(this->name(), "w", 1);
    b_signal_ = trace->add_signal(this->name(), "b", 1);
  }
}

tlm::tlm_sync_enum WriteBridge::receive(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                        sc_core::sc_time&) {
  if (phase != tlm::BEGIN_REQ) return tlm::TLM_COMPLETED;
  std::vector<Route> routes = routes_of(payload.get_address(), payload.get_data_length());
  if (routes.empty() || !payload.is_write()) {
    payload.set_response_status(payload.is_write() ? tlm::TLM_ADDRESS_ERROR_RESPONSE
                                                   : tlm::TLM_COMMAND_ERROR_RESPONSE);
    return tlm::TLM_COMPLETED;
  }
  if (count_of(transfers_) >= max_outstanding_) {
    held_ = &payload;
    held_since_ = context_.clock.cycle_of(now_ps());
    held_routes_ = std::move(routes);
    return tlm::TLM_ACCEPTED;
  }
  accept(payload, std::move(routes));
  phase = tlm::END_REQ;
  return tlm::TLM_UPDATED;
}

// The outputs of a burst, and its addresses there; none: no window has it.
std::vector<WriteBridge::Route> WriteBridge::routes_of(std::uint64_t address, std::uint64_t bytes) const {
  std::vector<Route> routes;
  for (const Window& window : windows_) {
    if (address < window.begin) continue;
    std::uint64_t offset = address - window.begin, chosen = 1;
    if (window.offset_bits) {
      chosen = offset >> *window.offset_bits;
      offset &= (std::uint64_t{1} << *window.offset_bits) - 1;
    }
    if (offset + bytes > window.bytes || chosen >> window.targets.size() != 0) continue;
    for (int i = 0; i < count_of(window.targets); ++i) {
      if ((chosen >> i & 1) != 0) routes.push_back({i, nth(window.targets, i) + offset});
    }
    break;
  }
  return routes;
}

void WriteBridge::accept(tlm::tlm_generic_payload& payload, std::vector<Route> routes) {
  const Cycle now = context_.clock.cycle_of(now_ps());
  const auto bytes = to_signed(payload.get_data_length());
  const Cycle first = std::max(now + 1, data_free_);
  if (first > data_free_) data_begin_ = first;
  data_free_ = first + ceil_div<std::int64_t>(bytes, bytes_per_clock_);
  ++stats.transfers;
  stats.taken_bytes += bytes;
  stats.delivered_bytes += bytes * ssize(routes);
  Transfer transfer;
  transfer.payload = &payload;
  transfer.unanswered = count_of(routes);
  transfer.unsent = std::move(routes);
  transfer.taken = now;
  transfer.ready = data_free_;
  transfers_.push_back(std::move(transfer));
  if (Trace* trace = context_.trace(); trace != nullptr) {
    trace->change(aw_signal_, context_.clock.at(now + 1), 1);
    trace->change(aw_signal_, context_.clock.at(now + 2), 0);
    trace->change(w_signal_, context_.clock.at(first), 1);
    trace->change(w_signal_, context_.clock.at(data_free_), 0);
  }
  wake_.notify(to_sc_time(context_.clock.at(now + 1) - now_ps()));
}

void WriteBridge::step() {
  if (gate_.hold(context_.jitter)) return;
  const Cycle now = context_.clock.cycle_of(now_ps());
  take_responses(now);
  respond(now);
  send(now);
  ledger.enter(activity(now), now);
  schedule(now);
}

// The activity of cycle `now`, without arrivals in this cycle: whether they precede this step is undefined.
Activity WriteBridge::activity(Cycle now) const {
  if (now >= data_begin_ && now < data_free_) return Activity::kBusy;
  if (held_ != nullptr && held_since_ < now) return Activity::kOutstanding;
  return !transfers_.empty() && transfers_.front().taken < now ? Activity::kMemory : Activity::kNoWork;
}

// Transfers become ready in the order of arrival, the last one when the beats end.
void WriteBridge::schedule(Cycle now) {
  const auto next =
      std::find_if(transfers_.begin(), transfers_.end(), [now](const Transfer& t) { return t.ready > now; });
  if (next != transfers_.end()) wake_.notify(to_sc_time(context_.clock.at(next->ready) - now_ps()));
}

void WriteBridge::take_responses(Cycle now) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    while (outputs[i]->front_ready(now)) {
      outputs[i]->recycle(outputs[i]->take_front());
      ledger.explain(outputs[i]->trail(), now);
      Transfer& transfer = *under_way_[i].front();
      if (auto* extension = transfer.payload->get_extension<BurstExtension>())
        extension->trail.add(outputs[i]->trail());
      --transfer.unanswered;
      under_way_[i].pop_front();
    }
  }
}

// Sends the response of the oldest transfer if it has all of its own, one a cycle.
void WriteBridge::respond(Cycle now) {
  const auto answered = [this] { return !transfers_.empty() && transfers_.front().unanswered == 0; };
  if (!answered() || responded_at_ == now) return;
  responded_at_ = now;
  tlm::tlm_generic_payload& payload = *transfers_.front().payload;
  transfers_.pop_front();
  payload.set_response_status(tlm::TLM_OK_RESPONSE);
  if (Trace* trace = context_.trace(); trace != nullptr) {
    trace->change(b_signal_, context_.clock.at(now), 1);
    trace->change(b_signal_, context_.clock.at(now + 1), 0);
  }
  tlm::tlm_phase phase = tlm::BEGIN_RESP;
  sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
  socket->nb_transport_bw(payload, phase, delay);
  if (held_ != nullptr) {
    tlm::tlm_generic_payload& held = *held_;
    held_ = nullptr;
    note_wait(held, now, Activity::kOutstanding);
    accept(held, std::move(held_routes_));
    phase = tlm::END_REQ;
    socket->nb_transport_bw(held, phase, delay);
  }
  if (answered()) wake_.notify(to_sc_time(context_.clock.at(now + 1) - now_ps()));
}

void WriteBridge::send(Cycle now) {
  for (Transfer& transfer : transfers_) {
    if (transfer.ready > now) break;
    auto left = transfer.unsent.begin();
    for (Route& route : transfer.unsent) {
      BurstPort& port = *nth(outputs, route.output);
      // Writes of one output keep their order: one that waits holds back those behind it.
      if (!port.granted(now) || !port.has_room()) {
        *left++ = route;
        continue;
      }
      const auto bytes = to_int(transfer.payload->get_data_length());
      std::vector<std::uint8_t> data = port.buffer(bytes);
      std::copy_n(transfer.payload->get_data_ptr(), bytes, data.begin());
      port.issue(tlm::TLM_WRITE_COMMAND, route.address, bytes, std::move(data), now);
      note_wait(*transfer.payload, now, Activity::kBusLatency);
      nth(under_way_, route.output).push_back(&transfer);
      port.ledger.enter(Activity::kNoWork, now + 1);
    }
    transfer.unsent.erase(left, transfer.unsent.end());
  }
}

}  // namespace tilebeat
