#pragma once

#include "planner/fusion/unit_graph.h"
#include "planner/language/mapping_file.h"
#include "planner/language/matrix_backend.h"
#include "planner/language/task_graph.h"
#include "planner/layer/layer_share.h"
#include "planner/layer/matrix_tasks.h"
#include "planner/vector/vector_work.h"

#include <cstdint>
#include <vector>

namespace tilebeat {

/// A layer of a unit, decided: on matrix units or on vector units. What it points to outlives it.
struct UnitLayerWork {
  /// Its shares over channels are those of the cores of a team. The places of their maps (LayerShare::input)
  /// count from the beginning of the layer's.
  const SharedLayer* matrix = nullptr;
  const VectorWork* vector = nullptr;  ///< its operands and its result have the addresses of unit_address
  std::uint64_t parameters = 0;        ///< of a vector layer, in DRAM
};

/// A fused unit on a chip.
struct UnitWork {
  const Workload& workload;
  const HardwareConfig& hardware;
  const UnitGraph& graph;
  int clusters = 1, step_rows = 1, step_columns = 1, step_maps = 1;  ///< as UnitMapping
  std::vector<Holding> holdings;  ///< by tensor; that of the output has no meaning
  UnitKernels kernels = UnitKernels::kResident;
  std::vector<UnitLayerWork> layers;
  std::vector<std::uint64_t> addresses;  ///< by tensor: in DRAM; of those on the chip without meaning
  std::vector<StoredMapPointer> stored;  ///< likewise: how they lie there
  int kernels_ahead = 0;                 ///< loads of kernels that are made while an earlier layer runs
  std::int64_t wram_at = 0;              ///< bytes of WRAM in front of the kernels
  /// Cores of the largest team; 1: no layer is cut along its channels.
  int largest_team() const;
};

/// The most rows and columns of a layer's outputs that a step computes.
struct MostOutputs {
  int rows = 0, columns = 0;
};
/// Of all clusters, by layer.
std::vector<MostOutputs> most_outputs(const UnitWork& work);

/// The address under which layers of a unit know tensor `tensor`: the output's in DRAM, virtual ones of all
/// others, which lie in the SRAM of a cluster row by row (HeldTensor).
std::uint64_t unit_address(const UnitGraph& graph, const std::vector<std::uint64_t>& addresses, int tensor);
/// The tensor in which a virtual address lies.
int unit_tensor(std::uint64_t address);

/// How often the kernels of a unit are fetched that `clusters` clusters make: once for several clusters, and
/// passed on by CDMAs, where these are faster than DRAM; else by every cluster.
int kernel_fetches(const HardwareConfig& hardware, int clusters);

/// Adds the tasks of a fused unit (SPEC FU-4): every cluster makes a part of the output's rows. It loads the
/// unit's weights once, or in every step those of one layer after the other, and the rows of its inputs into
/// the SRAM; its cores load tiles from there, compute, and store results there, those of the last layer to
/// DRAM. Throws UserError that says which buffer does not fit.
PlannedUse add_unit_tasks(TaskGraph& graph, const UnitWork& work);

/// For a unit, as add_prefetch and wram_of_loads for a layer: its loads are those of all its kernels, in
/// the order of its layers.
PlannedUse add_unit_prefetch(TaskGraph& graph, const UnitWork& work, std::int64_t sram);
std::vector<std::int64_t> wram_of_unit_loads(const UnitWork& work);
/// Bytes of a core's WRAM that the unit takes.
std::int64_t wram_of_unit(const UnitWork& work);

/// The rows of a fused unit that one cluster makes: its parts of maps, and in which step it makes what.
struct ClusterRows {
  int cluster = 0;
  std::vector<UnitPart> parts;
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
std::vector<ClusterRows> rows_of_clusters(const UnitWork& work);

/// Pixels of a tensor that all clusters make, those that are made again included.
std::int64_t made_pixels(const UnitWork& work, int tensor);
/// Likewise the outputs that are computed for the output of layer `layer`: pixels, or what makes several of
/// them at a time.
std::int64_t computed_outputs(const UnitWork& work, std::size_t layer);

}  // namespace tilebeat
