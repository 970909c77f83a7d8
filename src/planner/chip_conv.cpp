#include "tilebeat/base/error.h"
#include "tilebeat/base/math.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "chip_plan.h"

namespace tilebeat {
namespace {

constexpr int kTiles = 4;  // of a core's part at least, where it has so many rows

// How a layer's outputs are spread over cores.
struct Split {
  int rows = 1, columns = 1, channels = 1;
  int cores() const { return rows * columns * channels; }
};

// Outputs of one tile of a core's part.
struct NramTile {
  int image = 0;
  Window h, w;
};

std::int64_t aligned(std::int64_t bytes) {
  return align_up(bytes, kBufferAlignment);
}

class ChipConv {
 public:
  ChipConv(PlanBuilder& builder, const Layer& layer, LayerPlan& made)
      : builder_(builder),
        hardware_(builder.hardware),
        chip_(*hardware_.chip),
        array_(array_shape(hardware_.switch_array)),
        p_(make_problem(builder.workload, layer, hardware_.planner, array_)),
        layer_(layer),
        made_(made),
        element_(dtype_size(p_.output.dtype)) {
    made.macs = useful_macs(builder.workload, layer);
    made.bound = bound_of(p_, layer, made.macs, hardware_);
  }

  ChipWork run() {
    const Split split = choose_split();
    choose_tile(split);
    made_.tiling = choose_tiling(tile_problem({0, inner_h(tile_rows_), inner_w(tile_columns_)}), hardware_,
                                 core_path(), made_.reason);
    kernels_ = place_kernels(builder_, p_, made_.tiling);
    choose_group(split);
    choose_path(split);
    describe(split);
    ChipWork work;
    for (int core = 0; core < split.cores(); ++core) work.cores.push_back(core_work(split, core));
    for (int cluster = 0; through_sram_ && cluster < chip_.clusters; ++cluster)
      work.memory.push_back(memory_work(split, cluster));
    made_.output_bytes = p_.output.size_bytes();
    return work;
  }

 private:
  Window window_h(Interval outs) const {
    return window_of(outs, p_.height, p_.conv.kernel[0], p_.conv.stride[0], p_.conv.dilation[0],
                     p_.conv.pads[0]);
  }
  Window window_w(Interval outs) const {
    return window_of(outs, p_.width, p_.conv.kernel[1], p_.conv.stride[1], p_.conv.dilation[1],
                     p_.conv.pads[1]);
  }
  MemoryPath core_path() const {
    const int bus = chip_.core.bus.bytes_per_clock;
    return {bus, static_cast<double>(bus), 1, chip_.core.bus.request_cycles};
  }
  double all_dram() const { return dram_bytes_per_clock(hardware_) * chip_.memory_controllers; }
  // What a core gets of DRAM when `cores` share it.
  double core_dram(int cores) const {
    return std::min<double>(hardware_.interconnect.bytes_per_clock, all_dram() / cores);
  }
  std::int64_t beats_of(int rows, int columns, int blocks) const {
    return std::int64_t{p_.batch} * ceil_div(rows, array_.groups) * ceil_div(columns, array_.lanes()) *
           blocks * widest() * p_.taps();
  }
  int widest() const {
    int most = 0;
    for (int kb = 0; kb < p_.end_block; ++kb) most = std::max(most, planes_of(p_, array_, kb).size());
    return most;
  }
  int part_size(int extent, int parts, int granule) const {
    return std::min(extent, static_cast<int>(ceil_div(ceil_div(extent, granule), parts)) * granule);
  }

  // A guide for choosing, never a result. The first tile is computed as its kernels arrive, the others behind
  // it; all of it is no faster than DRAM or a port. `shared`: a cluster fetches kernels once, through one
  // port.
  double cost(const Split& split, bool shared, std::int64_t& bytes) const {
    const int rows = part_size(p_.out_height, split.rows, array_.groups);
    const int columns = part_size(p_.out_width, split.columns, array_.lanes());
    const int blocks = part_size(p_.end_block, split.channels, 1);
    const int cores = split.cores();
    const std::int64_t map =
        std::int64_t{p_.batch} * window_h({0, rows}).ins * window_w({0, columns}).ins * p_.channels;
    const std::int64_t kernels =
        std::int64_t{blocks} * widest() * p_.taps() * array_.columns * array_.port_channels;
    const std::int64_t results = p_.output.size_bytes() / cores;
    const auto clusters = static_cast<int>(ceil_div(cores, chip_.cores_per_cluster));
    const int in_cluster = std::min(split.channels, chip_.cores_per_cluster);
    bytes = (map + results) * cores + kernels * (shared ? std::min(cores, clusters * in_cluster) : cores);
    const double port = hardware_.interconnect.bytes_per_clock;
    const double kernel_clocks = static_cast<double>(shared ? kernels * in_cluster : kernels) / port;
    const double map_clocks = static_cast<double>(shared ? map + results : map + results + kernels) / port;
    const auto compute = static_cast<double>(beats_of(rows, columns, blocks));
    const double tiles = std::min<double>(kTiles, static_cast<double>(ceil_div(rows, array_.groups)));
    const double pipelined = std::max(compute / tiles, kernel_clocks) + compute * (tiles - 1) / tiles;
    return std::max({pipelined, map_clocks, static_cast<double>(bytes) / all_dram()});
  }
  bool can_share(const Split& split) const {
    const int blocks = part_size(p_.end_block, split.channels, 1);
    return memory_cores_work(chip_) &&
           std::int64_t{blocks} * widest() * p_.taps() * array_.columns * array_.port_channels <=
               chip_.core.wram.size_bytes;
  }

  // Of splits that are expected to take about the same time the one with the fewest cores, then the fewest
  // bytes: more masters on a saturated DRAM only disturb one another's rows.
  Split choose_split() const {
    struct Candidate {
      Split split;
      double clocks;
      std::int64_t bytes;
    };
    std::vector<Candidate> candidates;
    double least = std::numeric_limits<double>::max();
    const int cores = chip_.cores();
    for (int channels = 1; channels <= std::min(cores, p_.end_block); ++channels) {
      for (int rows = 1;
           rows <= std::min<int>(cores / channels, static_cast<int>(ceil_div(p_.out_height, array_.groups)));
           ++rows) {
        const int most =
            std::min<int>(cores / channels / rows, static_cast<int>(ceil_div(p_.out_width, array_.lanes())));
        for (int columns = 1; columns <= most; ++columns) {
          const Split split{rows, columns, channels};
          for (const bool shared : {false, true}) {
            if (shared && !can_share(split)) continue;
            std::int64_t bytes = 0;
            const double clocks = cost(split, shared, bytes);
            candidates.push_back({split, clocks, bytes});
            least = std::min(least, clocks);
          }
        }
      }
    }
    constexpr double kSameTime = 1.03;
    const auto better = [&](const Candidate& a, const Candidate& b) {
      const bool fast_a = a.clocks <= kSameTime * least, fast_b = b.clocks <= kSameTime * least;
      if (fast_a != fast_b) return fast_a;
      return std::pair(a.split.cores(), a.bytes) < std::pair(b.split.cores(), b.bytes);
    };
    return std::min_element(candidates.begin(), candidates.end(), better)->split;
  }

  // The inputs of so many outputs away from the map's edges.
  Window inner_h(int rows) const {
    const int ins = (rows - 1) * p_.conv.stride[0] + (p_.conv.kernel[0] - 1) * p_.conv.dilation[0] + 1;
    return {0, rows, 0, std::min(ins, p_.height), 0};
  }
  Window inner_w(int columns) const {
    const int ins = (columns - 1) * p_.conv.stride[1] + (p_.conv.kernel[1] - 1) * p_.conv.dilation[1] + 1;
    return {0, columns, 0, std::min(ins, p_.width), 0};
  }
  std::int64_t map_bytes(int rows, int columns) const {
    return aligned(std::int64_t{inner_h(rows).ins} * inner_w(columns).ins * p_.channels);
  }
  std::int64_t result_bytes(int rows, int columns, int blocks) const {
    return aligned(std::int64_t{rows} * columns * std::min(blocks * array_.columns, p_.conv.out_channels) *
                   element_);
  }

  // Tiles of whole rows as large as two of them, with their results, fit NRAM, but at least four a part, so
  // that loading, computing and storing overlap; columns are cut when the fewest rows do not fit (SPEC SW-7).
  void choose_tile(const Split& split) {
    const int rows = part_size(p_.out_height, split.rows, array_.groups);
    const int columns = part_size(p_.out_width, split.columns, array_.lanes());
    const int blocks = part_size(p_.end_block, split.channels, 1);
    const auto fits = [&](int r, int c) {
      return map_buffers_ * map_bytes(r, c) + 2 * result_bytes(r, c, blocks) <= chip_.core.nram.size_bytes;
    };
    if (!fits(std::min(rows, array_.groups), std::min(columns, array_.lanes()))) map_buffers_ = 1;
    tile_columns_ = columns;
    tile_rows_ = part_size(rows, std::min<int>(kTiles, static_cast<int>(ceil_div(rows, array_.groups))),
                           array_.groups);
    while (tile_rows_ > array_.groups && !fits(tile_rows_, tile_columns_)) tile_rows_ -= array_.groups;
    tile_rows_ = std::max(1, tile_rows_);
    while (!fits(tile_rows_, tile_columns_)) {
      if (tile_columns_ <= array_.lanes()) {
        throw UserError(fmt::format(
            "layer '{}' cannot fit: a tile of {} x {} outputs with its inputs takes {} bytes, "
            "chip.core.nram.size_bytes is {}",
            p_.name, tile_rows_, tile_columns_,
            map_bytes(tile_rows_, tile_columns_) + 2 * result_bytes(tile_rows_, tile_columns_, blocks),
            chip_.core.nram.size_bytes));
      }
      tile_columns_ = static_cast<int>(align_up(tile_columns_, array_.lanes())) - array_.lanes();
    }
  }

  std::int64_t group_bytes(int first, int end) const {
    const auto kernels = static_cast<std::int64_t>(kernels_.packed.blocks[static_cast<std::size_t>(end)] -
                                                   kernels_.packed.blocks[static_cast<std::size_t>(first)]);
    const std::int64_t post =
        kernels_.post == 0 ? 0 : std::int64_t{end - first} * array_.columns * kPostParameterBytes;
    return aligned(aligned(kernels) + post);
  }

  // Kernel blocks that WRAM holds at a time: all of a core's, or half of it twice.
  void choose_group(const Split& split) {
    const int blocks = part_size(p_.end_block, split.channels, 1);
    std::int64_t block = 0;
    for (int kb = 0; kb < p_.end_block; ++kb) block = std::max(block, group_bytes(kb, kb + 1));
    const std::int64_t wram = chip_.core.wram.size_bytes;
    resident_ = block * blocks <= wram;
    if (resident_) {
      // In several loads, so that computing begins with the first.
      constexpr std::int64_t kLoadBytes = 32768;
      const auto loads =
          std::clamp<std::int64_t>(block * blocks / kLoadBytes, 1, std::min(blocks, kMemoryBuffers));
      group_blocks_ = static_cast<int>(ceil_div<std::int64_t>(blocks, loads));
      kernel_buffer_ = block * group_blocks_;
      if (kernel_buffer_ * ceil_div(blocks, group_blocks_) <= wram) return;
      group_blocks_ = blocks;
      kernel_buffer_ = block * blocks;
      return;
    }
    kernel_buffer_ = wram / 2;
    group_blocks_ = static_cast<int>(wram / 2 / block);
    if (group_blocks_ == 0) {
      throw UserError(
          fmt::format("layer '{}' cannot fit: the kernels of one block take {} bytes, half of "
                      "chip.core.wram.size_bytes is {}",
                      p_.name, block, wram / 2));
    }
  }

  void describe(const Split& split) const {
    made_.mapping = fmt::format(
        "{} of {} cores: {} x {} parts of the map, {} of the channels; tiles of {} x {} outputs in NRAM, {} "
        "kernel "
        "blocks in WRAM, {}",
        split.cores(), chip_.cores(), split.rows, split.columns, split.channels, tile_rows_, tile_columns_,
        group_blocks_, through_sram_ ? "fetched once a cluster and broadcast" : "fetched by each core");
  }

  // How kernels come to WRAM (SPEC HI-4): through the SRAM where they stay in WRAM, several cores of a
  // cluster need the same ones, and that is expected to be faster.
  void choose_path(const Split& split) {
    if (!memory_cores_work(chip_) || !resident_ || 2 * kernel_buffer_ > chip_.sram_bytes()) return;
    int most = 0;
    for (int channel = 0; channel < split.channels; ++channel)
      most = std::max(most, sharers(split, 0, channel).second);
    std::int64_t direct = 0, shared = 0;
    const bool faster = cost(split, true, shared) < cost(split, false, direct);
    through_sram_ = chip_.dram_path == DramPath::kSram || (most > 1 && faster);
  }

  // The cores of a cluster that compute one part of the channels: bits, and how many.
  std::pair<std::uint64_t, int> sharers(const Split& split, int cluster, int channel) const {
    std::uint64_t mask = 0;
    int count = 0;
    for (int i = 0; i < chip_.cores_per_cluster; ++i) {
      const int core = cluster * chip_.cores_per_cluster + i;
      if (core >= split.cores() || core % split.channels != channel) continue;
      const Interval rows =
          part_of(p_.out_height, split.rows, core / (split.columns * split.channels), array_.groups);
      const Interval columns =
          part_of(p_.out_width, split.columns, core / split.channels % split.columns, array_.lanes());
      if (rows.size() == 0 || columns.size() == 0) continue;
      mask |= std::uint64_t{1} << i;
      ++count;
    }
    return {mask, count};
  }

  // The memory core fetches every group of kernels once, broadcasts it to the cores that need it and tells
  // them.
  std::vector<Instruction> memory_work(const Split& split, int cluster) {
    struct Fetch {
      Interval group;
      int load = 0;
      std::uint64_t cores = 0;
    };
    std::vector<Fetch> fetches;
    for (int channel = 0; channel < split.channels; ++channel) {
      const auto [mask, count] = sharers(split, cluster, channel);
      if (count == 0) continue;
      const std::vector<Interval> groups = groups_of_part(part_of(p_.end_block, split.channels, channel, 1));
      for (std::size_t i = 0; i < groups.size(); ++i)
        fetches.push_back({groups[i], static_cast<int>(i), mask});
    }
    std::stable_sort(fetches.begin(), fetches.end(),
                     [](const Fetch& a, const Fetch& b) { return a.load < b.load; });
    std::vector<Instruction> program;
    const int count = static_cast<int>(fetches.size());
    const auto tell = [&](int i) {
      const Fetch& fetch = fetches[static_cast<std::size_t>(i)];
      program.push_back(
          {{peer(i % 2)}, {}, {}, Signal{fetch.cores, wram_full(fetch.load % kernel_buffers())}});
    };
    for (int i = 0; i < count; ++i) {
      const Fetch& fetch = fetches[static_cast<std::size_t>(i)];
      const int buffer = i % 2;
      const std::uint64_t sram = sram_address(cluster) + static_cast<std::uint64_t>(buffer * kernel_buffer_);
      std::vector<Instruction> in = kernel_copies(Unit::kGdma, fetch.group, sram);
      guard(in, i >= 2, wram_full(buffer), wram_free(buffer));
      program.insert(program.end(), in.begin(), in.end());
      std::vector<Instruction> out = plain_copy(
          Unit::kMvdma, sram,
          multicast_address(fetch.cores, true,
                            static_cast<std::uint64_t>(fetch.load % kernel_buffers() * kernel_buffer_)),
          group_bytes(fetch.group.begin, fetch.group.end));
      out.front().waits[0] = wram_full(buffer);
      if (i + 2 < count) out.back().release_signals[0] = wram_free(buffer);
      out.back().done_signals[0] = peer(buffer);
      program.insert(program.end(), out.begin(), out.end());
      if (i > 0) tell(i - 1);
    }
    if (count > 0) tell(count - 1);
    return program;
  }

  // A tile as a layer of its own, whose map lies in NRAM.
  ConvProblem tile_problem(const NramTile& tile) const {
    ConvProblem local = p_;
    local.batch = 1;
    local.height = tile.h.ins, local.width = tile.w.ins;
    local.out_height = tile.h.outs, local.out_width = tile.w.outs;
    local.conv.pads = {-tile.h.offset, -tile.w.offset, 0, 0};
    return local;
  }

  std::vector<NramTile> tiles_of_part(Interval rows, Interval columns) const {
    std::vector<NramTile> tiles;
    for (int n = 0; n < p_.batch; ++n) {
      for (int r = rows.begin; r < rows.end; r += tile_rows_) {
        for (int c = columns.begin; c < columns.end; c += tile_columns_) {
          tiles.push_back({n, window_h({r, std::min(rows.end, r + tile_rows_)}),
                           window_w({c, std::min(columns.end, c + tile_columns_)})});
        }
      }
    }
    return tiles;
  }

  std::vector<Interval> groups_of_part(Interval blocks) const {
    std::vector<Interval> groups;
    for (int b = blocks.begin; b < blocks.end; b += group_blocks_)
      groups.push_back({b, std::min(blocks.end, b + group_blocks_)});
    return groups;
  }

  CoreWork core_work(const Split& split, int core) {
    const Interval rows =
        part_of(p_.out_height, split.rows, core / (split.columns * split.channels), array_.groups);
    const Interval columns =
        part_of(p_.out_width, split.columns, core / split.channels % split.columns, array_.lanes());
    const Interval blocks = part_of(p_.end_block, split.channels, core % split.channels, 1);
    if (rows.size() == 0 || columns.size() == 0 || blocks.size() == 0) return {};
    const std::vector<NramTile> tiles = tiles_of_part(rows, columns);
    const std::vector<Interval> groups = groups_of_part(blocks);

    // Which of the two is fetched again and again is what takes fewer bytes.
    std::int64_t maps = 0, kernels = 0;
    for (const NramTile& t : tiles) maps += std::int64_t{t.h.ins} * t.w.ins * p_.channels;
    for (const Interval& g : groups) kernels += group_bytes(g.begin, g.end);
    const auto tile_count = static_cast<std::int64_t>(tiles.size()),
               group_count = static_cast<std::int64_t>(groups.size());
    const bool tiles_outer =
        resident_ || group_count == 1 || maps + kernels * tile_count <= maps * group_count + kernels;

    Steps steps{core, {}, {}, {}, -1, -1, 0, 0};
    for (std::size_t i = 0; i < (tiles_outer ? tiles.size() : groups.size()); ++i) {
      for (std::size_t j = 0; j < (tiles_outer ? groups.size() : tiles.size()); ++j) {
        const std::size_t tile = tiles_outer ? i : j, group = tiles_outer ? j : i;
        add_step(steps, tiles[tile], static_cast<int>(tile), groups[group], static_cast<int>(group));
      }
    }
    return finish(steps);
  }

  struct Steps {
    int core = 0;
    std::vector<Segment> segments;
    std::vector<CoreWork::Load> loads;
    std::vector<std::vector<Instruction>> stores;
    int tile = -1, group = -1;            // that the buffers hold last
    int map_loads = 0, kernel_loads = 0;  // so far
  };

  void add_step(Steps& steps, const NramTile& tile, int tile_number, Interval group, int group_number) {
    const int step = static_cast<int>(steps.segments.size());
    if (tile_number != steps.tile) {
      steps.tile = tile_number;
      steps.loads.push_back({load_map(steps, tile), step});
    }
    const bool loaded = resident_ && steps.kernel_loads > group_number;
    if (group_number != steps.group && !loaded) {
      steps.loads.push_back({load_kernels(steps, group), step});
    }
    steps.group = group_number;
    const int kernel_load = resident_ ? group_number : steps.kernel_loads - 1;
    const int channels =
        std::min(group.size() * array_.columns, p_.conv.out_channels - group.begin * array_.columns);
    Segment segment;
    segment.problem = tile_problem(tile);
    segment.problem.first_block = group.begin, segment.problem.end_block = group.end;
    segment.tiles = tiles_of(segment.problem, made_.tiling);
    segment.input = dense_place(map_address(steps.core, std::max(0, steps.map_loads - 1)), tile.h.ins,
                                tile.w.ins, p_.channels);
    const std::uint64_t result = result_address(steps.core, step);
    segment.output = dense_place(result, tile.h.outs, tile.w.outs, std::int64_t{channels} * element_);
    segment.kernels = kernel_address(steps.core, kernel_load);
    segment.post = kernels_.post == 0 ? 0 : segment.kernels + static_cast<std::uint64_t>(kernel_bytes(group));
    const bool empty = tile.h.ins == 0 || tile.w.ins == 0;
    segment.map_load = empty ? -1 - step : steps.map_loads - 1;
    segment.kernel_load = kernel_load;
    if (!empty) segment.tokens.map_full = map_full(segment.map_load % map_buffers_);
    segment.tokens.kernels_full = wram_full(kernel_load % kernel_buffers());
    if (step >= 2) segment.tokens.result_free = result_free(step % 2);
    segment.tokens.result_full = result_full(step % 2);
    steps.stores.push_back(store_result(tile, group, channels, result, step));
    steps.segments.push_back(std::move(segment));
  }

  std::int64_t kernel_bytes(Interval group) const {
    return aligned(static_cast<std::int64_t>(kernels_.packed.blocks[static_cast<std::size_t>(group.end)] -
                                             kernels_.packed.blocks[static_cast<std::size_t>(group.begin)]));
  }
  int kernel_buffers() const { return resident_ ? kMemoryBuffers : 2; }
  std::int64_t map_buffer() const { return map_bytes(tile_rows_, tile_columns_); }
  std::uint64_t map_address(int core, int load) const {
    return nram_address(core) + static_cast<std::uint64_t>(load % map_buffers_ * map_buffer());
  }
  std::uint64_t result_address(int core, int step) const {
    const std::int64_t result = result_bytes(tile_rows_, tile_columns_, group_blocks_);
    return nram_address(core) + static_cast<std::uint64_t>(map_buffers_ * map_buffer() + step % 2 * result);
  }
  std::uint64_t kernel_address(int core, int load) const {
    return wram_address(core) + static_cast<std::uint64_t>(load % kernel_buffers() * kernel_buffer_);
  }

  // The semaphores of a load; `used`: the buffer was in use before.
  static void guard(std::vector<Instruction>& copies, bool used, Semaphore full, Semaphore free) {
    if (copies.empty()) return;
    if (used) copies.front().waits[0] = free;
    copies.back().done_signals[0] = full;
  }

  std::vector<Instruction> load_map(Steps& steps, const NramTile& tile) {
    CopyShape shape;
    shape.run = std::int64_t{tile.w.ins} * p_.channels;
    shape.rows = tile.h.ins;
    shape.source_row = std::int64_t{p_.width} * p_.channels;
    shape.destination_row = shape.run;
    if (shape.run == 0 || shape.rows == 0) return {};  // padding alone
    const int load = steps.map_loads++;
    const std::int64_t pixel = (std::int64_t{tile.image} * p_.height + tile.h.in) * p_.width + tile.w.in;
    const std::uint64_t source = builder_.plan.tensors.at(layer_.inputs.front()).address +
                                 static_cast<std::uint64_t>(pixel * p_.channels);
    made_.input_bytes += shape.run * shape.rows;
    std::vector<Instruction> copies = copies_of(Unit::kIodma, source, map_address(steps.core, load), shape);
    guard(copies, load >= map_buffers_, map_full(load % map_buffers_), map_free(load % map_buffers_));
    return copies;
  }

  std::vector<Instruction> load_kernels(Steps& steps, Interval group) {
    const int load = steps.kernel_loads++;
    if (through_sram_) return {};
    std::vector<Instruction> copies = kernel_copies(Unit::kIodma, group, kernel_address(steps.core, load));
    guard(copies, load >= kernel_buffers(), wram_full(load % kernel_buffers()),
          wram_free(load % kernel_buffers()));
    return copies;
  }

  // A group's kernels and post-parameters from DRAM.
  std::vector<Instruction> kernel_copies(Unit unit, Interval group, std::uint64_t destination) {
    const auto& blocks = kernels_.packed.blocks;
    const std::uint64_t first = blocks[static_cast<std::size_t>(group.begin)],
                        end = blocks[static_cast<std::size_t>(group.end)];
    std::vector<Instruction> copies =
        plain_copy(unit, kernels_.address + first, destination, static_cast<std::int64_t>(end - first));
    made_.kernel_bytes += static_cast<std::int64_t>(end - first);
    if (kernels_.post != 0) {
      const std::int64_t record = std::int64_t{array_.columns} * kPostParameterBytes;
      const std::vector<Instruction> post =
          plain_copy(unit, kernels_.post + static_cast<std::uint64_t>(group.begin * record),
                     destination + static_cast<std::uint64_t>(kernel_bytes(group)), group.size() * record);
      copies.insert(copies.end(), post.begin(), post.end());
      made_.kernel_bytes += group.size() * record;
    }
    return copies;
  }

  std::vector<Instruction> store_result(const NramTile& tile, Interval group, int channels,
                                        std::uint64_t result, int step) const {
    CopyShape shape;
    shape.run = std::int64_t{channels} * element_;
    shape.columns = tile.w.outs, shape.rows = tile.h.outs;
    shape.source_column = shape.run, shape.source_row = shape.run * tile.w.outs;
    shape.destination_column = std::int64_t{p_.conv.out_channels} * element_;
    shape.destination_row = shape.destination_column * p_.out_width;
    const std::int64_t pixel =
        (std::int64_t{tile.image} * p_.out_height + tile.h.out) * p_.out_width + tile.w.out;
    const std::int64_t channel = std::int64_t{group.begin} * array_.columns;
    const std::uint64_t destination =
        builder_.plan.tensors.at(layer_.name).address +
        static_cast<std::uint64_t>((pixel * p_.conv.out_channels + channel) * element_);
    std::vector<Instruction> copies = copies_of(Unit::kIodma, result, destination, shape);
    copies.front().waits[0] = result_full(step % 2);
    return copies;
  }

  // Says who gives buffers back, where somebody waits for them, and lowers the segments.
  CoreWork finish(Steps& steps) {
    for (Segment& segment : steps.segments) {
      if (segment.map_load + map_buffers_ < steps.map_loads && segment.tokens.map_full != 0)
        segment.tokens.map_free = map_free(segment.map_load % map_buffers_);
      if (segment.kernel_load + kernel_buffers() < steps.kernel_loads)
        segment.tokens.kernels_free = wram_free(segment.kernel_load % kernel_buffers());
    }
    const int count = static_cast<int>(steps.segments.size());
    for (int step = 0; step + 2 < count; ++step)
      steps.stores[static_cast<std::size_t>(step)].back().release_signals[0] = result_free(step % 2);
    made_.chunks += static_cast<std::int64_t>(chunks_of(steps.segments, hardware_, made_.tiling).size());
    CoreWork work;
    work.ahead = map_buffers_ - 1;
    work.steps = lower_segments(steps.segments, hardware_, made_.tiling, kernels_.packed);
    work.loads = std::move(steps.loads);
    work.stores = std::move(steps.stores);
    return work;
  }

  PlanBuilder& builder_;
  const HardwareConfig& hardware_;
  const ChipConfig& chip_;
  ArrayShape array_;
  ConvProblem p_;
  const Layer& layer_;
  LayerPlan& made_;
  int element_;
  int tile_rows_ = 0, tile_columns_ = 0, group_blocks_ = 0, map_buffers_ = 2;
  bool through_sram_ = false;       // kernels come by GDMA and broadcast
  bool resident_ = false;           // all kernels of a core stay in WRAM
  std::int64_t kernel_buffer_ = 0;  // bytes of a region of WRAM
  PlacedKernels kernels_;
};

}  // namespace

ChipWork plan_chip_conv(PlanBuilder& builder, const Layer& layer, LayerPlan& made) {
  return ChipConv(builder, layer, made).run();
}

}  // namespace tilebeat
