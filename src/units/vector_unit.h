#pragma once

#include "config/hardware_config.h"
#include "fabric/burst_port.h"
#include "fabric/strided_block.h"
#include "observe/statistics.h"
#include "units/commanded_unit.h"
#include "units/vector_math.h"
#include "units/vector_steps.h"

#include <deque>
#include <memory>
#include <vector>

#include <systemc>

namespace tilebeat {

/// The vector unit of a core (SPEC HI-2): elementwise operations, tables, scaling, pooling, softmax and
/// resizing from NRAM to NRAM, as VectorRun and VectorResize say.
///
/// Throughput: `lanes` elements a cycle and pass (see vector_steps.h), one read request a cycle and operand
/// port, one write request a cycle. Latency: the results of a step whose last cycle in the lanes is t can be
/// written in cycle t + 1 + `latency_cycles`. Back-pressure: operands are requested while the operand buffer
/// of `buffer_bytes` has room for a whole step; a step enters the lanes when all its operands are there and
/// the results waiting to be written take less than `buffer_bytes`. Steps, also those of successive
/// instructions, follow one another without a gap. The sources are released when the last step enters the
/// lanes, the instruction is done when its last write's response has arrived.
class VectorUnit : public CommandedUnit {
 public:
  BurstPort a, b, result;  ///< first operand and parameters, second operand, results

  /// The operations that the unit is wired for: all, or only add, sub and mul as the scalar unit of a memory
  /// core.
  enum class Operations : std::uint8_t { kAll, kScalar };
  /// `memory` is the address of the first byte of the memory that operands and results lie in: the core's
  /// NRAM, a memory core's SRAM.
  VectorUnit(sc_core::sc_module_name name, const SimContext& context, const VectorConfig& config,
             const DmaConfig& ports, std::uint64_t memory, Operations operations = Operations::kAll);
  SC_HAS_PROCESS(VectorUnit);

  CycleLedger ledger;            ///< ledger of the lanes
  std::int64_t results = 0;      ///< elements computed
  std::int64_t lane_clocks = 0;  ///< cycles in the lanes

 private:
  struct Job {
    Instruction instruction;
    Cycle began = 0;
    std::int64_t written = 0;    // bytes with a write's response
    std::int64_t unwritten = 0;  // result bytes without a write's response
    bool computed = false;       // the last step has entered the lanes
  };
  struct Operand {
    std::vector<std::uint8_t> data;
    int requested = 0;  // bytes
  };
  struct Step {
    VectorStep step;
    bool last_of_job = false;
    Operand a, b;
    bool complete() const { return count_of(a.data) == step.a_bytes && count_of(b.data) == step.b_bytes; }
  };
  struct Result {
    std::uint64_t address = 0;
    std::vector<std::uint8_t> data;
    int sent = 0;
    Cycle ready = 0;
  };
  void take(const Instruction& instruction, Cycle next) override;
  Footprint footprint(const Instruction& instruction) const override;
  void check_wired(const Instruction& instruction) const;
  void check(const VectorRun& run) const;
  void check(const VectorResize& run) const;
  void check_quantised(const VectorRun& run) const;
  void check_reals(const VectorRun& run) const;
  void check(const VectorRow& run) const;
  void check_parameters(int bytes, const char* operation) const;
  void check_row(int channels, DType type, const char* operation) const;
  void step();
  // The numbers of steps of one operand.
  struct Order {
    std::deque<std::size_t> under_way;  // bursts in flight
    std::size_t next = 0;               // no step before it has anything to request
  };
  void take_operands(BurstPort& port, Order& order, Operand Step::*operand, Cycle now);
  void take_responses(Cycle now);
  void compute(Cycle now);
  Activity lane_blocker(Cycle now) const;
  void make_steps();
  void request(BurstPort& port, Order& order, Operand Step::*operand, std::uint64_t VectorStep::*from,
               int VectorStep::*bytes, Cycle now);
  void write(Cycle now);
  void schedule(Cycle now);

  VectorConfig config_;
  DmaConfig ports_;
  std::uint64_t memory_;
  Operations operations_;

  std::deque<Job> jobs_;                    // not done, oldest first
  std::size_t to_step_ = 0;                 // the first job whose steps have not begun
  std::size_t to_compute_ = 0;              // the job that is in the lanes next
  std::unique_ptr<StepSequence> stepping_;  // steps of job to_step_ - 1
  std::deque<Step> steps_;                  // with operands requested or there, oldest first
  std::size_t first_step_ = 0;              // number of the front one
  Order a_order_, b_order_;
  int operand_bytes_ = 0, result_bytes_ = 0;  // in the buffers
  std::deque<Result> results_;                // computed, not fully sent
  Cycle lanes_free_ = 0;
  VectorMath math_;
  SignalId busy_signal_ = -1;
};

}  // namespace tilebeat
