#pragma once

#include "isa/operation.h"
#include "isa/operations.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tilebeat::switch_array {

/// One chunk, or several for neighbouring kernel blocks one behind the other: output rows x columns from one
/// copy of the input banks (SPEC SW-2, SW-7).
struct ConvRun {
  static constexpr OperationKind kKind{"conv.run", 0x02, Unit::kMatrix};

  std::uint8_t copy = 0;  ///< number of the bank copy that is read
  bool first = true;      ///< accumulators start from zero
  bool last = true;       ///< accumulators are complete and drained; false: later channels follow
  std::uint16_t rows = 0, columns = 0;      ///< output pixels
  std::uint16_t height = 0, width = 0;      ///< input pixels in the banks (tile-local map)
  std::int16_t h_offset = 0, w_offset = 0;  ///< tile-local input position of output (0,0) at tap (0,0)
  std::uint16_t first_plane = 0;            ///< first channel block in the banks
  std::uint16_t planes = 0;                 ///< channel blocks to run over
  std::uint16_t kernels = 0;                ///< kernels of the block that exist (columns beyond are surplus)
  std::uint16_t slot = 0;                   ///< post-parameter slot
  std::uint32_t parameter_word = 0;         ///< first word in the parameter buffer
  std::uint32_t output_base = 0;            ///< byte address of output (0,0), kernel 0, in the output buffer
  std::uint32_t output_stride = 0;          ///< bytes from one output pixel to the next in the output buffer
  /// Useful multiply-accumulates of one output pixel, out of planes * P * C * taps.
  std::uint32_t macs_per_pixel = 0;
  std::uint16_t blocks = 1;  ///< kernel blocks; more than one have all C kernels, begin and end their sums
  std::uint16_t plane_step = 0;  ///< from the first channel block of a kernel block to that of the next one
  /// What the set-up of the run would have to divide for (SPEC SW-9, set_quotients): words that a channel
  /// block takes in the fullest bank, and quotients by the arrangement's strides, 0 where a stride is 1:
  /// columns of each phase, and the offsets, rounded down.
  std::uint16_t plane_words = 0, phase_columns = 0;
  std::int16_t h_quotient = 0, w_quotient = 0;

  void describe(FieldVisitor& visit);
  std::string subject() const;
};

/// Loads a tile of an NHWC map through the arrangement into one copy of the banks (SPEC SW-1, SW-7).
struct LoadInput {
  static constexpr OperationKind kKind{"load.input", 0x10, Unit::kLoad};

  std::uint8_t copy = 0;
  std::uint64_t address = 0;       ///< DRAM byte address of the tile's first pixel and first channel
  std::uint32_t row_stride = 0;    ///< bytes from a row to the next in DRAM
  std::uint32_t pixel_stride = 0;  ///< bytes from a pixel to the next in DRAM
  std::uint16_t height = 0, width = 0;
  std::uint16_t channels = 0;  ///< bytes taken of each pixel
  /// Channels, whole words, that are taken of all pixels before the next ones; 0: all.
  std::uint16_t slice = 0;
  std::uint16_t stride_h = 1, stride_w = 1;  ///< for the stride-aware arrangement (SPEC SW-5)
  std::uint8_t fill = 0;  ///< byte for channels beyond `channels` in the last word: the zero point

  void describe(FieldVisitor& visit);
  std::string subject() const;
};

/// Brings the header and the scales of an image of packed kernels (isa/weight_image.h) to the decoder of the
/// channel, for the packed `load.kernels` that follow.
struct LoadImage {
  static constexpr OperationKind kKind{"load.image", 0x13, Unit::kParameter};

  std::uint64_t address = 0;       ///< byte address of the image
  std::uint32_t front_bytes = 32;  ///< bytes in front of the codes
  std::uint32_t bytes = 32;        ///< of the whole image

  void describe(FieldVisitor& visit);
  std::string subject() const;
};

/// Loads kernel blocks into the parameter buffer, with their biases and scales. Blocks follow one another
/// there and in memory. With `group_channels` only the bytes inside the kernels' groups come from memory
/// (KernelWords).
struct LoadKernels {
  static constexpr OperationKind kKind{"load.kernels", 0x11, Unit::kParameter};

  /// Byte address of the packed words, word-major, then column, P bytes each, or of their stream.
  std::uint64_t address = 0;
  std::uint64_t post_address = 0;    ///< DRAM byte address of post-parameter records of 16 bytes, C a block
  std::uint32_t words = 0;           ///< words a column, of all blocks
  std::uint32_t parameter_word = 0;  ///< first word in the parameter buffer
  std::uint8_t slot = 0;             ///< post-parameter slot of the first block
  bool packed = false;               ///< `address` counts decoded bytes of the image of the last `load.image`
  std::uint16_t post_records = 0;    ///< records to load, 0 for none
  /// Of the weight stream (isa/weight_stream.h) of which the channel makes the words; 0: they lie as they
  /// are.
  std::uint32_t stream_bytes = 0;
  std::uint32_t group_channels = 0;  ///< channels of a group; 0: all bytes of the words come from memory
  std::uint16_t group_kernels = 1;   ///< kernels of a group
  std::uint16_t first_kernel = 0;    ///< number of the first block's first kernel in its group
  std::uint16_t kernels = 0;         ///< from that one on: columns beyond them have none
  /// first channel of the first word, relative to the first channel of that group
  std::int32_t first_channel = 0;
  std::uint32_t block_words = 1;     ///< words a column of one block
  std::uint16_t block_channels = 0;  ///< from the first channel of a block to that of the next one
  std::uint32_t taps = 1;            ///< words of one channel block
  std::uint8_t fill = 0;             ///< the bytes that do not come from memory: the zero point

  void describe(FieldVisitor& visit);
  std::string subject() const;
  std::string fault() const;
};

/// Stores a block of the output buffer as part of an NHWC tensor.
struct StoreOutput {
  static constexpr OperationKind kKind{"store.output", 0x12, Unit::kStore};

  std::uint64_t address = 0;       ///< DRAM byte address of the block's first element
  std::uint32_t row_stride = 0;    ///< bytes from a row to the next in DRAM
  std::uint32_t pixel_stride = 0;  ///< bytes from a pixel to the next in DRAM
  std::uint32_t source = 0;        ///< byte address in the output buffer; pixels lie there back to back
  std::uint32_t pixel_bytes = 0;   ///< bytes of each pixel
  std::uint16_t rows = 0, columns = 0;

  void describe(FieldVisitor& visit);
  std::string subject() const;
  std::string fault() const;
};

struct SwitchArrayConfig;
/// Fills in the quotients of a run with the registers `setup`.
void set_quotients(const SwitchArrayConfig& config, const ConvSetup& setup, ConvRun& run);

/// The operations of the switch array and its channels.
std::vector<const OperationType*> operations();

}  // namespace tilebeat::switch_array
