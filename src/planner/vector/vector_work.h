#pragma once

#include "config/hardware_config.h"
#include "planner/language/problem.h"
#include "planner/language/transfer.h"
#include "program/plan.h"
#include "workload/operators.h"
#include "workload/workload.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace tilebeat {

/// Tensors whose elements are gone through in one order: index i, one number an axis, is element
/// offset + sum of i[axis] * strides[axis] of a tensor. The last axis is a line.
struct LineAxes {
  struct Tensor {
    std::int64_t offset = 0;
    std::vector<std::int64_t> strides;  ///< in elements; 0: the axis is repeated
    int element_bytes = 1;
  };
  std::vector<std::int64_t> extents;
  std::vector<Tensor> operands;
  Tensor result;

  std::int64_t line() const { return extents.back(); }
  std::int64_t lines() const;
  /// Lines that follow one another at the same distances: the extent of the axis before the last one.
  std::int64_t neighbours() const { return extents.size() > 1 ? extents[extents.size() - 2] : 1; }
};

/// What a line is to the operation.
enum class LineUse : std::uint8_t {
  kElements,  ///< a run of elements: it may be cut, and lines be joined
  kPixel      ///< a pixel, whose channels stay together
};

/// The same with as few axes as say it.
LineAxes joined(const LineAxes& axes, LineUse use);

/// `count` neighbouring lines from line number `first` on, elements [begin, end) of each.
struct Lines {
  std::int64_t first = 0, count = 1, begin = 0, end = 0;
};
/// The element of `tensor` where `lines` begin.
std::int64_t element_of(const LineAxes& axes, const LineAxes::Tensor& tensor, const Lines& lines);
/// The copy of lines between such a tensor and a buffer where they lie without gaps.
CopyShape lines_shape(const LineAxes& axes, const LineAxes::Tensor& tensor, const Lines& lines,
                      TransferEnd tensor_end);

/// Strides in elements of a dense tensor of shape `shape`.
std::vector<std::int64_t> dense_strides(const std::vector<std::int64_t>& shape);

/// One axis of a resize as VectorResize has it: output i lies at (first + i * step) / divisor of a source of
/// `extent` pixels, and takes the pixel below that place and, of a bilinear resize, the next one.
struct ResizeAxis {
  int extent = 1;
  std::int64_t first = 0, step = 1, divisor = 1;

  /// Pixels of the source that outputs `outs`, which are not empty, need.
  Interval needed(Resize::Mode mode, Interval outs) const;
  /// Pixels of the source that any of the first `outs` outputs needs.
  std::int64_t touched(Resize::Mode mode, int outs) const;
};

/// `in` pixels become `out`. The rounding of a nearest resize is part of `first`, so that it is always down.
ResizeAxis resize_axis(const Resize& resize, int in, int out);

constexpr int kMostOfField = 65535;  ///< of a field of 16 bits

/// What a vector unit executes.
using VectorInstruction = std::variant<VectorRun, VectorResize, VectorRow>;

/// One step of a core: what it fetches into a buffer, computes and stores.
struct VectorPiece {
  struct Fetch {
    std::uint64_t source = 0;
    std::int64_t offset = 0;  ///< in the buffer
    CopyShape shape;
  };
  std::vector<Fetch> fetches;
  std::int64_t in_bytes = 0, out_bytes = 0;
  /// The buffer holds this byte in every place that no fetch fills; nothing: they fill it.
  std::optional<std::uint8_t> fill;
  std::optional<VectorInstruction> run;  ///< nothing: what was fetched is stored as it is
  /// Where a result goes: to DRAM, or over the parameters, for the operations that follow.
  enum class ResultPlace : std::uint8_t { kStored, kParameters };
  ResultPlace result_place = ResultPlace::kStored;
  std::int64_t b_offset = 0;  ///< of the second operand in the buffer
  std::uint64_t destination = 0;
  CopyShape store;
};

/// The share of a core: which of how many, of which part of the output, and in which pieces.
struct VectorShare {
  int core = 0, cores = 1;
  /// Rows of one image, columns `columns` of them; nothing: all of the output.
  struct Rows {
    int image = 0;
    Interval rows, columns;
  };
  std::optional<Rows> part;
  std::optional<std::int64_t>
      piece_bytes;  ///< most bytes of operands and result of a piece; nothing: half of NRAM
};

/// What a layer asks of vector units: its factors, and its work in pieces that fit NRAM. `layer` and
/// `hardware` outlive it.
class VectorWork {
 public:
  /// `inputs` and `output` are places in DRAM. Throws UserError when the layer cannot fit.
  VectorWork(const Layer& layer, const HardwareConfig& hardware, const std::vector<Placement>& inputs,
             const Placement& output);

  /// Tables and factors; may be empty.
  const std::vector<std::uint8_t>& parameters() const { return parameters_; }
  /// Bytes of NRAM in front of the buffers, for the parameters.
  std::int64_t parameter_room() const;
  /// Bytes of maps that the layer touches at least once, results included.
  std::int64_t touched_bytes() const { return touched_; }
  std::int64_t result_bytes() const { return output_.size_bytes(); }
  /// The work of a core; may be nothing. Throws UserError when a piece does not fit.
  std::vector<VectorPiece> pieces_of(const VectorShare& share);
  /// What brings a piece's operands from DRAM to a buffer at `to`, and its result from `from` to DRAM.
  std::vector<Transfer> loads_of(const VectorPiece& piece, std::uint64_t to) const;
  std::vector<Transfer> stores_of(const VectorPiece& piece, std::uint64_t from) const;

 private:
  [[noreturn]] void cannot_fit(const std::string& what) const;
  [[noreturn]] void beyond_nram(const char* what) const;

  // Parameters, and what VectorRun says of the whole layer.
  void prepare(const Pooling& pool);
  void prepare(const Elementwise& operation);
  void prepare(const ByteFunction& function);
  void prepare(const ChannelScale& operation);
  void prepare(const Requantize& operation);
  void prepare(const Softmax& operation);
  void prepare(const Concat& /*operation*/) {}
  void prepare(const Conv2d& /*operation*/) {}
  void prepare(const Reshape& /*operation*/) {}
  void prepare(const Pad& /*operation*/) {}
  void prepare(const Resize& resize);
  void prepare(const Reduce& reduce);
  void prepare(const Quantize& quantize);
  void prepare(const RowNorm& norm);
  void prepare(const Lrn& lrn);
  void prepare(const ArgMax& operation);
  void prepare(const Move& move);
  void prepare(const Gather& gather);
  void prepare_row(RowKind kind, const std::optional<OutputRange>& range);
  void prepare(const Dequantize& dequantize);
  void prepare(const DynamicQuantize& operation);
  void bound(const std::optional<OutputRange>& range);
  WindowAxis axis(const Pooling& pool, std::size_t number) const;
  void need_row() const;
  void types();

  // Elements without a channel of their own are spread one by one, others pixel by pixel.
  void cut(const Elementwise& operation);
  void cut(const ByteFunction& /*operation*/) { cut_flat(std::nullopt); }
  void cut(const ChannelScale& /*operation*/) { cut_flat(channels_); }
  void cut(const Requantize& /*operation*/) { cut_flat(channels_); }
  void cut(const Softmax& softmax);
  void cut(const RowNorm& /*norm*/) { cut_rows(); }
  void cut(const Lrn& /*lrn*/) { cut_rows(); }
  void cut(const ArgMax& /*operation*/) { cut_rows(); }
  void cut(const Move& move);
  void cut(const Gather& gather);
  void cut(const Pooling& pool);
  void cut(const Concat& operation);
  void cut(const Resize& resize);
  void cut(const Reduce& reduce);
  void cut(const Quantize& /*operation*/) { cut_flat(std::nullopt); }
  void cut(const Dequantize& /*operation*/) { cut_flat(std::nullopt); }
  void cut(const DynamicQuantize& operation);
  void cut(const Pad& pad);
  void cut(const Conv2d& /*operation*/) {}
  void cut(const Reshape& /*operation*/) {}
  std::int64_t step_bytes() const;
  // Of the share: images, output rows of the core, columns of the part.
  Interval images() const;
  Interval rows() const;
  Interval columns() const;
  // Neighbouring pixels over all images, which some cores share.
  struct Span {
    Interval pixels;
    int core = 0, cores = 1;
  };
  // `pixels`: of the whole output. Those of the share: all of them, or a row of a strip after the other.
  std::vector<Span> spans(int pixels) const;
  void add_pooled(int image, const Window& h, const Window& w, Interval channels);
  struct JoinedBytes {
    std::int64_t row = 0, first = 0;  // of the output: bytes of a place, and in front of the input's
  };
  void add_joined(const Placement& input, Interval part, std::int64_t depth, const JoinedBytes& to);
  void add_padded(const Pad& pad, int image, Interval rows, Interval columns);
  void add_reduced(std::int64_t first, std::int64_t outers, Interval channels);
  void add_resized(const Resize& resize, int image, Interval rows, Interval columns);
  VectorPiece piece_of_map(int image, const Window& h, const Window& w, Interval channels) const;
  void cut_flat(std::optional<int> pixel);
  void cut_flat(std::optional<int> pixel, const Span& span);
  void cut_rows();
  void cut_rows(const Span& span);
  void cut_lines(const LineAxes& axes, LineUse use);
  void add_lines(const LineAxes& axes, const Lines& lines, LineUse use);
  void add_flat(std::int64_t first, std::int64_t elements, int columns, int channels);

  const ChipConfig& chip_;
  const Layer& layer_;
  TensorInfo output_;
  std::vector<Placement> inputs_;
  Placement result_;
  int channels_ = 0;
  VectorShare share_;
  std::int64_t touched_ = 0;
  VectorRun base_;
  VectorRow row_;
  std::array<ResizeAxis, 2> resize_axes_;
  // A reduction's input as [outers, count, inner].
  struct ReducedAxes {
    std::int64_t outers = 1, count = 1, inner = 1;
  };
  ReducedAxes reduced_;
  std::vector<std::uint8_t> parameters_;
  std::vector<VectorPiece> pieces_;  // of the core that is being cut
};

/// The copy that fills the whole buffer of such a piece with its `fill`, at `destination` in NRAM; it reads
/// nothing at `source` in DRAM.
Copy fill_copy(const VectorPiece& piece, std::uint64_t source, std::uint64_t destination);

/// The operation of a piece that has one, on a core: its operands lie at `from` in NRAM, its result goes to
/// `to`, factors lie at `parameters`. With what it is expected to cost; processor and accesses are the
/// caller's.
Task vector_task(const VectorPiece& piece, std::int64_t from, std::int64_t to, std::int64_t parameters,
                 const ChipConfig& chip);

}  // namespace tilebeat
