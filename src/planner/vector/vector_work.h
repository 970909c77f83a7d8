#pragma once

#include "config/hardware_config.h"
#include "planner/language/problem.h"
#include "planner/language/transfer.h"
#include "program/plan.h"
#include "workload/operators.h"
#include "workload/workload.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace tilebeat {

/// One axis of a resize in the form of VectorResize: output i lies at (first + i * step) / divisor of a
/// source of `extent` pixels. It uses the pixel below that position and, in a bilinear resize, the next one.
struct ResizeAxis {
  int extent = 1;
  std::int64_t first = 0, step = 1, divisor = 1;

  /// The source pixels that outputs `outs` (not empty) need.
  Interval needed(Resize::Mode mode, Interval outs) const;
  /// Number of source pixels that any of the first `outs` outputs needs.
  std::int64_t touched(Resize::Mode mode, int outs) const;
};

/// The axis that resizes `in` pixels to `out`. `first` includes the rounding of a nearest resize, so that
/// positions are always rounded down.
ResizeAxis resize_axis(const Resize& resize, int in, int out);

constexpr int kMostOfField = 65535;  ///< largest value of a 16-bit field

/// The operations that a vector unit executes.
using VectorInstruction = std::variant<VectorRun, VectorResize, VectorRow>;

/// One step of a core: it fetches operands into a buffer, computes and stores.
struct VectorPiece {
  struct Fetch {
    std::uint64_t source = 0;
    std::int64_t offset = 0;  ///< in the buffer
    CopyShape shape;
  };
  std::vector<Fetch> fetches;
  std::int64_t in_bytes = 0, out_bytes = 0;
  /// The value of all bytes of the buffer that no fetch fills; nothing: the fetches fill it.
  std::optional<std::uint8_t> fill;
  std::optional<VectorInstruction> run;  ///< nothing: the fetched bytes are stored as they are
  /// Rows of a table that IODMA copies in place of an operation; addresses of indices count from the buffer.
  std::optional<RowGather> rows;
  /// The destination of a result: DRAM, or the parameters of the operations that follow.
  enum class ResultPlace : std::uint8_t { kStored, kParameters };
  ResultPlace result_place = ResultPlace::kStored;
  std::int64_t b_offset = 0;  ///< offset of the second operand in the buffer
  std::uint64_t destination = 0;
  CopyShape store;
};

/// A core's share of a layer: its number among `cores` cores, the part of the output, and the size of its
/// pieces.
struct VectorShare {
  int core = 0, cores = 1;
  /// Rows of one image, restricted to columns `columns`.
  struct Rows {
    int image = 0;
    Interval rows, columns;
  };
  std::optional<Rows> part;
  /// Most bytes of operands and result of a piece; nothing: half of NRAM.
  std::optional<std::int64_t> piece_bytes;
};

class VectorCut;
struct StridedView;
enum class LineUse : std::uint8_t;

/// A layer for vector units. Layer and chip outlive the work that is made of it.
struct VectorJob {
  const Layer& layer;
  const ChipConfig& chip;
  std::vector<Placement> inputs;  ///< places in DRAM, as `output`
  Placement output;
};

/// A layer's work for vector units: its factors, and its pieces, which fit NRAM. Each operator has a derived
/// class (planner/vector/families.h).
class VectorWork {
 public:
  virtual ~VectorWork() = default;

  /// Tables and factors; may be empty.
  const std::vector<std::uint8_t>& parameters() const { return parameters_; }
  /// Bytes of NRAM that the parameters take in front of the buffers.
  std::int64_t parameter_room() const;
  /// Bytes of maps that the layer reads or writes at least once, results included.
  std::int64_t touched_bytes() const { return touched_; }
  /// Bytes of the result that are written: all, unless it is appended in place.
  std::int64_t result_bytes() const { return written_; }
  /// The pieces of a core; may be empty. Throws UserError when a piece does not fit.
  std::vector<VectorPiece> pieces_of(const VectorShare& share) const;
  /// The transfers of a piece's operands from DRAM to a buffer at `to`, and of its result from `from` to
  /// DRAM.
  std::vector<Transfer> loads_of(const VectorPiece& piece, std::uint64_t to) const;
  std::vector<Transfer> stores_of(const VectorPiece& piece, std::uint64_t from) const;

 protected:
  friend class VectorCut;

  explicit VectorWork(const VectorJob& job);
  /// Appends the pieces of a core.
  virtual void cut(VectorCut& cut) const = 0;

  [[noreturn]] void cannot_fit(const std::string& what) const;
  [[noreturn]] void beyond_nram(const char* what) const;
  /// Throws UserError when the vector unit has no room for the parameters, or for all channels of a pixel.
  void check_parameters() const;
  void need_row() const;

  /// Appends the pieces of work on strided views, line by line; without `run` bytes are only moved.
  void cut_lines(const StridedView& axes, LineUse use, const std::optional<VectorRun>& run,
                 VectorCut& cut) const;

  const ChipConfig& chip_;
  const Layer& layer_;
  TensorInfo output_;
  std::vector<Placement> inputs_;
  Placement result_;
  int channels_ = 0;          ///< of the output
  std::int64_t touched_ = 0;  ///< by default all bytes of inputs and output
  std::int64_t written_ = 0;  ///< by default all bytes of the output
  std::vector<std::uint8_t> parameters_;
};

/// Throws UserError when the layer cannot fit. `layer` and `hardware` outlive the work.
std::unique_ptr<VectorWork> make_vector_work(const Layer& layer, const HardwareConfig& hardware,
                                             const std::vector<Placement>& inputs, const Placement& output);

/// The copy that fills the buffer of a piece at `destination` in NRAM with the byte `fill`; it reads no bytes
/// at `source` in DRAM.
Copy fill_copy(const VectorPiece& piece, std::uint64_t source, std::uint64_t destination);

/// The task of a piece that has an operation: operands at `from` in NRAM, result to `to`, factors at
/// `parameters`. Includes its expected cost; the caller sets processor and accesses.
Task vector_task(const VectorPiece& piece, std::int64_t from, std::int64_t to, std::int64_t parameters,
                 const ChipConfig& chip);

}  // namespace tilebeat
