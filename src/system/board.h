#pragma once

#include "fabric/interconnect.h"
#include "program/plan.h"
#include "system/main_memories.h"
#include "system/system.h"
#include "units/command_processor.h"
#include "units/host.h"
#include "units/matrix_unit.h"

#include <memory>

#include <systemc>

namespace tilebeat {

/// A board of one matrix unit without memories of a core: with the switch array the system on chip of
/// document 000 figure 6 [0224-0228], host CPU, DDR behind its controller, AXI-like interconnect, and the
/// engine with its DMA control.
class Board : public System {
 public:
  Board(sc_core::sc_module_name name, const HardwareConfig& hardware, const Plan& plan,
        const SimulationOptions& options, DeltaJitter* jitter);

  bool finished() const override { return host_->finished(); }
  void withdraw(std::uint64_t begin, std::uint64_t end) override { memory_.withdraw(begin, end); }
  std::string describe_state() const override { return control_->describe_state(); }
  std::string describe_under_way() const override { return under_way_line(*control_); }

 private:
  void start_host(Cycle now) override { host_->start(now); }
  void follow_programs(const Plan& plan) override;
  void clear_main_memory() override { memory_.clear(); }
  void build(const HardwareConfig& hardware, const Plan& plan, const SimulationOptions& options);
  void visit(StatVisitor& visitor);
  Cycle settled_at() override;
  Snapshot take_snapshot(Cycle at) override;
  void show_ledgers(UnitProbes& probes) override;
  unsigned debug_transport(tlm::tlm_generic_payload& payload) override {
    return host_->port.socket->transport_dbg(payload);
  }

  Races races_;
  std::unique_ptr<MatrixUnit> matrix_;
  MainMemories memory_;
  std::unique_ptr<Host> host_;
  std::unique_ptr<Interconnect> interconnect_;
  std::unique_ptr<CommandProcessor> control_;
};

}  // namespace tilebeat
