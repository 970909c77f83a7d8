#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "matrix_work.h"

namespace tilebeat {

/// Bytes over DRAM that a plan moves.
struct PlannedBytes {
  std::int64_t maps = 0, kernels = 0, results = 0;
};

/// Makes the lowering of one core, which computes that share of the layer.
using LoweringFactory =
    std::function<std::unique_ptr<MatrixLowering>(TaskGraph&, const EnginePlace&, int share)>;

/// Adds the tasks of the layer: loads, jobs and stores of all cores, step by step. `stored` has a buffer for
/// every processor, which the last tasks of a result write.
PlannedBytes add_matrix_tasks(TaskGraph& graph, const MatrixWork& work, const LoweringFactory& lowering,
                              const std::vector<BufferId>& stored);

}  // namespace tilebeat
