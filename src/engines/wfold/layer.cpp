#include "base/memo.h"
#include "base/types.h"
#include "engines/wfold/choice.h"
#include "engines/wfold/operations.h"
#include "planner/language/matrix_backend.h"
#include "tilebeat/error.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <numeric>
#include <utility>

#include <fmt/format.h>

namespace tilebeat::wfold {

namespace {

bool same(const ByteRange& a, const ByteRange& b) {
  return a.begin == b.begin && a.end == b.end;
}

// Whether maps are folded on their way to NRAM (SPEC WF-5).
bool folds_on_the_way(const Problem& p, const WfoldConfig& config) {
  return p.conv.stride[1] > 1 && config.fold_place != FoldPlace::kOnChip;
}

// Bytes of a row of a tile's map in NRAM, and of its padding in front of the map's pixels.
std::int64_t row_bytes(const Problem& p, const WfoldChoice& choice, const WfoldConfig& config,
                       const Window& w) {
  if (!folds_on_the_way(p, config)) return std::int64_t{w.ins} * p.channels;
  return std::int64_t{w.outs + choice.folded_span} * p.conv.stride[1] * p.channels;
}

std::int64_t lead_bytes(const Problem& p, const Window& w) {
  return -std::int64_t{w.offset} * p.channels;
}

// A part of the channels as bytes of a folded pixel: the same fraction of it, whatever channels those bytes
// hold. All parts together are the whole pixel.
ByteRange folded_part(const Problem& p, const Interval& channels) {
  return {std::int64_t{channels.begin} * p.conv.stride[1], std::int64_t{channels.end} * p.conv.stride[1]};
}

// The bytes that blocks of kernels take in each region.
class RegionBytes {
 public:
  // All arguments outlive it.
  RegionBytes(const Problem& problem, const WfoldChoice& choice, const WfoldConfig& config)
      : p_(problem), choice_(choice), config_(config) {}

  // A whole block, with its records.
  int of(int block) const { return of(block, {0, p_.channels}, true); }
  // Channels `channels` of a block.
  int of(int block, Interval channels, bool with_records) const {
    return known_.get({block, channels.begin, channels.end, with_records ? 1 : 0}, [&] {
      WfoldGeometry g = geometry(block, channels);
      g.post_parameters = with_records && p_.has_post_parameters();
      return to_int(WfoldSchedule(choice_.shape, g).region_bytes());
    });
  }
  // A run of one column and row with these kernels.
  WfoldGeometry geometry(int block, Interval channels) const {
    const ByteRange part = channels.size() == p_.channels ? channels_of(p_, block, choice_.slave_groups)
                                                          : folded_part(p_, channels);
    return tile_geometry(p_, choice_, config_, block, 1, part);
  }

 private:
  const Problem& p_;
  const WfoldChoice& choice_;
  const WfoldConfig& config_;
  Memo<std::array<int, 4>, int> known_;
};

// Turns jobs into runs: kernel tiles that read the same channels form one run. All arguments outlive it.
class Lowering : public MatrixLowering {
 public:
  Lowering(TaskGraph& graph, const EnginePlace& place, const Problem& problem, const WfoldChoice& choice,
           const WfoldConfig& config, const RunCosts& costs, const RegionBytes& region_bytes)
      : graph_(graph),
        place_(place),
        p_(problem),
        choice_(choice),
        config_(config),
        costs_(costs),
        region_bytes_(region_bytes),
        setup_(conv_setup(problem)) {
    Task task;
    task.processor = place_.processor;
    task.instruction.operation = setup_;
    graph_.add(std::move(task));
  }

  void add(const MatrixJob& job) override {
    std::uint64_t weights = job.weights - place_.wram;
    const bool same_image = images_.same(job);
    image_is_new_ = job.image != 0 ? !same_image : image_ != 0;
    image_ = job.image;
    for (int begin = job.blocks.begin; begin < job.blocks.end;) {
      // Blocks that are smaller than a kernel tile, or have channels of their own, are stored in the regions
      // one by one.
      const bool whole_tiles = p_.block_kernels == choice_.shape.tile_kernels() && choice_.slave_groups == 1;
      int end = begin + 1;
      while (whole_tiles && end < job.blocks.end && same(touched(end), touched(begin))) ++end;
      add_run(job, {begin, end}, weights);
      for (int block = begin; block < end; ++block) weights += to_unsigned(region_bytes_.of(block));
      begin = end;
    }
  }

 private:
  ByteRange touched(int block) const { return channels_of(p_, block, choice_.slave_groups); }
  ByteRange channels_of_job(const MatrixJob& job, int block) const {
    if (job.reduction.first && job.reduction.last) return touched(block);
    return folded_part(p_, job.reduction.channels);
  }

  void add_run(const MatrixJob& job, Interval blocks, std::uint64_t weights) {
    const WfoldKernelLayout layout = kernel_layout_of(p_, config_, blocks.begin, choice_.slave_groups);
    set_kernels(layout, job);
    if (layout.bytes == KernelBytesAre::kFolded) align_kernels(job, blocks, weights);
    Task task;
    task.processor = place_.processor;
    const WfoldRun run = run_of(job, blocks, weights);
    task.instruction.operation = run;
    task.accesses = job.ifm_reads;
    if (job.weights_read) task.accesses.push_back(*job.weights_read);
    if (job.ofm_write && job.reduction.last) task.accesses.push_back(*job.ofm_write);
    task.cost = costs_.of(setup_, layout, run);
    graph_.add(std::move(task));
  }

  // Sets the place of the kernels, and their image, where it is another one than that of the run before.
  void set_kernels(const WfoldKernelLayout& layout, const MatrixJob& job) {
    if (!layout.dealt()) return;
    const bool is_same = layout_.dealt() && layout.first_in_group == layout_.first_in_group;
    if (is_same && !image_is_new_) return;
    layout_ = layout, image_is_new_ = false;
    WfoldKernels kernels;
    kernels.packed = image_ != 0;
    if (kernels.packed) set_field(kernels.image, image_ - place_.wram);
    kernels.channels = narrow(p_, layout.channels, "channels of a kernel");
    kernels.group_kernels = narrow(p_, layout.group_kernels, "kernels of a group");
    kernels.first_in_group = narrow(p_, layout.first_in_group, "kernels of a group");
    kernels.folded = !layout.own();
    set_field(kernels.slave_groups, layout.slave_groups);
    Task task;
    task.processor = place_.processor;
    task.instruction.operation = kernels;
    if (kernels.packed) {
      task.cost.cycles =
          static_cast<double>(ceil_div<std::int64_t>(job.image_front, config_.weight_port_bytes));
      if (job.weights_read) task.accesses.push_back(*job.weights_read);
    }
    graph_.add(std::move(task));
  }

  // Folds the kernels of blocks in place before the first run that uses them since they were loaded.
  void align_kernels(const MatrixJob& job, Interval blocks, std::uint64_t weights) {
    for (int block = blocks.begin; block < blocks.end;
         weights += to_unsigned(region_bytes_.of(block)), ++block) {
      if (!graph_.is_first_use(place_.processor, job.weights_read, weights)) continue;
      const ByteRange channels = channels_of_job(job, block);
      WfoldAlign align;
      set_field(align.weights, weights);
      align.kernels = narrow(p_, p_.kernels_of({block, block + 1}), "kernels");
      align.pixel_bytes = narrow(p_, p_.conv.stride[1] * p_.channels, "stride x channels");
      align.first_channel = narrow(p_, channels.begin, "channel");
      align.channels = narrow(p_, channels.end - channels.begin, "channels");
      const std::int64_t bytes = channels.end - channels.begin;
      const auto columns =
          to_signed(fold_kernel(p_.conv.kernel[1], p_.conv.stride[1], p_.conv.dilation[1]).size());
      Task task;
      task.processor = place_.processor;
      task.instruction.operation = align;
      if (job.weights_read) task.accesses.push_back(*job.weights_read);
      task.cost.cycles =
          static_cast<double>(2 * ceil_div<std::int64_t>(bytes, config_.weight_port_bytes) * columns *
                              p_.conv.kernel[0] * ceil_div<int>(align.kernels, choice_.shape.slaves));
      graph_.add(std::move(task));
    }
  }

  WfoldRun run_of(const MatrixJob& job, Interval blocks, std::uint64_t weights) const {
    const OutputTile& tile = job.tile;
    const int first = (blocks.begin - job.blocks.begin) * p_.block_kernels;
    const ByteRange channels = channels_of_job(job, blocks.begin);
    WfoldRun run;
    set_field(run.map, job.ifm.address - place_.nram);
    set_field(run.row_bytes, row_bytes(p_, choice_, config_, tile.w));
    run.lead_bytes = folds_on_the_way(p_, config_) ? 0 : static_cast<std::int32_t>(lead_bytes(p_, tile.w));
    set_field(run.weights, weights);
    run.result = static_cast<std::uint32_t>(job.ofm.address - place_.nram) +
                 static_cast<std::uint32_t>(first * p_.element_bytes());
    set_field(run.result_pixel, job.ofm.pixel_stride);
    set_field(run.macs_per_output, p_.useful_taps * (p_.channels / p_.conv.groups));
    run.rows = narrow(p_, tile.h.outs, "tile rows"), run.columns = narrow(p_, tile.w.outs, "tile columns");
    run.kernels = narrow(p_, p_.kernels_of(blocks), "kernels");
    // A tile of padding has no map, whatever its rows would take.
    run.height = tile.padding_only() ? std::uint16_t{0} : narrow(p_, tile.h.ins, "tile height");
    run.h_offset = narrow_offset(p_, tile.h.offset);
    run.pixel_bytes = narrow(p_, p_.conv.stride[1] * p_.channels, "stride x channels");
    run.first_channel = narrow(p_, channels.begin, "channel");
    run.channels = narrow(p_, channels.end - channels.begin, "channels");
    set_field(run.granularity, choice_.granularity.granularity);
    set_field(run.result_granularity,
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
  const RunCosts& costs_;
  const RegionBytes& region_bytes_;
  ConvSetup setup_;
  ImagesInTurn images_;
  std::uint64_t image_ = 0;    // of the job; 0: int8
  bool image_is_new_ = false;  // no wfold.kernels has named it
  WfoldKernelLayout layout_;   // of the runs so far
};

constexpr int kFewParts = 8;  // a core
constexpr int kFewBlocks = 2;

class WfoldLayer : public MatrixLayer {
 public:
  WfoldLayer(const Workload& workload, const Layer& layer, const HardwareConfig& hardware, int block_kernels,
             GroupsFor groups_for = GroupsFor::kEngineAndDram)
      : workload_(workload),
        layer_(layer),
        hardware_(hardware),
        config_(hardware.engine<WfoldConfig>()),
        p_(make_problem(workload, layer, hardware, block_kernels)),
        choice_(choose_wfold(p_, hardware, groups_for)),
        costs_(hardware) {}

  const Problem& problem() const override { return p_; }
  Grain grain() const override {
    const int columns = choice_.shape.tile_columns(choice_.granularity.granularity);
    const int kernels = p_.kernels_of({0, 1});
    const WfoldSchedule one(choice_.shape, tile_geometry(p_, choice_, config_, 0, columns, touched(0)));
    const std::int64_t drain = std::int64_t{columns} * ceil_div(kernels * 4, config_.line_bytes);
    Grain grain;
    grain.columns = columns;
    grain.kernels = p_.block_kernels;
    // Parts of a folded pixel begin with a channel block.
    grain.channels =
        choice_.granularity.granularity / std::gcd(choice_.granularity.granularity, p_.conv.stride[1]);
    grain.cycles = std::max({one.beats(), one.all_lines(), drain});
    grain.kernel_bytes = one.region_bytes() * config_.slaves;
    return grain;
  }
  std::int64_t ifm_row_bytes(const Window& w) const override { return row_bytes(p_, choice_, config_, w); }
  bool shares_rows() const override { return !folds_on_the_way(p_, config_); }
  MapLoad load_map(const OutputTile& tile, const TensorLayout& source,
                   std::uint64_t destination) const override {
    MapLoad load = MatrixLayer::load_map(tile, source, destination);
    if (!folds_on_the_way(p_, config_)) return load;
    Transfer& transfer = load.transfers.front();
    if (config_.fold_place == FoldPlace::kDram) {
      load.before = cleared(tile, destination);
      transfer.destination += to_unsigned(lead_bytes(p_, tile.w));
    } else {
      // The map goes to the tail of its place, from where the fold engine moves it to the head.
      const std::int64_t raw = std::int64_t{tile.w.ins} * p_.channels;
      transfer.destination += to_unsigned((transfer.shape.destination_row - raw) * transfer.shape.rows);
      transfer.shape.destination_row = raw;
      load.after = folded(tile, transfer.destination, destination);
    }
    return load;
  }
  // Post-parameters are part of folded blocks, except where kernels are a tensor.
  WeightLayout weight_layout() const override {
    const bool dealt = deals_kernels(p_, config_);
    WeightLayout layout = layout_of_blocks(p_, [&](int block) {
      return dealt ? kernel_bytes() * p_.kernels_of({block, block + 1}) : block_bytes(block);
    });
    layout.regions = config_.slaves, layout.dealt = dealt, layout.region_groups = choice_.slave_groups;
    if (dealt) layout.most_bytes = std::int64_t{region_bytes_.of(0)} * config_.slaves;
    if ((!dealt && !p_.kernel_tensor) || !p_.has_post_parameters()) return layout;
    layout.post_place = PostPlace::kInRegions;
    layout.post_bytes = std::int64_t{dealt ? p_.block_kernels : kernels_of_regions(p_, config_.slaves, 0)} *
                        kPostParameterBytes;
    layout.record_bytes = dealt ? std::int64_t{p_.conv.out_channels} * kPostParameterBytes
                                : layout.post_bytes * p_.kernel_blocks();
    return layout;
  }
  std::vector<std::uint8_t> pack_block(const Tensor& weights, int set, int block) const override {
    if (!deals_kernels(p_, config_)) return pack_regions(p_, choice_, weights, set, block);
    const auto first = weights.bytes.begin() +
                       (std::int64_t{set} * p_.conv.out_channels + block * p_.block_kernels) * kernel_bytes();
    return {first, first + kernel_bytes() * p_.kernels_of({block, block + 1})};
  }
  std::vector<std::uint8_t> pack_post_parameters() const override {
    if (!p_.has_post_parameters()) return {};
    if (deals_kernels(p_, config_)) return records_of(p_);
    return p_.kernel_tensor ? wfold::pack_post_parameters(p_, choice_) : std::vector<std::uint8_t>();
  }
  // The planner knows what DRAM really takes, and whether a map comes from there. Smaller blocks give more
  // cores work, or work sooner, unless there are many more parts of pixels and kernels than cores.
  std::vector<std::unique_ptr<MatrixLayer>> other_block_sizes() const override {
    std::vector<std::unique_ptr<MatrixLayer>> others;
    const std::int64_t pixels =
        std::int64_t{p_.out_height} *
        ceil_div(p_.out_width, choice_.shape.tile_columns(choice_.granularity.granularity));
    const int cores = hardware_.chip->cores();
    const bool few_parts = cores > 1 && pixels * p_.kernel_blocks() < std::int64_t{kFewParts} * cores;
    // Of blocks that are large for WRAM few fit at a time, and of few blocks the first one, for which
    // computing waits, is much of the kernels.
    const std::int64_t block_bytes = p_.block_kernels * kernel_bytes();
    const bool large_blocks = 4 * block_bytes > hardware_.chip->core.wram.size_bytes ||
                              (cores > 1 && p_.kernel_blocks() <= kFewBlocks);
    for (const int of_slave : {2, 1}) {
      const int kernels = config_.slaves * of_slave;
      if (kernels < p_.block_kernels && (few_parts || large_blocks))
        others.push_back(std::make_unique<WfoldLayer>(workload_, layer_, hardware_, kernels));
    }
    if (choose_wfold(p_, hardware_, GroupsFor::kEngine).slave_groups != choice_.slave_groups)
      others.push_back(
          std::make_unique<WfoldLayer>(workload_, layer_, hardware_, p_.block_kernels, GroupsFor::kEngine));
    return others;
  }
  bool reduces() const override { return p_.conv.groups == 1; }
  bool reads_images() const override { return kernel_layout_of(p_, config_, 0, choice_.slave_groups).own(); }
  Interval weights_of(int block, Interval channels) const override {
    const bool last = channels.end == p_.channels;
    if (deals_kernels(p_, config_)) return {0, region_bytes_.of(block, channels, last)};
    const ByteRange part = folded_part(p_, channels);
    const auto columns = fold_kernel(p_.conv.kernel[1], p_.conv.stride[1], p_.conv.dilation[1]).size();
    const std::int64_t kernels = ceil_div(p_.kernels_of({block, block + 1}), config_.slaves);
    const std::int64_t lines = kernels * p_.conv.kernel[0] * to_signed(columns);
    const std::int64_t records = last && p_.has_post_parameters() ? kernels * kPostParameterBytes : 0;
    return {to_int(lines * part.begin), to_int(lines * part.end + records)};
  }
  // A whole kernel is one run, and so are a slave's kernels in turn. Of a part of the channels, every tap is
  // a run, or every folded column in a row.
  std::vector<Transfer> dealt_kernels(int block, Interval channels, std::int64_t region) const override {
    const int slaves = config_.slaves, kernels = p_.kernels_of({block, block + 1});
    const std::int64_t per_group = p_.channels / p_.conv.groups, kernel = p_.taps() * per_group;
    const WfoldSchedule schedule(choice_.shape, region_bytes_.geometry(block, channels));
    // Kernels that will be folded in place lie at the tail of it.
    const auto behind = to_unsigned(schedule.in_front_of_own(schedule.tile(0)));
    std::vector<Transfer> transfers;
    if (channels.size() == p_.channels) {
      const auto add = [&](int row, int regions, int rows) {
        if (regions > 0 && rows > 0)
          transfers.push_back({to_unsigned(row * slaves * kernel),
                               behind + to_unsigned(row * kernel),
                               {kernel, regions, rows, kernel, slaves * kernel, region, kernel}});
      };
      if (choice_.slave_groups > 1) return grouped_kernels(kernels, kernel, region, behind);
      add(0, slaves, kernels / slaves);
      add(kernels / slaves, kernels % slaves, 1);
      return transfers;
    }
    const std::vector<StoredColumn> columns = schedule.stored_columns();
    const std::int64_t row = schedule.own_kernel_bytes() / p_.conv.kernel[0];
    const bool alike = p_.conv.stride[1] == 1;  // every tap has the same channels
    for (int k = 0; k * slaves < kernels; ++k) {
      const int regions = std::min(slaves, kernels - k * slaves);
      const auto add = [&](const StoredColumn& column, std::int64_t runs, std::int64_t from,
                           std::int64_t to) {
        transfers.push_back({to_unsigned(k * slaves * kernel + column.source),
                             behind + to_unsigned(k * schedule.own_kernel_bytes() + column.at),
                             {column.count, runs, regions, from, kernel, to, region}});
      };
      if (alike) {
        add(columns.front(), p_.taps(), per_group, columns.front().count);
        continue;
      }
      for (const StoredColumn& column : columns)
        add(column, p_.conv.kernel[0], p_.conv.kernel[1] * per_group, row);
    }
    return transfers;
  }
  // Order of the parts: lines of `granularity` channels; channel blocks, in each the kernels of a slave.
  std::vector<KernelPart> kernel_parts(int block, Interval channels) const override {
    const int granularity = choice_.granularity.granularity, slaves = config_.slaves;
    const MemoryConfig& wram = hardware_.chip->core.wram;
    const std::int64_t region = wram.size_bytes / wram.banks;
    const int kernels = p_.kernels_of({block, block + 1}), of_slave = ceil_div(kernels, slaves);
    const int whole = channels.size() / granularity * granularity, rest = channels.size() - whole;
    const std::int64_t blocks = std::int64_t{granularity} * of_slave;
    std::vector<KernelPart> parts;
    for (int k = 0; k < of_slave; ++k) {
      const int first = block * p_.block_kernels + k * slaves;
      const Interval dealt{first, first + std::min(slaves, kernels - k * slaves)};
      if (whole > 0)
        parts.push_back({dealt,
                         {channels.begin, channels.begin + whole},
                         granularity,
                         std::int64_t{k} * granularity,
                         region,
                         blocks,
                         1});
      if (rest > 0)
        parts.push_back({dealt,
                         {channels.begin + whole, channels.end},
                         rest,
                         std::int64_t{whole} * of_slave + std::int64_t{k} * rest,
                         region,
                         1,
                         1});
    }
    return parts;
  }
  std::unique_ptr<MatrixLowering> lower(TaskGraph& graph, const EnginePlace& place,
                                        const JobCut& /*cut*/) const override {
    return std::make_unique<Lowering>(graph, place, p_, choice_, config_, costs_, region_bytes_);
  }
  Explanation explain(const JobCut& /*cut*/) const override { return wfold::explain(choice_, p_, hardware_); }

 private:
  std::int64_t kernel_bytes() const { return std::int64_t{p_.taps()} * (p_.channels / p_.conv.groups); }
  ByteRange touched(int block) const { return channels_of(p_, block, choice_.slave_groups); }
  // Each group of slaves has neighbouring kernels, which are dealt to its regions.
  std::vector<Transfer> grouped_kernels(int kernels, std::int64_t kernel, std::int64_t region,
                                        std::uint64_t behind) const {
    const int groups = choice_.slave_groups, slaves = config_.slaves / groups;
    std::vector<Transfer> transfers;
    for (int group = 0; group < groups; ++group) {
      transfers.push_back(
          {to_unsigned(group * (kernels / groups) * kernel),
           behind + to_unsigned(group * slaves * region),
           {kernel, slaves, kernels / config_.slaves, kernel, slaves * kernel, region, kernel}});
    }
    return transfers;
  }
  std::int64_t block_bytes(int block) const {
    if (p_.kernel_tensor) return std::int64_t{weights_of(block, {0, p_.channels}).size()} * config_.slaves;
    return packed_bytes(p_, config_, block);
  }

  // The copy that sets the place of a map to the zero point (SPEC WF-5).
  Copy cleared(const OutputTile& tile, std::uint64_t head) const {
    Copy clear;
    clear.unit = Unit::kFold;
    clear.source = clear.destination = head;
    set_field(clear.run_bytes, ifm_row_bytes(tile.w) * tile.h.ins);
    clear.outer_count = 0, clear.pad_top = 1;
    set_field(clear.fill, p_.input.zero_point);
    return clear;
  }
  // The copy that moves a map from the tail of its place to the head, with its padding.
  Copy folded(const OutputTile& tile, std::uint64_t tail, std::uint64_t head) const {
    const std::int64_t row = ifm_row_bytes(tile.w), raw = std::int64_t{tile.w.ins} * p_.channels;
    const std::int64_t lead = lead_bytes(p_, tile.w);
    Copy fold;
    fold.unit = Unit::kFold;
    fold.source = tail, fold.destination = head;
    // A row is one run of the map between runs of padding: pixels of padding are whole runs of a pixel.
    set_field(fold.run_bytes, p_.channels);
    fold.inner_count = narrow(p_, tile.w.ins, "tile width");
    fold.source_inner_stride = fold.run_bytes;
    set_field(fold.source_outer_stride, raw);
    fold.outer_count = narrow(p_, tile.h.ins, "tile height");
    fold.destination_inner_stride = fold.run_bytes;
    set_field(fold.destination_outer_stride, row);
    const std::int64_t left = lead / p_.channels, right = (row - raw - lead) / p_.channels;
    if (left > UINT8_MAX || right > UINT8_MAX)
      throw UserError(
          fmt::format("layer '{}' cannot fit: wfold.fold_place in_place adds at most {} columns of "
                      "padding, it has {}",
                      p_.name, UINT8_MAX, std::max(left, right)));
    set_field(fold.pad_left, left), set_field(fold.pad_right, right);
    set_field(fold.fill, p_.input.zero_point);
    return fold;
  }

  const Workload& workload_;
  const Layer& layer_;
  const HardwareConfig& hardware_;
  const WfoldConfig& config_;
  Problem p_;
  WfoldChoice choice_;
  RunCosts costs_;
  RegionBytes region_bytes_{p_, choice_, config_};
};

}  // namespace

/// The layer on the W-fold engine (SPEC section 4). `workload` and `hardware` outlive it.
std::unique_ptr<MatrixLayer> make_layer(const Workload& workload, const Layer& layer,
                                        const HardwareConfig& hardware) {
  return std::make_unique<WfoldLayer>(workload, layer, hardware,
                                      fitting_block_kernels(workload, layer, hardware));
}

}  // namespace tilebeat::wfold
