// Poolings, reductions, and the operators between float32 and bytes.
#include "base/types.h"
#include "reference/arithmetic.h"
#include "reference/operators.h"

#include <algorithm>
#include <cstring>

namespace tilebeat {
namespace {

/// One pooling layer. Zero points are subtracted first, which only shifts a maximum.
class Pool {
 public:
  Pool(const Operand& x, const Pooling& pool, const TensorInfo& output)
      : pool_(pool),
        in_(x.info.shape),
        zero_point_(x.info.zero_point),
        map_(centred<std::int32_t>(x.tensor, zero_point_)),
        best_(to_size(in_[3])),
        sums_(best_.size()),
        reals_(best_.size()),
        zero_out_(output.zero_point),
        output_{output.shape, output.dtype, {}} {
    output_.bytes.reserve(to_size(output.size_bytes()));
  }

  Tensor compute() {
    for (std::int64_t n = 0; n < output_.shape[0]; ++n) {
      for (std::int64_t oh = 0; oh < output_.shape[1]; ++oh) {
        for (std::int64_t ow = 0; ow < output_.shape[2]; ++ow) add_pixel(n, oh, ow);
      }
    }
    return std::move(output_);
  }

 private:
  void add_pixel(std::int64_t n, std::int64_t oh, std::int64_t ow) {
    std::fill(best_.begin(), best_.end(), INT32_MIN);
    std::fill(sums_.begin(), sums_.end(), 0);
    std::fill(reals_.begin(), reals_.end(), 0.0F);
    taps_ = 0;
    for (std::int64_t r = 0; r < pool_.kernel[0]; ++r) {
      const std::int64_t h = oh * pool_.stride[0] + r * pool_.dilation[0] - pool_.pads[0];
      if (h < 0 || h >= in_[1]) continue;
      for (std::int64_t s = 0; s < pool_.kernel[1]; ++s) {
        const std::int64_t w = ow * pool_.stride[1] + s * pool_.dilation[1] - pool_.pads[1];
        if (w < 0 || w >= in_[2]) continue;
        ++taps_;
        add_tap(&nth(map_, ((n * in_[1] + h) * in_[2] + w) * in_[3]));
      }
    }
    const std::int64_t area = std::int64_t{pool_.kernel[0]} * pool_.kernel[1];
    for (std::size_t c = 0; c < best_.size(); ++c) store(c, pool_.count_include_pad ? area : taps_);
  }

  void add_tap(const std::int32_t* pixel) {
    if (pool_.kind == Pooling::Kind::kMax) {
      for (std::size_t c = 0; c < best_.size(); ++c) best_[c] = std::max(best_[c], pixel[c]);
    } else {
      const auto sx = static_cast<float>(pool_.input_scale);
      for (std::size_t c = 0; c < sums_.size(); ++c) {
        sums_[c] += pixel[c];
        const float real = static_cast<float>(pixel[c]) * sx;
        reals_[c] += real;
      }
    }
  }

  void store(std::size_t channel, std::int64_t count) {
    const std::int64_t value =
        pool_.kind == Pooling::Kind::kMax ? best_[channel] + zero_point_ : average(channel, count);
    append_element(bounded(value, output_.dtype, pool_.range), output_.dtype, output_.bytes);
  }

  std::int64_t average(std::size_t channel, std::int64_t count) const {
    switch (pool_.arithmetic) {
      case Arithmetic::kExact:
        return rounded(ratio_of(sums_[channel], count), zero_point_, output_.dtype);
      case Arithmetic::kFloat32Ort: {
        const float mean = reals_[channel] / static_cast<float>(count);
        const float steps = mean / static_cast<float>(pool_.output_scale);
        return rint_of(steps + static_cast<float>(zero_out_));
      }
      case Arithmetic::kFloat32:
      case Arithmetic::kFixed:
      case Arithmetic::kTflm:
        break;
    }
    // The raw sum: padding contributes neither elements nor zero points.
    const std::int64_t raw = sums_[channel] + taps_ * zero_point_;
    const std::int64_t magnitude = (std::abs(raw) + count / 2) / count;
    return raw < 0 ? -magnitude : magnitude;
  }

  const Pooling& pool_;
  const std::vector<std::int64_t>& in_;
  std::int32_t zero_point_;
  std::vector<std::int32_t> map_;
  std::vector<std::int32_t> best_;  // by channel
  std::vector<std::int64_t> sums_;
  std::vector<float> reals_;  // dequantised sums, in the order of the taps
  std::int32_t zero_out_;
  std::int64_t taps_ = 0;  // taps of the window that are on the map
  Tensor output_;
};

}  // namespace

Tensor reference_of(const Pooling& pool, const Operands& inputs, const TensorInfo& output) {
  const Operand& x = inputs.front();
  return Pool(x, pool, output).compute();
}

namespace {

std::vector<float> reals_of(const Tensor& tensor) {
  std::vector<float> values(to_size(tensor.elements()));
  std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
  return values;
}

Tensor tensor_of(const std::vector<float>& values, const TensorInfo& output) {
  Tensor tensor{output.shape, output.dtype, {}};
  tensor.bytes.resize(values.size() * sizeof(float));
  std::memcpy(tensor.bytes.data(), values.data(), tensor.bytes.size());
  return tensor;
}

std::int32_t quantised(float x, float scale, std::int64_t zero_point, DType dtype) {
  return bounded(rint_of(x / scale) + zero_point, dtype, std::nullopt);
}

std::int64_t mean(const Reduce& reduce, std::int64_t sum, std::int64_t count, std::int32_t zero_point) {
  const TensorRequant& r = reduce.requant;
  if (r.arithmetic == Arithmetic::kFixed && r.dtype == DType::kInt16) return mean_int16(reduce, sum, count);
  if (r.arithmetic != Arithmetic::kExact && reduce.kind == Reduce::Kind::kMean)
    return mean_of(reduce, sum, count, zero_point);
  const auto number = static_cast<double>(count);
  const double average = static_cast<double>(sum - count * zero_point) / number;
  const double scale = reduce.kind == Reduce::Kind::kSum ? reduce.input_scale * number : reduce.input_scale;
  return rounded(average * scale * r.scale, r.zero_point, r.dtype);
}

}  // namespace

Tensor reference_of(const Reduce& reduce, const Operands& inputs, const TensorInfo& output) {
  const Operand& x = inputs.front();
  std::int64_t count = 1, inner = 1;
  for (std::size_t axis = 0; axis < x.info.shape.size(); ++axis) {
    const auto number = to_int(axis);
    if (number > reduce.axes.back()) inner *= x.info.shape[axis];
    if (number >= reduce.axes.front() && number <= reduce.axes.back()) count *= x.info.shape[axis];
  }
  const std::vector<std::int32_t> values = centred<std::int32_t>(x.tensor, 0);
  Tensor made{output.shape, output.dtype, {}};
  for (std::int64_t i = 0; i < output.elements(); ++i) {
    std::int64_t sum = 0, greatest = INT32_MIN;
    for (std::int64_t k = 0; k < count; ++k) {
      const std::int64_t value = nth(values, (i / inner * count + k) * inner + i % inner);
      sum += value, greatest = std::max(greatest, value);
    }
    if (reduce.kind == Reduce::Kind::kMax) {
      append_element(greatest, output.dtype, made.bytes);
      continue;
    }
    const std::int64_t average = mean(reduce, sum, count, x.info.zero_point);
    append_element(bounded(average, output.dtype, reduce.requant.range), output.dtype, made.bytes);
  }
  return made;
}

Tensor reference_of(const Quantize& quantize, const Operands& inputs, const TensorInfo& output) {
  const Operand& x = inputs.front();
  Tensor made{output.shape, output.dtype, {}};
  for (const float value : reals_of(x.tensor)) {
    const std::int64_t element = quantize.arithmetic == Arithmetic::kFixed
                                     ? quantised_int16(value, quantize.scale)
                                     : quantised(value, quantize.scale, output.zero_point, output.dtype);
    append_element(bounded(element, output.dtype, std::nullopt), output.dtype, made.bytes);
  }
  return made;
}

Tensor reference_of(const Dequantize& dequantize, const Operands& inputs, const TensorInfo& output) {
  const Operand& x = inputs.front();
  std::vector<float> values;
  for (std::int64_t i = 0; i < x.tensor.elements(); ++i)
    values.push_back(static_cast<float>(std::int64_t{x.tensor.at(i)} - x.info.zero_point) * dequantize.scale);
  return tensor_of(values, output);
}

Tensor reference_of(const DynamicQuantize& operation, const Operands& inputs, const TensorInfo& output) {
  const Operand& x = inputs.front();
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
  for (const float value : values)
    append_element(quantised(value, scale, zero, DType::kUint8), DType::kUint8, made.bytes);
  return made;
}

}  // namespace tilebeat
