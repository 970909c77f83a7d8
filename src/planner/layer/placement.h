#pragma once

#include "config/hardware_config.h"
#include "planner/language/matrix_backend.h"
#include "planner/language/task_graph.h"
#include "program/plan.h"
#include "workload/workload.h"

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

namespace tilebeat {

/// The kernels of a layer, before they have a place.
struct KernelBytes {
  WeightLayout layout;
  /// The bytes of a block, by its number in the layout; empty for kernels that are a tensor.
  std::function<std::vector<std::uint8_t>(std::size_t)> block;
  std::vector<std::uint8_t> post;  ///< post-parameters, of all blocks
};
KernelBytes kernels_of(const MatrixLayer& layer);

/// Gives tensors, kernels and programs their places in DRAM, and collects what the host writes there.
class DramPlaces {
 public:
  DramPlaces(const HardwareConfig& hardware, Plan& plan);

  /// Places inputs and results of all layers but those that stay on the chip.
  void place_tensors(const Workload& workload, const std::set<std::string>& on_chip);
  /// Places bytes that the host writes before the run; 0 when there are none.
  std::uint64_t place(const std::string& what, std::vector<std::uint8_t> bytes);
  /// A layer's kernels, of which parts are read side by side: the blocks from each of `parts` on. Long parts
  /// begin in different banks and at different controllers. Each block is a segment of its own, so that it
  /// goes as soon as it is written. Of kernels that are a tensor only the post-parameters get a place.
  WeightPlace place_weights(const std::string& layer, const KernelBytes& kernels,
                            const std::vector<int>& parts);
  /// Programs, once they are whole.
  void place_programs();
  /// The end of everything.
  std::uint64_t used() const;

 private:
  const HardwareConfig& hardware_;
  Plan& plan_;
  Arena dram_;
};

/// How a tensor of the workload lies in DRAM (planner.map_layout): maps that convolutions and vector units
/// make and read, but those that also have another shape or are a matrix.
StoredMapPointer map_in_dram(const Workload& workload, const PlannerConfig& config, const std::string& name,
                             const TensorInfo& info, std::uint64_t address);

/// A place of kernels that shows their sizes alone.
WeightPlace unplaced(const WeightLayout& layout, const HardwareConfig& hardware);

/// Lower bounds of a convolution: its MACs at peak on all matrix units, its tensors over DRAM once.
BoundCycles bound_of(const Problem& problem, const Layer& layer, std::int64_t macs,
                     const HardwareConfig& hardware);
/// Cycles that DRAM takes for so many bytes at peak bandwidth, all controllers together, rounded down.
std::int64_t dram_bound(std::int64_t bytes, const HardwareConfig& hardware);

/// Numbers of the command processors of a chip: cluster by cluster, its cores, then its memory core.
inline int cluster_size(const ChipConfig& chip) {
  return chip.cores_per_cluster + 1;
}
inline int processor_of_core(const ChipConfig& chip, int core) {
  return core / chip.cores_per_cluster * cluster_size(chip) + core % chip.cores_per_cluster;
}
inline int processor_of_memory(const ChipConfig& chip, int cluster) {
  return cluster * cluster_size(chip) + chip.cores_per_cluster;
}

constexpr std::int64_t kBufferAlignment = 256;  ///< bytes, of buffers in on-chip memories

}  // namespace tilebeat
