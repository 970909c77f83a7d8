#pragma once

#include "tilebeat/base/dtype.h"

#include <algorithm>
#include <cstdint>

#include <emmintrin.h>

namespace tilebeat {

/// saturate(round_half_even(value * scale) + zero_point) to `type`, in IEEE double. The conversion rounds
/// half to even in the default rounding mode, which nothing in this program changes. `value * scale` is no
/// NaN.
inline std::int32_t requantize_real(double value, double scale, std::int32_t zero_point, DType type) {
  // Far beyond any type and zero point, and still exact as an integer.
  constexpr double kBeyond = 1e12;
  const double product = std::clamp(value * scale, -kBeyond, kBeyond);
  const std::int64_t rounded = _mm_cvtsd_si64(_mm_set_sd(product)) + zero_point;
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
