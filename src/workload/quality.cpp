#include "tilebeat/workload/quality.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace tilebeat {
namespace {

constexpr double kNoNoise = 200;  // dB

double real(const Tensor& tensor, std::int64_t i) {
  float value = 0;
  std::memcpy(&value, &tensor.bytes[static_cast<std::size_t>(i) * sizeof value], sizeof value);
  return static_cast<double>(value);
}

}  // namespace

Quality quality_of(const Tensor& made, const FloatReference& reference) {
  double signal = 0, noise = 0, product = 0, power = 0;
  const std::int64_t count = std::min(made.elements(), reference.values.elements());
  for (std::int64_t i = 0; i < count; ++i) {
    const double wanted = real(reference.values, i);
    const double got = made.dtype == DType::kFloat32
                           ? real(made, i)
                           : static_cast<double>(made.at(i) - reference.zero_point) * reference.scale;
    signal += wanted * wanted, noise += (wanted - got) * (wanted - got);
    product += wanted * got, power += got * got;
  }
  Quality found{kNoNoise, 1};
  if (noise > 0) found.sqnr_db = std::clamp(10 * std::log10(signal / noise), -kNoNoise, kNoNoise);
  if (signal > 0 || power > 0) found.cosine = product / std::max(std::sqrt(signal * power), 1e-300);
  return found;
}

}  // namespace tilebeat
