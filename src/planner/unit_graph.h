#pragma once

#include "tilebeat/mapping/window.h"
#include "tilebeat/workload/workload.h"

#include <optional>
#include <string>
#include <vector>

namespace tilebeat {

/// A tensor that layers of a fused unit read or write.
struct UnitTensor {
  std::string name;
  TensorInfo info;
  int producer = -1;           ///< the unit's layer that makes it; -1: it lies in DRAM before the unit begins
  std::vector<int> consumers;  ///< layers of the unit that read it

  int images() const { return static_cast<int>(info.shape[0]); }
  int height() const { return static_cast<int>(info.shape[1]); }
  /// Bytes of a row, all its pixels.
  std::int64_t row_bytes() const { return info.shape[2] * info.shape[3] * dtype_size(info.dtype); }
};

/// A layer of a fused unit; tensors by their number in the unit.
struct UnitLayer {
  const Layer* layer = nullptr;
  std::vector<int> inputs;  ///< in the operator's order
  int output = 0;
};

/// Layers that run as one (SPEC FU-1, FU-4), in an order in which every tensor is there before it is read.
/// The last layer's output is the only one that others see.
struct UnitGraph {
  std::vector<UnitLayer> layers;
  std::vector<UnitTensor> tensors;

  int output() const { return layers.back().output; }
};

/// Whether a row of the layer's result is made of other things than the same row of its inputs, so that maps
/// have to lie in their plain order, and the layer in no unit.
bool reads_other_rows(const Workload& workload, const Layer& layer);

/// How the rows of a layer's output depend on those of its input number `input`; nothing where a row of the
/// output is not made of rows of a map, so that the layer cannot be fused.
std::optional<WindowAxis> row_axis(const Workload& workload, const Layer& layer, std::size_t input);

/// The unit of the layers with these numbers, which rise. Throws UserError that names the layer: one that
/// cannot be fused, belongs to another scene, or whose output is read outside the unit or written by the run
/// although it is not the last.
UnitGraph make_unit_graph(const Workload& workload, const std::vector<int>& layers);

}  // namespace tilebeat
