#pragma once

#include "base/types.h"
#include "engines/rolling/config.h"
#include "engines/rolling/operand_lines.h"
#include "engines/rolling/sim/kernel_view.h"
#include "isa/instruction.h"
#include "observe/holds.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

namespace tilebeat::rolling {

/// The cycles in which the last requested lines are in place, oldest first. Lines of successive cycles are
/// stored as one stretch.
class Departures {
 public:
  struct Stretch {
    Cycle first = 0;  ///< the first line is in place in it, the others in the cycles after it
    int lines = 0;
  };
  /// `lines` lines that were all in place before cycle 0.
  explicit Departures(int lines) : ring_(to_size(lines)) { ring_.front() = {-lines, lines}; }

  const Stretch& oldest() const { return ring_[head_]; }
  /// Replaces `lines` lines of the oldest stretch by as many new ones, which are in place from cycle `first`
  /// on, one a cycle.
  void replace(int lines, Cycle first) {
    Stretch& gone = ring_[head_];
    gone.first += lines, gone.lines -= lines;
    if (gone.lines == 0) {
      head_ = next(head_);
      if (--count_ == 0) tail_ = head_, ring_[head_] = {first, 0}, count_ = 1;
    }
    Stretch& newest = ring_[tail_];
    if (newest.first + newest.lines == first) {
      newest.lines += lines;
      return;
    }
    tail_ = next(tail_), ++count_;
    ring_[tail_] = {first, lines};
  }

 private:
  std::size_t next(std::size_t place) const { return place + 1 == ring_.size() ? 0 : place + 1; }

  std::vector<Stretch> ring_;
  std::size_t head_ = 0, tail_ = 0, count_ = 1;
};

/// The flow of lines from a port's address generator into registers, in order. A line is requested when the
/// line a queue length before it is in place, arrives `latency` cycles after its last access, and enters when
/// the way into the registers is free.
class LineFlow {
 public:
  struct Port {
    int latency = 0, bytes = 1;  ///< bytes that enter registers a cycle
  };
  /// Registers are free from cycle `free` on, the address generator from `turn` on, the way into the
  /// registers from `entry` on.
  LineFlow(Departures& departures, const Port& port, Cycle free, Cycle turn, Cycle entry)
      : departures_(departures), port_(port), free_(free), turn_(turn), entry_(entry) {}

  /// Passes a line of `elements` elements, padding among them, that takes `accesses` accesses.
  void pass(int accesses, int elements);
  /// Passes `lines` lines of at most one access that each enter in one cycle.
  void pass_short(int lines);

  Cycle turn() const { return turn_; }    ///< the address generator is free from it on, ...
  Cycle entry() const { return entry_; }  ///< ... and so is the way into the registers
  std::int64_t lines() const { return lines_; }
  Cycle landing() const { return landing_; }  ///< cycles in which no line could be requested
  Cycle memory() const { return memory_; }    ///< cycles in which nothing had arrived
  Cycle waited() const { return waited_; }    ///< cycles in which no registers were free

 private:
  void enter(Cycle before, int accesses);

  Departures& departures_;
  Port port_;
  Cycle free_, turn_, entry_;
  Cycle landing_ = 0, memory_ = 0, waited_ = 0;
  std::int64_t lines_ = 0;
};

/// A run that the unit works on, from its first cycle until its last result is stored.
struct Job {
  Job(const Shape& shape, const Instruction& i, const ConvSetup& c, const RollingSetup& s,
      const RollingRun& r, Cycle now)
      : instruction(i),
        conv(c),
        setup(s),
        run(r),
        schedule(schedule_of(shape, conv, setup, run)),
        lines(schedule, conv, setup, run),
        began(now) {}
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;
  Job(Job&&) = delete;
  Job& operator=(Job&&) = delete;
  ~Job() = default;

  const Instruction instruction;
  const ConvSetup conv;
  const RollingSetup setup;
  const RollingRun run;
  const RollingSchedule schedule;
  const OperandLines lines;
  const Cycle began;
  std::int64_t macs = 0;  ///< useful, done so far
  /// The group of a convolution that the first kernel belongs to.
  int first_group() const { return run.first_kernel / setup.group_kernels; }
  KernelView kernels;
  std::vector<OpenHold> reads, writes;  ///< open accesses to the core's memories
  std::int64_t unwritten = 0;           ///< rows of output blocks whose last write is not known to end
  Cycle written = 0;                    ///< the cycle after the last write known to end
  /// Cycle in which the last sum of a run whose sums stay is in place.
  std::optional<Cycle> accumulated;
};

/// The records of bias and scale of a column of output blocks, in one of the slots for them.
struct ColumnRecords {
  std::int64_t number = 0;  ///< number among all columns with records
  std::vector<PostParameter> records;
  std::optional<Cycle> in_place;  ///< the cycle in which the last one entered
};

/// A round: the cuts of n of an output block's blocks that are in register groups together.
struct Round {
  std::shared_ptr<Job> job;
  std::int64_t number = 0;  ///< number among all rounds
  OutputBlock block;
  int round = 0;             ///< number within its output block
  bool begins_sums = false;  ///< the half of the result buffer starts over
  bool ends_sums = false;    ///< the half of the result buffer is complete
  bool ends_job = false;
  Records records = Records::kNone;                    ///< records that are loaded after its kernels
  std::array<std::optional<Cycle>, kOperands> loaded;  ///< the cycle in which the last line entered
  std::array<bool, kOperands> entered{};               ///< nothing is left to load, records neither
  std::shared_ptr<ColumnRecords> column;  ///< those that its sums are post-processed with; null: none
  bool ends_column = false;               ///< no later sums need them
  int first_group = 0;                    ///< the first of its register groups, ...
  int cut_groups = 1;                     ///< ... and of them those of each block
  std::optional<std::int64_t> after;      ///< the last earlier round that has one of them
};

/// The rounds that are not done or not loaded, oldest first; further rounds are made on demand.
class Rounds {
 public:
  explicit Rounds(const RollingConfig& config)
      : groups_(config.groups), registers_(config.registers), users_(to_size(config.groups)) {}

  /// Appends the rounds of a run.
  void begin(std::shared_ptr<Job> job);
  /// Round `number`, or null when no run has it yet.
  Round* at(std::int64_t number);
  /// Whether all rounds of the runs that began are done.
  bool empty() const { return done_ == end_; }
  /// The first round that is not done; there is one.
  Round& front() { return *at(done_); }
  /// The front round is done.
  void end_front() { ++done_, forget(); }
  /// Forgets rounds that are done and loaded.
  void forget();

 private:
  void make();
  void advance(Round& round, std::int64_t number);
  void take_groups(Round& round);
  void take_records(Round& round);

  int groups_;
  RegisterGroups registers_;
  std::vector<std::optional<std::int64_t>> users_;  // by register group: the last round that has it
  int next_group_ = 0;                              // the group that is assigned next
  std::deque<Round> rounds_;
  std::int64_t first_ = 0;  // number of the oldest one, or of the next one
  std::int64_t done_ = 0;
  std::int64_t end_ = 0;      // rounds of all runs that began
  std::shared_ptr<Job> job_;  // the job whose rounds are being made
  std::int64_t index_ = 0;    // index of the next round's output block
  OutputBlock block_;         // the same, once it is begun
  int round_ = 0;
  std::optional<Span> records_of_;         // columns whose records were brought last in this run
  std::shared_ptr<ColumnRecords> column_;  // those records
  std::int64_t columns_ = 0;               // columns with records so far
};

}  // namespace tilebeat::rolling
