#pragma once

#include "base/types.h"

#include <array>
#include <cstdint>
#include <string_view>

namespace tilebeat {

/// The order of a map's elements in memory (SPEC OT-2), slowest dimension first. NCHWc has blocks of channels
/// with the channels of a block as the fastest dimension; missing channels of the last block take room.
enum class MapLayout : std::uint8_t { kNchw, kCnhw, kNhwc, kNchwc };
constexpr std::array<std::string_view, 4> kMapLayoutNames{"nchw", "cnhw", "nhwc", "nchwc"};

/// The element strides of a map [N, H, W, C] in such an order (SPEC OT-2).
struct MapStrides {
  std::int64_t block = 1;  ///< channels that are neighbours, which is also the distance between pixels
  std::int64_t image = 0, next = 0;  ///< distances between images and between channel blocks

  /// `pixel` is row * width + column; taps in the padding have negative ones, too.
  std::int64_t offset_of(std::int64_t image_number, std::int64_t channel, std::int64_t pixel) const {
    return image_number * image + channel / block * next + pixel * block + channel % block;
  }
};
/// `pixels`: of an image; `block_channels`: of a block of NCHWc, at least 1.
inline MapStrides strides_of(MapLayout layout, std::int64_t images, std::int64_t pixels,
                             std::int64_t channels, std::int64_t block_channels) {
  switch (layout) {
    case MapLayout::kNchw:
      return {1, channels * pixels, pixels};
    case MapLayout::kCnhw:
      return {1, pixels, images * pixels};
    case MapLayout::kNhwc:
      return {channels, pixels * channels, 0};
    case MapLayout::kNchwc:
      break;
  }
  const std::int64_t plane = pixels * block_channels;
  return {block_channels, ceil_div(channels, block_channels) * plane, plane};
}

}  // namespace tilebeat
