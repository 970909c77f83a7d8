#include "workload/operators/operator.h"

#include "base/types.h"
#include "workload/npy.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace tilebeat {
namespace {

/// The least factor from one scale to another that float32 keeps.
constexpr double kLeastFactor = 1e-30;

}  // namespace

// ---- arithmetic ----

void LayerArithmetic::only_exact() const {
  if (source_.own_arithmetic.value_or(Arithmetic::kExact) != Arithmetic::kExact)
    place()
        .key("arithmetic")
        .refuse(fmt::format("\"{}\" for op {}", name(), source_.op), R"("exact", it has no other)");
}

void LayerArithmetic::only_exact(const std::optional<OutputRange>& range) const {
  only_exact();
  check_range(range);
}

bool LayerArithmetic::begin(TensorRequant& requant) const {
  check_range(requant.range);
  requant.arithmetic = arithmetic() == Arithmetic::kTflm ? Arithmetic::kFixed : arithmetic();
  if (arithmetic() == Arithmetic::kExact) return false;
  need(requant.output_scale.has_value(), place().key("requant").key("output_scale"));
  return true;
}

void LayerArithmetic::need(bool there, const Place& place) const {
  if (!there) place.fail(fmt::format("is missing, arithmetic {} needs it", name()));
}

void LayerArithmetic::need_one_shape() const {
  const TensorInfo &a = source_.inputs[0], &b = source_.inputs[1];
  if (a.shape != b.shape)
    source_.input_place(1).refuse(
        fmt::format("{} with shape {} and power_of_two_scales", shown(source_.names[1]), shape_text(b.shape)),
        fmt::format("{}, the shape of {}", shape_text(a.shape), shown(source_.names[0])));
}

void LayerArithmetic::check_shares(const TensorRequant& requant, double tolerance) const {
  constexpr double kScale = 1.0 / (1 << 15);
  if (std::abs(*requant.output_scale - kScale) > kScale * tolerance)
    place()
        .key("requant")
        .key("output_scale")
        .refuse_value(*requant.output_scale, fmt::format("{}, 2^-15, for int16", kScale));
}

void LayerArithmetic::check_factor(double factor, const Place& place, double most) const {
  if (!(factor >= kLeastFactor && factor < most))
    place.refuse(fmt::format("a factor of {} from input to output", factor),
                 fmt::format("{} to {}", kLeastFactor, most));
}

bool LayerArithmetic::of_int16() const {
  const auto wide = [](const TensorInfo& input) { return input.dtype == DType::kInt16; };
  return output_ == DType::kInt16 || std::any_of(source_.inputs.begin(), source_.inputs.end(), wide);
}

bool LayerArithmetic::of_int16_alone() const {
  const auto wide = [](const TensorInfo& input) { return input.dtype == DType::kInt16; };
  return output_ == DType::kInt16 && std::all_of(source_.inputs.begin(), source_.inputs.end(), wide);
}

void LayerArithmetic::check_int16() const {
  if (of_int16() && arithmetic() != Arithmetic::kExact && arithmetic() != Arithmetic::kFixed)
    place()
        .key("arithmetic")
        .refuse(fmt::format("\"{}\" for tensors of int16", name()), R"("exact" or "fixed")");
}

void LayerArithmetic::check_int16_alone() const {
  check_int16();
  if (!of_int16() || of_int16_alone() || arithmetic() == Arithmetic::kExact) return;
  for (std::size_t i = 0; i < source_.inputs.size(); ++i) {
    const DType type = source_.inputs[i].dtype;
    if (type != DType::kInt16)
      source_.input_place(i).refuse(
          fmt::format("{} of {} beside int16 in arithmetic fixed", shown(source_.names[i]), dtype_name(type)),
          "int16 in all tensors of the layer, or in none");
  }
  place().key("requant").key("dtype").refuse(
      fmt::format("\"{}\" for an input of int16 in arithmetic fixed", dtype_name(output_)), "\"int16\"");
}

void LayerArithmetic::check_int16_in_fixed_point() const {
  if (!of_int16()) return;
  if (arithmetic() != Arithmetic::kFixed)
    place()
        .key("arithmetic")
        .refuse(fmt::format("\"{}\" for op {} of int16", name(), source_.op),
                R"("fixed"; give the workload or layer "arithmetic": "fixed")");
  check_int16_alone();
}

void LayerArithmetic::check_range(const std::optional<OutputRange>& range) const {
  if (!range) return;
  const auto [low, high] = *range;
  if (low <= high && low >= dtype_min(output_) && high <= dtype_max(output_)) return;
  place()
      .key("output_range")
      .refuse(fmt::format("[{}, {}]", low, high),
              fmt::format("[low, high] with low <= high, both from {} to {}", dtype_min(output_),
                          dtype_max(output_)));
}

// ---- fields ----

void describe(Fields& v, TensorRequant& r) {
  std::optional<double> scale;
  v.optional_number("scale", scale, kPositiveScale,
                    "factor from real value to output; without it 1 / output_scale");
  v.integer("zero_point", r.zero_point, kZeroPoint, "added after scaling, within the type's range");
  v.special("dtype", QuantisedTypeValue{r.dtype}, "type of the output");
  v.optional_number("output_scale", r.output_scale, kPositiveScale, "real value of one step of the output");
  v.one_or_all("scale", {"output_scale"});
  if (v.reading()) r.scale = scale ? *scale : 1 / *r.output_scale;
}

void describe_range(Fields& v, std::optional<OutputRange>& range) {
  v.optional_integers("output_range", range, {INT16_MIN, INT16_MAX},
                      "[low, high] in elements of the output: the result is kept within, at the very end");
}

void describe_requant(Fields& v, TensorRequant& r) {
  v.required().object("requant", r, "saturate(round_half_even(value * scale) + zero_point)");
  describe_range(v, r.range);
}

void describe_input_scale(Fields& v, double& scale) {
  v.required().number("input_scale", scale, kPositiveScale, "real value of one step of the input");
}

// ---- checks and shapes ----

int axis_of(int axis, std::size_t rank, const Place& place) {
  const int size = to_int(rank), from_start = axis < 0 ? axis + size : axis;
  if (from_start < 0 || from_start >= size)
    place.refuse_value(axis, fmt::format("{} to {}, an axis of {}", -size, size - 1, size));
  return from_start;
}

void check_zero_point(std::int32_t zero_point, DType dtype, const Place& place) {
  if (dtype == DType::kInt16 && zero_point != 0) place.refuse_value(zero_point, "0, the zero point of int16");
  if (zero_point < dtype_min(dtype) || zero_point > dtype_max(dtype)) {
    place.refuse_value(zero_point, fmt::format("{} to {}, the range of {}", dtype_min(dtype),
                                               dtype_max(dtype), dtype_name(dtype)));
  }
}

std::vector<double> one_a_channel(const std::vector<double>& values, std::int64_t channels,
                                  const LayerSource& source, const char* key) {
  if (values.size() == 1) return std::vector<double>(to_size(channels), values.front());
  if (values.size() != to_size(channels)) {
    source.place.key(key).refuse(fmt::format("a list of {} entries", values.size()),
                                 fmt::format("a number or a list of {} entries, the channels", channels));
  }
  return values;
}

TensorInfo requantised(const std::vector<std::int64_t>& shape, const TensorRequant& requant,
                       const LayerSource& source) {
  const Place place = source.place.key("requant");
  if (requant.dtype == DType::kInt16 && !source.knows_int16)
    place.key("dtype").refuse(fmt::format("\"int16\" for op {}", source.op), R"("int8" or "uint8")");
  check_zero_point(requant.zero_point, requant.dtype, place.key("zero_point"));
  return {shape, requant.dtype, requant.zero_point};
}

std::int64_t output_pixels(const WindowShape& window, const std::vector<std::int64_t>& shape,
                           std::size_t axis, const Place& place) {
  const std::int64_t padded = shape[1 + axis] + window.pads[axis] + window.pads[axis + 2];
  const std::int64_t extent = window.extent(axis);
  if (extent > padded) {
    place.key("kernel").item(axis).refuse(fmt::format("{} with dilation {}, a window of {},",
                                                      window.kernel[axis], window.dilation[axis], extent),
                                          fmt::format("a window that fits the padded map of {}", padded));
  }
  return (padded - extent) / window.stride[axis] + 1;
}

}  // namespace tilebeat
