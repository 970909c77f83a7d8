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

}  // namespace tilebeat
