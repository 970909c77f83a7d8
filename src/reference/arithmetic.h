#pragma once

#include "base/dtype.h"
#include "workload/operators.h"
#include "workload/tensor.h"

#include <cstdint>
#include <vector>

namespace tilebeat {

/// The elements minus `zero_point`. T can hold every difference: nine bits for bytes, sixteen for int16,
/// whose zero point is 0.
template <class T>
std::vector<T> centred(const Tensor& tensor, std::int32_t zero_point);

/// Appends an element of `dtype`, which `value` fits, to the bytes of a tensor.
void append_element(std::int64_t value, DType dtype, std::vector<std::uint8_t>& bytes);
/// Appends element `index` of `tensor`, as it is.
void append_copy(const Tensor& tensor, std::int64_t index, std::vector<std::uint8_t>& bytes);

/// Rounds to the nearest whole number, halves to even.
double round_half_even(double value);

/// The whole number nearest to `value`, plus `zero_point`, within `dtype`.
std::int32_t rounded(double value, std::int32_t zero_point, DType dtype);

// The rules of SPEC NU-6, in the form of its table. Results are not limited to the bounds of the output yet;
// `bounded` does that. Float arithmetic is IEEE: every operation rounds.

/// A real factor in the form QM(d) of the table: M * 2^(s - 31).
struct Multiplier {
  std::int64_t m = 0;
  int s = 0;
};
Multiplier quantised_multiplier(double d);
/// SR(acc, M, s).
std::int64_t single_rounding(std::int64_t acc, const Multiplier& factor);
/// SPEC DT-2: the same with the upper 16 bits of M, rounded, for sums of more than 32 bits; the lower 32 bits
/// of the result.
std::int64_t short_rounding(std::int64_t acc, const Multiplier& factor);
/// DR(acc, M, s), gemmlowp's.
std::int64_t double_rounding(std::int64_t acc, const Multiplier& factor);

/// The float rounded half to even; far beyond int32 the nearest bound.
std::int64_t rint_of(float value);
/// The float rounded half away from zero; far beyond int32 the nearest bound.
std::int64_t half_away(float value);

/// `value` within the output's dtype and, where there is one, `range`.
std::int32_t bounded(std::int64_t value, DType dtype, const std::optional<OutputRange>& range);

/// The row "conv, depthwise, matmul, fully connected", for an accumulator with bias of output channel
/// `channel`; includes the zero point.
std::int64_t requantised_sum(const Requant& requant, std::size_t channel, std::int64_t acc);

/// The rows "add, sub" and "mul", for elements minus their zero points.
std::int64_t combined(const Elementwise& operation, std::int32_t a, std::int32_t b);

/// The row "requantise int8", for an element minus its zero point.
std::int64_t requantised_element(const Requantize& operation, std::int32_t x);

/// The requantisation of a part of a concatenation in fixed point, for an element as it is.
std::int64_t joined_element(const Requantize& operation, std::int32_t element, std::int32_t zero_point);

/// The rows "logistic, tanh", "hard_swish" and "leaky_relu", for an element minus its zero point.
std::int64_t function_value(const ByteFunction& function, std::int32_t x);

// The rules of int16 in fixed point (SPEC DT-2), in the notation of docs/arithmetic.md; int16_arithmetic.cpp.

/// add and sub: DR(DR(a << 15) +- DR(b << 15)), or a +- b with shifted operands. mul: DR(a * b).
std::int64_t combined_int16(const Elementwise& operation, std::int32_t a, std::int32_t b);
/// leaky_relu, sigmoid and tanh.
std::int64_t function_int16(const ByteFunction& function, std::int32_t x);
/// reduce_mean, for the sum of `count` elements.
std::int64_t mean_int16(const Reduce& reduce, std::int64_t sum, std::int64_t count);
/// quantize: x / scale in double, half away from zero; NaN becomes the least element.
std::int64_t quantised_int16(float x, float scale);
/// softmax of the elements of a pixel.
std::vector<std::int32_t> softmax_int16(const Softmax& operation, const std::vector<std::int32_t>& pixel);

/// The row "mean over H, W", for the raw sum of `count` elements with zero point `zero_point`.
std::int64_t mean_of(const Reduce& reduce, std::int64_t sum, std::int64_t count, std::int32_t zero_point);

}  // namespace tilebeat
