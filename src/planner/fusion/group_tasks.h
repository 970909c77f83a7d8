#pragma once

#include "planner/fusion/group_graph.h"
#include "planner/language/mapping_file.h"
#include "planner/language/matrix_backend.h"
#include "planner/language/task_graph.h"
#include "planner/layer/matrix_tasks.h"
#include "planner/layer/shards.h"
#include "planner/vector/vector_work.h"

#include <cstdint>
#include <vector>

namespace tilebeat {

/// A layer of a group, decided: on matrix units or on vector units. What it points to outlives it.
struct GroupLayerWork {
  /// Its shares over channels are those of the cores of a reduction group. The places of their maps
  /// (Shard::input) count from the beginning of the layer's.
  const ShardedLayer* matrix = nullptr;
  const VectorWork* vector = nullptr;  ///< its operands and its result have the addresses of group_address
  std::uint64_t parameters = 0;        ///< of a vector layer, in DRAM
};

/// A fusion group on a chip.
struct GroupWork {
  const Workload& workload;
  const HardwareConfig& hardware;
  const GroupGraph& graph;
  int clusters = 1, step_rows = 1, step_columns = 1, step_maps = 1;  ///< as GroupMapping
  std::vector<Holding> holdings;  ///< by tensor; that of the output has no meaning
  GroupKernels kernels = GroupKernels::kResident;
  std::vector<GroupLayerWork> layers;
  std::vector<std::uint64_t> addresses;  ///< by tensor: in DRAM; of those on the chip without meaning
  std::vector<StoredMapPointer> stored;  ///< likewise: how they lie there
  int weight_prefetch = 0;               ///< loads of kernels that are made while an earlier layer runs
  std::int64_t wram_at = 0;              ///< bytes of WRAM in front of the kernels
  /// Cores of the largest reduction group; 1: no layer is cut along its channels.
  int largest_reduction_group() const;
};

/// The most rows and columns of a layer's outputs that a step computes.
struct MostOutputs {
  int rows = 0, columns = 0;
};
/// Of all clusters, by layer.
std::vector<MostOutputs> most_outputs(const GroupWork& work);

/// The address under which layers of a group know tensor `tensor`: the output's in DRAM, virtual ones of all
/// others, which lie in the SRAM of a cluster row by row (RowBuffer).
std::uint64_t group_address(const GroupGraph& graph, const std::vector<std::uint64_t>& addresses, int tensor);
/// The tensor in which a virtual address lies.
int group_tensor(std::uint64_t address);

/// How often the kernels of a group are fetched that `clusters` clusters make: once for several clusters, and
/// passed on by CDMAs, where these are faster than DRAM; else by every cluster.
int kernel_fetches(const HardwareConfig& hardware, int clusters);

/// Adds the tasks of a fusion group (SPEC FU-4): every cluster makes a part of the output's rows. It loads
/// the group's weights once, or in every step those of one layer after the other, and the rows of its inputs
/// into the SRAM; its cores load tiles from there, compute, and store results there, those of the last layer
/// to DRAM. Throws UserError that says which buffer does not fit.
PlannedUse add_group_tasks(TaskGraph& graph, const GroupWork& work);

/// For a group, as add_prefetch and wram_of_loads for a layer: its loads are those of all its kernels, in
/// the order of its layers.
PlannedUse add_unit_prefetch(TaskGraph& graph, const GroupWork& work, std::int64_t sram);
std::vector<std::int64_t> wram_of_unit_loads(const GroupWork& work);
/// Bytes of a core's WRAM that the group takes.
std::int64_t wram_of_unit(const GroupWork& work);

/// The rows of a fusion group that one cluster makes: its parts of maps, and in which step it makes what.
struct ClusterRows {
  int cluster = 0;
  std::vector<OutputPart> parts;
  std::vector<RowSchedule> schedules;          ///< by part
  std::vector<std::vector<Interval>> columns;  ///< by part and tensor: those of its rows

  /// The most rows of a tensor that a step makes, of all its images, and that must be there at a time.
  int most_made(int tensor) const;
  /// The most outputs that a step computes for a tensor of one image: rows, or what makes several of them at
  /// a time.
  int most_computed(int tensor, const RowAxis& axis) const;
  int most_live(int tensor) const;
  /// The most columns of a tensor that are there at a time, and, likewise, that are computed.
  int most_columns(int tensor) const;
  int most_computed_columns(int tensor, const RowAxis& axis) const;
};

/// The output's rows, counted over all images, shared out evenly: of each cluster that makes some.
std::vector<ClusterRows> rows_of_clusters(const GroupWork& work);

/// Pixels of a tensor that all clusters make, those that are made again included.
std::int64_t made_pixels(const GroupWork& work, int tensor);
/// Likewise the outputs that are computed for the output of layer `layer`: pixels, or what makes several of
/// them at a time.
std::int64_t computed_outputs(const GroupWork& work, std::size_t layer);

}  // namespace tilebeat
