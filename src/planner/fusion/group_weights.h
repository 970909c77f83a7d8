#pragma once

#include "planner/fusion/cluster_split.h"
#include "planner/fusion/group_tasks.h"
#include "planner/language/mapping_file.h"
#include "planner/language/task_graph.h"
#include "planner/layer/kernel_loads.h"
#include "planner/layer/staging.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace tilebeat {

/// The kernels and factors of a fusion group in the cores of one cluster, at the same offset in every core
/// that needs them (SPEC FU-4). Factors have a place of their own in NRAM and stay there. So do resident
/// kernels in WRAM; streamed ones come in portions, each of a few kernel blocks of one layer, to slots of
/// WRAM in turn. The post-parameters of layers whose cores add up sums are among the factors.
class GroupWeights {
 public:
  /// A group of kernel blocks in the WRAM of the cores of one part of the kernels and one shard of the layer.
  struct Group {
    KernelGroup group;
    int part = 0;              ///< of LayerMapping::kernel_parts
    std::size_t shard = 0;     ///< of ShardedLayer::shares
    int portion = 0;           ///< of its layer; resident kernels are one portion
    std::uint64_t offset = 0;  ///< in WRAM, or in its slot; where WRAM has regions, in each of them
    BufferId buffer = 0;       ///< of resident kernels
    std::int64_t post_at = 0;  ///< in NRAM: what ends sums; all shares of a part have the same
    BufferId post = 0;         ///< likewise
  };

  /// Places for the layers of `work`.
  GroupWeights(TaskGraph& graph, const GroupWork& work);
  /// Bytes of NRAM, from its beginning on, that factors take.
  std::int64_t factor_bytes() const { return factor_bytes_; }

  /// Spreads each matrix layer over the cores of a cluster, so that they compute soonest; where resident
  /// kernels do not fit so, with as few of them in a core as can be. `most`: rows and columns of outputs that
  /// a step computes at most, by layer. Throws UserError when a layer, or all kernels together, do not fit.
  void split(const std::vector<MostOutputs>& most, ClusterShare share);
  /// Bytes of a core's WRAM that the kernels take.
  std::int64_t kernel_bytes() const { return kernel_bytes_; }
  const LayerMapping& mapping(std::size_t layer) const { return layers_[layer].mapping; }
  /// How the engine cuts the jobs of a shard.
  const JobCut& cut(std::size_t layer, std::size_t shard) const { return layers_[layer].cuts[shard]; }
  const std::vector<Group>& groups(std::size_t layer) const { return layers_[layer].groups; }
  int portions(std::size_t layer) const { return layers_[layer].portions; }
  /// Where the factors of a vector layer lie in NRAM, and the buffer that they are.
  std::int64_t factors_at(std::size_t layer) const { return layers_[layer].factors_at; }
  BufferId factors(std::size_t layer) const { return layers_[layer].factors; }

  /// A load, to all cores that need it.
  struct Load {
    std::vector<Transfer> transfers;  ///< from DRAM to multicast addresses
    AccessList written;
    std::optional<int> core = {};  ///< of kernels that only this one needs
  };
  /// Everything once: the kernels whose loads are made ahead (GroupWork), or all others and the factors.
  /// Streamed kernels are not among them.
  std::vector<Load> loads(bool ahead) const;
  /// Bytes of a core's WRAM that the first loads of kernels take, by their number from 1 on. Streamed kernels
  /// have none.
  std::vector<std::int64_t> wram_of_loads() const;

  bool streamed() const { return work_.kernels == GroupKernels::kStreamed; }
  /// The most bytes that a load of streamed kernels has.
  std::int64_t largest_load() const;
  /// The next slot is for a portion of a layer: what is loaded into it.
  std::vector<Load> fill(std::size_t layer, int portion);
  /// Where a group is now: of a streamed layer, one of the portion that was loaded last.
  std::uint64_t offset_of(const Group& group) const;
  /// How core `core` of the cluster reads it.
  Access read(const Group& group, int core) const;

 private:
  struct OfLayer {
    LayerMapping mapping;
    std::vector<JobCut> cuts;  // by shard
    std::vector<Group> groups;
    int portions = 0;
    std::int64_t factors_at = 0;  // of a layer whose cores add up sums: its post-parameters
    BufferId factors = 0;
  };
  // A place for portions, with a buffer for each core.
  struct Slot {
    std::uint64_t offset = 0;  // in each region of WRAM
    std::vector<BufferId> buffers;
    std::vector<int> versions;  // by core: the last one that is written; -1: none
  };
  int regions() const;
  void map_layer(std::size_t layer, const std::vector<MostOutputs>& most, ClusterShare share);
  void place(const std::vector<MostOutputs>& most, ClusterShare share);
  void place_groups(std::size_t layer, std::uint64_t& end);
  void split_streamed(const std::vector<MostOutputs>& most, ClusterShare share);
  std::uint64_t place_portions(std::size_t layer, std::uint64_t most);
  void place_posts(std::size_t layer);
  std::vector<KernelGroup> groups_of(std::size_t layer, std::size_t shard, int part) const;
  std::int64_t group_bytes_of(std::size_t layer, std::size_t shard) const;
  std::uint64_t cores_of_part(std::size_t layer, int part) const;
  std::uint64_t cores_of(std::size_t layer, const Group& group) const;
  Load load_of(std::size_t layer, const Group& group) const;
  std::vector<Transfer> transfers(std::size_t layer, const Group& group) const;
  Transfer transfer_of_factors(std::size_t layer) const;
  Load load_of_post(std::size_t layer, const Group& group) const;

  TaskGraph& graph_;
  const GroupWork& work_;
  const ChipConfig& chip_;
  std::vector<OfLayer> layers_;
  std::vector<Slot> slots_;  // of streamed kernels
  std::size_t slot_ = 0;     // that was filled last
  std::int64_t factor_bytes_ = 0, kernel_bytes_ = 0;
};

}  // namespace tilebeat
