#include "base/types.h"
#include "reference/arithmetic.h"
#include "tilebeat/error.h"

#include <algorithm>
#include <cmath>

namespace tilebeat {
namespace {

float f32(double value) {
  return static_cast<float>(value);
}

/// floor(value / 2^bits).
std::int64_t floor_shift(std::int64_t value, int bits) {
  const std::int64_t unit = std::int64_t{1} << bits;
  return value / unit - (value % unit < 0 ? 1 : 0);
}

std::int64_t within_int(float value) {
  constexpr float kBeyond = 1e9F;
  if (!(value > -kBeyond)) return -static_cast<std::int64_t>(kBeyond);
  if (value > kBeyond) return static_cast<std::int64_t>(kBeyond);
  return static_cast<std::int64_t>(value);
}

}  // namespace

Multiplier quantised_multiplier(double d) {
  int exponent = 0;
  const double mantissa = std::frexp(d, &exponent);
  Multiplier factor{static_cast<std::int64_t>(std::round(std::ldexp(mantissa, 31))), exponent};
  if (factor.m == std::int64_t{1} << 31) factor = {std::int64_t{1} << 30, exponent + 1};
  if (factor.s < -31) factor = {0, 0};
  return factor;
}

std::int64_t single_rounding(std::int64_t acc, const Multiplier& factor) {
  return floor_shift(acc * factor.m + (std::int64_t{1} << (30 - factor.s)), 31 - factor.s);
}

std::int64_t short_rounding(std::int64_t acc, const Multiplier& factor) {
  const std::int64_t half = factor.m < 0x7FFF0000 ? (factor.m + (1 << 15)) / (1 << 16) : 0x7FFF;
  const std::int64_t product = floor_shift(acc * half + (std::int64_t{1} << (14 - factor.s)), 15 - factor.s);
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(product));
}

namespace {

/// A sum times a real factor, half away from zero, within int32.
std::int64_t rounded_product_of(std::int64_t acc, double factor) {
  const double product = std::round(static_cast<double>(acc) * factor);
  return product <= INT32_MIN   ? INT32_MIN
         : product >= INT32_MAX ? INT32_MAX
                                : static_cast<std::int64_t>(product);
}

}  // namespace

std::int64_t double_rounding(std::int64_t acc, const Multiplier& factor) {
  const auto shifted = static_cast<std::int32_t>(to_unsigned(acc) << (factor.s > 0 ? factor.s : 0));
  // gemmlowp: the product is nudged by a half away from zero and cut towards zero.
  const std::int64_t product = shifted * factor.m;
  const std::int64_t nudge = product >= 0 ? std::int64_t{1} << 30 : 1 - (std::int64_t{1} << 30);
  std::int64_t high = (product + nudge) / (std::int64_t{1} << 31);
  if (high > INT32_MAX) high = INT32_MAX;
  if (factor.s >= 0) return high;
  const std::int64_t unit = std::int64_t{1} << -factor.s;
  const std::int64_t magnitude = (std::abs(high) + unit / 2) / unit;
  return high < 0 ? -magnitude : magnitude;
}

std::int64_t rint_of(float value) {
  const std::int64_t whole = within_int(value);
  const float rest = value - static_cast<float>(whole);
  if (std::abs(static_cast<double>(value)) >= 1e9) return whole;
  if (rest > 0.5F || (rest == 0.5F && whole % 2 != 0)) return whole + 1;
  if (rest < -0.5F || (rest == -0.5F && whole % 2 != 0)) return whole - 1;
  return whole;
}

std::int64_t half_away(float value) {
  const std::int64_t whole = within_int(value);
  const float rest = value - static_cast<float>(whole);
  if (std::abs(static_cast<double>(value)) >= 1e9) return whole;
  return rest >= 0.5F ? whole + 1 : rest <= -0.5F ? whole - 1 : whole;
}

std::int32_t bounded(std::int64_t value, DType dtype, const std::optional<OutputRange>& range) {
  const std::int64_t low = range ? (*range)[0] : dtype_min(dtype);
  const std::int64_t high = range ? (*range)[1] : dtype_max(dtype);
  return static_cast<std::int32_t>(value < low ? low : value > high ? high : value);
}

std::int64_t requantised_sum(const Requant& requant, std::size_t channel, std::int64_t acc) {
  const float sx = f32(*requant.input_scale), sy = f32(*requant.output_scale);
  const std::vector<double>& weights = requant.weight_scale;
  const float sw = f32(weights.size() == 1 ? weights.front() : weights[channel]);
  std::int64_t value = 0;
  if (requant.arithmetic != Arithmetic::kFixed) {
    const float product = sx * sw;
    const float scale = product / sy;
    value = rint_of(static_cast<float>(acc) * scale);
  } else {
    const float rounded_product = sx * sw;
    const double product =
        requant.rule == ProductRule::kFullyConnected ? double{rounded_product} : double{sx} * sw;
    const Multiplier factor = quantised_multiplier(product / sy);
    const bool twice = requant.rule == ProductRule::kDepthwise || requant.roundings == Roundings::kTwo;
    if (requant.roundings == Roundings::kShort)
      value = requant.rule == ProductRule::kFullyConnected
                  ? rounded_product_of(acc, double{sx} * sw / sy)
                  : short_rounding(acc, quantised_multiplier(double{sx} * sw / sy));
    else
      value = twice ? double_rounding(acc, factor) : single_rounding(acc, factor);
  }
  return value + requant.zero_point;
}

namespace {

std::int64_t sum_of(const Elementwise& e, std::int32_t a, std::int32_t b) {
  const double exact_sa = e.input_scales[0], exact_sb = e.input_scales[1];
  const float sa = f32(exact_sa), sb = f32(exact_sb), sy = f32(*e.requant.output_scale);
  const int sign = e.kind == Elementwise::Kind::kSub ? -1 : 1;
  switch (e.requant.arithmetic) {
    case Arithmetic::kFloat32: {
      const float ra = sa / sy, rb = sb / sy;
      const int n = 20 - static_cast<int>(std::floor(std::log2(std::max(ra, rb))));
      const std::int64_t ma = rint_of(std::ldexp(ra, n)), mb = rint_of(std::ldexp(rb, n));
      return floor_shift(a * ma + sign * (b * mb) + (std::int64_t{1} << (n - 1)), n) + e.requant.zero_point;
    }
    case Arithmetic::kFloat32Ort: {
      const float fa = static_cast<float>(a) * sa, fb = static_cast<float>(b) * sb;
      const float sum = sign > 0 ? fa + fb : fa - fb;
      const float steps = sum / sy;
      return rint_of(steps + static_cast<float>(e.requant.zero_point));
    }
    default: {
      const double t = 2 * std::max(double{sa}, double{sb});
      const std::int64_t left = double_rounding(std::int64_t{a} * (1 << 20), quantised_multiplier(sa / t));
      const std::int64_t right = double_rounding(std::int64_t{b} * (1 << 20), quantised_multiplier(sb / t));
      return double_rounding(left + sign * right, quantised_multiplier(t / ((1 << 20) * double{sy}))) +
             e.requant.zero_point;
    }
  }
}

std::int64_t product_of(const Elementwise& e, std::int32_t a, std::int32_t b) {
  const float sa = f32(e.input_scales[0]), sb = f32(e.input_scales[1]), sy = f32(*e.requant.output_scale);
  switch (e.requant.arithmetic) {
    case Arithmetic::kFloat32: {
      const float scales = sa * sb;
      const float factor = scales / sy;
      return rint_of(static_cast<float>(a * b) * factor) + e.requant.zero_point;
    }
    case Arithmetic::kFloat32Ort: {
      const float fa = static_cast<float>(a) * sa, fb = static_cast<float>(b) * sb;
      const float product = fa * fb;
      const float steps = product / sy;
      return rint_of(steps + static_cast<float>(e.requant.zero_point));
    }
    default:
      return double_rounding(std::int64_t{a} * b, quantised_multiplier(double{sa} * sb / sy)) +
             e.requant.zero_point;
  }
}

}  // namespace

std::int64_t combined(const Elementwise& operation, std::int32_t a, std::int32_t b) {
  const std::int64_t value =
      operation.kind == Elementwise::Kind::kMul ? product_of(operation, a, b) : sum_of(operation, a, b);
  return operation.relu ? std::max<std::int64_t>(value, operation.requant.zero_point) : value;
}

std::int64_t requantised_element(const Requantize& operation, std::int32_t x) {
  const float sx = f32(operation.input_scale), sy = f32(*operation.requant.output_scale);
  const std::int32_t zero = operation.requant.zero_point;
  switch (operation.requant.arithmetic) {
    case Arithmetic::kFloat32: {
      const std::int64_t factor = rint_of(256 * (sx / sy));
      return floor_shift(x * factor + 128, 8) + zero;
    }
    case Arithmetic::kFloat32Ort: {
      const float real = static_cast<float>(x) * sx;
      return rint_of(real / sy) + zero;
    }
    default:
      return double_rounding(x, quantised_multiplier(double{sx} / sy)) + zero;
  }
}

std::int64_t joined_element(const Requantize& operation, std::int32_t element, std::int32_t zero_point) {
  const float step = f32(*operation.requant.output_scale), inverse = 1 / step;
  const float ratio = f32(operation.input_scale) * inverse;
  const float scaled = static_cast<float>(element) * ratio;
  const float offset = static_cast<float>(-zero_point) * ratio;
  return half_away(scaled + offset) + operation.requant.zero_point;
}

namespace {

/// The rounded quotient of value by 2^places, half away from zero.
std::int64_t divided(std::int64_t value, int places) {
  const std::int64_t unit = std::int64_t{1} << places;
  const std::int64_t magnitude = (std::abs(value) + unit / 2) / unit;
  return value < 0 ? -magnitude : magnitude;
}
std::int64_t as_short(std::int64_t value) {
  return std::min<std::int64_t>(std::max<std::int64_t>(value, INT16_MIN), INT16_MAX);
}
/// gemmlowp's doubling high product of 16-bit numbers: a negative half is cut towards zero.
std::int64_t short_product(std::int64_t a, std::int64_t b) {
  const std::int64_t product = a * b;
  return as_short((product + (product >= 0 ? 1 << 14 : 1 - (1 << 14))) / (1 << 15));
}
std::int64_t upper_half(std::int64_t multiplier) {
  return multiplier >= INT32_MAX - (1 << 15) ? INT16_MAX : floor_shift(multiplier + (1 << 15), 16);
}

/// hard_swish as TensorFlow Lite's built-in kernel has it: the input with seven more bits, once at the scale
/// of the output and once as the share relu6(x + 3) / 6 in 15 bits.
std::int64_t short_hard_swish(float sx, float sy, std::int32_t x) {
  const float fine = sx * (1.0F / 128), three = 3.0F / 32768;
  const Multiplier to_output = quantised_multiplier(double{fine / sy});
  const Multiplier to_share = quantised_multiplier(double{fine / three});
  const std::int64_t input = std::int64_t{x} * 128;
  const std::int64_t steps = short_product(input, upper_half(to_output.m));
  std::int64_t share = input;
  if (to_share.s > 0) share = as_short(share * (std::int64_t{1} << (to_share.s - 1)));
  share = short_product(share, upper_half(to_share.m));
  if (to_share.s > 0) share = as_short(share * 2);
  if (to_share.s < 0) share = divided(share, -to_share.s);
  const std::int64_t product = floor_shift(share + 32768, 1) * steps / 32768;
  return to_output.s < 0 ? divided(product, -to_output.s) : product;
}

}  // namespace

std::int64_t function_value(const ByteFunction& function, std::int32_t x) {
  const auto f = [&](double v) {
    return function.kind == ByteFunction::Kind::kTanh ? std::tanh(v) : 1 / (1 + std::exp(-v));
  };
  const float sx = f32(function.input_scale), sy = f32(*function.requant.output_scale);
  if (function.kind == ByteFunction::Kind::kHardSwish)
    return short_hard_swish(sx, sy, x) + function.requant.zero_point;
  if (function.kind == ByteFunction::Kind::kLeakyRelu) {
    const double product = x >= 0 ? double{sx} : double{sx} * f32(function.slope);
    return double_rounding(x, quantised_multiplier(product / sy)) + function.requant.zero_point;
  }
  if (function.requant.arithmetic == Arithmetic::kFloat32Ort) {
    const float real = f32(f(static_cast<float>(x) * sx));
    return rint_of(real / sy) + function.requant.zero_point;
  }
  const double steps = f(double{sx} * x) / sy;
  return std::llrint(std::min(std::max(steps, -1e9), 1e9)) + function.requant.zero_point;
}

std::int64_t mean_of(const Reduce& reduce, std::int64_t sum, std::int64_t count, std::int32_t zero_point) {
  const float sx = f32(reduce.input_scale), sy = f32(*reduce.requant.output_scale);
  const auto k = static_cast<float>(count);
  if (reduce.requant.arithmetic != Arithmetic::kFixed) {
    const float steps = sy * k;
    const float factor = sx / steps;
    return rint_of(static_cast<float>(sum - count * zero_point) * factor) + reduce.requant.zero_point;
  }
  if (reduce.rule == Reduce::MeanRule::kAnyAxes) {
    if (sx == sy && zero_point == reduce.requant.zero_point) return sum / count;
    const float ratio = sx / sy;
    const float average = static_cast<float>(sum) / k;
    const float scaled = average * ratio, offset = static_cast<float>(-zero_point) * ratio;
    return half_away(scaled + offset) + reduce.requant.zero_point;
  }
  const float steps = k * sy;
  const float factor = sx / steps;
  const float real = static_cast<float>(zero_point) * sx;
  const float u = real / sy;
  const float shifted = u > 0 ? u + 0.5F : u - 0.5F;
  return double_rounding(sum, quantised_multiplier(double{factor})) + reduce.requant.zero_point -
         within_int(shifted);
}

template <class T>
std::vector<T> centred(const Tensor& tensor, std::int32_t zero_point) {
  std::vector<T> values(to_size(tensor.elements()));
  const std::uint8_t* const bytes = tensor.bytes.data();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::int32_t element = tensor.dtype == DType::kInt8    ? static_cast<std::int8_t>(bytes[i])
                                 : tensor.dtype == DType::kUint8 ? bytes[i]
                                                                 : tensor.at(to_signed(i));
    values[i] = static_cast<T>(element - zero_point);
  }
  return values;
}

void append_element(std::int64_t value, DType dtype, std::vector<std::uint8_t>& bytes) {
  for (int byte = 0; byte < dtype_size(dtype); ++byte)
    bytes.push_back(static_cast<std::uint8_t>(to_unsigned(value) >> (8 * byte)));
}

void append_copy(const Tensor& tensor, std::int64_t index, std::vector<std::uint8_t>& bytes) {
  const int size = dtype_size(tensor.dtype);
  for (std::int64_t at = index * size; at < (index + 1) * size; ++at) bytes.push_back(nth(tensor.bytes, at));
}

template std::vector<std::int16_t> centred(const Tensor&, std::int32_t);
template std::vector<std::int32_t> centred(const Tensor&, std::int32_t);

double round_half_even(double value) {
  const double below = std::floor(value);
  const double part = value - below;
  if (part != 0.5) return part > 0.5 ? below + 1.0 : below;
  const bool odd = std::floor(below * 0.5) * 2.0 != below;
  return odd ? below + 1.0 : below;
}

std::int32_t rounded(double value, std::int32_t zero_point, DType dtype) {
  const double shifted = round_half_even(value) + zero_point;
  const auto low = static_cast<double>(dtype_min(dtype)), high = static_cast<double>(dtype_max(dtype));
  return static_cast<std::int32_t>(std::min(std::max(shifted, low), high));
}

}  // namespace tilebeat
