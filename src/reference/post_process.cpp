#include "post_process.h"

#include "tilebeat/base/error.h"

#include <algorithm>
#include <cmath>

#include "arithmetic.h"
#include "runtime_arithmetic.h"

namespace tilebeat {
namespace {

std::int32_t activate(const Activation& activation, std::int32_t sum) {
  switch (activation.kind) {
    case ActivationKind::kNone:
    case ActivationKind::kFunction:
      return sum;
    case ActivationKind::kRelu:
      return std::max(sum, 0);
    case ActivationKind::kClamp:
      return std::min(std::max(sum, activation.low), activation.high);
  }
  throw SimulationError("an activation is not known");
}

// As docs/workloads.md has them.
double function_of(const Activation& activation, double v) {
  switch (activation.function) {
    case RealFunction::kNone:
      break;
    case RealFunction::kLeakyRelu:
      return v < 0 ? v * activation.slope : v;
    case RealFunction::kSigmoid:
      return 1 / (1 + std::exp(-v));
    case RealFunction::kTanh:
      return std::tanh(v);
    case RealFunction::kHardSwish:
      return v * (v <= -3 ? 0 : v >= 3 ? 6 : v + 3) / 6;
    case RealFunction::kGelu:
      return 0.5 * v * (1 + std::erf(v / std::sqrt(2.0)));
  }
  throw SimulationError("an activation is not known");
}

}  // namespace

std::int32_t post_process(const Conv2d& conv, std::size_t channel, std::int32_t sum) {
  const std::int32_t biased = sum + (conv.bias.empty() ? 0 : conv.bias[channel]);
  const std::int32_t active = activate(conv.activation, biased);
  if (!conv.requant) return active;
  const Requant& requant = *conv.requant;
  if (requant.arithmetic != Arithmetic::kExact)
    return bounded(requantised_sum(requant, channel, active), requant.dtype, requant.range);
  const double scale = requant.scale.size() == 1 ? requant.scale.front() : requant.scale[channel];
  const double v = active * scale;
  const double steps = conv.activation.kind == ActivationKind::kFunction
                           ? function_of(conv.activation, v) * conv.activation.output_scale
                           : v;
  return bounded(rounded(steps, requant.zero_point, requant.dtype), requant.dtype, requant.range);
}

}  // namespace tilebeat
