#pragma once

#include "workload/tensor.h"

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tilebeat {

/// How weights of four bits are stored (SPEC DT-1): of code w4 with zero point z and scale s, w8 = clamp(((w4
/// - z) * s + r) >> shift, -128, 127), r = 2^(shift - 1), or 0 where shift is 0. Scales and zero points
/// belong to groups of neighbouring weights along k of one kernel.
struct FourBits {
  int group = 0;  ///< weights that share a scale; 0: all of a kernel, whose scale is 1
  int shift = 0;
  bool is_signed = true;         ///< whether codes and zero points are in two's complement
  bool has_zero_points = false;  ///< whether zero points differ from group to group
};
/// The sizes that groups can have.
constexpr std::array<int, 4> kWeightGroups{16, 32, 64, 128};

/// The codes of weights, with scales and zero points repeated for each weight. Both tensors have the shape of
/// the int8 weights. A code, scale and zero point of 0 stand for a weight of 0 wherever weights are filled
/// up.
struct WeightCodes {
  Tensor codes;   ///< bits 0 to 3: w4; bits 4 to 7: z
  Tensor scales;  ///< unsigned
};

/// Codes as they are kept: kernels of `k` weights one after the other.
struct PackedCodes {
  std::vector<std::int64_t> shape;        ///< of the weights
  std::int64_t k = 1;                     ///< weights of a kernel
  std::vector<std::uint8_t> halves;       ///< w4 of two weights a byte, the first one in the low half
  std::vector<std::uint8_t> scales;       ///< [kernels, groups of a kernel]
  std::vector<std::uint8_t> zero_points;  ///< likewise, bits 0 to 3
};

/// The int8 weight of a code with its zero point, as in WeightCodes::codes.
std::int8_t decoded_weight(std::uint8_t code, std::uint8_t scale, int shift, bool is_signed);
/// The same of all codes, by 256 * scale + code.
using DecodedWeights = std::array<std::uint8_t, 65536>;
const DecodedWeights& decoded_weights(int shift, bool is_signed);
/// The zero point that the weights have where none is given: 0 of int4, 8 of uint4.
constexpr int default_zero_point(bool is_signed) {
  return is_signed ? 0 : 8;
}

/// Constant weights of a layer, int8 or made of codes of four bits. Copies share what they hold. int8 weights
/// that are made of codes exist as long as somebody holds them, and so do codes in whole bytes: whoever asks
/// for either again and again should hold them meanwhile.
class Weights {
 public:
  using Shape = std::vector<std::int64_t>;

  Weights() = default;  ///< none
  /// int8 weights. `name`: int8 weights with the same name may be the same, weights of four bits are; an
  /// empty name says nothing.
  Weights(Tensor weights,  // NOLINT(google-explicit-constructor): a tensor is its own weights
          std::string name = {});
  Weights(FourBits form, PackedCodes codes, std::string name = {});

  const Shape& shape() const;
  std::int64_t elements() const;
  const std::string& name() const;
  /// Null: they are stored as int8.
  const FourBits* four_bits() const;
  /// The least bytes in which they can be stored.
  std::int64_t least_bytes() const { return four_bits() == nullptr ? elements() : (elements() + 1) / 2; }

  std::shared_ptr<const Tensor> int8() const;
  /// Null where they are stored as int8.
  std::shared_ptr<const WeightCodes> codes() const;
  /// For each weight of four bits 1 + the number of its group, of kernel after kernel, modulo 2^24 - 1: the
  /// bytes, the lowest first, each as a tensor of the weights' shape; 0 where weights are filled up.
  std::array<Tensor, 3> groups() const;
  /// For each kernel of `per_kernel` weights in turn the sum of |w - zero_point|.
  const std::vector<std::int64_t>& kernel_sizes(std::int64_t per_kernel, std::int32_t zero_point) const;

  /// Weights whose tensors `map` makes from the tensors of these, as weights are moved or cut. `how` names
  /// what it does.
  using Map = std::function<Tensor(const Tensor&)>;
  Weights mapped(Shape shape, const std::string& how, Map map) const;

 private:
  struct Stored;
  std::shared_ptr<const Stored> stored_;
};

}  // namespace tilebeat
