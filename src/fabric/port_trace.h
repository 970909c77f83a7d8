#pragma once

#include "base/copy_word.h"
#include "base/types.h"
#include "observe/trace.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace tilebeat {

/// Shows the accesses of one port of a bank in a trace: whether there is one, where, and its bytes.
class PortTrace {
 public:
  /// Declares `signal`_valid, `signal`_addr, the number of the `address_unit` bytes that an access begins in,
  /// and `signal`, the first `word_bytes` of its bytes, which are `shown` as the others are or not. `period`:
  /// of the bank's clock.
  PortTrace(Trace& trace, const std::string& scope, const std::string& signal, int word_bytes,
            int address_unit, Shown shown, Picoseconds period)
      : trace_(trace),
        period_(period),
        word_bytes_(to_size(word_bytes)),
        address_unit_(to_unsigned(address_unit)) {
    signals_.add(trace, {scope, signal, 8 * word_bytes, Radix::kHexadecimal, shown});
    signals_.add(trace, {scope, signal + "_addr", 8 * kAddressBytes});
    valid_ = Strobe(&trace, scope, signal + "_valid");
    shown_.resize(signals_.total_bytes);
  }

  /// `count` bytes are accessed at byte `address` in the cycle that begins at `at`.
  void access(Picoseconds at, std::uint64_t address, const std::uint8_t* bytes, std::size_t count) {
    if (valid_.is_ignored(trace_, signals_)) return;
    std::uint8_t* const place = valid_.record(trace_, at, at + period_, signals_);
    fill(place != nullptr ? place : shown_.data(), address, bytes, count);
    if (place == nullptr) valid_.high(&trace_, at, at + period_, signals_, shown_.data());
  }

 private:
  static constexpr int kAddressBytes = 4;

  void fill(std::uint8_t* to, std::uint64_t address, const std::uint8_t* bytes, std::size_t count) const {
    const std::size_t shown = std::min(count, word_bytes_);
    copy_word(to, bytes, shown);
    std::memset(to + shown, 0, word_bytes_ - shown);
    const std::uint64_t number = address / address_unit_;
    std::memcpy(to + word_bytes_, &number, kAddressBytes);
  }

  // What every access needs comes first, in as few lines of the cache as possible.
  Trace& trace_;
  Picoseconds period_;
  std::size_t word_bytes_;
  std::uint64_t address_unit_;
  Strobe valid_;
  SignalGroup signals_;              // the data, the address
  std::vector<std::uint8_t> shown_;  // what is told by Strobe::high
};

}  // namespace tilebeat
