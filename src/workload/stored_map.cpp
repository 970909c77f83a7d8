#include "base/types.h"
#include "workload/tensor.h"

#include <algorithm>

namespace tilebeat {
namespace {

// Calls `run` with every contiguous run: its offsets in NHWC and in the map, and its bytes.
template <class Run>
void for_runs(const StoredMap& map, const Run& run) {
  for (std::int64_t image = 0; image < map.images; ++image) {
    for (std::int64_t pixel = 0; pixel < map.pixels; ++pixel) {
      for (std::int64_t block = 0; block < map.blocks(); ++block) {
        const std::int64_t first = block * map.block_bytes;
        run((image * map.pixels + pixel) * map.pixel_bytes + first, map.offset_of(image, pixel, block),
            std::min(map.block_bytes, map.pixel_bytes - first));
      }
    }
  }
}

}  // namespace

StoredMapPointer stored_map(std::uint64_t address, const TensorInfo& info, MapLayout layout,
                            int block_channels) {
  if (layout == MapLayout::kNhwc) return nullptr;
  StoredMap map;
  const int element = dtype_size(info.dtype);
  map.address = address;
  map.images = info.shape[0], map.pixels = info.shape[1] * info.shape[2];
  map.pixel_bytes = info.shape[3] * element;
  const MapStrides strides = strides_of(layout, map.images, map.pixels, info.shape[3], block_channels);
  map.block_bytes = strides.block * element;
  map.image_stride = strides.image * element, map.block_stride = strides.next * element;
  const bool images_inside = layout == MapLayout::kCnhw;
  const bool same =
      map.pixels == 1 && map.pixel_bytes % map.block_bytes == 0 && (map.images == 1 || !images_inside);
  return same ? nullptr : std::make_shared<const StoredMap>(map);
}

StoredMapPointer spaced_map(std::uint64_t address, std::int64_t bytes, std::int64_t images,
                            std::int64_t pixel_bytes, std::int64_t image_stride) {
  StoredMap map;
  map.address = address;
  map.images = images, map.pixels = bytes / images / pixel_bytes;
  map.pixel_bytes = map.block_bytes = pixel_bytes, map.image_stride = image_stride;
  const bool dense = images == 1 || map.pixels * pixel_bytes == image_stride;
  return dense ? nullptr : std::make_shared<const StoredMap>(map);
}

std::vector<std::uint8_t> bytes_to_store(const StoredMap& map, const std::vector<std::uint8_t>& nhwc) {
  std::vector<std::uint8_t> stored(to_size(map.size_bytes()));
  for_runs(map, [&](std::int64_t from, std::int64_t to, std::int64_t bytes) {
    std::copy_n(nhwc.begin() + from, bytes, stored.begin() + to);
  });
  return stored;
}

std::vector<std::uint8_t> bytes_as_nhwc(const StoredMap& map, const std::vector<std::uint8_t>& stored) {
  std::vector<std::uint8_t> nhwc(to_size(map.images * map.pixels * map.pixel_bytes));
  for_runs(map, [&](std::int64_t to, std::int64_t from, std::int64_t bytes) {
    std::copy_n(stored.begin() + from, bytes, nhwc.begin() + to);
  });
  return nhwc;
}

}  // namespace tilebeat
