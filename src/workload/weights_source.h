#pragma once

#include "workload/tensor_source.h"
#include "workload/weight_codes.h"

#include <cstdint>
#include <optional>

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

  /// Throws UserError if a field of groups is set.
  void refuse_groups(const Place& place) const;
};
void describe(Fields& v, WeightsSpec& s);

/// Throws UserError at `place`, of the weights, for a field that weights of four bits do not have, and for
/// an element outside their range.
void check_codes(const WeightsSpec& spec, const Tensor& values, const Place& place);
/// The codes of weights with these values, in kernels of `k` weights; loads their scales and zero points.
/// Throws UserError at `place`.
WeightCodesPointer make_codes(const WeightsSpec& spec, const Tensor& values, std::int64_t k,
                              const Place& place);
/// The int8 weights of codes.
Tensor decoded_weights(const WeightCodes& codes);

}  // namespace tilebeat
