#pragma once

#include "tilebeat/engines/switch_array/sim/engine.h"
#include "tilebeat/engines/switch_array/sim/read_channel.h"
#include "tilebeat/engines/switch_array/sim/store_channel.h"
#include "tilebeat/fabric/dram_controller.h"
#include "tilebeat/fabric/interconnect.h"
#include "tilebeat/program/plan.h"
#include "tilebeat/system/system.h"
#include "tilebeat/units/command_processor.h"
#include "tilebeat/units/host.h"

#include <memory>
#include <vector>

#include <systemc>

namespace tilebeat {

/// The system on chip of document 000 figure 6 [0224-0228]: host CPU, DDR behind its controller, AXI-like
/// interconnect, and the switch-array engine with its DMA control.
class Soc : public System {
 public:
  Soc(sc_core::sc_module_name name, const HardwareConfig& hardware, const Plan& plan,
      const SimulationOptions& options, DeltaJitter* jitter);

  bool finished() const override { return host_->finished(); }
  Snapshot snapshot_now() override;
  std::string describe_state() const override { return control_->describe_state(); }
  std::string describe_under_way() const override { return under_way_line(*control_); }

 private:
  void build(const HardwareConfig& hardware, const Plan& plan, const SimulationOptions& options);
  void bind();
  std::vector<std::pair<const char*, CycleLedger*>> ledgers();
  Snapshot take_snapshot(Cycle at) override;
  unsigned debug_transport(tlm::tlm_generic_payload& payload) override {
    return host_->port.socket->transport_dbg(payload);
  }

  std::unique_ptr<Interconnect> interconnect_;
  std::unique_ptr<DramController> dram_;
  std::unique_ptr<Host> host_;
  std::unique_ptr<CommandProcessor> control_;
  std::unique_ptr<ReadChannel> load_, parameter_;
  std::unique_ptr<StoreChannel> store_;
  std::unique_ptr<SwitchArrayEngine> engine_;
};

}  // namespace tilebeat
