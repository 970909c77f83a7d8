#pragma once

#include "base/types.h"
#include "tilebeat/error.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <utility>

#include <fmt/format.h>

namespace tilebeat {

/// Changes of a waveform in an unnamed file, a few bytes each. A change is a number, with a time where that
/// has moved on, and the bytes of its value; numbers have seven bits a byte, the lowest first.
class ChangeSpool {
 public:
  ChangeSpool() : file_(std::tmpfile(), std::fclose) {
    if (file_ == nullptr)
      throw UserError(fmt::format("the waveform: a temporary file cannot be made: {}", std::strerror(errno)));
  }
  /// Adds a change of the signal with a number, `rank`; times do not fall. The `bytes` of the value count
  /// where it is known.
  void add(Picoseconds at, int rank, bool known, const std::uint64_t* value, std::size_t bytes) {
    if (place_ + kLargestNumbers > kBufferBytes) write_out();
    const bool moved = at != last_;
    put(to_unsigned(std::int64_t{rank}) << 2 | (moved ? 2U : 0U) | (known ? 1U : 0U));
    if (moved) put(to_unsigned(at - last_));
    last_ = at, ++left_;
    if (!known) return;
    const char* from = reinterpret_cast<const char*>(value);
    if (bytes <= kWord) {  // a copy of a constant length takes no call
      std::memcpy(&buffer_[place_], from, kWord);
      place_ += bytes;
      return;
    }
    while (bytes > 0) {
      if (place_ >= kBufferBytes) write_out();
      const std::size_t now = std::min(bytes, kBufferBytes - place_);
      std::memcpy(&buffer_[place_], from, now);
      place_ += now, from += now, bytes -= now;
    }
  }
  /// From now on changes are taken in the order in which they came. Throws UserError when one was not stored.
  void rewind() {
    write_out();
    errno = 0;
    if (error_ == 0 && std::fflush(file_.get()) != 0) error_ = errno;
    if (error_ != 0)
      throw UserError(
          fmt::format("a temporary file of the waveform cannot be written: {}", std::strerror(error_)));
    std::rewind(file_.get());
    last_ = 0, end_ = 0;
  }
  bool empty() const { return left_ == 0; }
  /// Bytes of all changes that were added.
  std::int64_t bytes() const { return written_ + to_signed(place_); }
  /// The time and the rank of the next change; its value is taken by `take`.
  std::pair<Picoseconds, int> next() {
    const std::uint64_t head = get();
    if ((head & 2) != 0) last_ += to_signed(get());
    known_ = (head & 1) != 0;
    return {last_, to_int(head >> 2)};
  }
  /// Takes the value of the change that `next` has named, of as many bytes as were added. Returns whether it
  /// is known.
  bool take(std::uint64_t* value, std::size_t bytes) {
    if (known_ && bytes <= kWord && place_ + kWord <= end_) {
      std::memcpy(value, &buffer_[place_], kWord);
      *value &= ~std::uint64_t{0} >> (kWord - bytes) * 8;
      place_ += bytes, bytes = 0;
    }
    char* to = reinterpret_cast<char*>(value);
    while (known_ && bytes > 0) {
      if (place_ == end_) read_on();
      const std::size_t now = std::min(bytes, end_ - place_);
      std::memcpy(to, &buffer_[place_], now);
      place_ += now, to += now, bytes -= now;
    }
    --left_;
    return known_;
  }

 private:
  static constexpr std::size_t kBufferBytes = 1 << 16, kWord = sizeof(std::uint64_t);
  static constexpr std::size_t kLargestNumbers = 20;  // bytes of two numbers
  void put(std::uint64_t number) {
    for (; number > 0x7F; number >>= 7) buffer_[place_++] = static_cast<char>((number & 0x7F) | 0x80);
    buffer_[place_++] = static_cast<char>(number);
  }
  void write_out() {
    errno = 0;
    if (std::fwrite(buffer_.data(), 1, place_, file_.get()) != place_ && error_ == 0)
      error_ = errno != 0 ? errno : EIO;
    written_ += to_signed(std::exchange(place_, 0));
  }
  std::uint64_t get() {
    std::uint64_t number = 0;
    for (int shift = 0;; shift += 7) {
      if (place_ == end_) read_on();
      const auto byte = static_cast<std::uint8_t>(buffer_[place_++]);
      number |= std::uint64_t{byte & 0x7FU} << shift;
      if ((byte & 0x80) == 0) return number;
    }
  }
  void read_on() {
    end_ = std::fread(buffer_.data(), 1, kBufferBytes, file_.get());
    place_ = 0;
    if (end_ == 0) throw UserError("a temporary file of the waveform cannot be read");
  }
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
  std::array<char, kBufferBytes + kWord> buffer_;  // what is to be written, then what has been read
  std::size_t place_ = 0, end_ = 0;  // of the buffer: the next byte, and the end of what has been read
  int error_ = 0;                    // errno of the first write that failed
  Picoseconds last_ = 0;
  std::int64_t written_ = 0, left_ = 0;  // bytes, changes
  bool known_ = false;
};

}  // namespace tilebeat
