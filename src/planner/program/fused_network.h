#pragma once

#include "config/hardware_config.h"
#include "planner/fusion/choose_groups.h"
#include "planner/program/planner.h"
#include "workload/workload.h"

#include <functional>
#include <vector>

namespace tilebeat {

/// Plans a network for this hardware with these fusion groups.
using PlanWithGroups = std::function<PlannedNetwork(const HardwareConfig&, const std::vector<ChosenGroup>&)>;

/// The plan with the best of the ways to fuse layers, or without groups where these do not pay (SPEC FU-13).
PlannedNetwork plan_fused(const Workload& workload, const HardwareConfig& hardware,
                          const PlanWithGroups& plan_with);

}  // namespace tilebeat
