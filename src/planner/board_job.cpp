#include "board_job.h"

#include "tilebeat/base/error.h"

#include <fmt/format.h>

namespace tilebeat {

OperandLayouts operand_layouts(const Problem& p, std::uint64_t input, std::uint64_t output) {
  const TensorLayout map = p.map_layout(input);
  const int element = p.element_bytes();
  if (p.interleaving) {
    const Interleaving& i = *p.interleaving;
    return {map, TensorLayout::dense(output, i.height, i.width, std::int64_t{i.channels} * element)};
  }
  return {map, TensorLayout::dense(output, p.out_height, p.out_width,
                                   std::int64_t{p.conv.out_channels} * element)};
}

void check_board(const Problem& p) {
  const auto refuse = [&](const char* what) {
    throw UserError(fmt::format(
        "layer '{}': {} needs the DMA engines of a core, which this hardware does not have (chip)", p.name,
        what));
  };
  if (p.kernel_tensor) refuse("a product of two tensors");
  if (p.map_order == MatrixOrder::kTransposed) refuse("transpose_a");
  if (p.interleaving) refuse("conv_transpose");
}

int jobs_of_board(const Problem& p) {
  return p.sets > 1 ? p.batch : 1;
}

MatrixJob board_job(const Problem& p, int number, const OperandLayouts& layouts, const WeightPlace& weights) {
  MatrixJob job;
  job.tile = {0, p.axis_h().window({0, p.out_height}), p.axis_w().window({0, p.out_width})};
  job.images = p.batch / jobs_of_board(p);
  job.blocks = {0, p.kernel_blocks()};
  job.reduction = {{0, p.channels}, true, true};
  job.ifm = layouts.input, job.ofm = layouts.output;
  job.ifm.address = layouts.input.at(p.map_image(number), job.tile.h.in, job.tile.w.in);
  job.ofm.address = layouts.output.at(number, 0, 0);
  job.weights = weights.blocks[static_cast<std::size_t>(p.kernel_set(number) * p.kernel_blocks())];
  job.post = weights.post;
  return job;
}

}  // namespace tilebeat
