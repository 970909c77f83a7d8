#pragma once

#include "config/hardware_config.h"
#include "planner/language/matrix_backend.h"
#include "planner/language/task_graph.h"
#include "planner/layer/weight_streams.h"
#include "program/plan.h"
#include "workload/workload.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tilebeat {

/// The bytes of a layer's kernels, before they have a place in DRAM.
struct KernelBytes {
  WeightLayout layout;
  /// The bytes of a block, by its number in the layout; empty for kernels that are a tensor.
  std::function<std::vector<std::uint8_t>(std::size_t)> block;
  std::vector<std::uint8_t> post;  ///< post-parameters of all blocks
  std::string name;                ///< that of Weights; kernels with the same bytes and name share a place
};
KernelBytes kernels_of(const MatrixLayer& layer);

/// Assigns DRAM places to tensors, kernels and programs, and collects the bytes that the host writes there.
class DramPlaces {
 public:
  DramPlaces(const HardwareConfig& hardware, Plan& plan);

  /// Places the inputs and the results of all layers, except tensors that stay on the chip. Tensors that are
  /// appended in place share their places (appended_tensors).
  void place_tensors(const Workload& workload, const std::set<std::string>& on_chip);
  /// Places bytes that the host writes before the run. Returns their address, 0 for no bytes.
  std::uint64_t place(const std::string& what, std::vector<std::uint8_t> bytes);
  /// Likewise; bytes that have a place already get no other one.
  std::uint64_t place_constant(const std::string& what, std::vector<std::uint8_t> bytes);
  /// Places a layer's kernels. Cores read several parts side by side, each from the blocks in `parts` on;
  /// long parts begin in different banks and at different controllers. Each block is a segment of its own, so
  /// that its bytes are freed as soon as they are written. Kernels that have a place already get no other
  /// one. Of kernels that are a tensor only the post-parameters get a place.
  WeightPlace place_weights(const std::string& layer, const KernelBytes& kernels,
                            const std::vector<int>& parts);
  /// The streams of a layer's kernels of four bits that have a place: those of an earlier layer with the same
  /// kernels in the same order, if there is one.
  std::shared_ptr<PlacedStreams> streams_of(const MatrixLayer& layer);
  /// Places all programs, once they are complete.
  void place_programs();
  /// The end of the DRAM that is in use.
  std::uint64_t used() const;

 private:
  const HardwareConfig& hardware_;
  Plan& plan_;
  Arena dram_;
  // Kernels with a place, by name and by `parts`: the first segment of the image, and the blocks' addresses.
  struct PlacedKernels {
    std::size_t segment = 0;
    std::vector<std::uint64_t> blocks;
  };
  const PlacedKernels* same_kernels(const KernelBytes& kernels, const std::vector<int>& parts) const;
  std::map<std::pair<std::string, std::vector<int>>, std::vector<PlacedKernels>> kernels_;
  std::unordered_multimap<std::size_t, std::size_t> constants_;  // segments of the image, by a hash
  // By name and order of the kernels, and by the bytes of their blocks.
  std::map<std::tuple<std::string, std::size_t, std::vector<std::uint64_t>>, std::shared_ptr<PlacedStreams>>
      streams_;
};

/// The layout of a workload tensor in DRAM that planner.map_layout asks for: set for maps that only
/// convolutions and vector units make and read; null (NHWC) for tensors that are also reshaped or used as a
/// matrix.
StoredMapPointer map_in_dram(const Workload& workload, const PlannerConfig& config, const std::string& name,
                             const TensorInfo& info, std::uint64_t address);

/// The layouts in DRAM of the maps that a layer reads and makes, as text.
std::string orders_in_dram(const Layer& layer, const std::map<std::string, Placement>& tensors,
                           const PlannerConfig& planner);

/// The place of a tensor as that of kernels.
inline KernelTensorPlace kernels_at(const Placement& tensor) {
  return {tensor.address, tensor.stored};
}
/// A place of kernels with sizes but without addresses, for estimates.
WeightPlace unplaced(const WeightLayout& layout, const HardwareConfig& hardware);

/// Lower bounds of a convolution: its MACs at peak on all matrix units, its tensors over DRAM once.
BoundCycles bound_of(const Problem& problem, const Layer& layer, std::int64_t macs,
                     const HardwareConfig& hardware);
/// Cycles that DRAM takes for `bytes` bytes at the peak bandwidth of all controllers together, rounded down.
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
inline bool is_memory_core(const ChipConfig& chip, int processor) {
  return processor % cluster_size(chip) == chip.cores_per_cluster;
}

constexpr std::int64_t kBufferAlignment = 256;  ///< bytes, of buffers in on-chip memories

}  // namespace tilebeat
