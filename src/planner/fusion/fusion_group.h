#pragma once

#include "planner/fusion/group_tasks.h"
#include "planner/language/mapping_file.h"
#include "planner/layer/placement.h"
#include "program/plan.h"

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace tilebeat {

/// Matrix layers for trials of groups: each is made once for every number of cores of a reduction group, and
/// has no place.
class GroupTrials {
 public:
  GroupTrials(const Workload& workload, const HardwareConfig& hardware)
      : workload_(workload), hardware_(hardware) {}
  std::shared_ptr<const ShardedLayer> matrix(const Layer& layer, int cores = 1);
  /// A graph without tasks, until the next call: its memory is that of the one before.
  TaskGraph& empty_graph();

 private:
  const Workload& workload_;
  const HardwareConfig& hardware_;
  std::map<std::pair<std::string, int>, std::shared_ptr<const ShardedLayer>> made_;
  TaskGraph graph_;
};

/// Layers of a workload that run as one, decided (SPEC FU-4). What it is made of outlives it.
class FusionGroup {
 public:
  /// `request` names layers of the workload; what it leaves open is decided here. Throws UserError when they
  /// cannot be fused, or do not fit so.
  FusionGroup(const Workload& workload, const HardwareConfig& hardware, const GroupRequest& request);

  const GroupMapping& mapping() const { return mapping_; }
  /// Tensors that it reads from DRAM.
  std::vector<std::string> inputs() const;
  /// Tensors that have no place in DRAM.
  std::set<std::string> inner_tensors() const;
  /// The processors that work.
  std::vector<int> processors() const;

  /// Throws UserError when a layer cannot be cut along its channels as asked.
  void check_reductions() const;
  /// Gives kernels and factors their places; those of tensors are known.
  void place(DramPlaces& places, const std::map<std::string, Placement>& tensors);
  /// Places that are good for an estimate alone.
  void place_for_trial(GroupTrials& parts);
  /// No run of the group is shorter, whatever it holds and however it is cut, that loads the kernels so
  /// often: once for any such group, once a cluster for this one. After `place` or `place_for_trial`.
  BoundCycles bound(int loads = 1) const;
  /// Reduction groups of cores of a cluster for layers that keep fewer cores busy in a step, by layer: their
  /// kernel blocks, and what the matrix units compute at once, are too few. With `to_fit` also for layers
  /// whose kernels or map take less of a core so. After `place` or `place_for_trial`.
  std::map<std::string, int> idle_teams(bool to_fit) const;
  /// Name, bounds and choices; bytes and estimate are not there yet.
  LayerPlan plan() const;
  /// After `place`, all of these.
  PlannedUse add_tasks(TaskGraph& graph, const Prefetch& prefetch = {}) const;
  PlannedUse add_prefetch(TaskGraph& graph, const Prefetch& prefetch, std::int64_t sram) const;
  std::vector<std::int64_t> wram_of_loads() const;
  std::int64_t wram_bytes(const Prefetch& prefetch = {}) const;  ///< of a core, that it takes
  int regions() const;                                           ///< of WRAM

 private:
  struct DecidedLayer {
    std::shared_ptr<const ShardedLayer> matrix;
    std::shared_ptr<Layer> on_maps;  ///< of a vector layer: itself, on maps of the group's extents
    std::unique_ptr<VectorWork> vector;
    std::uint64_t parameters = 0;
  };
  GroupWork work(const Prefetch& prefetch = {}) const;
  std::string output_part() const;
  int reduction_group_of(const std::string& layer) const;
  void decide_vector(const GroupLayer& layer, DecidedLayer& decided) const;

  const Workload& workload_;
  const HardwareConfig& hardware_;
  GroupGraph graph_;
  GroupMapping mapping_;
  std::vector<DecidedLayer> layers_;
  std::vector<std::uint64_t> addresses_;  // by tensor
  std::vector<StoredMapPointer> stored_;  // by tensor
};

/// What a group is expected to take, and the bytes of maps, kernels and results that it moves over DRAM.
struct GroupEstimate {
  double cycles = 0;
  std::int64_t bytes = 0;
  double careful = 0;  ///< cycles, as they are taken where it is weighed against its layers one by one
};
/// Both throw UserError when the group cannot be, or does not fit. Careful cycles beyond `limit` are
/// infinite; whether the group fits, and its bytes, are then not known.
GroupEstimate estimate_unit(const Workload& workload, const HardwareConfig& hardware,
                            const GroupRequest& request, GroupTrials& parts, double limit);
std::int64_t bytes_of_unit(const Workload& workload, const HardwareConfig& hardware,
                           const GroupRequest& request, GroupTrials& parts);

}  // namespace tilebeat
