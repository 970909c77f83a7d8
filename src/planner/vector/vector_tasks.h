#pragma once

#include "config/hardware_config.h"
#include "planner/language/mapping_file.h"
#include "planner/language/task_graph.h"
#include "planner/layer/matrix_tasks.h"
#include "planner/vector/vector_work.h"

#include <cstdint>
#include <string>

namespace tilebeat {

/// Adds the tasks of `cores` cores that do `work`, the work of layer `name`, whose maps go by `path`; its
/// parameters lie at `parameters` in DRAM, 0: it has none. Returns the number of cores with work, and adds to
/// `bytes`. Throws UserError when a step does not fit NRAM.
int add_vector_tasks(TaskGraph& graph, const VectorWork& work, const std::string& name,
                     const HardwareConfig& hardware, int cores, DataPath path, std::uint64_t parameters,
                     PlannedBytes& bytes);

}  // namespace tilebeat
