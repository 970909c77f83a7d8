#pragma once

#include "config/hardware_config.h"
#include "engines/dot/config.h"
#include "engines/dot/schedule.h"
#include "fabric/burst_port.h"
#include "fabric/transport.h"
#include "observe/statistics.h"
#include "sim/context.h"
#include "units/commanded_unit.h"

#include <deque>
#include <optional>
#include <vector>

#include <systemc>

namespace tilebeat::dot {

/// The dot-product engine: one processing element that multiplies `lanes` channels of one pixel and of one
/// kernel a cycle and adds them up. The data lies as DotRun says, the order is that of DotSchedule.
///
/// Throughput: a step of ceil(channels / lanes) cycles after the other while operands are there, one read and
/// one write request a cycle. Latency: a result can be written in the cycle after its last step.
/// Back-pressure: operands are read ahead for as many steps as bursts may be under way, and as many results
/// may wait; the step that makes one more waits. Runs do not overlap: the next one begins when all results of
/// the last one lie in memory. Both granularities are the same code: every step is simulated.
class DotUnit : public CommandedUnit {
 public:
  BurstPort operands, results;

  DotUnit(sc_core::sc_module_name name, const SimContext& context, const DotConfig& config,
          const DmaConfig& ports);
  SC_HAS_PROCESS(DotUnit);

  CycleLedger ledger;               ///< of the multipliers
  std::int64_t beats = 0;           ///< cycles in which they multiply
  std::int64_t useful_macs = 0;     ///< without what the baseline of inserted zeros adds
  std::int64_t kernels_loaded = 0;  ///< times that the kernel register was filled

 private:
  // What a step, or before it the kernel register, needs of a memory; no bytes: a tap on padding.
  struct Operand {
    bool kernel = false;
    DotStep step;
    std::uint64_t address = 0;
    int bytes = 0, requested = 0;
    std::vector<std::uint8_t> data;
    bool complete() const { return static_cast<int>(data.size()) == bytes; }
  };
  struct Result {
    std::uint64_t address = 0;
    std::vector<std::uint8_t> data;
    Cycle ready = 0;
  };
  void take(const Instruction& instruction, Cycle next) override;
  void step();
  void take_responses(Cycle now);
  void begin_next(Cycle now);
  void begin_run(Cycle now);
  void finish_run(Cycle now);
  void read_ahead();
  void compute(Cycle now);
  Activity blocker(Cycle now) const;
  void multiply(const Operand& operand, Cycle now);
  void request(Cycle now);
  void write(Cycle now);
  void schedule(Cycle now);
  Activity idle() const { return run_ ? Activity::kNoWork : blocker_; }

  DotConfig config_;
  DmaConfig ports_;

  std::deque<Instruction> queue_;  // the front one is at work
  ConvSetup setup_;
  std::optional<DotSchedule> run_;  // of the front one
  Cycle began_ = 0;
  std::int64_t next_step_ = 0;        // the first whose operands are not in operands_ yet
  std::int64_t unfinished_ = 0;       // results without a write's response
  bool released_ = false;             // the command processor knows that all operands were read
  std::deque<Operand> ahead_;         // requested or to be requested, oldest first
  std::vector<std::uint8_t> kernel_;  // the kernel register, with the record
  std::int32_t sum_ = 0;              // of the output at work
  std::deque<Result> waiting_;        // results that are to be written
  Cycle free_at_ = 0;                 // of the multipliers
};

}  // namespace tilebeat::dot
