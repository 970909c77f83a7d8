#pragma once

#include "base/copy_word.h"
#include "fabric/port_trace.h"
#include "fabric/port_use.h"
#include "fabric/timed_writes.h"
#include "fabric/transport.h"
#include "sim/clock.h"
#include "tilebeat/error.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <tlm>

namespace tilebeat {

/// A bank's memory as who has direct access to it reads and writes it. What is read is what lies there now,
/// or at a later time by the writes that have been handed over; what is written is handed over with its time.
struct DirectCells {
  std::uint8_t* cells = nullptr;  ///< byte 0 of the bank
  std::uint64_t end = 0;          ///< the first byte that is not granted
  bool writable = false;
  TimedWrites* row = nullptr;
  PortUse* use = nullptr;
  PortTrace* trace = nullptr;
  std::uint32_t bank = 0;
  std::uint8_t port = 0;

  /// Writes what is due by now; the cells may then be read.
  void commit() const { row->commit(now_ps()); }
  /// Reads what lies there at time `at`, now or later, after `commit`.
  void read(std::uint64_t address, std::uint8_t* to, std::size_t bytes, Picoseconds at) const {
    copy_word(to, cells + address, bytes);
    row->look_ahead(bank, address, to, bytes, at);
  }
  /// A run that begins in this bank, of one word at byte `address` at time `at`.
  WriteRun run(std::uint64_t address, std::size_t word_bytes, Picoseconds at) const {
    WriteRun run;
    run.due = at, run.address = address, run.bank = bank, run.port = port;
    run.word_bytes = static_cast<std::uint32_t>(word_bytes);
    return run;
  }
};

/// Asks for direct memory access to the bank behind `socket`, to the region of byte `address`; none when the
/// bank refuses.
template <class Socket>
std::optional<DirectCells> ask_for_cells(Socket& socket, tlm::tlm_command command, std::uint64_t address,
                                         DirectAccess::Keeps keeps = DirectAccess::Keeps::kContents) {
  DirectAccess direct;
  direct.keeps = keeps;
  tlm::tlm_generic_payload payload;
  payload.set_command(command);
  payload.set_address(address);
  payload.set_extension(&direct);
  tlm::tlm_dmi dmi;
  const bool granted = socket->get_direct_mem_ptr(payload, dmi) && direct.row != nullptr;
  payload.clear_extension(&direct);  // the payload would free it
  if (!granted) return std::nullopt;
  return DirectCells{dmi.get_dmi_ptr() - dmi.get_start_address(),
                     dmi.get_end_address() + 1,
                     dmi.is_write_allowed(),
                     direct.row,
                     direct.use,
                     direct.trace,
                     direct.bank,
                     direct.port};
}

/// The use of the port of a bank behind `socket`. Throws SimulationError when there is no bank.
template <class Socket>
PortUse& use_of(Socket& socket) {
  DirectAccess direct;
  direct.keeps = DirectAccess::Keeps::kNothing;
  tlm::tlm_generic_payload payload;
  payload.set_command(tlm::TLM_READ_COMMAND);
  payload.set_extension(&direct);
  tlm::tlm_dmi dmi;
  socket->get_direct_mem_ptr(payload, dmi);
  payload.clear_extension(&direct);  // the payload would free it
  if (direct.use == nullptr)
    throw SimulationError(std::string(socket.name()) + ": there is no bank behind it");
  return *direct.use;
}

/// Reads single words of a row of banks for one module: from their memory where all of them grant that for
/// good (DirectAccess::Keeps::kNothing), else with one transport each.
class DirectReader {
 public:
  DirectReader(std::size_t banks, int word_bytes)
      : word_bytes_(to_size(word_bytes)), banks_(banks), access_(tlm::TLM_READ_COMMAND, word_bytes) {}

  /// Reads the word at byte `address` of a bank into `to`, at the present time `now`. Reads nothing beyond
  /// the bank's end. `Banks` are initiator sockets, one per bank.
  template <class Banks>
  void read(Banks& banks, std::size_t bank, std::uint64_t address, std::uint8_t* to, Picoseconds now) {
    if (!asked_) ask(banks);
    if (memory_.empty()) return access_(banks[bank], address, to);
    if (now != committed_) commit(now);
    if (address + word_bytes_ > bank_bytes_) return;
    const Bank& from = memory_[bank];
    from.use->access(now, address, to_signed(word_bytes_));
    copy_word(to, from.cells + address, word_bytes_);
    if (from.trace != nullptr) from.trace->access(now, address, to, word_bytes_);
  }
  /// The same for the words at byte `address` of all banks, one behind the other.
  template <class Banks>
  void read_row(Banks& banks, std::uint64_t address, std::uint8_t* to, Picoseconds now) {
    if (!asked_) ask(banks);
    if (memory_.empty()) {
      for (std::size_t bank = 0; bank < banks_; ++bank, to += word_bytes_) access_(banks[bank], address, to);
      return;
    }
    if (now != committed_) commit(now);
    if (address + word_bytes_ > bank_bytes_) return;
    with_word_size(word_bytes_, [&](auto size) {
      for (const Bank& from : memory_) {
        from.use->access(now, address, to_signed(word_bytes_));
        std::memcpy(to, from.cells + address, size);
        if (from.trace != nullptr) from.trace->access(now, address, to, word_bytes_);
        to += word_bytes_;
      }
    });
  }

 private:
  template <class Banks>
  void ask(Banks& banks) {
    asked_ = true;
    for (auto& bank : banks) {
      const auto cells = ask_for_cells(bank, tlm::TLM_READ_COMMAND, 0, DirectAccess::Keeps::kNothing);
      if (!cells) break;
      memory_.push_back({cells->cells, cells->use, cells->trace});
      bank_bytes_ = cells->end;
      if (std::find(rows_.begin(), rows_.end(), cells->row) == rows_.end()) rows_.push_back(cells->row);
    }
    if (memory_.size() < banks_) memory_.clear();
  }
  // Once a time is enough: whoever writes at the present time does not do it by TimedWrites.
  void commit(Picoseconds now) {
    committed_ = now;
    for (TimedWrites* row : rows_) row->commit(now);
  }

  struct Bank {
    const std::uint8_t* cells;  // byte 0
    PortUse* use;
    PortTrace* trace;  // null: nobody traces the port
  };
  std::size_t word_bytes_, banks_;
  bool asked_ = false;
  std::uint64_t bank_bytes_ = 0;
  std::vector<Bank> memory_;        // empty: the banks want transports
  std::vector<TimedWrites*> rows_;  // rows that the banks belong to
  Picoseconds committed_ = -1;      // the latest time at which they were committed
  WordAccess access_;
};

/// Writes the words of one module into a row of banks that share one TimedWrites, where all of them grant
/// exclusive direct memory access to the region (SramBank): words are then handed over as runs instead of by
/// a transport each, and lie in the banks from their clocks on. The module passes `invalidate_direct_mem_ptr`
/// of its sockets on to `withdraw`.
class DirectWriter {
 public:
  /// `region_bytes`: size of the regions that the banks grant.
  DirectWriter(std::size_t banks, int word_bytes, std::uint64_t region_bytes)
      : word_bytes_(to_size(word_bytes)), region_bytes_(region_bytes), uses_(banks, nullptr) {}

  /// Asks for the region that byte `address` of the banks lies in, unless it is granted; false when a bank
  /// refuses, or is not in one row with the others, in their order. `Banks` are initiator sockets, one a
  /// bank.
  template <class Banks>
  bool open(Banks& banks, std::uint64_t address) {
    if (granted_ && address - begin_ < region_bytes_) return true;
    std::optional<DirectCells> first;
    std::uint32_t next = 0;
    for (auto& bank : banks) {
      const auto cells = ask_for_cells(bank, tlm::TLM_WRITE_COMMAND, address);
      if (!cells || !cells->writable) return false;
      if (!first) first = cells;
      if (cells->row != first->row || cells->bank != next || cells->port != first->port) return false;
      uses_[next++] = cells->use;
    }
    if (!first || first->row->banks() != uses_.size()) return false;
    granted_ = first;
    begin_ = address / region_bytes_ * region_bytes_;
    return true;
  }
  /// Bank addresses [begin, end] are no longer granted; words that were handed over are written all the same.
  void withdraw(std::uint64_t begin, std::uint64_t end) {
    if (begin < begin_ + region_bytes_ && begin_ <= end) granted_.reset();
  }
  /// Writes runs that are due by now, so that few of them wait.
  void commit() const {
    if (granted_) granted_->row->commit_whole_runs(now_ps());
  }
  /// Hands over `count` words of one bank, `step` bytes apart from `address` on, the first one at time `at`,
  /// one every `period`. Its region is open.
  void write(std::size_t bank, std::uint64_t address, std::uint64_t step, int count, const std::uint8_t* from,
             Picoseconds at, Picoseconds period) {
    WriteRun run = granted_->run(address, word_bytes_, at);
    run.bank = static_cast<std::uint32_t>(bank), run.step = step;
    run.words = static_cast<std::uint32_t>(count), run.interval = period;
    uses_[bank]->accesses(at, at + (count - 1) * period, address, address + to_unsigned(count - 1) * step,
                          count, to_signed(word_bytes_));
    granted_->row->add(run, from);
  }
  /// Hands over `count` words that go into bank after bank, from address `address` of bank `bank` on and
  /// behind the last bank to the next word of the first one: `together` at time `at`, as many every `period`.
  void write_across(std::size_t bank, std::uint64_t address, int count, int together,
                    const std::uint8_t* from, Picoseconds at, Picoseconds period) {
    WriteRun run = granted_->run(address, word_bytes_, at);
    run.bank = static_cast<std::uint32_t>(bank), run.step = word_bytes_;
    run.words = static_cast<std::uint32_t>(count), run.together = static_cast<std::uint32_t>(together);
    run.interval = period, run.walk = WriteRun::Walk::kAcrossBanks;
    // Every bank gets each `banks`-th word, in a cycle of its own as long as no more than that come together.
    const int banks = count_of(uses_);
    for (int word = 0; word < std::min(count, banks); ++word) {
      const int words = (count - word + banks - 1) / banks, last = word + (words - 1) * banks;
      const auto row = [&](int number) { return (to_int(bank) + number) / banks * to_int(word_bytes_); };
      nth(uses_, (to_int(bank) + word) % banks)
          ->accesses(at + word / together * period, at + last / together * period,
                     address + to_unsigned(row(word)), address + to_unsigned(row(last)), words,
                     to_signed(word_bytes_));
    }
    granted_->row->add(run, from);
  }

 private:
  std::size_t word_bytes_;
  std::uint64_t region_bytes_, begin_ = 0;  // the first byte of the open region
  std::optional<DirectCells> granted_;      // the first bank's; none: no direct access is open
  std::vector<PortUse*> uses_;              // by bank
};

}  // namespace tilebeat
