#pragma once

#include "tilebeat/isa/operations.h"

#include <cstdint>
#include <vector>

namespace tilebeat {

// What the lanes compute in another arithmetic than exact (SPEC NU-6, docs/vector.md). `parameters` are the
// bytes that were loaded for the operation; a lane has two multipliers for its operands, an adder and a
// multiplier for the result.

/// add, sub and mul of elements less their zero points, with relu and bounds.
std::int32_t combine(const VectorRun& operation, const std::vector<std::uint8_t>& parameters, std::int32_t x,
                     std::int32_t y);
/// The shares of a pixel's elements, of which `distances` are those from the greatest; appended to `results`.
void softmax_shares(const VectorRun& operation, const std::vector<std::uint8_t>& parameters,
                    const std::vector<std::uint8_t>& distances, std::vector<std::uint8_t>& results);
/// An average of the raw sum of `divisor` elements, half away from zero.
std::int32_t plain_average(const VectorRun& operation, std::int64_t sum, std::int64_t divisor);
/// An average of dequantised elements, whose sum is `sum`.
std::int32_t real_average(const VectorRun& operation, const std::vector<std::uint8_t>& parameters, float sum,
                          std::int64_t divisor);
/// An element less its zero point as a float, times the factor of operand a.
float dequantised(const std::vector<std::uint8_t>& parameters, std::int32_t x);
/// A mean of the raw sum of `count` elements.
std::int32_t mean(const VectorRun& operation, const std::vector<std::uint8_t>& parameters, std::int64_t sum,
                  std::int64_t count);
/// A float in steps of the parameter, as an element.
std::int32_t quantised(const VectorRun& operation, float x, float step, std::int32_t zero_point);

/// The least and the greatest float of a tensor, and 0, and what DynamicQuantizeLinear makes of them.
struct RealRange {
  float low = 0, high = 0;
  static RealRange from(const std::vector<std::uint8_t>& parameters);
  void add(float x);
  float step() const;
  std::int32_t zero_point() const;
};

/// The float at byte `offset`. Throws SimulationError when it is not there, or no number.
float real_at(const std::vector<std::uint8_t>& bytes, std::size_t offset);

}  // namespace tilebeat
