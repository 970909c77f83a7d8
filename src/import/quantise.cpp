#include "quantise.h"

#include <algorithm>
#include <cmath>

namespace tilebeat {
namespace {

constexpr double kLeast = -128, kMost = 127;
constexpr float kSmallestScale = 1e-12F;

/// Elements behind each index of `axis`.
std::size_t inner_of(const Extents& shape, std::int64_t axis) {
  std::size_t inner = 1;
  for (std::size_t i = static_cast<std::size_t>(axis) + 1; i < shape.size(); ++i)
    inner *= static_cast<std::size_t>(shape[i]);
  return inner;
}

}  // namespace

Quantisation range_between(double low, double high) {
  low = std::min(low, 0.0), high = std::max(high, 0.0);
  const float scale = std::max(static_cast<float>((high - low) / (kMost - kLeast)), kSmallestScale);
  const double zero = std::nearbyint(kLeast - low / static_cast<double>(scale));
  return {{scale}, {static_cast<std::int64_t>(std::clamp(zero, kLeast, kMost))}, 0};
}

Quantisation range_of(const std::vector<double>& values) {
  double low = 0, high = 0;
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    low = std::min(low, value), high = std::max(high, value);
  }
  return range_between(low, high);
}

Quantisation weight_scales(const Constant& weights, std::int64_t axis) {
  const bool whole = axis < 0 || weights.shape.empty();
  const std::size_t count =
      whole ? 1 : static_cast<std::size_t>(weights.shape[static_cast<std::size_t>(axis)]);
  const std::vector<double> values = weights.values();
  const std::size_t inner = whole ? std::max<std::size_t>(1, values.size()) : inner_of(weights.shape, axis);
  std::vector<double> most(count, 0);
  for (std::size_t i = 0; i < values.size(); ++i) {
    double& greatest = most[i / inner % count];
    if (std::isfinite(values[i])) greatest = std::max(greatest, std::abs(values[i]));
  }
  Quantisation made;
  made.axis = whole ? 0 : axis;
  for (const double greatest : most)
    made.scales.push_back(std::max(static_cast<float>(greatest / kMost), kSmallestScale));
  made.zero_points.assign(count, 0);
  return made;
}

Constant quantised_constant(const Constant& real, const Quantisation& quantisation) {
  std::vector<double> values = real.values();
  const std::size_t count = quantisation.scales.size();
  const std::size_t inner =
      count == 1 ? std::max<std::size_t>(1, values.size()) : inner_of(real.shape, quantisation.axis);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t c = i / inner % count;
    values[i] = std::nearbyint(values[i] / static_cast<double>(quantisation.scales[c])) +
                static_cast<double>(quantisation.zero_points[c]);
  }
  return make_constant(ElementType::kInt8, real.shape, values);
}

}  // namespace tilebeat
