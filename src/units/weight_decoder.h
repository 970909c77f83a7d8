#pragma once

#include "isa/weight_stream.h"

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

}  // namespace tilebeat
