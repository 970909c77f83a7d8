#pragma once

#include "planner/language/matrix_backend.h"
#include "planner/layer/placement.h"
#include "planner/layer/shards.h"

#include <vector>

namespace tilebeat {

/// The layouts in DRAM of a matrix layer's map and result.
struct OperandLayouts {
  TensorLayout input, output;
};
OperandLayouts operand_layouts(const Problem& problem, const Placement& input, const Placement& output);

/// Throws UserError for a layer that a board without cores cannot run: a board's only unit is its matrix
/// unit, which copies no bytes.
void check_board(const Problem& problem, const HardwareConfig& hardware);

/// A layer's jobs on a board, whose unit works on DRAM: one job for all images that use the same kernels,
/// else one job per image.
std::vector<MatrixJob> board_jobs(const Problem& problem, const OperandLayouts& layouts,
                                  const WeightPlace& weights);

/// Adds the tasks of a layer's jobs on a board; `layer` has the layer and the places of its kernels. Returns
/// the bytes that they read through the unit's ports.
MatrixLowering::ReadBytes add_board_tasks(TaskGraph& graph, const Shard& layer, std::vector<MatrixJob> jobs,
                                          const JobCut& cut);
/// The engine's cut of the jobs: of several candidates the one whose task graph has the lowest estimate. Adds
/// the decision to `explanation`. Throws UserError when the engine offers none.
JobCut cut_board_jobs(const Shard& layer, const std::vector<MatrixJob>& jobs, const HardwareConfig& hardware,
                      Explanation& explanation);

}  // namespace tilebeat
