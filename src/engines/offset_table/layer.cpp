#include "base/memo.h"
#include "base/types.h"
#include "engines/offset_table/config.h"
#include "engines/offset_table/operations.h"
#include "engines/offset_table/pipeline.h"
#include "engines/offset_table/schedule.h"
#include "engines/offset_table/table_file.h"
#include "engines/offset_table/tables.h"
#include "planner/language/matrix_backend.h"
#include "tilebeat/error.h"

#include <algorithm>
#include <map>
#include <memory>
#include <tuple>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace tilebeat::offset_table {

namespace {

// The operands of products are matrices, whose elements of a row are neighbours.
MapLayout layout_of(const Problem& p, const OffsetConfig& config) {
  return p.conv.pixels == PixelAxes::kMap ? config.layout : MapLayout::kNhwc;
}

// The bank shift for the first threads of a map, which are as far apart as any others.
std::uint8_t bank_shift(const TableShape& shape, int elements, const OffsetConfig& config) {
  std::vector<std::int64_t> places;
  const Pixel first = shape.pixel(0);
  for (std::int64_t thread = 0; thread < std::min<std::int64_t>(config.rows, shape.threads()); ++thread) {
    const Pixel p = shape.pixel(thread);
    if (p.image != first.image) break;
    places.push_back(shape.element(0, 0, p.row * shape.stride_h, p.column * shape.stride_w));
  }
  return static_cast<std::uint8_t>(best_bank_shift(config.cache, places, elements));
}

// Cache of estimated run cycles, by everything that they depend on.
using CostKey = std::tuple<int, int, int, int, int, int, int, int, int>;
using Costs = Memo<CostKey, RunCost>;

ImageLayout layout_of_image(const TableShape& shape) {
  return image_layout(shape.masks(), shape.kernel_h, shape.kernel_w,
                      std::int64_t{shape.ragged() ? shape.groups : 1} * shape.segments() * shape.taps(),
                      shape.groups, shape.threads());
}

void check_tables_fit(const Problem& p, const ImageLayout& image, const TableShape& shape,
                      const OffsetConfig& config) {
  const std::int64_t groups = ceil_div<std::int64_t>(shape.threads(), config.rows);
  if (parts_of_image(image, config.table_bytes, shape.taps(), config.rows, groups).fits()) return;
  throw UserError(
      fmt::format("layer '{}' cannot fit: half of the table cache holds no part of tables of {} bytes, "
                  "offset.table_bytes is {}",
                  p.name, image.end, config.table_bytes));
}

class Lowering : public MatrixLowering {
 public:
  Lowering(TaskGraph& graph, const EnginePlace& place, const Problem& problem, const OffsetSetup& setup,
           const TableShape& whole, const HardwareConfig& hardware, const Costs& costs)
      : graph_(graph),
        place_(place),
        p_(problem),
        hardware_(hardware),
        config_(hardware.engine<OffsetConfig>()),
        setup_(setup),
        whole_(whole),
        conv_(conv_setup(problem)),
        costs_(costs) {
    add(conv_, {}, {});
    add(setup_, {}, {});
  }

  void add(const MatrixJob& job) override {
    const TableLoad loads = set_map(job);
    const AccessList accesses = job.accesses();
    OffsetRun run = run_of(job);
    const int kernels = p_.kernels_of(job.blocks);
    const int most = conv_.post_parameters && job.reduction.last ? config_.record_kernels : kernels;
    const TableShape shape = shape_of(conv_, setup_, *map_);
    for (int first = 0; first < kernels; first += most) {
      run.kernels = narrow(p_, std::min(most, kernels - first), "kernels");
      run.first_kernel = narrow(p_, job.blocks.begin * p_.block_kernels + first, "kernels");
      run.post = job.post == 0 ? 0 : job.post + to_unsigned(first) * kPostParameterBytes;
      run.result = job.ofm.address + to_unsigned(first * p_.element_bytes());
      TaskCost cost = cost_of_run(shape, run);
      if (first == 0) cost.cycles += loads.cycles, cost.dram_bytes = loads.bytes;
      if (run.image != 0 && !run.same_image)
        cost.cycles += static_cast<double>(ceil_div<std::int64_t>(job.image_front, config_.port_bytes));
      const OffsetSchedule schedule(shape, setup_, run);
      if (config_.addresses == Addresses::kTables)
        read_tables(shape, schedule, first == 0 && loads.bytes > 0, cost);
      cost.beats = beats_of(schedule, shape.threads());
      add(run, accesses, cost);
      run.weights += to_unsigned(schedule.weight_bytes());
      run.same_map = true, run.same_image = run.image != 0;
    }
  }

 private:
  static constexpr double kFill = 16;        // cycles of the first lines and kernels, about
  static constexpr double kTableTrip = 200;  // cycles from a request of tables to their first bytes, about
  static constexpr double kTableBytes = 6;   // bytes of tables that arrive in a cycle, roughly

  std::int64_t beats_of(const OffsetSchedule& schedule, std::int64_t threads) const {
    std::int64_t of_group = 0;  // beats of a group of threads
    for (const Slice& slice : schedule.slices()) of_group += ssize(schedule.beats(slice.group));
    return of_group * ceil_div<std::int64_t>(threads, config_.rows);
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

  // Estimated cycles and bytes of loading tables.
  struct TableLoad {
    double cycles = 0, bytes = 0;
  };
  // Adds a setup of the map when it differs from the previous one.
  TableLoad set_map(const MatrixJob& job) {
    const OutputTile& tile = job.tile;
    OffsetMap map;
    map.rows = narrow(p_, tile.h.outs, "tile rows"), map.columns = narrow(p_, tile.w.outs, "tile columns");
    map.height = tile.padding_only() ? std::uint16_t{0} : narrow(p_, tile.h.ins, "tile height");
    map.width = narrow(p_, tile.w.ins, "tile width");
    map.h_offset = narrow_offset(p_, tile.h.offset), map.w_offset = narrow_offset(p_, tile.w.offset);
    if (map_ && same_shape(*map_, map)) return {};
    TableLoad load;
    if (config_.addresses == Addresses::kTables) {
      const TableShape shape = shape_of(conv_, setup_, map);
      map.tables = graph_.constant([&] {
        return image_of(config_.library ? config_.library->tables_of(p_.name, whole_, shape)
                                        : compile_tables(shape));
      });
      const ImageLayout image = layout_of_image(shape);
      check_tables_fit(p_, image, shape, config_);
      load.bytes = static_cast<double>(std::min<std::int64_t>(image.end, config_.table_bytes));
      load.cycles = kTableTrip + load.bytes / kTableBytes;
    }
    map_ = map;
    add(map, {}, {});
    return load;
  }
  // Notes which bytes of its tables a run reads: all of them once, or, where the table cache does not hold
  // them, in parts for each run.
  void read_tables(const TableShape& shape, const OffsetSchedule& schedule, bool fresh,
                   TaskCost& cost) const {
    const ImageLayout image = layout_of_image(shape);
    const std::int64_t groups = ceil_div<std::int64_t>(shape.threads(), config_.rows);
    const TableParts parts = parts_of_image(image, config_.table_bytes, shape.taps(), config_.rows, groups);
    if (parts.all) {
      if (fresh) cost.table_bytes = image.end, cost.table = map_->tables;
      return;
    }
    std::int64_t offsets = image.taps;
    if (!parts.offsets_held) {
      offsets = 0;
      for (const Slice& slice : schedule.slices()) {
        const std::vector<Beat>& beats = schedule.beats(slice.group);
        offsets += groups * (beats.back().entry - beats.front().entry + 1) * kEntryBytes;
      }
    }
    cost.table_bytes = offsets + image.end - image.taps;
  }
  static bool same_shape(const OffsetMap& a, const OffsetMap& b) {
    const auto all = [](const OffsetMap& m) {
      return std::tie(m.rows, m.columns, m.height, m.width, m.h_offset, m.w_offset);
    };
    return all(a) == all(b);
  }

  OffsetRun run_of(const MatrixJob& job) {
    const bool all = job.reduction.first && job.reduction.last;
    OffsetRun run;
    run.map = job.ifm.address, run.weights = job.weights, run.image = job.image;
    run.same_image = images_.same(job);
    set_field(run.result_pixel, job.ofm.pixel_stride);
    run.first_channel = narrow(p_, all ? 0 : job.reduction.channels.begin, "channel");
    run.channels = narrow(p_, all ? p_.channels / p_.conv.groups : job.reduction.channels.size(), "channels");
    run.first = job.reduction.first, run.last = job.reduction.last;
    std::optional<Access> read;
    if (!job.ifm_reads.empty()) read = job.ifm_reads.back();
    run.same_map = read_ && read && read_->buffer == read->buffer && read_->version == read->version &&
                   read_from_ == run.map;
    read_ = read, read_from_ = run.map;
    return run;
  }

  TaskCost cost_of_run(const TableShape& shape, const OffsetRun& run) {
    const CostKey key{map_->rows,  map_->columns,  map_->height,
                      map_->width, map_->h_offset, map_->w_offset,
                      run.kernels, run.channels,   run.first_kernel % setup_.group_kernels};
    const RunCost& known = costs_.get(key, [&] {
      return cost_of(config_, port_times(config_, hardware_.chip->core.nram, hardware_.chip->core.wram),
                     shape, setup_, run, p_.element_bytes());
    });
    TaskCost cost;
    cost.cycles = kFill + known.cycles;
    cost.latency = known.drain + kFill;
    return cost;
  }

  TaskGraph& graph_;
  EnginePlace place_;
  const Problem& p_;
  const HardwareConfig& hardware_;
  const OffsetConfig& config_;
  OffsetSetup setup_;
  TableShape whole_;
  ConvSetup conv_;
  const Costs& costs_;
  std::optional<OffsetMap> map_;
  ImagesInTurn images_;
  std::optional<Access> read_;  // the previous job's access to the last rows of its map
  std::uint64_t read_from_ = 0;
};

class OffsetLayer : public MatrixLayer {
 public:
  OffsetLayer(const Workload& workload, const Layer& layer, const HardwareConfig& hardware)
      : hardware_(hardware),
        config_(hardware.engine<OffsetConfig>()),
        p_(make_problem(workload, layer, hardware, config_.columns)) {
    lay_out(layout_of(p_, config_), setup_, shape_);
  }

  const Problem& problem() const override { return p_; }
  Grain grain() const override {
    Grain grain;
    const bool blocks = setup_.order == ThreadOrder::kBlock;
    grain.columns = std::min({config_.rows, p_.out_width, blocks ? kThreadBlock : config_.rows});
    grain.rows = std::min(std::max(1, config_.rows / grain.columns), p_.out_height);
    grain.kernels = p_.block_kernels;
    grain.channels = setup_.part;
    for (int block = 0; block < p_.kernel_blocks(); ++block) {
      const OffsetSchedule one = schedule({block, block + 1});
      std::int64_t cycles = 0;
      for (const Slice& slice : one.slices())
        cycles +=
            std::max<std::int64_t>(ssize(one.beats(slice.group)), std::int64_t{grain.rows} * grain.columns);
      grain.cycles = std::max(grain.cycles, cycles);
      grain.kernel_bytes = std::max(grain.kernel_bytes, one.weight_bytes());
      if (p_.conv.groups == 1) break;
    }
    grain.kernel_bytes += std::int64_t{p_.block_kernels} * kPostParameterBytes;
    return grain;
  }
  WeightLayout weight_layout() const override {
    const auto bytes_of = [this](int block) { return schedule({block, block + 1}).weight_bytes(); };
    return layout_with_records(p_, bytes_of);
  }
  std::vector<std::uint8_t> pack_block(const Tensor& weights, int set, int block) const override;
  bool reduces() const override { return p_.conv.groups == 1; }
  bool reads_images() const override { return true; }
  Interval weights_of(int block, Interval channels) const override {
    const OffsetSchedule one = schedule({block, block + 1});
    const auto bytes = [&](int before) {
      const std::vector<Beat>& beats = one.beats(one.slices().front().group);
      const auto end =
          std::find_if(beats.begin(), beats.end(), [&](const Beat& b) { return b.channel >= before; });
      return (end == beats.end() ? elements_of(beats) : end->before) * p_.kernels_of({block, block + 1});
    };
    return {bytes(channels.begin), bytes(channels.end)};
  }
  // Parts of a product's kernels, whose channels are neighbours: beat after beat, with all kernels in each.
  std::vector<KernelPart> kernel_parts(int block, Interval channels) const override {
    const int step = setup_.vector, first = block * p_.block_kernels;
    const int count = p_.kernels_of({block, block + 1});
    const Interval kernels{first, first + count};
    const int whole = channels.size() / step * step, rest = channels.size() - whole;
    std::vector<KernelPart> parts;
    if (whole > 0)
      parts.push_back(
          {kernels, {channels.begin, channels.begin + whole}, step, 0, step, std::int64_t{step} * count, 1});
    if (rest > 0)
      parts.push_back(
          {kernels, {channels.begin + whole, channels.end}, rest, std::int64_t{whole} * count, rest, 0, 1});
    return parts;
  }
  std::int64_t ifm_row_bytes(const Window& w) const override {
    return std::int64_t{w.ins} * align_up<int>(p_.channels, setup_.block);
  }
  bool shares_rows() const override { return setup_.layout == MapLayout::kNhwc; }
  MapLoad load_map(const OutputTile& tile, const TensorLayout& source,
                   std::uint64_t destination) const override;
  std::unique_ptr<MatrixLowering> lower(TaskGraph& graph, const EnginePlace& place,
                                        const JobCut& /*cut*/) const override {
    return std::make_unique<Lowering>(graph, place, p_, setup_, shape_, hardware_, costs_);
  }
  Explanation explain(const JobCut& cut) const override;
  Explanation facts() const override;
  std::string choices() const override {
    nlohmann::ordered_json made;
    made["layout"] = nth(kMapLayoutNames, config_.layout);
    made["block_channels"] = config_.block_channels;
    made["thread_order"] = nth(kThreadOrderNames, config_.thread_order);
    return made.dump();
  }

 private:
  // Describes the layer with its map in layout `layout`.
  void lay_out(MapLayout layout, OffsetSetup& setup, TableShape& shape) const {
    setup.layout = layout, setup.order = config_.thread_order;
    setup.block = layout == MapLayout::kNchwc ? narrow(p_, config_.block_channels, "channels of a block")
                                              : std::uint16_t{1};
    setup.channels = narrow(p_, p_.channels, "channels");
    setup.groups = narrow(p_, p_.conv.groups, "groups");
    setup.group_kernels = narrow(p_, p_.conv.out_channels / p_.conv.groups, "kernels of a group");
    setup.block_kernels = narrow(p_, p_.block_kernels, "kernels of a block");
    set_field(setup.useful_taps, p_.useful_taps);
    shape = shape_of(conv_setup(p_), setup, OffsetMap{});
    shape.images = p_.batch, shape.height = p_.height, shape.width = p_.width;
    shape.out_height = p_.out_height, shape.out_width = p_.out_width;
    shape.pad_h = p_.conv.pads[0], shape.pad_w = p_.conv.pads[1];
    set_field(setup.vector, elements_of_beat(shape, config_.vector));
    // A part has as many channels as a cache line.
    const int part = layout == MapLayout::kNhwc
                         ? std::max<int>(setup.vector, config_.cache.line_bytes / setup.vector * setup.vector)
                         : shape.segment();
    setup.part = narrow(p_, part, "channels of a part");
    setup.bank_shift = bank_shift(shape, setup.vector, config_);
  }
  OffsetRun run_of(Interval blocks) const {
    OffsetRun run;
    run.first_kernel = narrow(p_, blocks.begin * p_.block_kernels, "kernels");
    run.kernels = narrow(p_, p_.kernels_of(blocks), "kernels");
    run.channels = narrow(p_, p_.channels / p_.conv.groups, "channels of a group");
    return run;
  }
  OffsetSchedule schedule(Interval blocks) const { return OffsetSchedule(shape_, setup_, run_of(blocks)); }
  std::string costs_of_layouts() const;

  const HardwareConfig& hardware_;
  const OffsetConfig& config_;
  Problem p_;
  OffsetSetup setup_;
  TableShape shape_;  // shape of the whole layer
  Costs costs_;
};

// Order of the bytes: slices, beats of a slice, kernels of a beat, elements of a kernel (OffsetRun).
std::vector<std::uint8_t> OffsetLayer::pack_block(const Tensor& weights, int set, int block) const {
  const int channels = p_.channels / p_.conv.groups, taps = p_.taps();
  const OffsetSchedule one = schedule({block, block + 1});
  std::vector<std::uint8_t> bytes;
  bytes.reserve(to_size(one.weight_bytes()));
  for (const Slice& slice : one.slices()) {
    for (const Beat& beat : one.beats(slice.group)) {
      const int tap = beat.row * p_.conv.kernel[1] + beat.column;
      for (int k = slice.first; k < slice.first + slice.count; ++k) {
        const std::int64_t kernel =
            std::int64_t{set} * p_.conv.out_channels + std::int64_t{block} * p_.block_kernels + k;
        const std::int64_t from = (kernel * taps + tap) * channels + beat.channel;
        const auto first = weights.bytes.begin() + from;
        bytes.insert(bytes.end(), first, first + beat.count);
      }
    }
  }
  return bytes;
}

// DRAM holds pixels with all of their channels, one after the other: they are read in that order, and every
// element or block of channels is written to its place.
MapLoad OffsetLayer::load_map(const OutputTile& tile, const TensorLayout& source,
                              std::uint64_t destination) const {
  if (setup_.layout == MapLayout::kNhwc || source.channel_stride != 1)
    return MatrixLayer::load_map(tile, source, destination);
  const std::int64_t block = setup_.block, pixels = std::int64_t{tile.h.ins} * tile.w.ins;
  const bool one_run = source.row_stride == tile.w.ins * source.pixel_stride;
  const std::int64_t whole = p_.channels / block, rest = p_.channels % block;
  MapLoad load;
  for (int row = 0; row < (one_run ? 1 : tile.h.ins); ++row) {
    Transfer transfer;
    transfer.source = source.at(tile.image, tile.h.in + row, tile.w.in);
    transfer.destination = destination + to_unsigned(row * tile.w.ins * block);
    CopyShape& shape = transfer.shape;
    shape.run = block, shape.columns = whole;
    shape.source_column = block, shape.destination_column = pixels * block;
    shape.rows = one_run ? pixels : tile.w.ins;
    shape.source_row = source.pixel_stride, shape.destination_row = block;
    if (whole > 0) load.transfers.push_back(transfer);
    if (rest == 0) continue;
    transfer.source += to_unsigned(whole * block);
    transfer.destination += to_unsigned(whole * pixels * block);
    shape.run = rest, shape.columns = 1, shape.source_column = shape.destination_column = 0;
    load.transfers.push_back(transfer);
  }
  return load;
}

Explanation OffsetLayer::explain(const JobCut& /*cut*/) const {
  return {{"layout", fmt::format("{}, {} of {} elements a thread and beat, threads {}",
                                 nth(kMapLayoutNames, setup_.layout), setup_.vector, config_.vector,
                                 nth(kThreadOrderNames, setup_.order))}};
}

Explanation OffsetLayer::facts() const {
  const Tables tables = compile_tables(shape_);
  const Alternatives others = alternatives_of(shape_);
  Explanation made{
      {"tables", fmt::format("{} bytes ({} by k), masks {}; im2col {}, pointers {}", tables.table_bytes(),
                             tables.bytes_by_k(), tables.mask_bytes(), others.im2col, others.pointers)}};
  if (p_.conv.pixels == PixelAxes::kMap) made.emplace_back("layouts", costs_of_layouts());
  return made;
}

// Estimated cycles of the layer in each map layout, on one core that computes all of it: those of the lanes,
// and those of NRAM's port while the map is written. The port writes one run a cycle, of at most
// `bytes_per_clock` bytes that are contiguous both there and in DRAM. The maps in DRAM and the order of work
// stay as they are.
std::string OffsetLayer::costs_of_layouts() const {
  const std::int64_t port = hardware_.chip->core.bus.bytes_per_clock;
  const std::int64_t pixels = std::int64_t{p_.batch} * p_.height * p_.width;
  const PlannerConfig& planner = hardware_.planner;
  const auto together = [&](MapLayout layout, int block) {
    return layout == MapLayout::kNhwc ? p_.channels : layout == MapLayout::kNchwc ? block : 1;
  };
  std::string text;
  for (std::size_t i = 0; i < kMapLayoutNames.size(); ++i) {
    OffsetSetup setup;
    TableShape shape;
    lay_out(static_cast<MapLayout>(i), setup, shape);
    const RunCost lanes =
        cost_of(config_, port_times(config_, hardware_.chip->core.nram, hardware_.chip->core.wram), shape,
                setup, run_of({0, p_.kernel_blocks()}), p_.element_bytes());
    const std::int64_t same = ceil_div(pixels * p_.channels, port);
    const std::int64_t run = std::min({p_.channels, together(setup.layout, setup.block),
                                       together(planner.map_layout, planner.map_block_channels)});
    const bool is_same = setup.layout == planner.map_layout &&
                         (setup.layout != MapLayout::kNchwc || setup.block == planner.map_block_channels);
    const std::int64_t now =
        is_same ? same : pixels * ceil_div<std::int64_t>(p_.channels, run) * ceil_div(run, port);
    text += fmt::format("{}{} {:.0f} + {} ({})", text.empty() ? "" : ", ", kMapLayoutNames[i], lanes.cycles,
                        now, same);
  }
  return fmt::format("{} cycles of the lanes + of writing the map from DRAM in {} (in the same order)", text,
                     nth(kMapLayoutNames, planner.map_layout));
}

}  // namespace

/// A layer on the offset-table engine. `workload` and `hardware` outlive it.
std::unique_ptr<MatrixLayer> make_layer(const Workload& workload, const Layer& layer,
                                        const HardwareConfig& hardware) {
  return std::make_unique<OffsetLayer>(workload, layer, hardware);
}

}  // namespace tilebeat::offset_table
