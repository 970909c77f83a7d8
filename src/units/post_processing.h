#pragma once

#include "base/numerics.h"
#include "isa/instruction.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace tilebeat {

/// `value` within the bounds that `setup` or a VectorRun sets to results of the byte type `type`.
template <class Bounded>
std::int32_t within_bounds(std::int64_t value, const Bounded& bounds, DType type) {
  const std::int64_t low = dtype_min(type) + bounds.floor, high = dtype_max(type) - bounds.ceiling;
  return static_cast<std::int32_t>(std::min(std::max(value, low), high));
}

/// The requantisation of SPEC NU-6: an accumulator in float32 or in fixed point.
inline std::int64_t rescale(std::int32_t value, const ConvSetup& setup, const PostParameter& parameter) {
  const std::int32_t zero = setup.output_zero_point;
  if (setup.rescale == Rescale::kReal32)
    return requantize_float(value, static_cast<float>(parameter.scale), zero, setup.output_type);
  const double whole = std::clamp(parameter.scale, double{INT32_MIN}, double{INT32_MAX});
  const FixedFactor factor{_mm_cvtsd_si32(_mm_set_sd(whole)), parameter.shift};
  const std::int64_t product = setup.rescale == Rescale::kSingleRounding
                                   ? multiply_single(value, factor)
                                   : std::int64_t{multiply_double(value, factor)};
  return std::clamp(product + zero, dtype_min(setup.output_type), dtype_max(setup.output_type));
}

/// Whether sums and biases have more than 32 bits: those of int16, unless they are rescaled as those of
/// bytes.
inline bool has_wide_sums(const ConvSetup& setup) {
  return setup.input_type == DType::kInt16 && setup.rescale != Rescale::kSingleRounding &&
         setup.rescale != Rescale::kDoubleRounding;
}

/// The sum with its bias, within the clamp. The addition of a bias of 32 bits wraps like the adder; in a
/// checked workload that of bytes cannot overflow (SPEC NU-3). Wide sums have a clamp only where a bound is
/// no end of int32.
inline std::int64_t biased(Sum sum, const ConvSetup& setup, const PostParameter& parameter) {
  if (!has_wide_sums(setup)) {
    auto value = static_cast<std::uint32_t>(sum);
    if (setup.post_parameters) value += static_cast<std::uint32_t>(parameter.bias);
    const auto whole = static_cast<std::int32_t>(value);
    return setup.clamp ? std::clamp(whole, setup.clamp_low, setup.clamp_high) : whole;
  }
  std::int64_t value = sum;
  if (setup.post_parameters) value += parameter.wide_bias();
  if (!setup.clamp) return value;
  if (setup.clamp_low != INT32_MIN) value = std::max<std::int64_t>(value, setup.clamp_low);
  if (setup.clamp_high != INT32_MAX) value = std::min<std::int64_t>(value, setup.clamp_high);
  return value;
}

/// The result of a sum on its way out of a matrix unit (SPEC NU-2, NU-6): bias, clamp or relu, requantisation
/// with an optional function of the real value, and the bounds of the result.
inline std::int64_t post_process(Sum sum, const ConvSetup& setup, const PostParameter& parameter) {
  std::int64_t value = biased(sum, setup, parameter);
  if (setup.function != RealFunction::kNone) {
    const double real = apply(setup.function, static_cast<double>(value) * parameter.scale, setup.slope);
    value = requantize_real(real, setup.output_scale, setup.output_zero_point, setup.output_type);
  } else if (!setup.requantise) {
    return value;
  } else if (setup.rescale == Rescale::kReal64) {
    value = requantize(value, parameter.scale, setup.output_zero_point, setup.output_type);
  } else if (setup.rescale == Rescale::kShortMultiplier || setup.rescale == Rescale::kReal64Away) {
    const std::int64_t steps = setup.rescale == Rescale::kReal64Away ? rounded_away(value, parameter.scale)
                                                                     : multiply_short(value, parameter.scale);
    value = std::clamp(steps + setup.output_zero_point, dtype_min(setup.output_type),
                       dtype_max(setup.output_type));
  } else {
    value = rescale(static_cast<std::int32_t>(value), setup, parameter);
  }
  const bool bounded = (setup.floor | setup.ceiling) != 0;
  return bounded ? within_bounds(value, setup, setup.output_type) : value;
}

/// post_process of `count` sums, with a parameter each, to elements of `setup.output_type`, little-endian.
inline void post_process_row(const Sum* sums, int count, const ConvSetup& setup,
                             const PostParameter* parameters, std::uint8_t* bytes) {
  const int size = dtype_size(setup.output_type);
  if (size != 1 || setup.input_type == DType::kInt16 || setup.function != RealFunction::kNone ||
      !setup.requantise || setup.rescale != Rescale::kReal64) {
    for (int k = 0; k < count; ++k) {
      const std::int64_t value = post_process(sums[k], setup, parameters[k]);
      std::memcpy(bytes + std::ptrdiff_t{k} * size, &value, to_size(size));
    }
    return;
  }
  // The same with loop-invariant parts outside the loop.
  const std::uint32_t with_bias = setup.post_parameters ? UINT32_MAX : 0;
  const std::int32_t least = setup.clamp ? setup.clamp_low : INT32_MIN,
                     most = setup.clamp ? setup.clamp_high : INT32_MAX;
  const std::int64_t floor = dtype_min(setup.output_type) + setup.floor,
                     ceiling = dtype_max(setup.output_type) - setup.ceiling;
  for (int k = 0; k < count; ++k) {
    const std::uint32_t bias = static_cast<std::uint32_t>(parameters[k].bias) & with_bias;
    const auto sum = static_cast<std::int32_t>(static_cast<std::uint32_t>(sums[k]) + bias);
    const std::int64_t steps =
        rounded_product(std::clamp(sum, least, most), parameters[k].scale) + setup.output_zero_point;
    bytes[k] = static_cast<std::uint8_t>(std::min(std::max(steps, floor), ceiling));
  }
}

}  // namespace tilebeat
