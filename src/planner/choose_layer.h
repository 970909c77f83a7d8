#pragma once

#include "tilebeat/workload/workload.h"

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "choose_mapping.h"
#include "layer_share.h"

namespace tilebeat {

/// A layer of a workload on a chip that is to be mapped. What it refers to outlives it.
struct LayerQuestion {
  const Workload& workload;
  const Layer& layer;
  const HardwareConfig& hardware;
  const HardwareConfig& engine_hardware;  ///< with what a mapping file chooses for the engine
  std::shared_ptr<MatrixLayer> whole;     ///< the layer, on the engine
  OperandPlaces places;
  TensorLayout output;
  bool first_of_program = false;
  bool kernels_loaded = false;   ///< its first kernels are loaded while an earlier layer runs
  const std::set<int>& workers;  ///< processors that work in the program anyway
  const MappingRequest* request = nullptr;
  LayerTrial trial;
};

/// How a layer is computed: by teams of so many cores, in kernel blocks of that size, mapped so.
struct ChosenLayer {
  SharedLayer layer;
  LayerMapping mapping;
  std::string reason;
};
/// The fastest way that is expected (SPEC MA-3, MA-4): with kernel blocks of every size that the engine
/// offers, and where outputs are too few for the cores, with teams of several cores. Throws UserError when
/// the layer, or what is asked for, cannot be.
ChosenLayer choose_layer(const LayerQuestion& question);

/// Chooses for layers of a workload; those of the same sizes, with the same processors at work, are mapped as
/// the first of them.
class LayersChosenBefore {
 public:
  ChosenLayer choose(LayerQuestion question);

 private:
  struct Before {
    MappingRequest request;
    std::string reason, layer;  // why, and for which layer
  };
  std::map<std::vector<int>, Before> chosen_;  // by sizes
};

}  // namespace tilebeat
