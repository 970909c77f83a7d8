#include "fabric/interconnect.h"

#include "sim/context.h"
#include "tilebeat/error.h"

#include <algorithm>
#include <functional>
#include <limits>

#include <fmt/format.h>

namespace tilebeat {
namespace {

constexpr Cycle kNever = std::numeric_limits<Cycle>::max();
constexpr int kNoPort = -1;

}  // namespace

Interconnect::Interconnect(const sc_core::sc_module_name& name, const InterconnectConfig& config,
                           const SimContext& context, const std::vector<std::string>& port_names,
                           const std::vector<AddressRange>& map)
    : sc_module(name),
      initiator_ports("initiator", port_names.size()),
      config_(config),
      context_(context),
      ports_(port_names.size()),
      asking_(port_names.size()) {
  const auto require = [](int value, const char* key) {
    if (value < 1) throw UserError(fmt::format("interconnect: {} is {} and must be at least 1", key, value));
  };
  require(config.bytes_per_clock, "bytes_per_clock");
  require(config.request_cycles, "request_cycles");
  require(config.response_cycles, "response_cycles");
  require(config.max_outstanding, "max_outstanding");
  build_map(map);
  target_ports.init(targets_.size());
  for (int port = 0; port < ports(); ++port) {
    const auto index = to_size(port);
    auto& socket = initiator_ports[index];
    socket.register_nb_transport_fw(this, &Interconnect::receive_request, port);
    socket.register_transport_dbg(this, &Interconnect::debug, port);
    socket.register_get_direct_mem_ptr(this, &Interconnect::direct_memory, port);
    ports_[index].statistics.name = port_names[index];
    declare_signals(ports_[index]);
  }
  for (int target = 0; target < count_of(targets_); ++target) {
    auto& socket = nth(target_ports, target);
    socket.register_nb_transport_bw(this, &Interconnect::receive_answer, target);
    socket.register_invalidate_direct_mem_ptr(this, &Interconnect::invalidate_direct_memory, target);
  }
  SC_HAS_PROCESS(Interconnect);
  SC_METHOD(grant_phase);
  sensitive << grant_event_;
  dont_initialize();
  SC_METHOD(delivery_phase);
  sensitive << delivery_event_;
  dont_initialize();
}

void Interconnect::build_map(const std::vector<AddressRange>& map) {
  map_ = map;
  std::sort(map_.begin(), map_.end(),
            [](const AddressRange& a, const AddressRange& b) { return a.begin < b.begin; });
  int targets = 0;
  for (std::size_t i = 0; i < map_.size(); ++i) {
    if (map_[i].begin >= map_[i].end || map_[i].target < 0 || (i > 0 && map_[i].begin < map_[i - 1].end)) {
      throw SimulationError(fmt::format("{}: address range {:#x} to {:#x} is empty or overlaps another",
                                        name(), map_[i].begin, map_[i].end));
    }
    targets = std::max(targets, map_[i].target + map_[i].targets);
  }
  for (int target = 0; target < targets; ++target) {
    if (std::none_of(map_.begin(), map_.end(), [target](const AddressRange& r) {
          return target >= r.target && target < r.target + r.targets;
        })) {
      throw SimulationError(fmt::format("{}: no address range belongs to target {}", name(), target));
    }
  }
  targets_.resize(to_size(targets));
  for (const AddressRange& range : map_) {
    for (int i = 0; i < range.targets; ++i) {
      Target& target = nth(targets_, range.target + i);
      target.bytes_per_clock = range.bytes_per_clock;
      if (range.bytes_per_clock > 0) target.name = fmt::format("{}{}", range.port, i);
    }
  }
  winners_.resize(targets_.size());
}

std::optional<AddressRange> Interconnect::find(std::uint64_t address) const {
  const auto behind = std::upper_bound(map_.begin(), map_.end(), address,
                                       [](std::uint64_t at, const AddressRange& r) { return at < r.begin; });
  if (behind == map_.begin() || address >= std::prev(behind)->end) return std::nullopt;
  AddressRange range = *std::prev(behind);
  if (range.targets == 1) return range;
  const std::uint64_t granule = (address - range.begin) / range.granule;
  range.begin += granule * range.granule;
  range.end = std::min(range.end, range.begin + range.granule);
  range.target += to_int(granule % to_unsigned(range.targets));
  return range;
}

// --- phase kAct: requests and answers come in
// -----------------------------------------------------------------------

tlm::tlm_sync_enum Interconnect::receive_request(int port_index, Payload& payload, tlm::tlm_phase& phase,
                                                 sc_core::sc_time& delay) {
  Port& port = nth(ports_, port_index);
  if (phase == tlm::END_RESP) return tlm::TLM_COMPLETED;
  const Picoseconds now = now_ps();
  const Cycle cycle = context_.clock.cycle_of(now);
  if (phase != tlm::BEGIN_REQ || delay != sc_core::SC_ZERO_TIME || port.request != nullptr ||
      now != context_.clock.at(cycle)) {
    throw SimulationError(
        fmt::format("{}: port {} expects BEGIN_REQ at a clock edge, not before the previous END_REQ", name(),
                    port.statistics.name));
  }
  const std::uint64_t address = payload.get_address();
  const std::uint64_t bytes = payload.get_data_length();
  const std::optional<AddressRange> range = find(address);
  if (!range || bytes == 0 || bytes > range->end - address) {
    ++port.statistics.decode_errors;
    payload.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
    return tlm::TLM_COMPLETED;
  }
  BurstExtension& extension = BurstPool::extension(payload);
  extension.initiator = PortId(port_index);
  extension.issued_at = now;
  extension.id = port.bursts++;
  extension.waits_for = Activity::kBusGrant;
  extension.beats = to_int(ceil_div<std::uint64_t>(bytes, static_cast<unsigned>(config_.bytes_per_clock)));
  port.request = &payload;
  asking_.insert(to_size(port_index));
  port.issued = cycle;
  port.target = range->target;
  if (context_.trace() != nullptr) trace_request(port, payload, cycle);
  request_grant_phase(cycle);
  return tlm::TLM_ACCEPTED;
}

tlm::tlm_sync_enum Interconnect::receive_answer(int target_index, Payload& payload, tlm::tlm_phase& phase,
                                                sc_core::sc_time& delay) {
  Target& target = nth(targets_, target_index);
  const Cycle from = context_.clock.round_up(now_ps() + static_cast<Picoseconds>(delay.value()));
  if (phase == tlm::END_REQ) {
    accept(target, from);
    return tlm::TLM_ACCEPTED;
  }
  if (phase != tlm::BEGIN_RESP) {
    throw SimulationError(
        fmt::format("{}: target {} sent neither END_REQ nor BEGIN_RESP", name(), target_index));
  }
  if (target.unaccepted == &payload) accept(target, from);
  answer(target_index, payload, from);
  return tlm::TLM_COMPLETED;
}

void Interconnect::accept(Target& target, Cycle from) {
  target.unaccepted = nullptr;
  target.free_from = from;
  request_grant_phase(from);
}

void Interconnect::answer(int target, Payload& payload, Cycle taken_over) {
  // Sorted by processing order; a new response mostly comes last.
  auto place = responses_.end();
  for (; place != responses_.begin(); --place) {
    const Response& before = *std::prev(place);
    if (before.taken_over < taken_over || (before.taken_over == taken_over && before.target <= target)) break;
  }
  responses_.insert(place, {taken_over, target, &payload});
  request_grant_phase(taken_over);
}

void Interconnect::request_grant_phase(Cycle at) {
  // An event keeps the earliest of its notifications.
  grant_event_.notify(to_sc_time(context_.clock.at(at, Phase::kGrant) - now_ps()));
}

// --- phase kGrant
// ---------------------------------------------------------------------------------------------------

void Interconnect::grant_phase() {
  if (grant_gate_.hold(context_.jitter)) return;
  const Cycle now = context_.clock.cycle_of(now_ps());
  take_over_responses(now);
  send_to_targets(now);
  arbitrate(now);
  note_waiting(now);
  plan_next_grant(now);
}

void Interconnect::take_over_responses(Cycle now) {
  if (responses_.empty()) return;
  auto response = responses_.begin();
  for (; response != responses_.end() && response->taken_over <= now; ++response) stream(*response);
  responses_.erase(responses_.begin(), response);
  if (!deliveries_.empty()) {
    delivery_event_.notify(to_sc_time(context_.clock.at(deliveries_.front().at) - now_ps()));
  }
}

void Interconnect::stream(const Response& response) {
  BurstExtension& extension = BurstPool::extension(*response.payload);
  Port& port = nth(ports_, extension.initiator.value());
  Lane& lane = response.payload->is_read() ? port.read : port.write;
  account(lane, response.taken_over);
  // the cause where the target has given none
  extension.trail.add(response.taken_over, Activity::kDataLatency);
  lane.ledger.explain(extension.trail, response.taken_over, extension.at_target);
  --lane.at_target;
  Cycle earliest = response.taken_over + config_.response_cycles;
  Cycle last = 0;
  if (response.payload->is_read()) {
    Target& target = nth(targets_, response.target);
    const Cycle leaves = std::max(response.taken_over, target.read_from);
    target.read_from = leaves + target.data_cycles(response.payload->get_data_length());
    if (target.bytes_per_clock > 0) target.read.add_beats(leaves, target.read_from - leaves);
    earliest = std::max(leaves, target.read_from - extension.beats) + config_.response_cycles;
    extension.first_beat = std::max(earliest, port.read.free_from);
    last = extension.first_beat + extension.beats - 1;
    port.read.free_from = last + 1;
    port.read.ledger.add_beats(extension.first_beat, extension.beats);
    upset_beats(lane, *response.payload, extension.first_beat);
    trace_beats(port, *response.payload, extension.first_beat, extension.beats);
  } else {
    extension.first_beat = std::max(earliest, port.reply_free_from);
    last = extension.first_beat;
    port.reply_free_from = last + 1;
  }
  deliveries_.push_back({last, extension.initiator.value(), extension.id, response.payload});
  std::push_heap(deliveries_.begin(), deliveries_.end(), std::greater<>());
}

void Interconnect::send_to_targets(Cycle now) {
  for (std::size_t index = 0; index < targets_.size(); ++index) {
    Target& target = targets_[index];
    if (target.blocked(now) || target.travelling.empty() || target.travelling.front().due > now) continue;
    Payload& payload = *target.travelling.front().payload;
    std::pop_heap(target.travelling.begin(), target.travelling.end(), std::greater<>());
    target.travelling.pop_back();
    send(to_int(index), payload, now);
  }
}

void Interconnect::send(int index, Payload& payload, Cycle now) {
  Target& target = nth(targets_, index);
  Lane& lane = lane_of(payload);
  account(lane, now);
  ++lane.at_target;
  BurstExtension& extension = BurstPool::extension(payload);
  extension.at_target = now;
  extension.trail.add(now, Activity::kTargetQueue);
  target.unaccepted = &payload;
  tlm::tlm_phase phase = tlm::BEGIN_REQ;
  sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
  const tlm::tlm_sync_enum status = nth(target_ports, index)->nb_transport_fw(payload, phase, delay);
  if (status == tlm::TLM_ACCEPTED) return;
  // Accepted in the return value: without a delay this counts in the same cycle.
  const Cycle from = context_.clock.round_up(now_ps() + static_cast<Picoseconds>(delay.value()));
  target.unaccepted = nullptr;
  target.free_from = delay == sc_core::SC_ZERO_TIME ? now : from;
  if (status == tlm::TLM_COMPLETED || phase == tlm::BEGIN_RESP) answer(index, payload, from);
}

void Interconnect::arbitrate(Cycle now) {
  std::fill(winners_.begin(), winners_.end(), kNoPort);
  asking_.for_each([&](std::size_t index) {
    const Port& port = ports_[index];
    if (port.outstanding >= config_.max_outstanding) return;
    const auto target = to_size(port.target);
    if (targets_[target].blocked(now)) return;
    int& winner = winners_[target];
    if (winner == kNoPort || port.issued < nth(ports_, winner).issued) winner = to_int(index);
  });
  for (const int winner : winners_) {
    if (winner != kNoPort) grant(winner, now);
  }
}

void Interconnect::grant(int index, Cycle now) {
  Port& port = nth(ports_, index);
  Payload& payload = *port.request;
  Lane& lane = payload.is_read() ? port.read : port.write;
  account(lane, now);
  BurstExtension& extension = BurstPool::extension(payload);
  extension.trail.add(now, extension.waits_for);
  lane.waiting = false;
  ++lane.under_way;
  ++port.outstanding;
  ++port.statistics.granted;
  port.request = nullptr;
  asking_.erase(to_size(index));
  Target& target = nth(targets_, port.target);
  Cycle due = now + config_.request_cycles;
  if (!payload.is_read()) {
    const int beats = extension.beats;
    const Cycle first_beat = std::max(now + 1, lane.free_from);
    lane.free_from = first_beat + beats;
    const Cycle arrives = std::max(first_beat + config_.request_cycles, target.write_from);
    const Cycle data_cycles = target.data_cycles(payload.get_data_length());
    due = std::max(lane.free_from - 1 + config_.request_cycles, arrives + data_cycles - 1);
    target.write_from = target.bytes_per_clock > 0 ? due + 1 : 0;
    if (target.bytes_per_clock > 0) target.write.add_beats(due + 1 - data_cycles, data_cycles);
    lane.ledger.add_beats(first_beat, beats);
    upset_beats(lane, payload, first_beat);
    trace_beats(port, payload, first_beat, beats);
  }
  extension.trail.add(due, Activity::kBusLatency);
  auto& travelling = target.travelling;
  travelling.push_back({due, grants_++, &payload});
  std::push_heap(travelling.begin(), travelling.end(), std::greater<>());
  if (context_.trace() != nullptr) trace_grant(port, now);
  tlm::tlm_phase phase = tlm::END_REQ;
  sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
  nth(initiator_ports, index)->nb_transport_bw(payload, phase, delay);
}

void Interconnect::note_waiting(Cycle now) {
  asking_.for_each([&](std::size_t index) {
    Port& port = ports_[index];
    Lane& lane = port.request->is_read() ? port.read : port.write;
    account(lane, now);
    lane.waiting = true;
    if (port.outstanding >= config_.max_outstanding) {
      lane.cause = Activity::kOutstanding;
    } else if (nth(targets_, port.target).blocked(now)) {
      lane.cause = Activity::kTargetQueue;
    } else {
      lane.cause = Activity::kBusGrant;
    }
    BurstExtension& extension = BurstPool::extension(*port.request);
    if (extension.waits_for == lane.cause) return;
    extension.trail.add(now, extension.waits_for);
    extension.waits_for = lane.cause;
    tlm::tlm_phase phase = kStillWaiting;
    sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
    initiator_ports[index]->nb_transport_bw(*port.request, phase, delay);
  });
}

void Interconnect::plan_next_grant(Cycle now) {
  Cycle next = kNever;
  if (!responses_.empty()) next = responses_.front().taken_over;
  for (const Target& target : targets_) {
    // A target that withholds END_REQ is considered again when it sends it.
    if (target.unaccepted != nullptr) continue;
    if (target.free_from > now) next = std::min(next, target.free_from);
    if (!target.travelling.empty()) next = std::min(next, std::max(now + 1, target.travelling.front().due));
  }
  asking_.for_each([&](std::size_t index) {
    // A port at its limit is considered again when a response is delivered.
    const Port& port = ports_[index];
    const bool lost = port.outstanding < config_.max_outstanding && !nth(targets_, port.target).blocked(now);
    if (lost) next = std::min(next, now + 1);
  });
  if (next != kNever) request_grant_phase(next);
}

bool Interconnect::upset(const std::string& port, std::int64_t byte, std::uint8_t mask, Cycle at) {
  if (byte >= config_.bytes_per_clock) return false;
  for (const Port& of : ports_) {
    for (const Lane* lane : {&of.read, &of.write}) {
      if (port != of.statistics.name + (lane == &of.read ? ".read" : ".write")) continue;
      upsets_.push_back({lane, at, to_unsigned(byte), mask});
      return true;
    }
  }
  return false;
}

// Flips what is to flip in the beats of a burst, from the cycle of the first one on.
void Interconnect::upset_beats(const Lane& lane, Payload& payload, Cycle first_beat) const {
  for (const BusUpset& upset : upsets_) {
    if (upset.lane != &lane || upset.at < first_beat) continue;
    const std::uint64_t byte =
        to_unsigned(upset.at - first_beat) * to_unsigned(config_.bytes_per_clock) + upset.byte;
    if (byte < payload.get_data_length()) payload.get_data_ptr()[byte] ^= upset.mask;
  }
}

// --- phase kAct: responses go out
// -----------------------------------------------------------------------------------

void Interconnect::delivery_phase() {
  if (delivery_gate_.hold(context_.jitter)) return;
  const Cycle now = context_.clock.cycle_of(now_ps());
  while (!deliveries_.empty() && deliveries_.front().at <= now) {
    const Delivery delivery = deliveries_.front();
    std::pop_heap(deliveries_.begin(), deliveries_.end(), std::greater<>());
    deliveries_.pop_back();
    deliver(delivery);
  }
  if (!deliveries_.empty()) {
    delivery_event_.notify(to_sc_time(context_.clock.at(deliveries_.front().at) - now_ps()));
  }
}

namespace {

// Shows a burst from its request to `end`.
void show_burst(Timeline& timeline, const std::string& track, const tlm::tlm_generic_payload& payload,
                Picoseconds end) {
  Slice slice{fmt::format("{} {} B @{:#x}", payload.is_read() ? "read" : "write", payload.get_data_length(),
                          to_unsigned(payload.get_address())),
              BurstPool::extension(payload).issued_at, end};
  slice.bytes = to_signed(payload.get_data_length());
  timeline.slice(track, slice);
}

}  // namespace

void Interconnect::deliver(const Delivery& delivery) {
  Port& port = nth(ports_, delivery.port);
  Payload& payload = *delivery.payload;
  Lane& lane = payload.is_read() ? port.read : port.write;
  account(lane, delivery.at);
  --lane.under_way;
  --port.outstanding;
  const auto bytes = to_signed(payload.get_data_length());
  (payload.is_read() ? port.statistics.read_bytes : port.statistics.write_bytes) += bytes;
  ++(payload.is_read() ? port.statistics.read_bursts : port.statistics.write_bursts);
  trace_delivery(port, payload, delivery.at);
  if (Timeline* timeline = context_.timeline(); timeline != nullptr)
    show_burst(*timeline, report_name(*this) + "." + port.statistics.name, payload,
               context_.clock.at(delivery.at));
  if (port.request != nullptr) request_grant_phase(delivery.at);
  tlm::tlm_phase phase = tlm::BEGIN_RESP;
  sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
  nth(initiator_ports, delivery.port)->nb_transport_bw(payload, phase, delay);
}

}  // namespace tilebeat
