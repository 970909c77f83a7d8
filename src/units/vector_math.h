#pragma once

#include "isa/instruction.h"
#include "isa/operations.h"
#include "units/vector_steps.h"

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

/// The arithmetic of the vector unit: the row buffer and the tables and factors that are loaded. Real numbers
/// are IEEE doubles, in the order of docs/vector.md.
class VectorMath {
 public:
  /// Keeps the bytes of a parameter run.
  void load(const std::vector<std::uint8_t>& parameters) { parameters_ = parameters; }
  /// Takes the operands of one step through the lanes; appends the results' bytes when it is the last of its
  /// row.
  void run(const Operation& operation, const VectorStep& step, const std::vector<std::uint8_t>& a,
           const std::vector<std::uint8_t>& b, std::vector<std::uint8_t>& results);

 private:
  void run(const VectorRun& operation, const VectorStep& step, const std::vector<std::uint8_t>& a,
           const std::vector<std::uint8_t>& b, std::vector<std::uint8_t>& results);
  void resize(const VectorResize& operation, const VectorStep& step, const std::vector<std::uint8_t>& a,
              std::vector<std::uint8_t>& results);
  void rows(const VectorRow& operation, const std::vector<std::uint8_t>& a,
            std::vector<std::uint8_t>& results);
  void normalise(const VectorRow& operation, std::vector<std::uint8_t>& results) const;
  void respond(const VectorRow& operation, std::vector<std::uint8_t>& results) const;
  double factor(std::size_t number) const;
  std::int32_t end_sum(std::int32_t sum, std::size_t channel, const VectorRun& operation) const;
  void pool(const VectorRun& operation, const VectorStep& step, const std::vector<std::uint8_t>& a);
  void finish_pool(const VectorRun& operation, const VectorStep& step, std::vector<std::uint8_t>& results);
  void softmax(const VectorRun& operation, const std::vector<std::uint8_t>& a,
               std::vector<std::uint8_t>& results);
  void elementwise(const VectorRun& operation, const VectorStep& step, const std::vector<std::uint8_t>& a,
                   const std::vector<std::uint8_t>& b, std::vector<std::uint8_t>& results);
  void combine_exactly(const VectorRun& operation, std::size_t count, const std::vector<std::uint8_t>& a,
                       const std::vector<std::uint8_t>& b, std::vector<std::uint8_t>& results) const;

  void between_reals(const VectorRun& operation, const VectorStep& step, const std::vector<std::uint8_t>& a,
                     std::vector<std::uint8_t>& results);
  void dynamic(const VectorRun& operation, const VectorStep& step, const std::vector<std::uint8_t>& a,
               std::vector<std::uint8_t>& results);
  bool sums_reals(const VectorRun& operation) const;
  std::int32_t pooled(const VectorRun& operation, const VectorStep& step, std::size_t channel) const;

  std::vector<std::uint8_t> parameters_;
  std::vector<std::int64_t> row_;
  std::vector<float> real_row_;  // the same registers, where they hold floats
  RealRange range_;              // of the elements so far
};

}  // namespace tilebeat
