#pragma once

#include "tilebeat/mapping/mapping_file.h"

#include <vector>

#include "layer_share.h"

namespace tilebeat {

/// A layer, for teams of some size, that a mapping is wanted for. What it refers to outlives it.
struct MappingQuestion {
  const SharedLayer& layer;
  const HardwareConfig& hardware;
  TensorLayout output;
  bool first_of_program = false;            ///< its processors are started for it
  bool kernels_loaded = false;              ///< its first kernels are loaded while an earlier layer runs
  const MappingRequest* request = nullptr;  ///< what is asked for; nothing: all is free
  /// Further objects of the layer, one for each further thread that may estimate: an engine keeps in a layer
  /// how its jobs are cut at the moment.
  std::vector<const SharedLayer*> twins = {};
};

}  // namespace tilebeat
