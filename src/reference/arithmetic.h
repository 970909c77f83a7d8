#pragma once

#include "tilebeat/base/dtype.h"
#include "tilebeat/workload/tensor.h"

#include <cstdint>
#include <vector>

namespace tilebeat {

/// The elements less `zero_point`. T holds every difference: nine bits for bytes.
template <class T>
std::vector<T> centred(const Tensor& tensor, std::int32_t zero_point);

/// To the nearest whole number, halves to the even one.
double round_half_even(double value);

/// The whole number nearest to `value`, plus `zero_point`, within `dtype`.
std::int32_t rounded(double value, std::int32_t zero_point, DType dtype);

}  // namespace tilebeat
