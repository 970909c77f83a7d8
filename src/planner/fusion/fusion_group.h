#pragma once

#include "planner/fusion/group_tasks.h"
#include "planner/language/mapping_file.h"
#include "planner/layer/placement.h"
#include "program/plan.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace tilebeat {

/// A layer of a fusion group and the cores of its reduction group.
struct GroupShards {
  const Workload& workload;
  const Layer& layer;
  const HardwareConfig& hardware;
  int cores = 1;
  std::optional<KernelTensorPlace> kernels;  ///< place of B of a product of two results
};
/// The layer in shards of its channels, one for each core of a reduction group; its map addresses count from
/// the beginning of the map.
ShardedLayer group_layer_in_shards(const GroupShards& of, const std::shared_ptr<MatrixLayer>& whole);

/// Matrix layers for trials of fusion groups: each is made once per size of reduction group, and has no
/// place.
class GroupTrials {
 public:
  GroupTrials(const Workload& workload, const HardwareConfig& hardware)
      : index_(workload), hardware_(hardware) {}
  const LayerIndex& index() const { return index_; }
  const HardwareConfig& hardware() const { return hardware_; }
  std::shared_ptr<const ShardedLayer> matrix(const Layer& layer, int cores = 1);
  /// An empty graph, valid until the next call; it reuses the memory of the previous one.
  TaskGraph& empty_graph();

 private:
  void share_job_costs(const Layer& layer, ShardedLayer& made);

  LayerIndex index_;
  const HardwareConfig& hardware_;
  std::map<std::pair<std::string, int>, std::shared_ptr<const ShardedLayer>> made_;
  std::map<std::vector<int>, std::vector<std::shared_ptr<KnownJobCosts>>> job_costs_;  // by sizes, then shard
  TaskGraph graph_;
};

/// A fusion group with all decisions made (SPEC FU-4). The constructor's arguments outlive it.
class FusionGroup {
 public:
  /// `request` names layers of the workload; fields that it leaves open are decided here. Throws UserError
  /// when the layers cannot be fused or do not fit.
  FusionGroup(const LayerIndex& index, const HardwareConfig& hardware, const GroupRequest& request);

  const GroupMapping& mapping() const { return mapping_; }
  /// Names of the tensors that it reads from DRAM.
  std::vector<std::string> inputs() const;
  /// Names of the tensors that have no place in DRAM.
  std::set<std::string> inner_tensors() const;
  /// The processors that work for it.
  std::vector<int> processors() const;

  /// Throws UserError when a layer cannot be cut along its channels as asked.
  void check_reductions() const;
  /// Assigns places to kernels and factors; `tensors` has those of the tensors.
  void place(DramPlaces& places, const std::map<std::string, Placement>& tensors);
  /// Assigns places that are only good for an estimate.
  void place_for_trial(GroupTrials& parts);
  /// A lower bound for any group of these layers that loads its kernels `loads` times, and is cut across like
  /// this one, into strips or pyramids or not at all: 1 for any such group, the number of clusters for a
  /// group in which each cluster loads them. Call after `place` or `place_for_trial`.
  BoundCycles bound(int loads = 1) const;
  /// By layer, sizes of reduction groups for layers whose kernel blocks and grains are too few to keep all
  /// cores of a cluster busy in a step. With `to_fit` also for layers whose kernels or map then take less
  /// memory of a core. Call after `place` or `place_for_trial`.
  std::map<std::string, int> idle_reduction_groups(bool to_fit) const;
  /// Name, bounds and choices; bytes and estimate are still unset.
  LayerPlan plan() const;
  /// Call these after `place`.
  PlannedUse add_tasks(TaskGraph& graph, const Prefetch& prefetch = {}) const;
  /// Adds the tasks to the graph of an estimate, until `enough` returns true.
  PlannedUse add_estimated_tasks(TaskGraph& graph, const EnoughTasks& enough = {}) const;
  PlannedUse add_prefetch(TaskGraph& graph, const Prefetch& prefetch, std::int64_t sram) const;
  std::vector<std::int64_t> wram_of_loads() const;
  /// What the group takes of memories. Throws UserError where kernels or factors do not fit a core. Call
  /// after `place` or `place_for_trial`.
  GroupNeeds needs() const { return needs_of_unit(work()); }
  /// WRAM bytes of a core that the group takes
  std::int64_t wram_bytes(const Prefetch& prefetch = {}) const;
  int regions() const;  ///< regions of WRAM

 private:
  struct DecidedLayer {
    std::shared_ptr<const ShardedLayer> matrix;
    std::shared_ptr<Layer> on_maps;  ///< the vector layer with its operands as maps of the group's extents
    std::unique_ptr<VectorWork> vector;
    std::uint64_t parameters = 0;
  };
  GroupWork work(const Prefetch& prefetch = {}) const;
  std::int64_t seen_macs(std::size_t l, std::int64_t macs) const;
  std::string output_part() const;
  std::string part_of_cores() const;
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

/// The estimated cost of a fusion group, and the bytes of maps, kernels and results that it moves over DRAM.
struct GroupEstimate {
  double cycles = 0;
  std::int64_t bytes = 0;
  double careful = 0;         ///< cycles with a safety margin, for the comparison with its layers one by one
  std::int64_t overhead = 0;  ///< of layers one by one: bytes of instructions and of tables over DRAM
};
/// Both throw UserError when the group is impossible or does not fit. Above `limit`, `careful` is infinite,
/// and whether the group fits, and its bytes, are unknown.
GroupEstimate estimate_unit(const GroupRequest& request, GroupTrials& parts, double limit);
/// All bytes over DRAM: maps, kernels, results, instructions and tables. Above `limit` a lower bound of them.
std::int64_t bytes_of_unit(const GroupRequest& request, GroupTrials& parts, double limit);

}  // namespace tilebeat
