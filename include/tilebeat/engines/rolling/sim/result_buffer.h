#pragma once

#include "tilebeat/engines/rolling/config.h"
#include "tilebeat/engines/rolling/sim/job.h"
#include "tilebeat/fabric/burst_port.h"
#include "tilebeat/observe/ledger.h"
#include "tilebeat/sim/context.h"
#include "tilebeat/sim/granularity.h"
#include "tilebeat/sim/next_clock.h"

#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

namespace tilebeat::rolling {

/// What the result buffer counts.
struct ResultStats {
  std::int64_t results = 0;         ///< elements stored
  std::int64_t requests = 0;        ///< to the memory
  std::int64_t bytes = 0;           ///< written
  std::int64_t realign_clocks = 0;  ///< in which lines of sums rolled to their places
};

/// The buffer outside the array that sums are added up in (document 002 [0113]; SPEC RO-2, RO-5, RO-6), and
/// the way from there to memory. Two halves: one is added to while the other one is realigned, drained and
/// post-processed. An output block is row by row read at drain_bytes of sums a clock.
///
/// Latency: realignment begins in the clock after the last sum is in its place and takes L - 1 clocks, by
/// tags none; post_latency_cycles from the last clock of a row to its request. Back-pressure: a row leaves
/// while fewer than `write_queue` requests wait. A half is free in the clock after its last row left.
class ResultBuffer {
 public:
  BurstPort port;
  CycleLedger ledger;  ///< busy: lines roll to their places, or sums leave
  ResultStats stats;

  ResultBuffer(const char* name, const SimContext& context, const RollingConfig& config, int max_outstanding,
               Granularity granularity, sc_core::sc_event& changed);

  /// The clock in which the half of sums number `number` was left by those before; none: not known yet.
  std::optional<Cycle> left(std::int64_t number) const;
  /// Sums number `number` begin at zero.
  void begin(std::int64_t number, const OutputBlock& block);
  /// Adds to a sum; in tile granularity `place` is its row and column.
  std::int32_t& sum(std::int64_t number, const SumPlace& place) {
    Half& half = halves_[static_cast<std::size_t>(number % 2)];
    return half
        .sums[static_cast<std::size_t>(place.line) * half.stride + static_cast<std::size_t>(place.index)];
  }
  std::size_t stride(std::int64_t number) const {
    return halves_[static_cast<std::size_t>(number % 2)].stride;
  }
  /// Sums number `number` are complete, the last one is added in clock `at`.
  void complete(std::int64_t number, const Round& round, std::vector<PostParameter> records, Cycle at);

  /// Takes the responses that arrived before clock `now`.
  void take(Cycle now);
  /// Realigns and drains; `idle` is booked when there are no sums.
  void drain(Cycle now, Activity idle);
  /// Sends a request.
  void write(Cycle now, Activity idle);
  void schedule(NextClock& next) const;
  bool realigning() const { return !drains_.empty() && drains_.front().realigned_to; }

 private:
  struct Half {
    std::vector<std::int32_t> sums;
    std::size_t stride = 0;
  };
  struct Drain {
    std::int64_t number = 0;
    std::shared_ptr<Job> job;
    OutputBlock block;
    std::vector<PostParameter> records;
    Cycle complete = 0;
    int clocks = 0;                     // of realignment
    std::optional<Cycle> realigned_to;  // when it ends, once it has begun
    int shifted = 0;                    // clocks of it that were done
    int next_row = 0;
  };
  struct Staged {
    std::uint64_t address = 0;
    std::vector<std::uint8_t> data;
    Cycle ready = 0;
    std::shared_ptr<Job> completes;  // the run of which a row ends with it
  };
  void realign(Drain& drain, Cycle now);
  void stage_row(Drain& drain, Cycle now);
  Activity blocker(Cycle now, Activity idle) const;

  RollingConfig config_;
  Granularity granularity_;
  std::array<Half, 2> halves_;
  std::array<std::optional<Cycle>, 2> left_;  // of the sums that used the half last
  std::deque<Drain> drains_;
  Cycle free_at_ = 0;  // of the way out
  std::deque<Staged> staged_;
  std::deque<std::shared_ptr<Job>> under_way_;  // what each request completes
};

}  // namespace tilebeat::rolling
