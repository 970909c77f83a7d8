#pragma once

#include "planner/language/mapping_file.h"
#include "planner/layer/choose_layer.h"
#include "planner/layer/matrix_tasks.h"
#include "planner/schedule/schedule.h"

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <vector>

namespace tilebeat {

/// The estimated cycles of a layer with mapping `mapping`: its task graph is scheduled (SPEC MA-3), with one
/// task per job where there are many. Prefetched kernels count as the DRAM cycles that they take. Infinite
/// above `limit`, and where a single unit, or DRAM, is busy for more than `busy` times `limit`. Throws
/// UserError when the mapping does not fit. Overwrites `graph`, to reuse its memory.
double estimated_cycles(const MappingQuestion& question, const LayerMapping& mapping, TaskGraph& graph,
                        double limit = std::numeric_limits<double>::infinity(), double busy = 1);

/// Makes one task per job in place of the engine's own, with the job's cost. The costs outlive it.
std::unique_ptr<MatrixLowering> coarse_lowering(TaskGraph& graph, const EnginePlace& place, JobCosts& costs);
/// Up to this number of jobs, estimates schedule the engine's own tasks; beyond it one task per job.
constexpr std::int64_t kFewJobs = 64;

/// Adds the tasks of a mapped layer to the graph of an estimate, until `enough` returns true.
PlannedUse add_estimated_tasks(TaskGraph& graph, const MatrixWork& work, const EnoughTasks& enough = {});

/// The resources that tasks of the machine share; the host starts the processors `started` first. `cores` of
/// the chip compute: the requests of one alone are followed. Nothing: all of the chip.
Machine machine_of(const HardwareConfig& hardware, const std::vector<int>& started,
                   std::optional<int> cores = std::nullopt);
/// Bytes of instructions of later layers that fill the buffers of `workers` while `graph` runs.
double later_instruction_bytes(const TaskGraph& graph, const std::set<int>& workers,
                               const HardwareConfig& hardware);
/// Cycles of the fence and the barrier after a layer that `processors` processors work on.
Cycle end_cycles(const HardwareConfig& hardware, int processors);
/// The processors that work in a mapping.
std::vector<int> processors_of(const ChipConfig& chip, const LayerMapping& mapping);
/// How many processors are cores that compute.
int cores_among(const ChipConfig& chip, const std::set<int>& processors);

/// The engine's cut of a mapped layer's jobs, by shard: the best one without comparing task graphs. Throws
/// UserError when a shard cannot be cut.
std::vector<JobCut> job_cuts(const ShardedLayer& layer, const LayerMapping& mapping,
                             const HardwareConfig& hardware);

}  // namespace tilebeat
