#include "tilebeat/engines/wfold/backend.h"

#include "tilebeat/base/error.h"
#include "tilebeat/engines/wfold/operations.h"

#include <algorithm>

#include <fmt/format.h>

#include "choice.h"

namespace tilebeat::wfold {
namespace {

bool same(const ByteRange& a, const ByteRange& b) {
  return a.begin == b.begin && a.end == b.end;
}

// Maps are folded on their way to where the engine reads them (SPEC WF-5).
bool folds_on_the_way(const Problem& p, const WfoldConfig& config) {
  return p.conv.stride[1] > 1 && config.fold_place != FoldPlace::kOnChip;
}
// Bytes of a row of a tile's map in NRAM, and of its padding in front of the pixels that the map has.
std::int64_t row_bytes(const Problem& p, const WfoldConfig& config, const WfoldChoice& choice,
                       const Window& w) {
  if (!folds_on_the_way(p, config)) return std::int64_t{w.ins} * p.channels;
  return std::int64_t{w.outs + choice.folded_span} * p.conv.stride[1] * p.channels;
}
std::int64_t lead_bytes(const Problem& p, const Window& w) {
  return -std::int64_t{w.offset} * p.channels;
}

// The runs of every job: kernel tiles that touch the same channels are one run.
class Lowering : public MatrixLowering {
 public:
  Lowering(TaskGraph& graph, const EnginePlace& place, const Problem& problem, const WfoldChoice& choice,
           const HardwareConfig& hardware)
      : graph_(graph), place_(place), p_(problem), choice_(choice), config_(hardware.engine<WfoldConfig>()) {
    Task task;
    task.processor = place_.processor;
    task.instruction.operation = conv_setup(p_);
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
    return static_cast<std::uint64_t>(geometry_of({block, block + 1}, 1).region_bytes());
  }
  WfoldSchedule geometry_of(Interval blocks, int columns) const {
    return WfoldSchedule(choice_.shape,
                         tile_geometry(p_, choice_, p_.kernels_of(blocks), columns, blocks.begin));
  }

  void add_run(const MatrixJob& job, Interval blocks, std::uint64_t weights) {
    Task task;
    task.processor = place_.processor;
    const WfoldRun run = run_of(job, blocks, weights);
    task.instruction.operation = run;
    for (const auto& access : {job.ifm_read, job.weights_read, job.ofm_write}) {
      if (access) task.accesses.push_back(*access);
    }
    task.cost = cost_of(run, blocks);
    graph_.add(std::move(task));
  }

  WfoldRun run_of(const MatrixJob& job, Interval blocks, std::uint64_t weights) const {
    const OutputTile& tile = job.tile;
    const int first = (blocks.begin - job.blocks.begin) * p_.block_kernels;
    const ByteRange channels = channels_of(p_, blocks.begin);
    WfoldRun run;
    run.map = static_cast<std::uint32_t>(job.ifm.address - place_.nram);
    run.row_bytes = static_cast<std::uint32_t>(row_bytes(p_, config_, choice_, tile.w));
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
    run.read_mode = read_mode_of(p_, choice_, blocks.begin, config_);
    return run;
  }

  // Every tile takes its beats, its lines or its results, whichever is longest.
  TaskCost cost_of(const WfoldRun& run, Interval blocks) const {
    const int columns = choice_.shape.tile_columns(run.granularity);
    const int kernels = std::min<int>(run.kernels, choice_.shape.tile_kernels());
    const WfoldSchedule one(choice_.shape, tile_geometry(p_, choice_, kernels, columns, blocks.begin));
    const std::int64_t drain = std::int64_t{columns} * ceil_div(kernels * 4, config_.line_bytes);
    const auto tiles = static_cast<double>(run.rows) * ceil_div<int>(run.columns, columns) *
                       ceil_div<int>(run.kernels, choice_.shape.tile_kernels());
    constexpr double kFill = 12;
    TaskCost cost;
    cost.cycles = kFill + tiles * static_cast<double>(std::max({one.beats(), one.all_lines(), drain}));
    cost.latency = static_cast<double>(drain) + config_.post_latency_cycles + kFill;
    return cost;
  }

  TaskGraph& graph_;
  EnginePlace place_;
  const Problem& p_;
  const WfoldChoice& choice_;
  const WfoldConfig& config_;
};

class WfoldLayer : public MatrixLayer {
 public:
  WfoldLayer(const Workload& workload, const Layer& layer, const HardwareConfig& hardware)
      : hardware_(hardware),
        config_(hardware.engine<WfoldConfig>()),
        p_(make_problem(workload, layer, hardware.planner, fitting_block_kernels(workload, layer, hardware))),
        choice_(choose_wfold(p_, hardware)) {}

  const Problem& problem() const override { return p_; }
  Grain grain() const override {
    const int columns = choice_.shape.tile_columns(choice_.granularity.granularity);
    const int kernels = std::min(p_.conv.out_channels, p_.block_kernels);
    const WfoldSchedule one(choice_.shape, tile_geometry(p_, choice_, kernels, columns));
    const std::int64_t drain = std::int64_t{columns} * ceil_div(kernels * 4, config_.line_bytes);
    Grain grain;
    grain.columns = columns;
    grain.kernels = p_.block_kernels;
    grain.channels = p_.channels;
    grain.cycles = std::max({one.beats(), one.all_lines(), drain});
    grain.kernel_bytes = one.region_bytes() * config_.slaves;
    return grain;
  }
  std::int64_t ifm_row_bytes(const Window& w) const override { return row_bytes(p_, config_, choice_, w); }
  MapLoad load_map(const OutputTile& tile, const TensorLayout& source,
                   std::uint64_t destination) const override {
    MapLoad load;
    Transfer& transfer = load.transfer;
    transfer.source = source.at(tile.image, tile.h.in, tile.w.in);
    transfer.destination = destination;
    transfer.shape = one_run(std::int64_t{tile.w.ins} * p_.channels);
    transfer.shape.rows = tile.h.ins;
    transfer.shape.source_row = source.row_stride;
    transfer.shape.destination_row = ifm_row_bytes(tile.w);
    if (!folds_on_the_way(p_, config_)) return load;
    if (config_.fold_place == FoldPlace::kDram) {
      load.before = cleared(tile, destination);
      transfer.destination += static_cast<std::uint64_t>(lead_bytes(p_, tile.w));
    } else {
      // To the tail of its place, from where the fold engine moves it to the head.
      transfer.destination += static_cast<std::uint64_t>(
          (transfer.shape.destination_row - transfer.shape.run) * transfer.shape.rows);
      transfer.shape.destination_row = transfer.shape.run;
      load.after = folded(tile, transfer.destination, destination);
    }
    return load;
  }
  WeightImage pack_weights() const override {
    PackedRegions packed = pack_regions(p_, choice_);
    WeightImage image;
    image.pieces.push_back(std::move(packed.bytes));
    image.blocks = std::move(packed.blocks);
    image.regions = config_.slaves;
    return image;
  }
  std::unique_ptr<MatrixLowering> lower(TaskGraph& graph, const EnginePlace& place) const override {
    return std::make_unique<Lowering>(graph, place, p_, choice_, hardware_);
  }
  Explanation explain() const override { return wfold::explain(choice_, p_, hardware_); }

 private:
  // Sets the place of a map to the zero point (SPEC WF-5).
  Copy cleared(const OutputTile& tile, std::uint64_t head) const {
    Copy clear;
    clear.unit = Unit::kFold;
    clear.source = clear.destination = head;
    clear.run_bytes = static_cast<std::uint32_t>(ifm_row_bytes(tile.w) * tile.h.ins);
    clear.outer_count = 0, clear.pad_top = 1;
    clear.fill = static_cast<std::uint8_t>(p_.input.zero_point);
    return clear;
  }
  // Moves a map from the tail of its place to the head, with its padding.
  Copy folded(const OutputTile& tile, std::uint64_t tail, std::uint64_t head) const {
    const std::int64_t row = ifm_row_bytes(tile.w), raw = std::int64_t{tile.w.ins} * p_.channels;
    const std::int64_t lead = lead_bytes(p_, tile.w);
    Copy fold;
    fold.unit = Unit::kFold;
    fold.source = tail, fold.destination = head;
    // A row is one run of the map between runs of padding: pixels of padding are whole runs of a pixel.
    fold.run_bytes = static_cast<std::uint32_t>(p_.channels);
    fold.inner_count = narrow(p_, tile.w.ins, "tile width");
    fold.source_inner_stride = fold.run_bytes;
    fold.source_outer_stride = static_cast<std::uint32_t>(raw);
    fold.outer_count = narrow(p_, tile.h.ins, "tile height");
    fold.destination_inner_stride = fold.run_bytes;
    fold.destination_outer_stride = static_cast<std::uint32_t>(row);
    const std::int64_t left = lead / p_.channels, right = (row - raw - lead) / p_.channels;
    if (left > UINT8_MAX || right > UINT8_MAX)
      throw UserError(
          fmt::format("layer '{}' cannot fit: wfold.fold_place in_place adds at most {} columns of "
                      "padding, it has {}",
                      p_.name, UINT8_MAX, std::max(left, right)));
    fold.pad_left = static_cast<std::uint8_t>(left), fold.pad_right = static_cast<std::uint8_t>(right);
    fold.fill = static_cast<std::uint8_t>(p_.input.zero_point);
    return fold;
  }

  const HardwareConfig& hardware_;
  const WfoldConfig& config_;
  Problem p_;
  WfoldChoice choice_;
};

}  // namespace

std::unique_ptr<MatrixLayer> make_layer(const Workload& workload, const Layer& layer,
                                        const HardwareConfig& hardware) {
  return std::make_unique<WfoldLayer>(workload, layer, hardware);
}

}  // namespace tilebeat::wfold
