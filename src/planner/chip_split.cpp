#include "tilebeat/base/math.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "chip_conv.h"

namespace tilebeat {
namespace {

int part_size(int extent, int parts, int granule) {
  return std::min(extent, static_cast<int>(ceil_div(ceil_div(extent, granule), parts)) * granule);
}

// The ways that are worth a look (SPEC HI-4).
std::vector<SramWays> ways_of(const ChipConv& conv, const Split& split, const ConvBuffers& buffers) {
  const ChipConfig& chip = conv.chip();
  if (chip.dram_path == DramPath::kSram) return {{true, true, true}};
  const bool resident =
      largest_part(conv, split).blocks.size() * conv.unit.kernel_bytes <= chip.core.wram.size_bytes;
  std::vector<SramWays> ways{{}};
  if (!memory_cores_work(chip)) return ways;
  if (resident) ways.push_back({false, true, false});
  if (maps_shared(conv, split, buffers)) ways.push_back({true, false, false});
  if (maps_shared(conv, split, buffers) && resident) ways.push_back({true, true, false});
  return ways;
}

// What the results of a core take of DRAM and ports: a run of a pixel's channels that does not fill whole
// DRAM bursts takes them whole, and every run is a request of its own.
std::int64_t stored_bytes(const ChipConv& conv, const Split& split) {
  const std::int64_t results = conv.problem.output.size_bytes() / split.cores();
  const std::int64_t pixel = std::int64_t{conv.problem.conv.out_channels} * conv.element_bytes();
  const std::int64_t run = std::min(pixel, std::int64_t{largest_part(conv, split).blocks.size()} *
                                               conv.unit.channels * conv.element_bytes());
  if (run == pixel) return results;
  const MemoryPath dram = dram_path(conv.hardware);
  const std::int64_t request = std::int64_t{dram.request_cycles} * dram.bus_bytes;
  return results / run * (align_up(run, dram.burst_bytes) + request);
}

}  // namespace

Window ChipConv::window_h(Interval outs) const {
  const Conv2d& c = problem.conv;
  return window_of(outs, problem.height, c.kernel[0], c.stride[0], c.dilation[0], c.pads[0]);
}

Window ChipConv::window_w(Interval outs) const {
  const Conv2d& c = problem.conv;
  return window_of(outs, problem.width, c.kernel[1], c.stride[1], c.dilation[1], c.pads[1]);
}

std::int64_t ChipConv::map_row_bytes(const Window& w) const {
  if (unit.folded_span < 0) return std::int64_t{w.ins} * problem.channels;
  return std::int64_t{w.outs + unit.folded_span} * problem.conv.stride[1] * problem.channels;
}

CorePart part_of_core(const ChipConv& conv, const Split& split, int core) {
  const ConvProblem& p = conv.problem;
  return {part_of(p.out_height, split.rows, core / (split.columns * split.channels), conv.unit.rows),
          part_of(p.out_width, split.columns, core / split.channels % split.columns, conv.unit.columns),
          part_of(p.end_block, split.channels, core % split.channels, 1)};
}

CorePart largest_part(const ChipConv& conv, const Split& split) {
  const ConvProblem& p = conv.problem;
  return {{0, part_size(p.out_height, split.rows, conv.unit.rows)},
          {0, part_size(p.out_width, split.columns, conv.unit.columns)},
          {0, part_size(p.end_block, split.channels, 1)}};
}

int maps_apart(const ChipConv& conv, const Split& split) {
  const int in_cluster = std::min(split.cores(), conv.chip().cores_per_cluster);
  return static_cast<int>(ceil_div(in_cluster, std::min(split.channels, kMostReaders)));
}

std::int64_t shared_map_bytes(const ChipConv& conv, const Split& split, const ConvBuffers& buffers) {
  return 2 * maps_apart(conv, split) * buffers.map_bytes;
}

bool maps_shared(const ChipConv& conv, const Split& split, const ConvBuffers& buffers) {
  return split.channels > 1 && memory_cores_work(conv.chip()) &&
         shared_map_bytes(conv, split, buffers) <= conv.chip().sram_bytes();
}

// A guide for choosing, never a result. The first tile is computed as its kernels arrive, the others behind
// it; all of it is no faster than DRAM or a port.
SplitCost cost_of(const ChipConv& conv, const Split& split, const ConvBuffers& buffers, SramWays ways) {
  const ConvProblem& p = conv.problem;
  const CorePart part = largest_part(conv, split);
  const int cores = split.cores();
  // Tiles fetch what they have in common again.
  const std::int64_t map = std::int64_t{p.batch} * ceil_div(part.rows.size(), buffers.tile_rows) *
                           ceil_div(part.columns.size(), buffers.tile_columns) *
                           inner_h(p, buffers.tile_rows).ins * inner_w(p, buffers.tile_columns).ins *
                           p.channels;
  const std::int64_t kernels = part.blocks.size() * conv.unit.kernel_bytes;
  const std::int64_t results = stored_bytes(conv, split);
  // In a cluster: cores, and how many of their maps and kernels differ.
  const int in_cluster = std::min(cores, conv.chip().cores_per_cluster);
  const auto clusters = ceil_div(cores, conv.chip().cores_per_cluster);
  const std::int64_t different_maps = ways.maps ? maps_apart(conv, split) : in_cluster,
                     different_kernels = ways.kernels ? std::min(split.channels, in_cluster) : in_cluster;
  const std::int64_t map_loads = std::min<std::int64_t>(cores, clusters * different_maps),
                     kernel_loads = std::min<std::int64_t>(cores, clusters * different_kernels);
  SplitCost cost;
  const std::int64_t inputs =
      std::int64_t{p.batch} * conv.window_h(part.rows).ins * conv.window_w(part.columns).ins * p.channels;
  cost.bytes = p.output.size_bytes() + inputs * map_loads + kernels * kernel_loads;
  const std::int64_t dram_bytes = results * cores + map * map_loads + kernels * kernel_loads;
  // Through the port of a core, and through that of a memory core.
  const std::int64_t direct =
      (ways.maps ? 0 : map) + (ways.kernels ? 0 : kernels) + (ways.stores ? 0 : results);
  const std::int64_t staged = (ways.maps ? map * different_maps : 0) +
                              (ways.kernels ? kernels * different_kernels : 0) +
                              (ways.stores ? results * in_cluster : 0);
  const double port = conv.hardware.interconnect.bytes_per_clock;
  const double port_clocks = static_cast<double>(std::max(direct, staged)) / port;
  const double kernel_clocks =
      static_cast<double>(ways.kernels ? kernels * different_kernels : kernels) / port;
  const std::int64_t row_blocks = ceil_div(part.rows.size(), conv.unit.rows);
  const std::int64_t column_blocks = ceil_div(part.columns.size(), conv.unit.columns);
  const auto compute =
      static_cast<double>(p.batch * row_blocks * column_blocks * part.blocks.size() * conv.unit.clocks);
  const double tiles = std::min<double>(kTilesOfPart, static_cast<double>(row_blocks));
  const double pipelined = std::max(compute / tiles, kernel_clocks) + compute * (tiles - 1) / tiles;
  const double alone = buffers.map_buffers > 1 ? 0 : static_cast<double>(map) / port + compute;
  const double dram = dram_bytes_per_clock(conv.hardware) * conv.chip().memory_controllers;
  cost.clocks = std::max({pipelined, alone, port_clocks, static_cast<double>(dram_bytes) / dram});
  return cost;
}

Split choose_split(const ChipConv& conv) {
  struct Candidate {
    Split split;
    SplitCost cost;
    bool shares_maps = false;
  };
  const ConvProblem& p = conv.problem;
  const auto most_rows = static_cast<int>(ceil_div(p.out_height, conv.unit.rows)),
             most_columns = static_cast<int>(ceil_div(p.out_width, conv.unit.columns));
  std::vector<Candidate> candidates;
  double least = std::numeric_limits<double>::max();
  const int cores = conv.chip().cores();
  for (int channels = 1; channels <= std::min(cores, p.end_block); ++channels) {
    for (int rows = 1; rows <= std::min(cores / channels, most_rows); ++rows) {
      for (int columns = 1; columns <= std::min(cores / channels / rows, most_columns); ++columns) {
        const Split split{rows, columns, channels};
        ConvBuffers buffers;
        if (!choose_tile(conv, split, buffers)) continue;
        for (const SramWays& ways : ways_of(conv, split, buffers)) {
          candidates.push_back({split, cost_of(conv, split, buffers, ways), ways.maps});
          least = std::min(least, candidates.back().cost.clocks);
        }
      }
    }
  }
  if (candidates.empty()) refuse_tile(conv);
  constexpr double kSameTime = 1.03;
  const auto better = [&](const Candidate& a, const Candidate& b) {
    const bool fast_a = a.cost.clocks <= kSameTime * least, fast_b = b.cost.clocks <= kSameTime * least;
    if (fast_a != fast_b) return fast_a;
    return std::tuple(a.split.cores(), a.shares_maps, a.cost.bytes) <
           std::tuple(b.split.cores(), b.shares_maps, b.cost.bytes);
  };
  return std::min_element(candidates.begin(), candidates.end(), better)->split;
}

}  // namespace tilebeat
