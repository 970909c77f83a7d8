#pragma once

#include "isa/weight_image.h"
#include "isa/weight_stream.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace tilebeat {

/// Half `number` of bytes, the low one of a byte first.
inline int half_byte(const std::uint8_t* bytes, std::int64_t number) {
  return bytes[number / 2] >> (4 * (number % 2)) & 15;
}

/// The datapath of every decoder (SPEC DT-1): four bits in two's complement or unsigned, a multiplier of 5 x
/// 8 bits, a rounding shift, saturation to int8.
std::uint8_t decoded_code(int code, int zero_point, int scale, int shift, bool is_signed);

/// The decoder of a DMA engine: turns the bytes of one weight stream after the other (isa/weight_stream.h)
/// into int8 weights. It holds the scales and zero points of one frame, and weights that come twice. It takes
/// no time; its owner counts the bytes that it has taken.
class WeightDecoder {
 public:
  /// A step of decoding: bytes of the stream that were taken, and weights that were made.
  struct Step {
    std::size_t taken = 0;
    int made = 0;
  };
  /// Decodes from `bytes` bytes at `stream`, which follow those taken before, up to `most` weights to
  /// `weights`. Takes what it can use and no byte of what follows the last weight.
  Step decode(const std::uint8_t* stream, std::size_t bytes, std::uint8_t* weights, int most);

  /// Whether all weights of the sections that were begun have been decoded.
  bool at_end() const { return !section_ && held_.empty(); }

 private:
  // Gives weights a second time. Returns false when there are none.
  bool give_twins(std::uint8_t* weights, int most, Step& step);
  // Takes bytes of the header, or of the scales and zero points of a frame. Returns whether all are there.
  bool take_front(const std::uint8_t* stream, std::size_t bytes, std::size_t& taken);
  std::size_t front_bytes() const;
  std::int64_t scale_bytes() const;
  void begin_section();
  void begin_frame();
  // Takes weights of the frame. Returns false when bytes are missing.
  bool take_weights(const std::uint8_t* stream, std::size_t bytes, std::uint8_t* weights, int most,
                    Step& step);
  void take_codes(const std::uint8_t* codes, std::uint8_t* weights, std::int64_t count);

  std::optional<WeightSection> section_;
  int frames_left_ = 0;
  bool has_scales_ = false;
  std::int64_t at_ = 0;              // next weight of the frame
  std::vector<std::uint8_t> front_;  // of the header, or of scales and zero points, so far
  std::vector<std::uint8_t> scales_, zero_points_;
  std::uint8_t codes_ = 0;          // the last byte of codes
  std::size_t twins_ = 0;           // weights that come twice together
  std::vector<std::uint8_t> held_;  // those that have come once
  std::size_t given_ = 0;           // of all `twins_`, come twice
};

/// What the decoder at a port of a matrix engine holds of an image (isa/weight_image.h): its header, scales
/// and zero points. It takes no time; the engine whose port it belongs to counts the accesses.
class WeightWindow {
 public:
  /// `header` has kImageHeaderBytes; the port has room for `most_scales` scales, for 0 there is no decoder.
  /// Throws SimulationError for a header that no image has, and where there is no room for the scales.
  WeightWindow(const std::uint8_t* header, int most_scales);
  /// Reads an image's header and then its scales with `read(bytes of the image, destination)`.
  template <class Read>
  WeightWindow(int most_scales, const Read& read);

  const WeightImage& image() const { return image_; }
  /// The bytes of the image with all scales, and with their zero points: none where it has no zero points.
  std::array<WeightImage::Bytes, 2> scales() const;
  /// Takes these bytes.
  void take(const std::uint8_t* scales, const std::uint8_t* zero_points);
  /// Decodes bytes [begin, end) from the bytes of the image that hold their parts (WeightImage::for_parts),
  /// one behind the other.
  void decode(std::int64_t begin, std::int64_t end, const std::uint8_t* bytes, std::uint8_t* decoded) const;
  /// Decodes bytes [begin, end), of which `read(bytes of the image, destination)` reads part after part.
  template <class Read>
  void read_and_decode(std::int64_t begin, std::int64_t end, std::uint8_t* decoded, const Read& read) const;

 private:
  void decode_part(const WeightImage::Part& part, const std::uint8_t* bytes, std::uint8_t* decoded) const;

  WeightImage image_;
  std::vector<std::uint8_t> scales_, zero_points_;
};

template <class Read>
std::array<std::uint8_t, kImageHeaderBytes> read_header(const Read& read) {
  std::array<std::uint8_t, kImageHeaderBytes> header{};
  read(WeightImage::Bytes{0, kImageHeaderBytes}, header.data());
  return header;
}

template <class Read>
WeightWindow::WeightWindow(int most_scales, const Read& read)
    : WeightWindow(read_header(read).data(), most_scales) {
  const auto [of_scales, of_zeros] = scales();
  std::vector<std::uint8_t> scale_bytes(to_size(of_scales.count)), zero_bytes(to_size(of_zeros.count));
  read(of_scales, scale_bytes.data());
  if (of_zeros.count > 0) read(of_zeros, zero_bytes.data());
  take(scale_bytes.data(), zero_bytes.data());
}

template <class Read>
void WeightWindow::read_and_decode(std::int64_t begin, std::int64_t end, std::uint8_t* decoded,
                                   const Read& read) const {
  std::vector<std::uint8_t> bytes;
  image_.for_parts(begin, end, [&](const WeightImage::Part& part) {
    const WeightImage::Bytes of = part.bytes();
    bytes.resize(to_size(of.count));
    read(of, bytes.data());
    decode_part(part, bytes.data(), decoded);
    decoded += part.to - part.from;
  });
}

}  // namespace tilebeat
