#pragma once

#include <cstdint>

namespace tilebeat {

/// ceil(a / b) for a >= 0, b > 0.
template <class T>
constexpr T ceil_div(T a, T b) {
  return (a + b - 1) / b;
}

/// The smallest multiple of `b` that is not below `a`, for a >= 0, b > 0.
template <class T>
constexpr T align_up(T a, T b) {
  return ceil_div(a, b) * b;
}

/// Calls `visit` with the number of each bit that is set in `word`, the lowest first. `word` is read anew
/// after every visit: bits that are set meanwhile are visited where they are higher, those that are cleared
/// are not.
template <class Visit>
void for_each_bit(const std::uint64_t& word, const Visit& visit) {
  std::uint64_t above = ~std::uint64_t{0};  // the last one visited
  while (const std::uint64_t left = word & above) {
    const int bit = __builtin_ctzll(left);
    above = ~std::uint64_t{1} << bit;
    visit(bit);
  }
}

}  // namespace tilebeat
