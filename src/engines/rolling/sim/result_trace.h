#pragma once

#include "base/numerics.h"
#include "engines/rolling/config.h"
#include "observe/trace.h"
#include "sim/context.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace tilebeat::rolling {

/// The signals of the result buffer: the half that is added to, where the sums go and what the lines hold,
/// line by line; realignment; the rows that leave, and the sums in them.
///
/// Sums are added in the cycle in which `add` is high, and the lines hold them from the next one on.
class ResultTrace {
 public:
  /// Declares the signals below `scope`. `context` has a trace.
  ResultTrace(const SimContext& context, const std::string& scope, const RollingConfig& config);

  /// A half of the buffer: its sums, `side` lines of `side` sums.
  struct Half {
    std::int64_t number = 0;  ///< of the sums that it holds; those of even numbers are in half 0
    const Sum* sums = nullptr;
    int side = 0;
  };
  /// A half starts over in cycle `at`.
  void begin(const Half& half, Cycle at);
  /// In cycle `at` the sums of the lanes from `first` on, of which there are `count`, were added at these
  /// places of a half; lanes without a place have no sum.
  struct Place {
    int line = 0, index = 0;
  };
  void added(const Half& half, int first, int count, const std::vector<Place>& places, Cycle at);
  /// Lines roll to their places from cycle `first` on.
  void realigns(const Half& half, Cycle first, int cycles);
  /// `shifts` cycles of that are done in cycle `at`.
  void shifted(const Half& half, int shifts, Cycle at);
  /// Row `row` leaves from cycle `first` on, in as many cycles as it takes.
  void drained(const Half& half, int row, const std::vector<std::int32_t>& sums, Cycle first);
  /// Whether a signal of what the lines hold, or of the sums that leave, is recorded.
  bool shows_sums() const { return shows_sums_; }

 private:
  void trace_line(const Half& half, int line, Cycle at);
  void trace_lines(const Half& half, Cycle at);
  Trace& trace() const { return *context_.observers.trace; }
  Picoseconds time_of(Cycle cycle) const { return context_.clock.at(cycle); }

  const SimContext context_;
  int drain_sums_;
  bool shows_sums_ = false;
  std::vector<std::int32_t> sums_shown_;  // the values of a half, or of a line
  bool one_block_ = true;  // a half has room for one; nearly all lines change then where any does
  SignalId half_, shift_, drain_half_, row_, out_;
  Strobe add_, realign_, drain_;
  SignalGroup places_;                   // [lane][index, line]
  std::vector<std::uint16_t> shown_;     // values of it
  std::array<SignalGroup, 2> contents_;  // by half: the lines
};

}  // namespace tilebeat::rolling
