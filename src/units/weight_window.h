#pragma once

#include "isa/weight_image.h"

#include <array>
#include <cstdint>
#include <vector>

namespace tilebeat {

/// What the decoder at a reading port of a core's memory holds of an image (isa/weight_image.h): its header,
/// its scales and zero points. It takes no time; the engine whose
/// port it belongs to counts the accesses.
class WeightWindow {
 public:
  /// `header` has kImageHeaderBytes. Throws SimulationError for a header that no image has.
  explicit WeightWindow(const std::uint8_t* header) : image_(WeightImage::decoded(header)) {}

  const WeightImage& image() const { return image_; }
  /// The bytes of the image with all scales, and with their zero points: none where it has no zero points.
  std::array<WeightImage::Bytes, 2> scales() const;
  /// Takes these bytes.
  void take(const std::uint8_t* scales, const std::uint8_t* zero_points);
  /// Decodes bytes [begin, end) from the bytes of the image that hold their parts (WeightImage::for_parts),
  /// one behind the other.
  void decode(std::int64_t begin, std::int64_t end, const std::uint8_t* bytes, std::uint8_t* decoded) const;

 private:
  void decode_codes(const WeightImage::Part& part, const std::uint8_t* codes, std::uint8_t* decoded) const;

  WeightImage image_;
  std::vector<std::uint8_t> scales_, zero_points_;
};

}  // namespace tilebeat
