// The rules of int16 in fixed point (SPEC DT-2): those of TensorFlow Lite's built-in kernels for activations
// of 16 bits, in the order of the table in docs/arithmetic.md.
#include "base/types.h"
#include "reference/arithmetic.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

namespace tilebeat {
namespace {

using Whole = std::int64_t;

Whole power(int exponent) {
  return Whole{1} << exponent;
}
/// floor(value / 2^places).
Whole floored(Whole value, int places) {
  const Whole quotient = value / power(places);
  return quotient * power(places) > value ? quotient - 1 : quotient;
}
/// value / 2^places, half away from zero.
Whole halved(Whole value, int places) {
  const Whole magnitude = (std::abs(value) + power(places) / 2) / power(places);
  return value < 0 ? -magnitude : magnitude;
}
Whole limited(Whole value) {
  return std::min<Whole>(std::max<Whole>(value, INT16_MIN), INT16_MAX);
}
/// The lower 16 bits, signed.
Whole low_half(Whole value) {
  return static_cast<std::int16_t>(static_cast<std::uint16_t>(value));
}
double away(double value) {
  return std::round(value);
}

Whole sum_of_halves(const Elementwise& e, Whole a, Whole b) {
  const Whole sign = e.kind == Elementwise::Kind::kSub ? -1 : 1;
  if (e.shifts) return halved(a, (*e.shifts)[0]) + sign * halved(b, (*e.shifts)[1]);
  const double sa = static_cast<float>(e.input_scales[0]), sb = static_cast<float>(e.input_scales[1]),
               sy = static_cast<float>(*e.requant.output_scale);
  const double both = 2 * std::max(sa, sb);
  const Whole left = double_rounding(a * power(15), quantised_multiplier(sa / both)),
              right = double_rounding(b * power(15), quantised_multiplier(sb / both));
  return double_rounding(left + sign * right, quantised_multiplier(both / (32768 * sy)));
}

Whole product_of_halves(const Elementwise& e, Whole a, Whole b) {
  const float scales = static_cast<float>(e.input_scales[0]) * static_cast<float>(e.input_scales[1]);
  const float factor = scales / static_cast<float>(*e.requant.output_scale);
  return double_rounding(a * b, quantised_multiplier(factor));
}

}  // namespace

std::int64_t combined_int16(const Elementwise& operation, std::int32_t a, std::int32_t b) {
  const Whole value = operation.kind == Elementwise::Kind::kMul ? product_of_halves(operation, a, b)
                                                                : sum_of_halves(operation, a, b);
  // The sum of shifted operands is limited before the activation, which makes no difference.
  return operation.relu ? std::max<Whole>(value, 0) : value;
}

std::int64_t mean_int16(const Reduce& reduce, std::int64_t sum, std::int64_t count) {
  const float sx = static_cast<float>(reduce.input_scale),
              sy = static_cast<float>(*reduce.requant.output_scale);
  const Multiplier factor = quantised_multiplier(double{sx} / sy);
  int places = 0;  // floor(log2(count)), at most 31 + s
  while (places < 31 + factor.s && power(places + 1) <= count) ++places;
  return double_rounding(sum, {factor.m * power(places) / count, factor.s - places});
}

std::int64_t quantised_int16(float x, float scale) {
  const double steps = double{x} / scale;
  if (!(steps > -1e9)) return INT16_MIN;
  return static_cast<Whole>(away(std::min(steps, 1e9)));
}

// ---- tables with values between their entries ----

namespace {

/// A function of int16 as 513 entries, and its value between them.
class EntryTable {
 public:
  /// `f` of inputs from `low` to `high`, with results of 2^16 steps from -`bound` to `bound`, nearly.
  EntryTable(const std::function<double(double)>& f, double low, double high, double bound) {
    const double step = (high - low) / 512, steps = 65536 / bound;
    for (int i = 0; i < 512; ++i) {
      const double at = f(low + i * step), middle = f(low + i * step + step / 2),
                   next = f(low + (i + 1) * step);
      const double between = away((next * steps + away(at * steps)) / 2);
      const double error = away((between - away(middle * steps)) / 2);
      entries_.push_back(limited(static_cast<Whole>(away(at * steps) - error)));
    }
    entries_.push_back(limited(static_cast<Whole>(away(f(high) * steps))));
  }

  Whole at(Whole x) const {
    const Whole entry = floored(x, 7), rest = x - entry * 128;
    const Whole first = nth(entries_, 256 + entry), slope = low_half(nth(entries_, 257 + entry) - first);
    return low_half(first + floored(slope * rest + 64, 7));
  }

 private:
  std::vector<Whole> entries_;
};

constexpr double kStep = 2.0 / 65535;  // of results from -1 to 1
double width_of_results() {
  return kStep * INT16_MAX - kStep * INT16_MIN;
}

const EntryTable& exponentials() {
  constexpr double kUnit = 10.0 / 65535;
  static const EntryTable table([](double v) { return std::exp(v); }, kUnit * (INT16_MIN - INT16_MAX), 0,
                                width_of_results());
  return table;
}
const EntryTable& reciprocals() {
  constexpr double kUnit = 1.0 / 65535;
  static const EntryTable table([](double v) { return 1 / (1 + v); }, 0, kUnit * (INT16_MAX - INT16_MIN),
                                width_of_results());
  return table;
}

}  // namespace

std::vector<std::int32_t> softmax_int16(const Softmax& operation, const std::vector<std::int32_t>& pixel) {
  const float exponent = static_cast<float>(operation.input_scale) * static_cast<float>(operation.beta);
  const Multiplier factor = quantised_multiplier(double{exponent} / (10.0 / 65535));
  const Whole greatest = *std::max_element(pixel.begin(), pixel.end());
  std::vector<Whole> shares;
  Whole sum = 0;
  for (const std::int32_t x : pixel) {
    shares.push_back(exponentials().at(limited(double_rounding(x - greatest, factor) + 32767)));
    sum += shares.back();
  }
  int zeros = 32;  // leading zeros of the sum in 32 bits
  while (power(32 - zeros) <= sum) --zeros;
  const Whole places = floored(sum * power(zeros - 1) + power(13), 14);  // of 17 bits
  const Whole reciprocal = reciprocals().at(limited(places - 98304));
  std::vector<std::int32_t> results;
  for (const Whole share : shares) {
    const Whole value = floored(share * reciprocal + power(30 - zeros), 31 - zeros);
    results.push_back(static_cast<std::int32_t>(std::min<Whole>(std::max<Whole>(value, 0), INT16_MAX)));
  }
  return results;
}

namespace {

/// 65536 / (1 + exp(-i / 24)) to the nearest, and one more where the runtime's table has it.
const std::vector<Whole>& sigmoids() {
  static const std::vector<Whole> table = [] {
    constexpr std::array kHigher{4,  8,  12, 14, 15, 16, 17, 19, 20,  21,  22,  25,  27,  28, 29,
                                 30, 31, 33, 34, 35, 37, 39, 40, 41,  43,  44,  45,  46,  49, 50,
                                 54, 62, 63, 64, 66, 82, 86, 93, 100, 103, 112, 116, 135, 255};
    std::vector<Whole> made;
    for (int i = 0; i < 256; ++i)
      made.push_back(static_cast<Whole>(round_half_even(65536 / (1 + std::exp(-i / 24.0)))));
    for (const int i : kHigher) ++nth(made, i);
    return made;
  }();
  return table;
}

/// The element in steps of 1 / (3 * 4096).
Whole fine_steps(const ByteFunction& f, Whole x) {
  double factor = double{static_cast<float>(f.input_scale)} * 4096 * 3;
  int places = 0;
  for (; factor <= 32767.0 / 2 && places <= 30; ++places) factor *= 2;
  return floored(x * static_cast<Whole>(factor) + (places > 0 ? power(places - 1) : 0), places);
}

/// The magnitude between two entries that lie 2^places steps apart; `most` from the last entry on.
Whole between_sigmoids(Whole magnitude, int places, Whole most) {
  const Whole entry = magnitude / power(places), rest = magnitude % power(places);
  if (entry >= 255) return most * power(places == 9 ? 10 : 8);
  const Whole first = nth(sigmoids(), entry), next = nth(sigmoids(), entry + 1);
  return first * power(places) + rest * (next - first);
}

Whole logistic_by_table(const ByteFunction& f, Whole x) {
  const Whole steps = fine_steps(f, x), value = between_sigmoids(std::abs(steps), 9, 32767);
  return floored(steps >= 0 ? value + 512 : power(25) - value + 511, 10);
}
Whole tanh_by_table(const ByteFunction& f, Whole x) {
  const Whole steps = fine_steps(f, x), value = between_sigmoids(std::abs(steps), 8, 65535);
  return floored(steps >= 0 ? value - power(23) + 128 : power(23) - value + 127, 8);
}

// gemmlowp's functions of 16-bit fixed point.

/// a * b / 2^15, half away from zero but for a negative half, which is cut.
Whole high_product(Whole a, Whole b) {
  const Whole product = a * b;
  return std::min<Whole>((product + (product >= 0 ? power(14) : 1 - power(14))) / power(15), INT16_MAX);
}
/// A constant of 32 bits in 16.
Whole constant(Whole bits) {
  return std::min<Whole>(floored(bits + power(15), 16), INT16_MAX);
}

/// exp of a / 2^(15 - whole_bits), a <= 0, in 15 bits: what is left of a quarter by a series about -1/8, then
/// a product for every bit above.
Whole exponential(Whole a, int whole_bits) {
  constexpr std::array<Whole, 6> kPowers{1672461947, 1302514674, 790015084, 290630308, 39332535, 720401};
  if (a == 0) return INT16_MAX;
  const int fraction = 15 - whole_bits;
  const Whole quarter = power(fraction - 2);
  const Whole rest = ((a % quarter) + quarter) % quarter - quarter;
  const Whole x = low_half(rest * power(whole_bits) + power(12));
  const Whole x2 = high_product(x, x), x3 = high_product(x2, x), x4 = high_product(x2, x2);
  const Whole third = high_product(low_half(halved(x4, 2) + x3), constant(715827883));
  const Whole series = halved(low_half(third + x2), 1), eighth = constant(1895147668);
  Whole result = limited(eighth + high_product(eighth, low_half(x + series)));
  const Whole left = rest - a;
  for (int bit = -2; bit < whole_bits; ++bit) {
    if (left / power(fraction + bit) % 2 != 0) result = high_product(result, constant(nth(kPowers, bit + 2)));
  }
  return result;
}

/// 2 / (1 + e) with 13 bits behind the point: three steps of Newton's from 48/17 - 32/17 * (1 + e) / 2.
Whole twice_reciprocal(Whole e) {
  const Whole half = (e + 32768) / 2;
  Whole x = low_half(constant(1515870810) + high_product(half, constant(-1010580540)));
  for (int i = 0; i < 3; ++i) {
    const Whole error = low_half(power(13) - high_product(half, x));
    x = low_half(x + limited(high_product(x, error) * 4));
  }
  return x;
}

Whole logistic_by_series(Whole x) {
  if (x == 0) return 16384;
  const Whole share = limited(twice_reciprocal(exponential(-std::abs(x), 3)) * 2);
  return x > 0 ? share : 32767 - share;
}
Whole tanh_by_series(Whole x) {
  if (x == 0) return 0;
  const Whole share = limited(low_half(twice_reciprocal(exponential(-std::abs(x), 4)) - power(13)) * 4);
  return x > 0 ? share : -share;
}

}  // namespace

std::int64_t function_int16(const ByteFunction& f, std::int32_t x) {
  const std::optional<int> exponent = exponent_of(f.input_scale);
  if (f.kind == ByteFunction::Kind::kSigmoid)
    return exponent == -12 ? logistic_by_series(x) : logistic_by_table(f, x);
  if (f.kind == ByteFunction::Kind::kTanh) {
    const bool series = exponent == -12 || exponent == -11;
    return series ? tanh_by_series(limited(Whole{x} * power(12 + *exponent))) : tanh_by_table(f, x);
  }
  const float sx = static_cast<float>(f.input_scale), sy = static_cast<float>(*f.requant.output_scale);
  const float negative = sx * static_cast<float>(f.slope);
  const float factor = (x >= 0 ? sx : negative) / sy;
  return double_rounding(x, quantised_multiplier(factor));
}

}  // namespace tilebeat
