#pragma once

#include "base/types.h"
#include "config/engine_config.h"
#include "config/hardware_config.h"
#include "planner/language/mapping_file.h"
#include "planner/program/planner.h"
#include "program/plan.h"
#include "workload/workload.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tilebeat {

/// `plan_network` for the workload that was read from `file`. Throws UserError that names the file and the
/// layer's JSON path when the workload does not fit the hardware (SPEC UI-2).
PlannedNetwork plan_workload(const Workload& workload, const HardwareConfig& hardware,
                             const std::string& file, const NetworkMapping& asked = {});

/// The cycles that one layer of `workload` takes when it is simulated by itself, mapped so, in tile
/// granularity and in a process of its own; nothing when it does not fit so. Inputs are zeros: no cycle
/// depends on them. Throws UserError when there is no process, SimulationError when the simulation fails.
std::optional<Cycle> cycles_alone(const Workload& workload, const HardwareConfig& hardware,
                                  const Layer& layer, const LayerMapping& mapping);

/// What the engine of `hardware` compiles ahead, shared with all copies of the configuration that are made
/// from now on. Throws UserError when it compiles nothing.
std::shared_ptr<CompiledAhead> ahead_of(HardwareConfig& hardware);

/// The contents of a file that holds what was compiled ahead. Throws UserError when it cannot be read.
std::vector<std::uint8_t> read_compiled(const std::string& path);

}  // namespace tilebeat
