#include "units/weight_window.h"

#include "units/weight_decoder.h"

#include <algorithm>

namespace tilebeat {

std::array<WeightImage::Bytes, 2> WeightWindow::scales() const {
  const std::int64_t count = image_.all_scales();
  return {{{kImageHeaderBytes, count},
           {kImageHeaderBytes + count, image_.zero_points ? ceil_div<std::int64_t>(count, 2) : 0}}};
}

void WeightWindow::take(const std::uint8_t* scales, const std::uint8_t* zero_points) {
  const std::int64_t count = image_.all_scales();
  scales_.assign(scales, scales + count);
  zero_points_.assign(to_size(count), image_.is_signed ? 0 : 8);
  for (std::int64_t i = 0; image_.zero_points && i < count; ++i)
    nth(zero_points_, i) = static_cast<std::uint8_t>(half_byte(zero_points, i));
}

void WeightWindow::decode(std::int64_t begin, std::int64_t end, const std::uint8_t* bytes,
                          std::uint8_t* decoded) const {
  image_.for_parts(begin, end, [&](const WeightImage::Part& part) {
    if (part.is_plain)
      std::copy_n(bytes, part.to - part.from, decoded);
    else
      decode_codes(part, bytes, decoded);
    bytes += part.bytes().count, decoded += part.to - part.from;
  });
}

void WeightWindow::decode_codes(const WeightImage::Part& part, const std::uint8_t* codes,
                                std::uint8_t* decoded) const {
  const WeightImage& w = image_;
  const std::int64_t first_scale = part.block * w.block_scales(), period = w.period();
  const std::int64_t first_code = part.from / 2 * 2;
  for (std::int64_t at = part.from; at < part.to;) {
    const std::int64_t in_period = at % period;
    const std::int64_t run = std::min<std::int64_t>(in_period / w.run, w.scales - 1);
    const std::int64_t scale = first_scale + at / w.frame() * w.scales + run;
    const std::int64_t end = std::min(part.to, at - in_period + run * w.run + w.run_length(to_int(run)));
    for (; at < end; ++at)
      *decoded++ = decoded_code(half_byte(codes, at - first_code), nth(zero_points_, scale),
                                nth(scales_, scale), w.shift, w.is_signed);
  }
}

}  // namespace tilebeat
