#include "engines/dot/config.h"
#include "engines/dot/operations.h"
#include "engines/dot/schedule.h"
#include "planner/language/matrix_backend.h"
#include "tilebeat/error.h"

#include <fmt/format.h>

namespace tilebeat::dot {
namespace {

// One run a job.
class Lowering : public MatrixLowering {
 public:
  Lowering(TaskGraph& graph, const EnginePlace& place, const Problem& problem, int lanes)
      : graph_(graph), place_(place), p_(problem), lanes_(lanes) {
    add(conv_setup(p_), {}, {});
  }

  void add(const MatrixJob& job) override {
    const DotRun run = run_of(job);
    TaskCost cost;
    cost.beats = DotSchedule(conv_setup(p_), run).clocks(lanes_);
    cost.cycles = static_cast<double>(cost.beats);
    cost.latency = kRoundTrip;
    add(run, job.accesses(), cost);
  }

 private:
  static constexpr double kRoundTrip = 8;  // cycles of a write to NRAM, about

  template <class Op>
  void add(const Op& operation, AccessList accesses, const TaskCost& cost) {
    Task task;
    task.processor = place_.processor;
    task.instruction.operation = operation;
    task.accesses = std::move(accesses);
    task.cost = cost;
    graph_.add(std::move(task));
  }

  DotRun run_of(const MatrixJob& job) const {
    const OutputTile& tile = job.tile;
    DotRun run;
    run.map = job.ifm.address, run.weights = job.weights, run.result = job.ofm.address;
    run.result_pixel = static_cast<std::uint32_t>(job.ofm.pixel_stride);
    run.channels = narrow(p_, p_.channels / p_.conv.groups, "channels of a group");
    run.macs_per_output = static_cast<std::uint32_t>(p_.useful_taps * run.channels);
    run.rows = narrow(p_, tile.h.outs, "tile rows"), run.columns = narrow(p_, tile.w.outs, "tile columns");
    run.kernels = narrow(p_, p_.kernels_of(job.blocks), "kernels");
    run.height = tile.padding_only() ? std::uint16_t{0} : narrow(p_, tile.h.ins, "tile height");
    run.width = narrow(p_, tile.w.ins, "tile width");
    run.h_offset = narrow_offset(p_, tile.h.offset), run.w_offset = narrow_offset(p_, tile.w.offset);
    run.pixel_bytes = narrow(p_, p_.channels, "channels");
    run.first_kernel = narrow(p_, job.blocks.begin, "kernels");
    run.group_kernels = narrow(p_, p_.conv.out_channels / p_.conv.groups, "kernels of a group");
    return run;
  }

  TaskGraph& graph_;
  EnginePlace place_;
  const Problem& p_;
  int lanes_;
};

class DotLayer : public MatrixLayer {
 public:
  DotLayer(const Workload& workload, const Layer& layer, const HardwareConfig& hardware)
      : config_(hardware.engine<DotConfig>()), p_(make_problem(workload, layer, hardware, 1)) {}

  const Problem& problem() const override { return p_; }
  Grain grain() const override {
    Grain grain;  // one pixel of one kernel
    grain.channels = p_.channels;
    grain.cycles = clocks_of_output();
    grain.kernel_bytes = kPostParameterBytes + weight_bytes();
    return grain;
  }
  WeightLayout weight_layout() const override {
    return layout_of_blocks(p_, [this](int) { return kPostParameterBytes + weight_bytes(); });
  }
  std::vector<std::uint8_t> pack_block(const Tensor& weights, int set, int kernel) const override {
    const auto record = encode(post_parameter(p_, kernel));
    const auto first =
        weights.bytes.begin() + (std::int64_t{set} * p_.conv.out_channels + kernel) * weight_bytes();
    std::vector<std::uint8_t> block(first, first + weight_bytes());
    block.insert(block.begin(), record.begin(), record.end());
    return block;
  }
  std::vector<JobCut> cuts(const MatrixJob&, const PortPath&, double) const override {
    if (weight_bytes() > config_.kernel_bytes) {
      throw UserError(fmt::format("layer '{}' cannot fit: a kernel takes {} bytes, dot.kernel_bytes is {}",
                                  p_.name, weight_bytes(), config_.kernel_bytes));
    }
    return {JobCut{}};
  }
  std::unique_ptr<MatrixLowering> lower(TaskGraph& graph, const EnginePlace& place,
                                        const JobCut&) const override {
    return std::make_unique<Lowering>(graph, place, p_, config_.lanes);
  }
  Explanation explain(const JobCut&) const override {
    return {{"dot product", fmt::format("{} cycles an output", clocks_of_output())}};
  }

 private:
  std::int64_t weight_bytes() const { return std::int64_t{p_.taps()} * (p_.channels / p_.conv.groups); }
  std::int64_t clocks_of_output() const {
    return std::int64_t{p_.taps()} * ceil_div(p_.channels / p_.conv.groups, config_.lanes);
  }

  const DotConfig& config_;
  Problem p_;
};

}  // namespace

std::unique_ptr<MatrixLayer> make_layer(const Workload& workload, const Layer& layer,
                                        const HardwareConfig& hardware) {
  return std::make_unique<DotLayer>(workload, layer, hardware);
}

}  // namespace tilebeat::dot
