#pragma once

#include "base/dtype.h"
#include "isa/operation.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tilebeat {

/// The most bytes that one instruction may move, far beyond the size of every memory.
constexpr std::int64_t kMostTransferBytes = std::int64_t{1} << 40;
/// The error of a transfer with these counts of runs and bytes per run; empty: no error.
std::string transfer_fault(std::int64_t outer_count, std::int64_t inner_count, std::int64_t run_bytes);

// Operations that do not belong to a single engine: those of the command processor, the copies, the vector
// unit's, and the registers of a convolution, which several engines share. Operations of a single engine are
// in its folder.

/// The registers of one convolution (SPEC SW-2, NU-1, NU-2); they hold for every run of a
/// matrix engine that follows.
struct ConvSetup {
  static constexpr OperationKind kKind{"conv.setup", 0x01, Unit::kMatrix};

  std::uint16_t kernel_h = 1, kernel_w = 1;
  std::uint16_t stride_h = 1, stride_w = 1;
  std::uint16_t dilation_h = 1, dilation_w = 1;
  std::int16_t input_zero_point = 0;
  std::int16_t weight_zero_point = 0;
  /// kInt16: the bytes of a pixel are the halves of its channels, the low one first (SPEC DT-2).
  DType input_type = DType::kInt8;
  DType output_type = DType::kInt32;
  bool requantise = false;       ///< scale and zero point apply; otherwise accumulators leave
  bool clamp = false;            ///< keep clamp_low <= acc <= clamp_high before requantisation
  bool post_parameters = false;  ///< each kernel block comes with biases and scales
  std::int32_t clamp_low = 0, clamp_high = 0;
  std::int32_t output_zero_point = 0;
  DType weight_type = DType::kInt8;  ///< kUint8: kernels that are results of another layer
  /// Function of a requantised result: sat(round(f(acc * scale) * output_scale) + output_zero_point).
  RealFunction function = RealFunction::kNone;
  double output_scale = 1;
  double slope = 0;  ///< slope of leaky_relu
  /// The requantisation of an accumulator (SPEC NU-6). The functions need kReal64.
  Rescale rescale = Rescale::kReal64;
  /// Bounds of requantised results: the least is the output type's least value plus `floor`, the greatest its
  /// greatest value less `ceiling`.
  std::uint16_t floor = 0, ceiling = 0;

  void describe(FieldVisitor& visit);
  std::string fault() const;
};

/// Copies `outer_count` x `inner_count` runs of `run_bytes` from one memory to another (SPEC HI-2 to HI-4).
/// `unit` says which DMA engine does it: IODMA (DRAM and NRAM/WRAM), MVDMA (SRAM and NRAM/WRAM), GDMA (DRAM
/// and SRAM), CDMA (SRAM to the SRAM of another cluster), fold (NRAM to NRAM, also to an overlapping place
/// in front of the source), iostore (the IODMA for stores of a core that has one). The destination may have a
/// border of `fill` bytes: `pad_top` rows above, `pad_bottom` below, `pad_left` and `pad_right` runs beside
/// each row; it then starts with the border.
///
/// With `transposed_columns` it is a transposing copy: each row of the source, `inner_count` runs one below
/// the other, is a block. Bytes i of its runs become neighbours at the destination; byte i + 1 follows
/// `destination_inner_stride` bytes on, and after every `transposed_columns` of them `transposed_stride`
/// bytes on.
///
/// With `decodes` the source is a stream of weights of four bits (isa/weight_stream.h), `stream_bytes()`
/// bytes without gaps, and its int8 weights fill the runs of the destination one after the other.
struct Copy {
  static constexpr std::array<OperationKind, 6> kKinds{{{"iodma.copy", 0x30, Unit::kIodma},
                                                        {"mvdma.copy", 0x31, Unit::kMvdma},
                                                        {"gdma.copy", 0x32, Unit::kGdma},
                                                        {"cdma.copy", 0x33, Unit::kCdma},
                                                        {"fold.copy", 0x34, Unit::kFold},
                                                        {"iostore.copy", 0x35, Unit::kIostore}}};

  Unit unit = Unit::kIodma;
  std::uint64_t source = 0, destination = 0;  ///< byte addresses in the chip's address map
  std::uint32_t run_bytes = 0;
  std::uint16_t inner_count = 1, outer_count = 1;                            ///< of the source
  std::uint32_t source_inner_stride = 0, source_outer_stride = 0;            ///< bytes
  std::uint32_t destination_inner_stride = 0, destination_outer_stride = 0;  ///< bytes
  std::uint8_t pad_top = 0, pad_left = 0, pad_bottom = 0, pad_right = 0;
  std::uint8_t fill = 0;
  std::uint16_t transposed_columns = 0;  ///< 0: runs arrive as they are
  std::uint32_t transposed_stride = 0;   ///< bytes
  bool decodes = false;

  /// Bytes of the source of a copy that decodes; its field is the stride between runs, of which it has one.
  std::uint32_t stream_bytes() const { return source_inner_stride; }
  bool turns() const { return transposed_columns != 0; }
  /// Bytes of a block that is transposed; 0: the copy transposes nothing.
  std::int64_t block_bytes() const {
    return transposed_columns == 0 ? 0 : std::int64_t{run_bytes} * inner_count;
  }

  void describe(FieldVisitor& visit);
  std::string subject() const;
  std::string fault() const;
};

/// Copies rows of a table whose numbers lie in a memory of the core: IODMA reads `count` indices, int32, then
/// the row of each, and writes the rows one behind the other. With `more_rows` a row has two numbers, the
/// second ones at `more_indices`: row i begins at source + indices[i] * pitch + more_indices[i] * more_pitch.
struct RowGather {
  static constexpr OperationKind kKind{"iodma.gather", 0x36, Unit::kIodma};
  static constexpr std::int64_t kIndexBytes = 4;
  static constexpr int kHeld = 16;  ///< indices of each kind that the engine has registers for

  std::uint64_t source = 0, destination = 0;  ///< of the table's first row; of the first row that is copied
  std::uint64_t indices = 0, more_indices = 0;
  std::uint16_t count = 1;
  std::uint32_t row_bytes = 1;              ///< bytes that are copied of a row
  std::uint32_t pitch = 0, more_pitch = 0;  ///< bytes from a row to the next
  std::uint32_t rows = 1, more_rows = 0;    ///< indices are less than these; 0: there are no second ones

  void describe(FieldVisitor& visit);
  std::string subject() const;
  std::string fault() const;
};

/// The operations of the vector unit; the formulas are in docs/vector.md.
enum class VectorKind : std::uint8_t {
  kTable,
  kScale,
  kAdd,
  kSub,
  kMul,
  kMaxPool,
  kAveragePool,
  kSoftmax,
  kAddSums,      ///< adds partial sums of matrix units
  kEndSums,      ///< adds the last partial sums and turns them into results, as a matrix unit does
  kMean,         ///< a pooling that divides by a constant
  kQuantize,     ///< bytes of float32
  kDequantize,   ///< float32 of bytes or int32
  kRange,        ///< the minimum and maximum of a range and of float32 elements
  kDynamic,      ///< uint8 of float32 as DynamicQuantizeLinear makes them of a range; or their step
  kDynamicZero,  ///< the zero point of kDynamic's elements
  kMax,          ///< the greater of two elements
  kMin,          ///< the lesser
  kSlopes,       ///< an element times one factor where it is at least 0, and another one elsewhere
  kSigmoid,      ///< of int16, with a table of 256 entries or in fixed point alone
  kTanh          ///< likewise
};
constexpr std::array<std::string_view, 21> kVectorKindNames{
    "table",   "scale",       "add",     "sub",  "mul",      "maxpool",    "averagepool",
    "softmax", "addsums",     "endsums", "mean", "quantize", "dequantize", "range",
    "dynamic", "dynamiczero", "max",     "min",  "slopes",   "sigmoid",    "tanh"};
constexpr FieldChoices choices_of(VectorKind) {
  return {"vector operation", kVectorKindNames.data(), kVectorKindNames.size()};
}

/// The way a mean in fixed point ends, the word behind the two factors in its parameters: a whole multiplier
/// and a shift; a float32 factor and offset, half away from zero; or the quotient towards zero.
enum class MeanForm : std::int32_t { kWhole, kFloat, kQuotient };

/// The way a sum or a difference of int16 is made in fixed point, the word behind its three factors: by these
/// factors, or by the shifts of the first two, to the right, half away from zero.
enum class SumForm : std::int32_t { kFactors, kShifts };

/// The way a sigmoid or tanh of int16 is made, the first word of its parameters: between two entries of the
/// table, or in fixed point without it.
enum class CurveForm : std::int32_t { kTable, kSeries };

constexpr int kSigmoidEntries = 256;   ///< of the table of a sigmoid or tanh of int16, 16 bits each
constexpr int kIntervalEntries = 513;  ///< of each of the two tables of a softmax of int16, 16 bits each

/// One operation of the vector unit over `rows` x `columns` pixels of `channels` elements in NRAM. Maps lie
/// there without gaps. For pooling `height` x `width` is the source map and the rest as in ConvRun; otherwise
/// the sources have the shape of the result. `parameters` is where tables and factors lie: 256 bytes (table),
/// the output's factor and 16 bytes a channel (scale: factor and offset), 24 bytes (add, sub, mul: two input
/// factors and the output's), 2056 bytes (softmax: 256 exponentials and the output's factor), 24 bytes
/// (slopes), the activation in 32 bytes and a PostParameter a channel (endsums).
struct VectorRun {
  static constexpr OperationKind kKind{"vector.run", 0x40, Unit::kVector};

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
  std::int16_t h_offset = 0, w_offset = 0;     ///< position of output (0,0), tap (0,0) in the source
  Arithmetic arithmetic = Arithmetic::kExact;  ///< of add, sub, mul, averagepool, softmax and mean
  /// The least result is the output type's least value plus `floor`, the greatest its greatest less
  /// `ceiling`; of results that are bytes or int16.
  std::uint16_t floor = 0, ceiling = 0;
  bool divide = false;  ///< mul: the quotient of a and b in place of the product

  void describe(FieldVisitor& visit);
  std::string subject() const;
  std::string fault() const;
};

/// Operations over all channels of a pixel; the formulas are in docs/vector.md.
enum class RowKind : std::uint8_t { kLayerNorm, kRmsNorm, kLrn, kArgMax, kOneHot, kCausalSoftmax };
constexpr std::array<std::string_view, 6> kRowKindNames{"layernorm", "rmsnorm", "lrn",
                                                        "argmax",    "onehot",  "causal_softmax"};
constexpr FieldChoices choices_of(RowKind) {
  return {"row operation", kRowKindNames.data(), kRowKindNames.size()};
}

/// An operation of the vector unit on `pixels` pixels of `channels` bytes, which lie in NRAM without gaps.
/// `parameters` is the offset of its factors: 16 bytes plus 16 per channel for layernorm and rmsnorm, 40 for
/// lrn, 2056 for causal_softmax (256 exponentials and the output's factor).
struct VectorRow {
  static constexpr OperationKind kKind{"vector.row", 0x42, Unit::kVector};

  RowKind kind = RowKind::kLayerNorm;
  DType a_type = DType::kInt8, out_type = DType::kInt8;
  std::int16_t a_zero = 0, out_zero = 0;
  std::uint8_t floor = 0, ceiling = 0;                   ///< as in VectorRun
  std::uint32_t a = 0, destination = 0, parameters = 0;  ///< byte offsets in NRAM
  std::uint32_t pixels = 1;
  std::uint16_t channels = 1;
  std::uint16_t size = 1;  ///< lrn: channels that are summed over; causal_softmax: that a pixel sees at most
  /// causal_softmax: the pixels are rows from `row` on, which count modulo `rows`. Row i sees the channels
  /// from i + past - size + 1 to i + past.
  std::uint32_t row = 0, rows = 1, past = 0;

  /// Number of result elements per pixel.
  int results() const { return kind == RowKind::kArgMax ? 1 : channels; }
  /// First channel that a pixel sees, and the one after the last.
  std::int64_t first_seen(std::int64_t pixel) const;
  std::int64_t end_seen(std::int64_t pixel) const;
  void describe(FieldVisitor& visit);
  std::string subject() const;
  std::string fault() const;
};

/// The source pixels of a resized pixel: the one at its position, or the up to four around it. kBilinearFixed
/// rounds their mean half away from zero and leaves the zero point in it.
enum class ResizeKind : std::uint8_t { kNearest, kBilinear, kBilinearFixed };
constexpr std::array<std::string_view, 3> kResizeKindNames{"nearest", "bilinear", "bilinear_fixed"};
constexpr FieldChoices choices_of(ResizeKind) {
  return {"kind of resize", kResizeKindNames.data(), kResizeKindNames.size()};
}

/// Makes `rows` x `columns` pixels of `channels` elements from a source of `height` x `width` pixels, both in
/// NRAM without gaps. Row i of the result lies at (h_first + i * h_step) / h_divisor of the source, column i
/// at (w_first + i * w_step) / w_divisor; the formulas are in docs/vector.md.
struct VectorResize {
  static constexpr OperationKind kKind{"vector.resize", 0x41, Unit::kVector};

  ResizeKind kind = ResizeKind::kNearest;
  DType type = DType::kInt8;                          ///< of source and result
  std::int16_t zero = 0;                              ///< zero point of both
  std::uint32_t a = 0, destination = 0;               ///< byte offsets in NRAM
  std::uint16_t rows = 0, columns = 0, channels = 0;  ///< of the result
  std::uint16_t height = 0, width = 0;                ///< of the source
  std::int32_t h_first = 0, w_first = 0;
  std::uint32_t h_step = 1, w_step = 1;
  std::uint32_t h_divisor = 1, w_divisor = 1;

  void describe(FieldVisitor& visit);
  std::string subject() const;
};

/// Arrives at barrier `id` of the chip and waits until `participants` processors have arrived (SPEC HI-5).
/// Later instructions are not decoded before that.
struct Barrier {
  static constexpr OperationKind kKind{"barrier", 0x22, Unit::kSync};

  std::uint16_t id = 0;
  std::uint16_t participants = 1;

  void describe(FieldVisitor& visit);
  std::string subject() const;
};

/// Adds one to `semaphore` of other processors of one cluster: bit i of `processors` is core i, the bit after
/// the last core the memory core.
struct Signal {
  static constexpr OperationKind kKind{"signal", 0x23, Unit::kSync};

  std::uint64_t processors = 0;
  std::uint8_t semaphore = 0;
  std::int8_t cluster_distance = 0;  ///< the cluster's number less that of the giver's cluster

  void describe(FieldVisitor& visit);
  std::string fault() const;
};

/// A fence: nothing later starts before everything earlier is complete, stores included. Ends layer `layer`.
struct LayerEnd {
  static constexpr OperationKind kKind{"layer.end", 0x20, Unit::kSync};

  std::uint32_t layer = 0;

  void describe(FieldVisitor& visit);
};
/// End of the program: the host is interrupted.
struct Halt {
  static constexpr OperationKind kKind{"halt", 0x21, Unit::kSync};

  void describe(FieldVisitor& visit);
};

/// The operations of this file.
std::vector<const OperationType*> core_operations();

}  // namespace tilebeat
