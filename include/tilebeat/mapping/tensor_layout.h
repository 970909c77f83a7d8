#pragma once

#include "tilebeat/workload/stored_map.h"

#include <cstdint>

namespace tilebeat {

/// Where an NHWC tensor, or a tile of one, lies in a memory: the byte address of its first element, and the
/// bytes from one image, row, pixel and channel to the next. The channels of a pixel are neighbours, but in
/// the A of a product that is stored transposed.
struct TensorLayout {
  std::uint64_t address = 0;
  std::int64_t image_stride = 0, row_stride = 0, pixel_stride = 0;
  std::int64_t channel_stride = 1;
  /// A map in DRAM that really lies in another order: transfers are moved (moved_transfers.h).
  StoredMapPointer stored = {};

  /// The address of channel 0 of a pixel.
  std::uint64_t at(std::int64_t image, std::int64_t row, std::int64_t column) const {
    return address +
           static_cast<std::uint64_t>(image * image_stride + row * row_stride + column * pixel_stride);
  }
  /// The same tensor with `bytes` of every pixel in front left out.
  TensorLayout from_channel_byte(std::int64_t bytes) const {
    TensorLayout part = *this;
    part.address += static_cast<std::uint64_t>(bytes);
    return part;
  }
  /// A tensor that fills its place without gaps.
  static TensorLayout dense(std::uint64_t address, std::int64_t height, std::int64_t width,
                            std::int64_t pixel_bytes) {
    return {address, height * width * pixel_bytes, width * pixel_bytes, pixel_bytes, 1};
  }
};

}  // namespace tilebeat
