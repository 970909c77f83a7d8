#include "base/numerics.h"

#include <algorithm>
#include <cmath>

namespace tilebeat {
namespace {

constexpr double kSqrt2 = 1.4142135623730951;

}  // namespace

double apply(RealFunction function, double v, double slope) {
  switch (function) {
    case RealFunction::kNone:
      break;
    case RealFunction::kLeakyRelu:
      return v >= 0.0 ? v : v * slope;
    case RealFunction::kSigmoid:
      return 1.0 / (1.0 + std::exp(-v));
    case RealFunction::kTanh:
      return std::tanh(v);
    case RealFunction::kHardSwish:
      return v * std::min(std::max(v + 3.0, 0.0), 6.0) / 6.0;
    case RealFunction::kGelu:
      return 0.5 * v * (1.0 + std::erf(v / kSqrt2));
  }
  return v;
}

}  // namespace tilebeat
