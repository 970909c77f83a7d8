#pragma once

// Random weights of four bits in place of those of a workload (SPEC DT-1).

#include "random_cases.h"
#include "workload/weights_source.h"
#include "workload/workload.h"

#include <array>
#include <string>

namespace tilebeat::testing {

/// A random form of weights of four bits: type, group, shift, scales, zero points.
inline WeightsSpec random_four_bits() {
  constexpr std::array<int, 4> kGroups{16, 32, 64, 128};
  const auto source = [] {
    SourceSpec made;
    made.random = RandomSpec{number(1, 100000), std::nullopt, std::nullopt};
    return made;
  };
  WeightsSpec spec;
  spec.source = source();
  spec.dtype = one_in(2) ? WeightType::kInt4 : WeightType::kUint4;
  if (one_in(5)) return spec;
  spec.group = kGroups.at(static_cast<std::size_t>(number(0, 3)));
  spec.shift = number(0, 7);
  spec.scales = source();
  spec.scales->random->max = one_in(3) ? 255 : 16;
  spec.scales->random->min = 0;
  if (one_in(2)) spec.zero_points = source();
  return spec;
}

/// Gives every layer with constant kernels weights of a random form of four bits, but some that stay as they
/// are. Returns how many layers got them.
inline int give_four_bits(Workload& workload) {
  int given = 0;
  for (Layer& layer : workload.layers) {
    auto* conv = std::get_if<Conv2d>(&layer.operation);
    if (conv == nullptr || conv->kernels != KernelSource::kWeights || one_in(6)) continue;
    const WeightsSpec spec = random_four_bits();
    const Place place("random weights");
    const DType stored = is_signed(*spec.dtype) ? DType::kInt8 : DType::kUint8;
    const Tensor values =
        load_tensor(spec.source, {conv->weights.shape(), stored, stored, values_of(*spec.dtype)}, place);
    const std::int64_t k = values.shape.back() * conv->kernel[0] * conv->kernel[1];
    conv->weights = four_bit_weights(spec, values, k, place);
    conv->weight_zero_point = 0;
    ++given;
  }
  return given;
}

}  // namespace tilebeat::testing
