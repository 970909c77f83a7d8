#pragma once

#include "tilebeat/base/numerics.h"
#include "tilebeat/base/real_function.h"
#include "tilebeat/isa/instruction.h"

#include <algorithm>
#include <cstdint>

namespace tilebeat {

/// What a result becomes on its way out of a matrix unit (SPEC NU-2): bias, clamp or relu, requantisation,
/// with a function of the real value in between. The bias wraps like the adder; a workload that was checked
/// cannot reach that (SPEC NU-3).
inline std::int32_t post_process(std::int32_t sum, const ConvSetup& setup, const PostParameter& parameter) {
  std::int32_t value = sum;
  if (setup.post_parameters) {
    value = static_cast<std::int32_t>(static_cast<std::uint32_t>(value) +
                                      static_cast<std::uint32_t>(parameter.bias));
  }
  if (setup.clamp) value = std::clamp(value, setup.clamp_low, setup.clamp_high);
  if (setup.function != RealFunction::kNone) {
    const double real = apply(setup.function, value * parameter.scale, setup.slope);
    return requantize_real(real, setup.output_scale, setup.output_zero_point, setup.output_type);
  }
  if (setup.requantise)
    value = requantize(value, parameter.scale, setup.output_zero_point, setup.output_type);
  return value;
}

}  // namespace tilebeat
