#pragma once

#include "tilebeat/mapping/matrix_backend.h"

#include "placement.h"

namespace tilebeat {

/// Where the map and the result of a matrix layer lie in DRAM.
struct OperandLayouts {
  TensorLayout input, output;
};
OperandLayouts operand_layouts(const Problem& problem, std::uint64_t input, std::uint64_t output);

/// Throws UserError for a layer that a board without cores cannot run: nothing there moves bytes but its
/// unit.
void check_board(const Problem& problem);

/// A layer's jobs on a board, whose unit works on DRAM: all images with the same kernels are one job; with
/// several sets of kernels each image is one.
int jobs_of_board(const Problem& problem);
MatrixJob board_job(const Problem& problem, int number, const OperandLayouts& layouts,
                    const WeightPlace& weights);

}  // namespace tilebeat
