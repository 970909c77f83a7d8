#pragma once

#include "tilebeat/isa/instruction.h"

#include <cstdint>

namespace tilebeat {

/// What the vector unit does in one go: one run of operand bytes (of each source) through its lanes.
struct VectorStep {
  bool parameters = false;  ///< the run holds tables or factors and is kept
  std::uint64_t a = 0;      ///< byte offset in NRAM of the first operand's run
  int a_bytes = 0;
  std::uint64_t b = 0;  ///< of the second operand's run; b_bytes 0: none
  int b_bytes = 0;
  int taps = 1;              ///< pooling: taps that the run holds, channels each
  bool first = true;         ///< the row buffer starts anew
  bool last = true;          ///< results leave
  std::uint64_t result = 0;  ///< byte offset in NRAM of the results
  int results = 0;           ///< elements of the row buffer
  int average_count = 1;     ///< what an average divides by
  std::int64_t clocks = 0;   ///< of the lanes
};

/// The steps of one VectorRun in order: parameters first; then runs of up to `burst_bytes` of an elementwise
/// operation, kernel rows (or single taps, when a row does not fit a burst) of every pixel of a pooling,
/// pixels of a softmax. The lanes take ceil(elements / lanes) cycles for a pass over a run: one pass for most
/// operations, one a tap for pooling, three for softmax (greatest, sum, quotient).
class VectorSteps {
 public:
  VectorSteps(const VectorRun& run, int lanes, int burst_bytes);
  bool done() const { return done_; }
  const VectorStep& step() const { return step_; }
  void advance();

  /// Bytes of tables and factors of an operation.
  static int parameter_bytes(const VectorRun& run);

 private:
  void make_elementwise();
  void make_softmax();
  void make_pooling();
  bool next_taps();
  std::int64_t passes(std::int64_t elements) const { return (elements + lanes_ - 1) / lanes_; }

  VectorRun run_;
  int lanes_, burst_bytes_;
  std::int64_t elements_;  // of the result
  std::int64_t at_ = 0;    // element or pixel
  int tap_h_ = 0, tap_w_ = 0;
  int count_ = 0, left_ = 0;  // of a pooled pixel: what an average divides by, taps that are left
  bool done_ = false;
  VectorStep step_;
};

}  // namespace tilebeat
