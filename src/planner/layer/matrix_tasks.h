#pragma once

#include "planner/language/problem.h"
#include "planner/language/task_graph.h"
#include "planner/layer/matrix_work.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace tilebeat {

/// Bytes over DRAM that a plan moves.
struct PlannedBytes {
  std::int64_t maps = 0, kernels = 0, results = 0;
};

/// What the tasks of a layer or a fusion group move over DRAM, and the most that they take of the SRAM of a
/// cluster and of the WRAM of a core.
struct PlannedUse {
  PlannedBytes bytes;
  std::int64_t sram = 0, wram = 0;
};

/// Of a layer or a fusion group: so many of its loads of kernels, the first ones, are made while an earlier
/// one runs, into WRAM behind `wram_at` bytes.
struct Prefetch {
  int loads = 0;
  std::int64_t wram_at = 0;
};

/// Makes the lowering of one core, which computes that share of the layer.
using LoweringFactory =
    std::function<std::unique_ptr<MatrixLowering>(TaskGraph&, const EnginePlace&, int shard)>;

/// Asked between two steps of a layer: whether the tasks so far are enough, of an estimate that has its
/// answer.
using EnoughTasks = std::function<bool()>;

/// Adds the tasks of the layer: loads, jobs and stores of all cores, step by step, until `enough`; of the
/// kernels not the loads that are made ahead.
PlannedUse add_matrix_tasks(TaskGraph& graph, const MatrixWork& work, const LoweringFactory& lowering,
                            const EnoughTasks& enough = {});

/// Adds the loads of the layer's kernels that are made ahead to the graph of another one, which takes `sram`
/// bytes of a cluster's SRAM and does not touch their places in WRAM. Returns their
/// bytes, and what of the SRAM is in use then. Throws UserError when it has no room left.
PlannedUse add_prefetch(TaskGraph& graph, const MatrixWork& work, std::int64_t sram);
/// Bytes of WRAM that the buffers of the first loads take, by their number from 1 on: as many as can be made
/// ahead.
std::vector<std::int64_t> wram_of_loads(const MatrixWork& work);

}  // namespace tilebeat
