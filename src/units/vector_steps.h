#pragma once

#include "isa/instruction.h"
#include "units/byte_checks.h"

#include <array>
#include <cstdint>
#include <memory>

namespace tilebeat {

/// Elements of the result of a range: minimum and maximum.
constexpr int kRangeReals = 2;

/// A step of the vector unit: one run of operand bytes (of each source) that passes through its lanes.
struct VectorStep {
  bool parameters = false;  ///< the run holds tables or factors and is kept
  std::uint64_t a = 0;      ///< byte offset in NRAM of the first operand's run
  int a_bytes = 0;
  std::uint64_t b = 0;  ///< byte offset of the second operand's run; b_bytes 0: none
  int b_bytes = 0;
  int taps = 1;              ///< pooling: taps in the run, each with all channels
  bool first = true;         ///< the row buffer is cleared first
  bool last = true;          ///< results leave after the step
  std::uint64_t result = 0;  ///< byte offset in NRAM of the results
  int results = 0;           ///< elements of the row buffer
  std::int64_t divisor = 1;  ///< divisor of the row buffer: of an average, or the sum of weights
  std::array<std::int64_t, 2> weights{1, 1};  ///< resize: of the taps that the run holds
  std::int64_t clocks = 0;                    ///< cycles of the lanes
};

/// The steps of one instruction in order.
class StepSequence {
 public:
  virtual ~StepSequence() = default;
  virtual bool done() const = 0;
  virtual const VectorStep& step() const = 0;
  virtual void advance() = 0;
};

/// What an operation of the vector unit reads and writes of the memory that begins at `memory`: the same
/// bytes as all its steps.
AccessedBytes accessed_bytes(const Operation& operation, std::uint64_t memory);

/// The steps of a VectorRun or VectorResize.
std::unique_ptr<StepSequence> steps_of(const Operation& operation, int lanes, int burst_bytes);

/// The steps of one VectorRun in order: parameters first; then runs of up to `burst_bytes` of an elementwise
/// operation, kernel rows (or single taps, when a row does not fit a burst) of every pixel of a pooling,
/// pixels of a softmax. The lanes take ceil(elements / lanes) cycles for a pass over a run: one pass for most
/// operations, one a tap for pooling, three for softmax (greatest, sum, quotient). An element takes two lanes
/// where an operand or the result is int16.
class VectorSteps final : public StepSequence {
 public:
  VectorSteps(const VectorRun& run, int lanes, int burst_bytes);
  bool done() const override { return done_; }
  const VectorStep& step() const override { return step_; }
  void advance() override;

  /// Bytes of tables and factors of an operation.
  static int parameter_bytes(const VectorRun& run);
  /// Lanes that an element takes.
  static int lanes_of_element(const VectorRun& run);

 private:
  void make_elementwise();
  void make_softmax();
  void make_pooling();
  bool next_taps();
  std::int64_t passes(std::int64_t elements) const {
    return (elements * lanes_of_element_ + lanes_ - 1) / lanes_;
  }
  // Bytes of the channels of a pixel.
  int a_pixel() const { return run_.channels * dtype_size(run_.a_type); }
  int out_pixel() const { return run_.channels * dtype_size(run_.out_type); }

  VectorRun run_;
  int lanes_, burst_bytes_, lanes_of_element_;
  std::int64_t elements_;  // elements of the result
  std::int64_t at_ = 0;    // element or pixel
  int tap_h_ = 0, tap_w_ = 0;
  std::int64_t count_ = 0, left_ = 0;  // of a pooled pixel: divisor of its average, and taps left
  bool done_ = false;
  VectorStep step_;
};

/// The steps of one VectorRow in order: parameters first, if there are any; then pixels. The lanes go over a
/// pixel's channels three times: sums, distances or windows, quotients; twice to find the greatest and where
/// it is. Of a causal_softmax they go twice over the channels that the pixel sees, and once over all.
class RowSteps final : public StepSequence {
 public:
  RowSteps(const VectorRow& run, int lanes);
  bool done() const override { return done_; }
  const VectorStep& step() const override { return step_; }
  void advance() override;

  /// Bytes of factors of an operation.
  static int parameter_bytes(const VectorRow& run);

 private:
  VectorRow run_;
  int lanes_;
  std::int64_t pixel_ = 0;
  bool done_ = false;
  VectorStep step_;
};

/// The steps of one VectorResize in order: for every pixel its taps, one run per source row, or single taps
/// when two do not fit a burst. Taps of weight 0 are left out. The lanes take ceil(channels / lanes) cycles
/// per tap.
class ResizeSteps final : public StepSequence {
 public:
  ResizeSteps(const VectorResize& run, int lanes, int burst_bytes);
  bool done() const override { return pixel_ >= std::int64_t{run_.rows} * run_.columns; }
  const VectorStep& step() const override { return step_; }
  void advance() override;

 private:
  // The taps of an output along one axis.
  struct Taps {
    std::int64_t first = 0;  // row or column of the source
    int count = 1;           // the second one follows the first
    std::array<std::int64_t, 2> weights{1, 0};
  };
  // An axis of the source, and the positions of outputs on it.
  struct Axis {
    std::int64_t extent, first, step, divisor;
  };
  Taps taps_of(const Axis& axis, std::int64_t output) const;
  void enter_pixel();
  void make_step();

  VectorResize run_;
  int burst_bytes_;
  std::int64_t passes_;       // clocks of a tap
  std::int64_t pixel_ = 0;    // pixel of the result
  Taps h_, w_;                // taps of the pixel
  int row_ = 0, column_ = 0;  // the tap that comes next
  VectorStep step_;
};

}  // namespace tilebeat
