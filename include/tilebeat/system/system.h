#pragma once

#include "tilebeat/engine/control/command_processor.h"
#include "tilebeat/planner/plan.h"
#include "tilebeat/system/build_order.h"
#include "tilebeat/system/snapshot.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <systemc>

namespace tilebeat {

/// A whole piece of hardware: what `simulate` needs of it.
class System : public sc_core::sc_module {
 public:
  /// Reads and writes DRAM without time passing.
  void write_memory(std::uint64_t address, const std::vector<std::uint8_t>& bytes);
  std::vector<std::uint8_t> read_memory(std::uint64_t address, std::int64_t bytes);
  /// All programs have run.
  virtual bool finished() const = 0;
  /// Snapshots at the end of each layer, in order of completion, with the layers' numbers.
  const std::vector<std::pair<std::uint32_t, Snapshot>>& layer_ends() const { return layer_ends_; }
  /// The counters and ledgers as they stand, up to the clock to which every ledger is settled.
  virtual Snapshot snapshot_now() = 0;
  /// What every unit holds and waits for.
  virtual std::string describe_state() const = 0;
  /// The instructions that units work on, with their addresses, a line a processor; empty: none.
  virtual std::string describe_under_way() const = 0;
  Cycle now() const { return context_.clock.cycle_of(now_ps()); }

 protected:
  System(sc_core::sc_module_name name, const HardwareConfig& hardware, const SimulationOptions& options,
         DeltaJitter* jitter);
  /// Throws SimulationError when a program ends a layer that the plan does not have.
  static void check_layer(std::uint32_t layer, std::size_t layers);
  /// A processor's line of `describe_under_way`.
  static std::string under_way_line(const CommandProcessor& control);
  /// Bytes that a debug transport through the host's port moved, at most up to the end of one memory's part.
  virtual unsigned debug_transport(tlm::tlm_generic_payload& payload) = 0;

  SimContext context_;
  BuildOrder order_;
  std::vector<std::pair<std::uint32_t, Snapshot>> layer_ends_;
};

/// The hardware that a configuration describes: the system on chip, or a chip of clusters.
std::unique_ptr<System> make_system(const HardwareConfig& hardware, const Plan& plan,
                                    const SimulationOptions& options, DeltaJitter* jitter);

}  // namespace tilebeat
