#include <cstring>
#include <vector>

#include "arithmetic.h"
#include "operators.h"
#include "post_process.h"

namespace tilebeat {
namespace {

/// Adds every pixel of the input, times the whole kernel, to the sums of the output.
class Scatter {
 public:
  Scatter(const Operand& x, const Conv2d& conv, const TensorInfo& output)
      : conv_(conv),
        in_(x.info.shape),
        out_(output.shape),
        map_(centred<std::int16_t>(x.tensor, x.info.zero_point)),
        sums_(at(output.elements())) {
    weights_.reserve(conv.weights.bytes.size());
    for (const std::uint8_t byte : conv.weights.bytes) {
      weights_.push_back(static_cast<std::int16_t>(static_cast<std::int8_t>(byte) - conv.weight_zero_point));
    }
  }

  const std::vector<std::int32_t>& run() {
    for (std::int64_t n = 0; n < in_[0]; ++n) {
      for (std::int64_t h = 0; h < in_[1]; ++h) {
        for (std::int64_t w = 0; w < in_[2]; ++w) add_pixel(n, h, w);
      }
    }
    return sums_;
  }

 private:
  static std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

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

  void add_tap(const std::int16_t* pixel, std::int64_t tap, std::int32_t* sums) const {
    const std::int64_t taps = std::int64_t{conv_.kernel[0]} * conv_.kernel[1];
    for (std::int64_t k = 0; k < out_[3]; ++k) {
      const std::int16_t* const kernel = &weights_[at((k * taps + tap) * in_[3])];
      std::int32_t sum = 0;
      for (std::int64_t c = 0; c < in_[3]; ++c) sum += std::int32_t{pixel[c]} * kernel[c];
      sums[k] += sum;
    }
  }

  const Conv2d& conv_;
  std::vector<std::int64_t> in_, out_;
  std::vector<std::int16_t> map_, weights_;
  std::vector<std::int32_t> sums_;
};

}  // namespace

Tensor reference_conv_transpose(const Operand& x, const Conv2d& conv, const TensorInfo& output) {
  Scatter scatter(x, conv, output);
  const std::vector<std::int32_t>& sums = scatter.run();
  const auto size = static_cast<std::size_t>(dtype_size(output.dtype));
  const auto channels = static_cast<std::size_t>(output.shape.back());
  Tensor y{output.shape, output.dtype, std::vector<std::uint8_t>(sums.size() * size)};
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const std::int32_t value = post_process(conv, i % channels, sums[i]);
    std::memcpy(&y.bytes[i * size], &value, size);
  }
  return y;
}

}  // namespace tilebeat
