// Tables and factors of operations on int16 (SPEC DT-2): of exact arithmetic, and of TensorFlow Lite's
// kernels in fixed point.
#include "base/types.h"
#include "isa/operations.h"
#include "planner/vector/function_table.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

namespace tilebeat {
namespace {

using Bytes = std::vector<std::uint8_t>;

float single(double value) {
  return static_cast<float>(value);
}

// The factors of a slope: of elements of at least 0, of others, and, in exact arithmetic, to the output.
Bytes slopes(FixedFactor positive, FixedFactor negative) {
  Bytes bytes;
  append_factor(positive, bytes), append_factor(negative, bytes), append_factor({}, bytes);
  return bytes;
}
Bytes slopes(double input, double negative, double output) {
  Bytes bytes;
  append(input, bytes), append(negative, bytes), append(output, bytes);
  return bytes;
}

// The entries of a sigmoid of inputs 1/24 apart, in 16 bits; 44 of TensorFlow Lite's are one more than the
// nearest number.
void append_sigmoids(Bytes& bytes) {
  constexpr std::array<std::uint8_t, 44> kGreater{
      4,  8,  12, 14, 15, 16, 17, 19, 20, 21, 22, 25, 27, 28, 29, 30, 31,  33,  34,  35,  37,  39,
      40, 41, 43, 44, 45, 46, 49, 50, 54, 62, 63, 64, 66, 82, 86, 93, 100, 103, 112, 116, 135, 255};
  for (int i = 0; i < kSigmoidEntries; ++i) {
    const bool greater = std::binary_search(kGreater.begin(), kGreater.end(), static_cast<std::uint8_t>(i));
    const auto nearest = std::lrint(65536.0 / (1.0 + std::exp(-i / 24.0)));
    append(static_cast<std::uint16_t>(nearest + (greater ? 1 : 0)), bytes);
  }
}

Bytes curve_parameters(const ByteFunction& function) {
  Bytes bytes;
  const auto exponent = exponent_of(function.input_scale);
  const bool tanh = function.kind == ByteFunction::Kind::kTanh;
  const bool series = exponent == -12 || (tanh && exponent == -11);
  double factor = double{single(function.input_scale)} * (3 * 4096);
  std::int32_t shift = 0;
  while (factor <= INT16_MAX / 2.0 && shift < 31) factor *= 2, ++shift;
  append(series ? CurveForm::kSeries : CurveForm::kTable, bytes);
  append(series ? 0 : static_cast<std::int32_t>(factor), bytes);
  append(series ? std::int32_t{*exponent + 12} : shift, bytes);
  append(std::int32_t{0}, bytes);
  append_sigmoids(bytes);
  return bytes;
}

// 513 entries of a function of inputs in [low, high]: each is less by half of what a straight line to the
// next one is too great in the middle.
template <class Function>
void append_entries(Function f, double low, double high, Bytes& bytes) {
  constexpr int kIntervals = kIntervalEntries - 1;
  constexpr double kResult = 2.0 / 65535;
  const double step = (high - low) / kIntervals;
  const double steps = 65536.0 / (kResult * INT16_MAX - kResult * INT16_MIN);
  const auto add = [&bytes](double entry) {
    append(static_cast<std::int16_t>(std::clamp(entry, double{INT16_MIN}, double{INT16_MAX})), bytes);
  };
  for (int i = 0; i < kIntervals; ++i) {
    const double first = std::round(f(low + i * step) * steps);
    const double middle = std::round(f(low + i * step + step / 2) * steps);
    const double line = std::round((f(low + (i + 1) * step) * steps + first) / 2);
    add(first - std::round((line - middle) / 2));
  }
  add(std::round(f(high) * steps));
}

}  // namespace

Bytes elementwise_parameters_int16(const Elementwise& e) {
  const float sa = single(e.input_scales[0]), sb = single(e.input_scales[1]),
              sy = single(*e.requant.output_scale);
  Bytes bytes;
  if (e.kind == Elementwise::Kind::kMul) {
    const float product = sa * sb;
    append_factor({}, bytes), append_factor({}, bytes);
    append_factor(fixed_factor(double{product / sy}), bytes);
    return bytes;
  }
  if (e.shifts) {
    for (const int shift : *e.shifts) append_factor({0, shift}, bytes);
    append_factor({}, bytes), append(SumForm::kShifts, bytes);
    return bytes;
  }
  constexpr double kHead = 1 << 15;
  const double common = 2.0 * double{std::max(sa, sb)};
  append_factor(fixed_factor(sa / common), bytes), append_factor(fixed_factor(sb / common), bytes);
  append_factor(fixed_factor(common / (kHead * sy)), bytes);
  append(SumForm::kFactors, bytes);
  return bytes;
}

Bytes softmax_parameters_int16(const Softmax& operation) {
  constexpr double kExponent = 10.0 / 65535, kSum = 1.0 / 65535;
  constexpr int kSpan = INT16_MAX - INT16_MIN;
  const float exponent = single(operation.input_scale) * single(operation.beta);
  Bytes bytes;
  append_factor(fixed_factor(double{exponent} / kExponent), bytes);
  append_entries([](double v) { return std::exp(v); }, -kSpan * kExponent, 0.0, bytes);
  append_entries([](double v) { return 1.0 / (1.0 + v); }, 0.0, kSpan * kSum, bytes);
  return bytes;
}

Bytes mean_parameters_int16(const Reduce& reduce, std::int64_t count) {
  const FixedFactor factor =
      fixed_factor(double{single(reduce.input_scale)} / double{single(*reduce.requant.output_scale)});
  int places = 0;  // of the count, as many as the shift has room for
  while (places < 31 + factor.shift && count >> (places + 1) > 0) ++places;
  const std::int64_t multiplier = (std::int64_t{factor.multiplier} << places) / count;
  Bytes bytes;
  append_factor({static_cast<std::int32_t>(multiplier), factor.shift - places}, bytes);
  append_factor({}, bytes), append(MeanForm::kWhole, bytes);
  return bytes;
}

Bytes requantize_parameters_int16(const Requantize& operation) {
  const TensorRequant& r = operation.requant;
  if (r.arithmetic == Arithmetic::kExact) return slopes(operation.input_scale, 1.0, r.scale);
  const FixedFactor factor =
      fixed_factor(double{single(operation.input_scale)} / double{single(*r.output_scale)});
  return slopes(factor, factor);
}

Bytes function_parameters_int16(const ByteFunction& function) {
  using Kind = ByteFunction::Kind;
  const TensorRequant& r = function.requant;
  if (function.kind == Kind::kSigmoid || function.kind == Kind::kTanh) return curve_parameters(function);
  if (function.kind != Kind::kLeakyRelu) return slopes(1.0, 1.0, 1.0);  // bounds alone
  if (r.arithmetic == Arithmetic::kExact) return slopes(function.input_scale, function.slope, r.scale);
  const float sx = single(function.input_scale), sy = single(*r.output_scale);
  const float negative = sx * single(function.slope);
  return slopes(fixed_factor(double{sx / sy}), fixed_factor(double{negative / sy}));
}

}  // namespace tilebeat
