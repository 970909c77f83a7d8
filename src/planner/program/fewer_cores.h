#pragma once

#include "config/hardware_config.h"
#include "planner/program/planner.h"
#include "workload/workload.h"

#include <functional>

namespace tilebeat {

/// Plans a network for this hardware with these requests. Throws UserError where they cannot be fulfilled.
using PlanWithRequests = std::function<PlannedNetwork(const HardwareConfig&, const NetworkMapping&)>;

/// The plan `found` of a small network layer by layer, or one with the mappings that a chip with fewer
/// clusters, or fewer cores in each, would get, where that is expected to be clearly better (SPEC MA-6):
/// choosing for one layer after the other may end at a worse plan the more there is to choose from.
PlannedNetwork or_as_on_fewer_cores(const Workload& workload, const HardwareConfig& hardware,
                                    PlannedNetwork found, const PlanWithRequests& plan_with);

}  // namespace tilebeat
