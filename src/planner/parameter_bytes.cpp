#include "parameter_bytes.h"

#include "tilebeat/base/fixed_point.h"

#include <algorithm>
#include <cmath>

#include "function_table.h"

namespace tilebeat {
namespace {

using Bytes = std::vector<std::uint8_t>;

void append_factor(const FixedFactor& factor, Bytes& bytes) {
  append(factor.multiplier, bytes), append(factor.shift, bytes);
}
// A float takes the place of a factor.
void append_real(float value, Bytes& bytes) {
  append(value, bytes), append(std::int32_t{0}, bytes);
}

Bytes float_parameters(const Elementwise& e) {
  const auto sa = static_cast<float>(e.input_scales[0]), sb = static_cast<float>(e.input_scales[1]),
             sy = static_cast<float>(*e.requant.output_scale);
  Bytes bytes;
  if (e.kind == Elementwise::Kind::kMul) {
    const float product = sa * sb;
    append_factor({}, bytes), append_factor({}, bytes);
    append_real(product / sy, bytes);
    return bytes;
  }
  constexpr int kMultiplierBits = 20;
  const float a = sa / sy, b = sb / sy;
  const int shift = kMultiplierBits - std::ilogb(std::max(a, b));
  for (const float ratio : {a, b})
    append_factor({static_cast<std::int32_t>(std::lrint(std::ldexp(double{ratio}, shift))), 0}, bytes);
  append_factor({shift, 0}, bytes);
  return bytes;
}

Bytes ort_parameters(const Elementwise& e) {
  Bytes bytes;
  for (const double scale : {e.input_scales[0], e.input_scales[1], *e.requant.output_scale})
    append_real(static_cast<float>(scale), bytes);
  return bytes;
}

Bytes fixed_parameters(const Elementwise& e) {
  const double sa = static_cast<float>(e.input_scales[0]), sb = static_cast<float>(e.input_scales[1]),
               sy = static_cast<float>(*e.requant.output_scale);
  Bytes bytes;
  if (e.kind == Elementwise::Kind::kMul) {
    append_factor({}, bytes), append_factor({}, bytes);
    append_factor(fixed_factor(sa * sb / sy), bytes);
    return bytes;
  }
  constexpr double kHead = 1 << 20;
  const double common = 2 * std::max(sa, sb);
  append_factor(fixed_factor(sa / common), bytes), append_factor(fixed_factor(sb / common), bytes);
  append_factor(fixed_factor(common / (kHead * sy)), bytes);
  return bytes;
}

}  // namespace

Bytes elementwise_parameters(const Elementwise& operation) {
  switch (operation.requant.arithmetic) {
    case Arithmetic::kExact:
      break;
    case Arithmetic::kFloat32:
      return float_parameters(operation);
    case Arithmetic::kFloat32Ort:
      return ort_parameters(operation);
    case Arithmetic::kFixed:
      return fixed_parameters(operation);
  }
  Bytes bytes;
  for (const double scale : operation.input_scales) append(scale, bytes);
  append(operation.requant.scale, bytes);
  return bytes;
}

Bytes softmax_parameters(const Softmax& operation, std::int64_t channels) {
  Bytes bytes;
  if (operation.requant.arithmetic == Arithmetic::kExact) {
    for (const std::int64_t e : softmax_table(operation)) append(e, bytes);
    append(operation.requant.scale, bytes);
    return bytes;
  }
  for (const float e : real_softmax_table(operation, channels)) append(e, bytes);
  const auto step = static_cast<float>(*operation.requant.output_scale);
  const bool ort = operation.requant.arithmetic == Arithmetic::kFloat32Ort;
  append_real(ort ? std::floor(1.0F / step) : step, bytes);
  return bytes;
}

Bytes mean_parameters(const Reduce& reduce, std::int64_t count, std::int32_t zero_point) {
  Bytes bytes;
  const auto k = static_cast<float>(count);
  const auto sx = static_cast<float>(reduce.input_scale);
  const auto sy = static_cast<float>(reduce.requant.output_scale.value_or(1));
  switch (reduce.requant.arithmetic) {
    case Arithmetic::kExact:
      append(reduce.kind == Reduce::Kind::kSum ? reduce.input_scale * static_cast<double>(count)
                                               : reduce.input_scale,
             bytes);
      append(reduce.requant.scale, bytes);
      return bytes;
    case Arithmetic::kFloat32:
    case Arithmetic::kFloat32Ort: {
      const float steps = sy * k;
      append_real(sx / steps, bytes), append_factor({}, bytes);
      return bytes;
    }
    case Arithmetic::kFixed:
      break;
  }
  // The raw sum has `count` zero points, which the mean has once: they go as whole steps of the output.
  const float steps = k * sy;
  const float real = static_cast<float>(zero_point) * sx;
  const float shift = real / sy;
  const float rounded = std::trunc(shift > 0 ? shift + 0.5F : shift - 0.5F);
  append_factor(fixed_factor(double{sx / steps}), bytes);
  append_factor({static_cast<std::int32_t>(std::clamp(rounded, -1e9F, 1e9F)), 0}, bytes);
  return bytes;
}

}  // namespace tilebeat
