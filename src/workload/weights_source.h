#pragma once

#include "workload/tensor_source.h"
#include "workload/weights.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tilebeat {

/// Types of stored weights (SPEC NU-1, DT-1).
enum class WeightType : std::uint8_t { kInt8, kUint8, kInt4, kUint4 };
constexpr bool has_four_bits(WeightType type) {
  return type == WeightType::kInt4 || type == WeightType::kUint4;
}
constexpr bool is_signed(WeightType type) {
  return type == WeightType::kInt8 || type == WeightType::kInt4;
}
/// The values of a type of four bits.
constexpr Range values_of(WeightType type) {
  return type == WeightType::kInt4 ? Range{-8, 7} : Range{0, 15};
}

/// The weights of a layer, as a workload file names them.
struct WeightsSpec {
  SourceSpec source;
  std::optional<WeightType> dtype;
  std::int32_t zero_point = 0;  ///< of int8 and uint8
  // of int4 and uint4
  std::optional<int> group;
  int shift = 0;
  std::optional<SourceSpec> scales, zero_points;

  bool in_four_bits() const { return has_four_bits(dtype.value_or(WeightType::kInt8)); }
  /// Throws UserError at `place`, of the weights, for a field that weights of this type do not have.
  void check_fields(const Place& place) const;
  /// Names the weights: specifications with the same text read the same bytes. `shape`: of the tensor in the
  /// file.
  std::string text(const std::vector<std::int64_t>& shape) const;
};
void describe(Fields& v, WeightsSpec& s);

/// Throws UserError at `place`, of the weights, for a value outside the range of their four bits.
void check_codes(const WeightsSpec& spec, const Tensor& values, const Place& place);
/// Weights of four bits with these values, in kernels of `k` weights; loads their scales and zero points.
/// Throws UserError at `place`, of the weights.
Weights four_bit_weights(const WeightsSpec& spec, const Tensor& values, std::int64_t k, const Place& place,
                         std::string name = {});

}  // namespace tilebeat
