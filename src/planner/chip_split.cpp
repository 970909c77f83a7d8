#include "tilebeat/base/math.h"

#include <algorithm>
#include <limits>

#include "chip_conv.h"

namespace tilebeat {
namespace {

int part_size(int extent, int parts, int granule) {
  return std::min(extent, static_cast<int>(ceil_div(ceil_div(extent, granule), parts)) * granule);
}

bool can_share(const ChipConv& conv, const Split& split) {
  return memory_cores_work(conv.chip()) &&
         largest_part(conv, split).blocks.size() * conv.unit.kernel_bytes <= conv.chip().core.wram.size_bytes;
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

// A guide for choosing, never a result. The first tile is computed as its kernels arrive, the others behind
// it; all of it is no faster than DRAM or a port.
SplitCost cost_of(const ChipConv& conv, const Split& split, bool shared) {
  const ConvProblem& p = conv.problem;
  const CorePart part = largest_part(conv, split);
  const int cores = split.cores();
  const std::int64_t map =
      std::int64_t{p.batch} * conv.window_h(part.rows).ins * conv.window_w(part.columns).ins * p.channels;
  const std::int64_t kernels = part.blocks.size() * conv.unit.kernel_bytes;
  const std::int64_t results = p.output.size_bytes() / cores;
  const auto clusters = static_cast<int>(ceil_div(cores, conv.chip().cores_per_cluster));
  const int in_cluster = std::min(split.channels, conv.chip().cores_per_cluster);
  SplitCost cost;
  cost.bytes = (map + results) * cores + kernels * (shared ? std::min(cores, clusters * in_cluster) : cores);
  const double port = conv.hardware.interconnect.bytes_per_clock;
  const double kernel_clocks = static_cast<double>(shared ? kernels * in_cluster : kernels) / port;
  const double map_clocks = static_cast<double>(shared ? map + results : map + results + kernels) / port;
  const std::int64_t row_blocks = ceil_div(part.rows.size(), conv.unit.rows);
  const auto compute = static_cast<double>(std::int64_t{p.batch} * row_blocks *
                                           ceil_div(part.columns.size(), conv.unit.columns) *
                                           part.blocks.size() * conv.unit.clocks);
  const double tiles = std::min<double>(kTilesOfPart, static_cast<double>(row_blocks));
  const double pipelined = std::max(compute / tiles, kernel_clocks) + compute * (tiles - 1) / tiles;
  const double dram = dram_bytes_per_clock(conv.hardware) * conv.chip().memory_controllers;
  cost.clocks = std::max({pipelined, map_clocks, static_cast<double>(cost.bytes) / dram});
  return cost;
}

Split choose_split(const ChipConv& conv) {
  struct Candidate {
    Split split;
    SplitCost cost;
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
        for (const bool shared : {false, true}) {
          if (shared && !can_share(conv, split)) continue;
          candidates.push_back({split, cost_of(conv, split, shared)});
          least = std::min(least, candidates.back().cost.clocks);
        }
      }
    }
  }
  constexpr double kSameTime = 1.03;
  const auto better = [&](const Candidate& a, const Candidate& b) {
    const bool fast_a = a.cost.clocks <= kSameTime * least, fast_b = b.cost.clocks <= kSameTime * least;
    if (fast_a != fast_b) return fast_a;
    return std::pair(a.split.cores(), a.cost.bytes) < std::pair(b.split.cores(), b.cost.bytes);
  };
  return std::min_element(candidates.begin(), candidates.end(), better)->split;
}

}  // namespace tilebeat
