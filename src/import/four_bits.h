#pragma once

#include "import/graph.h"

#include <cstdint>
#include <optional>

namespace tilebeat {

/// The axis order of kernels: one kernel after the other, or [..., K, kernels] as of a product.
enum class KernelAxes : std::uint8_t { kKernelsFirst, kKernelsLast };

/// Weights of four bits that stand for int8 weights (SPEC DT-1).
struct FourBitKernels {
  Constant codes;                       ///< the kernels' shape, int8
  Constant scales;                      ///< uint8 [kernels, groups of a kernel]
  std::optional<Constant> zero_points;  ///< int8, likewise
  int shift = 0;
};

/// The weights of int4, in the groups that `wish` says, that are nearest to int8 weights without zero point:
/// every group has the scale and zero point with the least sum of squared differences.
FourBitKernels four_bit_kernels(const Constant& weights, KernelAxes axes, const FourBitForm& wish);
/// Whether all int8 weights are int4 as well, or all uint8 weights uint4.
bool as_four_bits(const Constant& weights);
/// The greatest int4 that stands for a weight of a channel with one scale.
constexpr double kMostInt4 = 7;

}  // namespace tilebeat
