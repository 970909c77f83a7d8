#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace tilebeat {

/// How the elements of a map follow one another (SPEC OT-2), slowest dimension first. NCHWc has blocks of
/// channels whose channels are the fastest dimension; channels that the last block lacks take room.
enum class MapLayout : std::uint8_t { kNchw, kCnhw, kNhwc, kNchwc };
constexpr std::array<std::string_view, 4> kMapLayoutNames{"nchw", "cnhw", "nhwc", "nchwc"};

/// Where the elements of a map [N, H, W, C] lie in such an order (SPEC OT-2). All numbers are elements.
struct MapStrides {
  std::int64_t block = 1;            ///< neighbouring channels, and from a pixel to the next
  std::int64_t image = 0, next = 0;  ///< from an image to the next, and from a block of channels to the next

  /// `pixel` is row * width + column; taps in the padding have negative ones, too.
  std::int64_t offset_of(std::int64_t image_number, std::int64_t channel, std::int64_t pixel) const {
    return image_number * image + channel / block * next + pixel * block + channel % block;
  }
};
/// `pixels` are those of an image; `block_channels` those of a block of NCHWc, at least 1.
MapStrides strides_of(MapLayout layout, std::int64_t images, std::int64_t pixels, std::int64_t channels,
                      std::int64_t block_channels);

}  // namespace tilebeat
