#pragma once

#include "engines/rolling/config.h"
#include "engines/rolling/sim/job.h"
#include "engines/rolling/sim/result_trace.h"
#include "engines/rolling/sim/scratchpad_port.h"
#include "fabric/burst_port.h"
#include "observe/statistics.h"
#include "sim/clock.h"
#include "sim/context.h"

#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tilebeat::rolling {

/// Counters of the result buffer.
struct ResultStats {
  std::int64_t results = 0;         ///< elements stored
  std::int64_t requests = 0;        ///< to the memory
  std::int64_t bytes = 0;           ///< written
  std::int64_t realign_clocks = 0;  ///< cycles in which lines of sums rolled to their places
};

/// The buffer outside the array that sums are added up in (document 002 [0113]; SPEC RO-2, RO-5, RO-6), and
/// the way from there to memory. Two halves: one is added to while the other one is realigned, drained and
/// post-processed. An output block is row by row read at drain_bytes of sums a cycle.
///
/// Records of bias and scale wait in slots, one for a column of output blocks, from the entry of the first
/// one until the last row of the last block has left. Nothing but draining needs them: rows wait for them
/// (`weight_load`), multiplying does not.
///
/// Latency: realignment begins in the cycle after the last sum is in its place and takes L - 1 cycles, by
/// tags none; post_latency_cycles from the last cycle of a row to its request. Back-pressure: a row leaves
/// while fewer than `write_queue` requests wait, else the buffer waits (`write_queue`). A half is free in the
/// cycle after its last row left.
///
/// Results are written over a bus, or through a port of its own at a scratchpad: one access a cycle of up to
/// port_bytes bytes. Nobody else uses that port, so that the cycles of all rows are known as soon as the last
/// sum's is.
class ResultBuffer {
 public:
  std::optional<BurstPort> bus;
  std::optional<ScratchpadPort> port;
  CycleLedger ledger;  ///< busy: lines roll to their places, or sums leave
  ResultStats stats;
  std::optional<ResultTrace> trace;  ///< its signals, if there are any

  /// `memory` is the scratchpad; none: results go over the bus.
  ResultBuffer(const char* name, const SimContext& context, const RollingConfig& config, int max_outstanding,
               const std::optional<MemoryConfig>& memory, Granularity granularity,
               sc_core::sc_event& changed);

  /// Declares the signals below `scope`. `context` has a trace.
  void declare_signals(const SimContext& context, const std::string& scope);

  /// The cycles of the requests.
  CycleLedger& request_ledger() { return bus ? bus->ledger : requests_; }

  /// The first cycle in which the half for sums number `number` is free; none: not known yet.
  std::optional<Cycle> free_from(std::int64_t number) const;
  /// Starts sums number `number` at zero.
  void begin(std::int64_t number, const OutputBlock& block);
  /// The sums of one half.
  struct Sums {
    Sum* first = nullptr;
    std::size_t stride = 0;
    Sum& operator[](const SumPlace& place) const {
      return first[to_size(place.line) * stride + to_size(place.index)];
    }
  };
  Sums sums(std::int64_t number) {
    Half& half = nth(halves_, number % 2);
    return {half.sums.data(), half.stride};
  }
  /// Adds to a sum; in tile granularity `place` is its row and column.
  Sum& sum(std::int64_t number, const SumPlace& place) {
    Half& half = nth(halves_, number % 2);
    return half.sums[to_size(place.line) * half.stride + to_size(place.index)];
  }
  /// A half as the trace shows it.
  ResultTrace::Half half(std::int64_t number) const {
    const Half& half = nth(halves_, number % 2);
    return {number, half.sums.data(), to_int(half.stride)};
  }
  std::size_t stride(std::int64_t number) const { return nth(halves_, number % 2).stride; }
  /// Sums number `number`, whose last round is `round`, are complete; the last one is added in cycle `at`.
  void complete(std::int64_t number, const Round& round, Cycle at);

  /// The first cycle in which the slot for records `records` is free; none: not known yet.
  std::optional<Cycle> slot_free_from(const ColumnRecords& records) const {
    return nth(slots_free_from_, records.number % ssize(slots_free_from_));
  }
  /// The first of these records enters its slot.
  void take_slot(const ColumnRecords& records) {
    nth(slots_free_from_, records.number % ssize(slots_free_from_)).reset();
  }

  /// Takes the responses that arrived before cycle `now`.
  void take(Cycle now);
  /// Realigns and drains; books `idle` when there are no sums.
  void drain(Cycle now, Activity idle);
  /// Realigns and drains all complete sums, if the cycles of writing are known.
  void drain_ahead();
  /// Sends a request.
  void write(Cycle now, Activity idle);
  void schedule(NextClock& next) const;
  /// Whether sums move in every cycle.
  bool realigning() const {
    return granularity_ == Granularity::kClock && !drains_.empty() && drains_.front().realigned_to;
  }

 private:
  struct Half {
    std::vector<Sum> sums;
    std::size_t stride = 0;
  };
  struct Drain {
    std::int64_t number = 0;
    std::shared_ptr<Job> job;
    OutputBlock block;
    std::shared_ptr<ColumnRecords> column;
    bool ends_column = false;
    Cycle complete = 0;
    int clocks = 0;                     // cycles of realignment
    std::optional<Cycle> realigned_to;  // when it ends, once it has begun
    int shifted = 0;                    // cycles of it that were done
    int next_row = 0;
  };
  struct Staged {
    std::uint64_t address = 0;
    std::vector<std::uint8_t> data;
    Cycle ready = 0;
    std::shared_ptr<Job> completes;  // the run of which a row ends with it
  };
  void drain_to_bus(Cycle now, Activity idle);
  void drain_until(Cycle last);
  void realign(Drain& drain, Cycle now);
  void post_process_row(Drain& drain, std::vector<std::uint8_t>& data);
  std::uint64_t address_of_row(const Drain& drain) const;
  int row_cycles(const Drain& drain) const;
  void stage_row(Drain& drain, Cycle now);
  void trace_row(Drain& drain, Cycle at);
  void write_row(Drain& drain, Cycle at);
  void end_drain();
  Activity blocker(Cycle now, Activity idle) const;

  RollingConfig config_;
  Granularity granularity_;
  std::array<Half, 2> halves_;
  std::array<std::optional<Cycle>, 2> free_from_{0, 0};
  std::vector<std::optional<Cycle>> slots_free_from_;
  std::deque<Drain> drains_;
  Cycle free_at_ = 0;  // first free cycle of the way out
  std::deque<Staged> staged_;
  std::vector<std::uint8_t> row_;
  CycleLedger requests_;                        // to the scratchpad
  std::deque<Cycle> sent_;                      // when the last `write_queue` rows were or will be sent there
  Cycle next_request_ = 0;                      // the first cycle in which its port is free
  std::deque<std::shared_ptr<Job>> under_way_;  // by request in flight: the job that it completes
};

}  // namespace tilebeat::rolling
