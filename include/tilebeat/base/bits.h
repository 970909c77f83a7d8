#pragma once

#include <cstdint>

namespace tilebeat {

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
