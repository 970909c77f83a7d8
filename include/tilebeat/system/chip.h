#pragma once

#include "tilebeat/program/plan.h"
#include "tilebeat/system/core.h"
#include "tilebeat/system/memory_core.h"
#include "tilebeat/system/system.h"
#include "tilebeat/units/host.h"
#include "tilebeat/units/start_unit.h"
#include "tilebeat/units/sync_network.h"

#include <memory>
#include <vector>

namespace tilebeat {

/// A chip and its board (SPEC HI-1): DRAM behind memory controllers, the interconnect, clusters of cores with
/// a memory core each, links between them, the synchronisation network, and the host. Processor numbers count
/// cluster by cluster, its cores first, then its memory core.
class Chip : public System {
 public:
  Chip(sc_core::sc_module_name name, const HardwareConfig& hardware, const Plan& plan,
       const SimulationOptions& options, DeltaJitter* jitter);

  bool finished() const override { return host_->finished(); }
  std::string describe_state() const override;
  std::string describe_under_way() const override;

 private:
  void build(const HardwareConfig& hardware, const Plan& plan, const SimulationOptions& options);
  void build_clusters(const HardwareConfig& hardware, const SimulationOptions& options);
  void bind(const ChipConfig& chip);
  void bind_processor(CommandProcessor& control, int processor);
  Cycle settled_at() override;
  Snapshot take_snapshot(Cycle at) override;
  unsigned debug_transport(tlm::tlm_generic_payload& payload) override {
    return host_->port.socket->transport_dbg(payload);
  }

  std::unique_ptr<Interconnect> noc_, link_;
  std::vector<std::unique_ptr<DramController>> drams_;
  std::unique_ptr<Host> host_;
  std::unique_ptr<StartUnit> start_;  ///< absent: the host starts every processor itself
  std::unique_ptr<SyncNetwork> sync_;
  std::vector<std::unique_ptr<sc_core::sc_module>> clusters_;  ///< only names in the hierarchy
  std::vector<std::unique_ptr<Core>> cores_;
  std::vector<std::unique_ptr<MemoryCore>> memory_cores_;
};

}  // namespace tilebeat
