#include "base/map_layout.h"

#include "base/math.h"

namespace tilebeat {

MapStrides strides_of(MapLayout layout, std::int64_t images, std::int64_t pixels, std::int64_t channels,
                      std::int64_t block_channels) {
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
