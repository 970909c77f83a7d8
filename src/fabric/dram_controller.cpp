#include "fabric/dram_controller.h"

#include "fabric/burst.h"
#include "tilebeat/error.h"

#include <algorithm>
#include <array>
#include <cstring>

#include <fmt/format.h>

namespace tilebeat {

namespace {

constexpr int kTracedRequests = 128;  // bits of answers.requests

SimContext own_clock(SimContext context, const ClockDomain& clock) {
  context.clock = clock;
  return context;
}

}  // namespace

DramController::DramController(const sc_core::sc_module_name& name, const DramConfig& config,
                               const SimContext& context, AddressSlice slice)
    : sc_module(name),
      socket("socket"),
      map_(config),
      slice_(slice),
      clock_(config.clock_ps),
      context_(context),
      read_(own_clock(context, clock_), *this, {"", "read", "bytes a cycle"}),
      written_(own_clock(context, clock_), *this, {"", "written", "bytes a cycle"}) {
  channels_.reserve(to_size(config.channels));
  for (int index = 0; index < config.channels; ++index) {
    channels_.emplace_back(config, index);
    channels_.back().listen([this](const DramCommand& command) { observe(command); });
    channels_.back().listen_waits([this](const DramWait& wait) { pass_on(wait); });
  }
  socket.register_nb_transport_fw(this, &DramController::receive);
  socket.register_transport_dbg(this, &DramController::debug);
  declare_signals();
  SC_HAS_PROCESS(DramController);
  SC_METHOD(work);
  sensitive << wake_;
  dont_initialize();
}

tlm::tlm_response_status DramController::check(const tlm::tlm_generic_payload& payload) const {
  const std::uint64_t address = slice_.local(payload.get_address());
  const std::uint64_t bytes = payload.get_data_length();
  if (!payload.is_read() && !payload.is_write()) return tlm::TLM_COMMAND_ERROR_RESPONSE;
  if (payload.get_byte_enable_ptr() != nullptr) return tlm::TLM_BYTE_ENABLE_ERROR_RESPONSE;
  if (bytes == 0 || bytes > kMaxRequestBytes || payload.get_streaming_width() < bytes) {
    return tlm::TLM_BURST_ERROR_RESPONSE;
  }
  if (address >= map_.size_bytes() || bytes > map_.size_bytes() - address)
    return tlm::TLM_ADDRESS_ERROR_RESPONSE;
  return tlm::TLM_OK_RESPONSE;
}

tlm::tlm_sync_enum DramController::receive(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                           sc_core::sc_time& delay) {
  if (phase != tlm::BEGIN_REQ || delay != sc_core::SC_ZERO_TIME || held_ != kNone) {
    throw SimulationError(
        fmt::format("{}: expected BEGIN_REQ without delay, not before the previous END_REQ", name()));
  }
  const tlm::tlm_response_status status = check(payload);
  if (status != tlm::TLM_OK_RESPONSE) {
    payload.set_response_status(status);
    return tlm::TLM_COMPLETED;
  }
  const Picoseconds now = now_ps();
  const Cycle current = clock_.cycle_of(now);
  const bool at_edge = clock_.at(current) == now;
  catch_up(edges_before(now));
  const std::uint32_t handle = open_request(payload);
  trace_request(payload);
  const bool accepted = enter_bursts(handle, at_edge ? current : -1, current + 1);
  if (!accepted) held_ = handle, admit_from_ = current + 1;
  wake_.notify(to_sc_time(clock_.at(current + 1) - now));
  if (!accepted) return tlm::TLM_ACCEPTED;
  phase = tlm::END_REQ;
  return tlm::TLM_UPDATED;
}

std::uint32_t DramController::open_request(tlm::tlm_generic_payload& payload) {
  if (free_requests_.empty()) {
    free_requests_.push_back(static_cast<std::uint32_t>(requests_.size()));
    requests_.emplace_back();
  }
  const std::uint32_t handle = free_requests_.back();
  free_requests_.pop_back();
  Request& request = requests_[handle];
  request.payload = &payload;
  request.number = arrived_++;
  request.entered = 0;
  request.remaining = payload.get_data_length();
  request.done = 0;
  return handle;
}

bool DramController::enter_bursts(std::uint32_t handle, Cycle edge, Cycle visible_from) {
  Request& request = requests_[handle];
  const tlm::tlm_generic_payload& payload = *request.payload;
  const auto burst_bytes = to_unsigned(map_.burst_bytes());
  const std::uint32_t length = payload.get_data_length();
  while (request.entered < length) {
    const std::uint64_t address = slice_.local(payload.get_address()) + request.entered;
    const DramAddress place = map_.decode(address);
    DramChannel& channel = nth(channels_, place.channel);
    if (!channel.has_room(edge)) {
      held_channel_ = to_size(place.channel);
      return false;
    }
    const auto to_boundary = static_cast<std::uint32_t>(burst_bytes - address % burst_bytes);
    const std::uint32_t bytes = std::min(to_boundary, length - request.entered);
    channel.enter({place.bank, place.row, payload.is_write(), handle, request.entered, bytes, place.column},
                  visible_from);
    request.entered += bytes;
  }
  return true;
}

void DramController::work() {
  if (gate_.hold(context_.jitter)) return;
  const Cycle now = clock_.cycle_of(now_ps());
  catch_up(now);
  send_responses(now);
  work_at(now);
  schedule();
}

// The work of one cycle: admissions, then commands.
void DramController::work_at(Cycle at) {
  admit_held(at);
  for (int index = 0; index < channels(); ++index) {
    DramChannel& channel = nth(channels_, index);
    if (channel.wake() > at) continue;
    if (const auto served = channel.step(at)) serve(*served);
    trace_queue(index, at);
  }
}

// The number of edges strictly before `now`.
Cycle DramController::edges_before(Picoseconds now) const {
  const Cycle current = clock_.cycle_of(now);
  return clock_.at(current) == now ? current : current + 1;
}

// Does the work of cycles before `end` that were skipped because nobody outside could see it.
void DramController::catch_up(Cycle end) {
  for (Cycle at = next_work(); at < end; at = next_work()) work_at(at);
}

// The next cycle with a possible admission or command.
Cycle DramController::next_work() const {
  Cycle next = DramChannel::kNever;
  for (const DramChannel& channel : channels_) next = std::min(next, channel.wake());
  // A place that became free at one edge can be taken at the next one.
  if (held_ != kNone && channels_[held_channel_].has_room(-1)) next = std::min(next, admit_from_);
  return next;
}

// A lower bound of the cycle in which a present request can be answered or, if held, accepted, when no
// command is issued before `step`: a channel serves at best one burst per tCCD.
Cycle DramController::earliest_answer(Cycle step) const {
  const auto burst = static_cast<std::uint32_t>(map_.burst_bytes());
  const auto bursts_of = [burst](std::uint32_t bytes) { return (bytes + burst - 1) / burst; };
  const DramClocks& clocks = channels_.front().clocks();
  const auto rounds = [&](std::uint32_t bursts) {
    return (bursts + channels_.size() - 1) / channels_.size() - 1;
  };
  std::uint32_t fewest = UINT32_MAX;
  for (const Request& request : requests_) {
    if (request.remaining != 0) fewest = std::min(fewest, bursts_of(request.remaining));
  }
  Cycle earliest =
      step + static_cast<Cycle>(rounds(fewest)) * clocks.ccd + std::min(clocks.cl, clocks.cwl) + clocks.data;
  if (held_ != kNone) {
    const Request& request = nth(requests_, held_);
    const std::uint32_t outside = bursts_of(request.payload->get_data_length() - request.entered);
    // With several channels the rest may find room all at once.
    earliest = std::min(earliest, channels_.size() > 1 ? step : step + (Cycle{outside} - 1) * clocks.ccd);
  }
  return earliest;
}

void DramController::send_responses(Cycle now) {
  answered_.clear();
  while (!completions_.empty() && completions_.front().at <= now) {
    const std::uint32_t handle = completions_.front().request;
    std::pop_heap(completions_.begin(), completions_.end(), std::greater<>());
    completions_.pop_back();
    tlm::tlm_generic_payload& payload = *requests_[handle].payload;
    answered_.push_back(requests_[handle].number);
    free_requests_.push_back(handle);
    payload.set_response_status(tlm::TLM_OK_RESPONSE);
    tlm::tlm_phase phase = tlm::BEGIN_RESP;
    sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
    if (socket->nb_transport_bw(payload, phase, delay) != tlm::TLM_COMPLETED) {
      throw SimulationError(fmt::format("{}: BEGIN_RESP must be answered with TLM_COMPLETED", name()));
    }
  }
  trace_answers(now, answered_);
}

void DramController::admit_held(Cycle now) {
  if (held_ == kNone) return;
  admit_from_ = now + 1;
  if (!channels_[held_channel_].has_room(now)) return;
  const auto handle = static_cast<std::uint32_t>(held_);
  if (!enter_bursts(handle, now, now)) return;
  held_ = kNone;
  note_wait(*requests_[handle].payload, context_.clock.round_up(clock_.at(now)), Activity::kTargetQueue);
  if (clock_.at(now) != now_ps())
    throw SimulationError(fmt::format("{}: a request was accepted late", name()));
  tlm::tlm_phase phase = tlm::END_REQ;
  sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
  socket->nb_transport_bw(*requests_[handle].payload, phase, delay);
}

void DramController::serve(const DramChannel::Served& served) {
  const DramBurst& burst = served.burst;
  Request& request = requests_[burst.request];
  const std::uint64_t address = slice_.local(request.payload->get_address()) + burst.offset;
  std::uint8_t* data = request.payload->get_data_ptr() + burst.offset;
  if (burst.write) {
    memory_.write(address, data, burst.bytes);
  } else {
    memory_.read(address, data, burst.bytes);
  }
  const Cycle beats = channels_.front().clocks().data;
  if (!signals_.empty()) trace_burst(served, address, data);
  (burst.write ? written_ : read_).count(served.data_end - beats, served.data_end, burst.bytes);
  request.remaining -= burst.bytes;
  request.done = std::max(request.done, served.data_end);
  if (request.remaining == 0) {
    completions_.push_back({request.done, request.number, burst.request});
    std::push_heap(completions_.begin(), completions_.end(), std::greater<>());
  }
}

// Wakes at the next response, or where one could be due; commands in between are done by `catch_up`. With a
// trace every cycle is done in time order.
void DramController::schedule() {
  Cycle next = completions_.empty() ? DramChannel::kNever : completions_.front().at;
  const Cycle step = next_work();
  if (step != DramChannel::kNever) next = std::min(next, signals_.empty() ? earliest_answer(step) : step);
  if (next != DramChannel::kNever) wake_.notify(to_sc_time(clock_.at(next) - now_ps()));
}

unsigned DramController::debug(tlm::tlm_generic_payload& payload) {
  const std::uint64_t address = slice_.local(payload.get_address());
  if (address >= map_.size_bytes()) return 0;
  const std::uint64_t bytes = std::min<std::uint64_t>(payload.get_data_length(), map_.size_bytes() - address);
  catch_up(edges_before(now_ps()));
  if (payload.is_read()) {
    memory_.read(address, payload.get_data_ptr(), bytes);
  } else if (payload.is_write()) {
    memory_.write(address, payload.get_data_ptr(), bytes);
  }
  return static_cast<unsigned>(bytes);
}

void DramController::settle(Picoseconds now) {
  catch_up(clock_.cycle_of(now) + 1);
  for (DramChannel& channel : channels_) channel.settle(clock_.cycle_of(now));
}

void DramController::declare_signals() {
  Trace* trace = context_.trace();
  if (trace == nullptr) return;
  for (int index = 0; index < channels(); ++index) {
    const std::string scope = fmt::format("{}.ch{}", name(), index);
    ChannelSignals signals{};
    signals.command = trace->add_signal(scope, "cmd", 3, Radix::kDecimal);
    signals.bank = trace->add_signal(scope, "bank", 6, Radix::kDecimal);
    signals.row = trace->add_signal(scope, "row", 32, Radix::kDecimal);
    signals.queue = trace->add_signal(scope, "queue", 16, Radix::kDecimal);
    signals.column = trace->add_signal(scope, "col", 16, Radix::kDecimal);
    signals.data = trace->add_signal(scope, "data", 1);
    signals.bytes =
        trace->add_signal(scope, "bytes", 8 * map_.burst_bytes(), Radix::kHexadecimal, Shown::kWhenNamed);
    signals_.push_back(signals);
  }
  const std::string scope = name();
  port_signals_.request = Strobe(trace, scope, "req", Shown::kWhenNamed);
  port_signals_.requested.add(*trace, {scope, "addr", 48, Radix::kHexadecimal, Shown::kWhenNamed});
  port_signals_.requested.add(*trace, {scope, "req_bytes", 32, Radix::kDecimal, Shown::kWhenNamed});
  port_signals_.requested.add(*trace, {scope, "req_write", 1, Radix::kHexadecimal, Shown::kWhenNamed});
  port_signals_.answer = Strobe(trace, scope + ".answers", "valid", Shown::kWhenNamed);
  port_signals_.answered.add(
      *trace, {scope + ".answers", "requests", kTracedRequests, Radix::kHexadecimal, Shown::kWhenNamed});
}

void DramController::observe(const DramCommand& command) {
  if (context_.dram != nullptr) context_.dram->issued(command);
  const Picoseconds at = clock_.at(command.cycle);
  if (signals_.empty() || context_.trace() == nullptr || at < now_ps()) return;
  Trace& trace = *context_.observers.trace;
  const ChannelSignals& signals = nth(signals_, command.channel);
  trace.change(signals.command, at, to_unsigned(command.kind));
  trace.change(signals.command, clock_.at(command.cycle + 1), 0);
  if (command.bank >= 0) {
    trace.change(signals.bank, at, to_unsigned(command.bank));
    trace.change(signals.row, at, to_unsigned(command.row));
  }
  if (command.kind != DramCommandKind::kRead && command.kind != DramCommandKind::kWrite) return;
  trace.change(signals.column, at, to_unsigned(command.column));
  const DramChannel& channel = nth(channels_, command.channel);
  const bool write = command.kind == DramCommandKind::kWrite;
  const Cycle data = command.cycle + (write ? channel.clocks().cwl : channel.clocks().cl);
  trace.change(signals.data, clock_.at(data), 1);
  trace.change(signals.data, clock_.at(data + channel.clocks().data), 0);
}

// Traces the bytes of a RD or WR that has been issued while they are on the data bus: each lies where it does
// in the burst.
void DramController::trace_burst(const DramChannel::Served& served, std::uint64_t address,
                                 const std::uint8_t* data) {
  const DramAddress place = map_.decode(address);
  const DramChannel& channel = nth(channels_, place.channel);
  const Cycle begin = served.data_end - channel.clocks().data;
  const Cycle command = begin - (served.burst.write ? channel.clocks().cwl : channel.clocks().cl);
  const ChannelSignals& signals = nth(signals_, place.channel);
  if (signals.bytes < 0 || context_.trace() == nullptr || clock_.at(command) < now_ps()) return;
  std::vector<std::uint8_t> bytes(to_size(map_.burst_bytes()));
  std::copy_n(data, served.burst.bytes, bytes.begin() + to_signed(address % bytes.size()));
  context_.observers.trace->change(signals.bytes, clock_.at(begin), bytes.data(), bytes.size());
}

// The NPU cycle gets the cause that held at its beginning.
void DramController::pass_on(const DramWait& wait) {
  auto* const extension = requests_[wait.request].payload->get_extension<BurstExtension>();
  if (extension == nullptr) return;
  const auto add = [&](Cycle until, Activity cause) {
    // A wait that the trail already covers needs no division.
    if (until < 0 || clock_.at(until) <= context_.clock.at(extension->trail.until())) return;
    extension->trail.add(context_.clock.round_up(clock_.at(until)), cause);
  };
  // The wait that ends last is added last.
  if (wait.others_until < wait.refresh_until) add(wait.others_until, Activity::kMemoryQueue);
  add(wait.refresh_until, Activity::kRefresh);
  add(wait.others_until, Activity::kMemoryQueue);
  add(wait.issued_at, wait.rule);
}

void DramController::trace_queue(int channel, Cycle at) {
  if (signals_.empty() || context_.trace() == nullptr) return;
  const auto waiting = to_unsigned(nth(channels_, channel).visible());
  context_.observers.trace->change(nth(signals_, channel).queue, clock_.at(at), waiting);
}

void DramController::trace_request(const tlm::tlm_generic_payload& payload) {
  if (context_.trace() == nullptr) return;
  std::array<std::uint8_t, 6 + 4 + 1> packed{};  // addr, req_bytes, req_write
  const std::uint64_t address = payload.get_address();
  const std::uint32_t bytes = payload.get_data_length();
  std::memcpy(packed.data(), &address, 6);
  std::memcpy(packed.data() + 6, &bytes, 4);
  packed.back() = payload.is_write() ? 1 : 0;
  const Cycle cycle = context_.clock.cycle_of(now_ps());
  // A request arrives behind the edge of its cycle: seen from outside, with the next one.
  port_signals_.request.high(context_.observers.trace, context_.clock.at(cycle + 1),
                             context_.clock.at(cycle + 2), port_signals_.requested, packed.data());
}

void DramController::trace_answers(Cycle now, const std::vector<std::uint64_t>& numbers) {
  if (numbers.empty() || context_.trace() == nullptr) return;
  std::array<std::uint8_t, kTracedRequests / 8> packed{};
  for (const std::uint64_t number : numbers)
    packed.at(number % kTracedRequests / 8) |= std::uint8_t(1U << number % 8);
  port_signals_.answer.high(context_.observers.trace, clock_.at(now), clock_.at(now + 1),
                            port_signals_.answered, packed.data());
}

}  // namespace tilebeat
