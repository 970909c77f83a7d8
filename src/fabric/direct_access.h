#pragma once

#include "base/copy_word.h"
#include "fabric/transport.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include <tlm>

namespace tilebeat {

/// Reads single words of a row of banks for one module: from their memory where all of them grant that for
/// good (KeepsNothing), else with one transport each. The module itself ensures that no port reads twice in a
/// cycle, which a directly read bank would not notice. `settle` tells the banks of the direct reads.
class DirectReader {
 public:
  DirectReader(std::size_t banks, int word_bytes)
      : word_bytes_(to_size(word_bytes)), read_(banks, 0), access_(tlm::TLM_READ_COMMAND, word_bytes) {}

  /// Reads the word at byte `address` of a bank into `to`, `delay` from now. Reads nothing beyond the bank's
  /// end. `Banks` are initiator sockets, one per bank.
  template <class Banks>
  void read(Banks& banks, std::size_t bank, std::uint64_t address, std::uint8_t* to,
            const sc_core::sc_time& delay = sc_core::sc_time()) {
    if (!asked_) ask(banks);
    if (memory_.empty()) return access_(banks[bank], address, to, delay);
    if (address + word_bytes_ > bank_bytes_) return;
    copy_word(to, memory_[bank] + address, word_bytes_);
    ++read_[bank];
  }
  /// Tells the banks what has been read so far.
  template <class Banks>
  void settle(Banks& banks) {
    count_words(banks, read_, to_int(word_bytes_));
  }

 private:
  template <class Banks>
  void ask(Banks& banks) {
    asked_ = true;
    KeepsNothing keeps_nothing;
    tlm::tlm_generic_payload payload;
    payload.set_command(tlm::TLM_READ_COMMAND);
    payload.set_extension(&keeps_nothing);
    for (auto& bank : banks) {
      tlm::tlm_dmi dmi;
      if (!bank->get_direct_mem_ptr(payload, dmi)) break;
      memory_.push_back(dmi.get_dmi_ptr());
      bank_bytes_ = dmi.get_end_address() + 1;
    }
    payload.clear_extension(&keeps_nothing);
    if (memory_.size() < read_.size()) memory_.clear();
  }

  std::size_t word_bytes_;
  bool asked_ = false;
  std::uint64_t bank_bytes_ = 0;
  std::vector<const std::uint8_t*> memory_;  // byte 0 of each bank; empty: they want transports
  std::vector<std::int64_t> read_;           // words by bank that it has not been told of
  WordAccess access_;
};

/// Writes the words of one module into the memory of a row of banks, where all of them grant exclusive direct
/// memory access to the region (SramBank): a word is then a copy instead of a transport. `settle` tells the
/// banks of the words. The module passes `invalidate_direct_mem_ptr` of its sockets on to `withdraw`.
class DirectWriter {
 public:
  /// `region_bytes`: size of the regions that the banks grant.
  DirectWriter(std::size_t banks, int word_bytes, std::uint64_t region_bytes)
      : word_bytes_(to_size(word_bytes)), region_bytes_(region_bytes), written_(banks, 0) {
    payload_.set_command(tlm::TLM_WRITE_COMMAND);
  }

  /// Asks for the region that byte `address` of the banks lies in, unless it is granted; false when a bank
  /// refuses. `Banks` are initiator sockets, one a bank.
  template <class Banks>
  bool open(Banks& banks, std::uint64_t address) {
    const std::uint64_t region = address / region_bytes_;
    if (!memory_.empty() && region == region_) return true;
    std::vector<std::uint8_t*> memory;
    payload_.set_address(address);
    for (auto& bank : banks) {
      tlm::tlm_dmi dmi;
      if (!bank->get_direct_mem_ptr(payload_, dmi) || !dmi.is_write_allowed()) return false;
      memory.push_back(dmi.get_dmi_ptr() - dmi.get_start_address());
    }
    memory_ = std::move(memory);
    region_ = region;
    return true;
  }
  /// Bank addresses [begin, end] are no longer granted.
  void withdraw(std::uint64_t begin, std::uint64_t end) {
    if (begin / region_bytes_ <= region_ && region_ <= end / region_bytes_) memory_.clear();
  }
  /// Writes a word; its region is open.
  void write(std::size_t bank, std::uint64_t address, const std::uint8_t* from) {
    copy_word(memory_[bank] + address, from, word_bytes_);
    ++written_[bank];
  }
  /// Writes successive words to one address of `count` banks, from bank `first` on.
  void write_row(std::size_t first, std::size_t count, std::uint64_t address, const std::uint8_t* from) {
    std::uint8_t* const* const banks = memory_.data() + first;
    with_word_size(word_bytes_, [&, count, address, from, banks](auto size) {
      const std::uint8_t* word = from;
      for (std::size_t i = 0; i < count; ++i, word += size) std::memcpy(banks[i] + address, word, size);
    });
    std::int64_t* const written = written_.data() + first;
    for (std::size_t i = 0; i < count; ++i) ++written[i];
  }
  /// Tells the banks what has been written so far.
  template <class Banks>
  void settle(Banks& banks) {
    count_words(banks, written_, to_int(word_bytes_));
  }

 private:
  std::size_t word_bytes_;
  std::uint64_t region_bytes_, region_ = 0;  // the open one
  std::vector<std::uint8_t*> memory_;  // by bank: pointer to its address 0; empty: no direct access is open
  std::vector<std::int64_t> written_;  // words by bank that it has not been told of
  tlm::tlm_generic_payload payload_;
};

}  // namespace tilebeat
