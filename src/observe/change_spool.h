#pragma once

#include "base/types.h"
#include "tilebeat/error.h"

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace tilebeat {

/// Changes of a waveform in an unnamed file, a few bytes each: numbers have seven bits a byte, the lowest
/// first.
class ChangeSpool {
 public:
  ChangeSpool() : file_(std::tmpfile(), std::fclose) {
    if (file_ == nullptr)
      throw UserError(fmt::format("the waveform: a temporary file cannot be made: {}", std::strerror(errno)));
  }
  /// Adds a change of the signal with a number, `rank`; times do not fall. `value` counts where it is known.
  void add(Picoseconds at, int rank, bool known, const std::vector<std::uint64_t>& value) {
    put(to_unsigned(at - last_));
    put(to_unsigned(std::int64_t{rank} * 2 + (known ? 1 : 0)));
    if (known) {
      for (const std::uint64_t word : value) put(word);
    }
    last_ = at, ++left_;
  }
  /// From now on changes are taken in the order in which they came. Throws UserError when one was not stored.
  void rewind() {
    errno = 0;
    if (error_ == 0 && std::fflush(file_.get()) != 0) error_ = errno;
    if (error_ != 0)
      throw UserError(
          fmt::format("a temporary file of the waveform cannot be written: {}", std::strerror(error_)));
    std::rewind(file_.get());
    last_ = 0;
  }
  bool empty() const { return left_ == 0; }
  /// The time and the rank of the next change; its value is taken by `take`.
  std::pair<Picoseconds, int> next() {
    last_ += to_signed(get());
    const std::uint64_t rank = get();
    known_ = rank % 2 != 0;
    return {last_, to_int(rank / 2)};
  }
  /// Takes the value of the change that `next` has named. Returns whether it is known; `value` has its size.
  bool take(std::vector<std::uint64_t>& value) {
    if (known_) {
      for (std::uint64_t& word : value) word = get();
    }
    --left_;
    return known_;
  }

 private:
  void put(std::uint64_t number) {
    for (; number > 0x7F; number >>= 7) put_byte(to_int(number & 0x7F) | 0x80);
    put_byte(to_int(number));
  }
  void put_byte(int byte) {
    if (putc_unlocked(byte, file_.get()) == EOF && error_ == 0) error_ = errno != 0 ? errno : EIO;
  }
  std::uint64_t get() {
    std::uint64_t number = 0;
    for (int shift = 0;; shift += 7) {
      const auto byte = to_unsigned(std::int64_t{getc_unlocked(file_.get())});
      number |= (byte & 0x7F) << shift;
      if ((byte & 0x80) == 0) return number;
    }
  }
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
  int error_ = 0;  // errno of the first write that failed
  Picoseconds last_ = 0;
  std::int64_t left_ = 0;
  bool known_ = false;
};

}  // namespace tilebeat
