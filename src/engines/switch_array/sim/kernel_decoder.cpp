#include "engines/switch_array/sim/kernel_decoder.h"

#include "base/types.h"
#include "tilebeat/error.h"

#include <algorithm>

#include <fmt/format.h>

namespace tilebeat::switch_array {

void KernelDecoder::check(const LoadImage& load) {
  if (load.front_bytes < kImageHeaderBytes || load.bytes < load.front_bytes)
    throw SimulationError(
        fmt::format("load.image: {} bytes, {} of them in front of the codes, where a header alone has {}",
                    load.bytes, load.front_bytes, kImageHeaderBytes));
}

void KernelDecoder::begin(const LoadImage& load) {
  image_ = load;
  front_.clear();
}

void KernelDecoder::take(const std::uint8_t* bytes, int count) {
  front_.insert(front_.end(), bytes, bytes + count);
  if (ssize(front_) < image_.front_bytes) return;
  window_.emplace(front_.data(), most_scales);
  const auto [scales, zero_points] = window_->scales();
  if (window_->image().codes_begin() != image_.front_bytes || window_->image().bytes() != image_.bytes)
    throw SimulationError(fmt::format(
        "load.image: {} bytes, {} of them in front of the codes; the image has {} and {}", image_.bytes,
        image_.front_bytes, window_->image().bytes(), window_->image().codes_begin()));
  window_->take(front_.data() + scales.begin, front_.data() + zero_points.begin);
  --under_way_;
}

std::deque<StridedBlock> KernelDecoder::find(std::uint64_t address, std::int64_t count) {
  if (!window_) throw SimulationError("load.kernels: packed kernels, but no load.image came before");
  std::deque<StridedBlock> blocks;
  parts_.clear();
  const std::int64_t begin = to_signed(address) - to_signed(image_.address);
  window_->image().for_parts(begin, begin + count, [&](const WeightImage::Part& part) {
    const WeightImage::Bytes bytes = part.bytes();
    blocks.push_back({image_.address + to_unsigned(bytes.begin), bytes.count});
    parts_.push_back(part);
  });
  return blocks;
}

KernelDecoder::Range KernelDecoder::range_of(std::uint64_t address, int bytes) const {
  const std::int64_t at = to_signed(address - image_.address);
  const auto part = std::find_if(parts_.begin(), parts_.end(), [at](const WeightImage::Part& p) {
    const WeightImage::Bytes held = p.bytes();
    return at >= held.begin && at < held.begin + held.count;
  });
  const std::int64_t block = part->block * window_->image().block_bytes(), first = at - part->begin;
  if (part->is_plain) return {block + part->from + first, block + part->from + first + bytes};
  return {block + std::max(part->from, 2 * first), block + std::min(part->to, 2 * (first + bytes))};
}

const std::vector<std::uint8_t>& KernelDecoder::decode(const Range& range, const std::uint8_t* codes) {
  decoded_.resize(to_size(range.end - range.begin));
  window_->decode(range.begin, range.end, codes, decoded_.data());
  return decoded_;
}

const std::vector<std::uint8_t>& KernelDecoder::decode_stream(const std::uint8_t* bytes, int count,
                                                              bool last) {
  decoded_.resize(to_size(weights_left_));
  const WeightDecoder::Step step =
      of_streams_.decode(bytes, to_size(count), decoded_.data(), to_int(weights_left_));
  decoded_.resize(to_size(step.made));
  weights_left_ -= step.made;
  if (weights_left_ == 0 && (!last || to_int(to_signed(step.taken)) < count || !of_streams_.at_end()))
    throw SimulationError("load.kernels: the stream has more weights than the kernels");
  if (last && weights_left_ > 0)
    throw SimulationError(
        fmt::format("load.kernels: the stream ends {} weights before the kernels", weights_left_));
  return decoded_;
}

}  // namespace tilebeat::switch_array
