#pragma once

#include "tilebeat/mapping/layer_mapping.h"
#include "tilebeat/mapping/mapping_file.h"
#include "tilebeat/mapping/matrix_backend.h"

#include <string>

#include "matrix_tasks.h"
#include "task/schedule.h"

namespace tilebeat {

/// A mapping with more cores, or with memory cores, must take less than this share of the time without them.
constexpr double kClearlyFaster = 0.97;

/// A layer that a mapping is wanted for.
struct MappingQuestion {
  MatrixLayer& layer;
  const HardwareConfig& hardware;
  const WeightPlace& weights;
  TensorLayout input, output;
  bool first_of_program = false;            ///< its processors are started for it
  const MappingRequest* request = nullptr;  ///< what is asked for; nothing: all is free
};

/// The mapping that is expected to be fastest (SPEC MA-3, MA-4), and why. Candidates are ranked by a rough
/// formula; the best of them are estimated by a schedule of their task graph. They are looked at from few
/// cores to many, and one that needs more has to be clearly faster. Throws UserError when the layer cannot
/// fit.
struct ChosenMapping {
  LayerMapping mapping;
  double cycles = 0;  ///< estimated
  std::string reason;
};
ChosenMapping choose_mapping(const MappingQuestion& question);

/// What tasks of the machine share, with the processors of a mapping started by the host first when asked
/// for.
Machine machine_of(const HardwareConfig& hardware, const std::vector<int>& started);
/// The processors that work in a mapping.
std::vector<int> processors_of(const ChipConfig& chip, const LayerMapping& mapping);

/// Whether memory cores may have programs: data may come through the SRAM (SPEC HI-4).
bool may_use_memory_cores(const ChipConfig& chip);

/// Bytes a clock at which the memory of a core answers its matrix unit.
double core_memory_bytes(const ChipConfig& chip);

}  // namespace tilebeat
