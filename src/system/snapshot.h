#pragma once

#include "fabric/dram_controller.h"
#include "fabric/external_memory.h"
#include "fabric/interconnect.h"
#include "fabric/scratchpad.h"
#include "observe/statistics.h"
#include "report/run_result.h"
#include "sim/context.h"
#include "units/command_processor.h"
#include "units/copy_engine.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <systemc>

namespace tilebeat {

/// The counts that a layer's results are made of.
struct LayerCounts {
  MemoryBytes bytes;
  ActivityCycles array{};  ///< cycles of all PE arrays together
  HelperCycles helpers{};  ///< cycles of the vector units and of the DMA engines
  std::int64_t beats = 0, macs = 0;
  std::int64_t results = 0, activations = 0;  ///< results made, rows of DRAM opened
  std::int64_t decoded = 0;                   ///< weights of four bits that became int8
  std::optional<MacLosses> losses;            ///< of the PE arrays that report losses

  LayerCounts& operator+=(const LayerCounts& more);
  /// Subtracts what was counted before, or elsewhere.
  LayerCounts& operator-=(const LayerCounts& other);
};

/// Beats of one direction of a port: of a bus, of a link, or of a memory behind them.
struct PortBeats {
  std::string name;
  Cycle cycles = 0;  ///< cycles that are accounted for
  Cycle beats = 0;   ///< cycles in which it carried data or, of a memory, had to
};

/// All counters and ledgers of a system at one instant.
struct Snapshot : LayerCounts {
  Cycle at = 0;
  std::vector<ModuleCycles> modules;
  std::vector<Counter> counters;
  std::vector<PortBeats> ports;
  std::vector<CoreResult> cores;  ///< without their utilisation

  /// Adds the counts of a part of the system.
  void add(Snapshot part);
  /// Adds a part, with prefix `prefix` of its modules' names replaced by `as`.
  void add(Snapshot part, const std::string& prefix, const std::string& as);
};

/// The beats of all ports by the snapshot's time, less those of `before`, the previous one. A core's counts
/// may begin earlier than the time between the two: as many beats less count.
PortBound port_bound(const Snapshot& snapshot, const Snapshot& before);

/// The part of a snapshot that is kept for a layer's end: the full snapshot of a large chip takes a megabyte,
/// and a network may have thousands of layers.
struct LayerMark : LayerCounts {
  Cycle at = 0;
  std::string busiest;       ///< module with the largest fraction of busy cycles since the previous mark
  double busiest_share = 0;  ///< 0 to 1
  PortBound port;            ///< of all ports since the previous mark

  LayerMark() = default;
  /// The mark of `snapshot`; `before` is the previous snapshot, or empty.
  LayerMark(const Snapshot& snapshot, const Snapshot& before);
};

/// Adds the statistics of parts, as of a cycle, to a snapshot.
class SnapshotVisitor : public StatVisitor {
 public:
  /// `container`: the name of the parts' container in reports; empty: the whole system.
  SnapshotVisitor(Snapshot& snapshot, const std::string& container)
      : snapshot_(snapshot), prefix_(container.empty() ? "" : container + ".") {}

  void ledger(const std::string& module, CycleLedger& ledger) override;
  void counter(const std::string& module, const std::string& name, const std::string& unit,
               std::int64_t value) override;
  void bytes(std::int64_t MemoryBytes::*level, std::int64_t moved) override {
    snapshot_.bytes.*level += moved;
  }
  void array(const CycleLedger& ledger, std::int64_t beats, std::int64_t macs) override;
  void helper(HelperUnit unit, const CycleLedger& ledger) override;
  void results(std::int64_t elements) override { snapshot_.results += elements; }
  void decoded(std::int64_t weights) override { snapshot_.decoded += weights; }
  void losses(const MacLosses& losses) override;

  // Statistics of parts that every system has, whatever its engines.
  void bus(const std::string& module, Interconnect& bus);
  /// `at`: the clock edge of the snapshot's cycle.
  void dram(const std::string& module, DramController& dram, Picoseconds at);
  void external(const std::string& module, ExternalMemory& memory);
  void scratchpad(const std::string& module, Scratchpad& memory, std::int64_t MemoryBytes::*read,
                  std::int64_t MemoryBytes::*write);
  void control_counters(const CommandProcessor& control);

 private:
  Snapshot& snapshot_;
  std::string prefix_;
};

/// Tells all ledgers, before time passes, that their units have no program.
class UnusedUnits : public StatVisitor {
 public:
  void ledger(const std::string& /*module*/, CycleLedger& ledger) override {
    ledger.enter(Activity::kUnused, 0);
  }
  void counter(const std::string&, const std::string&, const std::string&, std::int64_t) override {}
  void bytes(std::int64_t MemoryBytes::*, std::int64_t) override {}
  void array(const CycleLedger&, std::int64_t, std::int64_t) override {}
};

/// Finds the cycle up to which every ledger is settled.
class LatestClock : public StatVisitor {
 public:
  Cycle at = 0;

  void ledger(const std::string& /*module*/, CycleLedger& ledger) override {
    at = std::max(at, ledger.settled_at());
  }
  void counter(const std::string&, const std::string&, const std::string&, std::int64_t) override {}
  void bytes(std::int64_t MemoryBytes::*, std::int64_t) override {}
  void array(const CycleLedger&, std::int64_t, std::int64_t) override {}
};

// The ledgers of parts that cores, memory cores and boards have.
void visit_ledgers(StatVisitor& visitor, CommandProcessor& control);
void visit_ledgers(StatVisitor& visitor, const std::string& module, CopyEngine& engine);

}  // namespace tilebeat
