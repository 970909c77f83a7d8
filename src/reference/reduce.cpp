// Reductions, and the operators between float32 and bytes.
#include <algorithm>
#include <cstring>

#include "arithmetic.h"
#include "operators.h"
#include "runtime_arithmetic.h"

namespace tilebeat {
namespace {

std::vector<float> reals_of(const Tensor& tensor) {
  std::vector<float> values(static_cast<std::size_t>(tensor.elements()));
  std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
  return values;
}

Tensor tensor_of(const std::vector<float>& values, const TensorInfo& output) {
  Tensor tensor{output.shape, output.dtype, {}};
  tensor.bytes.resize(values.size() * sizeof(float));
  std::memcpy(tensor.bytes.data(), values.data(), tensor.bytes.size());
  return tensor;
}

std::uint8_t quantised(float x, float scale, std::int64_t zero_point, DType dtype) {
  return static_cast<std::uint8_t>(bounded(rint_of(x / scale) + zero_point, dtype, std::nullopt));
}

std::int64_t mean(const Reduce& reduce, std::int64_t sum, std::int64_t count, std::int32_t zero_point) {
  const TensorRequant& r = reduce.requant;
  if (r.arithmetic != Arithmetic::kExact && reduce.kind == Reduce::Kind::kMean)
    return mean_of(reduce, sum, count, zero_point);
  const auto number = static_cast<double>(count);
  const double average = static_cast<double>(sum - count * zero_point) / number;
  const double scale = reduce.kind == Reduce::Kind::kSum ? reduce.input_scale * number : reduce.input_scale;
  return rounded(average * scale * r.scale, r.zero_point, r.dtype);
}

}  // namespace

Tensor reference_reduce(const Operand& x, const Reduce& reduce, const TensorInfo& output) {
  std::int64_t count = 1, inner = 1;
  for (std::size_t axis = 0; axis < x.info.shape.size(); ++axis) {
    const auto number = static_cast<int>(axis);
    if (number > reduce.axes.back()) inner *= x.info.shape[axis];
    if (number >= reduce.axes.front() && number <= reduce.axes.back()) count *= x.info.shape[axis];
  }
  const std::vector<std::int32_t> values = centred<std::int32_t>(x.tensor, 0);
  Tensor made{output.shape, output.dtype, {}};
  for (std::int64_t i = 0; i < output.elements(); ++i) {
    std::int64_t sum = 0, greatest = INT32_MIN;
    for (std::int64_t k = 0; k < count; ++k) {
      const std::int64_t value =
          values[static_cast<std::size_t>((i / inner * count + k) * inner + i % inner)];
      sum += value, greatest = std::max(greatest, value);
    }
    if (reduce.kind == Reduce::Kind::kMax) {
      made.bytes.push_back(static_cast<std::uint8_t>(greatest));
      continue;
    }
    made.bytes.push_back(static_cast<std::uint8_t>(
        bounded(mean(reduce, sum, count, x.info.zero_point), output.dtype, reduce.requant.range)));
  }
  return made;
}

Tensor reference_quantize(const Operand& x, const Quantize& quantize, const TensorInfo& output) {
  Tensor made{output.shape, output.dtype, {}};
  for (const float value : reals_of(x.tensor))
    made.bytes.push_back(quantised(value, quantize.scale, output.zero_point, output.dtype));
  return made;
}

Tensor reference_dequantize(const Operand& x, const Dequantize& dequantize, const TensorInfo& output) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < x.tensor.elements(); ++i)
    values.push_back(static_cast<float>(std::int64_t{x.tensor.at(i)} - x.info.zero_point) * dequantize.scale);
  return tensor_of(values, output);
}

Tensor reference_dynamic_quantize(const Operand& x, const DynamicQuantize& operation,
                                  const TensorInfo& output) {
  const std::vector<float> values = reals_of(x.tensor);
  float low = 0, high = 0;
  for (const float value : values) low = std::min(low, value), high = std::max(high, value);
  const float span = high - low;
  const float scale = span == 0 ? 1 : span / 255;
  const std::int64_t zero = bounded(rint_of((0 - low) / scale), DType::kUint8, std::nullopt);
  if (operation.result == DynamicQuantize::Result::kScale) return tensor_of({scale}, output);
  Tensor made{output.shape, output.dtype, {}};
  if (operation.result == DynamicQuantize::Result::kZero) {
    made.bytes.push_back(static_cast<std::uint8_t>(zero));
    return made;
  }
  for (const float value : values) made.bytes.push_back(quantised(value, scale, zero, DType::kUint8));
  return made;
}

}  // namespace tilebeat
