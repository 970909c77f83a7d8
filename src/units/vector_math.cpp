#include "units/vector_math.h"

#include "base/numerics.h"
#include "base/types.h"
#include "tilebeat/error.h"
#include "units/post_processing.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

namespace tilebeat {
namespace {

std::int32_t element(const std::vector<std::uint8_t>& bytes, std::size_t index, DType type) {
  switch (type) {
    case DType::kInt8:
      return static_cast<std::int8_t>(bytes[index]);
    case DType::kUint8:
      return bytes[index];
    case DType::kInt16: {
      std::int16_t value = 0;
      std::memcpy(&value, bytes.data() + index * sizeof value, sizeof value);
      return value;
    }
    case DType::kInt64:  // only matrix units make them, and nothing reads them
    case DType::kInt32:
    case DType::kFloat32:
      break;
  }
  std::int32_t value = 0;
  std::memcpy(&value, bytes.data() + index * sizeof value, sizeof value);
  return value;
}

// `count` elements from element `begin` of a vector's bytes.
struct Elements {
  const std::vector<std::uint8_t>& bytes;
  std::size_t begin, count;
};

// Converts elements to reals: (element - zero) * factor.
void centred(const Elements& elements, DType type, std::int32_t zero, double factor, double* reals) {
  const auto each = [&](auto value) {
    for (std::size_t i = 0; i < elements.count; ++i)
      reals[i] = static_cast<double>(value(elements.begin + i)) * factor;
  };
  const std::uint8_t* const bytes = elements.bytes.data();
  if (type == DType::kInt8)
    each([=](std::size_t i) { return static_cast<std::int8_t>(bytes[i]) - zero; });
  else if (type == DType::kUint8)
    each([=](std::size_t i) { return bytes[i] - zero; });
  else
    each([&](std::size_t i) { return std::int64_t{element(elements.bytes, i, type)} - zero; });
}

void append(std::int32_t value, DType type, std::vector<std::uint8_t>& bytes) {
  if (type == DType::kInt16) {
    const auto half = static_cast<std::uint16_t>(value);
    bytes.push_back(static_cast<std::uint8_t>(half & 0xFF));
    bytes.push_back(static_cast<std::uint8_t>(half >> 8));
    return;
  }
  if (is_byte(type)) {
    bytes.push_back(static_cast<std::uint8_t>(value));
    return;
  }
  const std::size_t at = bytes.size();
  bytes.resize(at + sizeof value);
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

void append(float value, std::vector<std::uint8_t>& bytes) {
  std::int32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  append(bits, DType::kFloat32, bytes);
}

// p / q; with q = 0 a value beyond every type with the sign of p, so that it saturates, or 0 for p = 0.
double quotient(double p, double q) {
  constexpr double kBeyond = 1e300;
  if (q != 0.0) return p / q;
  return p == 0.0 ? 0.0 : std::copysign(kBeyond, p);
}

// Requantises a value. Factors come from memory, where a program may have left anything.
std::int32_t result_of(double value, double scale, const VectorRun& operation) {
  if (std::isnan(value * scale)) {
    throw SimulationError(
        fmt::format("vector.run: the factors of a {} give no number", nth(kVectorKindNames, operation.kind)));
  }
  const std::int32_t result = requantize_real(value, scale, operation.out_zero, operation.out_type);
  const bool bounded = (operation.floor | operation.ceiling) != 0;
  return bounded ? within_bounds(result, operation, operation.out_type) : result;
}

}  // namespace

double VectorMath::factor(std::size_t number) const {
  double value = 0;
  if ((number + 1) * sizeof value > parameters_.size())
    throw SimulationError("vector.run: factors are missing");
  std::memcpy(&value, parameters_.data() + number * sizeof value, sizeof value);
  return value;
}

void VectorMath::run(const Operation& operation, const VectorStep& step, const std::vector<std::uint8_t>& a,
                     const std::vector<std::uint8_t>& b, std::vector<std::uint8_t>& results) {
  if (const auto* resized = operation.get_if<VectorResize>()) {
    resize(*resized, step, a, results);
  } else if (const auto* row = operation.get_if<VectorRow>()) {
    rows(*row, step, a, results);
  } else {
    run(operation.get<VectorRun>(), step, a, b, results);
  }
}

// The sum of weighted taps is exact, the quotient is rounded once. In fixed point the elements are raw.
void VectorMath::resize(const VectorResize& operation, const VectorStep& step,
                        const std::vector<std::uint8_t>& a, std::vector<std::uint8_t>& results) {
  const auto channels = to_size(operation.channels);
  const bool fixed = operation.kind == ResizeKind::kBilinearFixed;
  const std::int32_t zero = fixed ? 0 : operation.zero;
  if (step.first) row_.assign(channels, 0);
  for (std::size_t i = 0; i < a.size(); ++i) {
    const std::int32_t x = element(a, i, operation.type) - zero;
    row_[i % channels] += step.weights.at(i / channels) * x;
  }
  if (!step.last) return;
  for (const std::int64_t sum : row_) {
    if (fixed) {
      const std::int64_t half = sum > 0 ? step.divisor / 2 : -(step.divisor / 2);
      append(static_cast<std::int32_t>((sum + half) / step.divisor), operation.type, results);
      continue;
    }
    const double value = ratio_of(sum, step.divisor);
    append(requantize_real(value, 1.0, operation.zero, operation.type), operation.type, results);
  }
}

std::int32_t VectorMath::end_sum(std::int32_t sum, std::size_t channel, const VectorRun& operation) const {
  const std::uint8_t* record = parameters_.data() + kActivationBytes + channel * kPostParameterBytes;
  ConvSetup setup;
  setup.post_parameters = true;
  decode_activation(parameters_.data(), setup);
  setup.requantise = operation.out_type != DType::kInt32;
  setup.output_type = operation.out_type, setup.output_zero_point = operation.out_zero;
  return static_cast<std::int32_t>(post_process(sum, setup, decode_post_parameter(record)));
}

// Functions of one element that is not looked up.
void VectorMath::functions(const VectorRun& operation, const VectorStep& step,
                           const std::vector<std::uint8_t>& a, std::vector<std::uint8_t>& results) const {
  for (std::size_t i = 0; i < to_size(step.results); ++i) {
    const std::int32_t x = element(a, i, operation.a_type) - operation.a_zero;
    if (operation.kind != VectorKind::kSlopes) {
      append(curve_of(operation, parameters_, x), operation.out_type, results);
    } else if (operation.arithmetic != Arithmetic::kExact) {
      append(sloped(operation, parameters_, x), operation.out_type, results);
    } else {
      const double value = x * factor(0);
      append(result_of(value < 0 ? value * factor(1) : value, factor(2), operation), operation.out_type,
             results);
    }
  }
}

void VectorMath::run(const VectorRun& operation, const VectorStep& step, const std::vector<std::uint8_t>& a,
                     const std::vector<std::uint8_t>& b, std::vector<std::uint8_t>& results) {
  switch (operation.kind) {
    case VectorKind::kMaxPool:
    case VectorKind::kAveragePool:
    case VectorKind::kMean:
      pool(operation, step, a);
      if (step.last) finish_pool(operation, step, results);
      return;
    case VectorKind::kSoftmax:
      softmax(operation, a, results);
      return;
    case VectorKind::kQuantize:
    case VectorKind::kDequantize:
      between_reals(operation, step, a, results);
      return;
    case VectorKind::kRange:
    case VectorKind::kDynamic:
    case VectorKind::kDynamicZero:
      dynamic(operation, step, a, results);
      return;
    case VectorKind::kSlopes:
    case VectorKind::kSigmoid:
    case VectorKind::kTanh:
      functions(operation, step, a, results);
      return;
    default:
      elementwise(operation, step, a, b, results);
  }
}

bool VectorMath::sums_reals(const VectorRun& operation) const {
  return operation.kind == VectorKind::kAveragePool && operation.arithmetic == Arithmetic::kFloat32Ort;
}

void VectorMath::pool(const VectorRun& operation, const VectorStep& step,
                      const std::vector<std::uint8_t>& a) {
  const bool greatest = operation.kind == VectorKind::kMaxPool;
  const auto channels = to_size(operation.channels);
  const std::size_t elements = a.size() / to_size(dtype_size(operation.a_type));  // none: padding alone
  if (step.first) row_.assign(channels, greatest ? INT64_MIN : 0);
  if (sums_reals(operation)) {
    if (step.first) real_row_.assign(channels, 0.0F);
    for (std::size_t i = 0; i < elements; ++i)
      real_row_[i % channels] += dequantised(parameters_, element(a, i, operation.a_type) - operation.a_zero);
    return;
  }
  // A mean, and an average of a runtime, handle the zero point at the end or not at all.
  const bool raw = operation.kind == VectorKind::kMean || operation.arithmetic != Arithmetic::kExact;
  const std::int32_t zero = raw ? 0 : operation.a_zero;
  for (std::size_t i = 0; i < elements; ++i) {
    std::int64_t& sum = row_[i % channels];
    const std::int32_t x = element(a, i, operation.a_type);
    sum = greatest ? std::max<std::int64_t>(sum, x) : sum + x - zero;
  }
}

std::int32_t VectorMath::pooled(const VectorRun& operation, const VectorStep& step,
                                std::size_t channel) const {
  const std::int64_t value = row_[channel];
  switch (operation.kind) {
    case VectorKind::kMaxPool:
      return within_bounds(value, operation, operation.out_type);
    case VectorKind::kMean:
      return mean(operation, parameters_, value, step.divisor);
    default:
      break;
  }
  if (sums_reals(operation)) return real_average(operation, parameters_, real_row_[channel], step.divisor);
  if (operation.arithmetic != Arithmetic::kExact) return plain_average(operation, value, step.divisor);
  return result_of(ratio_of(value, step.divisor), 1.0, operation);
}

void VectorMath::finish_pool(const VectorRun& operation, const VectorStep& step,
                             std::vector<std::uint8_t>& results) {
  for (std::size_t channel = 0; channel < row_.size(); ++channel)
    append(pooled(operation, step, channel), operation.out_type, results);
}

void VectorMath::between_reals(const VectorRun& operation, const VectorStep& step,
                               const std::vector<std::uint8_t>& a, std::vector<std::uint8_t>& results) {
  const float factor_of_all = real_at(parameters_, 0);
  for (std::size_t i = 0; i < to_size(step.results); ++i) {
    if (operation.kind == VectorKind::kQuantize) {
      float x = 0;
      std::memcpy(&x, a.data() + i * sizeof x, sizeof x);
      append(quantised(operation, x, factor_of_all, operation.out_zero), operation.out_type, results);
    } else {
      const std::int64_t x = std::int64_t{element(a, i, operation.a_type)} - operation.a_zero;
      append(static_cast<float>(x) * factor_of_all, results);
    }
  }
}

void VectorMath::dynamic(const VectorRun& operation, const VectorStep& step,
                         const std::vector<std::uint8_t>& a, std::vector<std::uint8_t>& results) {
  if (step.first) range_ = RealRange::from(parameters_);
  if (operation.kind == VectorKind::kDynamicZero)
    return append(range_.zero_point(), operation.out_type, results);
  if (operation.kind == VectorKind::kDynamic && operation.out_type == DType::kFloat32)
    return append(range_.step(), results);
  for (std::size_t i = 0; i < a.size() / sizeof(float); ++i) {
    float x = 0;
    std::memcpy(&x, a.data() + i * sizeof x, sizeof x);
    if (operation.kind == VectorKind::kRange) {
      range_.add(x);
    } else {
      append(quantised(operation, x, range_.step(), range_.zero_point()), operation.out_type, results);
    }
  }
  if (operation.kind == VectorKind::kRange && step.last)
    append(range_.low, results), append(range_.high, results);
}

std::int64_t VectorMath::exponential_of(std::size_t distance) const {
  std::int64_t value = 0;
  std::memcpy(&value, parameters_.data() + distance * sizeof value, sizeof value);
  return value;
}

void VectorMath::softmax(const VectorRun& operation, const std::vector<std::uint8_t>& a,
                         std::vector<std::uint8_t>& results) {
  if (operation.a_type == DType::kInt16) {
    std::vector<std::int32_t> pixel(to_size(operation.channels));
    for (std::size_t i = 0; i < pixel.size(); ++i) pixel[i] = element(a, i, operation.a_type);
    for (const std::int32_t share : softmax_shares(operation, parameters_, pixel))
      append(share, operation.out_type, results);
    return;
  }
  constexpr std::size_t kEntries = 256;
  std::int32_t greatest = INT32_MIN;
  for (std::size_t i = 0; i < a.size(); ++i) greatest = std::max(greatest, element(a, i, operation.a_type));
  if (operation.arithmetic != Arithmetic::kExact) {
    std::vector<std::uint8_t> distances;
    for (std::size_t i = 0; i < a.size(); ++i)
      distances.push_back(static_cast<std::uint8_t>(greatest - element(a, i, operation.a_type)));
    return softmax_shares(operation, parameters_, distances, results);
  }
  const auto exponential = [&](std::size_t i) {
    return exponential_of(to_size(greatest - element(a, i, operation.a_type)));
  };
  // The 64-bit sum wraps with entries that no planner makes.
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < a.size(); ++i) bits += to_unsigned(exponential(i));
  const auto sum = to_signed(bits);
  const double scale = factor(kEntries);
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double share = ratio_of(exponential(i), sum);
    append(result_of(share, scale, operation), operation.out_type, results);
  }
}

void VectorMath::elementwise(const VectorRun& operation, const VectorStep& step,
                             const std::vector<std::uint8_t>& a, const std::vector<std::uint8_t>& b,
                             std::vector<std::uint8_t>& results) {
  const auto offset = step.a - operation.a;  // the channel of the first element follows from the run's place
  const auto first = to_signed(offset) / dtype_size(operation.a_type);
  const auto count = to_size(step.results);
  const auto channel = [&](std::size_t i) { return to_size((first + to_signed(i)) % operation.channels); };
  switch (operation.kind) {
    case VectorKind::kTable:
      for (std::size_t i = 0; i < count; ++i) results.push_back(parameters_.at(a[i]));
      return;
    case VectorKind::kAddSums:
    case VectorKind::kEndSums:
      for (std::size_t i = 0; i < count; ++i) {
        // Sums wrap as in a matrix unit.
        auto sum = static_cast<std::int32_t>(static_cast<std::uint32_t>(element(a, i, operation.a_type)) +
                                             static_cast<std::uint32_t>(element(b, i, operation.b_type)));
        if (operation.kind == VectorKind::kEndSums) sum = end_sum(sum, channel(i), operation);
        append(sum, operation.out_type, results);
      }
      return;
    case VectorKind::kScale:
      for (std::size_t i = 0; i < count; ++i) {
        const std::int64_t x = std::int64_t{element(a, i, operation.a_type)} - operation.a_zero;
        const double value = static_cast<double>(x) * factor(1 + 2 * channel(i)) + factor(2 + 2 * channel(i));
        append(result_of(value, factor(0), operation), operation.out_type, results);
      }
      return;
    default:
      break;
  }
  if (operation.out_type == DType::kFloat32) return combine_reals(operation, count, a, b, results);
  if (operation.arithmetic == Arithmetic::kExact) return combine_exactly(operation, count, a, b, results);
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t x = std::int64_t{element(a, i, operation.a_type)} - operation.a_zero;
    const std::int32_t y = element(b, i, operation.b_type) - operation.b_zero;
    append(combine(operation, parameters_, static_cast<std::int32_t>(x), y), operation.out_type, results);
  }
}

// Float32 operands and results; every operation rounds.
void VectorMath::combine_reals(const VectorRun& operation, std::size_t count,
                               const std::vector<std::uint8_t>& a, const std::vector<std::uint8_t>& b,
                               std::vector<std::uint8_t>& results) {
  for (std::size_t i = 0; i < count; ++i) {
    float x = 0, y = 0;
    std::memcpy(&x, a.data() + i * sizeof x, sizeof x), std::memcpy(&y, b.data() + i * sizeof y, sizeof y);
    const float value = operation.divide                     ? x / y
                        : operation.kind == VectorKind::kAdd ? x + y
                        : operation.kind == VectorKind::kSub ? x - y
                        : operation.kind == VectorKind::kMax ? std::max(x, y)
                        : operation.kind == VectorKind::kMin ? std::min(x, y)
                                                             : x * y;
    append(value, results);
  }
}

void VectorMath::combine_exactly(const VectorRun& operation, std::size_t count,
                                 const std::vector<std::uint8_t>& a, const std::vector<std::uint8_t>& b,
                                 std::vector<std::uint8_t>& results) const {
  constexpr std::size_t kTogether = 64;
  std::array<double, kTogether> p{}, q{};
  const double scale = factor(2);
  for (std::size_t begin = 0; begin < count; begin += kTogether) {
    const std::size_t some = std::min(kTogether, count - begin);
    centred({a, begin, some}, operation.a_type, operation.a_zero, factor(0), p.data());
    centred({b, begin, some}, operation.b_type, operation.b_zero, factor(1), q.data());
    const auto each = [&](auto combined) {
      for (std::size_t i = 0; i < some; ++i) p[i] = combined(p[i], q[i]);
    };
    if (operation.divide)
      each(quotient);
    else if (operation.kind == VectorKind::kAdd)
      each([](double x, double y) { return x + y; });
    else if (operation.kind == VectorKind::kSub)
      each([](double x, double y) { return x - y; });
    else if (operation.kind == VectorKind::kMax)
      each([](double x, double y) { return std::max(x, y); });
    else if (operation.kind == VectorKind::kMin)
      each([](double x, double y) { return std::min(x, y); });
    else
      each([](double x, double y) { return x * y; });
    if (operation.relu) each([](double x, double) { return std::max(x, 0.0); });
    for (std::size_t i = 0; i < some; ++i)
      append(result_of(p[i], scale, operation), operation.out_type, results);
  }
}

}  // namespace tilebeat
