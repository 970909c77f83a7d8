#pragma once

#include "tilebeat/mapping/mapping_file.h"
#include "tilebeat/mapping/matrix_backend.h"

namespace tilebeat {

/// A layer that a mapping is wanted for. What it refers to outlives it.
struct MappingQuestion {
  MatrixLayer& layer;
  const HardwareConfig& hardware;
  const WeightPlace& weights;
  TensorLayout input, output;
  bool first_of_program = false;            ///< its processors are started for it
  const MappingRequest* request = nullptr;  ///< what is asked for; nothing: all is free
};

}  // namespace tilebeat
