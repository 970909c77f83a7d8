#include "base/types.h"
#include "engines/rolling/choice.h"
#include "engines/rolling/config.h"
#include "engines/rolling/operand_lines.h"
#include "isa/address_map.h"
#include "planner/language/matrix_backend.h"
#include "tilebeat/error.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace tilebeat::rolling {

namespace {

constexpr int kFewParts = 8;  // parts of the outputs for each core with which their number no longer matters

int group_channels(const Problem& p) {
  return p.channels / p.conv.groups;
}

Records records_if(bool there_are) {
  return there_are ? Records::kLoaded : Records::kNone;
}

// A run's product: all kernels of one group, or of several whole groups.
Product product_of(const Problem& p, std::int64_t pixels, int channels, Interval kernels) {
  Product product;
  product.m = to_int(pixels);
  product.n = p.taps() * channels;
  product.k = kernels.size();
  product.first_column = kernels.begin;
  product.group_columns = p.conv.out_channels / p.conv.groups;
  product.run = channels == p.channels && p.conv.dilation[1] == 1 ? channels * p.conv.kernel[1] : channels;
  product.inside = p.axis_h().share_inside(p.out_height) * p.axis_w().share_inside(p.out_width);
  return product;
}

// The configuration for a layer: kernels that are a tensor are transposed by the unit when they are stored
// row by row, as B is, so that DMA engines move contiguous runs.
RollingConfig config_of(const Problem& p, const HardwareConfig& hardware, int stacked_blocks) {
  RollingConfig config = hardware.engine<RollingConfig>();
  config.stacked_blocks = stacked_blocks;
  if (p.kernel_tensor) {
    const bool as_kernels = p.kernel_tensor->channel_stride == 1;
    if (as_kernels)
      config.transposition = TranspositionChoice::kInMemory;
    else if (config.transposition == TranspositionChoice::kInMemory)
      config.transposition = TranspositionChoice::kWhileLoading;
  }
  return config;
}

class Lowering : public MatrixLowering {
 public:
  Lowering(TaskGraph& graph, const EnginePlace& place, const Problem& problem, const Order& order,
           const HardwareConfig& hardware, const RollingConfig& config)
      : graph_(graph),
        place_(place),
        p_(problem),
        config_(config),
        on_core_(hardware.chip.has_value()),
        conv_(conv_setup(problem)) {
    setup_.variant = order.variant, setup_.scheme = order.scheme;
    setup_.realignment = config_.realign, setup_.wrap = order.wrap;
    setup_.transposition = config_.transposition == TranspositionChoice::kWhileLoading
                               ? Transposition::kWhileLoading
                               : Transposition::kInMemory;
    set_field(setup_.stacked_blocks, order.stacked_blocks);
    set_field(setup_.stacked_cuts, order.stacked_cuts);
    setup_.pixel_bytes = narrow(p_, p_.channels, "channels");
    setup_.group_channels = narrow(p_, group_channels(p_), "channels of a group");
    setup_.group_kernels = narrow(p_, p_.conv.out_channels / p_.conv.groups, "kernels of a group");
    setup_.block_kernels = narrow(p_, p_.block_kernels, "kernels of a block");
    setup_.images = narrow(p_, on_core_ || p_.sets > 1 ? 1 : p_.batch, "images");
    set_field(setup_.useful_taps, p_.useful_taps);
    add(conv_, {}, {});
    add(setup_, {}, {});
  }

  void add(const MatrixJob& job) override {
    RollingRun run = run_of(job);
    run.transposes = config_.transposition == TranspositionChoice::kStep &&
                     graph_.is_first_use(place_.processor, job.weights_read, job.weights);
    const RollingSchedule schedule = schedule_of(shape_of(config_), conv_, setup_, run);
    if (!on_core_) runs_.push_back(run);
    const Estimate expected = estimate(schedule, config_, records_if(run.last && conv_.post_parameters));
    TaskCost cost;
    cost.cycles = kFill + expected.clocks() - expected.last_drain;
    // Every word is read and written.
    if (run.transposes) cost.cycles += 2.0 * schedule.product().n * run.kernels / config_.port_bytes;
    if (run.packed && !run.same_image)
      cost.cycles += static_cast<double>(ceil_div<std::int64_t>(job.image_front, config_.port_bytes));
    cost.latency = expected.last_drain + config_.post_latency_cycles + kFill;
    cost.beats = expected.beats;
    add(run, job.accesses(), cost);
  }

  // Counts line by line, as the unit requests them.
  ReadBytes read_bytes() const override {
    ReadBytes read;
    for (const RollingRun& run : runs_) {
      const RollingSchedule schedule = schedule_of(shape_of(config_), conv_, setup_, run);
      const OperandLines lines(schedule, conv_, setup_, run);
      read.maps += bytes_of(OperandName::kA, schedule, lines);
      read.kernels += bytes_of(OperandName::kB, schedule, lines);
      if (run.last && conv_.post_parameters)
        read.kernels += std::int64_t{run.kernels} * OperandLines::kRecordBytes;
    }
    return read;
  }

 private:
  static constexpr double kFill = 24;  // cycles of the first lines, about

  static std::int64_t bytes_of(OperandName operand, const RollingSchedule& schedule,
                               const OperandLines& lines) {
    std::int64_t bytes = 0;
    std::vector<Piece> pieces;
    std::vector<Load> loads;
    for (std::int64_t index = 0; index < schedule.blocks(); ++index) {
      const OutputBlock block = schedule.block(index);
      for (int round = 0; round < schedule.rounds_per_block(); ++round) {
        lines.loads(operand, block, round, Records::kNone, loads);
        for (const Load& load : loads) {
          lines.find(operand, block, round, load, pieces);
          for (const Piece& piece : pieces) bytes += piece.bytes;
        }
      }
    }
    return bytes;
  }

  template <class Op>
  void add(const Op& operation, AccessList accesses, const TaskCost& cost) {
    Task task;
    task.processor = place_.processor;
    task.instruction.operation = operation;
    task.accesses = std::move(accesses);
    task.cost = cost;
    graph_.add(std::move(task));
  }

  RollingRun run_of(const MatrixJob& job) {
    const OutputTile& tile = job.tile;
    const bool all = job.reduction.first && job.reduction.last;
    RollingRun run;
    run.packed = job.image != 0, run.same_image = images_.same(job);
    run.map = job.ifm.address, run.weights = job.weights, run.post = job.post, run.result = job.ofm.address;
    set_field(run.result_pixel, job.ofm.pixel_stride);
    run.rows = narrow(p_, tile.h.outs, "tile rows"), run.columns = narrow(p_, tile.w.outs, "tile columns");
    run.kernels = narrow(p_, p_.kernels_of(job.blocks), "kernels");
    run.height = tile.padding_only() ? std::uint16_t{0} : narrow(p_, tile.h.ins, "tile height");
    run.width = narrow(p_, tile.w.ins, "tile width");
    run.h_offset = narrow_offset(p_, tile.h.offset), run.w_offset = narrow_offset(p_, tile.w.offset);
    if (!on_core_) whole_map(run, tile, job.ifm);
    run.first_kernel = narrow(p_, job.blocks.begin * p_.block_kernels, "kernels");
    run.first_channel = narrow(p_, all ? 0 : job.reduction.channels.begin, "channel");
    run.channels = narrow(p_, all ? group_channels(p_) : job.reduction.channels.size(), "channels");
    run.first = job.reduction.first, run.last = job.reduction.last;
    return run;
  }

  // In DRAM the part of a map that a run's outputs use has gaps: the run gets the whole map.
  void whole_map(RollingRun& run, const OutputTile& tile, const TensorLayout& ifm) const {
    run.map -= to_unsigned(tile.h.in * ifm.row_stride + tile.w.in * ifm.pixel_stride);
    run.height = narrow(p_, p_.height, "height"), run.width = narrow(p_, p_.width, "width");
    run.h_offset = narrow_offset(p_, tile.h.in + tile.h.offset);
    run.w_offset = narrow_offset(p_, tile.w.in + tile.w.offset);
  }

  ImagesInTurn images_;
  TaskGraph& graph_;
  EnginePlace place_;
  const Problem& p_;
  const RollingConfig& config_;
  bool on_core_;
  ConvSetup conv_;
  RollingSetup setup_;
  std::vector<RollingRun> runs_;  // runs of a board, where the unit itself reads DRAM
};

class RollingLayer : public MatrixLayer {
 public:
  /// `stacked_blocks`: as many as the configuration asks for, or fewer.
  RollingLayer(const Workload& workload, const Layer& layer, const HardwareConfig& hardware,
               int stacked_blocks)
      : workload_(workload),
        layer_(layer),
        hardware_(hardware),
        p_(make_problem(workload, layer, hardware, 1)),
        config_(config_of(p_, hardware, stacked_blocks)),
        choice_(choose_order(product_of(p_, pixels(), group_channels(p_), {0, p_.conv.out_channels}), config_,
                             records_if(p_.has_post_parameters()))) {
    p_.block_kernels = stacked_lines();
    // An output block then has a column of PEs per kernel; sums that stay need it to be a single one.
    if (choice_.order.scheme == Scheme::kOutputStationary)
      p_.block_kernels = std::min(p_.block_kernels, shape_of(config_).lanes(Variant::kRightBUp));
  }

  const Problem& problem() const override { return p_; }
  Grain grain() const override {
    const int lines = stacked_lines();
    Grain grain;
    grain.columns = std::min(lines, p_.out_width);
    grain.rows = std::min(std::max(1, lines / grain.columns), p_.out_height);
    grain.kernels = p_.block_kernels;
    const RollingSchedule one = schedule(std::int64_t{grain.rows} * grain.columns,
                                         {0, std::min(p_.block_kernels, p_.conv.out_channels)});
    grain.channels = std::lcm(one.channel_block(), choice_.order.stacked_blocks * one.lanes());
    const Estimate expected = estimate(one, config_, records_if(p_.has_post_parameters()));
    grain.cycles = static_cast<std::int64_t>(expected.clocks() - expected.last_drain);
    grain.kernel_bytes = std::int64_t{one.product().k} * (one.product().n + kPostParameterBytes);
    return grain;
  }
  WeightLayout weight_layout() const override {
    const auto bytes_of = [this](int block) {
      return std::int64_t{p_.kernels_of({block, block + 1})} * p_.taps() * group_channels(p_);
    };
    return layout_with_records(p_, bytes_of);
  }
  std::vector<std::uint8_t> pack_block(const Tensor& weights, int set, int block) const override;
  std::vector<int> weights_of_channel() const override {
    if (config_.transposition == TranspositionChoice::kInMemory) return {1};
    const int last = p_.kernel_blocks() - 1;
    return {p_.kernels_of({0, 1}), p_.kernels_of({last, last + 1})};
  }
  // Stacks of fewer blocks give more cores work, and need less memory.
  std::vector<std::unique_ptr<MatrixLayer>> other_block_sizes() const override {
    std::vector<std::unique_ptr<MatrixLayer>> others;
    if (config_.stacked_blocks > 0 || stacks_blocks(config_)) return others;
    const ChipConfig& chip = *hardware_.chip;
    const std::int64_t parts = ceil_div(pixels(), std::int64_t{stacked_lines()}) * p_.kernel_blocks();
    const bool few_parts = chip.cores() > 1 && parts < std::int64_t{kFewParts} * chip.cores();
    const std::int64_t block_bytes = std::int64_t{stacked_lines()} * p_.taps() * p_.channels;
    if (!few_parts && 2 * block_bytes <= std::min(chip.core.nram.size_bytes, chip.core.wram.size_bytes))
      return others;
    for (int blocks = choice_.order.stacked_blocks / 2; blocks > 0; blocks /= 2)
      others.push_back(std::make_unique<RollingLayer>(workload_, layer_, hardware_, blocks));
    return others;
  }
  bool reduces() const override { return p_.conv.groups == 1; }
  bool reads_images() const override { return config_.transposition != TranspositionChoice::kStep; }
  Interval weights_of(int block, Interval channels) const override {
    const int element = p_.kernels_of({block, block + 1}) * p_.taps();
    return {channels.begin * element, channels.end * element};
  }
  // Order of the parts: cuts of n, in each the kernels or, if transposed while loading, the elements.
  std::vector<KernelPart> kernel_parts(int block, Interval channels) const override {
    const int cut = schedule(1, {0, 1}).cut(0).size, first = block * p_.block_kernels;
    const std::int64_t count = p_.kernels_of({block, block + 1});
    const Interval kernels{first, first + to_int(count)};
    const int whole = channels.size() / cut * cut, rest = channels.size() - whole;
    if (config_.transposition != TranspositionChoice::kInMemory)
      return {{kernels, channels, channels.size(), 0, 1, 0, count}};
    std::vector<KernelPart> parts;
    if (whole > 0)
      parts.push_back({kernels, {channels.begin, channels.begin + whole}, cut, 0, cut, cut * count, 1});
    if (rest > 0)
      parts.push_back({kernels, {channels.begin + whole, channels.end}, rest, whole * count, rest, 0, 1});
    return parts;
  }
  std::unique_ptr<MatrixLowering> lower(TaskGraph& graph, const EnginePlace& place,
                                        const JobCut& /*cut*/) const override {
    return std::make_unique<Lowering>(graph, place, p_, choice_.order, hardware_, config_);
  }
  Explanation explain(const JobCut& cut) const override;
  std::string choices() const override;

 private:
  // The most lines of an output block: jobs are multiples of it, so that stacks stay whole (SPEC RO-7).
  int stacked_lines() const {
    return choice_.order.stacked_blocks * shape_of(config_).lines(choice_.order.variant);
  }
  // Pixels of the product: a board has all images in one, a core one tile after the other.
  std::int64_t pixels() const {
    return (hardware_.chip || p_.sets > 1 ? 1 : p_.batch) * std::int64_t{p_.out_height} * p_.out_width;
  }
  RollingSchedule schedule(std::int64_t pixels, Interval kernels) const {
    return RollingSchedule(shape_of(config_), choice_.order,
                           product_of(p_, pixels, group_channels(p_), kernels));
  }

  const Workload& workload_;
  const Layer& layer_;
  const HardwareConfig& hardware_;
  Problem p_;
  RollingConfig config_;
  Choice choice_;
};

// Order of the bytes: cuts of n, in each the kernels or, if transposed while loading, the elements
// (RollingRun).
std::vector<std::uint8_t> RollingLayer::pack_block(const Tensor& weights, int set, int block) const {
  const int channels = group_channels(p_), taps = p_.taps();
  const int first = block * p_.block_kernels, kernels = p_.kernels_of({block, block + 1});
  const RollingSchedule all = schedule(1, {0, 1});
  std::vector<int> element_of(to_size(taps) * to_size(channels));
  std::size_t at = 0;
  for (int begin = 0; begin < channels; begin += all.channel_block()) {
    for (int tap = 0; tap < taps; ++tap) {
      for (int c = begin; c < std::min(channels, begin + all.channel_block()); ++c)
        element_of[at++] = tap * channels + c;
    }
  }
  const auto element = [&](int kernel, int n) {
    const std::int64_t begin = (std::int64_t{set} * p_.conv.out_channels + first + kernel) * taps * channels;
    return nth(weights.bytes, begin + nth(element_of, n));
  };
  std::vector<std::uint8_t> bytes;
  bytes.reserve(element_of.size() * to_size(kernels));
  for (int cut = 0; cut < all.cuts(); ++cut) {
    const Span elements = all.cut(cut);
    if (config_.transposition == TranspositionChoice::kInMemory) {
      for (int kernel = 0; kernel < kernels; ++kernel) {
        for (int n = elements.begin; n < elements.end(); ++n) bytes.push_back(element(kernel, n));
      }
    } else {
      for (int n = elements.begin; n < elements.end(); ++n) {
        for (int kernel = 0; kernel < kernels; ++kernel) bytes.push_back(element(kernel, n));
      }
    }
  }
  return bytes;
}

std::string in_words(const Order& order) {
  if (order.scheme == Scheme::kOutputStationary) return "output-stationary, operands streamed";
  std::string text = fmt::format("{}, {}", variant_name(order.variant), nth(kSchemeNames, order.scheme));
  if (order.stacked_blocks > 1)
    text += fmt::format(" of {} blocks x {} cuts", order.stacked_blocks, order.stacked_cuts);
  else if (order.stacked_cuts > 1)
    text += fmt::format(", {} cuts in register groups", order.stacked_cuts);
  return text;
}

Explanation RollingLayer::explain(const JobCut& /*cut*/) const {
  const RollingSchedule all = schedule(pixels(), {0, p_.conv.out_channels});
  Explanation made;
  made.emplace_back(
      "product",
      fmt::format("{} x {} times {} x {}: {} output blocks, {} cuts of the inner dimension", all.product().m,
                  all.product().n, all.product().n, all.product().k, all.blocks(), all.cuts()));
  made.emplace_back("variant", in_words(choice_.order));
  for (const Candidate& c : choice_.candidates) {
    made.emplace_back(
        "", fmt::format("{}: {} elements, {:.0f} cycles (array {:.0f}, loads {:.0f}{}, results {:.0f})",
                        in_words(c.order), c.estimate.reads, c.estimate.clocks(), c.estimate.array,
                        c.estimate.loads, c.estimate.overlaps ? "" : " before it", c.estimate.drain));
  }
  return made;
}

std::string RollingLayer::choices() const {
  const Order& order = choice_.order;
  const bool streams = order.scheme == Scheme::kOutputStationary;
  nlohmann::ordered_json made;
  if (!streams) made["variant"] = nth(kVariantNames, order.variant);
  if (!streams) {
    made["blocking"] = nth(kSchemeNames, order.scheme);
    made["stacked_blocks"] = order.stacked_blocks, made["stacked_cuts"] = order.stacked_cuts;
  }
  made["realign"] = nth(kRealignmentNames, config_.realign);
  made["wrap"] = nth(kWrapNames, order.wrap);
  made["transposition"] = nth(kTranspositionChoiceNames, config_.transposition);
  made["stationary"] = nth(kStationaryNames, config_.stationary);
  return made.dump();
}

}  // namespace

/// The layer on the rolling-register unit (SPEC section 5): rows of A are output pixels, columns of B are
/// kernels. `workload` and `hardware` outlive it.
std::unique_ptr<MatrixLayer> make_layer(const Workload& workload, const Layer& layer,
                                        const HardwareConfig& hardware) {
  return std::make_unique<RollingLayer>(workload, layer, hardware,
                                        hardware.engine<RollingConfig>().stacked_blocks);
}

}  // namespace tilebeat::rolling
