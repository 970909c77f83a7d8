#pragma once

#include "base/types.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace tilebeat {

// Images of weights (SPEC DT-1, docs/types.md): weights of four bits as a core's memory holds them where they
// become int8 when an engine reads them (`chip.decompress`: read).
//
// An image is a header, the scales of all frames, a byte each, if `zero_points` as many zero points of four
// bits, zeros up to a multiple of kImageCodesAlignment bytes, and then blocks. A block is `weights` codes of
// four bits, two a byte, the low half first, and behind them `plain` bytes as they are; the last block has
// `last_weights` and `last_plain`. A frame is `periods` periods of `scales` runs, in the last block of
// `last_scales` runs, in each of which `run` codes, in the last one of a period `tail` if that is not 0, have
// one scale. Every block begins with a frame; its last frame may be cut off.
//
// An engine counts the bytes of an image as if they were decoded: those of a block are its weights and then
// its plain bytes.

constexpr int kImageHeaderBytes = 32;
constexpr std::int64_t kImageCodesAlignment = 32;  ///< bytes, of the first code: zeros fill up the scales

/// The frames of a block of an image: where the scales of its weights stand.
struct ImageFrames {
  int run = 1, scales = 1, periods = 1, tail = 0;

  /// Codes of run `i` of a period.
  int run_length(int i) const { return tail > 0 && i == scales - 1 ? tail : run; }
  /// Weights of a period, and of a frame.
  std::int64_t period() const { return std::int64_t{run} * (scales - 1) + run_length(scales - 1); }
  std::int64_t frame() const { return period() * periods; }
  /// Scales of the first `weights` weights, of every frame that they begin.
  std::int64_t scales_of(std::int64_t weights) const { return ceil_div(weights, frame()) * scales; }
  /// The scale of weight `weight` of a block, counted in the block.
  std::int64_t scale_of(std::int64_t weight) const {
    const std::int64_t in_period = weight % period();
    return weight / frame() * scales + std::min<std::int64_t>(in_period / run, scales - 1);
  }
};

/// The header of an image.
struct WeightImage {
  ImageFrames frames;
  int last_scales = 1;  ///< scales of a period in the last block
  int shift = 0;
  bool is_signed = true, zero_points = false;
  std::int64_t blocks = 1, weights = 0, last_weights = 0;
  int plain = 0, last_plain = 0;

  ImageFrames frames_of(std::int64_t block) const {
    ImageFrames made = frames;
    if (block == blocks - 1) made.scales = last_scales;
    return made;
  }
  /// Decoded bytes of a block that is not the last one, and of all.
  std::int64_t block_bytes() const { return weights + plain; }
  std::int64_t decoded_bytes() const { return (blocks - 1) * block_bytes() + last_weights + last_plain; }
  /// Scales of a block that is not the last one, and of all.
  std::int64_t block_scales() const { return frames.scales_of(weights); }
  std::int64_t all_scales() const {
    return (blocks - 1) * block_scales() + frames_of(blocks - 1).scales_of(last_weights);
  }
  /// Where the codes of the first block begin, and the bytes of all.
  std::int64_t codes_begin() const {
    const std::int64_t count = all_scales();
    return align_up(kImageHeaderBytes + count + (zero_points ? ceil_div<std::int64_t>(count, 2) : 0),
                    kImageCodesAlignment);
  }
  std::int64_t bytes() const {
    return codes_begin() + (blocks - 1) * packed_block() + ceil_div<std::int64_t>(last_weights, 2) +
           last_plain;
  }

  std::array<std::uint8_t, kImageHeaderBytes> encoded() const;
  /// Throws SimulationError for a header that no image has.
  static WeightImage decoded(const std::uint8_t* header);

  /// Neighbouring bytes of an image.
  struct Bytes {
    std::int64_t begin = 0, count = 0;
  };
  /// A part of decoded bytes: weights, or plain bytes, of one block. Both count as bytes of the block; the
  /// codes, or plain bytes, of the block begin at byte `begin` of the image.
  struct Part {
    std::int64_t block = 0, from = 0, to = 0, begin = 0;
    bool is_plain = false;
    /// The bytes of the image that hold the part.
    Bytes bytes() const {
      return is_plain ? Bytes{begin, to - from} : Bytes{begin + from / 2, (to + 1) / 2 - from / 2};
    }
  };
  /// Calls `visit(part)` for the parts of decoded bytes [begin, end) in turn. Throws SimulationError for
  /// bytes beyond the image.
  template <class Visit>
  void for_parts(std::int64_t begin, std::int64_t end, const Visit& visit) const {
    check(begin, end);
    while (begin < end) {
      const Part part = part_at(begin, end);
      visit(part);
      begin += part.to - part.from;
    }
  }

 private:
  void check(std::int64_t begin, std::int64_t end) const;
  Part part_at(std::int64_t begin, std::int64_t end) const;
  std::int64_t packed_block() const { return ceil_div<std::int64_t>(weights, 2) + plain; }
};

}  // namespace tilebeat
