#include "arithmetic.h"

#include <algorithm>
#include <cmath>

namespace tilebeat {

template <class T>
std::vector<T> centred(const Tensor& tensor, std::int32_t zero_point) {
  std::vector<T> values(static_cast<std::size_t>(tensor.elements()));
  const std::uint8_t* const bytes = tensor.bytes.data();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::int32_t element = tensor.dtype == DType::kInt8    ? static_cast<std::int8_t>(bytes[i])
                                 : tensor.dtype == DType::kUint8 ? bytes[i]
                                                                 : tensor.at(static_cast<std::int64_t>(i));
    values[i] = static_cast<T>(element - zero_point);
  }
  return values;
}

template std::vector<std::int16_t> centred(const Tensor&, std::int32_t);
template std::vector<std::int32_t> centred(const Tensor&, std::int32_t);

double round_half_even(double value) {
  const double below = std::floor(value);
  const double part = value - below;
  if (part != 0.5) return part > 0.5 ? below + 1.0 : below;
  const bool odd = std::floor(below * 0.5) * 2.0 != below;
  return odd ? below + 1.0 : below;
}

std::int32_t rounded(double value, std::int32_t zero_point, DType dtype) {
  const double shifted = round_half_even(value) + zero_point;
  const auto low = static_cast<double>(dtype_min(dtype)), high = static_cast<double>(dtype_max(dtype));
  return static_cast<std::int32_t>(std::min(std::max(shifted, low), high));
}

}  // namespace tilebeat
