#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace tilebeat {

// The fixed-point arithmetic of SPEC NU-6, as the hardware has it: a multiplier of 32 x 32 bits, an adder
// and an arithmetic shifter of 64 bits.

/// multiplier * 2^(shift - 31); `multiplier` is 0 or has its highest bit but the sign, 2^30 to 2^31 - 1.
struct FixedFactor {
  std::int32_t multiplier = 0;
  std::int32_t shift = 0;
};
/// Shifts beyond these would leave 64 bits.
constexpr std::int32_t kLeastShift = -31, kMostShift = 30;

/// QM(d) of SPEC NU-6 for d >= 0: the mantissa in 31 bits, half away from zero; below 2^-32 it is 0.
inline FixedFactor fixed_factor(double d) {
  if (d == 0) return {};
  int shift = 0;
  auto mantissa = std::llround(std::frexp(d, &shift) * 2147483648.0);
  if (mantissa == std::int64_t{1} << 31) mantissa /= 2, ++shift;
  if (shift < kLeastShift) return {};
  return {static_cast<std::int32_t>(mantissa), shift};
}

/// SR of SPEC NU-6: one rounding, half up. A shift beyond its bounds is taken to be the bound.
inline std::int64_t multiply_single(std::int32_t value, FixedFactor factor) {
  const int right = 31 - std::clamp(factor.shift, kLeastShift, kMostShift);
  return (std::int64_t{value} * factor.multiplier + (std::int64_t{1} << (right - 1))) >> right;
}

/// DR of SPEC NU-6: the doubling high half of the product, half up and saturated, then a shift that rounds
/// halves away from zero. The shift to the left wraps.
inline std::int32_t multiply_double(std::int32_t value, FixedFactor factor) {
  const int shift = std::clamp(factor.shift, kLeastShift, kMostShift);
  const auto shifted = static_cast<std::int32_t>(static_cast<std::uint32_t>(value) << std::max(shift, 0));
  const std::int64_t high =
      (std::int64_t{shifted} * factor.multiplier + (std::int64_t{1} << 30)) >> 31;  // at most 2^31
  const std::int64_t kept = std::min<std::int64_t>(high, INT32_MAX);
  const int right = std::max(-shift, 0);
  if (right == 0) return static_cast<std::int32_t>(kept);
  // Half up of the magnitude is half away from zero.
  const std::int64_t half = std::int64_t{1} << (right - 1);
  return static_cast<std::int32_t>((kept + half - (kept < 0 ? 1 : 0)) >> right);
}

}  // namespace tilebeat
