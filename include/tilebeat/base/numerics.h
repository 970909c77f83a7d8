#pragma once

#include "tilebeat/base/dtype.h"

#include <algorithm>
#include <cstdint>

#include <emmintrin.h>

namespace tilebeat {

/// round_half_even(value * scale) in IEEE double; what is far beyond any type and zero point is 1e12 or
/// -1e12. The conversion rounds half to even in the default rounding mode, which nothing in this program
/// changes. `value * scale` is no NaN.
inline std::int64_t rounded_product(double value, double scale) {
  constexpr double kBeyond = 1e12;  // still exact as an integer
  return _mm_cvtsd_si64(_mm_set_sd(std::clamp(value * scale, -kBeyond, kBeyond)));
}

/// saturate(rounded_product + zero_point) to `type`.
inline std::int32_t requantize_real(double value, double scale, std::int32_t zero_point, DType type) {
  const std::int64_t rounded = rounded_product(value, scale) + zero_point;
  return static_cast<std::int32_t>(std::clamp(rounded, dtype_min(type), dtype_max(type)));
}

/// SPEC NU-2: the same of an accumulator.
inline std::int32_t requantize(std::int32_t acc, double scale, std::int32_t zero_point, DType type) {
  return requantize_real(static_cast<double>(acc), scale, zero_point, type);
}

/// `value` brought to the scale of the result in float32 (SPEC NU-6): rint(f32(f32(value) * scale)), plus
/// `zero_point`, within `type`. What is no number becomes
/// the least result.
inline std::int32_t requantize_float(std::int32_t value, float scale, std::int32_t zero_point, DType type) {
  constexpr float kBeyond = 1e9F;
  const float product = std::min(std::max(-kBeyond, static_cast<float>(value) * scale), kBeyond);
  const std::int64_t rounded = _mm_cvtss_si64(_mm_set_ss(product)) + zero_point;
  return static_cast<std::int32_t>(std::clamp(rounded, dtype_min(type), dtype_max(type)));
}

}  // namespace tilebeat
