#pragma once

#include "app/trial.h"
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

class PlanCache;

/// `plan_network` for the workload that was read from `file`. Throws UserError that names the file and the
/// layer's JSON path when the workload does not fit the hardware (SPEC UI-2).
PlannedNetwork plan_workload(const Workload& workload, const HardwareConfig& hardware,
                             const std::string& file, const NetworkMapping& asked = {});

/// A layer of `whole` as a workload of its own. Inputs are zeros: cycles do not depend on them.
Workload workload_of(const Workload& whole, const Layer& layer);

/// Begins to simulate the layer of `alone` (workload_of) with mapping `mapping` in tile granularity; the
/// trial has no cycles when it does not fit. Throws UserError when no process can be made.
Trial trial_alone(const Workload& alone, const HardwareConfig& hardware, const LayerMapping& mapping);

/// The compiled data of the engine of `hardware`, shared with all copies of the configuration made from now
/// on. Throws UserError when it compiles nothing.
std::shared_ptr<CompiledAhead> ahead_of(HardwareConfig& hardware);

/// The bytes of a file of compiled data. Throws UserError when it cannot be read.
std::vector<std::uint8_t> read_compiled(const std::string& path);

/// A network and its fusion groups as an SVG picture: a row per layer with the bytes of its output and their
/// place, a frame around the layers of a group, and beside it the group's planned cost.
std::string fusion_picture(const Workload& workload, const PlannedNetwork& planned);

/// The results of both fusion planners for the workload read from `file`. `planned`: the network by the
/// planner that `hardware` names; null: it is not known yet.
struct FusionSummaries {
  FusionSummary rules, optimal;
};
FusionSummaries fusion_summaries(const Workload& workload, const HardwareConfig& hardware,
                                 const std::string& file, const PlannedNetwork* planned, PlanCache& cache);

/// Throws UserError unless fusion groups can be planned with each of these sizes of a cluster's SRAM, in KiB.
void check_sram_sizes(const std::vector<int>& sizes, const HardwareConfig& hardware);
/// The planned DRAM bytes of maps and kernels over the size of a cluster's SRAM (SPEC FU-8): a table with a
/// bar for the fusion groups of least cost. A size that is too small for the workload has the reason.
std::string sram_curve(const std::vector<int>& sizes, const Workload& workload,
                       const HardwareConfig& hardware, const std::string& file, PlanCache& cache);

}  // namespace tilebeat
