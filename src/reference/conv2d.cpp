#include "tilebeat/reference/reference.h"

#include <algorithm>
#include <cstring>

#include "arithmetic.h"
#include "post_process.h"

namespace tilebeat {
namespace {

/// Kernels that one pass over a patch serves, and bytes of patches that stay in the cache meanwhile.
constexpr std::int64_t kKernels = 4;
constexpr std::int64_t kPatchBytes = std::int64_t{1} << 17;

/// Dot products of a patch with kKernels kernels of `taps` taps each. Written so that the compiler makes
/// multiply-add instructions on 16-bit pairs of it.
void dot_products(const std::int16_t* patch, const std::int16_t* kernels, std::int64_t taps,
                  std::array<std::int32_t, kKernels>& sums) {
  const std::int16_t *w0 = kernels, *w1 = w0 + taps, *w2 = w1 + taps, *w3 = w2 + taps;
  std::int32_t s0 = 0, s1 = 0, s2 = 0, s3 = 0;
  for (std::int64_t k = 0; k < taps; ++k) {
    s0 += std::int32_t{patch[k]} * w0[k];
    s1 += std::int32_t{patch[k]} * w1[k];
    s2 += std::int32_t{patch[k]} * w2[k];
    s3 += std::int32_t{patch[k]} * w3[k];
  }
  sums = {s0, s1, s2, s3};
}

/// One convolution with the names of its extents spelled out. The elements under one window, less their zero
/// point, make a patch, in the order of a kernel's weights; sums are dot products of patches and kernels.
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
        map_(centred<std::int16_t>(input, info.zero_point)) {
    output_.shape = {input.shape[0], out_height_, out_width_, conv.out_channels};
    output_.dtype = conv.requant ? conv.requant->dtype : DType::kInt32;
    output_.bytes.resize(static_cast<std::size_t>(output_.elements() * dtype_size(output_.dtype)));
  }

  Tensor compute() {
    const std::int64_t pixels = output_.elements() / conv_.out_channels;
    const std::int64_t tile = std::clamp<std::int64_t>(kPatchBytes / (2 * taps_), 1, pixels);
    std::vector<std::int16_t> patches(static_cast<std::size_t>(tile * taps_));
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
  static std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

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
    std::array<std::int32_t, kKernels> sums{};
    for (std::int64_t kernel = group * (conv_.out_channels / conv_.groups); kernel < end;
         kernel += kKernels) {
      const std::int64_t width = std::min(kKernels, end - kernel);
      const std::uint8_t* const weights = &conv_.weights.bytes[at(kernel * taps_)];
      for (std::int64_t i = 0; i < width * taps_; ++i) {
        kernels[at(i)] =
            static_cast<std::int16_t>(static_cast<std::int8_t>(weights[i]) - conv_.weight_zero_point);
      }
      for (std::int64_t i = 0; i < count; ++i) {
        dot_products(&patches[at(i * taps_)], kernels.data(), taps_, sums);
        for (std::int64_t k = 0; k < width; ++k) store(first + i, kernel + k, sums[at(k)]);
      }
    }
  }

  void store(std::int64_t pixel, std::int64_t channel, std::int32_t sum) {
    const std::int32_t value = post_process(conv_, at(channel), sum);
    const auto size = dtype_size(output_.dtype);
    std::memcpy(&output_.bytes[at((pixel * conv_.out_channels + channel) * size)], &value, at(size));
  }

  const Conv2d& conv_;
  std::int64_t height_, width_, channels_, out_height_, out_width_, group_channels_, taps_;
  std::vector<std::int16_t> map_;
  Tensor output_;
};

}  // namespace

Tensor reference_conv2d(const Tensor& input, const TensorInfo& info, const Conv2d& conv) {
  return Convolution(input, info, conv).compute();
}

}  // namespace tilebeat
