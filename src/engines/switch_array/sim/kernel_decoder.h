#pragma once

#include "engines/switch_array/operations.h"
#include "fabric/strided_block.h"
#include "units/weight_decoder.h"

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace tilebeat::switch_array {

/// The decoder of the parameter channel (SPEC DT-1), between its landing buffer and the parameter loader. Of
/// images it holds the header and the scales of one, and makes at most a bus beat of weights a cycle of the
/// codes that wait in the landing buffer, in the cycle in which they are streamed. Weight streams it takes
/// one after the other, as the decoders of DMA engines.
class KernelDecoder {
 public:
  /// Decoded bytes of the image.
  struct Range {
    std::int64_t begin = 0, end = 0;
  };

  int most_scales = 0;  ///< that it has room for; 0: the channel has no decoder

  /// Throws SimulationError for a load that brings no image.
  static void check(const LoadImage& load);
  /// An image's bytes in front of its codes have been requested, and begin to arrive.
  void begin(const LoadImage& load);
  /// Takes bytes of them.
  void take(const std::uint8_t* bytes, int count);
  /// Whether all that was requested of images is there.
  bool is_ready() const { return under_way_ == 0; }
  void requested() { ++under_way_; }

  /// The blocks of memory that hold `count` decoded bytes from address `address` on. Throws SimulationError
  /// where no image was loaded or it does not have them.
  std::deque<StridedBlock> find(std::uint64_t address, std::int64_t count);
  /// The decoded bytes that a burst of `bytes` bytes at `address` holds, of those found last.
  Range range_of(std::uint64_t address, int bytes) const;
  /// Decodes the codes of a range.
  const std::vector<std::uint8_t>& decode(const Range& range, const std::uint8_t* codes);

  /// A stream of `weights` weights begins.
  void begin_stream(std::int64_t weights) { weights_left_ = weights; }
  /// Decodes the next bytes of the stream; `last`: no others follow. Throws SimulationError when it has more
  /// weights, or ends before them.
  const std::vector<std::uint8_t>& decode_stream(const std::uint8_t* bytes, int count, bool last);

 private:
  int under_way_ = 0;
  LoadImage image_;
  std::vector<std::uint8_t> front_;      // what has arrived of the image being loaded
  std::optional<WeightWindow> window_;   // none: no image was loaded
  std::deque<WeightImage::Part> parts_;  // found last
  std::vector<std::uint8_t> decoded_;
  WeightDecoder of_streams_;
  std::int64_t weights_left_ = 0;  // of the stream
};

}  // namespace tilebeat::switch_array
