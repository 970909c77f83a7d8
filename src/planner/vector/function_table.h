#pragma once

#include "base/numerics.h"
#include "workload/operators.h"

#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

namespace tilebeat {

/// The lookup table of a function of one element in the vector unit (docs/vector.md): the result's byte for
/// every byte of an input of type `input` and zero point `zero_point`; an int8 element indexes as two's
/// complement. Computed with the functions of the C++ library and rounded once; the reference computes its
/// own table (SPEC NU-5).
std::array<std::uint8_t, 256> function_table(const ByteFunction& function, DType input,
                                             std::int32_t zero_point);

/// The same for a requantisation of bytes in an arithmetic other than exact (SPEC NU-6).
std::array<std::uint8_t, 256> requantize_table(const Requantize& operation, DType input,
                                               std::int32_t zero_point);
/// The exponentials of a softmax over `channels` channels in an arithmetic other than exact, by distance d as
/// in softmax_table.
std::array<float, 256> real_softmax_table(const Softmax& softmax, std::int64_t channels);

/// round(exp(-d * input_scale * beta) * 2^24) for every distance d from the greatest element of a pixel.
std::array<std::int64_t, 256> softmax_table(const Softmax& softmax);

// ---- bytes of tables and factors that operations of the vector unit read (docs/vector.md) ----

template <class T>
void append(T value, std::vector<std::uint8_t>& bytes) {
  const std::size_t at = bytes.size();
  bytes.resize(at + sizeof value);
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

/// A factor of fixed point.
inline void append_factor(const FixedFactor& factor, std::vector<std::uint8_t>& bytes) {
  append(factor.multiplier, bytes), append(factor.shift, bytes);
}

// The parameters of operations on int16; those of add, sub, mul, softmax and reduce_mean are of fixed point.
// int16_parameters.cpp.
std::vector<std::uint8_t> elementwise_parameters_int16(const Elementwise& operation);
std::vector<std::uint8_t> softmax_parameters_int16(const Softmax& operation);
std::vector<std::uint8_t> mean_parameters_int16(const Reduce& reduce, std::int64_t count);
std::vector<std::uint8_t> requantize_parameters_int16(const Requantize& operation);
std::vector<std::uint8_t> function_parameters_int16(const ByteFunction& function);

/// The parameters of add, sub and mul, in every arithmetic.
std::vector<std::uint8_t> elementwise_parameters(const Elementwise& operation);
/// The parameters of a softmax over `channels` channels.
std::vector<std::uint8_t> softmax_parameters(const Softmax& operation, std::int64_t channels);
/// The parameters of a mean over `count` elements with zero point `zero_point`.
std::vector<std::uint8_t> mean_parameters(const Reduce& reduce, std::int64_t count, std::int32_t zero_point);

}  // namespace tilebeat
