#include "base/types.h"
#include "engines/switch_array/chunks.h"
#include "engines/switch_array/kernel_words.h"
#include "engines/switch_array/lowering.h"
#include "tilebeat/error.h"

#include <algorithm>
#include <limits>
#include <vector>

#include <fmt/format.h>

namespace tilebeat::switch_array {
namespace {

constexpr int kMaxField = 65535;  // largest value of a 16-bit instruction field

struct Candidate {
  Tiling tiling;
  double clocks = 0;       // expected
  std::int64_t bytes = 0;  // on the DRAM's bus
};

// Of tilings with about the same estimate, the one that moves the fewest bytes is taken. The estimate ignores
// latencies: differences below `kUncertainClocks` are meaningless.
constexpr double kSameTime = 1.02;
constexpr double kUncertainClocks = 100;
// Up to `kWays` tilings that take at most this factor longer than the fastest are worth a closer look.
constexpr double kLikely = 1.1;
constexpr std::size_t kWays = 8;

class Search {
 public:
  Search(const Job& job, const HardwareConfig& hardware, const PortPath& path, double memory_bytes)
      : job_(job),
        p_(job.problem),
        hardware_(hardware),
        path_(path),
        memory_bytes_(memory_bytes),
        config_(hardware.engine<SwitchArrayConfig>()),
        array_(array_shape(config_)) {
    kernel_blocks_ = job.blocks.size();
    planes_ = ceil_div(p_.channels, array_.port_channels);
    widest_ = job.planes;
    kernel_planes_ = std::min(widest_, config_.parameter_depth_words / p_.taps());
  }

  std::vector<TilingChoice> run() {
    if (kernel_planes_ == 0) {
      throw UserError(fmt::format(
          "layer '{}' cannot fit: a {}x{} kernel takes {} words a column, "
          "switch_array.parameter_depth_words is {}",
          p_.name, p_.conv.kernel[0], p_.conv.kernel[1], p_.taps(), config_.parameter_depth_words));
    }
    const int full_rows = limit(p_.out_height, array_.groups, hardware_.planner.max_tile_rows);
    const int full_columns = limit(p_.out_width, array_.lanes(), hardware_.planner.max_tile_columns);
    const bool kernels_split = kernel_planes_ < widest_ || !job_.whole;
    if (!kernels_split) {
      // Tries whole rows first, and cuts columns only when even the fewest rows do not fit (SPEC SW-7).
      for (const bool resident : {true, false}) {
        for (int rows = array_.groups; rows < full_rows + array_.groups; rows += array_.groups) {
          consider(std::min(rows, full_rows), full_columns, resident, widest_);
        }
        if (!found()) {
          for (int columns = align_up(full_columns, array_.lanes()); columns > 0 && !found();
               columns -= array_.lanes()) {
            consider(std::min(array_.groups, full_rows), std::min(columns, full_columns), resident, widest_);
          }
        }
        if (found())
          return finish(resident ? "tiles hold all channels" : "tiles hold the channels of one kernel block");
      }
    }
    // With channels in pieces the accumulators carry over, so a tile is one operation cycle.
    const int rows = std::min(array_.groups, p_.out_height), columns = std::min(array_.lanes(), p_.out_width);
    consider(rows, columns, true, kernel_planes_);
    for (int planes = kernel_planes_; planes > 0 && !found(); --planes)
      consider(rows, columns, false, planes);
    if (found()) return finish("channels in pieces, one operation cycle a tile");
    throw UserError(
        fmt::format("layer '{}' cannot fit: one channel block of one operation cycle takes {} words a bank "
                    "(switch_array.bank_depth_words is {}) and {} bytes of output (half of "
                    "switch_array.output_buffer_bytes is {})",
                    p_.name, words_a_bank(rows, columns, 1), config_.bank_depth_words,
                    std::int64_t{rows} * columns * stored_pixel_bytes(1), config_.output_buffer_bytes / 2));
  }

 private:
  static int limit(int extent, int multiple, int most) {
    if (most <= 0 || most >= extent) return std::min(extent, kMaxField / 4 / multiple * multiple);
    return std::max(multiple, most / multiple * multiple);
  }
  bool found() const { return !candidates_.empty(); }

  std::int64_t stored_pixel_bytes(int blocks) const {
    return std::int64_t{std::min(blocks * array_.columns, p_.conv.out_channels)} * p_.element_bytes();
  }

  // Words per bank that the arrangement takes for the largest tile of this size.
  std::int64_t words_a_bank(int rows, int columns, int planes) const {
    const Conv2d& c = p_.conv;
    const int height = p_.axis_h().span(rows), width = p_.axis_w().span(columns);
    if (height > kMaxField || width > kMaxField) return std::numeric_limits<std::int64_t>::max();
    const bool aware = config_.arrangement == ArrangementKind::kStrideAware;
    const int words = words_per_plane(array_, height, width, aware ? c.stride[0] : 1);
    if (words > kMaxField) return std::numeric_limits<std::int64_t>::max();
    return std::int64_t{planes} * words;
  }

  void consider(int rows, int columns, bool resident, int planes) {
    if (words_a_bank(rows, columns, resident ? planes_ : planes) > config_.bank_depth_words) return;
    const std::int64_t half = config_.output_buffer_bytes / 2;
    const std::int64_t pixels = std::int64_t{rows} * columns;
    if (pixels * stored_pixel_bytes(1) > half) return;
    Tiling tiling;
    tiling.rows = rows, tiling.columns = columns;
    tiling.planes_per_chunk = planes;
    tiling.channels_resident = resident;
    while (tiling.blocks_per_store < kernel_blocks_ &&
           pixels * stored_pixel_bytes(tiling.blocks_per_store + 1) <= half) {
      ++tiling.blocks_per_store;
    }
    for (const LoopOrder order : {LoopOrder::kTileOuter, LoopOrder::kKernelOuter}) {
      if (hardware_.planner.loop_order != LoopOrder::kAuto && hardware_.planner.loop_order != order) continue;
      tiling.order = order;
      candidates_.push_back(estimate(tiling));
    }
  }

  // The estimate: the longest of computing, each bus and DRAM, plus the first load and the last store.
  Candidate estimate(const Tiling& tiling) const {
    const std::vector<OutputTile> tiles = tiles_of(p_, tiling);
    std::vector<Interval> planes;
    for (int kb = job_.blocks.begin; kb < job_.blocks.end; ++kb) planes.push_back(planes_of(p_, array_, kb));
    const int slots = ChunkMaker::slots(config_, slot_words(tiling), tiling.blocks_per_chunk);
    ChunkMaker maker(array_, tiling, slots);
    Traffic traffic;
    std::size_t chunks = 0;  // chunks of the last job
    const auto add_jobs = [&](const JobContents& contents, int jobs) {
      const auto& made = maker.chunks(job_, count_of(tiles), planes, contents, true, true);
      add(traffic, made, tiles, tiling, jobs);
      chunks = made.size();
    };
    add_jobs({}, 1);
    if (job_.jobs_of_map > 1)  // later jobs find the tiles that are still in the banks
      add_jobs({0, 1}, job_.jobs_of_map - 1);
    const double jobs = job_.jobs_of_map, bus = path_.width, memory = memory_bytes_;
    const double tiles_run = jobs * static_cast<double>(tiles.size()),
                 chunks_run = jobs * static_cast<double>(chunks);
    const auto& [beats, input, written, kernels, output] = traffic;
    const double first = (input / tiles_run + kernels / chunks_run) / std::min(bus, memory);
    const double last = output / tiles_run / std::min(bus, memory);
    const double bytes = input + kernels + stored_bus_bytes(tiling, output);
    const double clocks =
        first + std::max({beats, input / bus, written, kernels / bus, output / bus, bytes / memory}) + last;
    return {tiling, clocks, static_cast<std::int64_t>(bytes)};
  }

  double operation_cycles(const OutputTile& tile) const {
    return static_cast<double>(ceil_div(tile.h.outs, array_.groups)) * ceil_div(tile.w.outs, array_.lanes());
  }
  int slot_words(const Tiling& tiling) const {
    return std::min(widest_, tiling.planes_per_chunk) * p_.taps();
  }

  // Short runs are joined, because their instructions take time and bytes. The first joined run begins when
  // the kernels of all its blocks are there, and computing continues while the next kernels are loaded.
  int blocks_per_chunk(const Tiling& tiling) const {
    constexpr double kShortBeats = 1024;  // beats of a short run
    // most words of the first kernels: this fraction of the job's beats,
    constexpr double kFirstShare = 1. / 32;
    constexpr double kFirstWords = 384;  // or this number of words a column
    const bool whole = job_.whole && tiling.planes_per_chunk >= widest_ && tiling.channels_resident;
    if (!whole || tiling.order != LoopOrder::kTileOuter) return 1;
    const std::vector<OutputTile> tiles = tiles_of(p_, tiling);
    const double beats = operation_cycles(tiles.front()) * slot_words(tiling);
    const double all = beats * static_cast<double>(tiles.size()) * kernel_blocks_;
    const bool resident = ChunkMaker::slots(config_, slot_words(tiling), 1) >= kernel_blocks_;
    const auto may = [&](int blocks) {
      const int slots = ChunkMaker::slots(config_, slot_words(tiling), blocks);
      return blocks <= tiling.blocks_per_store && slots >= 2 && blocks * beats <= kShortBeats &&
             blocks * slot_words(tiling) <= std::max(kFirstShare * all, kFirstWords) &&
             (!resident || slots * blocks >= align_up(kernel_blocks_, blocks));
    };
    int blocks = 1;
    while (may(2 * blocks)) blocks *= 2;
    return blocks;
  }

  // Cycles of computing and of writing words into the banks; bytes of the other traffic.
  struct Traffic {
    double beats = 0, input = 0, written = 0, kernels = 0, output = 0;
  };
  // Adds the cost of `chunks`, executed `times` times.
  void add(Traffic& all, const std::vector<Chunk>& chunks, const std::vector<OutputTile>& tiles,
           const Tiling& tiling, double times) const {
    double beats = 0, input = 0, written = 0, kernels = 0, output = 0;
    for (const Chunk& chunk : chunks) {
      const OutputTile& tile = nth(tiles, chunk.tile);
      const double overhead = 2 + fill_cycles(config_);
      beats += chunk.blocks.size() * (overhead + operation_cycles(tile) * chunk.planes.size() * p_.taps());
      if (chunk.loads_input) {
        const int channels = tiling.channels_resident
                                 ? p_.channels
                                 : std::min(p_.channels, chunk.planes.end * array_.port_channels) -
                                       chunk.planes.begin * array_.port_channels;
        const double pixels = static_cast<double>(tile.h.ins) * tile.w.ins;
        input += pixels * channels;
        // Words of a pixel go to one bank, one a cycle, through a queue. From on-chip memories pixels come in
        // slices, so that several banks write at a time.
        const double words = ceil_div(channels, array_.port_channels),
                     banks = std::min<double>(array_.rows, pixels);
        written += path_.atom == 1 ? pixels * words / std::max(1.0, banks)
                                   : pixels * std::max(0.0, words - config_.arrangement_queue_words);
      }
      if (chunk.loads_kernels) {
        const std::int64_t post = p_.has_post_parameters() ? array_.columns * kPostParameterBytes : 0;
        kernels += static_cast<double>(chunk.blocks.size() *
                                       (packed_bytes(p_, array_, chunk.blocks.begin, chunk.planes) + post));
      }
      if (chunk.last)
        output +=
            static_cast<double>(tile.h.outs) * tile.w.outs * p_.kernels_of(chunk.blocks) * p_.element_bytes();
    }
    all.beats += times * beats, all.input += times * input, all.written += times * written;
    all.kernels += times * kernels, all.output += times * output;
  }
  // The cost of stores in bytes on the DRAM bus: a run of a pixel's channels takes whole DRAM bursts even
  // where it does not fill them, and each run is a separate request.
  double stored_bus_bytes(const Tiling& tiling, double output) const {
    const std::int64_t burst = path_.atom;
    const std::int64_t run =
        stored_pixel_bytes(tiling.order == LoopOrder::kTileOuter ? tiling.blocks_per_store : 1);
    if (run == stored_pixel_bytes(kernel_blocks_)) return output;  // whole pixels lie back to back
    constexpr std::int64_t kRequest = 2;                           // cycles of the port for a request
    return output / static_cast<double>(run) *
           static_cast<double>(run + kRequest * path_.width + (run % burst == 0 ? 0 : burst - 1));
  }

  std::vector<TilingChoice> finish(const char* what) {
    std::stable_sort(candidates_.begin(), candidates_.end(),
                     [](const Candidate& a, const Candidate& b) { return a.clocks < b.clocks; });
    const double fastest = candidates_.front().clocks;
    auto best = candidates_.begin();
    for (auto c = best; c != candidates_.end(); ++c) {
      if (c->clocks <= std::max(kSameTime * fastest, fastest + kUncertainClocks) && c->bytes < best->bytes)
        best = c;
    }
    std::rotate(candidates_.begin(), best, best + 1);
    std::vector<TilingChoice> ways;
    for (Candidate& c : candidates_) {
      if (ways.size() == kWays || c.clocks > std::max(kLikely * fastest, fastest + kUncertainClocks)) break;
      c.tiling.blocks_per_chunk = blocks_per_chunk(c.tiling);
      ways.push_back(
          {c.tiling,
           fmt::format("{}; {} outermost; of {} tilings the fastest is expected to take {:.0f} cycles, "
                       "this one {:.0f} with {} bytes on the DRAM bus",
                       what, c.tiling.order == LoopOrder::kTileOuter ? "tiles" : "kernel blocks",
                       candidates_.size(), fastest, c.clocks, c.bytes)});
    }
    return ways;
  }

  const Job& job_;
  const Problem& p_;
  const HardwareConfig& hardware_;
  PortPath path_;
  double memory_bytes_;
  const SwitchArrayConfig& config_;
  ArrayShape array_;
  int kernel_blocks_ = 0, planes_ = 0, widest_ = 0, kernel_planes_ = 0;
  std::vector<Candidate> candidates_;
};

}  // namespace

Interval planes_of(const Problem& p, const ArrayShape& array, int kernel_block) {
  const Interval channels =
      channels_of_kernels(p, {kernel_block * array.columns, (kernel_block + 1) * array.columns});
  return {channels.begin / array.port_channels, ceil_div(channels.end, array.port_channels)};
}

int widest_planes(const Problem& p, const ArrayShape& array) {
  int widest = 0;
  for (int kb = 0; kb < p.kernel_blocks(); ++kb) widest = std::max(widest, planes_of(p, array, kb).size());
  return widest;
}

// The largest value of load.kernels' counts of kernels and of channels from block to block.
constexpr int kMostKernels = UINT16_MAX;

bool fills_words(const Problem& p, const ArrayShape& array) {
  if (p.kernel_tensor) return false;
  const bool fits_field = p.conv.out_channels / p.conv.groups <= kMostKernels;
  return p.conv.groups > 1 ||
         (fits_field && (p.conv.out_channels % array.columns != 0 || p.channels % array.port_channels != 0));
}

LoadKernels kernel_load(const Problem& p, const ArrayShape& array, int kernel_block, Interval planes) {
  LoadKernels load;
  set_field(load.words, planes.size() * p.taps());
  if (!fills_words(p, array)) return load;
  const int group_kernels = p.conv.out_channels / p.conv.groups, group_channels = p.channels / p.conv.groups;
  const int first = kernel_block * array.columns, group = first / group_kernels;
  set_field(load.group_channels, group_channels);
  load.group_kernels = narrow(p, group_kernels, "kernels of a group");
  load.first_kernel = narrow(p, first % group_kernels, "kernels of a group");
  set_field(load.kernels, std::min(p.conv.out_channels - first, kMostKernels));
  load.first_channel = planes.begin * array.port_channels - group * group_channels;
  load.block_words = load.words;
  set_field(load.taps, p.taps());
  set_field(load.fill, p.conv.weight_zero_point);
  return load;
}

std::int64_t packed_bytes(const Problem& p, const ArrayShape& array, int kernel_block, Interval planes) {
  if (!fills_words(p, array))
    return std::int64_t{planes.size()} * p.taps() * array.columns * array.port_channels;
  if (planes.empty()) return 0;
  return KernelWords(kernel_load(p, array, kernel_block, planes), array.columns, array.port_channels).bytes();
}

int alike_blocks(const Problem& p, const ArrayShape& array, int first, Interval blocks) {
  const auto whole = [&](int block) { return p.kernels_of({block, block + 1}) == array.columns; };
  if (first + 1 >= blocks.end || !whole(first)) return 1;
  const Interval planes = planes_of(p, array, first);
  const std::int64_t macs = macs_per_pixel(p, array, first, planes);
  const int step = planes_of(p, array, first + 1).begin - planes.begin;
  if (step * array.port_channels > kMostKernels) return 1;
  int count = 1;
  for (int block = first + 1; block < blocks.end && whole(block); ++block, ++count) {
    if (p.conv.groups == 1) continue;
    const Interval next = planes_of(p, array, block);
    if (next.begin != planes.begin + step * count || next.size() != planes.size() ||
        macs_per_pixel(p, array, block, next) != macs)
      break;
  }
  return count;
}

std::int64_t macs_per_pixel(const Problem& p, const ArrayShape& array, int kernel_block, Interval planes) {
  const int first = kernel_block * array.columns;
  const int last = std::min(p.conv.out_channels, first + array.columns);
  std::int64_t pairs = 0;
  const int of_group = p.conv.out_channels / p.conv.groups;  // kernels that read the same channels
  for (int k = first, next = 0; k < last; k = next) {
    next = std::min(last, (k / of_group + 1) * of_group);
    const Interval channels = channels_of_kernels(p, {k, next});
    const int begin = std::max(channels.begin, planes.begin * array.port_channels);
    const int end = std::min(channels.end, planes.end * array.port_channels);
    pairs += std::int64_t{next - k} * std::max(0, end - begin);
  }
  return pairs * p.useful_taps;
}

namespace {

// Adds the tiles of `images` images of `rows` x `columns` outputs.
void add_tiles(const WindowAxis& h, const WindowAxis& w, int images, int rows, int columns,
               const Tiling& tiling, std::vector<OutputTile>& tiles) {
  for (int n = 0; n < images; ++n) {
    for (int row = 0; row < rows; row += tiling.rows) {
      for (int column = 0; column < columns; column += tiling.columns) {
        tiles.push_back({n, h.window({row, std::min(rows, row + tiling.rows)}),
                         w.window({column, std::min(columns, column + tiling.columns)})});
      }
    }
  }
}

}  // namespace

std::vector<OutputTile> tiles_of(const Problem& p, const Tiling& tiling) {
  std::vector<OutputTile> tiles;
  add_tiles(p.axis_h(), p.axis_w(), p.batch, p.out_height, p.out_width, tiling, tiles);
  return tiles;
}

void tiles_of(const Problem& p, const MatrixJob& job, const Tiling& tiling, std::vector<OutputTile>& tiles) {
  const Window &h = job.tile.h, &w = job.tile.w;
  WindowAxis down = p.axis_h(), across = p.axis_w();
  down.extent = h.ins, down.pad = -h.offset;
  across.extent = w.ins, across.pad = -w.offset;
  tiles.clear();
  add_tiles(down, across, job.images, h.outs, w.outs, tiling, tiles);
}

std::vector<TilingChoice> choose_tilings(const Job& job, const HardwareConfig& hardware, const PortPath& path,
                                         double memory_bytes) {
  return Search(job, hardware, path, memory_bytes).run();
}

}  // namespace tilebeat::switch_array
