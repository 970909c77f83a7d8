// Convolutions on the W-fold engines of a chip (SPEC section 4).
#include "tilebeat/base/error.h"
#include "tilebeat/base/math.h"
#include "tilebeat/engines/wfold/config.h"

#include <algorithm>

#include <fmt/format.h>

#include "chip_conv.h"
#include "wfold_plan.h"

namespace tilebeat {
namespace {

// Bytes of one map buffer's rows in front of the pixels that the map has.
std::int64_t lead_bytes(const ConvProblem& p, const Window& w) {
  return -std::int64_t{w.offset} * p.channels;
}

class ChipWfold {
 public:
  ChipWfold(PlanBuilder& builder, const Layer& layer, LayerPlan& made)
      : builder_(builder),
        layer_(layer),
        made_(made),
        hardware_(builder.hardware),
        config_(hardware_.engine<WfoldConfig>()),
        p_(make_problem(builder.workload, layer, hardware_.planner,
                        fitting_block_kernels(builder.workload, layer, hardware_))),
        choice_(choose_wfold(p_, hardware_)),
        conv_{p_, hardware_, unit()} {}

  ChipWork run() {
    made_.macs = useful_macs(builder_.workload, layer_);
    made_.bound = bound_of(p_, layer_, made_.macs, hardware_);
    made_.output_bytes = p_.output.size_bytes();
    const Split split = choose_split(conv_);
    choose_tile(conv_, split, buffers_);
    const std::int64_t region = hardware_.chip->core.wram.size_bytes / hardware_.chip->core.wram.banks;
    PackedRegions packed = pack_regions(p_, choice_);
    kernels_ = {builder_.place("kernels of " + p_.name, std::move(packed.bytes)),
                packed.blocks,
                0,
                0,
                config_.slaves,
                region};
    choose_group(conv_, split, kernels_, buffers_);
    const ConvWays ways = choose_ways(conv_, split, buffers_);
    made_.mapping =
        mapping_text(conv_, split, buffers_, ways, fmt::format("kernel tiles of {}", conv_.unit.channels));
    explain(choice_, p_, hardware_, made_);

    ChipWork work;
    work.ways = ways.ways;
    work.sram_bytes = ways.broadcast ? 2 * buffers_.kernel_bytes : 0;
    const std::uint64_t input = builder_.plan.tensors.at(layer_.inputs.front()).address,
                        output = builder_.plan.tensors.at(layer_.name).address;
    for (int core = 0; core < split.cores(); ++core) {
      CoreSteps steps = steps_of_core(conv_, part_of_core(conv_, split, core), core, buffers_, kernels_,
                                      input, output, ways.broadcast);
      if (!steps.steps.empty()) {
        lower(steps, core);
        fold_maps(steps, core);
      }
      work.cores.push_back(std::move(steps.work));
    }
    for (int cluster = 0; ways.broadcast && cluster < conv_.chip().clusters; ++cluster)
      work.memory.push_back(broadcast_kernels(conv_, split, buffers_, kernels_, cluster, made_));
    return work;
  }

 private:
  ConvUnit unit() const {
    const WfoldShape shape = wfold_shape_of(config_);
    const int columns = shape.tile_columns(choice_.granularity.granularity);
    ConvUnit unit;
    unit.columns = columns;
    unit.channels = p_.block_kernels;
    const int kernels = std::min(p_.conv.out_channels, unit.channels);
    const WfoldSchedule one(shape, tile_geometry(p_, choice_, kernels, columns));
    // A tile takes its beats, its lines or its results, whichever is longest.
    unit.clocks = std::max(
        {one.beats(), one.all_lines(), std::int64_t{columns} * ceil_div(kernels * 4, config_.line_bytes)});
    unit.kernel_bytes = one.region_bytes() * config_.slaves;
    if (folds_on_the_way()) unit.folded_span = choice_.folded_span;
    return unit;
  }
  bool folds_on_the_way() const { return p_.conv.stride[1] > 1 && config_.fold_place != FoldPlace::kOnChip; }

  // The runs of every step: kernel tiles that touch the same channels are one run.
  void lower(CoreSteps& steps, int core) {
    std::vector<std::vector<Instruction>>& programs = steps.work.steps;
    programs.resize(steps.steps.size());
    programs.front().push_back({{}, {}, {}, conv_setup(p_)});
    for (std::size_t i = 0; i < steps.steps.size(); ++i) {
      const ConvStep& step = steps.steps[i];
      std::vector<Instruction>& program = programs[i];
      const std::size_t first = program.size();
      for (int begin = step.blocks.begin; begin < step.blocks.end;) {
        // Blocks that are smaller than a kernel tile lie in the regions one by one.
        const bool whole_tiles = p_.block_kernels == choice_.shape.tile_kernels();
        int end = begin + 1;
        while (whole_tiles && end < step.blocks.end && channels_of(p_, end) == channels_of(p_, begin)) ++end;
        program.push_back({{}, {}, {}, wfold_run(step, {begin, end}, core)});
        begin = end;
      }
      Instruction& front = program[first];
      if (first_use(steps, i, &ConvStep::map_load)) front.waits[0] = step.tokens.map_full;
      if (first_use(steps, i, &ConvStep::kernel_load)) front.waits[1] = step.tokens.kernels_full;
      front.waits[2] = step.tokens.result_free;
      Instruction& back = program.back();
      if (last_use(steps, i, &ConvStep::map_load)) back.release_signals[0] = step.tokens.map_free;
      if (last_use(steps, i, &ConvStep::kernel_load)) back.release_signals[1] = step.tokens.kernels_free;
      back.done_signals[0] = step.tokens.result_full;
      made_.chunks += static_cast<std::int64_t>(program.size() - first);
    }
  }
  // Whether a step is the first, the last one that finds a load where it is.
  static bool first_use(const CoreSteps& steps, std::size_t at, int ConvStep::*load) {
    return std::none_of(steps.steps.begin(), steps.steps.begin() + static_cast<std::ptrdiff_t>(at),
                        [&](const ConvStep& other) { return other.*load == steps.steps[at].*load; });
  }
  static bool last_use(const CoreSteps& steps, std::size_t at, int ConvStep::*load) {
    return std::none_of(steps.steps.begin() + static_cast<std::ptrdiff_t>(at) + 1, steps.steps.end(),
                        [&](const ConvStep& later) { return later.*load == steps.steps[at].*load; });
  }

  WfoldRun wfold_run(const ConvStep& step, Interval blocks, int core) const {
    const NramTile& tile = step.tile;
    const int element = conv_.element_bytes();
    const int first = blocks.begin * conv_.unit.channels;
    const ByteRange channels = channels_of(p_, blocks.begin);
    WfoldRun run;
    run.map = static_cast<std::uint32_t>(step.map - nram_address(core));
    run.row_bytes = static_cast<std::uint32_t>(conv_.map_row_bytes(tile.w));
    run.lead_bytes = folds_on_the_way() ? 0 : static_cast<std::int32_t>(lead_bytes(p_, tile.w));
    std::uint64_t weights = step.packed - wram_address(core);
    for (int block = step.blocks.begin; block < blocks.begin; ++block)
      weights += (kernels_.blocks[static_cast<std::size_t>(block) + 1] -
                  kernels_.blocks[static_cast<std::size_t>(block)]) /
                 static_cast<std::uint64_t>(kernels_.regions);
    run.weights = static_cast<std::uint32_t>(weights);
    run.result = static_cast<std::uint32_t>(step.result - nram_address(core)) +
                 static_cast<std::uint32_t>((first - step.blocks.begin * conv_.unit.channels) * element);
    run.result_pixel = static_cast<std::uint32_t>(step.kernels * element);
    run.macs_per_output = static_cast<std::uint32_t>(p_.useful_taps * (p_.channels / p_.conv.groups));
    run.rows = narrow(p_, tile.h.outs, "tile rows"), run.columns = narrow(p_, tile.w.outs, "tile columns");
    run.kernels =
        narrow(p_, std::min(blocks.size() * conv_.unit.channels, p_.conv.out_channels - first), "kernels");
    // A tile of padding alone has no map, whatever its rows would take.
    run.height = step.map_load < 0 ? std::uint16_t{0} : narrow(p_, tile.h.ins, "tile height");
    if (tile.h.offset < INT16_MIN)
      throw UserError(fmt::format("layer '{}' cannot fit: padding of {} pixels is beyond {}", p_.name,
                                  -tile.h.offset, -INT16_MIN));
    run.h_offset = static_cast<std::int16_t>(tile.h.offset);
    run.pixel_bytes = narrow(p_, p_.conv.stride[1] * p_.channels, "stride x channels");
    run.first_channel = narrow(p_, channels.begin, "channel");
    run.channels = narrow(p_, channels.end - channels.begin, "channels");
    run.granularity = static_cast<std::uint16_t>(choice_.granularity.granularity);
    run.result_granularity = static_cast<std::uint16_t>(
        choose_granularity(run.kernels * element, run.columns, config_.smallest_pci, config_.tolerance_bytes,
                           config_.line_bytes)
            .granularity);
    run.block_outer = config_.block_order == BlockOrder::kBlockOuter;
    run.read_mode = read_mode_of(p_, choice_, blocks.begin, config_);
    return run;
  }

  // Loads of maps that are folded on their way to where the engine reads them (SPEC WF-5): from DRAM, into a
  // place that was set to the zero point first, or to the tail of their place, from where the fold engine
  // moves them to its head.
  void fold_maps(CoreSteps& steps, int core) const {
    if (!folds_on_the_way()) return;
    for (CoreWork::Load& load : steps.work.loads) {
      if (load.operand != CoreWork::Operand::kMap) continue;
      const std::uint64_t destination = load.movement.transfers.front().destination;
      const auto step = std::find_if(steps.steps.begin(), steps.steps.end(), [&](const ConvStep& s) {
        return s.map_load >= 0 && s.map == destination && &s - steps.steps.data() >= load.step;
      });
      fold_load(load, step->tile,
                static_cast<int>((destination - nram_address(core)) /
                                 static_cast<std::uint64_t>(buffers_.map_bytes)));
    }
  }
  void fold_load(CoreWork::Load& load, const NramTile& tile, int buffer) const {
    const auto fill = static_cast<std::uint8_t>(p_.input.zero_point);
    Transfer& transfer = load.movement.transfers.front();
    const std::uint64_t head = transfer.destination;
    const std::int64_t row = conv_.map_row_bytes(tile.w), raw = std::int64_t{tile.w.ins} * p_.channels;
    const std::int64_t lead = lead_bytes(p_, tile.w);
    const Movement whole = load.movement;
    if (config_.fold_place == FoldPlace::kDram) {
      Copy clear;
      clear.unit = Unit::kFold;
      clear.source = clear.destination = head;
      clear.run_bytes = static_cast<std::uint32_t>(row * tile.h.ins);
      clear.outer_count = 0, clear.pad_top = 1, clear.fill = fill;
      load.before.push_back({{whole.waits}, {}, {map_begun(buffer)}, clear});
      load.movement.waits = map_begun(buffer);
      transfer.destination += static_cast<std::uint64_t>(lead);
      return;
    }
    transfer.destination += static_cast<std::uint64_t>((row - raw) * tile.h.ins);
    transfer.shape.destination_row = raw;
    load.movement.done = map_begun(buffer);
    Copy fold;
    fold.unit = Unit::kFold;
    fold.source = transfer.destination, fold.destination = head;
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
    fold.fill = fill;
    load.after.push_back({{map_begun(buffer)}, {}, {whole.done}, fold});
  }

  PlanBuilder& builder_;
  const Layer& layer_;
  LayerPlan& made_;
  const HardwareConfig& hardware_;
  const WfoldConfig& config_;
  ConvProblem p_;
  WfoldChoice choice_;
  ChipConv conv_;
  ConvBuffers buffers_;
  KernelPlace kernels_;
};

}  // namespace

ChipWork plan_chip_wfold(PlanBuilder& builder, const Layer& layer, LayerPlan& made) {
  return ChipWfold(builder, layer, made).run();
}

}  // namespace tilebeat
