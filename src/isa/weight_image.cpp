#include "isa/weight_image.h"

#include "tilebeat/error.h"

#include <algorithm>

#include <fmt/format.h>

namespace tilebeat {
namespace {

void put(std::uint8_t* to, std::int64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) to[i] = static_cast<std::uint8_t>(to_unsigned(value) >> (8 * i));
}

std::int64_t get(const std::uint8_t* from, int bytes) {
  std::uint64_t value = 0;
  for (int i = 0; i < bytes; ++i) value |= std::uint64_t{from[i]} << (8 * i);
  return to_signed(value);
}

// The first bytes of the header's fields.
constexpr int kImageScalesAt = 2, kImagePeriodsAt = 4, kImageTailAt = 6, kImageFormAt = 8, kImagePlainAt = 10,
              kImageWeightsAt = 12, kImageBlocksAt = 16, kImageLastWeightsAt = 20, kImageLastPlainAt = 24,
              kImageLastScalesAt = 26, kImageEndAt = 28;
constexpr int kImageSignedBit = 8, kImageZeroPointsBit = 16, kImageShiftMask = 7;
constexpr std::int64_t kMostImageBytes = std::int64_t{1} << 40;  // decoded, with as many scales

}  // namespace

std::array<std::uint8_t, kImageHeaderBytes> WeightImage::encoded() const {
  std::array<std::uint8_t, kImageHeaderBytes> header{};
  std::uint8_t* const h = header.data();
  put(h, frames.run, 2), put(h + kImageScalesAt, frames.scales, 2);
  put(h + kImagePeriodsAt, frames.periods, 2), put(h + kImageTailAt, frames.tail, 2);
  const int form = shift | (is_signed ? kImageSignedBit : 0) | (zero_points ? kImageZeroPointsBit : 0);
  put(h + kImageFormAt, form, 2);
  put(h + kImagePlainAt, plain, 2), put(h + kImageWeightsAt, weights, 4), put(h + kImageBlocksAt, blocks, 4);
  put(h + kImageLastWeightsAt, last_weights, 4), put(h + kImageLastPlainAt, last_plain, 2);
  put(h + kImageLastScalesAt, last_scales, 2);
  return header;
}

WeightImage WeightImage::decoded(const std::uint8_t* h) {
  WeightImage made;
  ImageFrames& f = made.frames;
  f.run = to_int(get(h, 2)), f.scales = to_int(get(h + kImageScalesAt, 2));
  f.periods = to_int(get(h + kImagePeriodsAt, 2)), f.tail = to_int(get(h + kImageTailAt, 2));
  const int form = to_int(get(h + kImageFormAt, 2));
  made.shift = form & kImageShiftMask, made.is_signed = (form & kImageSignedBit) != 0;
  made.zero_points = (form & kImageZeroPointsBit) != 0;
  made.plain = to_int(get(h + kImagePlainAt, 2)), made.last_plain = to_int(get(h + kImageLastPlainAt, 2));
  made.weights = get(h + kImageWeightsAt, 4), made.blocks = get(h + kImageBlocksAt, 4);
  made.last_weights = get(h + kImageLastWeightsAt, 4);
  made.last_scales = to_int(get(h + kImageLastScalesAt, 2));
  const bool rest =
      std::any_of(h + kImageEndAt, h + kImageHeaderBytes, [](std::uint8_t b) { return b != 0; });
  const bool empty = f.run == 0 || f.scales == 0 || made.last_scales == 0 || f.periods == 0 ||
                     made.blocks == 0 || made.weights == 0;
  // A frame has at least as many weights as scales.
  const auto large = [&] { return made.blocks > kMostImageBytes / (made.block_bytes() + f.scales); };
  if (rest || form >= 2 * kImageZeroPointsBit || empty || f.tail > f.run ||
      made.last_weights > made.weights || large())
    throw SimulationError(
        fmt::format("image of weights: a header of {} blocks of {} weights with {} periods of {} (last block "
                    "{}) runs of {}",
                    made.blocks, made.weights, f.periods, f.scales, made.last_scales, f.run));
  return made;
}

void WeightImage::check(std::int64_t begin, std::int64_t end) const {
  if (begin < 0 || end > decoded_bytes())
    throw SimulationError(fmt::format("image of weights: bytes {} to {} of {}", begin, end, decoded_bytes()));
}

WeightImage::Part WeightImage::part_at(std::int64_t begin, std::int64_t end) const {
  Part part;
  part.block = std::min(begin / block_bytes(), blocks - 1);
  const bool last = part.block == blocks - 1;
  const std::int64_t codes = last ? last_weights : weights, all = codes + (last ? last_plain : plain);
  part.from = begin - part.block * block_bytes();
  part.is_plain = part.from >= codes;
  part.to = std::min(part.from + end - begin, part.is_plain ? all : codes);
  part.begin = codes_begin() + part.block * packed_block();
  if (part.is_plain) part.begin += (codes + 1) / 2 + part.from - codes;
  return part;
}

}  // namespace tilebeat
