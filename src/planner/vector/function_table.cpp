#include "planner/vector/function_table.h"

#include "base/numerics.h"
#include "isa/operations.h"
#include "tilebeat/error.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tilebeat {
namespace {

constexpr double kExponentialUnit = 1 << 24;

RealFunction real_function(ByteFunction::Kind kind) {
  switch (kind) {
    case ByteFunction::Kind::kLeakyRelu:
      return RealFunction::kLeakyRelu;
    case ByteFunction::Kind::kSigmoid:
      return RealFunction::kSigmoid;
    case ByteFunction::Kind::kTanh:
      return RealFunction::kTanh;
    case ByteFunction::Kind::kHardSwish:
      return RealFunction::kHardSwish;
    case ByteFunction::Kind::kGelu:
      return RealFunction::kGelu;
    default:
      break;
  }
  throw SimulationError("a function is not known");
}

// f(v) of docs/workloads.md, for functions that post-processors do not have.
double value_of(const ByteFunction& function, double v) {
  constexpr double kSqrt2OverPi = 0.7978845608028654, kCubic = 0.044715, kBeyond = 1e300;
  switch (function.kind) {
    case ByteFunction::Kind::kGeluTanh:
      return 0.5 * v * (1.0 + std::tanh(kSqrt2OverPi * (v + kCubic * v * v * v)));
    case ByteFunction::Kind::kSilu:
      return v / (1.0 + std::exp(-v));
    case ByteFunction::Kind::kExp:
      return std::min(std::exp(v), kBeyond);
    case ByteFunction::Kind::kErf:
      return std::erf(v);
    case ByteFunction::Kind::kSqrt:
      return std::sqrt(std::max(v, 0.0));
    default:
      return apply(real_function(function.kind), v, function.slope);
  }
}

std::int64_t within(std::int64_t value, const TensorRequant& requant) {
  const std::int64_t low = requant.range ? (*requant.range)[0] : dtype_min(requant.dtype),
                     high = requant.range ? (*requant.range)[1] : dtype_max(requant.dtype);
  return std::clamp(value, low, high);
}
// `steps` of the output, rounded half to even.
std::int64_t steps_of(double steps, const TensorRequant& requant) {
  constexpr double kBeyond = 1e9;
  return within(std::llrint(std::clamp(steps, -kBeyond, kBeyond)) + requant.zero_point, requant);
}

// a * b / 2^15 of 16-bit numbers, half away from zero, within 16 bits.
std::int32_t high_half(std::int32_t a, std::int32_t b) {
  const std::int32_t product = a * b, nudge = product >= 0 ? 1 << 14 : 1 - (1 << 14);
  return std::clamp<std::int32_t>((product + nudge) / (1 << 15), INT16_MIN, INT16_MAX);
}
std::int32_t within_short(std::int32_t value) {
  return std::clamp<std::int32_t>(value, INT16_MIN, INT16_MAX);
}
// value / 2^places, half away from zero.
std::int32_t rounded_shift(std::int32_t value, int places) {
  if (places <= 0) return value;
  const std::int32_t half = 1 << (places - 1);
  return (value + half - (value < 0 ? 1 : 0)) >> places;
}
// The upper half of a multiplier of 31 bits.
std::int32_t short_multiplier(std::int32_t multiplier) {
  constexpr std::int32_t kMost = INT32_MAX - (1 << 15);
  return multiplier >= kMost ? INT16_MAX : (multiplier + (1 << 15)) >> 16;
}

// hard_swish with 16-bit multipliers: x with 7 more bits, its steps of the output, and a share of 0 to 1.
std::int32_t fixed_hard_swish(float sx, float sy, int x) {
  const float fine = (1.0F / 128.0F) * sx;
  const FixedFactor out = fixed_factor(double{fine / sy}),
                    share = fixed_factor(double{fine / (3.0F / 32768.0F)});
  const std::int32_t steps = x * 128, result = high_half(steps, short_multiplier(out.multiplier));
  std::int32_t part = steps;
  if (share.shift > 0)
    part = within_short(static_cast<std::int32_t>(
        std::clamp<std::int64_t>(std::int64_t{part} << (share.shift - 1), INT32_MIN, INT32_MAX)));
  part = high_half(part, short_multiplier(share.multiplier));
  if (share.shift > 0) part = within_short(part * 2);
  if (share.shift < 0) part = rounded_shift(part, -share.shift);
  const std::int32_t product = ((part + (1 << 15)) >> 1) * result;
  return rounded_shift(product / (1 << 15), -out.shift);
}

std::int64_t fixed_result(const ByteFunction& function, float sx, float sy, int x) {
  if (function.kind == ByteFunction::Kind::kHardSwish) return fixed_hard_swish(sx, sy, x);
  const double slope = x < 0 ? double{static_cast<float>(function.slope)} : 1.0;
  return multiply_double(x, fixed_factor(double{sx} * slope / double{sy}));
}

// The result for an element after subtraction of its zero point (SPEC NU-6).
std::int64_t runtime_result(const ByteFunction& function, int x) {
  const TensorRequant& r = function.requant;
  const auto sx = static_cast<float>(function.input_scale), sy = static_cast<float>(*r.output_scale);
  if (function.kind == ByteFunction::Kind::kHardSwish || function.kind == ByteFunction::Kind::kLeakyRelu)
    return within(fixed_result(function, sx, sy, x) + r.zero_point, r);
  if (r.arithmetic == Arithmetic::kFloat32Ort) {
    const float real = static_cast<float>(x) * sx;
    const auto value = static_cast<float>(apply(real_function(function.kind), double{real}, 0));
    return steps_of(double{value / sy}, r);
  }
  return steps_of(apply(real_function(function.kind), double{sx} * x, 0) / double{sy}, r);
}

std::int64_t result_of(const ByteFunction& function, int x, DType input, std::int32_t zero_point) {
  if (function.kind == ByteFunction::Kind::kTable) return nth(function.table, x - dtype_min(input));
  if (function.kind == ByteFunction::Kind::kRelu) return std::max(x, zero_point);
  if (function.kind == ByteFunction::Kind::kClamp) {
    const std::int64_t kept =
        std::min<std::int64_t>(std::max<std::int64_t>(x - zero_point, function.low), function.high);
    return std::clamp(kept + zero_point, dtype_min(input), dtype_max(input));
  }
  const double v = static_cast<double>(x - zero_point) * function.input_scale;
  const TensorRequant& requant = function.requant;
  if (requant.arithmetic != Arithmetic::kExact) return runtime_result(function, x - zero_point);
  return within(requantize_real(value_of(function, v), requant.scale, requant.zero_point, requant.dtype),
                requant);
}

template <class Value>
std::array<std::uint8_t, 256> table_of(DType input, Value value) {
  std::array<std::uint8_t, 256> table{};
  for (int raw = 0; raw < 256; ++raw) {
    const int x = input == DType::kInt8 ? static_cast<std::int8_t>(raw) : raw;
    nth(table, raw) = static_cast<std::uint8_t>(value(x));
  }
  return table;
}

}  // namespace

std::array<std::uint8_t, 256> function_table(const ByteFunction& function, DType input,
                                             std::int32_t zero_point) {
  return table_of(input, [&](int x) { return result_of(function, x, input, zero_point); });
}

std::array<std::uint8_t, 256> requantize_table(const Requantize& operation, DType input,
                                               std::int32_t zero_point) {
  const TensorRequant& r = operation.requant;
  const auto sx = static_cast<float>(operation.input_scale), sy = static_cast<float>(*r.output_scale);
  const float ratio = sx / sy;
  const auto factor = static_cast<std::int64_t>(std::nearbyint(256.0F * ratio));
  const float inverse = 1.0F / sy;
  const float joined = sx * inverse, offset = static_cast<float>(-zero_point) * joined;
  return table_of(input, [&](int element) {
    const int x = element - zero_point;
    switch (r.arithmetic) {
      case Arithmetic::kFloat32:
        return within(((x * factor + 128) >> 8) + r.zero_point, r);
      case Arithmetic::kFloat32Ort: {
        const float real = static_cast<float>(x) * sx;
        return steps_of(real / sy, r);
      }
      default:
        break;
    }
    if (operation.rule == Requantize::Rule::kPlain)
      return within(multiply_double(x, fixed_factor(double{sx} / double{sy})) + r.zero_point, r);
    const float part = static_cast<float>(element) * joined;
    return within(std::llround(part + offset) + r.zero_point, r);
  });
}

std::array<float, 256> real_softmax_table(const Softmax& softmax, std::int64_t channels) {
  std::array<float, 256> table{};
  const auto sx = static_cast<float>(softmax.input_scale);
  const float exponent = -sx * static_cast<float>(softmax.beta);
  // ONNX Runtime scales its exponentials so that their sum over the channels stays below the greatest float.
  const double most = std::log(double{std::numeric_limits<float>::max() / static_cast<float>(channels)});
  const double head = std::max(most - 5.0, 0.0) / double{sx};
  for (std::size_t d = 0; d < table.size(); ++d) {
    const double power = softmax.requant.arithmetic == Arithmetic::kFloat32Ort
                             ? (head - static_cast<double>(d)) * double{sx}
                             : double{exponent * static_cast<float>(d)};
    table[d] = static_cast<float>(std::exp(power));
  }
  return table;
}

std::array<std::int64_t, 256> softmax_table(const Softmax& softmax) {
  std::array<std::int64_t, 256> table{};
  for (std::size_t d = 0; d < table.size(); ++d)
    table[d] = std::llrint(std::exp(-static_cast<double>(d) * softmax.input_scale * softmax.beta) *
                           kExponentialUnit);
  return table;
}

namespace {

using Bytes = std::vector<std::uint8_t>;

// A float in the place of a factor.
void append_real(float value, Bytes& bytes) {
  append(value, bytes), append(std::int32_t{0}, bytes);
}

Bytes float_parameters(const Elementwise& e) {
  const auto sa = static_cast<float>(e.input_scales[0]), sb = static_cast<float>(e.input_scales[1]),
             sy = static_cast<float>(*e.requant.output_scale);
  Bytes bytes;
  if (e.kind == Elementwise::Kind::kMul) {
    const float product = sa * sb;
    append_factor({}, bytes), append_factor({}, bytes);
    append_real(product / sy, bytes);
    return bytes;
  }
  constexpr int kMultiplierBits = 20;
  const float a = sa / sy, b = sb / sy;
  const int shift = kMultiplierBits - std::ilogb(std::max(a, b));
  for (const float ratio : {a, b})
    append_factor({static_cast<std::int32_t>(std::lrint(std::ldexp(double{ratio}, shift))), 0}, bytes);
  append_factor({shift, 0}, bytes);
  return bytes;
}

Bytes ort_parameters(const Elementwise& e) {
  Bytes bytes;
  for (const double scale : {e.input_scales[0], e.input_scales[1], *e.requant.output_scale})
    append_real(static_cast<float>(scale), bytes);
  return bytes;
}

Bytes fixed_parameters(const Elementwise& e) {
  const double sa = static_cast<float>(e.input_scales[0]), sb = static_cast<float>(e.input_scales[1]),
               sy = static_cast<float>(*e.requant.output_scale);
  Bytes bytes;
  if (e.kind == Elementwise::Kind::kMul) {
    append_factor({}, bytes), append_factor({}, bytes);
    append_factor(fixed_factor(sa * sb / sy), bytes);
    return bytes;
  }
  constexpr double kHead = 1 << 20;
  const double common = 2 * std::max(sa, sb);
  append_factor(fixed_factor(sa / common), bytes), append_factor(fixed_factor(sb / common), bytes);
  append_factor(fixed_factor(common / (kHead * sy)), bytes);
  return bytes;
}

}  // namespace

Bytes elementwise_parameters(const Elementwise& operation) {
  switch (operation.requant.arithmetic) {
    case Arithmetic::kExact:
      break;
    case Arithmetic::kFloat32:
      return float_parameters(operation);
    case Arithmetic::kFloat32Ort:
      return ort_parameters(operation);
    case Arithmetic::kFixed:
    case Arithmetic::kTflm:
      return operation.requant.dtype == DType::kInt16 ? elementwise_parameters_int16(operation)
                                                      : fixed_parameters(operation);
  }
  Bytes bytes;
  for (const double scale : operation.input_scales) append(scale, bytes);
  append(operation.requant.scale, bytes);
  return bytes;
}

Bytes softmax_parameters(const Softmax& operation, std::int64_t channels) {
  if (operation.requant.dtype == DType::kInt16) return softmax_parameters_int16(operation);
  Bytes bytes;
  if (operation.requant.arithmetic == Arithmetic::kExact) {
    for (const std::int64_t e : softmax_table(operation)) append(e, bytes);
    append(operation.requant.scale, bytes);
    return bytes;
  }
  for (const float e : real_softmax_table(operation, channels)) append(e, bytes);
  const auto step = static_cast<float>(*operation.requant.output_scale);
  const bool ort = operation.requant.arithmetic == Arithmetic::kFloat32Ort;
  append_real(ort ? std::floor(1.0F / step) : step, bytes);
  return bytes;
}

Bytes mean_parameters(const Reduce& reduce, std::int64_t count, std::int32_t zero_point) {
  Bytes bytes;
  const auto k = static_cast<float>(count);
  const auto sx = static_cast<float>(reduce.input_scale);
  const auto sy = static_cast<float>(reduce.requant.output_scale.value_or(1));
  switch (reduce.requant.arithmetic) {
    case Arithmetic::kExact:
      append(reduce.kind == Reduce::Kind::kSum ? reduce.input_scale * static_cast<double>(count)
                                               : reduce.input_scale,
             bytes);
      append(reduce.requant.scale, bytes);
      return bytes;
    case Arithmetic::kFloat32:
    case Arithmetic::kFloat32Ort: {
      const float steps = sy * k;
      append_real(sx / steps, bytes), append_factor({}, bytes);
      return bytes;
    }
    case Arithmetic::kFixed:
    case Arithmetic::kTflm:
      break;
  }
  if (reduce.requant.dtype == DType::kInt16) return mean_parameters_int16(reduce, count);
  if (reduce.rule == Reduce::MeanRule::kAnyAxes) {
    const bool same = sx == sy && zero_point == reduce.requant.zero_point;
    const float ratio = sx / sy;
    append_real(ratio, bytes), append_real(static_cast<float>(-zero_point) * ratio, bytes);
    append(same ? MeanForm::kQuotient : MeanForm::kFloat, bytes);
    return bytes;
  }
  // The raw sum contains `count` zero points, the mean one: they are subtracted as whole steps of the output.
  const float steps = k * sy;
  const float real = static_cast<float>(zero_point) * sx;
  const float shift = real / sy;
  const float rounded = std::trunc(shift > 0 ? shift + 0.5F : shift - 0.5F);
  append_factor(fixed_factor(double{sx / steps}), bytes);
  append_factor({static_cast<std::int32_t>(std::clamp(rounded, -1e9F, 1e9F)), 0}, bytes);
  append(MeanForm::kWhole, bytes);
  return bytes;
}

}  // namespace tilebeat
