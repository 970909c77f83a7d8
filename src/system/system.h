#pragma once

#include "fabric/external_memory.h"
#include "program/plan.h"
#include "sim/context.h"
#include "system/snapshot.h"
#include "system/unit_probes.h"
#include "units/byte_checks.h"
#include "units/command_processor.h"
#include "units/host.h"
#include "units/matrix_unit.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <systemc>
#include <tlm>

namespace tilebeat {

/// Attributes counts to layers when one begins before the previous one is complete (SPEC UI-4, FU-9). Such
/// layers run in cores only, on the cores' own memories and DRAM. A processor's own counts belong exactly to
/// the layer that it has not finished yet; its DRAM bytes are those that completed at its own ports of the
/// interconnect. Counts of no single processor (opened DRAM rows, bytes over other ports, arrays of cores
/// without work) are divided where layers complete. DRAM traffic of other initiators than processors belongs
/// to the last of such layers.
class OverlappingLayers {
 public:
  /// A processor's own counts up to now, with the DRAM bytes of its own ports.
  using OwnCounts = std::function<LayerCounts(int processor)>;

  explicit OverlappingLayers(const Plan& plan);

  /// Whether the next layer begins before `layer` is complete.
  bool overlaps(std::uint32_t layer) const { return layer < overlaps_.size() && overlaps_[layer]; }
  /// Whether DRAM reads up to the end of `layer` are those that have arrived at ports. That is so where any
  /// layers overlap, except for the last layer, which gets the bytes that are still on their way.
  bool counts_arrivals(std::uint32_t layer) const { return any_ && layer + 1 < overlaps_.size(); }
  /// The programs begin; `all` are the counts at that time.
  void begin(const LayerCounts& all) { before_ = all.bytes; }
  /// A processor has finished its part of a layer that overlaps the next one; `own` are its counts.
  void end_part(std::uint32_t layer, int processor, const LayerCounts& own) {
    parts_[layer].emplace_back(processor, own);
  }
  /// A layer is complete; `all` are the counts at that time. Returns the part of them up to this layer.
  LayerCounts complete(std::uint32_t layer, const LayerCounts& all, const std::vector<int>& processors,
                       const OwnCounts& own);

 private:
  std::vector<bool> overlaps_;  // by layer
  bool any_ = false;            // whether any layers overlap
  // by layer: counts of each processor at the end of its part
  std::map<std::uint32_t, std::vector<std::pair<int, LayerCounts>>> parts_;
  std::map<int, MemoryBytes> moved_;  // by processor: bytes up to the layer that is not complete
  MemoryBytes before_;                // bytes of all up to that layer
};

/// Where a fault can be; kEngine: in the memory that the engine's configuration describes; kPe: in a register
/// of a PE. In PEs, in DRAM and on buses faults are upsets.
enum class FaultPlace : std::uint8_t { kEngine, kNram, kWram, kSram, kPe, kDram, kBus };

/// A broken cell, or an upset, of a core, of the SRAM of a cluster, of DRAM, where `cell.address` is the
/// address and there is one bank, or of the byte `cell.address` of a bus.
struct PlacedFault {
  FaultPlace place = FaultPlace::kEngine;
  int cluster = 0, core = 0;  ///< on a chip; the core within its cluster
  std::string bus;            ///< a port and direction, called as in reports: "noc.cluster0.gdma.read"
  Fault cell;
};

/// Reads and writes DRAM without time passing.
struct MemoryBetweenClocks {
  std::function<std::vector<std::uint8_t>(std::uint64_t address, std::int64_t bytes)> read;
  std::function<void(std::uint64_t address, const std::vector<std::uint8_t>& bytes)> write;
};

/// The options of a simulation, besides workload and hardware.
struct SimulationOptions {
  Granularity granularity = Granularity::kTile;
  Observers observers;
  bool trace_accumulators = false;
  std::vector<PlacedFault> faults;
  /// kOutside: the interconnect has one more port, `System::external_port`, and the programs begin with
  /// `System::start`.
  StartedBy started_by = StartedBy::kItself;
  /// The socket of a main memory outside of the system, in the place of its DRAM; null: it has DRAM.
  ExternalMemory::Port* external_memory = nullptr;
  /// Checks reads of bytes that an instruction under way will write and, unless they are allowed, of bytes
  /// that nobody wrote (ByteChecks); none: nothing is checked, which is faster.
  std::optional<UninitialisedReads> check_reads = {};
  std::uint32_t jitter_seed = 0;       ///< 0: no random delta delays (SPEC CY-4)
  std::uint32_t build_order_seed = 0;  ///< 0: modules are built in their usual order
  /// Called behind the run with the bytes of DRAM that the plan uses, piece by piece; may be empty.
  std::function<void(std::uint64_t address, const std::vector<std::uint8_t>& bytes)> memory_after;
  /// Called behind the run with the name and the bytes of each bank on the chip; may be empty.
  std::function<void(const std::string& name, const std::uint8_t* bytes, std::size_t count)> bank_after;
  std::function<void(Cycle now, std::size_t layers_done)> progress;  ///< called now and then; may be empty
  /// Called between two clocks, in place of `progress`: returns the clock before which the simulation stops
  /// again, later than the present one. It may read and write memory. May be empty.
  std::function<Cycle(const MemoryBetweenClocks& memory)> step;
};

/// A complete piece of hardware, with the interface that `simulate` needs.
class System : public sc_core::sc_module, private RunWatch {
 public:
  SC_HAS_PROCESS(System);

  /// Reads and writes DRAM without time passing.
  void write_memory(std::uint64_t address, const std::vector<std::uint8_t>& bytes);
  std::vector<std::uint8_t> read_memory(std::uint64_t address, std::int64_t bytes);
  /// Whether all programs have run.
  virtual bool finished() const = 0;
  /// The end of each layer, in order of completion, with the layers' numbers; ends of the same cycle in the
  /// order of these numbers.
  const std::vector<std::pair<std::uint32_t, LayerMark>>& layer_ends() const { return layer_ends_; }
  /// The numbers of the layers that the host has computed, in order.
  const std::vector<std::uint32_t>& host_done() const { return host_done_; }
  /// The snapshot of the last layer end; empty before the first.
  const Snapshot& last_layer_end() const { return last_layer_end_; }
  /// The snapshot of the cycle in which all hand-written programs had run; nothing before that.
  const std::optional<Snapshot>& run_end() const { return run_end_; }
  /// Starts the programs in this cycle, where `SimulationOptions::started_by` is kOutside; to be called once
  /// a run, from a process.
  void start();
  /// The next start begins the programs of `plan`, whose image is in memory then; nothing has been started,
  /// or all programs have run. What memories hold stays.
  void follow(const Plan& plan);
  /// Writes zeros into all memories of the system, when nothing runs.
  void clear_memories();
  /// Addresses [begin, end] of the external memory are no longer granted for direct access.
  virtual void withdraw(std::uint64_t begin, std::uint64_t end) = 0;
  /// The snapshot of the cycle in which the programs began; empty where the host begins by itself.
  const Snapshot& run_begin() const { return run_begin_; }
  /// The read that was refused, where reads are checked and one was.
  std::optional<ByteChecks::Fault> fault() const { return checks_ ? checks_->fault() : std::nullopt; }
  /// Notified when all programs have run.
  const sc_core::sc_event& run_ended() const { return run_ended_; }
  /// The interconnect's port for an outside master, which must be bound; null: there is none.
  tlm::tlm_target_socket<>* external_port() const { return external_port_; }
  /// The counters and ledgers as they stand, up to the cycle to which every ledger is settled.
  Snapshot snapshot_now() { return take_snapshot(std::max(now(), settled_at())); }
  /// The on-chip memories that are built, in the order of their names in reports.
  virtual std::vector<const Scratchpad*> scratchpads() const { return {}; }
  /// A text with the state of every unit and what it waits for.
  virtual std::string describe_state() const = 0;
  /// The instructions that units are executing, with their addresses, a line per processor; empty: none.
  virtual std::string describe_under_way() const = 0;
  /// Injects the faults in DRAM and on buses; those of cores and clusters are injected where these are built.
  /// Called once, before the run. Throws UserError for a bus that there is not, or that is less wide.
  void inject_faults(const std::vector<PlacedFault>& faults);
  /// Connects the observers of the run, if any, to every unit. Called once, before the run.
  void probe();
  /// Disconnects observers that record nothing more.
  void let_go_if_over() {
    if (probes_) probes_->let_go_if_over();
  }
  Cycle now() const { return context_.clock.cycle_of(now_ps()); }

 protected:
  System(sc_core::sc_module_name name, const HardwareConfig& hardware, const Plan& plan,
         const SimulationOptions& options, DeltaJitter* jitter);
  /// The latest cycle up to which any ledger is settled.
  virtual Cycle settled_at() = 0;
  /// The snapshot of a cycle, every counter and ledger.
  virtual Snapshot take_snapshot(Cycle at) = 0;
  /// A processor's own counts up to now, for OverlappingLayers; and the bytes that all initiators have read
  /// from DRAM and received. With a single processor no layers overlap.
  virtual LayerCounts own_counts(int /*processor*/) { return {}; }
  virtual std::int64_t arrived_from_dram() const { return 0; }
  /// Shows the ledgers of all units.
  virtual void show_ledgers(UnitProbes& probes) = 0;
  /// Lets the host begin in cycle `now`.
  virtual void start_host(Cycle now) = 0;
  /// The host's next programs are those of `plan`.
  virtual void follow_programs(const Plan& plan) = 0;
  virtual void clear_main_memory() = 0;
  /// The context of the modules of a processor, by which the ends of its layers are followed. Called once a
  /// processor.
  const SimContext& context_of(int processor);
  /// The checks of what a processor reads; null: nothing is checked.
  ProcessorBytes* bytes_of(int processor) {
    return checks_ ? &bytes_.emplace_back(*checks_, processor) : nullptr;
  }
  void offer(tlm::tlm_target_socket<>& external_port) { external_port_ = &external_port; }
  /// A processor's line of `describe_under_way`.
  static std::string under_way_line(const CommandProcessor& control);
  /// Moves bytes by a debug transport through the host's port; returns their number, at most up to the end of
  /// one memory's part.
  virtual unsigned debug_transport(tlm::tlm_generic_payload& payload) = 0;

  SimContext context_;
  BuildOrder order_;

 private:
  void move_memory(tlm::tlm_command command, std::uint64_t address, std::uint8_t* data, std::size_t bytes);
  /// A processor has executed `layer.end`; the layer is complete when all processors whose programs name it
  /// have. Throws SimulationError when no program names it, or not this often.
  void end_layer(std::uint32_t layer, int processor, Cycle at);
  /// Takes over what it needs of a plan.
  void take(const Plan& plan);
  /// Lets the host begin after all actions of this cycle.
  void begin_run();
  /// Takes the snapshot of the layers that ended in this cycle, after all processors have acted.
  void record_layers();

  std::vector<int> ends_left_;        ///< by layer: processors that have not finished it yet
  std::vector<std::uint32_t> ended_;  ///< layers that ended in this cycle, not recorded yet
  /// in this cycle, not recorded yet: overlapping layers, and processors
  std::vector<std::pair<std::uint32_t, int>> ended_parts_;
  /// Follows the ends of layers on a processor.
  struct Processor : RunWatch {
    Processor(System& whole, int its_number);
    void layer_ended(std::uint32_t layer, Cycle at) override { system.end_layer(layer, number, at); }
    System& system;
    int number;
    SimContext context;
  };
  void run_ended(Cycle at) override;
  void programs_ran(std::size_t labels) override;
  /// Computes a layer of the host from DRAM to DRAM.
  void compute(const HostLayer& layer, const Placement& output);

  std::vector<HostLayer> host_layers_;  ///< in the order in which they are computed
  std::vector<std::uint32_t> host_done_;
  std::vector<Placement> host_outputs_;       ///< by layer of the host
  std::map<std::string, Placement> tensors_;  ///< those that they read
  std::optional<ByteChecks> checks_;
  std::deque<ProcessorBytes> bytes_;  ///< the checks as processors use them
  std::deque<Processor> processors_;  ///< those that are built
  bool hand_written_;                 ///< whether the programs are hand-written
  OverlappingLayers overlapping_;
  sc_core::sc_event record_, begin_, run_ended_;
  tlm::tlm_target_socket<>* external_port_ = nullptr;
  Snapshot run_begin_;
  std::vector<std::pair<std::uint32_t, LayerMark>> layer_ends_;
  Snapshot last_layer_end_;
  std::optional<Snapshot> run_end_;
  std::optional<UnitProbes> probes_;
};

/// The hardware that a configuration describes: the system on chip, or a chip of clusters.
std::unique_ptr<System> make_system(const HardwareConfig& hardware, const Plan& plan,
                                    const SimulationOptions& options, DeltaJitter* jitter);

}  // namespace tilebeat
