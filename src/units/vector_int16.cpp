// The lanes' arithmetic of int16 in fixed point (SPEC DT-2, docs/vector.md): integer multipliers, adders and
// shifters, and tables that are read between their entries.
#include "base/numerics.h"
#include "base/types.h"
#include "tilebeat/error.h"
#include "units/post_processing.h"
#include "units/vector_math.h"

#include <algorithm>
#include <array>
#include <cstdlib>

namespace tilebeat {
namespace {

using Bytes = std::vector<std::uint8_t>;

constexpr std::size_t kFactorBytes = 8;  // bytes of a factor
constexpr std::size_t kHalf = 2;         // bytes of an entry of a table

std::int32_t half_at(const Bytes& bytes, std::size_t offset) {
  if (offset + kHalf > bytes.size()) throw SimulationError("vector.run: a table is not complete");
  return static_cast<std::int16_t>(bytes[offset] | bytes[offset + 1] << 8);
}

std::int32_t saturated(std::int32_t value) {
  return std::clamp<std::int32_t>(value, INT16_MIN, INT16_MAX);
}
// The lower 16 bits: registers of 16 bits wrap.
std::int32_t wrapped(std::int32_t value) {
  return static_cast<std::int16_t>(value);
}
// value / 2^places, half away from zero.
std::int32_t rounded_shift(std::int32_t value, int places) {
  if (places <= 0) return value;
  return (value + (1 << (places - 1)) - (value < 0 ? 1 : 0)) >> places;
}

}  // namespace

std::int64_t sum_of_int16(VectorKind kind, const Bytes& parameters, std::int32_t x, std::int32_t y) {
  constexpr int kHead = 15, kMostPlaces = 15;
  const FixedFactor a = factor_at(parameters, 0), b = factor_at(parameters, kFactorBytes);
  const bool add = kind == VectorKind::kAdd;
  if (SumForm{whole_at(parameters, 3 * kFactorBytes)} == SumForm::kShifts) {
    const std::int32_t p = rounded_shift(x, std::min(a.shift, kMostPlaces)),
                       q = rounded_shift(y, std::min(b.shift, kMostPlaces));
    return add ? p + q : p - q;
  }
  const std::int64_t p = multiply_double(x * (1 << kHead), a), q = multiply_double(y * (1 << kHead), b);
  const auto sum = static_cast<std::int32_t>(add ? p + q : p - q);
  return multiply_double(sum, factor_at(parameters, 2 * kFactorBytes));
}

std::int32_t sloped(const VectorRun& operation, const Bytes& parameters, std::int32_t x) {
  const std::int64_t steps = multiply_double(x, factor_at(parameters, x >= 0 ? 0 : kFactorBytes));
  return within_bounds(steps + operation.out_zero, operation, operation.out_type);
}

// ---- sigmoid, tanh ----

namespace {

// The upper half of a product with one bit more: half away from zero, a negative half towards zero.
std::int32_t high_product(std::int32_t a, std::int32_t b) {
  const std::int32_t product = a * b, nudged = product + (product >= 0 ? 1 << 14 : 1 - (1 << 14));
  return std::min<std::int32_t>(nudged / (1 << 15), INT16_MAX);
}

// exp(-magnitude / 2^(15 - whole)) in 15 bits. A series about -1/8 covers a quarter, constants of the bits
// above do the rest.
std::int32_t negative_exponential(std::int32_t magnitude, int whole) {
  constexpr std::array<std::int32_t, 6> kFactors{25520, 19875, 12055, 4435, 600, 11};  // exp(-1/4) to exp(-8)
  constexpr std::int32_t kEighth = 28918, kThird = 10923;                              // exp(-1/8), 1/3
  if (magnitude == 0) return INT16_MAX;
  const int fraction = 15 - whole;
  const std::int32_t quarter = 1 << (fraction - 2);
  const std::int32_t rest = (-magnitude & (quarter - 1)) - quarter;
  const std::int32_t x = wrapped(rest * (1 << whole) + (1 << 12));
  const std::int32_t square = high_product(x, x), cube = high_product(square, x),
                     fourth = high_product(square, square);
  const std::int32_t upper = high_product(wrapped(rounded_shift(fourth, 2) + cube), kThird);
  const std::int32_t series = x + rounded_shift(wrapped(upper + square), 1);
  std::int32_t result = saturated(kEighth + high_product(kEighth, wrapped(series)));
  const std::int32_t quarters = (rest + magnitude) >> (fraction - 2);
  for (int bit = 0; bit < whole + 2; ++bit) {
    if ((quarters >> bit & 1) != 0) result = high_product(result, nth(kFactors, bit));
  }
  return result;
}

// 2 / (1 + e) with 13 bits behind the point, by three steps of Newton's.
std::int32_t reciprocal(std::int32_t e) {
  constexpr std::int32_t kFirst = 23130, kSlope = -15420;  // 48/17 and -32/17, 13 bits behind the point
  const std::int32_t half = (e + (1 << 15)) >> 1;
  std::int32_t x = wrapped(kFirst + high_product(half, kSlope));
  for (int i = 0; i < 3; ++i) {
    const std::int32_t error = wrapped((1 << 13) - high_product(half, x));
    x = wrapped(x + saturated(high_product(x, error) * 4));
  }
  return x;
}

std::int32_t by_series(VectorKind kind, std::int32_t x, int left) {
  if (kind == VectorKind::kSigmoid) {
    if (x == 0) return 1 << 14;
    const std::int32_t share = saturated(reciprocal(negative_exponential(std::abs(x), 3)) * 2);
    return x > 0 ? share : INT16_MAX - share;
  }
  const std::int32_t wide = saturated(x * (1 << std::clamp(left, 0, 1)));
  if (wide == 0) return 0;
  const std::int32_t distance = reciprocal(negative_exponential(std::abs(wide), 4)) - (1 << 13);
  const std::int32_t share = saturated(wrapped(distance) * 4);
  return x > 0 ? share : -share;
}

// Entries of the table lie 2^9 steps apart for a sigmoid, 2^8 for a tanh, which is one of twice the steps.
std::int32_t by_table(VectorKind kind, const Bytes& parameters, std::int32_t x) {
  constexpr std::size_t kTable = 16;
  constexpr std::int32_t kLast = kSigmoidEntries - 1;
  const bool sigmoid = kind == VectorKind::kSigmoid;
  const int places = sigmoid ? 9 : 8;
  const std::int64_t factor = whole_at(parameters, 4);
  const int shift = std::clamp(whole_at(parameters, 8), 0, 31);
  const std::int64_t half = shift > 0 ? std::int64_t{1} << (shift - 1) : 0;
  const auto steps = static_cast<std::int32_t>((x * factor + half) >> shift);
  const std::int32_t magnitude = std::abs(steps), entry = magnitude >> places;
  const auto at = [&](std::int32_t i) {
    return half_at(parameters, kTable + to_size(i) * kHalf) & UINT16_MAX;
  };
  std::int32_t value = sigmoid ? INT16_MAX << 10 : UINT16_MAX << 8;
  if (entry < kLast)
    value = (at(entry) << places) + (magnitude & ((1 << places) - 1)) * (at(entry + 1) - at(entry));
  if (sigmoid) return (steps >= 0 ? value + 512 : (1 << 25) - value + 511) >> 10;
  return (steps >= 0 ? value - (1 << 23) + 128 : (1 << 23) - value + 127) >> 8;
}

}  // namespace

std::int32_t curve_of(const VectorRun& operation, const Bytes& parameters, std::int32_t x) {
  const bool series = CurveForm{whole_at(parameters, 0)} == CurveForm::kSeries;
  const std::int32_t value = series ? by_series(operation.kind, x, whole_at(parameters, 8))
                                    : by_table(operation.kind, parameters, x);
  return within_bounds(value, operation, operation.out_type);
}

// ---- softmax ----

namespace {

// A table of 513 entries that begins at byte `table`, read between two of them.
std::int32_t between(const Bytes& parameters, std::size_t table, std::int32_t x) {
  const std::size_t at = table + to_size(256 + (x >> 7)) * kHalf;
  const std::int32_t first = half_at(parameters, at),
                     slope = wrapped(half_at(parameters, at + kHalf) - first);
  return wrapped(first + ((slope * (x & 127) + 64) >> 7));
}

}  // namespace

std::vector<std::int32_t> softmax_shares(const VectorRun& operation, const Bytes& parameters,
                                         const std::vector<std::int32_t>& pixel) {
  constexpr std::size_t kExponentials = kFactorBytes, kReciprocals = kFactorBytes + kIntervalEntries * kHalf;
  const FixedFactor factor = factor_at(parameters, 0);
  const std::int32_t greatest = *std::max_element(pixel.begin(), pixel.end());
  std::vector<std::int32_t> shares;
  std::int64_t sum = 0;
  for (const std::int32_t x : pixel) {
    const std::int64_t place = std::int64_t{multiply_double(x - greatest, factor)} + INT16_MAX;
    shares.push_back(
        between(parameters, kExponentials,
                static_cast<std::int32_t>(std::clamp<std::int64_t>(place, INT16_MIN, INT16_MAX))));
    sum += shares.back();
  }
  if (sum < 2) throw SimulationError("vector.run: the exponentials of a softmax give no number");
  int bits = 0;  // of the sum
  while (sum >> bits != 0) ++bits;
  const std::int64_t leading = ((sum << (31 - bits)) + (1 << 13)) >> 14;  // its 17 leading bits
  constexpr std::int64_t kOneAndHalf = 3 << 15;
  const std::int32_t inverse = between(
      parameters, kReciprocals,
      static_cast<std::int32_t>(std::clamp<std::int64_t>(leading - kOneAndHalf, INT16_MIN, INT16_MAX)));
  for (std::int32_t& share : shares) {
    const std::int64_t value =
        (std::int64_t{share} * inverse + (std::int64_t{1} << (bits - 2))) >> (bits - 1);
    share = within_bounds(std::max<std::int64_t>(value, 0), operation, operation.out_type);
  }
  return shares;
}

}  // namespace tilebeat
