#pragma once

#include "tilebeat/planner/planner.h"
#include "tilebeat/program/plan.h"

#include <string>

namespace tilebeat {

/// `plan_network` for the workload that was read from `file`. Throws UserError that names the file and the
/// layer's JSON path when the workload does not fit the hardware (SPEC UI-2).
PlannedNetwork plan_workload(const Workload& workload, const HardwareConfig& hardware,
                             const std::string& file, const NetworkMapping& asked = {});

}  // namespace tilebeat
