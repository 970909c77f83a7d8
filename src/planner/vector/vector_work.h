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

class VectorCut;
struct StridedView;
enum class LineUse : std::uint8_t;

/// A layer for vector units; layer and chip outlive what is made of it.
struct VectorJob {
  const Layer& layer;
  const ChipConfig& chip;
  std::vector<Placement> inputs;  ///< in DRAM, as the output
  Placement output;
};

/// What a layer asks of vector units: its factors, and its work in pieces that fit NRAM. One class derived
/// from it for every operator (planner/vector/families.h).
class VectorWork {
 public:
  virtual ~VectorWork() = default;

  /// Tables and factors; may be empty.
  const std::vector<std::uint8_t>& parameters() const { return parameters_; }
  /// Bytes of NRAM in front of the buffers, for the parameters.
  std::int64_t parameter_room() const;
  /// Bytes of maps that the layer touches at least once, results included.
  std::int64_t touched_bytes() const { return touched_; }
  std::int64_t result_bytes() const { return output_.size_bytes(); }
  /// The work of a core; may be nothing. Throws UserError when a piece does not fit.
  std::vector<VectorPiece> pieces_of(const VectorShare& share) const;
  /// What brings a piece's operands from DRAM to a buffer at `to`, and its result from `from` to DRAM.
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

  /// The work on tensors that are gone through line by line; without `run` nothing is computed.
  void cut_lines(const StridedView& axes, LineUse use, const std::optional<VectorRun>& run,
                 VectorCut& cut) const;

  const ChipConfig& chip_;
  const Layer& layer_;
  TensorInfo output_;
  std::vector<Placement> inputs_;
  Placement result_;
  int channels_ = 0;          ///< of the output
  std::int64_t touched_ = 0;  ///< without more knowledge all of inputs and output
  std::vector<std::uint8_t> parameters_;
};

/// Throws UserError when the layer cannot fit. `layer` and `hardware` outlive the work.
std::unique_ptr<VectorWork> make_vector_work(const Layer& layer, const HardwareConfig& hardware,
                                             const std::vector<Placement>& inputs, const Placement& output);

/// The copy that fills the whole buffer of such a piece with its `fill`, at `destination` in NRAM; it reads
/// nothing at `source` in DRAM.
Copy fill_copy(const VectorPiece& piece, std::uint64_t source, std::uint64_t destination);

/// The operation of a piece that has one, on a core: its operands lie at `from` in NRAM, its result goes to
/// `to`, factors lie at `parameters`. With what it is expected to cost; processor and accesses are the
/// caller's.
Task vector_task(const VectorPiece& piece, std::int64_t from, std::int64_t to, std::int64_t parameters,
                 const ChipConfig& chip);

}  // namespace tilebeat
