#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tilebeat {

/// Bytes that come and go in blocks, first in, first out.
class ByteQueue {
 public:
  std::size_t size() const { return bytes_.size() - begin_; }
  /// The oldest byte; the others follow it.
  std::uint8_t* data() { return bytes_.data() + begin_; }

  void push(const std::uint8_t* bytes, std::size_t count) {
    make_room(count);
    bytes_.insert(bytes_.end(), bytes, bytes + count);
  }
  /// `count` times `byte`.
  void push(std::size_t count, std::uint8_t byte) {
    make_room(count);
    bytes_.insert(bytes_.end(), count, byte);
  }
  /// Takes the oldest `count` bytes off, which are there.
  void pop(std::size_t count) { begin_ += count; }

 private:
  // Bytes move to the front when that is cheaper than growing.
  void make_room(std::size_t count) {
    if (bytes_.size() + count <= bytes_.capacity() || begin_ < size()) return;
    bytes_.erase(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(begin_));
    begin_ = 0;
  }

  std::vector<std::uint8_t> bytes_;
  std::size_t begin_ = 0;  // of the oldest byte
};

}  // namespace tilebeat
