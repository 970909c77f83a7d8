#pragma once

#include "tilebeat/base/types.h"
#include "tilebeat/config/hardware_config.h"
#include "tilebeat/mapping/layer_mapping.h"
#include "tilebeat/workload/workload.h"

#include <optional>

namespace tilebeat {

/// The cycles that one layer of `workload` takes when it is simulated by itself, mapped so, in tile
/// granularity and in a process of its own; nothing when it does not fit so. Inputs are zeros: no cycle
/// depends on them. Throws UserError when there is no process, SimulationError when the simulation fails.
std::optional<Cycle> cycles_alone(const Workload& workload, const HardwareConfig& hardware,
                                  const Layer& layer, const LayerMapping& mapping);

}  // namespace tilebeat
