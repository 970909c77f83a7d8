#pragma once

#include "tilebeat/base/types.h"
#include "tilebeat/engines/rolling/operand_lines.h"
#include "tilebeat/fabric/holds.h"
#include "tilebeat/isa/instruction.h"

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>

namespace tilebeat::rolling {

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
  int sets = 1;           ///< rounds that the register groups hold
  std::int64_t macs = 0;  ///< useful, done so far
  /// The group of a convolution that the first kernel belongs to.
  int first_group() const { return run.first_kernel / setup.group_kernels; }
  std::vector<OpenHold> reads, writes;  ///< of the memories of a core
  std::int64_t unwritten = 0;           ///< rows of output blocks whose last write is not known to end
  Cycle written = 0;                    ///< the cycle after the last write known to end
  std::optional<Cycle>
      accumulated;  ///< of a run whose sums stay: the cycle in which the last one is in place
};

/// What lies in register groups together: some cuts of n of the blocks of an output block.
struct Round {
  std::shared_ptr<Job> job;
  std::int64_t number = 0;  ///< of all rounds
  OutputBlock block;
  int round = 0;             ///< of its output block
  bool begins_sums = false;  ///< the half of the result buffer begins anew
  bool ends_sums = false;    ///< and is complete
  bool ends_job = false;
  Records records = Records::kNone;                    ///< that come with its kernels
  std::array<std::optional<Cycle>, kOperands> loaded;  ///< the cycle in which the last line entered
};

/// The rounds that are not done, oldest first; further ones are made as they are asked for.
class Rounds {
 public:
  /// The rounds of a run follow those of the run before.
  void begin(std::shared_ptr<Job> job);
  /// Round `number`, or null when no run has it yet.
  Round* at(std::int64_t number);
  /// All rounds of the runs that began are done.
  bool empty() const { return first_ == end_; }
  Round& front() {
    if (rounds_.empty()) make();
    return rounds_.front();
  }
  void pop();

 private:
  void make();
  void advance(Round& round, std::int64_t number);

  std::deque<Round> rounds_;
  std::int64_t first_ = 0;    // number of the front one, or of the next one
  std::int64_t end_ = 0;      // rounds of all runs that began
  std::shared_ptr<Job> job_;  // whose rounds are made
  std::int64_t index_ = 0;    // of the next round's output block
  OutputBlock block_;         // the same, once it is begun
  int round_ = 0;
  std::optional<Span> records_of_;  // columns whose records were brought last in this run
};

}  // namespace tilebeat::rolling
