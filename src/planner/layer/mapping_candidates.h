#pragma once

#include "planner/language/mapping_file.h"
#include "planner/layer/choose_layer.h"

#include <vector>

namespace tilebeat {

/// A mapping that fits, and its cycles by a rough formula.
struct MappingCandidate {
  LayerMapping mapping;
  double rough = 0;
  bool other_loads = false;  ///< like other candidates but for the sizes of loads, which the formula ignores
};

/// Every split of rows, columns and kernel blocks over the cores, with several tile sizes and paths each; the
/// fastest by the formula first, without duplicates. Throws UserError when the layer cannot fit.
std::vector<MappingCandidate> mapping_candidates(const MappingQuestion& question);

/// Whether memory cores may have programs: data may come through the SRAM (SPEC HI-4).
bool may_use_memory_cores(const ChipConfig& chip);

}  // namespace tilebeat
