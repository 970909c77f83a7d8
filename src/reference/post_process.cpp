#include "post_process.h"

#include "tilebeat/base/error.h"

#include <algorithm>

#include "arithmetic.h"

namespace tilebeat {
namespace {

std::int32_t activate(const Activation& activation, std::int32_t sum) {
  switch (activation.kind) {
    case ActivationKind::kNone:
      return sum;
    case ActivationKind::kRelu:
      return std::max(sum, 0);
    case ActivationKind::kClamp:
      return std::min(std::max(sum, activation.low), activation.high);
  }
  throw SimulationError("an activation is not known");
}

}  // namespace

std::int32_t post_process(const Conv2d& conv, std::size_t channel, std::int32_t sum) {
  const std::int32_t biased = sum + (conv.bias.empty() ? 0 : conv.bias[channel]);
  const std::int32_t active = activate(conv.activation, biased);
  if (!conv.requant) return active;
  const Requant& requant = *conv.requant;
  const double scale = requant.scale.size() == 1 ? requant.scale.front() : requant.scale[channel];
  return rounded(active * scale, requant.zero_point, requant.dtype);
}

}  // namespace tilebeat
