#include "planner/layer/board_job.h"

#include "planner/layer/estimate.h"
#include "tilebeat/error.h"

#include <limits>

#include <fmt/format.h>

namespace tilebeat {

OperandLayouts operand_layouts(const Problem& p, const Placement& input, const Placement& output) {
  const int element = p.element_bytes();
  OperandLayouts made{p.map_layout(input.address),
                      TensorLayout::dense(output.address, p.out_height, p.out_width,
                                          std::int64_t{p.conv.out_channels} * element)};
  if (p.interleaving) {
    const Interleaving& i = *p.interleaving;
    made.output = TensorLayout::dense(output.address, i.height, i.width, std::int64_t{i.channels} * element);
  }
  made.input.stored = input.stored, made.output.stored = output.stored;
  return made;
}

void check_board(const Problem& p, const HardwareConfig& hardware) {
  const auto refuse = [&](const char* what) {
    throw UserError(fmt::format(
        "layer '{}': {} needs the DMA engines of a core, which this hardware does not have (chip)", p.name,
        what));
  };
  if (p.kernel_tensor) refuse("a product of two tensors");
  if (p.map_order == MatrixOrder::kTransposed) refuse("transpose_a");
  if (p.interleaving) refuse("conv_transpose");
  if (p.weights.four_bits() != nullptr && !hardware.decodes())
    throw UserError(
        fmt::format("layer '{}': weights of int4 or uint4 need a decoder, which this board does not have "
                    "(decode_bytes_per_clock of its engine)",
                    p.name));
}

std::vector<MatrixJob> board_jobs(const Problem& p, const OperandLayouts& layouts,
                                  const WeightPlace& weights) {
  const int count = p.sets > 1 ? p.batch : 1;
  std::vector<MatrixJob> jobs;
  for (int number = 0; number < count; ++number) {
    MatrixJob& job = jobs.emplace_back();
    job.tile = {0, p.axis_h().window({0, p.out_height}), p.axis_w().window({0, p.out_width})};
    job.images = p.batch / count;
    job.blocks = {0, p.kernel_blocks()};
    job.reduction = {{0, p.channels}, true, true};
    job.ifm = layouts.input, job.ofm = layouts.output;
    job.ifm.address = layouts.input.at(p.map_image(number), job.tile.h.in, job.tile.w.in);
    job.ofm.address = layouts.output.at(number, 0, 0);
    job.weights = nth(weights.blocks, p.kernel_set(number) * p.kernel_blocks());
    job.post = weights.post;
  }
  return jobs;
}

MatrixLowering::ReadBytes add_board_tasks(TaskGraph& graph, const Shard& layer, std::vector<MatrixJob> jobs,
                                          const JobCut& cut) {
  const auto lowering = layer.layer->lower(graph, {}, cut);
  const StreamOf streams = kernel_streams(graph, layer);
  for (MatrixJob& job : jobs) {
    if (layer.layer->problem().in_streams) job.stream_of = &streams;
    lowering->add(job);
  }
  return lowering->read_bytes();
}

JobCut cut_board_jobs(const Shard& layer, const std::vector<MatrixJob>& jobs, const HardwareConfig& hardware,
                      Explanation& explanation) {
  const Machine machine = machine_of(hardware, {});
  const std::vector<JobCut> cuts = layer.layer->cuts(
      jobs.front(), dram_path(hardware, hardware.dma, Direction::kRead), machine.dram_bytes_per_clock);
  if (cuts.size() == 1) return cuts.front();
  constexpr double kFewer = 100;  // cycles: what is less means nothing
  const JobCut* best = &cuts.front();
  double limit = std::numeric_limits<double>::infinity();  // cycles
  for (const JobCut& cut : cuts) {
    TaskGraph graph;
    add_board_tasks(graph, layer, jobs, cut);
    const double taken = schedule(graph, dependencies_of(graph), machine, limit).cycles;
    if (taken < limit) limit = &cut == &cuts.front() ? taken - kFewer : taken, best = &cut;
  }
  explanation.emplace_back(
      "chosen",
      best == &cuts.front()
          ? fmt::format("of {} ways to cut none is expected to save {:.0f} cycles", cuts.size(), kFewer)
          : fmt::format("of {} ways to cut the fastest, as expected", cuts.size()));
  return *best;
}

}  // namespace tilebeat
