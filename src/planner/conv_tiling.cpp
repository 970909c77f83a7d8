#include "tilebeat/base/error.h"
#include "tilebeat/base/math.h"
#include "tilebeat/engines/switch_array/config.h"

#include <algorithm>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include "conv_plan.h"

namespace tilebeat {
namespace {

constexpr int kMaxField = 65535;  // of the 16-bit fields of an instruction

struct Candidate {
  ConvTiling tiling;
  double clocks = 0;       // expected
  std::int64_t bytes = 0;  // on the DRAM's bus
};

// Of tilings that are expected to take about the same time the one that moves fewest bytes is taken.
// The estimate knows nothing of latencies: a difference below `kUncertainClocks` means nothing.
constexpr double kSameTime = 1.02;
constexpr double kUncertainClocks = 100;

class Search {
 public:
  Search(const ConvProblem& p, const HardwareConfig& hardware, const MemoryPath& path)
      : p_(p),
        hardware_(hardware),
        path_(path),
        config_(hardware.engine<SwitchArrayConfig>()),
        array_(array_shape(config_)) {
    kernel_blocks_ = p.end_block - p.first_block;
    planes_ = ceil_div(p.channels, array_.port_channels);
    for (int kb = p.first_block; kb < p.end_block; ++kb)
      widest_ = std::max(widest_, planes_of(p, array_, kb).size());
    kernel_planes_ = std::min(widest_, config_.parameter_depth_words / p.taps());
  }

  ConvTiling run(std::string& reason) {
    if (kernel_planes_ == 0) {
      throw UserError(fmt::format(
          "layer '{}' cannot fit: a {}x{} kernel takes {} words a column, "
          "switch_array.parameter_depth_words is {}",
          p_.name, p_.conv.kernel[0], p_.conv.kernel[1], p_.taps(), config_.parameter_depth_words));
    }
    const int full_rows = limit(p_.out_height, array_.groups, hardware_.planner.max_tile_rows);
    const int full_columns = limit(p_.out_width, array_.lanes(), hardware_.planner.max_tile_columns);
    const bool kernels_split = kernel_planes_ < widest_;
    if (!kernels_split) {
      // Whole rows first; columns only when not even the fewest rows fit (SPEC SW-7).
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
          return finish(reason,
                        resident ? "tiles hold all channels" : "tiles hold the channels of one kernel block");
      }
    }
    // Channels in pieces: the accumulators carry over, so a tile is one operation cycle.
    const int rows = std::min(array_.groups, p_.out_height), columns = std::min(array_.lanes(), p_.out_width);
    consider(rows, columns, true, kernel_planes_);
    for (int planes = kernel_planes_; planes > 0 && !found(); --planes)
      consider(rows, columns, false, planes);
    if (found()) return finish(reason, "channels in pieces, one operation cycle a tile");
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
    return std::int64_t{std::min(blocks * array_.columns, p_.conv.out_channels)} *
           dtype_size(p_.output.dtype);
  }

  // The depth that the arrangement takes for the largest tile of this size.
  std::int64_t words_a_bank(int rows, int columns, int planes) const {
    const Conv2d& c = p_.conv;
    const int height = std::min(p_.height, (rows - 1) * c.stride[0] + (c.kernel[0] - 1) * c.dilation[0] + 1);
    const int width = std::min(p_.width, (columns - 1) * c.stride[1] + (c.kernel[1] - 1) * c.dilation[1] + 1);
    if (height > kMaxField || width > kMaxField) return std::numeric_limits<std::int64_t>::max();
    const bool aware = config_.arrangement == ArrangementKind::kStrideAware;
    const Arrangement arrangement(array_, height, width, aware ? c.stride[0] : 1, aware ? c.stride[1] : 1);
    return std::int64_t{planes} * arrangement.words_per_plane();
  }

  void consider(int rows, int columns, bool resident, int planes) {
    if (words_a_bank(rows, columns, resident ? planes_ : planes) > config_.bank_depth_words) return;
    const std::int64_t half = config_.output_buffer_bytes / 2;
    const std::int64_t pixels = std::int64_t{rows} * columns;
    if (pixels * stored_pixel_bytes(1) > half) return;
    ConvTiling tiling;
    tiling.tile_rows = rows, tiling.tile_columns = columns;
    tiling.row_tiles = ceil_div(p_.out_height, rows), tiling.column_tiles = ceil_div(p_.out_width, columns);
    tiling.kernel_blocks = ceil_div(p_.conv.out_channels, array_.columns);
    tiling.planes_per_chunk = planes;
    tiling.channels_resident = resident;
    while (tiling.kernel_blocks_per_store < kernel_blocks_ &&
           pixels * stored_pixel_bytes(tiling.kernel_blocks_per_store + 1) <= half) {
      ++tiling.kernel_blocks_per_store;
    }
    for (const LoopOrder order : {LoopOrder::kTileOuter, LoopOrder::kKernelOuter}) {
      if (hardware_.planner.loop_order != LoopOrder::kAuto && hardware_.planner.loop_order != order) continue;
      tiling.order = order;
      candidates_.push_back(estimate(tiling));
    }
  }

  // A guide for choosing, never a result: the longest of computing, each bus and DRAM, behind the first load
  // and before the last store.
  Candidate estimate(const ConvTiling& tiling) const {
    std::vector<Segment> segments(1);
    segments[0].problem = p_;
    segments[0].tiles = tiles_of(p_, tiling);
    const std::vector<Tile>& tiles = segments[0].tiles;
    const std::vector<Chunk> chunks = chunks_of(segments, hardware_, tiling);
    const Traffic traffic = traffic_of(segments, hardware_, tiling, chunks);
    double beats = 0;
    for (const Chunk& chunk : chunks) {
      const Tile& tile = tiles[static_cast<std::size_t>(chunk.tile)];
      constexpr double kChunkOverhead = 4;
      beats += kChunkOverhead + static_cast<double>(ceil_div(tile.rows, array_.groups)) *
                                    ceil_div(tile.columns, array_.lanes()) * chunk.planes.size() * p_.taps();
    }
    const double bus = path_.bus_bytes;
    const double dram = path_.memory_bytes;
    const auto kernels = static_cast<double>(traffic.kernels), input = static_cast<double>(traffic.input),
               output = static_cast<double>(traffic.output);
    const double first =
        (input / static_cast<double>(tiles.size()) + kernels / static_cast<double>(chunks.size())) /
        std::min(bus, dram);
    const double last = output / static_cast<double>(tiles.size()) / std::min(bus, dram);
    const std::int64_t bytes = traffic.input + traffic.kernels + stored_bus_bytes(tiling, traffic.output);
    const double clocks =
        first +
        std::max({beats, input / bus, kernels / bus, output / bus, static_cast<double>(bytes) / dram}) + last;
    return {tiling, clocks, bytes};
  }
  // What storing costs on the DRAM's bus: a run of a pixel's channels that does not fill whole DRAM bursts
  // takes them whole, and every run is a request of its own.
  std::int64_t stored_bus_bytes(const ConvTiling& tiling, std::int64_t output) const {
    const std::int64_t burst = path_.burst_bytes;
    const std::int64_t run =
        stored_pixel_bytes(tiling.order == LoopOrder::kTileOuter ? tiling.kernel_blocks_per_store : 1);
    if (run == stored_pixel_bytes(kernel_blocks_)) return output;  // whole pixels lie back to back
    const std::int64_t request = std::int64_t{path_.request_cycles} * path_.bus_bytes;
    return output / run * (run + request + (run % burst == 0 ? 0 : burst - 1));
  }

  ConvTiling finish(std::string& reason, const char* what) const {
    const auto fastest =
        std::min_element(candidates_.begin(), candidates_.end(),
                         [](const Candidate& a, const Candidate& b) { return a.clocks < b.clocks; });
    const Candidate* best = &*fastest;
    for (const Candidate& c : candidates_) {
      const double limit = std::max(kSameTime * fastest->clocks, fastest->clocks + kUncertainClocks);
      if (c.clocks <= limit && c.bytes < best->bytes) best = &c;
    }
    reason = fmt::format(
        "{}; {} outermost; of {} tilings the fastest is expected to take {:.0f} clocks, this one {:.0f} with "
        "{} bytes on the DRAM bus",
        what, best->tiling.order == LoopOrder::kTileOuter ? "tiles" : "kernel blocks", candidates_.size(),
        fastest->clocks, best->clocks, best->bytes);
    return best->tiling;
  }

  const ConvProblem& p_;
  const HardwareConfig& hardware_;
  MemoryPath path_;
  const SwitchArrayConfig& config_;
  ArrayShape array_;
  int kernel_blocks_ = 0, planes_ = 0, widest_ = 0, kernel_planes_ = 0;
  std::vector<Candidate> candidates_;
};

}  // namespace

double dram_bytes_per_clock(const HardwareConfig& hardware) {
  const DramConfig& d = hardware.dram;
  return d.channels * (d.data_bits / 8.0) * 2 * static_cast<double>(hardware.clock_ps()) /
         static_cast<double>(d.clock_ps);
}

MemoryPath dram_path(const HardwareConfig& hardware) {
  return {hardware.interconnect.bytes_per_clock, dram_bytes_per_clock(hardware),
          std::int64_t{hardware.dram.burst_length} * hardware.dram.data_bits / 8,
          hardware.interconnect.request_cycles};
}

ConvTiling choose_tiling(const ConvProblem& problem, const HardwareConfig& hardware, const MemoryPath& path,
                         std::string& reason) {
  return Search(problem, hardware, path).run(reason);
}

}  // namespace tilebeat
