#include "engines/rolling/sim/scratchpad_port.h"

#include "tilebeat/error.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

namespace tilebeat::rolling {

std::optional<ScratchpadPort::Shifts> ScratchpadPort::shifts_of(const MemoryConfig& memory) {
  Shifts shifts;
  while ((1 << shifts.word) < memory.bank_bytes) ++shifts.word;
  while ((1 << shifts.bank) < memory.banks) ++shifts.bank;
  const bool powers = 1 << shifts.word == memory.bank_bytes && 1 << shifts.bank == memory.banks;
  return powers ? std::optional(shifts) : std::nullopt;
}

ScratchpadPort::ScratchpadPort(const std::string& name, const SimContext& context, const MemoryConfig& memory,
                               int width_bytes)
    : banks(name.c_str(), to_size(memory.banks)),
      context_(context),
      period_(context.clock.period_ps()),
      memory_(memory),
      width_(width_bytes),
      shifts_(shifts_of(memory)) {
  for (auto& bank : banks) bank.register_invalidate_direct_mem_ptr(this, &ScratchpadPort::withdraw);
}

void ScratchpadPort::declare_signals(Trace& trace, const std::string& scope) {
  signals_ = {&trace, Strobe(&trace, scope, "req"), trace.add_signal(scope, "write", 1),
              trace.add_signal(scope, "addr", 48),
              trace.add_signal(scope, "data", 8 * width_, Radix::kHexadecimal, Shown::kWhenNamed)};
}

void ScratchpadPort::withdraw(sc_dt::uint64 /*begin*/, sc_dt::uint64 /*end*/) {
  withdrawn_ = true;
}

void ScratchpadPort::bind(Scratchpad& memory, int port) {
  holds_ = context_.holds(memory.basename());
  base_ = memory.base(), size_ = memory.size();
  for (int bank = 0; bank < memory_.banks; ++bank) nth(banks, bank).bind(memory.engine_port(port, bank));
}

std::uint64_t ScratchpadPort::offset_of(std::uint64_t address, int bytes) const {
  if (address < base_ || address - base_ + to_unsigned(bytes) > size_)
    throw SimulationError(
        fmt::format("{}: no memory at address {:#x} ({} bytes)", banks.name(), address, bytes));
  return address - base_;
}

ScratchpadPort::Word ScratchpadPort::word_at(std::uint64_t offset, int bytes) const {
  // Memories have less than 4 GB; short divisions are fast.
  const auto at = static_cast<std::uint32_t>(offset), width = static_cast<std::uint32_t>(memory_.bank_bytes);
  const auto count = static_cast<std::uint32_t>(memory_.banks);
  if (shifts_) {
    const std::uint32_t word = at >> shifts_->word, within = at & (width - 1);
    return {word & (count - 1), (std::uint64_t{word >> shifts_->bank} << shifts_->word) + within,
            std::min(bytes, to_int(width - within))};
  }
  const std::uint32_t word = at / width, within = at % width;
  return {word % count, std::uint64_t{word / count} * width + within,
          std::min(bytes, to_int(width - within))};
}

// Every bank serves one word in a cycle.
int ScratchpadPort::access_bytes(std::uint64_t offset, int bytes) const {
  if (in_one_access(bytes)) return bytes;
  const int row = memory_.banks * memory_.bank_bytes - to_int(offset % to_unsigned(memory_.bank_bytes));
  return std::min({bytes, width_, row});
}

void ScratchpadPort::hold(std::vector<OpenHold>& open, const std::string& user, Holds::Access access,
                          const BytePattern& bytes, Cycle now) {
  const std::uint64_t memory_end = base_ + size_, end = bytes.end();
  const bool outside = bytes.begin < base_ || bytes.begin >= memory_end;
  if (bytes.count > 0 && bytes.run > 0 && (outside || end > memory_end || end < bytes.begin))
    throw SimulationError(fmt::format("{}: no memory at address {:#x}, {} {} {:#x} to {:#x}", banks.name(),
                                      outside ? bytes.begin : memory_end, user,
                                      access == Holds::Access::kRead ? "reads" : "writes", bytes.begin,
                                      end - 1));
  if (holds_ != nullptr) open.push_back({holds_, holds_->open(user, access, bytes, now)});
}

int ScratchpadPort::accesses(std::uint64_t address, int bytes) const {
  if (in_one_access(bytes)) return 1;
  std::uint64_t offset = offset_of(address, bytes);
  int count = 0;
  while (bytes > 0) {
    const int taken = access_bytes(offset, bytes);
    offset += to_unsigned(taken), bytes -= taken;
    ++count;
  }
  return count;
}

int ScratchpadPort::move(tlm::tlm_command command, std::uint64_t address, std::uint8_t* data, int bytes,
                         int delay) {
  std::uint64_t offset = offset_of(address, bytes);
  int count = 0;
  for (; bytes > 0; ++count) {
    int left = access_bytes(offset, bytes);
    bytes -= left;
    const std::uint8_t* const first = data;
    const std::uint64_t begin = offset;
    const int taken = left;
    while (left > 0) {
      const Word word = word_at(offset, left);
      transport(banks[word.bank], payload_, command, word.address, data, static_cast<unsigned>(word.bytes),
                to_sc_time((delay + count) * period_));
      data += word.bytes, offset += to_unsigned(word.bytes), left -= word.bytes;
    }
    if (signals_) trace_access(command, base_ + begin, first, taken, now_ps() + (delay + count) * period_);
  }
  return count;
}

void ScratchpadPort::trace_access(tlm::tlm_command command, std::uint64_t address, const std::uint8_t* data,
                                  int bytes, Picoseconds at) {
  Trace& trace = *signals_->trace;
  signals_->request.high(&trace, at, at + period_);
  trace.change(signals_->write, at, command == tlm::TLM_WRITE_COMMAND ? 1 : 0);
  trace.change(signals_->address, at, address);
  if (signals_->data >= 0) trace.change(signals_->data, at, data, to_size(bytes));
}

int ScratchpadPort::read(std::uint64_t address, std::uint8_t* to, int bytes, int delay) {
  return move(tlm::TLM_READ_COMMAND, address, to, bytes, delay);
}

int ScratchpadPort::write(std::uint64_t address, const std::uint8_t* from, int bytes, int delay) {
  return move(tlm::TLM_WRITE_COMMAND, address, const_cast<std::uint8_t*>(from), bytes, delay);
}

ScratchpadPort::Contents ScratchpadPort::open_direct() {
  if (!direct_.empty()) direct_.front().commit();  // may withdraw it
  if (!withdrawn_) return Contents::kUnchanged;
  withdrawn_ = false;
  direct_.clear();
  for (auto& bank : banks) {
    // Read access, so that writes of others revoke it.
    const auto cells = ask_for_cells(bank, tlm::TLM_READ_COMMAND, 0);
    if (!cells) throw SimulationError(fmt::format("{}: a bank refuses direct memory access", banks.name()));
    direct_.push_back(*cells);
  }
  return Contents::kWritten;
}

void ScratchpadPort::direct_read(std::uint64_t address, std::uint8_t* to, int bytes, Cycle at) const {
  direct_.front().commit();
  for (std::uint64_t offset = offset_of(address, bytes); bytes > 0;) {
    const Word word = word_at(offset, bytes);
    direct_[word.bank].read(word.address, to, to_size(word.bytes), at * period_);
    to += word.bytes, offset += to_unsigned(word.bytes), bytes -= word.bytes;
  }
}

// Any bank may take part in any of the accesses.
void ScratchpadPort::use(Cycle first, Cycle end, std::int64_t count, std::uint64_t address) const {
  if (count == 0) return;
  const std::uint64_t word = word_at(offset_of(address, 1), 1).address;
  for (const DirectCells& bank : direct_)
    bank.use->accesses(first * period_, (end - 1) * period_, word, word, count, memory_.bank_bytes);
}

void ScratchpadPort::direct_write(std::uint64_t address, const std::uint8_t* from, int bytes,
                                  Cycle at) const {
  direct_.front().commit();
  std::uint64_t offset = offset_of(address, bytes);
  for (; bytes > 0; ++at) {
    int left = access_bytes(offset, bytes);
    bytes -= left;
    while (left > 0) {
      const Word word = word_at(offset, left);
      const DirectCells& bank = direct_[word.bank];
      bank.use->access(at * period_, word.address, word.bytes);
      bank.row->add(bank.run(word.address, to_size(word.bytes), at * period_), from);
      from += word.bytes, offset += to_unsigned(word.bytes), left -= word.bytes;
    }
  }
}

}  // namespace tilebeat::rolling
