#pragma once

#include "workload/tensor.h"

#include <array>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace tilebeat {

/// Weights of four bits and what makes int8 weights of them (SPEC DT-1): of code w4 with zero point z and
/// scale s, w8 = clamp(((w4 - z) * s + r) >> shift, -128, 127), r = 2^(shift - 1), or 0 where shift is 0.
/// Scales and zero points belong to groups of neighbouring weights along k of one kernel; they are repeated
/// here for each weight. Both tensors have the shape of the int8 weights. A code, scale and zero point of 0
/// stand for a weight of 0 wherever weights are filled up.
struct WeightCodes {
  Tensor codes;   ///< bits 0 to 3: w4, in two's complement if `is_signed`; bits 4 to 7: z
  Tensor scales;  ///< unsigned
  int group = 0;  ///< weights that share a scale; 0: all, whose scale is 1
  int shift = 0;
  bool is_signed = true;
  bool has_zero_points = false;  ///< whether zero points differ from group to group
};
/// The sizes that groups can have.
constexpr std::array<int, 4> kWeightGroups{16, 32, 64, 128};
using WeightCodesPointer = std::shared_ptr<const WeightCodes>;

/// The int8 weight of a code with its zero point, as in WeightCodes::codes.
std::int8_t decoded_weight(std::uint8_t code, std::uint8_t scale, int shift, bool is_signed);
/// The zero point that the weights have where none is given: 0 of int4, 8 of uint4.
constexpr int default_zero_point(bool is_signed) {
  return is_signed ? 0 : 8;
}

/// The least bytes in which weights, with their codes if there are any, can be stored.
inline std::int64_t least_bytes(const Tensor& weights, const WeightCodesPointer& codes) {
  return codes == nullptr ? weights.elements() : (weights.elements() + 1) / 2;
}

/// Codes whose tensors are made by `map` from those of `codes`, as weights are moved or cut; null for null.
template <class Map>
WeightCodesPointer mapped_codes(const WeightCodesPointer& codes, const Map& map) {
  if (codes == nullptr) return nullptr;
  auto made =
      std::make_shared<WeightCodes>(WeightCodes{map(codes->codes), map(codes->scales), codes->group,
                                                codes->shift, codes->is_signed, codes->has_zero_points});
  return made;
}

}  // namespace tilebeat
