#pragma once

#include "tilebeat/engines/rolling/config.h"
#include "tilebeat/engines/rolling/sim/job.h"
#include "tilebeat/observe/ledger.h"
#include "tilebeat/sim/next_clock.h"

#include <cstdint>
#include <vector>

namespace tilebeat::rolling {

/// What a loader counts.
struct LoaderStats {
  std::int64_t requests = 0;  ///< to the memory
  std::int64_t bytes = 0;     ///< that were read
  std::int64_t lines = 0;     ///< that entered the registers, records of bias and scale included
  std::int64_t elements = 0;  ///< of the operand that entered the registers, padding included
};

/// Reads one operand line by line, in the order of the rounds (SPEC RO-5, RO-6): an address generator, a
/// queue of lines that were requested, and the way into the registers. How lines come from memory is what the
/// loaders that are made of it differ in: over a bus (BusLoader), or through a port of their own at a
/// scratchpad (ScratchpadLoader).
///
/// Throughput: one line a cycle enters, or port_bytes bytes of a longer one. A line can enter in the cycle
/// after its last byte arrived. Back-pressure: at most line_queue lines were requested and have not entered.
class OperandLoader {
 public:
  CycleLedger ledger;  ///< of the way into the registers; settled when a line enters
  LoaderStats stats;

  OperandLoader(OperandName operand, const RollingConfig& config);
  OperandLoader(const OperandLoader&) = delete;
  OperandLoader& operator=(const OperandLoader&) = delete;
  OperandLoader(OperandLoader&&) = delete;
  OperandLoader& operator=(OperandLoader&&) = delete;
  virtual ~OperandLoader() = default;

  /// The cycles of the requests.
  virtual CycleLedger& request_ledger() = 0;
  /// A run's rounds follow from cycle `now` on.
  virtual void begin(Job& job, Cycle now) = 0;
  /// Takes what has arrived before cycle `now`.
  virtual void take(Cycle now) = 0;
  /// Makes the requests of cycle `now`; `idle` is booked when no round is left.
  virtual void request(Rounds& rounds, Cycle now, Activity idle) = 0;
  /// Makes all requests whose cycle is known, if the loader can know it without waiting for others.
  virtual void request_ahead(Rounds& rounds) = 0;
  /// The next cycle in which there is something to do that cannot be done now.
  virtual void schedule(NextClock& next) const = 0;

  /// A line that was requested.
  struct Line {
    Load load;
    Round* round = nullptr;  ///< which it belongs to; it stays until its last line has entered
    bool begins_round = false, ends_round = false;
    Cycle ready = 0;   ///< the first cycle in which it can enter
    Cycle leaves = 0;  ///< the cycle in which it is in place, once it has entered
    int clocks = 1;    ///< that it takes to enter
    std::vector<std::uint8_t> bytes;
    std::vector<Piece> pieces;  ///< places that were filled; the rest is padding
    int missing = 0;            ///< bytes that have not arrived
  };
  /// The line that enters next, if its bytes are there or on their way with a known end; else null.
  const Line* front() const {
    if (entered_ == prepared_) return nullptr;
    const Line& front = lines_[entered_slot_];
    return front.missing == 0 ? &front : nullptr;
  }
  /// The first cycle in which the way into the registers is free.
  Cycle next_entry() const { return next_entry_; }
  /// The front line enters in cycle `at`; `release` is what it waited for after it was ready.
  void enter(Cycle at, Activity release);

 protected:
  Line& line(std::int64_t number) { return lines_[static_cast<std::size_t>(number % config_.line_queue)]; }
  const Line& line(std::int64_t number) const {
    return lines_[static_cast<std::size_t>(number % config_.line_queue)];
  }
  /// The round of the line that is requested next; null when there is none.
  Round* next_round(Rounds& rounds) {
    if (next_round_ == nullptr) next_round_ = rounds.at(round_);
    return next_round_;
  }
  /// The next line has its turn; `find_pieces` says whether it is looked for in memory.
  Line& prepare(Round& round);
  static void find_pieces(const Round& round, OperandName operand, Line& line);

  const RollingConfig config_;
  const OperandName operand_;
  std::int64_t prepared_ = 0;  // lines that had their turn
  std::int64_t entered_ = 0;   // lines that entered, perhaps in a later cycle

 private:
  std::vector<Line> lines_;  // by number modulo line_queue
  std::size_t entered_slot_ = 0, prepared_slot_ = 0;
  Cycle next_entry_ = 0;
  std::int64_t round_ = 0;       // that is requested
  Round* next_round_ = nullptr;  // the same, once it is known
  std::vector<Load> loads_;      // of it
  std::size_t next_load_ = 0;
};

}  // namespace tilebeat::rolling
