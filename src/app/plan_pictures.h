#pragma once

#include "config/hardware_config.h"
#include "planner/program/planner.h"
#include "workload/workload.h"

#include <optional>
#include <string>
#include <vector>

namespace tilebeat {

/// A network and its fusion groups as an SVG picture: a row for each layer with the bytes of its output and
/// where these lie, a frame around the layers of a unit, and beside it what the unit takes as planned.
std::string fusion_picture(const Workload& workload, const PlannedNetwork& planned);

/// What both planners of units make of the workload that was read from `file`. `own`: what is known already
/// of the planner that `hardware` names.
struct FusionSummaries {
  FusionSummary rules, optimal;
};
FusionSummaries fusion_summaries(const Workload& workload, const HardwareConfig& hardware,
                                 const std::string& file, std::optional<FusionSummary> own);

/// Throws UserError unless units can be planned with every one of these sizes of a cluster's SRAM, in KiB.
void check_sram_sizes(const std::vector<int>& sizes, const HardwareConfig& hardware);
/// The bytes of maps and kernels over DRAM, as planned, over the size of a cluster's SRAM (SPEC FU-8): a
/// table with a bar for the units at least cost. A size that the workload does not fit has the reason.
std::string sram_curve(const std::vector<int>& sizes, const Workload& workload,
                       const HardwareConfig& hardware, const std::string& file);

}  // namespace tilebeat
