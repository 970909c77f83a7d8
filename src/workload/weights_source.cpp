#include "workload/weights_source.h"

#include "base/types.h"
#include "workload/workload_values.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace tilebeat {
namespace {

constexpr std::array<std::string_view, 4> kWeightTypeNames{"int8", "uint8", "int4", "uint4"};
// The products of random codes and scales fill the range of int8.
constexpr Range kRandomScales{1, 16};

std::int64_t value_at(const Tensor& values, std::int64_t index) {
  const std::uint8_t byte = nth(values.bytes, index);
  return values.dtype == DType::kInt8 ? static_cast<std::int8_t>(byte) : byte;
}

void check_values(WeightType type, const Tensor& values, const Place& place) {
  const Range range = values_of(type);
  for (std::int64_t i = 0; i < values.elements(); ++i) {
    const std::int64_t value = value_at(values, i);
    if (value < range.low || value > range.high)
      place.refuse(
          fmt::format("element {} with value {}", i, value),
          fmt::format("{} to {}, the range of {}", range.low, range.high, nth(kWeightTypeNames, type)));
  }
}

// One value a group, [kernels, groups of a kernel].
struct GroupValues {
  std::vector<std::uint8_t> scales, zero_points;
};

GroupValues load_groups(const WeightsSpec& spec, std::int64_t kernels, std::int64_t groups,
                        const Place& place) {
  const std::vector<std::int64_t> shape{kernels, groups};
  const WeightType type = *spec.dtype;
  GroupValues made;
  made.scales =
      load_tensor(*spec.scales, {shape, DType::kUint8, DType::kUint8, kRandomScales}, place.key("scales"))
          .bytes;
  made.zero_points.assign(to_size(kernels * groups),
                          static_cast<std::uint8_t>(default_zero_point(is_signed(type))));
  if (spec.zero_points) {
    const DType stored = is_signed(type) ? DType::kInt8 : DType::kUint8;
    const Tensor tensor =
        load_tensor(*spec.zero_points, {shape, stored, stored, values_of(type)}, place.key("zero_points"));
    check_values(type, tensor, place.key("zero_points"));
    made.zero_points = tensor.bytes;
  }
  return made;
}

}  // namespace

void describe(Fields& v, WeightsSpec& s) {
  v.optional_choice(
      "dtype", s.dtype, kWeightTypeNames,
      "type of the elements; without it the file's, int8 for random. Files hold int4 in elements of "
      "int8, uint4 in those of uint8");
  v.integer("zero_point", s.zero_point, kZeroPoint,
            "element of int8 or uint8 that stands for 0, within the type's range");
  v.optional_integer(
      "group", s.group, {kWeightGroups.front(), kWeightGroups.back()},
      "int4, uint4: 16, 32, 64 or 128 neighbouring weights of a kernel, in the order of K, have a scale "
      "of their own; without it all have scale 1");
  v.integer("shift", s.shift, {0, 7},
            "of groups: int8 weight = saturate(((w - zero point) * scale + half) >> shift)");
  v.optional_object("scales", s.scales, "of groups: uint8 [kernels, groups of a kernel]");
  v.optional_object(
      "zero_points", s.zero_points,
      "of groups: [kernels, groups of a kernel], of the weights' type; without it 0 for int4, 8 for uint4");
  describe(v, s.source);
}

void WeightsSpec::refuse_groups(const Place& place) const {
  const char* why = "nothing: only weights of int4 or uint4 have groups";
  if (group) place.key("group").refuse_value(*group, why);
  if (shift != 0) place.key("shift").refuse_value(shift, why);
  if (scales) place.key("scales").refuse("scales of groups", why);
  if (zero_points) place.key("zero_points").refuse("zero points of groups", why);
}

void check_codes(const WeightsSpec& spec, const Tensor& values, const Place& place) {
  if (spec.zero_point != 0)
    place.key("zero_point")
        .refuse_value(spec.zero_point, "nothing: the zero points of int4 and uint4 stand in zero_points");
  if (!spec.group) {
    const char* why = "nothing without group";
    if (spec.shift != 0) place.key("shift").refuse_value(spec.shift, why);
    if (spec.scales) place.key("scales").refuse("scales of groups", why);
    if (spec.zero_points) place.key("zero_points").refuse("zero points of groups", why);
  } else {
    if (std::count(kWeightGroups.begin(), kWeightGroups.end(), *spec.group) == 0)
      place.key("group").refuse_value(*spec.group, "16, 32, 64 or 128");
    if (!spec.scales) place.key("scales").fail("is missing: every group has a scale");
  }
  check_values(*spec.dtype, values, spec.source.file ? place.key("file") : place.key("random"));
}

WeightCodesPointer make_codes(const WeightsSpec& spec, const Tensor& values, std::int64_t k,
                              const Place& place) {
  auto made = std::make_shared<WeightCodes>();
  made->group = spec.group.value_or(0), made->shift = spec.shift;
  made->is_signed = is_signed(*spec.dtype), made->has_zero_points = spec.zero_points.has_value();
  const std::int64_t kernels = values.elements() / k, group = spec.group ? *spec.group : k;
  const std::int64_t groups = ceil_div(k, group);
  GroupValues of;
  if (spec.group) {
    of = load_groups(spec, kernels, groups, place);
  } else {
    of.scales.assign(to_size(kernels), 1);
    of.zero_points.assign(to_size(kernels), static_cast<std::uint8_t>(default_zero_point(made->is_signed)));
  }
  made->codes = made->scales = {values.shape, DType::kUint8, values.bytes};
  for (std::int64_t kernel = 0; kernel < kernels; ++kernel) {
    for (std::int64_t i = 0; i < k; ++i) {
      const std::int64_t weight = kernel * k + i, number = kernel * groups + i / group;
      const int zero = nth(of.zero_points, number) & 15;
      nth(made->codes.bytes, weight) =
          static_cast<std::uint8_t>((nth(values.bytes, weight) & 15) | zero << 4);
      nth(made->scales.bytes, weight) = nth(of.scales, number);
    }
  }
  return made;
}

Tensor decoded_weights(const WeightCodes& codes) {
  Tensor made{codes.codes.shape, DType::kInt8, codes.codes.bytes};
  for (std::size_t i = 0; i < made.bytes.size(); ++i)
    made.bytes[i] = static_cast<std::uint8_t>(
        decoded_weight(codes.codes.bytes[i], codes.scales.bytes[i], codes.shift, codes.is_signed));
  return made;
}

}  // namespace tilebeat
