#pragma once

#include "planner/language/mapping_file.h"
#include "planner/layer/choose_layer.h"
#include "planner/layer/matrix_tasks.h"
#include "planner/schedule/schedule.h"

#include <limits>
#include <vector>

namespace tilebeat {

/// The cycles of a layer that is mapped so, estimated: its task graph is scheduled (SPEC MA-3), with one task
/// a job where there are many. Kernels that are loaded earlier count as the cycles that they take of DRAM.
/// Infinite when they are more than `limit`. Throws UserError when the layer does not fit so.
/// Uses `graph`, whatever it holds: its memory is used again.
double estimated_cycles(const MappingQuestion& question, const LayerMapping& mapping, TaskGraph& graph,
                        double limit = std::numeric_limits<double>::infinity());

/// Adds the tasks of a layer that is mapped so to a graph for an estimate, until `enough`.
PlannedUse add_estimated_tasks(TaskGraph& graph, const MatrixWork& work, const EnoughTasks& enough = {});

/// What tasks of the machine share, with the processors `started` started by the host first.
Machine machine_of(const HardwareConfig& hardware, const std::vector<int>& started);
/// Cycles of the fence and the barrier behind a layer that so many processors work on.
Cycle end_cycles(const HardwareConfig& hardware, int processors);
/// The processors that work in a mapping.
std::vector<int> processors_of(const ChipConfig& chip, const LayerMapping& mapping);

/// How the engine cuts the jobs of a layer that is mapped so, by share: the best way without a closer look.
/// Throws UserError when it cannot.
std::vector<JobCut> job_cuts(const ShardedLayer& layer, const LayerMapping& mapping,
                             const HardwareConfig& hardware);

}  // namespace tilebeat
