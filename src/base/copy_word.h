#pragma once

#include <cstddef>
#include <cstring>
#include <type_traits>

namespace tilebeat {

/// Calls `work(size)` with the size of a memory's words, `length`, as a constant where it is a usual one:
/// copies of `size` bytes are then moves of registers.
template <class Work>
inline void with_word_size(std::size_t length, const Work& work) {
  switch (length) {
    case 4:
      return work(std::integral_constant<std::size_t, 4>());
    case 8:
      return work(std::integral_constant<std::size_t, 8>());
    case 16:
      return work(std::integral_constant<std::size_t, 16>());
    case 32:
      return work(std::integral_constant<std::size_t, 32>());
    default:
      return work(length);
  }
}

/// Copies one word: as memcpy, but words of the usual sizes without a call.
inline void copy_word(void* to, const void* from, std::size_t length) {
  with_word_size(length, [&](auto size) { std::memcpy(to, from, size); });
}

}  // namespace tilebeat
