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

/// A layer of a fusion group, on matrix units or on vector units. All that it points to outlives it.
struct GroupLayerWork {
  /// The matrix layer; its shards over channels belong to the cores of a reduction group. Their map addresses
  /// (Shard::input) count from the beginning of the layer's map.
  const ShardedLayer* matrix = nullptr;
  const VectorWork* vector = nullptr;  ///< its operands and its result have the addresses of group_address
  std::uint64_t parameters = 0;        ///< DRAM address of a vector layer's parameters
};

/// A fusion group on a chip.
struct GroupWork {
  const Workload& workload;
  const HardwareConfig& hardware;
  const GroupGraph& graph;
  int clusters = 1, cores = 1, step_rows = 1, step_columns = 1, step_maps = 1;  ///< as GroupMapping
  std::vector<Holding> holdings;  ///< by tensor; unused for the output
  GroupKernels kernels = GroupKernels::kResident;
  DataPath results = DataPath::kDirect;  ///< kDirect or kSram
  std::vector<GroupLayerWork> layers;
  std::vector<std::uint64_t> addresses;  ///< by tensor: DRAM address; unused for tensors on the chip
  std::vector<StoredMapPointer> stored;  ///< by tensor: layout in DRAM; unused for tensors on the chip
  int weight_prefetch = 0;               ///< weight prefetch: kernel loads that run during an earlier layer
  std::int64_t wram_at = 0;              ///< offset in WRAM of the kernels
  bool for_estimate = false;             ///< where there are many jobs, each is one task
  /// Cores of the largest reduction group; 1: no layer is cut along its channels.
  int largest_reduction_group() const;
};

/// The most rows and columns of a layer's outputs that a step computes of an image.
struct MostOutputs {
  int rows = 0, columns = 0;
  int made_rows = 0, made_columns = 0;  ///< pixels of its output, several of which may be computed at a time
  int images = 1;                       ///< images of a step
};
/// By layer, the most over all clusters.
std::vector<MostOutputs> most_outputs(const GroupWork& work);

/// The address by which layers of a group name tensor `tensor`: the output's DRAM address, and virtual
/// addresses of all others, whose rows lie in the SRAM of a cluster (RowBuffer).
std::uint64_t group_address(const GroupGraph& graph, const std::vector<std::uint64_t>& addresses, int tensor);
/// The tensor that contains a virtual address.
int group_tensor(std::uint64_t address);

/// Number of fetches of a group's kernels for `clusters` clusters: one for several clusters, with CDMAs
/// passing the kernels on, where those are faster than DRAM; else one per cluster.
int kernel_fetches(const HardwareConfig& hardware, int clusters);

/// Adds the tasks of a fusion group (SPEC FU-4); every cluster makes a part of the output's rows. It loads
/// the group's weights once, or in every step those of one layer after the other, and the rows of its inputs
/// into the SRAM. Its cores load tiles from there, compute, and store the results there, those of the last
/// layer to DRAM. Stops early when `enough` returns true. Throws UserError that says which buffer does not
/// fit.
PlannedUse add_group_tasks(TaskGraph& graph, const GroupWork& work, const EnoughTasks& enough = {});

/// As add_prefetch and wram_of_loads, for a fusion group: its loads are those of all its kernels, in the
/// order of its layers.
PlannedUse add_unit_prefetch(TaskGraph& graph, const GroupWork& work, std::int64_t sram);
std::vector<std::int64_t> wram_of_unit_loads(const GroupWork& work);
/// WRAM bytes of a core that the group takes.
std::int64_t wram_of_unit(const GroupWork& work);

struct Pyramid;
/// The group's pyramids with the parts that cores make of them. Throws UserError where one does not fit.
std::vector<Pyramid> shaped_pyramids(const GroupWork& work);

/// The part of a fusion group's output rows that one cluster makes, and the rows of each tensor by step.
struct ClusterRows {
  int cluster = 0;
  std::vector<OutputPart> parts;
  std::vector<RowSchedule> schedules;          ///< by part
  std::vector<std::vector<Interval>> columns;  ///< by part and tensor: columns of its rows

  /// The most rows of a tensor, over all its images, that a step makes.
  int most_made(int tensor) const;
  /// The most outputs that a step computes for a tensor of one image: rows, or groups of rows that are made
  /// at a time.
  int most_computed(int tensor, const RowAxis& axis) const;
  int most_live(int tensor) const;
  /// The most rows of one image that a step makes, and the most images of a step.
  int most_rows(int tensor) const;
  int most_images() const;
  /// The most columns of a tensor that are live at a time, and the most that are computed.
  int most_columns(int tensor) const;
  int most_computed_columns(int tensor, const RowAxis& axis) const;
};

/// The output's rows, counted over all images, divided evenly; one entry per cluster that makes some.
std::vector<ClusterRows> rows_of_clusters(const GroupWork& work);

/// What a fusion group takes of the memories of a cluster and of its cores (SPEC FU-12); bytes.
struct GroupNeeds {
  std::int64_t in = 0, out = 0;              ///< SRAM: rows of the inputs that are live; a step's results
  std::int64_t cache = 0;                    ///< SRAM: all other rows that a cluster holds
  std::int64_t loaded = 0, loaded_once = 0;  ///< rows of the inputs over DRAM: with and without overlap
  std::int64_t kernels = 0;                  ///< WRAM of a core
  std::int64_t nram = 0;                     ///< NRAM of a core: its tiles, results, held maps and factors
  /// By step of a cluster: inputs and results of a core, and kernels on their way through the SRAM.
  std::vector<std::int64_t> step_in, step_out, step_kernels;
  /// By step: kernels that come to a core's WRAM at a time; resident ones come in the first step.
  std::vector<std::int64_t> step_wram;
};
/// Throws UserError where the kernels or the factors do not fit a core.
GroupNeeds needs_of_unit(const GroupWork& work);

/// Pixels of a tensor that all clusters make, recomputed ones included, between steps and between cores.
/// `pyramids` are those of shaped_pyramids.
std::int64_t made_pixels(const GroupWork& work, const std::vector<Pyramid>& pyramids, int tensor);
/// Outputs that all clusters compute for layer `layer`, recomputed ones included: pixels, or groups of pixels
/// that are made at a time.
std::int64_t computed_outputs(const GroupWork& work, const std::vector<Pyramid>& pyramids, std::size_t layer);

}  // namespace tilebeat
