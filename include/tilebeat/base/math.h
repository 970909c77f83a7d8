#pragma once

#include <cstdint>

namespace tilebeat {

/// ceil(a / b) for a >= 0, b > 0.
template <class T>
constexpr T ceil_div(T a, T b) {
  return (a + b - 1) / b;
}

/// The smallest multiple of `b` that is not below `a`, for a >= 0, b > 0.
template <class T>
constexpr T align_up(T a, T b) {
  return ceil_div(a, b) * b;
}

}  // namespace tilebeat
