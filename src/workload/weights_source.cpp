#include "workload/weights_source.h"

#include "base/types.h"
#include "workload/workload_values.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

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

void WeightsSpec::check_fields(const Place& place) const {
  const auto refuse_groups = [&](const char* why) {
    if (shift != 0) place.key("shift").refuse_value(shift, why);
    if (scales) place.key("scales").refuse("scales of groups", why);
    if (zero_points) place.key("zero_points").refuse("zero points of groups", why);
  };
  if (!in_four_bits()) {
    const char* why = "nothing: only weights of int4 or uint4 have groups";
    if (group) place.key("group").refuse_value(*group, why);
    return refuse_groups(why);
  }
  if (zero_point != 0)
    place.key("zero_point")
        .refuse_value(zero_point, "nothing: the zero points of int4 and uint4 stand in zero_points");
  if (!group) return refuse_groups("nothing without group");
  if (std::count(kWeightGroups.begin(), kWeightGroups.end(), *group) == 0)
    place.key("group").refuse_value(*group, "16, 32, 64 or 128");
  if (!scales) place.key("scales").fail("is missing: every group has a scale");
}

std::string WeightsSpec::text(const std::vector<std::int64_t>& shape) const {
  const auto text_of = [](const std::optional<SourceSpec>& of) {
    if (!of) return std::string();
    if (of->file) return fmt::format("{} bytes: {}", of->file->size(), *of->file);
    const RandomSpec& random = *of->random;
    return fmt::format("seed {}, {} to {}", random.seed, random.min.value_or(INT64_MIN),
                       random.max.value_or(INT64_MAX));
  };
  std::string made =
      fmt::format("{}, {}, type {}", text_of(source), fmt::join(shape, " x "), dtype ? to_int(*dtype) : -1);
  if (!in_four_bits()) return made;
  return made + fmt::format(", group {}, shift {}, {}, {}", group.value_or(0), shift, text_of(scales),
                            text_of(zero_points));
}

void check_codes(const WeightsSpec& spec, const Tensor& values, const Place& place) {
  check_values(*spec.dtype, values, spec.source.file ? place.key("file") : place.key("random"));
}

Weights four_bit_weights(const WeightsSpec& spec, const Tensor& values, std::int64_t k, const Place& place,
                         std::string name) {
  const FourBits form{spec.group.value_or(0), spec.shift, is_signed(*spec.dtype),
                      spec.zero_points.has_value()};
  PackedCodes packed{values.shape, k, {}, {}, {}};
  const std::int64_t kernels = values.elements() / k,
                     groups = spec.group ? ceil_div<std::int64_t>(k, *spec.group) : 1;
  if (spec.group) {
    GroupValues of = load_groups(spec, kernels, groups, place);
    packed.scales = std::move(of.scales), packed.zero_points = std::move(of.zero_points);
    for (std::uint8_t& zero : packed.zero_points) zero &= 15;
  } else {
    packed.scales.assign(to_size(kernels), 1);
    packed.zero_points.assign(to_size(kernels),
                              static_cast<std::uint8_t>(default_zero_point(form.is_signed)));
  }
  packed.halves.assign(to_size(ceil_div<std::int64_t>(values.elements(), 2)), 0);
  for (std::size_t i = 0; i < values.bytes.size(); ++i)
    packed.halves[i / 2] |= static_cast<std::uint8_t>((values.bytes[i] & 15) << (i % 2 == 0 ? 0 : 4));
  return {form, std::move(packed), std::move(name)};
}

}  // namespace tilebeat
