#pragma once

#include "tilebeat/base/dtype.h"

#include <algorithm>
#include <cstdint>

#include <emmintrin.h>

namespace tilebeat {

/// saturate(round_half_even(value) + zero_point) to `type`. The conversion rounds half to even in the default
/// rounding mode, which nothing in this program changes.
inline std::int32_t round_to_type(double value, std::int32_t zero_point, DType type) {
  // Far beyond any type and zero point, and still exact as an integer.
  constexpr double kBeyond = 1e12;
  const double product = std::clamp(value, -kBeyond, kBeyond);
  const std::int64_t rounded = _mm_cvtsd_si64(_mm_set_sd(product)) + zero_point;
  return static_cast<std::int32_t>(std::clamp(rounded, dtype_min(type), dtype_max(type)));
}

/// SPEC NU-2: saturate(round_half_even(acc * scale) + zero_point) to `type`, the product in IEEE double.
inline std::int32_t requantize(std::int32_t acc, double scale, std::int32_t zero_point, DType type) {
  return round_to_type(static_cast<double>(acc) * scale, zero_point, type);
}

}  // namespace tilebeat
