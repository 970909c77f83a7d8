#pragma once

#include "engines/rolling/config.h"
#include "engines/rolling/sim/job.h"
#include "engines/rolling/sim/operand_loader.h"
#include "engines/rolling/sim/pe_array.h"
#include "engines/rolling/sim/result_buffer.h"
#include "observe/statistics.h"
#include "sim/context.h"
#include "sim/upset.h"
#include "units/commanded_unit.h"
#include "units/matrix_unit.h"

#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include <systemc>

namespace tilebeat::rolling {

/// Counters of the array.
struct ArrayStats {
  std::int64_t runs = 0, rounds = 0;
  std::int64_t beats = 0;
  std::int64_t rolls = 0;        ///< rolls of a ring, or of all rings of a computation
  std::int64_t exchanges = 0;    ///< exchanges of blocks between groups
  std::int64_t corrections = 0;  ///< corrections of blocks that rolled within themselves
  std::int64_t useful_macs = 0;
  MacLosses losses{};
  /// elements that would be loaded if every block pair were loaded anew
  std::int64_t elements_reloading = 0;
};

/// The memories of a core that operands come from and results go to.
struct OperandMemories {
  MemoryConfig nram, wram;
};

/// The rolling-register matrix unit of document 002 figure 1 (SPEC section 5): the PE array with its register
/// groups, its adder trees, its controller, the loaders of both operands and the result buffer.
///
/// The order is that of RollingSchedule. Throughput: one beat a cycle, one line of each operand a cycle, one
/// line of sums a cycle. A round begins in the cycle after its last line entered. The groups of a round are
/// free in the cycle after its last beat; there are groups for `groups` div (stacked blocks x cuts) rounds.
/// Latency: a beat's sums are added in the result buffer adder_tree_clocks(lanes) cycles later.
/// Back-pressure: an output block begins when a half of the result buffer was left (`output_drain`); then A
/// is waited for
/// (`input_load`), then B (`weight_load`). Exchanges, corrections and lines that wrap through the buffer are
/// stalls of their own (`roll`). The operands of a run are released in the cycle after its last line entered;
/// the lines of the next one follow.
///
/// In clock granularity every cycle moves data; in tile granularity a round is done in one step, whose cycles
/// the schedule counts, as soon as the cycle in which it can begin is known.
class RollingUnit : public CommandedUnit {
 public:
  std::array<std::unique_ptr<OperandLoader>, kOperands> loaders;
  ResultBuffer results;

  /// `memories`: those of the core, at which the unit has ports of its own; none: it uses a bus.
  RollingUnit(sc_core::sc_module_name name, const SimContext& context, const RollingConfig& config,
              int max_outstanding, const std::optional<OperandMemories>& memories, Granularity granularity);
  SC_HAS_PROCESS(RollingUnit);

  /// Its ports to the bus, in the order of arbitration.
  std::vector<NamedPort> bus_ports();
  /// Its ports at the memories of a core: NRAM has two, for A and for results, WRAM one, for B.
  static constexpr int kNramPorts = 2, kWramPorts = 1;
  void bind_memories(Scratchpad& nram, Scratchpad& wram);
  /// The decoder at the port for B, of a core, has room for `most` scales; 0: there is none.
  void hold_scales(int most);

  void inject_fault(const Fault& fault);  ///< fault in the operand registers
  void read_every_word();                 ///< see MatrixUnit::read_every_word

  CycleLedger ledger;  ///< ledger of the array
  ArrayStats stats;

 private:
  // The sums that a run left in the result buffer for the next one.
  struct OpenSums {
    int rows = 0, columns = 0;
    Variant variant{};
    bool operator==(const OpenSums& other) const {
      return rows == other.rows && columns == other.columns && variant == other.variant;
    }
  };
  // Sums in the adder trees, at most one per line.
  struct LineSum {
    SumPlace place;
    Sum value = 0;
  };
  struct Sums {
    Cycle due = 0;
    std::int64_t number = 0;
    std::size_t count = 0;  // number of values
    std::vector<LineSum> values;
  };
  static constexpr std::size_t kMostGroups = 64;  // as the configuration allows
  void take(const Instruction& instruction, Cycle next) override;
  void step();
  void begin_next(Cycle now);
  void begin_run(Cycle now);
  void load_image(const RollingRun& run, Cycle now);
  void hold_memories(Job& job, Cycle now);
  void check_sums(const RollingRun& run, const RollingSchedule& schedule);
  void end_loading(Cycle now);
  void finish_jobs(Cycle now);
  bool works(Cycle now) const { return !rounds_.empty() || (last_ended_ && *last_ended_ >= now); }
  Activity idle(Cycle now) const { return works(now) ? Activity::kOutputReady : blocker_; }
  OperandLoader& loader(OperandName operand) { return *nth(loaders, operand); }
  void schedule(Cycle now);

  // Enters lines up to cycle `last`.
  bool enter_lines(OperandName operand, Cycle last);
  void load_line(const OperandLoader::Line& line, Round& round, OperandName operand, Cycle at);
  int group_at(const Round& round, int part, int cut) const {
    return (round.first_group + part * round.cut_groups + cut) % config_.groups;
  }
  std::optional<Cycle> groups_free_from(const Round& round) const;
  std::optional<Cycle> place_free_from(const OperandLoader::Line& line) const;
  Cycle tree_clocks(const Round& round) const;
  void end_round(Cycle last);
  void count_losses(const Round& round, std::int64_t macs);
  void count_reloading(const Round& round);

  // Clock granularity: one call a cycle.
  void run_clock(Cycle now);
  Activity round_blocker(const Round& round, Cycle now) const;
  void do_step(const Round& round, Cycle now);
  void beat(const Round& round, Cycle now);
  static bool is_wide(const Round& round) { return round.job->conv.input_type == DType::kInt16; }
  void multiply_group(const Round& round, const Step& step, std::vector<std::int32_t>& line_sums, Cycle now);
  void stream(const Round& round, Cycle now);
  void after_step(const Round& round, const std::optional<Step>& next);
  void roll(const Round& round, int clock);
  void exchange(const Round& round);
  void correct(const Round& round);
  Sums sums_due(Cycle due);
  void land_sums(Cycle now);
  void declare_signals();
  void trace_entry(OperandName operand, bool entered, Cycle now);
  void trace_load(const OperandLoader::Line& line, const Round& round, OperandName operand, Cycle at);
  void trace_landing(const Sums& sums, int multiplier, Cycle now);
  void trace_step(Cycle now);
  void trace_clock(Cycle now);
  void trace_registers(const Round& round, OperandName operand, Cycle now);

  // Tile granularity.
  void run_ahead();
  void load_front();
  bool do_round();
  void multiply_round(const Round& round);
  void multiply_images(const Round& round);
  struct RoundCost {
    RollingSchedule::Clocks clocks;
    RollingSchedule::Rolls rolls;
  };
  const RoundCost& cost_of(const Round& round);
  bool from_images() const { return granularity_ == Granularity::kTile && results.port && !faulty_; }

  RollingConfig config_;
  Granularity granularity_;
  PeArray array_;
  WorkCounter work_;
  bool faulty_ = false;  // registers or memories flip bits

  std::deque<Instruction> queue_;  // the front one is loaded
  ConvSetup conv_;
  RollingSetup setup_;
  std::optional<OpenSums> open_sums_;      // sums that the next run continues
  std::shared_ptr<Job> loading_;           // job of the front instruction, if it is a run
  std::deque<std::shared_ptr<Job>> jobs_;  // unfinished jobs, oldest first
  KernelView last_kernels_;                // of the run before
  Rounds rounds_;
  // by operand: cycle in which the last line of the run being loaded entered
  std::array<std::optional<Cycle>, kOperands> loaded_;
  std::array<Cycle, kMostGroups> ended_{};  // by number of the round modulo kMostGroups
  std::int64_t rounds_ended_ = 0;
  std::optional<Cycle> last_ended_;
  std::int64_t sums_ = 0;  // number of the sums that are added to

  RoundCost cost_;                  // tile granularity: of the round at work
  std::optional<Step> step_;        // clock granularity: of the front round
  std::int64_t beats_counted_ = 0;  // beats whose losses have been counted
  std::deque<Sums> trees_;
  std::vector<std::vector<LineSum>> spare_;           // storage of sums that have arrived, for reuse
  std::vector<std::vector<std::int32_t>> line_sums_;  // by multiplier
  std::vector<Sum> accumulators_;
  UpsetsToCome<Fault> upsets_;  // of operand registers
  bool registers_have_faults_ = false;
  std::vector<std::int16_t> elements_;
  struct Signals {
    SignalId group, computation, phase, step;
    struct Load {
      SignalId valid, group, line, across;
    };
    std::array<Load, kOperands> load;
    Strobe beat, valid_sums;
    SignalGroup sums;  // [multiplier][line]
  };
  std::optional<Signals> signals_;                // trace signals
  std::vector<ResultTrace::Place> places_shown_;  // of the sums that land
};

}  // namespace tilebeat::rolling
