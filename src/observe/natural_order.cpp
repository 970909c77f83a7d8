#include "tilebeat/observe/natural_order.h"

#include <cstddef>
#include <cstdint>

namespace tilebeat {

bool natural_less(std::string_view a, std::string_view b) {
  std::size_t i = 0, j = 0;
  const auto number = [](std::string_view s, std::size_t& at) {
    std::uint64_t n = 0;
    while (at < s.size() && s[at] >= '0' && s[at] <= '9')
      n = n * 10 + static_cast<std::uint64_t>(s[at++] - '0');
    return n;
  };
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  while (i < a.size() && j < b.size()) {
    if (digit(a[i]) && digit(b[j])) {
      const std::uint64_t x = number(a, i), y = number(b, j);
      if (x != y) return x < y;
    } else if (a[i] != b[j]) {
      return a[i] < b[j];
    } else {
      ++i, ++j;
    }
  }
  return a.size() - i < b.size() - j;
}

}  // namespace tilebeat
