#include "operators.h"

namespace tilebeat {

Tensor reference_pad(const Operand& x, const Pad& pad, const TensorInfo& output) {
  const auto &in = x.info.shape, &out = output.shape;
  Tensor y{out, output.dtype, {}};
  for (std::int64_t n = 0; n < out[0]; ++n) {
    for (std::int64_t h = 0; h < out[1]; ++h) {
      for (std::int64_t w = 0; w < out[2]; ++w) {
        for (std::int64_t c = 0; c < out[3]; ++c) {
          const std::int64_t row = h - pad.pads[0], column = w - pad.pads[1],
                             channel = c - pad.channel_pads[0];
          const bool border =
              row < 0 || row >= in[1] || column < 0 || column >= in[2] || channel < 0 || channel >= in[3];
          const std::int64_t from = ((n * in[1] + row) * in[2] + column) * in[3] + channel;
          y.bytes.push_back(border ? static_cast<std::uint8_t>(pad.value)
                                   : x.tensor.bytes[static_cast<std::size_t>(from)]);
        }
      }
    }
  }
  return y;
}

}  // namespace tilebeat
