#pragma once

#include "tilebeat/base/types.h"
#include "tilebeat/config/hardware_config.h"
#include "tilebeat/mapping/layer_mapping.h"
#include "tilebeat/workload/workload.h"

#include <optional>

namespace tilebeat {

/// The cycles that one layer of `workload` takes when it is simulated by itself, mapped so, in tile
/// granularity and in a process of its own; nothing when that fails. Inputs are zeros: no cycle depends on
/// them.
std::optional<Cycle> cycles_alone(const Workload& workload, const HardwareConfig& hardware,
                                  const Layer& layer, const LayerMapping& mapping);

}  // namespace tilebeat
