#pragma once

#include "tilebeat/base/copy_word.h"
#include "tilebeat/fabric/transport.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include <tlm>

namespace tilebeat {

/// Reads single words of a row of banks for one module: from their memory where all of them let it look there
/// at any time (KeepsNothing), else in a transport each. The module itself sees to it that no port reads
/// twice in a cycle; a bank that is read directly would not notice. The banks hear of direct reads when
/// `settle` is called.
class DirectReader {
 public:
  DirectReader(std::size_t banks, int word_bytes)
      : word_bytes_(static_cast<std::size_t>(word_bytes)),
        read_(banks, 0),
        access_(tlm::TLM_READ_COMMAND, word_bytes) {}

  /// Reads the word at byte `address` of a bank to `to`, `delay` from now. Beyond the bank's end nothing is
  /// read. `Banks` are initiator sockets, one a bank.
  template <class Banks>
  void read(Banks& banks, std::size_t bank, std::uint64_t address, std::uint8_t* to,
            const sc_core::sc_time& delay = sc_core::sc_time()) {
    if (!asked_) ask(banks);
    if (memory_.empty()) return access_(banks[bank], address, to, delay);
    if (address + word_bytes_ > bank_bytes_) return;
    copy_word(to, memory_[bank] + address, word_bytes_);
    ++read_[bank];
  }
  /// Tells the banks what was read so far.
  template <class Banks>
  void settle(Banks& banks) {
    count_words(banks, read_, static_cast<int>(word_bytes_));
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

}  // namespace tilebeat
