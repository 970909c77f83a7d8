#include "fabric/scratchpad.h"

#include "base/copy_word.h"
#include "base/types.h"
#include "fabric/burst.h"
#include "fabric/direct_access.h"
#include "tilebeat/error.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include <tlm>

#include <fmt/format.h>

namespace tilebeat {
/// Words that move between a request's data and the cells of interleaved banks, bank after bank.
struct MovedWords {
  std::uint8_t* data;
  std::uint8_t* const* cells;
  std::size_t banks, bank;
  std::uint64_t row;  ///< address of the word in its bank, in bytes

  template <tlm::tlm_command Command, class Size>
  void one(std::size_t in_word, Size size) {
    std::uint8_t* const cell = cells[bank] + row + in_word;
    if (Command == tlm::TLM_READ_COMMAND)
      std::memcpy(data, cell, size);
    else
      std::memcpy(cell, data, size);
    data += size;
  }
  void next(std::size_t width) {
    if (++bank == banks) bank = 0, row += width;
  }
  /// Moves `bytes` bytes, beginning at byte `in_word` of a word; the first `first` of them complete that
  /// word.
  template <tlm::tlm_command Command>
  void move(std::size_t in_word, std::size_t first, std::size_t bytes, std::size_t width) {
    if (first > 0) {
      one<Command>(in_word, first);
      next(width);
    }
    with_word_size(width, [this, whole = (bytes - first) / width](auto size) {
      MovedWords words = *this;  // in registers
      for (std::size_t i = 0; i < whole; ++i) {
        words.one<Command>(0, size);
        words.next(size);
      }
      *this = words;
    });
    if (const std::size_t rest = (bytes - first) % width; rest > 0) one<Command>(0, rest);
  }
};

Scratchpad::Scratchpad(sc_core::sc_module_name name, const SimContext& context, const MemoryConfig& config,
                       std::int64_t size_bytes, std::uint64_t base, int bus_bytes, int region_port_bytes,
                       int engine_ports)
    : sc_module(name),
      socket("socket"),
      reservations("reservations"),
      held(to_unsigned(size_bytes)),
      context_(context),
      config_(config),
      base_(base),
      size_(to_unsigned(size_bytes)),
      words_per_clock_(std::max(1, bus_bytes / config.bank_bytes)),
      region_port_bytes_(region_port_bytes),
      has_engine_ports_(region_port_bytes > 0 || engine_ports > 0),
      bank_ports_("bank_port", to_size(config.banks)),
      accessed_(to_size(config.banks)) {
  socket.register_nb_transport_fw(this, &Scratchpad::receive);
  socket.register_transport_dbg(this, &Scratchpad::debug);
  reservations.register_b_transport(this, &Scratchpad::reserve);
  const auto row = std::make_shared<TimedWrites>(to_size(config.banks));
  for (int i = 0; i < config.banks; ++i) {
    banks_.push_back(std::make_unique<SramBank>(
        fmt::format("bank{}", i).c_str(), context, size_bytes / config.banks,
        to_int(bus_and_region_ports()) + engine_ports, 1, BankPlace{row, to_size(i)}));
    auto& port = nth(bank_ports_, i);
    port.bind(banks_.back()->ports[0]);
    port.register_invalidate_direct_mem_ptr(this, &Scratchpad::withdraw_cells, i);
  }
  if (has_engine_ports_) holds_ = context.holds(basename());
  if (holds_ != nullptr) {
    holds_->rename(this->name());
    holds_->report_to(held, base);
  }
  if (Trace* trace = context_.trace(); trace != nullptr) declare_signals(*trace);
  SC_METHOD(step);
  sensitive << wake_;
  dont_initialize();
  SC_METHOD(grant_banks);
  sensitive << grant_;
  dont_initialize();
}

void Scratchpad::divide(std::unique_ptr<Scratchpad> second) {
  if (second->banks_.size() != banks_.size() || !second->has_regions() || banks_.size() > kMostBanks)
    throw SimulationError(fmt::format("{} and {} have no banks in common", name(), second->name()));
  second_ = std::move(second);
  divided_ = second_->divided_ = true;
  if (Trace* trace = context_.trace(); trace != nullptr)
    signals_->engine_banks = trace->add_signal(name(), "engine_banks", std::max(2, config_.banks));
}

Scratchpad::Place Scratchpad::place_of(std::uint64_t offset) const {
  const auto width = to_unsigned(config_.bank_bytes);
  const auto banks = to_unsigned(config_.banks);
  const std::uint64_t left = width - offset % width;
  if (has_regions()) {
    const std::uint64_t region = size_ / banks;
    return {to_size(offset / region), offset % region, left};
  }
  const std::uint64_t word = offset / width;
  return {to_size(word % banks), word / banks * width + offset % width, left};
}

Scratchpad* Scratchpad::block_of(const tlm::tlm_generic_payload& payload) {
  if (inside(payload)) return this;
  return second_ != nullptr && second_->inside(payload) ? second_.get() : nullptr;
}

bool Scratchpad::inside(const tlm::tlm_generic_payload& payload) const {
  const std::uint64_t address = payload.get_address();
  return address >= base_ && payload.get_data_length() > 0 && address - base_ < size_ &&
         payload.get_data_length() <= size_ - (address - base_);
}

tlm::tlm_sync_enum Scratchpad::receive(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                       sc_core::sc_time&) {
  if (phase != tlm::BEGIN_REQ) return tlm::TLM_COMPLETED;
  Scratchpad* const block = block_of(payload);
  if (block == nullptr) {
    payload.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
    return tlm::TLM_COMPLETED;
  }
  const std::uint64_t from = payload.get_address() - block->base_;
  (payload.is_read() ? block->stats.read_bytes : block->stats.write_bytes) += payload.get_data_length();
  block->held.access(payload.is_read() ? HeldBytes::Access::kRead : HeldBytes::Access::kWrite, from,
                     from + payload.get_data_length(), context_.clock.cycle_of(now_ps()));
  block->trace_request(payload, context_.clock.cycle_of(now_ps()));
  if (requests_.size() == to_size(config_.request_queue)) {
    if (held_ != nullptr)
      throw SimulationError(fmt::format("{}: BEGIN_REQ before the END_REQ of the one before", name()));
    held_ = &payload;
    ++block->stats.held_requests;
    trace_queue();
    return tlm::TLM_ACCEPTED;
  }
  take(payload, context_.clock.cycle_of(now_ps()));
  phase = tlm::END_REQ;
  return tlm::TLM_UPDATED;
}

void Scratchpad::take(tlm::tlm_generic_payload& payload, Cycle now) {
  const Cycle first = now + 1 + config_.latency_cycles;
  requests_.push_back({&payload, block_of(payload), first, 0});
  trace_queue();
  const bool alone = requests_.size() == 1 && may_run_ahead();
  const Cycle next = alone ? runs_ahead_to(first) : first;
  wake_.notify(to_sc_time(context_.clock.at(next) - now_ps()));  // an event keeps the earliest
}

// Admits the request that waits for a place, if there is one.
void Scratchpad::admit(Cycle now) {
  if (held_ == nullptr || requests_.size() == to_size(config_.request_queue)) return;
  tlm::tlm_generic_payload& payload = *std::exchange(held_, nullptr);
  note_wait(payload, now, Activity::kTargetQueue);
  take(payload, now);
  tlm::tlm_phase phase = tlm::END_REQ;
  sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
  socket->nb_transport_bw(payload, phase, delay);
}

void Scratchpad::step() {
  if (gate_.hold(context_.jitter)) return;
  const Cycle now = context_.clock.cycle_of(now_ps());
  catch_up(now);
  respond(now);
  admit(now);
  if (second_ != nullptr) return grant_.notify(to_sc_time(context_.clock.at(now, Phase::kGrant) - now_ps()));
  if (const Cycle ahead = runs_ahead_to(now); ahead > now) return schedule(now, ahead);
  access_banks(now);
}

// The requests to a divided memory access the banks when the engine's accesses of the cycle are known.
void Scratchpad::grant_banks() {
  if (!grant_gate_.hold(context_.jitter)) access_banks(context_.clock.cycle_of(now_ps()));
}

// The banks that the engine accesses in this cycle.
std::uint64_t Scratchpad::banks_of_engine(Cycle now) {
  std::uint64_t taken = 0;
  for (std::size_t bank = 0; bank < second_->banks_.size(); ++bank)
    taken |= std::uint64_t{second_->banks_[bank]->busy(1, now_ps())} << bank;
  std::deque<BankReservation>& reserved = second_->reserved_;
  for (; !reserved.empty() && reserved.front().cycle <= now; reserved.pop_front()) {
    if (reserved.front().cycle == now) taken |= reserved.front().banks;
  }
  return taken;
}

// The conflicts so far, of both blocks.
ScratchpadStats Scratchpad::waits() const {
  ScratchpadStats sum = stats;
  if (second_ != nullptr) {
    sum.conflict_clocks += second_->stats.conflict_clocks;
    sum.port_clocks += second_->stats.port_clocks;
  }
  return sum;
}

void Scratchpad::access_banks(Cycle now) {
  const std::uint64_t taken = second_ != nullptr ? banks_of_engine(now) : 0;
  for (std::size_t bank = 0; bank < accessed_.size(); ++bank)
    accessed_[bank] = bank < kMostBanks && (taken >> bank & 1) != 0 ? 1 : 0;
  const ScratchpadStats before = waits();
  int reads = words_per_clock_, writes = words_per_clock_;
  for (Request& request : requests_) {
    if (request.next == now) access_words(request, now, request.payload->is_read() ? reads : writes);
  }
  if (signals_) {
    const ScratchpadStats after = waits();
    trace_cycle(now, {{words_per_clock_ - reads, words_per_clock_ - writes},
                      taken,
                      after.conflict_clocks - before.conflict_clocks,
                      after.port_clocks - before.port_clocks});
  }
  schedule(now + 1, runs_ahead_to(now + 1));
}

// Answers requests whose last word was accessed in the previous cycle.
void Scratchpad::respond(Cycle now) {
  const auto complete = [now](const Request& r) { return r.next <= now && r.complete(); };
  for (const Request& request : requests_) {
    if (!complete(request)) continue;
    request.payload->set_response_status(tlm::TLM_OK_RESPONSE);
    tlm::tlm_phase phase = tlm::BEGIN_RESP;
    sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
    socket->nb_transport_bw(*request.payload, phase, delay);
  }
  requests_.erase(std::remove_if(requests_.begin(), requests_.end(), complete), requests_.end());
  trace_queue();
}

void Scratchpad::access_words(Request& request, Cycle now, int& room) {
  const unsigned length = request.payload->get_data_length(), done = request.done;
  const bool full = room == 0;
  ScratchpadStats& counts = request.block->stats;
  if (full) ++counts.port_clocks;
  for (; room > 0 && request.done < length; --room) {
    if (access_word(request, now)) continue;
    ++counts.conflict_clocks;
    break;
  }
  request.next = now + 1;
  if (request.done > done) {
    if (request.block->holds_ != nullptr) request.block->note_access(request, done, now);
    return;
  }
  note_wait(*request.payload, now, Activity::kDataLatency);
  note_wait(*request.payload, now + 1, full ? Activity::kMemoryPort : Activity::kBankConflict);
}

// Notes that the bytes of a request from byte `from` on were accessed in this cycle.
void Scratchpad::note_access(const Request& request, unsigned from, Cycle now) {
  const std::uint64_t address = request.payload->get_address();
  holds_->access("a request over the bus",
                 request.payload->is_read() ? Holds::Access::kRead : Holds::Access::kWrite, address + from,
                 address + request.done, now);
}

// Accesses the next word of a request; false when its bank has already made an access in this cycle.
bool Scratchpad::access_word(Request& request, Cycle now) {
  Scratchpad& block = *request.block;
  const Place place = block.place_of(request.payload->get_address() - block.base_ + request.done);
  if (accessed_[place.bank] != 0) return false;
  accessed_[place.bank] = 1;
  block.move_word(request, place, now);
  return true;
}

void Scratchpad::count_words(const tlm::tlm_generic_payload& payload, std::int64_t words) {
  stats.words += words;
  (payload.is_read() ? stats.read_words : stats.write_words) += words;
}

void Scratchpad::move_word(Request& request, const Place& place, Cycle now) {
  tlm::tlm_generic_payload& payload = *request.payload;
  const auto bytes = static_cast<unsigned>(
      std::min<std::uint64_t>(place.word_left, payload.get_data_length() - request.done));
  std::uint8_t* const data = payload.get_data_ptr() + request.done;
  if (std::uint8_t* const cells = cells_.empty() ? nullptr : cells_[place.bank]; cells == nullptr) {
    transport(bank_ports_[place.bank], payload_, payload.get_command(), place.address, data, bytes);
  } else {
    uses_[place.bank]->access(context_.clock.at(now), place.address, bytes);
    copy_word(payload.is_read() ? data : cells + place.address,
              payload.is_read() ? cells + place.address : data, bytes);
  }
  count_words(payload, 1);
  request.done += bytes;
}

// Tells the banks' ports of `words` words from `place` on, the first of which are accessed in cycle `from`.
void Scratchpad::use_ports(const Place& place, Cycle from, int words) {
  const int banks = config_.banks, rounds = words / banks, rest = words % banks;
  const Picoseconds period = context_.clock.period_ps();
  PortRun run{context_.clock.at(from), banks / words_per_clock_ * period, 0, place.address,
              config_.bank_bytes};
  auto bank = place.bank;
  for (int word = 0, of_cycle = 0; word < std::min(words, banks); ++word) {
    run.count = rounds + (word < rest ? 1 : 0);
    uses_[bank]->run(run);
    if (++bank == uses_.size()) bank = 0, run.from += to_unsigned(run.bytes);
    if (++of_cycle == words_per_clock_) of_cycle = 0, run.first += period;
  }
}

// Moves the next words of a request, at most `most`, in interleaved banks that nothing else accesses.
void Scratchpad::move_words(Request& request, Cycle most) {
  open_cells();
  tlm::tlm_generic_payload& payload = *request.payload;
  Place place = place_of(payload.get_address() - base_ + request.done);
  const auto width = to_size(config_.bank_bytes);
  const std::size_t in_word = width - place.word_left;
  place.address -= in_word;
  const std::size_t left = payload.get_data_length() - request.done;
  const std::size_t bytes = std::min(left, to_size(most) * width - in_word);
  const std::size_t words = (in_word + bytes + width - 1) / width;
  use_ports(place, request.next, to_int(words));
  MovedWords moved{payload.get_data_ptr() + request.done, cells_.data(), cells_.size(), place.bank,
                   place.address};
  // the rest of a word begun earlier
  const std::size_t first = std::min(in_word > 0 ? place.word_left : 0, bytes);
  if (payload.is_read()) {
    moved.move<tlm::TLM_READ_COMMAND>(in_word, first, bytes, width);
  } else {
    moved.move<tlm::TLM_WRITE_COMMAND>(in_word, first, bytes, width);
  }
  request.done += static_cast<unsigned>(bytes);
  count_words(payload, to_signed(words));
}

// Plans the next step. Cycles from `from` on have not been processed, and those before `ahead` need no step,
// as `runs_ahead_to` says.
void Scratchpad::schedule(Cycle from, Cycle ahead) {
  Cycle next = ahead;
  for (const Request& request : requests_) {
    const bool is_ahead = ahead > 0 && request.next == from && !request.complete();
    if (!is_ahead && (next <= 0 || request.next < next)) next = request.next;
  }
  if (next > 0) wake_.notify(to_sc_time(context_.clock.at(next) - now_ps()));
}

int Scratchpad::words_left(const Request& request) const {
  const auto width = to_unsigned(config_.bank_bytes);
  const std::uint64_t begin = request.payload->get_address() - base_ + request.done;
  const std::uint64_t end = request.payload->get_address() - base_ + request.payload->get_data_length();
  return to_int((end + width - 1) / width - begin / width);
}

bool Scratchpad::may_run_ahead() {
  const bool traced = signals_ != nullptr && context_.trace() != nullptr;
  if (has_engine_ports_ || divided_ || traced || config_.banks % words_per_clock_ != 0) return false;
  open_cells();
  return all_cells_;
}

// The next cycle, from `from` on, in which something changes for the requests that are served or wait for
// their port, provided the oldest read and the oldest write share no bank and no byte until then. `from` or
// 0: they must be processed cycle by cycle.
Cycle Scratchpad::runs_ahead_to(Cycle from) {
  if (!may_run_ahead()) return 0;
  std::array<const Request*, 2> served{};  // the oldest read and write
  std::array<bool, 2> waited_for{};
  for (const Request& request : requests_) {
    if (request.next != from || request.complete()) continue;
    const std::size_t port = request.port();
    if (served[port] == nullptr)
      served[port] = &request;
    else
      waited_for[port] = true;
  }
  if (served[0] != nullptr && served[1] != nullptr && may_meet(*served[0], *served[1])) return 0;
  Cycle next = 0;
  for (std::size_t port = 0; port < served.size(); ++port) {
    if (served[port] == nullptr) continue;
    // The response; or the last words, beside which another request may use the rest of the port.
    const Cycle cycles = ceil_div(words_left(*served[port]), words_per_clock_);
    const Cycle end = from + cycles - (waited_for[port] ? 1 : 0);
    if (next == 0 || end < next) next = end;
  }
  return next;
}

// Whether two requests that are served side by side touch the same byte, or the same bank in the same cycle.
bool Scratchpad::may_meet(const Request& a, const Request& b) const {
  const std::uint64_t a_begin = a.payload->get_address(), b_begin = b.payload->get_address();
  if (a_begin < b_begin + b.payload->get_data_length() && b_begin < a_begin + a.payload->get_data_length())
    return true;
  // Both advance by the same number of banks in every cycle.
  const auto banks = to_size(config_.banks), words = to_size(words_per_clock_);
  const std::size_t apart =
      (place_of(b_begin - base_ + b.done).bank + banks - place_of(a_begin - base_ + a.done).bank) % banks;
  return apart < words || banks - apart < words;
}

// Does the work of the cycles before `now` that were skipped.
void Scratchpad::catch_up(Cycle now) {
  std::array<bool, 2> served{};
  for (Request& request : requests_) {
    if (request.next >= now || request.complete()) continue;
    const Cycle cycles = now - request.next;
    bool& first = served[request.port()];
    if (!std::exchange(first, true)) {
      move_words(request, cycles * words_per_clock_);
    } else {
      stats.port_clocks += cycles;
      note_wait(*request.payload, request.next, Activity::kDataLatency);
      note_wait(*request.payload, now, Activity::kMemoryPort);
    }
    request.next = now;
  }
}

// Opens the storage of banks that grant direct access.
void Scratchpad::open_cells() {
  if (!cells_.empty()) return;
  cells_.resize(banks_.size());
  uses_.resize(banks_.size());
  for (std::size_t bank = 0; bank < banks_.size(); ++bank) {
    const auto cells = ask_for_cells(bank_ports_[bank], tlm::TLM_WRITE_COMMAND, 0);
    if (!cells || !cells->writable) continue;
    cells_[bank] = cells->cells;
    uses_[bank] = cells->use;
  }
  all_cells_ = std::find(cells_.begin(), cells_.end(), nullptr) == cells_.end();
}

unsigned Scratchpad::debug(tlm::tlm_generic_payload& payload) {
  Scratchpad* const block = block_of(payload);
  if (block != this) return block == nullptr ? 0 : block->debug(payload);
  if (may_run_ahead()) catch_up(context_.clock.cycle_of(now_ps()));
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
