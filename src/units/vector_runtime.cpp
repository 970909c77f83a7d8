#include "base/numerics.h"
#include "base/types.h"
#include "tilebeat/error.h"
#include "units/post_processing.h"
#include "units/vector_math.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace tilebeat {
namespace {

constexpr std::size_t kRecord = 8;  // bytes of a factor of add, sub and mul

// Rounds half to even; NaN, and values far beyond int32, become one of the bounds.
std::int64_t rounded(float value) {
  constexpr float kBeyond = 1e9F;
  return _mm_cvtss_si64(_mm_set_ss(std::min(std::max(-kBeyond, value), kBeyond)));
}
std::int64_t rounded_away(float value) {
  constexpr float kBeyond = 1e9F;
  return std::llround(std::min(std::max(-kBeyond, value), kBeyond));
}

std::int32_t result_of(const VectorRun& operation, std::int64_t steps) {
  return within_bounds(steps + operation.out_zero, operation, operation.out_type);
}

// add, sub: whole multipliers of up to 21 bits, a sum with a common point. mul: one float factor.
std::int64_t combine_float(VectorKind kind, const std::vector<std::uint8_t>& parameters, std::int32_t x,
                           std::int32_t y) {
  if (kind == VectorKind::kMul) return rounded(static_cast<float>(x * y) * real_at(parameters, 2 * kRecord));
  const std::int64_t p = std::int64_t{x} * whole_at(parameters, 0),
                     q = std::int64_t{y} * whole_at(parameters, kRecord);
  const int shift = std::clamp(whole_at(parameters, 2 * kRecord), 1, 62);
  return ((kind == VectorKind::kAdd ? p + q : p - q) + (std::int64_t{1} << (shift - 1))) >> shift;
}

// The zero point is added before the only rounding to a whole number.
std::int64_t combine_ort(const VectorRun& operation, const std::vector<std::uint8_t>& parameters,
                         std::int32_t x, std::int32_t y) {
  const float p = static_cast<float>(x) * real_at(parameters, 0),
              q = static_cast<float>(y) * real_at(parameters, kRecord);
  const float value = operation.kind == VectorKind::kAdd   ? p + q
                      : operation.kind == VectorKind::kSub ? p - q
                                                           : p * q;
  const float steps = value / real_at(parameters, 2 * kRecord);
  return rounded(steps + static_cast<float>(operation.out_zero)) - operation.out_zero;
}

std::int64_t combine_fixed(const VectorRun& operation, const std::vector<std::uint8_t>& parameters,
                           std::int32_t x, std::int32_t y) {
  const VectorKind kind = operation.kind;
  const FixedFactor result = factor_at(parameters, 2 * kRecord);
  if (kind == VectorKind::kMul) return multiply_double(x * y, result);
  if (operation.a_type == DType::kInt16) return sum_of_int16(kind, parameters, x, y);
  constexpr int kHead = 20;  // bits behind the point while both have one scale
  const std::int32_t p = multiply_double(x * (1 << kHead), factor_at(parameters, 0)),
                     q = multiply_double(y * (1 << kHead), factor_at(parameters, kRecord));
  return multiply_double(kind == VectorKind::kAdd ? p + q : p - q, result);
}

}  // namespace

std::int32_t whole_at(const std::vector<std::uint8_t>& bytes, std::size_t offset) {
  std::int32_t value = 0;
  if (offset + sizeof value > bytes.size()) throw SimulationError("vector.run: factors are missing");
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

FixedFactor factor_at(const std::vector<std::uint8_t>& bytes, std::size_t offset) {
  return {whole_at(bytes, offset), whole_at(bytes, offset + 4)};
}

float real_at(const std::vector<std::uint8_t>& bytes, std::size_t offset) {
  float value = 0;
  if (offset + sizeof value > bytes.size()) throw SimulationError("vector.run: factors are missing");
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  if (!std::isfinite(value)) throw SimulationError("vector.run: a factor is no finite number");
  return value;
}

std::int32_t combine(const VectorRun& operation, const std::vector<std::uint8_t>& parameters, std::int32_t x,
                     std::int32_t y) {
  std::int64_t steps = 0;
  switch (operation.arithmetic) {
    case Arithmetic::kExact:
      throw SimulationError("vector.run: exact sums are no business of the runtimes' arithmetic");
    case Arithmetic::kFloat32:
      steps = combine_float(operation.kind, parameters, x, y);
      break;
    case Arithmetic::kFloat32Ort:
      steps = combine_ort(operation, parameters, x, y);
      break;
    case Arithmetic::kFixed:
    case Arithmetic::kTflm:
      steps = combine_fixed(operation, parameters, x, y);
      break;
  }
  return result_of(operation, operation.relu ? std::max<std::int64_t>(steps, 0) : steps);
}

void softmax_shares(const VectorRun& operation, const std::vector<std::uint8_t>& parameters,
                    const std::vector<std::uint8_t>& distances, std::vector<std::uint8_t>& results) {
  constexpr std::size_t kEntries = 256;
  const bool ort = operation.arithmetic == Arithmetic::kFloat32Ort;
  const float scale = real_at(parameters, kEntries * sizeof(float));
  float sum = 0;
  for (const std::uint8_t d : distances) sum += real_at(parameters, d * sizeof(float));
  const float unit = ort ? scale / sum : 1.0F / (sum * scale);
  for (const std::uint8_t d : distances) {
    const float share = real_at(parameters, d * sizeof(float)) * unit;
    const std::int64_t steps = ort ? rounded(share) : rounded_away(share);
    results.push_back(static_cast<std::uint8_t>(result_of(operation, steps)));
  }
}

std::int32_t plain_average(const VectorRun& operation, std::int64_t sum, std::int64_t divisor) {
  const std::int64_t half = sum > 0 ? divisor / 2 : -(divisor / 2);
  return within_bounds((sum + half) / divisor, operation, operation.out_type);
}

std::int32_t real_average(const VectorRun& operation, const std::vector<std::uint8_t>& parameters, float sum,
                          std::int64_t divisor) {
  const float average = sum / static_cast<float>(divisor);
  const float steps = average / real_at(parameters, 4);
  const std::int64_t value = rounded(steps + static_cast<float>(operation.out_zero));
  return within_bounds(value, operation, operation.out_type);
}

float dequantised(const std::vector<std::uint8_t>& parameters, std::int32_t x) {
  return static_cast<float>(x) * real_at(parameters, 0);
}

std::int32_t mean(const VectorRun& operation, const std::vector<std::uint8_t>& parameters, std::int64_t sum,
                  std::int64_t count) {
  const std::int64_t centred = sum - count * operation.a_zero;
  switch (operation.arithmetic) {
    case Arithmetic::kExact: {
      double factors[2] = {};
      if (parameters.size() < sizeof factors) throw SimulationError("vector.run: factors are missing");
      std::memcpy(factors, parameters.data(), sizeof factors);
      const double value = ratio_of(centred, count) * factors[0];
      if (std::isnan(value * factors[1]))
        throw SimulationError("vector.run: the factors of a mean give no number");
      return result_of(operation, requantize_real(value, factors[1], 0, DType::kInt32));
    }
    case Arithmetic::kFloat32:
    case Arithmetic::kFloat32Ort:
      return result_of(operation, rounded(static_cast<float>(centred) * real_at(parameters, 0)));
    case Arithmetic::kFixed:
    case Arithmetic::kTflm:
      break;
  }
  switch (MeanForm{whole_at(parameters, 2 * kRecord)}) {
    case MeanForm::kQuotient:
      return within_bounds(sum / count, operation, operation.out_type);
    case MeanForm::kFloat: {
      const float average = static_cast<float>(sum) / static_cast<float>(count);
      const float real = average * real_at(parameters, 0);
      return result_of(operation, rounded_away(real + real_at(parameters, kRecord)));
    }
    default:
      break;
  }
  const std::int32_t product = multiply_double(static_cast<std::int32_t>(sum), factor_at(parameters, 0));
  return result_of(operation, std::int64_t{product} - whole_at(parameters, 8));
}

std::int32_t quantised(const VectorRun& operation, float x, float step, std::int32_t zero_point) {
  if (operation.arithmetic != Arithmetic::kExact) {
    constexpr double kBeyond = 1e9;
    const double steps = std::min(std::max(-kBeyond, double{x} / double{step}), kBeyond);
    return within_bounds(std::llround(steps) + zero_point, operation, operation.out_type);
  }
  return within_bounds(rounded(x / step) + zero_point, operation, operation.out_type);
}

RealRange RealRange::from(const std::vector<std::uint8_t>& parameters) {
  return {real_at(parameters, 0), real_at(parameters, 4)};
}
void RealRange::add(float x) {
  low = std::min(low, x), high = std::max(high, x);
}
float RealRange::step() const {
  const float span = high - low;
  return span == 0 ? 1.0F : span / 255.0F;
}
std::int32_t RealRange::zero_point() const {
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(rounded((0.0F - low) / step()), 0, 255));
}

}  // namespace tilebeat
