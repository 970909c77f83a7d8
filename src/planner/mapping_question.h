#pragma once

#include "tilebeat/mapping/mapping_file.h"

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
};

}  // namespace tilebeat
