#pragma once

// Files with bytes changed, for parsers of binary formats.

#include <algorithm>
#include <random>
#include <string>

namespace tilebeat::testing {

/// A few bytes changed; lengths, offsets and names are as likely as weights because most of them stand at the
/// ends.
inline std::string mutated(std::string bytes, std::mt19937_64& random) {
  const auto below = [&](std::size_t count) {
    return static_cast<std::size_t>(random() % std::max<std::size_t>(1, count));
  };
  const auto place = [&] {
    const std::size_t window = std::min<std::size_t>(bytes.size(), 2048);
    return random() % 3 == 0   ? below(bytes.size())
           : random() % 2 == 0 ? below(window)
                               : bytes.size() - 1 - below(window);
  };
  for (std::size_t changes = 1 + below(4); changes > 0 && !bytes.empty(); --changes) {
    const std::size_t at = place();
    switch (random() % 6) {
      case 0:
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
        break;
      case 1:
        bytes[at] = static_cast<char>(random());
        break;
      case 2:
        bytes[at] = random() % 2 == 0 ? '\x7f' : '\xff';
        break;
      case 3:
        bytes.resize(at);
        break;
      case 4:
        bytes.insert(at, bytes.substr(place(), below(64)));
        break;
      default:
        bytes.erase(at, below(16));
    }
  }
  return bytes;
}

}  // namespace tilebeat::testing
