#include "tilebeat/import/imported.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace tilebeat {
namespace {

constexpr double kNoNoise = 200;  // dB

/// The real numbers that the elements of a holder stand for.
std::vector<double> real_values(const Tensor& held, const SourceTensor& source) {
  std::vector<double> values(static_cast<std::size_t>(held.elements()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (held.dtype == DType::kFloat32) {
      float value = 0;
      std::memcpy(&value, &held.bytes[i * sizeof value], sizeof value);
      values[i] = static_cast<double>(value);
    } else {
      values[i] = static_cast<double>(held.at(static_cast<std::int64_t>(i)) - source.zero_point) *
                  static_cast<double>(source.scale.value_or(1));
    }
  }
  return values;
}

/// `values` of the source in the order in which the holder has them.
std::vector<double> in_held_order(const std::vector<double>& values, const SourceTensor& source) {
  if (source.axes.empty()) return values;
  const std::size_t rank = source.axes.size();
  Extents strides(rank, 1), at(rank, 0);
  for (std::size_t axis = rank; axis-- > 1;) strides[axis - 1] = strides[axis] * source.viewed[axis];
  std::vector<double> made;
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::int64_t from = 0;
    for (std::size_t k = 0; k < rank; ++k) from += at[k] * strides[static_cast<std::size_t>(source.axes[k])];
    made.push_back(values[static_cast<std::size_t>(from)]);
    for (std::size_t k = rank; k-- > 0;) {
      if (++at[k] < source.viewed[static_cast<std::size_t>(source.axes[k])]) break;
      at[k] = 0;
    }
  }
  return made;
}

}  // namespace

LayerFidelity compare_with_float(const SourceTensor& source, const Tensor& held, const Constant& real) {
  const std::vector<double> made = real_values(held, source), wanted = in_held_order(real.values(), source);
  double signal = 0, noise = 0, product = 0, power = 0;
  for (std::size_t i = 0; i < std::min(made.size(), wanted.size()); ++i) {
    signal += wanted[i] * wanted[i];
    noise += (wanted[i] - made[i]) * (wanted[i] - made[i]);
    product += wanted[i] * made[i];
    power += made[i] * made[i];
  }
  LayerFidelity found{source.holder.value_or(""), source.name, kNoNoise, 1};
  if (noise > 0) found.sqnr_db = std::min(kNoNoise, 10 * std::log10(signal / noise));
  if (signal > 0 || power > 0) found.cosine = product / std::max(std::sqrt(signal * power), 1e-300);
  return found;
}

}  // namespace tilebeat
