#pragma once

#include "tilebeat/base/activity.h"
#include "tilebeat/base/dtype.h"
#include "tilebeat/base/read_mode.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tilebeat {

/// Bytes of one instruction: sixteen little-endian 32-bit words (docs/isa.md).
constexpr int kInstructionBytes = 64;
using InstructionBytes = std::array<std::uint8_t, kInstructionBytes>;

/// The units that execute instructions; each has an in-order queue of its own in the command processor.
/// The first four are the matrix unit and its channels, the next ones the vector unit, the DMA engines of
/// cores and memory cores (SPEC HI-2, HI-3) and the engine that folds maps inside NRAM (SPEC WF-5).
enum class Unit : std::uint8_t {
  kLoad,
  kParameter,
  kMatrix,
  kStore,
  kVector,
  kIodma,
  kMvdma,
  kGdma,
  kCdma,
  kFold,
  kSync
};
constexpr int kQueuedUnits = 10;  ///< all but kSync, which the command processor executes itself
constexpr std::array<const char*, kQueuedUnits + 1> kUnitNames{
    "load", "parameter", "matrix", "store", "vector", "iodma", "mvdma", "gdma", "cdma", "fold", "sync"};

enum class Opcode : std::uint8_t {
  kConvSetup = 0x01,
  kConvRun = 0x02,
  kWfoldRun = 0x03,
  kLoadInput = 0x10,
  kLoadKernels = 0x11,
  kStoreOutput = 0x12,
  kLayerEnd = 0x20,
  kHalt = 0x21,
  kBarrier = 0x22,
  kSignal = 0x23,
  kCopyIodma = 0x30,
  kCopyMvdma = 0x31,
  kCopyGdma = 0x32,
  kCopyCdma = 0x33,
  kCopyFold = 0x34,
  kVectorRun = 0x40,
};

/// A counting semaphore; 0 means none. An instruction waits until each of its `waits` is above zero and takes
/// one from each; it adds one to each of its signals.
using Semaphore = std::uint8_t;
constexpr int kSemaphores = 256;
constexpr int kMaxParameterSlots = 64;
constexpr Semaphore input_full(int copy) {
  return static_cast<Semaphore>(1 + copy);
}
constexpr Semaphore input_free(int copy) {
  return static_cast<Semaphore>(3 + copy);
}
constexpr Semaphore output_full(int half) {
  return static_cast<Semaphore>(5 + half);
}
constexpr Semaphore output_free(int half) {
  return static_cast<Semaphore>(7 + half);
}
/// The first of the two transfers that fill a buffer for a map is complete (SPEC WF-5).
constexpr int kFoldBuffers = 2;
constexpr Semaphore map_begun(int buffer) {
  return static_cast<Semaphore>(9 + buffer);
}
constexpr Semaphore kernels_full(int slot) {
  return static_cast<Semaphore>(16 + slot);
}
constexpr Semaphore kernels_free(int slot) {
  return static_cast<Semaphore>(16 + kMaxParameterSlots + slot);
}

/// Buffers of a core's memories, up to kMemoryBuffers of each kind.
constexpr int kMemoryBuffers = 8;
constexpr Semaphore map_full(int buffer) {
  return static_cast<Semaphore>(144 + buffer);
}
constexpr Semaphore map_free(int buffer) {
  return static_cast<Semaphore>(152 + buffer);
}
constexpr Semaphore wram_full(int buffer) {
  return static_cast<Semaphore>(160 + buffer);
}
constexpr Semaphore wram_free(int buffer) {
  return static_cast<Semaphore>(168 + buffer);
}
constexpr Semaphore result_full(int buffer) {
  return static_cast<Semaphore>(176 + buffer);
}
constexpr Semaphore result_free(int buffer) {
  return static_cast<Semaphore>(184 + buffer);
}
/// Every result of a layer lies in memory.
constexpr Semaphore kLayerStored = 192;
/// Given by other processors of the cluster.
constexpr int kPeerSemaphores = 56;
constexpr Semaphore peer(int number) {
  return static_cast<Semaphore>(200 + number);
}

/// What a unit waits for while it waits for `semaphore`, as stall cause and as text.
Activity semaphore_activity(Semaphore semaphore);
std::string semaphore_name(Semaphore semaphore);
/// The semaphore of a name as `semaphore_name` gives it; nothing for any other text.
std::optional<Semaphore> semaphore_of(std::string_view name);

using Semaphores = std::array<Semaphore, 4>;

/// The registers of one convolution (SPEC SW-2, NU-1, NU-2); they hold for every following kConvRun.
struct ConvSetup {
  std::uint16_t kernel_h = 1, kernel_w = 1;
  std::uint16_t stride_h = 1, stride_w = 1;
  std::uint16_t dilation_h = 1, dilation_w = 1;
  std::int16_t input_zero_point = 0;
  std::int16_t weight_zero_point = 0;
  DType input_type = DType::kInt8;
  DType output_type = DType::kInt32;
  bool requantise = false;       ///< scale and zero point apply; otherwise int32 accumulators leave
  bool clamp = false;            ///< keep clamp_low <= acc <= clamp_high before requantisation
  bool post_parameters = false;  ///< each kernel block comes with biases and scales
  std::int32_t clamp_low = 0, clamp_high = 0;
  std::int32_t output_zero_point = 0;
};

/// One chunk: output rows x columns for one kernel block from one copy of the input banks (SPEC SW-2, SW-7).
struct ConvRun {
  std::uint8_t copy = 0;  ///< which copy of every bank is read
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
  std::uint32_t macs_per_pixel =
      0;  ///< useful multiply-accumulates of one output pixel, of planes * P * C * taps
};

/// A convolution on the W-fold engine (SPEC section 4): `rows` x `columns` x `kernels` outputs from a map in
/// NRAM whose rows lie there without gaps, with kernels in the regions of WRAM, to NRAM. A folded pixel is
/// `pixel_bytes` = stride x channels bytes; folded column f of a row begins at its byte f * pixel_bytes -
/// lead_bytes, and what lies outside the row is the input's zero point. Every region holds kernels and
/// post-parameters as WfoldSchedule says.
struct WfoldRun {
  std::uint32_t map = 0;                  ///< byte offset in NRAM of the map's first row
  std::uint32_t row_bytes = 0;            ///< of the map
  std::int32_t lead_bytes = 0;            ///< see above; more than 0 for padding on the left
  std::uint32_t weights = 0;              ///< byte offset in every region of WRAM
  std::uint32_t result = 0;               ///< byte offset in NRAM of output (0,0), kernel 0
  std::uint32_t result_pixel = 0;         ///< bytes from an output pixel to the next, rows without gaps
  std::uint32_t macs_per_output = 0;      ///< useful multiply-accumulates of one output element
  std::uint16_t rows = 0, columns = 0;    ///< output pixels
  std::uint16_t kernels = 0;              ///< output channels
  std::uint16_t height = 0;               ///< rows of the map
  std::int16_t h_offset = 0;              ///< row of the map of output row 0, tap row 0
  std::uint16_t pixel_bytes = 0;          ///< of a folded pixel
  std::uint16_t first_channel = 0;        ///< byte of the folded pixel where the kernels' channels begin
  std::uint16_t channels = 0;             ///< bytes of the folded pixel that the kernels touch
  std::uint16_t granularity = 64;         ///< Pci
  std::uint16_t result_granularity = 64;  ///< Pco, in bytes
  WfoldReadMode read_mode = WfoldReadMode::kContinuous;
  bool block_outer = false;  ///< channel blocks are the outer loop, kernel rows the inner one
};

/// Loads a tile of an NHWC map through the arrangement into one copy of the banks (SPEC SW-1, SW-7).
struct LoadInput {
  std::uint8_t copy = 0;
  std::uint64_t address = 0;       ///< DRAM byte address of the tile's first pixel and first channel
  std::uint32_t row_stride = 0;    ///< bytes from a row to the next in DRAM
  std::uint32_t pixel_stride = 0;  ///< bytes from a pixel to the next in DRAM
  std::uint16_t height = 0, width = 0;
  std::uint16_t channels = 0;                ///< bytes taken of each pixel
  std::uint16_t stride_h = 1, stride_w = 1;  ///< for the stride-aware arrangement (SPEC SW-5)
  std::uint8_t fill = 0;  ///< byte for channels beyond `channels` in the last word: the zero point
};

/// Loads one kernel block into the parameter buffer, with its biases and scales.
struct LoadKernels {
  std::uint64_t address =
      0;  ///< DRAM byte address of the packed words: word-major, then column, P bytes each
  std::uint64_t post_address = 0;    ///< DRAM byte address of C post-parameter records of 16 bytes
  std::uint32_t words = 0;           ///< words a column
  std::uint32_t parameter_word = 0;  ///< first word in the parameter buffer
  std::uint16_t slot = 0;            ///< post-parameter slot
  std::uint16_t post_records = 0;    ///< records to load, 0 for none
};

/// Stores a block of the output buffer as part of an NHWC tensor.
struct StoreOutput {
  std::uint64_t address = 0;       ///< DRAM byte address of the block's first element
  std::uint32_t row_stride = 0;    ///< bytes from a row to the next in DRAM
  std::uint32_t pixel_stride = 0;  ///< bytes from a pixel to the next in DRAM
  std::uint32_t source = 0;        ///< byte address in the output buffer; pixels lie there back to back
  std::uint32_t pixel_bytes = 0;   ///< bytes of each pixel
  std::uint16_t rows = 0, columns = 0;
};

/// Copies `outer_count` x `inner_count` runs of `run_bytes` from one memory to another (SPEC HI-2 to HI-4).
/// `unit` says which DMA engine does it: IODMA (DRAM and NRAM/WRAM), MVDMA (SRAM and NRAM/WRAM), GDMA (DRAM
/// and SRAM), CDMA (SRAM to the SRAM of another cluster), fold (NRAM to NRAM, also to an overlapping place
/// in front of the source). The destination may have a border of `fill` bytes:
/// `pad_top` rows above, `pad_bottom` below, `pad_left` and `pad_right` runs beside each row; it then starts
/// with the border.
struct Copy {
  Unit unit = Unit::kIodma;
  std::uint64_t source = 0, destination = 0;  ///< byte addresses in the chip's address map
  std::uint32_t run_bytes = 0;
  std::uint16_t inner_count = 1, outer_count = 1;                            ///< of the source
  std::uint32_t source_inner_stride = 0, source_outer_stride = 0;            ///< bytes
  std::uint32_t destination_inner_stride = 0, destination_outer_stride = 0;  ///< bytes
  std::uint8_t pad_top = 0, pad_left = 0, pad_bottom = 0, pad_right = 0;
  std::uint8_t fill = 0;
};

/// What the vector unit computes; the formulas are in docs/vector.md.
enum class VectorKind : std::uint8_t { kTable, kScale, kAdd, kSub, kMul, kMaxPool, kAveragePool, kSoftmax };
constexpr std::array<const char*, 8> kVectorKindNames{"table", "scale",   "add",         "sub",
                                                      "mul",   "maxpool", "averagepool", "softmax"};

/// One operation of the vector unit over `rows` x `columns` pixels of `channels` elements in NRAM. Maps lie
/// there without gaps. For pooling `height` x `width` is the source map and the rest as in ConvRun; otherwise
/// the sources have the shape of the result. `parameters` is where tables and factors lie: 256 bytes (table),
/// the output's factor and 16 bytes a channel (scale: factor and offset), 24 bytes (add, sub, mul: two input
/// factors and the output's), 2056 bytes (softmax: 256 exponentials and the output's factor).
struct VectorRun {
  VectorKind kind = VectorKind::kTable;
  DType a_type = DType::kInt8, b_type = DType::kInt8, out_type = DType::kInt8;
  bool relu = false;           ///< negative values become 0 before requantisation (add, sub, mul)
  bool count_padding = false;  ///< an average divides by the kernel's taps instead of those inside the map
  std::int16_t a_zero = 0, b_zero = 0, out_zero = 0;
  std::uint32_t a = 0, b = 0, destination = 0, parameters = 0;  ///< byte offsets in NRAM
  std::uint16_t rows = 0, columns = 0, channels = 0;            ///< of the result
  std::uint16_t height = 0, width = 0;                          ///< of the source of a pooling
  std::uint16_t kernel_h = 1, kernel_w = 1;
  std::uint8_t stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1;
  std::int16_t h_offset = 0, w_offset = 0;  ///< position of output (0,0), tap (0,0) in the source
};

/// Arrives at barrier `id` of the chip and waits until `participants` processors have (SPEC HI-5). Later
/// instructions are not decoded before that.
struct Barrier {
  std::uint16_t id = 0;
  std::uint16_t participants = 1;
};

/// Gives one to `semaphore` of other processors of the cluster: bit i of `processors` is core i, the bit
/// after the last core the memory core.
struct Signal {
  std::uint64_t processors = 0;
  std::uint8_t semaphore = 0;
};

/// Fence: nothing later starts before everything earlier is complete, stores included. Ends layer `layer`.
struct LayerEnd {
  std::uint32_t layer = 0;
};
/// End of the program: the host is interrupted.
struct Halt {};

/// One instruction: an operation with the tokens it waits for and gives.
struct Instruction {
  Semaphores waits{};            ///< taken before it is dispatched
  Semaphores release_signals{};  ///< given when its operands are no longer needed
  Semaphores done_signals{};     ///< given when its results are complete
  std::variant<ConvSetup, ConvRun, WfoldRun, LoadInput, LoadKernels, StoreOutput, LayerEnd, Halt, Barrier,
               Signal, Copy, VectorRun>
      operation;
};

/// The unit whose queue the instruction goes to.
Unit unit_of(const Instruction& instruction);
/// Binary encoding (docs/isa.md).
InstructionBytes encode(const Instruction& instruction);
/// Decodes; throws SimulationError with what is wrong for an illegal opcode or field. `encode(decode(b)) ==
/// b` for all legal `b`.
Instruction decode(const InstructionBytes& bytes);
/// What it is and how much it works on, in a few words: "conv.run 20x56x16".
std::string summary(const Instruction& instruction);
/// One line of text, with the tokens. Fields that have their default value are left out.
std::string disassemble(const Instruction& instruction);
/// The instruction that a line of text in the form of `disassemble` describes. Throws UserError with what is
/// wrong, but not where: `assemble(disassemble(i)) == i`.
Instruction assemble(std::string_view line);

/// One record of post-parameters in DRAM: 16 bytes, little-endian (scale: bytes 0-7, bias: 8-11, zero:
/// 12-15).
struct PostParameter {
  double scale = 1.0;
  std::int32_t bias = 0;
};
constexpr int kPostParameterBytes = 16;
std::array<std::uint8_t, kPostParameterBytes> encode(const PostParameter& parameter);
PostParameter decode_post_parameter(const std::uint8_t* bytes);

}  // namespace tilebeat
