#pragma once

// How many random cases a test tries.

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace tilebeat::testing {

/// The fewest cases of which the share is told that hardware refuses: fewer, and chance would decide.
constexpr int kFewest = 30;

/// Whether only what a push has time for is wanted: TILEBEAT_BUDGET=push in the environment, which `.ci/run`
/// sets. `.ci/nightly` does not.
inline bool is_push() {
  const char* wish = std::getenv("TILEBEAT_BUDGET");
  return wish != nullptr && std::string_view(wish) == "push";
}

/// `all` cases, or as many of them as a test counts; on a push a twelfth of them, but at least `least`.
inline int budget(int all, int least = 1) {
  constexpr int kShare = 12;
  return is_push() ? std::min(all, std::max(least, all / kShare)) : all;
}

}  // namespace tilebeat::testing
