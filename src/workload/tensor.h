#pragma once

#include "base/dtype.h"
#include "base/map_layout.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace tilebeat {

/// A tensor: C-order elements. int8 and uint8 take one byte an element, int16 two, int32 and float32 four,
/// int64 eight, little-endian.
struct Tensor {
  std::vector<std::int64_t> shape;
  DType dtype = DType::kInt8;
  std::vector<std::uint8_t> bytes;

  std::int64_t elements() const;
  /// Element `index` (C order) of a tensor that is not int64, widened to 32 bits; the bits of a float32.
  std::int32_t at(std::int64_t index) const;
  /// The same of any tensor, widened to 64 bits.
  std::int64_t wide_at(std::int64_t index) const;
};

/// The description of a tensor, known before a run computes it. Maps are NHWC (SPEC NU-4).
struct TensorInfo {
  std::vector<std::int64_t> shape;
  DType dtype = DType::kInt8;
  std::int32_t zero_point = 0;
  std::int64_t elements() const;
  std::int64_t size_bytes() const { return elements() * dtype_size(dtype); }
};

/// A map [N, H, W, C] that is stored in another order than NHWC (SPEC OT-2): blocks of neighbouring channels
/// (of one channel in NCHW and CNHW) are stored separately. Or a tensor in C order with room behind each of
/// its images, where later elements are appended (SPEC AT-2). All numbers are bytes unless noted otherwise.
struct StoredMap {
  std::uint64_t address = 0;
  std::int64_t images = 1, pixels = 1;              ///< number of images; pixels of an image
  std::int64_t pixel_bytes = 1;                     ///< all channels of a pixel
  std::int64_t block_bytes = 1;                     ///< bytes of a pixel's channels in one block
  std::int64_t image_stride = 0, block_stride = 0;  ///< from pixel to pixel of a block it is `block_bytes`

  std::int64_t blocks() const { return (pixel_bytes + block_bytes - 1) / block_bytes; }
  /// From the first byte to the last one: larger than the elements when blocks are not full, or where room
  /// lies between images.
  std::int64_t size_bytes() const {
    return (images - 1) * image_stride + (blocks() - 1) * block_stride + pixels * block_bytes;
  }
  /// Whether it is in C order but for room behind every image.
  bool has_spaced_images() const { return block_bytes == pixel_bytes && image_stride > pixels * pixel_bytes; }
  /// From the map's start to the first byte of a pixel's part of a block.
  std::int64_t offset_of(std::int64_t image, std::int64_t pixel, std::int64_t block) const {
    return image * image_stride + block * block_stride + pixel * block_bytes;
  }
  /// The place of byte `offset` of the elements in C order, if images are spaced.
  std::int64_t place_of(std::int64_t offset) const {
    const std::int64_t image = pixels * pixel_bytes;
    return offset / image * image_stride + offset % image;
  }
};
/// Absent: the map is NHWC.
using StoredMapPointer = std::shared_ptr<const StoredMap>;

/// A map [N, H, W, C] at `address`; `block_channels`: of a block of NCHWc. Absent where every byte has the
/// same place as in NHWC: for that layout, and for maps of one pixel with full blocks, except CNHW with
/// several images.
StoredMapPointer stored_map(std::uint64_t address, const TensorInfo& map, MapLayout layout,
                            int block_channels);

/// A tensor of `bytes` bytes in C order at `address`, in images of pixels of `pixel_bytes` bytes that begin
/// `image_stride` bytes apart. Absent where no room is between them.
StoredMapPointer spaced_map(std::uint64_t address, std::int64_t bytes, std::int64_t images,
                            std::int64_t pixel_bytes, std::int64_t image_stride);

/// Converts bytes in NHWC to the order of the map, and back. Places without an element are 0.
std::vector<std::uint8_t> bytes_to_store(const StoredMap& map, const std::vector<std::uint8_t>& nhwc);
std::vector<std::uint8_t> bytes_as_nhwc(const StoredMap& map, const std::vector<std::uint8_t>& stored);

}  // namespace tilebeat
