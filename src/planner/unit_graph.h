#pragma once

#include "tilebeat/workload/workload.h"

#include <string>
#include <vector>

#include "row_axis.h"

namespace tilebeat {

/// A tensor that layers of a fused unit read or write.
struct UnitTensor {
  std::string name;
  TensorInfo info;
  MapExtents map;                    ///< its extents in the unit
  std::vector<std::string> aliases;  ///< what `reshape` and its like call it
  int producer = -1;           ///< the unit's layer that makes it; -1: it lies in DRAM before the unit begins
  std::vector<int> consumers;  ///< layers of the unit that read it

  int images() const { return map.images; }
  int height() const { return map.height; }
  std::int64_t pixel_bytes() const { return std::int64_t{map.channels} * dtype_size(info.dtype); }
  /// Bytes of a row, all its pixels.
  std::int64_t row_bytes() const { return map.width * pixel_bytes(); }
};

/// A layer of a fused unit; tensors by their number in the unit.
struct UnitLayer {
  const Layer* layer = nullptr;
  std::vector<int> inputs;  ///< in the operator's order
  int output = 0;
};

/// Layers that run as one (SPEC FU-1, FU-4), in an order in which every tensor is there before it is read.
/// Layers that only give a tensor another shape are not among them: both names are one tensor.
/// The last layer's output is the only one that others see.
struct UnitGraph {
  std::vector<UnitLayer> layers;
  std::vector<UnitTensor> tensors;
  TensorView view = TensorView::kMaps;

  int output() const { return layers.back().output; }
};

/// The unit of the layers with these numbers, which rise. Throws UserError that names the layer: one that
/// cannot be fused, belongs to another scene, or whose output is read outside the unit or written by the run
/// although it is not the last.
UnitGraph make_unit_graph(const Workload& workload, const std::vector<int>& layers);

}  // namespace tilebeat
