#include <algorithm>
#include <cfloat>
#include <cmath>

#include "arithmetic.h"
#include "operators.h"
#include "runtime_arithmetic.h"

namespace tilebeat {
namespace {

/// The row "softmax" of SPEC NU-6, pixel by pixel.
class RuntimeSoftmax {
 public:
  RuntimeSoftmax(const Operand& x, const Softmax& operation, const TensorInfo& output)
      : operation_(operation),
        channels_(output.shape.back()),
        sx_(static_cast<float>(operation.input_scale)),
        sy_(static_cast<float>(*operation.requant.output_scale)),
        values_(centred<std::int32_t>(x.tensor, 0)),
        output_{output.shape, output.dtype, {}} {}

  Tensor compute() {
    for (auto pixel = values_.begin(); pixel != values_.end(); pixel += channels_)
      add_pixel(std::vector<std::int32_t>(pixel, pixel + channels_));
    return std::move(output_);
  }

 private:
  bool ort() const { return operation_.requant.arithmetic == Arithmetic::kFloat32Ort; }

  /// Of an element so far below the greatest.
  float exponential(std::int32_t below) const {
    if (!ort()) {
      const float exponent = -sx_ * static_cast<float>(operation_.beta);
      return static_cast<float>(std::exp(double{exponent * static_cast<float>(below)}));
    }
    const float most = FLT_MAX / static_cast<float>(channels_);
    const double head = std::max(0.0, std::log(double{most}) - 5) / sx_;
    return static_cast<float>(std::exp((head - below) * sx_));
  }

  void add_pixel(const std::vector<std::int32_t>& pixel) {
    const std::int32_t greatest = *std::max_element(pixel.begin(), pixel.end());
    float sum = 0;
    for (const std::int32_t x : pixel) sum += exponential(greatest - x);
    const float steps = sum * sy_;
    const float unit = ort() ? std::floor(1 / sy_) / sum : 1 / steps;
    for (const std::int32_t x : pixel) {
      const float share = exponential(greatest - x) * unit;
      const std::int64_t value = (ort() ? rint_of(share) : half_away(share)) + operation_.requant.zero_point;
      output_.bytes.push_back(
          static_cast<std::uint8_t>(bounded(value, output_.dtype, operation_.requant.range)));
    }
  }

  const Softmax& operation_;
  std::int64_t channels_;
  float sx_, sy_;
  std::vector<std::int32_t> values_;
  Tensor output_;
};

Tensor softmax_of_rows(const Operand& x, const Softmax& operation, const TensorInfo& output) {
  if (operation.requant.arithmetic != Arithmetic::kExact)
    return RuntimeSoftmax(x, operation, output).compute();
  const std::vector<std::int32_t> values = centred<std::int32_t>(x.tensor, 0);
  const auto channels = static_cast<std::size_t>(output.shape.back());
  std::size_t pixel = 0;
  std::int32_t greatest = 0;
  std::int64_t sum = 0;
  const auto exponential = [&](std::size_t i) {
    const std::int32_t below = greatest - values[i];
    const double fixed = std::ldexp(std::exp(-(below * operation.input_scale * operation.beta)),
                                    24);  // 24 bits behind the point
    return static_cast<std::int64_t>(round_half_even(fixed));
  };
  Tensor made{output.shape, output.dtype, {}};
  const auto element = [&](std::size_t i) {
    if (i % channels == 0) {
      pixel = i;
      greatest = *std::max_element(&values[pixel], &values[pixel] + channels);
      sum = 0;
      for (std::size_t c = 0; c < channels; ++c) sum += exponential(pixel + c);
    }
    const TensorRequant& r = operation.requant;
    const double share = static_cast<double>(exponential(i)) / static_cast<double>(sum);
    return bounded(rounded(share * r.scale, r.zero_point, r.dtype), r.dtype, r.range);
  };
  for (std::size_t i = 0; i < values.size(); ++i) made.bytes.push_back(static_cast<std::uint8_t>(element(i)));
  return made;
}

/// A tensor whose axes from `axis` on are [extent, inner], with these two swapped.
Tensor swapped(const Tensor& tensor, std::int64_t extent, std::int64_t inner) {
  Tensor made = tensor;
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    const std::int64_t block = i / (extent * inner), e = i / inner % extent, j = i % inner;
    made.bytes[static_cast<std::size_t>((block * inner + j) * extent + e)] =
        tensor.bytes[static_cast<std::size_t>(i)];
  }
  return made;
}

}  // namespace

Tensor reference_softmax(const Operand& x, const Softmax& operation, const TensorInfo& output) {
  const int last = static_cast<int>(output.shape.size()) - 1;
  if (operation.axis < 0 || operation.axis == last) return softmax_of_rows(x, operation, output);
  const std::int64_t extent = output.shape[static_cast<std::size_t>(operation.axis)];
  std::int64_t inner = 1;
  for (int axis = operation.axis + 1; axis <= last; ++axis)
    inner *= output.shape[static_cast<std::size_t>(axis)];
  const Tensor turned = swapped(x.tensor, extent, inner);
  TensorInfo rows = output;
  rows.shape = {output.elements() / extent, extent};
  Tensor made = softmax_of_rows({turned, x.info}, operation, rows);
  made = swapped(made, inner, extent);
  made.shape = output.shape;
  return made;
}

}  // namespace tilebeat
