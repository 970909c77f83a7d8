#pragma once

// How many random cases a test tries.

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace tilebeat::testing {

/// The fewest cases of which the share is told that hardware refuses: fewer, and chance would decide.
constexpr int kFewest = 60;

/// `all` cases, or as many of them as a test counts; with TILEBEAT_BUDGET=push in the environment, which
/// `.ci/run` sets, a quarter of them, but at least `least`.
inline int budget(int all, int least = 1) {
  constexpr int kShare = 4;
  const char* wish = std::getenv("TILEBEAT_BUDGET");
  if (wish == nullptr || std::string_view(wish) != "push") return all;
  return std::min(all, std::max(least, all / kShare));
}

}  // namespace tilebeat::testing
