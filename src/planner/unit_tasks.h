#pragma once

#include "tilebeat/mapping/layer_mapping.h"
#include "tilebeat/mapping/matrix_backend.h"
#include "tilebeat/mapping/task_graph.h"

#include <cstdint>
#include <vector>

#include "layer_share.h"
#include "matrix_tasks.h"
#include "row_schedule.h"
#include "vector_work.h"

namespace tilebeat {

/// A layer of a unit, decided: on matrix units or on vector units. What it points to outlives it.
struct UnitLayerWork {
  /// Its shares over channels are those of the cores of a team. The places of their maps (LayerShare::input)
  /// count from the beginning of the layer's.
  const SharedLayer* matrix = nullptr;
  VectorWork* vector = nullptr;  ///< its operands and its result have the addresses of unit_address
  std::uint64_t parameters = 0;  ///< of a vector layer, in DRAM
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

/// For a unit, as add_kernels_ahead and wram_of_loads for a layer: its loads are those of all its kernels, in
/// the order of its layers.
PlannedUse add_unit_kernels_ahead(TaskGraph& graph, const UnitWork& work, std::int64_t sram);
std::vector<std::int64_t> wram_of_unit_loads(const UnitWork& work);
/// Bytes of a core's WRAM that the unit takes.
std::int64_t wram_of_unit(const UnitWork& work);

}  // namespace tilebeat
