#include "units/weight_decoder.h"

#include "base/types.h"
#include "tilebeat/error.h"

#include <algorithm>

#include <fmt/format.h>

namespace tilebeat {
std::uint8_t decoded_code(int code, int zero_point, int scale, int shift, bool is_signed) {
  if (is_signed) code = (code ^ 8) - 8, zero_point = (zero_point ^ 8) - 8;
  int product = (code - zero_point) * scale;
  if (shift > 0) product = (product + (1 << (shift - 1))) >> shift;
  return static_cast<std::uint8_t>(std::min(std::max(product, -128), 127));
}

bool WeightDecoder::take_front(const std::uint8_t* stream, std::size_t bytes, std::size_t& taken) {
  // How long a header is stands in it.
  while (taken < bytes && front_.size() < front_bytes()) {
    const std::size_t some = std::min(bytes - taken, front_bytes() - front_.size());
    front_.insert(front_.end(), stream + taken, stream + taken + some);
    taken += some;
  }
  return front_.size() == front_bytes();
}

std::size_t WeightDecoder::front_bytes() const {
  if (section_) return has_scales_ ? 0 : to_size(scale_bytes());
  const bool twins = front_.size() >= kWeightHeaderBytes && (front_[kWeightHeaderBytes - 1] & 0x80) != 0;
  return kWeightHeaderBytes + (twins ? kTwinBytes : 0);
}

std::int64_t WeightDecoder::scale_bytes() const {
  return section_->scales + (section_->zero_points ? (section_->scales + 1) / 2 : 0);
}

void WeightDecoder::begin_section() {
  std::uint64_t header = 0;
  for (std::size_t i = 0; i < kWeightHeaderBytes; ++i) header |= std::uint64_t{front_[i]} << (8 * i);
  int twins = 0;
  if (WeightSection::has_twins(header))
    twins = front_[kWeightHeaderBytes] | front_[kWeightHeaderBytes + 1] << 8;
  section_ = WeightSection::decoded(header, twins);
  frames_left_ = section_->frames, at_ = 0, has_scales_ = section_->scales == 0;
  front_.clear();
}

void WeightDecoder::begin_frame() {
  const auto count = to_size(section_->scales);
  scales_.assign(front_.begin(), front_.begin() + to_signed(count));
  zero_points_.assign(count, section_->is_signed ? 0 : 8);
  for (std::size_t i = 0; section_->zero_points && i < count; ++i)
    zero_points_[i] = static_cast<std::uint8_t>(half_byte(front_.data() + count, to_signed(i)));
  has_scales_ = true;
  front_.clear();
}

void WeightDecoder::take_codes(const std::uint8_t* codes, std::uint8_t* weights, std::int64_t count) {
  const WeightSection& s = *section_;
  // The scale of the next weight, and its place in the run of that.
  const std::int64_t in_period = at_ % s.weights_of_period();
  int scale = to_int(std::min<std::int64_t>(in_period / s.run, s.scales - 1));
  std::int64_t place = in_period - std::int64_t{scale} * s.run;
  for (std::int64_t weight = at_; weight < at_ + count; ++weight) {
    if (weight % 2 == 0) codes_ = *codes++;
    const int code = weight % 2 == 0 ? codes_ & 15 : codes_ >> 4;
    *weights++ = decoded_code(code, nth(zero_points_, scale), nth(scales_, scale), s.shift, s.is_signed);
    if (++place < s.run_length(scale)) continue;
    place = 0;
    if (++scale == s.scales) scale = 0;
  }
}

WeightDecoder::Step WeightDecoder::decode(const std::uint8_t* stream, std::size_t bytes,
                                          std::uint8_t* weights, int most) {
  Step step;
  while (step.made < most) {
    if (give_twins(weights, most, step)) continue;
    if (!section_) {
      if (!take_front(stream, bytes, step.taken)) break;
      begin_section();
    }
    if (!has_scales_) {
      if (!take_front(stream, bytes, step.taken)) break;
      begin_frame();
    }
    if (held_.empty()) twins_ = to_size(section_->twins);
    const int room = most - step.made, before = step.made;
    const int some = twins_ == 0 ? room : std::min(room, to_int(to_signed(twins_ - held_.size())));
    const bool goes_on = take_weights(stream, bytes, weights, before + some, step);
    if (twins_ > 0) held_.insert(held_.end(), weights + before, weights + step.made);
    if (!goes_on) break;
  }
  return step;
}

bool WeightDecoder::give_twins(std::uint8_t* weights, int most, Step& step) {
  if (twins_ == 0 || held_.size() < twins_) return false;
  const std::size_t some = std::min(to_size(most - step.made), twins_ - given_);
  std::copy_n(held_.begin() + to_signed(given_), some, weights + step.made);
  step.made += to_int(to_signed(some)), given_ += some;
  if (given_ == twins_) held_.clear(), given_ = 0;
  return true;
}

bool WeightDecoder::take_weights(const std::uint8_t* stream, std::size_t bytes, std::uint8_t* weights,
                                 int most, Step& step) {
  const WeightSection& s = *section_;
  const std::int64_t frame = s.weights_of_frame();
  const auto left = to_signed(bytes - step.taken);
  std::int64_t count = std::min<std::int64_t>(most - step.made, frame - at_);
  if (s.scales == 0) {
    count = std::min(count, left);
    std::copy_n(stream + step.taken, count, weights + step.made);
    step.taken += to_size(count);
  } else {
    // The code of an odd weight came with the even one before it.
    const std::int64_t begun = (at_ + 1) / 2;
    count = std::min(count, 2 * (begun + left) - at_);
    take_codes(stream + step.taken, weights + step.made, count);
    step.taken += to_size((at_ + count + 1) / 2 - begun);
  }
  step.made += to_int(count);
  at_ += count;
  if (at_ < frame) return count > 0;
  at_ = 0, has_scales_ = s.scales == 0;
  if (--frames_left_ == 0) section_.reset();
  return true;
}

WeightWindow::WeightWindow(const std::uint8_t* header, int most_scales)
    : image_(WeightImage::decoded(header)) {
  if (most_scales == 0)
    throw SimulationError("packed kernels: no decoder is at the port (chip.decompress: read has one)");
  if (image_.all_scales() > most_scales)
    throw SimulationError(
        fmt::format("image of weights: {} scales, the port has room for {} (chip.core.weight_scales)",
                    image_.all_scales(), most_scales));
}

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
  read_and_decode(begin, end, decoded, [&bytes](WeightImage::Bytes of, std::uint8_t* to) {
    std::copy_n(bytes, of.count, to);
    bytes += of.count;
  });
}

void WeightWindow::decode_part(const WeightImage::Part& part, const std::uint8_t* bytes,
                               std::uint8_t* decoded) const {
  if (part.is_plain) {
    std::copy_n(bytes, part.to - part.from, decoded);
    return;
  }
  const WeightImage& w = image_;
  const ImageFrames frames = w.frames_of(part.block);
  const std::int64_t first_scale = part.block * w.block_scales(), period = frames.period();
  const std::int64_t first_code = part.from / 2 * 2;
  for (std::int64_t at = part.from; at < part.to;) {
    const std::int64_t in_period = at % period;
    const std::int64_t run = std::min<std::int64_t>(in_period / frames.run, frames.scales - 1);
    const std::int64_t scale = first_scale + at / frames.frame() * frames.scales + run;
    const std::int64_t end =
        std::min(part.to, at - in_period + run * frames.run + frames.run_length(to_int(run)));
    for (; at < end; ++at)
      *decoded++ = decoded_code(half_byte(bytes, at - first_code), nth(zero_points_, scale),
                                nth(scales_, scale), w.shift, w.is_signed);
  }
}

}  // namespace tilebeat
