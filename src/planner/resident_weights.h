#pragma once

#include "tilebeat/mapping/layer_mapping.h"
#include "tilebeat/mapping/task_graph.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cluster_split.h"
#include "kernel_loads.h"
#include "staging.h"
#include "unit_tasks.h"

namespace tilebeat {

/// The most rows and columns of a layer's outputs that a step computes.
struct MostOutputs {
  int rows = 0, columns = 0;
};

/// The kernels and factors of a fused unit in the cores of one cluster: each has a place of its own in WRAM
/// or NRAM, at the same offset in every core that needs it, and stays there (SPEC FU-4).
class ResidentWeights {
 public:
  /// A group of kernel blocks in the WRAM of the cores of one part of the kernels.
  struct Group {
    KernelGroup group;
    int part = 0;              ///< of LayerMapping::kernel_parts
    std::uint64_t offset = 0;  ///< in WRAM; where that has regions, in each of them
    BufferId buffer = 0;
  };

  /// Places for the layers of `work`.
  ResidentWeights(TaskGraph& graph, const UnitWork& work);
  /// Bytes of NRAM, from its beginning on, that factors take.
  std::int64_t factor_bytes() const { return factor_bytes_; }

  /// Spreads each matrix layer over the cores of a cluster, so that they compute soonest; where the kernels
  /// do not fit so, with as few of them in a core as can be. `most`: rows and columns of outputs that a step
  /// computes at most, by layer. Throws UserError when a layer, or all kernels together, do not fit.
  void split(const std::vector<MostOutputs>& most, ClusterShare share);
  /// Bytes of a core's WRAM that the kernels take.
  std::int64_t kernel_bytes() const { return kernel_bytes_; }
  const LayerMapping& mapping(std::size_t layer) const { return layers_[layer].mapping; }
  const std::vector<Group>& groups(std::size_t layer) const { return layers_[layer].groups; }
  /// Where the factors of a vector layer lie in NRAM, and the buffer that they are.
  std::int64_t factors_at(std::size_t layer) const { return layers_[layer].factors_at; }
  BufferId factors(std::size_t layer) const { return layers_[layer].factors; }

  /// A load, through the SRAM to all cores that need it.
  struct Load {
    std::vector<Transfer> transfers;  ///< from DRAM to multicast addresses
    BufferId buffer = 0;
  };
  /// Everything once: the kernels whose loads are made ahead (UnitWork), or all others and the factors.
  std::vector<Load> loads(bool ahead) const;
  /// Bytes of a core's WRAM that the first loads of kernels take, by their number from 1 on.
  std::vector<std::int64_t> wram_of_loads() const;

 private:
  struct OfLayer {
    LayerMapping mapping;
    std::vector<Group> groups;
    std::int64_t factors_at = 0;
    BufferId factors = 0;
  };
  void place(const std::vector<MostOutputs>& most, ClusterShare share);
  void place_groups(std::size_t layer, std::uint64_t& end);
  std::vector<Transfer> transfers(std::size_t layer, const Group& group) const;
  Transfer transfer_of_factors(std::size_t layer) const;

  TaskGraph& graph_;
  const UnitWork& work_;
  const ChipConfig& chip_;
  std::vector<OfLayer> layers_;
  std::int64_t factor_bytes_ = 0, kernel_bytes_ = 0;
};

}  // namespace tilebeat
