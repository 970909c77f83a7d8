#pragma once

#include "config/hardware_config.h"
#include "planner/program/planner.h"
#include "workload/workload.h"

#include <optional>
#include <string>
#include <vector>

namespace tilebeat {

/// A network and its fusion groups as an SVG picture: a row per layer with the bytes of its output and their
/// place, a frame around the layers of a group, and beside it the group's planned cost.
std::string fusion_picture(const Workload& workload, const PlannedNetwork& planned);

/// The results of both fusion planners for the workload read from `file`. `own`: the result of the planner
/// that `hardware` names, if known already.
struct FusionSummaries {
  FusionSummary rules, optimal;
};
FusionSummaries fusion_summaries(const Workload& workload, const HardwareConfig& hardware,
                                 const std::string& file, std::optional<FusionSummary> own);

/// Throws UserError unless fusion groups can be planned with each of these sizes of a cluster's SRAM, in KiB.
void check_sram_sizes(const std::vector<int>& sizes, const HardwareConfig& hardware);
/// The planned DRAM bytes of maps and kernels over the size of a cluster's SRAM (SPEC FU-8): a table with a
/// bar for the fusion groups of least cost. A size that is too small for the workload has the reason.
std::string sram_curve(const std::vector<int>& sizes, const Workload& workload,
                       const HardwareConfig& hardware, const std::string& file);

}  // namespace tilebeat
