#pragma once

#include "base/dtype.h"
#include "base/types.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string_view>

#include <emmintrin.h>

namespace tilebeat {

/// A sum in an accumulator: 32 bits of products of bytes, 48 bits where a map is int16 (SPEC DT-2).
using Sum = std::int64_t;

/// round_half_even(value * scale) in IEEE double, limited to -1e12 and 1e12, which are far beyond any type
/// and zero point. The conversion rounds half to even in the default rounding mode, which nothing in this
/// program changes. `value * scale` is not NaN.
inline std::int64_t rounded_product(double value, double scale) {
  constexpr double kBeyond = 1e12;  // still exact as an integer
  return _mm_cvtsd_si64(_mm_set_sd(std::clamp(value * scale, -kBeyond, kBeyond)));
}

/// value * scale in IEEE double, half away from zero, limited to int32.
inline std::int64_t rounded_away(std::int64_t value, double scale) {
  constexpr double kLeast = INT32_MIN, kMost = INT32_MAX;
  return std::llround(std::clamp(static_cast<double>(value) * scale, kLeast, kMost));
}

/// saturate(rounded_product + zero_point) to `type`.
inline std::int32_t requantize_real(double value, double scale, std::int32_t zero_point, DType type) {
  const std::int64_t rounded = rounded_product(value, scale) + zero_point;
  return static_cast<std::int32_t>(std::clamp(rounded, dtype_min(type), dtype_max(type)));
}

/// The requantisation of an accumulator (SPEC NU-2).
inline std::int32_t requantize(std::int64_t acc, double scale, std::int32_t zero_point, DType type) {
  return requantize_real(static_cast<double>(acc), scale, zero_point, type);
}

/// `value` at the scale of the result in float32 (SPEC NU-6): rint(f32(f32(value) * scale)), plus
/// `zero_point`, within `type`. NaN becomes the least result.
inline std::int32_t requantize_float(std::int32_t value, float scale, std::int32_t zero_point, DType type) {
  constexpr float kBeyond = 1e9F;
  const float product = std::min(std::max(-kBeyond, static_cast<float>(value) * scale), kBeyond);
  const std::int64_t rounded = _mm_cvtss_si64(_mm_set_ss(product)) + zero_point;
  return static_cast<std::int32_t>(std::clamp(rounded, dtype_min(type), dtype_max(type)));
}

// The fixed-point arithmetic of SPEC NU-6, as the hardware has it: a multiplier of 32 x 32 bits, an adder
// and an arithmetic shifter of 64 bits.

/// multiplier * 2^(shift - 31); `multiplier` is 0 or has its highest bit but the sign, 2^30 to 2^31 - 1.
struct FixedFactor {
  std::int32_t multiplier = 0;
  std::int32_t shift = 0;
};
/// The bounds of shifts that stay within 64 bits.
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

/// The factor of SPEC DT-2 as a real number: the upper half of the multiplier, rounded, at its shift.
inline double short_factor(FixedFactor factor) {
  const std::int32_t half = factor.multiplier < 0x7FFF0000 ? (factor.multiplier + (1 << 15)) >> 16 : 0x7FFF;
  return std::ldexp(half, factor.shift - 15);
}
/// The lower 32 bits of value * factor, half up, for a factor of at most 16 bits and a value of at most 48.
inline std::int32_t multiply_short(std::int64_t value, double factor) {
  int exponent = 0;
  const auto half = static_cast<std::int64_t>(std::ldexp(std::frexp(factor, &exponent), 15));
  const int right = 15 - exponent;
  const std::int64_t product = value * half;
  if (right <= 0) return static_cast<std::int32_t>(to_unsigned(product) << std::min(-right, 31));
  return right > 62 ? 0 : static_cast<std::int32_t>((product + (std::int64_t{1} << (right - 1))) >> right);
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

/// The runtime whose arithmetic makes the results of a layer (SPEC NU-6).
enum class Arithmetic : std::uint8_t {
  kExact,       ///< the real value in IEEE doubles, rounded once (SPEC NU-2)
  kFloat32,     ///< TensorFlow Lite with XNNPACK
  kFloat32Ort,  ///< ONNX Runtime
  kFixed,       ///< TensorFlow Lite's built-in kernels: integers only
  kTflm         ///< TensorFlow Lite Micro: as kFixed, but sums are rounded twice; layers alone have it
};
constexpr std::array<std::string_view, 5> kArithmeticNames{"exact", "float32", "float32_ort", "fixed",
                                                           "tflm"};
constexpr std::string_view arithmetic_name(Arithmetic arithmetic) {
  return nth(kArithmeticNames, arithmetic);
}

/// The method by which a post-processor rescales an accumulator (SPEC NU-2, NU-6).
enum class Rescale : std::uint8_t {
  kReal64,           ///< IEEE double, half to even
  kReal32,           ///< float32, half to even
  kSingleRounding,   ///< a 32-bit integer multiplier and a shift, half up
  kDoubleRounding,   ///< the same, rounded after the multiplier and again after the shift
  kShortMultiplier,  ///< a 16-bit integer multiplier and a shift of a sum of 48 bits, half up (SPEC DT-2)
  kReal64Away        ///< IEEE double, half away from zero
};
constexpr std::array<std::string_view, 6> kRescaleNames{
    "real64", "real32", "single_rounding", "double_rounding", "short_multiplier", "real64_away"};

/// Functions of a real value that post-processors and the vector unit's tables compute (SPEC NU-2, OP-2).
enum class RealFunction : std::uint8_t { kNone, kLeakyRelu, kSigmoid, kTanh, kHardSwish, kGelu };

/// f(v) as in docs/workloads.md, in IEEE doubles; `slope` is that of kLeakyRelu. kNone: v.
inline double apply(RealFunction function, double v, double slope) {
  switch (function) {
    case RealFunction::kNone:
      break;
    case RealFunction::kLeakyRelu:
      return v >= 0.0 ? v : v * slope;
    case RealFunction::kSigmoid:
      return 1.0 / (1.0 + std::exp(-v));
    case RealFunction::kTanh:
      return std::tanh(v);
    case RealFunction::kHardSwish:
      return v * std::min(std::max(v + 3.0, 0.0), 6.0) / 6.0;
    case RealFunction::kGelu:
      return 0.5 * v * (1.0 + std::erf(v / 1.4142135623730951));
  }
  return v;
}

/// Scales of weights of four bits that a decoder holds.
constexpr int kMostWeightScales = 1024;

}  // namespace tilebeat
