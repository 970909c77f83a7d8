#pragma once

#include "planner/language/matrix_backend.h"
#include "planner/layer/placement.h"

#include <vector>

namespace tilebeat {

/// Where the map and the result of a matrix layer lie in DRAM.
struct OperandLayouts {
  TensorLayout input, output;
};
OperandLayouts operand_layouts(const Problem& problem, const Placement& input, const Placement& output);

/// Throws UserError for a layer that a board without cores cannot run: nothing there moves bytes but its
/// unit.
void check_board(const Problem& problem);

/// A layer's jobs on a board, whose unit works on DRAM: all images with the same kernels are one job; with
/// several sets of kernels each image is one.
std::vector<MatrixJob> board_jobs(const Problem& problem, const OperandLayouts& layouts,
                                  const WeightPlace& weights);

/// Adds the tasks of a layer's jobs on a board. Returns what they read through the unit's ports.
MatrixLowering::ReadBytes add_board_tasks(TaskGraph& graph, const MatrixLayer& layer,
                                          const std::vector<MatrixJob>& jobs, const JobCut& cut);
/// How the engine cuts the jobs: of several ways the one whose task graph is estimated to be the fastest, and
/// `plan` says so in `explanation`. Throws UserError when there is none.
JobCut cut_board_jobs(const MatrixLayer& layer, const std::vector<MatrixJob>& jobs,
                      const HardwareConfig& hardware, Explanation& explanation);

}  // namespace tilebeat
