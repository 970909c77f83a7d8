#include "import/four_bits.h"

#include "base/types.h"
#include "workload/weights.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace tilebeat {
namespace {

constexpr int kLeastCode = -8, kMostCode = 7;
// Scales of up to 127 / 7 steps of int8 a step of int4, in eighths.
constexpr int kShift = 3;
constexpr int kMostScale = 255;

// Scale and zero point of a group.
struct Step {
  int scale = 0, zero_point = 0;
};

int decoded(int code, const Step& step) {
  const auto packed = static_cast<std::uint8_t>((code & 15) | (step.zero_point & 15) << 4);
  return decoded_weight(packed, static_cast<std::uint8_t>(step.scale), kShift, true);
}

// The code with the nearest weight, and its squared difference.
struct Nearest {
  int code = 0;
  std::int64_t error = 0;
};
Nearest nearest(int weight, const Step& step) {
  const double steps = step.scale == 0 ? 0 : weight * double{1 << kShift} / step.scale;
  const int middle = static_cast<int>(std::lround(std::clamp(steps, -32.0, 32.0))) + step.zero_point;
  Nearest best{0, std::numeric_limits<std::int64_t>::max()};
  for (int near = middle - 1; near <= middle + 1; ++near) {
    const int code = std::clamp(near, kLeastCode, kMostCode);
    const std::int64_t difference = decoded(code, step) - weight;
    if (difference * difference < best.error) best = {code, difference * difference};
  }
  return best;
}

// Finds the step of a group with the least sum of squared differences.
class StepSearch {
 public:
  explicit StepSearch(const std::vector<int>& weights) : weights_(weights) {}

  // Of steps whose zero point is 0. Below half of the scale that reaches the greatest weight, what is cut off
  // costs more than small steps give.
  Step symmetric() {
    int most = 0;
    for (const int weight : weights_) most = std::max(most, std::abs(weight));
    const int widest = std::min(kMostScale, (most << kShift) / kMostCode + 1);
    for (int scale = widest; scale >= std::max(1, widest / 2 - 1) && least_ > 0; --scale)
      consider({scale, 0});
    return best_;
  }
  // Of all steps whose codes reach from the least to the greatest weight, or nearly.
  Step any() {
    const auto [low, high] = std::minmax_element(weights_.begin(), weights_.end());
    const int least = std::min(*low, 0), span = std::max(*high, 0) - least;
    const int widest = std::min(kMostScale, (span << kShift) / (kMostCode - kLeastCode) + 1);
    for (int scale = widest; scale >= std::max(1, widest / 2 - 1) && least_ > 0; --scale) {
      const int zero = kLeastCode - static_cast<int>(std::lround(least * double{1 << kShift} / scale));
      for (int z = zero - 1; z <= zero + 1; ++z) consider({scale, std::clamp(z, kLeastCode, kMostCode)});
    }
    return best_;
  }

 private:
  void consider(const Step& step) {
    std::int64_t error = 0;
    for (std::size_t i = 0; i < weights_.size() && error < least_; ++i)
      error += nearest(weights_[i], step).error;
    if (error < least_) least_ = error, best_ = step;
  }

  const std::vector<int>& weights_;
  Step best_;
  std::int64_t least_ = std::numeric_limits<std::int64_t>::max();
};

}  // namespace

FourBitKernels four_bit_kernels(const Constant& weights, KernelAxes axes, const FourBitForm& wish) {
  const Extents& shape = weights.shape;
  const bool last = axes == KernelAxes::kKernelsLast;
  const std::int64_t n = last ? shape.back() : 1;  // distance of neighbours along K
  const std::int64_t k = last ? nth(shape, ssize(shape) - 2) : weights.elements() / shape.front();
  const std::int64_t kernels = weights.elements() / k, groups = ceil_div<std::int64_t>(k, wish.group);
  const std::vector<std::uint8_t> one_a_group(to_size(kernels * groups));
  FourBitKernels made;
  made.shift = kShift;
  made.codes = {ElementType::kInt8, shape, weights.bytes};
  made.scales = {ElementType::kUint8, {kernels, groups}, one_a_group};
  if (wish.zero_points) made.zero_points = Constant{ElementType::kInt8, {kernels, groups}, one_a_group};
  for (std::int64_t kernel = 0; kernel < kernels; ++kernel) {
    const std::int64_t first = last ? kernel / n * n * k + kernel % n : kernel * k;
    for (std::int64_t g = 0; g < groups; ++g) {
      const std::int64_t begin = g * wish.group, end = std::min(k, begin + wish.group);
      std::vector<int> values;
      for (std::int64_t i = begin; i < end; ++i)
        values.push_back(static_cast<std::int8_t>(nth(weights.bytes, first + i * n)));
      StepSearch search(values);
      const Step step = wish.zero_points ? search.any() : search.symmetric();
      nth(made.scales.bytes, kernel * groups + g) = static_cast<std::uint8_t>(step.scale);
      if (made.zero_points)
        nth(made.zero_points->bytes, kernel * groups + g) = static_cast<std::uint8_t>(step.zero_point);
      for (std::int64_t i = begin; i < end; ++i)
        nth(made.codes.bytes, first + i * n) =
            static_cast<std::uint8_t>(nearest(nth(values, i - begin), step).code);
    }
  }
  return made;
}

bool as_four_bits(const Constant& weights) {
  const bool is_signed = weights.type == ElementType::kInt8;
  return std::all_of(weights.bytes.begin(), weights.bytes.end(), [&](std::uint8_t byte) {
    const int weight = is_signed ? static_cast<std::int8_t>(byte) : byte;
    return is_signed ? weight >= kLeastCode && weight <= kMostCode : weight <= kMostCode - kLeastCode;
  });
}

}  // namespace tilebeat
