#include "lowering.h"

#include "tilebeat/engines/wfold/operations.h"

#include <utility>

namespace tilebeat::wfold {
namespace {

bool same(const ByteRange& a, const ByteRange& b) {
  return a.begin == b.begin && a.end == b.end;
}

class Lowering : public MatrixLowering {
 public:
  Lowering(TaskGraph& graph, const EnginePlace& place, const Problem& problem, const WfoldChoice& choice,
           const WfoldConfig& config, RunCosts& costs)
      : graph_(graph),
        place_(place),
        p_(problem),
        choice_(choice),
        config_(config),
        costs_(costs),
        setup_(conv_setup(problem)) {
    Task task;
    task.processor = place_.processor;
    task.instruction.operation = setup_;
    graph_.add(std::move(task));
  }

  void add(const MatrixJob& job) override {
    std::uint64_t weights = job.weights - place_.wram;
    for (int begin = job.blocks.begin; begin < job.blocks.end;) {
      // Blocks that are smaller than a kernel tile lie in the regions one by one.
      const bool whole_tiles = p_.block_kernels == choice_.shape.tile_kernels();
      int end = begin + 1;
      while (whole_tiles && end < job.blocks.end && same(channels_of(p_, end), channels_of(p_, begin))) ++end;
      add_run(job, {begin, end}, weights);
      for (int block = begin; block < end; ++block) weights += region_bytes(block);
      begin = end;
    }
  }

 private:
  // What a block takes of every region.
  std::uint64_t region_bytes(int block) const {
    const WfoldGeometry g =
        tile_geometry(p_, choice_, p_.kernels_of({block, block + 1}), 1, channels_of(p_, block));
    return static_cast<std::uint64_t>(WfoldSchedule(choice_.shape, g).region_bytes());
  }
  ByteRange channels_of_job(const MatrixJob& job, int block) const {
    if (job.reduction.first && job.reduction.last) return channels_of(p_, block);
    return folded_part(p_, job.reduction.channels);
  }

  void add_run(const MatrixJob& job, Interval blocks, std::uint64_t weights) {
    Task task;
    task.processor = place_.processor;
    const WfoldRun run = run_of(job, blocks, weights);
    task.instruction.operation = run;
    task.accesses = job.ifm_reads;
    if (job.weights_read) task.accesses.push_back(*job.weights_read);
    if (job.ofm_write && job.reduction.last) task.accesses.push_back(*job.ofm_write);
    task.cost = costs_.of(setup_, run);
    graph_.add(std::move(task));
  }

  WfoldRun run_of(const MatrixJob& job, Interval blocks, std::uint64_t weights) const {
    const OutputTile& tile = job.tile;
    const int first = (blocks.begin - job.blocks.begin) * p_.block_kernels;
    const ByteRange channels = channels_of_job(job, blocks.begin);
    WfoldRun run;
    run.map = static_cast<std::uint32_t>(job.ifm.address - place_.nram);
    run.row_bytes = static_cast<std::uint32_t>(row_bytes(p_, choice_, config_, tile.w));
    run.lead_bytes = folds_on_the_way(p_, config_) ? 0 : static_cast<std::int32_t>(lead_bytes(p_, tile.w));
    run.weights = static_cast<std::uint32_t>(weights);
    run.result = static_cast<std::uint32_t>(job.ofm.address - place_.nram) +
                 static_cast<std::uint32_t>(first * p_.element_bytes());
    run.result_pixel = static_cast<std::uint32_t>(job.ofm.pixel_stride);
    run.macs_per_output = static_cast<std::uint32_t>(p_.useful_taps * (p_.channels / p_.conv.groups));
    run.rows = narrow(p_, tile.h.outs, "tile rows"), run.columns = narrow(p_, tile.w.outs, "tile columns");
    run.kernels = narrow(p_, p_.kernels_of(blocks), "kernels");
    // A tile of padding alone has no map, whatever its rows would take.
    run.height = tile.padding_only() ? std::uint16_t{0} : narrow(p_, tile.h.ins, "tile height");
    run.h_offset = narrow_offset(p_, tile.h.offset);
    run.pixel_bytes = narrow(p_, p_.conv.stride[1] * p_.channels, "stride x channels");
    run.first_channel = narrow(p_, channels.begin, "channel");
    run.channels = narrow(p_, channels.end - channels.begin, "channels");
    run.granularity = static_cast<std::uint16_t>(choice_.granularity.granularity);
    run.result_granularity = static_cast<std::uint16_t>(
        choose_granularity(run.kernels * p_.element_bytes(), run.columns, config_.smallest_pci,
                           config_.tolerance_bytes, config_.line_bytes)
            .granularity);
    run.block_outer = config_.block_order == BlockOrder::kBlockOuter;
    run.read_mode = read_mode_of(p_, choice_, channels, config_);
    run.begins_sums = job.reduction.first, run.ends_sums = job.reduction.last;
    return run;
  }

  TaskGraph& graph_;
  EnginePlace place_;
  const Problem& p_;
  const WfoldChoice& choice_;
  const WfoldConfig& config_;
  RunCosts& costs_;
  ConvSetup setup_;
};

}  // namespace

bool folds_on_the_way(const Problem& p, const WfoldConfig& config) {
  return p.conv.stride[1] > 1 && config.fold_place != FoldPlace::kOnChip;
}

std::int64_t row_bytes(const Problem& p, const WfoldChoice& choice, const WfoldConfig& config,
                       const Window& w) {
  if (!folds_on_the_way(p, config)) return std::int64_t{w.ins} * p.channels;
  return std::int64_t{w.outs + choice.folded_span} * p.conv.stride[1] * p.channels;
}

std::int64_t lead_bytes(const Problem& p, const Window& w) {
  return -std::int64_t{w.offset} * p.channels;
}

ByteRange folded_part(const Problem& p, const Interval& channels) {
  return {std::int64_t{channels.begin} * p.conv.stride[1], std::int64_t{channels.end} * p.conv.stride[1]};
}

std::unique_ptr<MatrixLowering> make_lowering(TaskGraph& graph, const EnginePlace& place,
                                              const Problem& problem, const WfoldChoice& choice,
                                              const WfoldConfig& config, RunCosts& costs) {
  return std::make_unique<Lowering>(graph, place, problem, choice, config, costs);
}

}  // namespace tilebeat::wfold
