#pragma once

#include "base/numerics.h"
#include "isa/instruction.h"
#include "isa/operations.h"
#include "units/vector_steps.h"

#include <cstdint>
#include <vector>

namespace tilebeat {

// Functions of the lanes in arithmetics other than exact (SPEC NU-6, docs/vector.md). `parameters` are the
// bytes that were loaded for the operation. A lane has two multipliers for its operands, an adder, and a
// multiplier for the result.

/// add, sub or mul of two elements after subtraction of their zero points, with relu and bounds.
std::int32_t combine(const VectorRun& operation, const std::vector<std::uint8_t>& parameters, std::int32_t x,
                     std::int32_t y);
/// Appends the softmax shares of a pixel's elements to `results`; `distances` are those from the greatest
/// element.
void softmax_shares(const VectorRun& operation, const std::vector<std::uint8_t>& parameters,
                    const std::vector<std::uint8_t>& distances, std::vector<std::uint8_t>& results);
/// The shares of a pixel's elements, which are int16, in fixed point.
std::vector<std::int32_t> softmax_shares(const VectorRun& operation,
                                         const std::vector<std::uint8_t>& parameters,
                                         const std::vector<std::int32_t>& pixel);
/// An element after subtraction of its zero point times one of two multipliers, by its sign.
std::int32_t sloped(const VectorRun& operation, const std::vector<std::uint8_t>& parameters, std::int32_t x);
/// The sum or the difference of two elements of int16.
std::int64_t sum_of_int16(VectorKind kind, const std::vector<std::uint8_t>& parameters, std::int32_t x,
                          std::int32_t y);
/// The sigmoid or tanh of an element of int16.
std::int32_t curve_of(const VectorRun& operation, const std::vector<std::uint8_t>& parameters,
                      std::int32_t x);
/// The average of `divisor` elements with the raw sum `sum`, rounded half away from zero.
std::int32_t plain_average(const VectorRun& operation, std::int64_t sum, std::int64_t divisor);
/// The average of dequantised elements with sum `sum`.
std::int32_t real_average(const VectorRun& operation, const std::vector<std::uint8_t>& parameters, float sum,
                          std::int64_t divisor);
/// An element after subtraction of its zero point, as a float, times the factor of operand a.
float dequantised(const std::vector<std::uint8_t>& parameters, std::int32_t x);
/// The mean of `count` elements with raw sum `sum`.
std::int32_t mean(const VectorRun& operation, const std::vector<std::uint8_t>& parameters, std::int64_t sum,
                  std::int64_t count);
/// A float quantised with the step in the parameters.
std::int32_t quantised(const VectorRun& operation, float x, float step, std::int32_t zero_point);

/// The minimum and maximum of a tensor's floats and 0, and the results of DynamicQuantizeLinear for them.
struct RealRange {
  float low = 0, high = 0;
  static RealRange from(const std::vector<std::uint8_t>& parameters);
  void add(float x);
  float step() const;
  std::int32_t zero_point() const;
};

/// The float at byte `offset`. Throws SimulationError beyond the end, and for NaN.
float real_at(const std::vector<std::uint8_t>& bytes, std::size_t offset);
/// The int32, or the multiplier and its shift, at byte `offset`. Throw SimulationError beyond the end.
std::int32_t whole_at(const std::vector<std::uint8_t>& bytes, std::size_t offset);
FixedFactor factor_at(const std::vector<std::uint8_t>& bytes, std::size_t offset);

/// The arithmetic of the vector unit, with the row buffer and the loaded tables and factors. Real numbers are
/// IEEE doubles, computed in the order of docs/vector.md.
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
  void rows(const VectorRow& operation, const VectorStep& step, const std::vector<std::uint8_t>& a,
            std::vector<std::uint8_t>& results);
  void normalise(const VectorRow& operation, std::vector<std::uint8_t>& results) const;
  void respond(const VectorRow& operation, std::vector<std::uint8_t>& results) const;
  void share(const VectorRow& operation, std::size_t first, std::vector<std::uint8_t>& results) const;
  double factor(std::size_t number) const;
  std::int64_t exponential_of(std::size_t distance) const;
  std::int32_t end_sum(std::int32_t sum, std::size_t channel, const VectorRun& operation) const;
  void pool(const VectorRun& operation, const VectorStep& step, const std::vector<std::uint8_t>& a);
  void finish_pool(const VectorRun& operation, const VectorStep& step, std::vector<std::uint8_t>& results);
  void softmax(const VectorRun& operation, const std::vector<std::uint8_t>& a,
               std::vector<std::uint8_t>& results);
  void elementwise(const VectorRun& operation, const VectorStep& step, const std::vector<std::uint8_t>& a,
                   const std::vector<std::uint8_t>& b, std::vector<std::uint8_t>& results);
  void combine_exactly(const VectorRun& operation, std::size_t count, const std::vector<std::uint8_t>& a,
                       const std::vector<std::uint8_t>& b, std::vector<std::uint8_t>& results) const;

  static void combine_reals(const VectorRun& operation, std::size_t count, const std::vector<std::uint8_t>& a,
                            const std::vector<std::uint8_t>& b, std::vector<std::uint8_t>& results);
  void between_reals(const VectorRun& operation, const VectorStep& step, const std::vector<std::uint8_t>& a,
                     std::vector<std::uint8_t>& results);
  void functions(const VectorRun& operation, const VectorStep& step, const std::vector<std::uint8_t>& a,
                 std::vector<std::uint8_t>& results) const;
  void dynamic(const VectorRun& operation, const VectorStep& step, const std::vector<std::uint8_t>& a,
               std::vector<std::uint8_t>& results);
  bool sums_reals(const VectorRun& operation) const;
  std::int32_t pooled(const VectorRun& operation, const VectorStep& step, std::size_t channel) const;

  std::vector<std::uint8_t> parameters_;
  std::vector<std::int64_t> row_;
  std::vector<float> real_row_;  // the same registers, where they hold floats
  RealRange range_;              // range of the elements so far
};

}  // namespace tilebeat
