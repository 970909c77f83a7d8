#pragma once

#include "planner/language/problem.h"
#include "planner/language/task_graph.h"
#include "planner/layer/matrix_work.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace tilebeat {

/// Bytes that a plan moves over DRAM.
struct PlannedBytes {
  std::int64_t maps = 0, kernels = 0, results = 0;
};

/// The DRAM bytes of the tasks of a layer or a fusion group, the most bytes of a cluster's SRAM and of a
/// core's WRAM that they use, and the multiply-accumulates of results that a mask hides, which they leave
/// out.
struct PlannedUse {
  PlannedBytes bytes;
  std::int64_t sram = 0, wram = 0, hidden_macs = 0;
};

/// The weight prefetch of a layer or a fusion group: its first `loads` kernel loads run during an earlier
/// one, into WRAM from offset `wram_at` on.
struct Prefetch {
  int loads = 0;
  std::int64_t wram_at = 0;
};

/// Makes the lowering of one core, which computes shard `share` of the layer.
using LoweringFactory =
    std::function<std::unique_ptr<MatrixLowering>(TaskGraph&, const EnginePlace&, int shard)>;

/// Asked between two steps of a layer: returns true when an estimate has its answer and needs no more tasks.
using EnoughTasks = std::function<bool()>;

/// Adds the tasks of the layer: loads, jobs and stores of all cores, step by step, until `enough`. Prefetched
/// kernel loads are left out.
PlannedUse add_matrix_tasks(TaskGraph& graph, const MatrixWork& work, const LoweringFactory& lowering,
                            const EnoughTasks& enough = {});

/// Adds the layer's prefetched kernel loads to the graph of another layer, which uses `sram` bytes of a
/// cluster's SRAM and does not touch their places in WRAM. Returns their bytes and the SRAM in use with them.
/// Throws UserError when the SRAM has no room for them.
PlannedUse add_prefetch(TaskGraph& graph, const MatrixWork& work, std::int64_t sram);
/// WRAM bytes of the buffers of the first n kernel loads, for n from 1 to the most loads that can be
/// prefetched.
std::vector<std::int64_t> wram_of_loads(const MatrixWork& work);

}  // namespace tilebeat
