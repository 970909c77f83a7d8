#pragma once

#include "planner/fusion/cluster_split.h"
#include "planner/fusion/group_tasks.h"
#include "planner/language/mapping_file.h"
#include "planner/language/task_graph.h"
#include "planner/layer/operand_transfers.h"
#include "planner/layer/staging.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace tilebeat {

/// The kernels and factors of a fusion group in the cores of one cluster, at the same offset in every core
/// that needs them (SPEC FU-4). Factors stay in NRAM. Resident kernels stay in WRAM; streamed kernels come in
/// portions, each of a few kernel blocks of one layer, into slots of WRAM in turn. The parameters of
/// partial-sum exchanges belong to the factors.
class GroupWeights {
 public:
  /// Kernel blocks in the WRAM of the cores that have one part of the kernels and one shard of the layer.
  struct Group {
    KernelGroup group;
    int part = 0;              ///< number among the parts of LayerMapping::kernel_parts
    std::size_t shard = 0;     ///< number in ShardedLayer::shares
    int portion = 0;           ///< number in its layer; resident kernels are one portion
    std::uint64_t offset = 0;  ///< offset in WRAM, or in its slot; in every region, where WRAM has regions
    BufferId buffer = 0;       ///< buffer of resident kernels
    /// NRAM offset of the exchange's parameters; the same for all shards of a part
    std::int64_t post_at = 0;
    BufferId post = 0;  ///< buffer of the exchange's parameters
  };

  /// Assigns places for the layers of `work`.
  GroupWeights(TaskGraph& graph, const GroupWork& work);
  /// Bytes at the beginning of NRAM that factors take.
  std::int64_t factor_bytes() const { return factor_bytes_; }

  /// Splits each matrix layer over the cores of a cluster for the lowest estimate or, where resident kernels
  /// do not fit so, for the fewest kernels in a core. `most`: by layer, the most output rows and columns of a
  /// step. Throws UserError when a layer, or all kernels together, do not fit.
  /// `fixed`: by layer, the mapping of those that are not split so.
  void split(const std::vector<MostOutputs>& most, ClusterShare share,
             std::vector<std::optional<LayerMapping>> fixed);
  /// WRAM bytes of a core that the kernels take.
  std::int64_t kernel_bytes() const { return kernel_bytes_; }
  const LayerMapping& mapping(std::size_t layer) const { return layers_[layer].mapping; }
  /// The engine's cut of the jobs of a shard.
  const JobCut& cut(std::size_t layer, std::size_t shard) const { return layers_[layer].cuts[shard]; }
  const std::vector<Group>& groups(std::size_t layer) const { return layers_[layer].groups; }
  int portions(std::size_t layer) const { return layers_[layer].portions; }
  /// The NRAM offset of a vector layer's factors, and their buffer.
  std::int64_t factors_at(std::size_t layer) const { return layers_[layer].factors_at; }
  BufferId factors(std::size_t layer) const { return layers_[layer].factors; }

  /// A load to all cores that need it.
  struct Load {
    std::vector<Transfer> transfers;  ///< from DRAM to multicast addresses
    AccessList written;
    std::uint64_t cores = 0;  ///< of the cluster, as a bit mask
    /// Copies of each core that come first, to offsets in WRAM, and what they write, by core: they set places
    /// that a kernel that is a result does not fill (cleared_kernels).
    std::vector<Copy> clears = {};
    AccessList cleared = {};

    /// What the transfers of core number `n` of those that need the load access.
    AccessList accesses_of(int n) const {
      AccessList accesses{written[to_size(n)]};
      if (!clears.empty()) accesses.push_back(read(cleared[to_size(n)]));
      return accesses;
    }
    /// What the transfers access that serve all these cores.
    AccessList accesses() const {
      AccessList accesses = written;
      for (std::size_t n = 0; !clears.empty() && n < cleared.size(); ++n)
        accesses.push_back(read(cleared[n]));
      return accesses;
    }

   private:
    static Access read(const Access& of) { return {of.buffer, of.version, AccessKind::kRead}; }
  };
  /// Sets the bytes of the buffer that streams of weights pass through. Call before the functions below.
  void limit_streams(std::int64_t bytes) { stream_buffer_ = bytes; }
  /// The loads that are made once: those of prefetched kernels (`ahead`), or of all other kernels and the
  /// factors. Streamed kernels are not among them.
  std::vector<Load> loads(bool ahead) const;
  /// WRAM bytes of a core that the first n kernel loads take, for n from 1 on; empty for streamed kernels.
  std::vector<std::int64_t> wram_of_loads() const;

  /// WRAM bytes of a slot for streamed kernels, which holds a portion; 0 for resident kernels.
  std::int64_t slot_bytes() const { return slots_.empty() ? 0 : kernel_bytes_ / ssize(slots_); }
  bool streamed() const { return work_.kernels == GroupKernels::kStreamed; }
  /// The most bytes of a load of streamed kernels.
  std::int64_t largest_load() const;
  /// Assigns the next slot to a portion of a layer. Returns the loads that fill it. Of a product of two
  /// results the portion is that of a set; where a slot still has it, there are none.
  std::vector<Load> fill(std::size_t layer, int portion, int set = 0);
  /// Whether the layer is a product of two results.
  bool is_product(std::size_t layer) const;
  /// The current WRAM offset of a group; streamed, it is in the portion of its layer that was loaded last.
  std::uint64_t offset_of(std::size_t layer, const Group& group) const;
  /// The access by which core `core` of the cluster reads the group.
  Access read(std::size_t layer, const Group& group, int core) const;

 private:
  struct OfLayer {
    LayerMapping mapping;
    std::vector<JobCut> cuts;  // by shard
    std::vector<Group> groups;
    int portions = 0;
    std::int64_t factors_at = 0;  // NRAM offset of factors, or of the parameters of a partial-sum exchange
    BufferId factors = 0;
    std::size_t slot = 0;  // with the portion that was loaded last, of streamed kernels
  };
  // A slot of WRAM for portions, with a buffer for each core.
  struct Slot {
    std::uint64_t offset = 0;  // offset in each region of WRAM
    std::vector<BufferId> buffers;
    std::vector<int> versions;             // by core: the last version that is written; -1: none
    std::vector<BufferId> cleared;         // what the copies of Load::clears write beside it
    std::vector<int> clearings;            // by core: the last version of these
    int layer = -1, portion = 0, set = 0;  // of the product whose kernels it has; -1: other kernels
  };
  void clear(std::size_t layer, const Group& group, Load& load);
  int regions() const;
  void map_layer(std::size_t layer, const std::vector<MostOutputs>& most, ClusterShare share);
  void place(const std::vector<MostOutputs>& most, ClusterShare share);
  void place_groups(std::size_t layer, std::uint64_t& end);
  void split_streamed(const std::vector<MostOutputs>& most, ClusterShare share);
  void check_pyramids(int slots) const;
  std::uint64_t place_portions(std::size_t layer, std::uint64_t most);
  void place_posts(std::size_t layer);
  std::vector<KernelGroup> groups_of(std::size_t layer, std::size_t shard, int part) const;
  std::int64_t group_bytes_of(std::size_t layer, std::size_t shard) const;
  std::uint64_t cores_of_part(std::size_t layer, int part) const;
  std::uint64_t cores_of(std::size_t layer, const Group& group) const;
  Load load_of(std::size_t layer, const Group& group, int set = 0) const;
  std::vector<Transfer> transfers(std::size_t layer, const Group& group, int set = 0) const;
  Transfer transfer_of_factors(std::size_t layer) const;
  Load load_of_post(std::size_t layer, const Group& group) const;

  TaskGraph& graph_;
  const GroupWork& work_;
  const ChipConfig& chip_;
  std::vector<OfLayer> layers_;
  std::vector<Slot> slots_;                         // slots of streamed kernels
  std::size_t slot_ = 0;                            // the slot filled last
  std::vector<std::optional<LayerMapping>> fixed_;  // by layer
  std::int64_t factor_bytes_ = 0, kernel_bytes_ = 0;
  std::int64_t stream_buffer_ = INT64_MAX;
};

}  // namespace tilebeat
