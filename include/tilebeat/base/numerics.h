#pragma once

#include "tilebeat/base/dtype.h"

#include <cmath>
#include <cstdint>

namespace tilebeat {

/// SPEC NU-2: saturate(round_half_even(acc * scale) + zero_point) to `type`, the product in IEEE double. nearbyint
/// rounds half to even in the default rounding mode, which nothing in this program changes.
inline std::int32_t requantize(std::int32_t acc, double scale, std::int32_t zero_point, DType type) {
  const double shifted = std::nearbyint(static_cast<double>(acc) * scale) + static_cast<double>(zero_point);
  const auto low = static_cast<double>(dtype_min(type));
  const auto high = static_cast<double>(dtype_max(type));
  return static_cast<std::int32_t>(shifted < low ? low : shifted > high ? high : shifted);
}

}  // namespace tilebeat
