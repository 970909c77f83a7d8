#pragma once

#include "tilebeat/engines/rolling/config.h"
#include "tilebeat/engines/rolling/sim/job.h"
#include "tilebeat/fabric/burst_port.h"
#include "tilebeat/observe/ledger.h"
#include "tilebeat/sim/context.h"
#include "tilebeat/sim/next_clock.h"

#include <deque>
#include <optional>
#include <vector>

namespace tilebeat::rolling {

/// What a loader counts.
struct LoaderStats {
  std::int64_t requests = 0;  ///< to the memory
  std::int64_t bytes = 0;     ///< that were read
  std::int64_t lines = 0;     ///< that entered the registers, records of bias and scale included
};

/// Reads one operand line by line, in the order of the rounds (SPEC RO-5, RO-6).
///
/// Throughput: one request a clock, of neighbouring bytes that several lines may share; one line a clock
/// enters, or port_bytes bytes of a longer one. A line can enter in the clock after its last byte arrived, a
/// line of padding alone in the clock after its turn to be requested. Back-pressure: at most line_queue lines
/// were requested and have not entered; a request is made when there is room for as many lines as the longest
/// one can hold, or for half of the queue.
class OperandLoader {
 public:
  BurstPort port;
  CycleLedger ledger;  ///< of the way into the registers; settled when a line enters
  LoaderStats stats;

  OperandLoader(const char* name, OperandName operand, const SimContext& context, const RollingConfig& config,
                int max_outstanding, sc_core::sc_event& changed);

  /// Takes what has arrived before clock `now`.
  void take(Cycle now);
  /// Sends the next request if there is room and the port takes it; `idle` is booked when no round is left.
  void request(Rounds& rounds, Cycle now, Activity idle);
  /// The next clock after `now` in which there is room that is not there now.
  void schedule(NextClock& next) const;

  /// A line whose bytes are there.
  struct Line {
    Load load;
    std::int64_t round = 0;
    bool begins_round = false, ends_round = false;
    Cycle ready = 0;
    int clocks = 1;  ///< that it takes to enter
    std::vector<std::uint8_t> bytes;
    std::vector<Piece> pieces;  ///< places that were filled; the rest is padding
    int missing = 0;            ///< bytes that have not arrived
  };
  /// The line that enters next, if it is there.
  const Line* front() const;
  /// The first clock in which the way into the registers is free.
  Cycle next_entry() const { return next_entry_; }
  /// The front line enters in clock `at`; `release` is what it waited for after it was ready.
  void enter(Cycle at, Activity release);

 private:
  struct Fragment {
    std::int64_t line = 0;
    int at = 0, bytes = 0;
  };
  struct Pending {
    Fragment fragment;
    std::uint64_t address = 0;
  };
  Line& line(std::int64_t number) { return lines_[static_cast<std::size_t>(number % config_.line_queue)]; }
  bool prepare(Rounds& rounds, Cycle now);
  std::int64_t left(Cycle now);

  RollingConfig config_;
  OperandName operand_;
  int batch_;                  // lines that the longest request can hold
  std::vector<Line> lines_;    // by number modulo line_queue
  std::int64_t prepared_ = 0;  // lines that have their turn, or had it
  std::int64_t entered_ = 0;   // lines that entered, perhaps in a later clock
  std::deque<Cycle> leaves_;   // when lines leave the queue, if that is not before the present
  Cycle next_entry_ = 0;
  std::int64_t round_ = 0;   // that is requested
  std::vector<Load> loads_;  // of it
  std::size_t next_load_ = 0;
  std::deque<Pending> pending_;               // of prepared lines, not requested
  std::deque<std::vector<Fragment>> bursts_;  // under way
  std::vector<std::vector<Fragment>> spare_;
};

}  // namespace tilebeat::rolling
