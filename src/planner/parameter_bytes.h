#pragma once

#include "tilebeat/workload/operators.h"

#include <cstdint>
#include <cstring>
#include <vector>

namespace tilebeat {

// The bytes of tables and factors that operations of the vector unit read (docs/vector.md).

template <class T>
void append(T value, std::vector<std::uint8_t>& bytes) {
  const std::size_t at = bytes.size();
  bytes.resize(at + sizeof value);
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

/// Of add, sub and mul, in every arithmetic.
std::vector<std::uint8_t> elementwise_parameters(const Elementwise& operation);
/// Of a softmax over `channels`.
std::vector<std::uint8_t> softmax_parameters(const Softmax& operation, std::int64_t channels);
/// Of a mean over `count` elements of zero point `zero_point`.
std::vector<std::uint8_t> mean_parameters(const Reduce& reduce, std::int64_t count, std::int32_t zero_point);

}  // namespace tilebeat
