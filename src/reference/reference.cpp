#include "tilebeat/reference/reference.h"

#include "tilebeat/base/error.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace tilebeat {
namespace {

/// The weights of one group less their zero point, [Kh][Kw][Ci/groups][Co/groups]: kernels side by side, so
/// that the inner loop runs over them and the compiler vectorises it.
std::vector<std::int16_t> kernels_side_by_side(const Conv2d& conv, std::int64_t group) {
  const std::int64_t kernels = conv.out_channels / conv.groups;
  const std::int64_t taps = conv.weights.elements() / conv.out_channels;
  std::vector<std::int16_t> packed(static_cast<std::size_t>(taps * kernels));
  for (std::int64_t kernel = 0; kernel < kernels; ++kernel) {
    for (std::int64_t tap = 0; tap < taps; ++tap) {
      const std::int32_t weight =
          conv.weights.at((group * kernels + kernel) * taps + tap) - conv.weight_zero_point;
      packed[static_cast<std::size_t>(tap * kernels + kernel)] = static_cast<std::int16_t>(weight);
    }
  }
  return packed;
}

/// Elements less their zero point: nine bits.
std::vector<std::int16_t> centred(const Tensor& tensor, std::int32_t zero_point) {
  std::vector<std::int16_t> values(static_cast<std::size_t>(tensor.elements()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<std::int16_t>(tensor.at(static_cast<std::int64_t>(i)) - zero_point);
  }
  return values;
}

/// One convolution with the names of its extents spelled out.
class Convolution {
 public:
  Convolution(const Tensor& input, const TensorInfo& info, const Conv2d& conv)
      : conv_(conv),
        maps_(input.shape[0]),
        height_(input.shape[1]),
        width_(input.shape[2]),
        channels_(input.shape[3]),
        out_height_(extent(height_, 0)),
        out_width_(extent(width_, 1)),
        map_(centred(input, info.zero_point)),
        sums_(static_cast<std::size_t>(maps_ * out_height_ * out_width_ * conv.out_channels)) {}

  std::vector<std::int32_t> sums() {
    for (std::int64_t group = 0; group < conv_.groups; ++group) {
      const std::vector<std::int16_t> kernels = kernels_side_by_side(conv_, group);
      for (std::int64_t n = 0; n < maps_; ++n) {
        for (std::int64_t oh = 0; oh < out_height_; ++oh) {
          for (std::int64_t ow = 0; ow < out_width_; ++ow) add_pixel(kernels, group, n, oh, ow);
        }
      }
    }
    return std::move(sums_);
  }

  std::vector<std::int64_t> shape() const { return {maps_, out_height_, out_width_, conv_.out_channels}; }

 private:
  std::int64_t extent(std::int64_t size, std::size_t axis) const {
    const std::int64_t window = (conv_.kernel[axis] - std::int64_t{1}) * conv_.dilation[axis] + 1;
    return (size + conv_.pads[axis] + conv_.pads[axis + 2] - window) / conv_.stride[axis] + 1;
  }

  /// Adds all taps of one output pixel for the kernels of one group; taps outside the map add nothing.
  void add_pixel(const std::vector<std::int16_t>& kernels, std::int64_t group, std::int64_t n,
                 std::int64_t oh, std::int64_t ow) {
    const std::int64_t group_kernels = conv_.out_channels / conv_.groups;
    const std::int64_t group_channels = channels_ / conv_.groups;
    const std::int64_t pixel = (n * out_height_ + oh) * out_width_ + ow;
    std::int32_t* const sum =
        &sums_[static_cast<std::size_t>(pixel * conv_.out_channels + group * group_kernels)];
    for (std::int64_t r = 0; r < conv_.kernel[0]; ++r) {
      const std::int64_t h = oh * conv_.stride[0] + r * conv_.dilation[0] - conv_.pads[0];
      if (h < 0 || h >= height_) continue;
      for (std::int64_t s = 0; s < conv_.kernel[1]; ++s) {
        const std::int64_t w = ow * conv_.stride[1] + s * conv_.dilation[1] - conv_.pads[1];
        if (w < 0 || w >= width_) continue;
        const std::int64_t first = ((n * height_ + h) * width_ + w) * channels_ + group * group_channels;
        const std::int64_t tap = (r * conv_.kernel[1] + s) * group_channels;
        for (std::int64_t c = 0; c < group_channels; ++c) {
          const std::int16_t x = map_[static_cast<std::size_t>(first + c)];
          const std::int16_t* const weight = &kernels[static_cast<std::size_t>((tap + c) * group_kernels)];
          for (std::int64_t k = 0; k < group_kernels; ++k) sum[k] += std::int32_t{x} * weight[k];
        }
      }
    }
  }

  const Conv2d& conv_;
  std::int64_t maps_, height_, width_, channels_, out_height_, out_width_;
  std::vector<std::int16_t> map_;
  std::vector<std::int32_t> sums_;
};

std::int32_t activate(const Activation& activation, std::int32_t sum) {
  switch (activation.kind) {
    case ActivationKind::kNone:
      return sum;
    case ActivationKind::kRelu:
      return std::max(sum, 0);
    case ActivationKind::kClamp:
      return std::min(std::max(sum, activation.low), activation.high);
  }
  throw SimulationError("an activation is not known");
}

/// To the nearest whole number, halves to the even one.
double round_half_even(double value) {
  const double below = std::floor(value);
  const double part = value - below;
  const bool odd = std::fmod(below, 2.0) != 0.0;
  return part > 0.5 || (part == 0.5 && odd) ? below + 1.0 : below;
}

std::int32_t post_process(const Conv2d& conv, std::size_t channel, std::int32_t sum) {
  const std::int32_t biased = sum + (conv.bias.empty() ? 0 : conv.bias[channel]);
  const std::int32_t active = activate(conv.activation, biased);
  if (!conv.requant) return active;
  const Requant& requant = *conv.requant;
  const double scale = requant.scale.size() == 1 ? requant.scale.front() : requant.scale[channel];
  const double value = round_half_even(active * scale) + requant.zero_point;
  const double low = requant.dtype == DType::kInt8 ? -128.0 : 0.0;
  return static_cast<std::int32_t>(std::min(std::max(value, low), low + 255.0));
}

}  // namespace

Tensor reference_conv2d(const Tensor& input, const TensorInfo& info, const Conv2d& conv) {
  Convolution convolution(input, info, conv);
  const std::vector<std::int32_t> sums = convolution.sums();
  Tensor output{convolution.shape(), conv.requant ? conv.requant->dtype : DType::kInt32, {}};
  const std::size_t size = conv.requant ? 1 : sizeof(std::int32_t);
  output.bytes.resize(sums.size() * size);
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const std::int32_t value = post_process(conv, i % static_cast<std::size_t>(conv.out_channels), sums[i]);
    std::memcpy(&output.bytes[i * size], &value, size);
  }
  return output;
}

std::map<std::string, Tensor> run_reference(const Workload& workload) {
  std::map<std::string, Tensor> outputs;
  for (const Layer& layer : workload.layers) {
    const std::string& name = layer.inputs.front();
    const auto made = outputs.find(name);
    const Tensor& input = made == outputs.end() ? workload.input_data.at(name) : made->second;
    outputs[layer.name] = reference_conv2d(input, workload.tensor(name), std::get<Conv2d>(layer.operation));
  }
  return outputs;
}

std::optional<Mismatch> first_mismatch(const std::string& layer, const Tensor& expected,
                                       const Tensor& actual) {
  if (expected.shape != actual.shape || expected.dtype != actual.dtype ||
      expected.bytes.size() != actual.bytes.size()) {
    throw SimulationError("layer " + layer + ": the output has not the expected shape and type");
  }
  const auto different =
      std::mismatch(expected.bytes.begin(), expected.bytes.end(), actual.bytes.begin()).first;
  if (different == expected.bytes.end()) return std::nullopt;
  const std::int64_t element = (different - expected.bytes.begin()) / dtype_size(expected.dtype);
  std::vector<std::int64_t> index(expected.shape.size());
  std::int64_t rest = element;
  for (std::size_t axis = index.size(); axis-- > 0; rest /= expected.shape[axis]) {
    index[axis] = rest % expected.shape[axis];
  }
  return Mismatch{layer, index, expected.at(element), actual.at(element)};
}

}  // namespace tilebeat
