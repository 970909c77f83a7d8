#pragma once

#include "program/plan.h"
#include "system/core.h"
#include "system/main_memories.h"
#include "system/system.h"
#include "units/host.h"
#include "units/sync_network.h"

#include <map>
#include <memory>
#include <vector>

namespace tilebeat {

/// A chip and its board (SPEC HI-1): DRAM behind memory controllers, the interconnect, clusters of cores with
/// a memory core each, links between them, the synchronisation network, and the host. Processor numbers count
/// cluster by cluster, its cores first, then its memory core.
///
/// Of clusters that have no work (none of their processors has a program, and the programs are the planner's)
/// only the first is built: all others would have the same counts (SPEC CY-7).
class Chip : public System {
 public:
  Chip(sc_core::sc_module_name name, const HardwareConfig& hardware, const Plan& plan,
       const SimulationOptions& options, DeltaJitter* jitter);
  ~Chip() override;

  bool finished() const override { return host_->finished(); }
  void withdraw(std::uint64_t begin, std::uint64_t end) override { memories_.withdraw(begin, end); }
  std::vector<const Scratchpad*> scratchpads() const override;
  std::string describe_state() const override;
  std::string describe_under_way() const override;

 private:
  /// The parts of a cluster.
  struct ClusterParts {
    std::vector<std::unique_ptr<Core>> cores;
    std::unique_ptr<MemoryCore> memory;
  };
  class Unconnected;
  void start_host(Cycle now) override { host_->start(now); }
  void follow_programs(const Plan& plan) override;
  void clear_main_memory() override { memories_.clear(); }
  void build(const HardwareConfig& hardware, const Plan& plan, const SimulationOptions& options);
  void build_clusters(const HardwareConfig& hardware, const SimulationOptions& options,
                      const std::vector<bool>& idle);
  void bind(const ChipConfig& chip, StartedBy started_by);
  void bind_cluster(int cluster, const ChipConfig& chip, std::size_t matrix_port);
  void bind_nothing(int cluster, const ChipConfig& chip);
  void leave_unused(const Plan& plan);
  void bind_processor(CommandProcessor& control, int processor);
  template <class Action>
  void for_each_control(Action action) const {
    for (const auto& cluster : clusters_) {
      for (const auto& core : cluster.cores) action(*core->control);
      if (cluster.memory) action(*cluster.memory->control);
    }
  }
  Cycle settled_at() override;
  Snapshot take_snapshot(Cycle at) override;
  LayerCounts own_counts(int processor) override;
  std::int64_t arrived_from_dram() const override;
  void show_ledgers(UnitProbes& probes) override;
  void visit(StatVisitor& visitor);
  unsigned debug_transport(tlm::tlm_generic_payload& payload) override {
    return host_->port.socket->transport_dbg(payload);
  }

  std::unique_ptr<Interconnect> noc_, link_;
  MainMemories memories_;
  std::unique_ptr<Host> host_;
  std::unique_ptr<StartUnit> start_;  ///< absent: the host starts every processor itself
  std::unique_ptr<SyncNetwork> sync_;
  std::unique_ptr<Unconnected> unconnected_;  ///< the sockets of clusters that are not built
  /// modules that only name clusters in the hierarchy
  std::vector<std::unique_ptr<sc_core::sc_module>> names_;
  std::vector<ClusterParts> clusters_;  ///< without parts: it is not built
  int processors_a_cluster_ = 0;
  /// By processor number, for clusters that are built: its own ports of the interconnect.
  std::map<int, std::vector<std::size_t>> ports_;
  int like_ = 0;  ///< the idle cluster that is built; its counts stand for those that are not
};

}  // namespace tilebeat
