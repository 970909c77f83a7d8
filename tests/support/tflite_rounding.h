#pragma once

// The roundings of TensorFlow Lite's kernels (docs/arithmetic.md), written out for tests.

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace tilebeat::testing {

/// M * 2^(s - 31), a factor of the kernels.
struct Factor {
  std::int64_t m = 0;
  int s = 0;
};
inline Factor factor_of(double d) {
  int s = 0;
  const double mantissa = std::frexp(d, &s);
  Factor made{static_cast<std::int64_t>(std::floor(mantissa * 2147483648.0 + 0.5)), s};
  if (made.m == std::int64_t{1} << 31) made = {made.m / 2, made.s + 1};
  return made.s < -31 ? Factor{} : made;
}
/// x * 2^-places, half away from zero.
inline std::int64_t shifted(std::int64_t x, int places) {
  if (places <= 0) return x;
  const std::int64_t mask = (std::int64_t{1} << places) - 1;
  return (x >> places) + ((x & mask) > (mask >> 1) + (x < 0 ? 1 : 0) ? 1 : 0);
}
/// SR: one rounding, half up.
inline std::int64_t once_rounded(std::int64_t x, const Factor& f) {
  return (x * f.m + (std::int64_t{1} << (30 - f.s))) >> (31 - f.s);
}
/// DR: a rounding of the product, and one of the shift.
inline std::int64_t twice_rounded(std::int64_t x, const Factor& f) {
  const std::int64_t product = (x << std::max(f.s, 0)) * f.m;
  const std::int64_t nudged = product + (product >= 0 ? 1 << 30 : 1 - (1 << 30));
  return shifted(nudged >= 0 ? nudged >> 31 : -(-nudged >> 31), std::max(-f.s, 0));
}

}  // namespace tilebeat::testing
