#include "base/types.h"
#include "reference/arithmetic.h"
#include "reference/operators.h"
#include "reference/reference.h"
#include "tilebeat/error.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <vector>

namespace tilebeat {
namespace {

/// Kernels for each pass over a patch; bytes of patches that stay in the cache during a pass.
constexpr std::int64_t kKernels = 4;
constexpr std::int64_t kPatchBytes = std::int64_t{1} << 17;

/// Dot products of a patch with kKernels kernels of `taps` taps each, written so that the compiler uses
/// multiply-add instructions on 16-bit pairs.
template <class Sum>
void dot_products(const std::int16_t* patch, const std::int16_t* kernels, std::int64_t taps,
                  std::array<std::int64_t, kKernels>& sums) {
  const std::int16_t *w0 = kernels, *w1 = w0 + taps, *w2 = w1 + taps, *w3 = w2 + taps;
  Sum s0 = 0, s1 = 0, s2 = 0, s3 = 0;
  for (std::int64_t k = 0; k < taps; ++k) {
    s0 += std::int32_t{patch[k]} * w0[k];
    s1 += std::int32_t{patch[k]} * w1[k];
    s2 += std::int32_t{patch[k]} * w2[k];
    s3 += std::int32_t{patch[k]} * w3[k];
  }
  sums = {s0, s1, s2, s3};
}

/// One convolution, with names for its extents. The elements under one window, minus their zero point, form a
/// patch in the order of a kernel's weights; sums are dot products of patches and kernels.
class Convolution {
 public:
  Convolution(const Tensor& input, const TensorInfo& info, const Conv2d& conv)
      : conv_(conv),
        height_(input.shape[1]),
        width_(input.shape[2]),
        channels_(input.shape[3]),
        out_height_(extent(height_, 0)),
        out_width_(extent(width_, 1)),
        group_channels_(channels_ / conv.groups),
        taps_(conv.kernel[0] * std::int64_t{conv.kernel[1]} * group_channels_),
        wide_(info.dtype == DType::kInt16),
        map_(centred<std::int16_t>(input, info.zero_point)) {
    output_.shape = {input.shape[0], out_height_, out_width_, conv.out_channels};
    output_.dtype = conv.requant ? conv.requant->dtype : wide_ ? DType::kInt64 : DType::kInt32;
    output_.bytes.resize(to_size(output_.elements() * dtype_size(output_.dtype)));
  }

  Tensor compute() {
    const std::int64_t pixels = output_.elements() / conv_.out_channels;
    const std::int64_t tile = std::clamp<std::int64_t>(kPatchBytes / (2 * taps_), 1, pixels);
    std::vector<std::int16_t> patches(to_size(tile * taps_));
    for (std::int64_t group = 0; group < conv_.groups; ++group) {
      for (std::int64_t first = 0; first < pixels; first += tile) {
        const std::int64_t count = std::min(tile, pixels - first);
        for (std::int64_t i = 0; i < count; ++i) fill_patch(group, first + i, &patches[at(i * taps_)]);
        add_tile(group, first, count, patches);
      }
    }
    return std::move(output_);
  }

 private:
  static std::size_t at(std::int64_t index) { return to_size(index); }

  std::int64_t extent(std::int64_t size, std::size_t axis) const {
    const std::int64_t window = (conv_.kernel[axis] - std::int64_t{1}) * conv_.dilation[axis] + 1;
    return (size + conv_.pads[axis] + conv_.pads[axis + 2] - window) / conv_.stride[axis] + 1;
  }

  /// Taps outside the map are zero: they add nothing.
  void fill_patch(std::int64_t group, std::int64_t pixel, std::int16_t* patch) const {
    const std::int64_t n = pixel / (out_height_ * out_width_);
    const std::int64_t oh = pixel / out_width_ % out_height_, ow = pixel % out_width_;
    const std::size_t bytes = at(group_channels_) * sizeof *patch;
    for (std::int64_t r = 0; r < conv_.kernel[0]; ++r) {
      const std::int64_t h = oh * conv_.stride[0] + r * conv_.dilation[0] - conv_.pads[0];
      for (std::int64_t s = 0; s < conv_.kernel[1]; ++s, patch += group_channels_) {
        const std::int64_t w = ow * conv_.stride[1] + s * conv_.dilation[1] - conv_.pads[1];
        if (h < 0 || h >= height_ || w < 0 || w >= width_) {
          std::memset(patch, 0, bytes);
        } else {
          const std::int64_t from = ((n * height_ + h) * width_ + w) * channels_ + group * group_channels_;
          std::memcpy(patch, &map_[at(from)], bytes);
        }
      }
    }
  }

  void add_tile(std::int64_t group, std::int64_t first, std::int64_t count,
                const std::vector<std::int16_t>& patches) {
    const std::int64_t end = (group + 1) * (conv_.out_channels / conv_.groups);
    std::vector<std::int16_t> kernels(at(kKernels * taps_));
    std::array<std::int64_t, kKernels> sums{};
    for (std::int64_t kernel = group * (conv_.out_channels / conv_.groups); kernel < end;
         kernel += kKernels) {
      const std::int64_t width = std::min(kKernels, end - kernel);
      const std::uint8_t* const weights = &weights_->bytes[at(kernel * taps_)];
      for (std::int64_t i = 0; i < width * taps_; ++i) {
        kernels[at(i)] =
            static_cast<std::int16_t>(static_cast<std::int8_t>(weights[i]) - conv_.weight_zero_point);
      }
      for (std::int64_t i = 0; i < count; ++i) {
        if (wide_)
          dot_products<std::int64_t>(&patches[at(i * taps_)], kernels.data(), taps_, sums);
        else
          dot_products<std::int32_t>(&patches[at(i * taps_)], kernels.data(), taps_, sums);
        for (std::int64_t k = 0; k < width; ++k) store(first + i, kernel + k, sums[at(k)]);
      }
    }
  }

  void store(std::int64_t pixel, std::int64_t channel, std::int64_t sum) {
    const std::int64_t value = post_process(conv_, at(channel), sum);
    const auto size = dtype_size(output_.dtype);
    std::memcpy(&output_.bytes[at((pixel * conv_.out_channels + channel) * size)], &value, at(size));
  }

  const Conv2d& conv_;
  std::shared_ptr<const Tensor> weights_ = conv_.weights.int8();
  std::int64_t height_, width_, channels_, out_height_, out_width_, group_channels_, taps_;
  bool wide_;  // elements are int16, sums have 64 bits
  std::vector<std::int16_t> map_;
  Tensor output_;
};

}  // namespace

Tensor reference_conv2d(const Tensor& input, const TensorInfo& info, const Conv2d& conv) {
  return Convolution(input, info, conv).compute();
}

namespace {

/// Adds the whole kernel, times a pixel of the input, to the sums of the output, for every pixel.
class Scatter {
 public:
  Scatter(const Operand& x, const Conv2d& conv, const TensorInfo& output)
      : conv_(conv),
        wide_(x.info.dtype == DType::kInt16),
        in_(x.info.shape),
        out_(output.shape),
        map_(centred<std::int16_t>(x.tensor, x.info.zero_point)),
        sums_(at(output.elements())) {
    const std::shared_ptr<const Tensor> weights = conv.weights.int8();
    weights_.reserve(weights->bytes.size());
    for (const std::uint8_t byte : weights->bytes) {
      weights_.push_back(static_cast<std::int16_t>(static_cast<std::int8_t>(byte) - conv.weight_zero_point));
    }
  }

  const std::vector<std::int64_t>& run() {
    for (std::int64_t n = 0; n < in_[0]; ++n) {
      for (std::int64_t h = 0; h < in_[1]; ++h) {
        for (std::int64_t w = 0; w < in_[2]; ++w) add_pixel(n, h, w);
      }
    }
    return sums_;
  }

 private:
  static std::size_t at(std::int64_t index) { return to_size(index); }

  void add_pixel(std::int64_t n, std::int64_t h, std::int64_t w) {
    const std::int16_t* const pixel = &map_[at(((n * in_[1] + h) * in_[2] + w) * in_[3])];
    for (std::int64_t i = 0; i < conv_.kernel[0]; ++i) {
      const std::int64_t row = h * conv_.stride[0] + i - conv_.pads[0];
      if (row < 0 || row >= out_[1]) continue;
      for (std::int64_t j = 0; j < conv_.kernel[1]; ++j) {
        const std::int64_t column = w * conv_.stride[1] + j - conv_.pads[1];
        if (column < 0 || column >= out_[2]) continue;
        add_tap(pixel, i * conv_.kernel[1] + j,
                &sums_[at(((n * out_[1] + row) * out_[2] + column) * out_[3])]);
      }
    }
  }

  void add_tap(const std::int16_t* pixel, std::int64_t tap, std::int64_t* sums) const {
    const std::int64_t taps = std::int64_t{conv_.kernel[0]} * conv_.kernel[1];
    for (std::int64_t k = 0; k < out_[3]; ++k) {
      const std::int16_t* const kernel = &weights_[at((k * taps + tap) * in_[3])];
      sums[k] += wide_ ? dot<std::int64_t>(pixel, kernel) : dot<std::int32_t>(pixel, kernel);
    }
  }

  template <class Sum>
  Sum dot(const std::int16_t* pixel, const std::int16_t* kernel) const {
    Sum sum = 0;
    for (std::int64_t c = 0; c < in_[3]; ++c) sum += std::int32_t{pixel[c]} * kernel[c];
    return sum;
  }

  const Conv2d& conv_;
  bool wide_;  // elements are int16
  std::vector<std::int64_t> in_, out_;
  std::vector<std::int16_t> map_, weights_;
  std::vector<std::int64_t> sums_;
};

}  // namespace

Tensor reference_conv_transpose(const Operand& x, const Conv2d& conv, const TensorInfo& output) {
  Scatter scatter(x, conv, output);
  const std::vector<std::int64_t>& sums = scatter.run();
  const auto size = to_size(dtype_size(output.dtype));
  const auto channels = to_size(output.shape.back());
  Tensor y{output.shape, output.dtype, std::vector<std::uint8_t>(sums.size() * size)};
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const std::int64_t value = post_process(conv, i % channels, sums[i]);
    std::memcpy(&y.bytes[i * size], &value, size);
  }
  return y;
}

namespace {

std::int64_t activate(const Activation& activation, std::int64_t sum) {
  switch (activation.kind) {
    case ActivationKind::kNone:
    case ActivationKind::kFunction:
      return sum;
    case ActivationKind::kRelu:
      return std::max<std::int64_t>(sum, 0);
    case ActivationKind::kClamp:
      if (activation.low != INT32_MIN) sum = std::max<std::int64_t>(sum, activation.low);
      if (activation.high != INT32_MAX) sum = std::min<std::int64_t>(sum, activation.high);
      return sum;
  }
  throw SimulationError("an activation is not known");
}

// Functions of docs/workloads.md.
double function_of(const Activation& activation, double v) {
  switch (activation.function) {
    case RealFunction::kNone:
      break;
    case RealFunction::kLeakyRelu:
      return v < 0 ? v * activation.slope : v;
    case RealFunction::kSigmoid:
      return 1 / (1 + std::exp(-v));
    case RealFunction::kTanh:
      return std::tanh(v);
    case RealFunction::kHardSwish:
      return v * (v <= -3 ? 0 : v >= 3 ? 6 : v + 3) / 6;
    case RealFunction::kGelu:
      return 0.5 * v * (1 + std::erf(v / std::sqrt(2.0)));
  }
  throw SimulationError("an activation is not known");
}

}  // namespace

std::int64_t post_process(const Conv2d& conv, std::size_t channel, std::int64_t sum) {
  std::int64_t biased = sum + (conv.bias.empty() ? 0 : conv.bias[channel]);
  const bool wraps = conv.requant && conv.requant->arithmetic == Arithmetic::kFixed &&
                     conv.requant->roundings != Roundings::kShort;
  if (wraps) biased = static_cast<std::int32_t>(static_cast<std::uint32_t>(biased));
  const std::int64_t active = activate(conv.activation, biased);
  if (!conv.requant) return active;
  const Requant& requant = *conv.requant;
  if (requant.arithmetic != Arithmetic::kExact)
    return bounded(requantised_sum(requant, channel, active), requant.dtype, requant.range);
  const double scale = requant.scale.size() == 1 ? requant.scale.front() : requant.scale[channel];
  const double v = static_cast<double>(active) * scale;
  const double steps = conv.activation.kind == ActivationKind::kFunction
                           ? function_of(conv.activation, v) * conv.activation.output_scale
                           : v;
  return bounded(rounded(steps, requant.zero_point, requant.dtype), requant.dtype, requant.range);
}

}  // namespace tilebeat
