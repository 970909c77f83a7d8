#include "tilebeat/base/error.h"
#include "tilebeat/base/math.h"

#include <algorithm>

#include <fmt/format.h>

#include "chip_conv.h"

namespace tilebeat {
namespace {

std::int64_t aligned(std::int64_t bytes) {
  return align_up(bytes, kBufferAlignment);
}

std::int64_t map_bytes(const ChipConv& conv, int rows, int columns) {
  const ConvProblem& p = conv.problem;
  return aligned(inner_h(p, rows).ins * conv.map_row_bytes(inner_w(p, columns)));
}

std::int64_t result_bytes(const ChipConv& conv, int rows, int columns, int blocks) {
  const int channels = std::min(blocks * conv.unit.channels, conv.problem.conv.out_channels);
  return aligned(std::int64_t{rows} * columns * channels * conv.element_bytes());
}

}  // namespace

Window inner_h(const ConvProblem& p, int rows) {
  const int ins = (rows - 1) * p.conv.stride[0] + (p.conv.kernel[0] - 1) * p.conv.dilation[0] + 1;
  return {0, rows, 0, std::min(ins, p.height), 0};
}

Window inner_w(const ConvProblem& p, int columns) {
  const int ins = (columns - 1) * p.conv.stride[1] + (p.conv.kernel[1] - 1) * p.conv.dilation[1] + 1;
  return {0, columns, 0, std::min(ins, p.width), 0};
}

namespace {

// The largest tile that fits with so many buffers for maps; false: none does.
bool fit_tile(const ChipConv& conv, const CorePart& part, ConvBuffers& buffers) {
  const std::int64_t nram = conv.chip().core.nram.size_bytes;
  const auto fits = [&](int r, int c) {
    return buffers.map_buffers * map_bytes(conv, r, c) + 2 * result_bytes(conv, r, c, part.blocks.size()) <=
           nram;
  };
  const std::int64_t row_blocks = ceil_div(part.rows.size(), conv.unit.rows);
  int rows = static_cast<int>(ceil_div(row_blocks, std::min<std::int64_t>(kTilesOfPart, row_blocks))) *
             conv.unit.rows;
  rows = std::min(rows, part.rows.size());
  int columns = part.columns.size();
  while (rows > conv.unit.rows && !fits(rows, columns)) rows -= conv.unit.rows;
  rows = std::max(1, rows);
  while (!fits(rows, columns)) {
    if (columns <= conv.unit.columns) return false;
    columns = static_cast<int>(align_up(columns, conv.unit.columns)) - conv.unit.columns;
  }
  buffers.tile_rows = rows, buffers.tile_columns = columns;
  buffers.map_bytes = map_bytes(conv, rows, columns);
  return true;
}

// A guide for choosing: clocks of loading all tiles of a part, and of computing it.
std::int64_t load_clocks(const ChipConv& conv, const CorePart& part, const ConvBuffers& buffers) {
  const std::int64_t tiles =
      ceil_div(part.rows.size(), buffers.tile_rows) * ceil_div(part.columns.size(), buffers.tile_columns);
  return tiles * buffers.map_bytes / conv.hardware.interconnect.bytes_per_clock;
}
std::int64_t compute_clocks(const ChipConv& conv, const CorePart& part) {
  return std::int64_t{ceil_div(part.rows.size(), conv.unit.rows)} *
         ceil_div(part.columns.size(), conv.unit.columns) * part.blocks.size() * conv.unit.clocks;
}

}  // namespace

bool choose_tile(const ChipConv& conv, const Split& split, ConvBuffers& buffers) {
  const CorePart part = largest_part(conv, split);
  ConvBuffers one = buffers, two = buffers;
  one.map_buffers = 1, two.map_buffers = 2;
  if (!fit_tile(conv, part, one)) return false;
  // Two buffers overlap loading and computing; a large halo can be worse than that.
  const bool overlap =
      fit_tile(conv, part, two) && std::max(load_clocks(conv, part, two), compute_clocks(conv, part)) <=
                                       load_clocks(conv, part, one) + compute_clocks(conv, part);
  buffers = overlap ? two : one;
  return true;
}

void refuse_tile(const ChipConv& conv) {
  const ConvProblem& p = conv.problem;
  const int rows = std::min(p.out_height, conv.unit.rows), columns = std::min(p.out_width, conv.unit.columns);
  throw UserError(fmt::format(
      "layer '{}' cannot fit: a tile of {} x {} outputs with its inputs takes {} bytes, "
      "chip.core.nram.size_bytes is {}",
      p.name, rows, columns, map_bytes(conv, rows, columns) + 2 * result_bytes(conv, rows, columns, 1),
      conv.chip().core.nram.size_bytes));
}

std::int64_t KernelPlace::kernel_bytes(Interval group) const {
  const auto bytes = static_cast<std::int64_t>(blocks[static_cast<std::size_t>(group.end)] -
                                               blocks[static_cast<std::size_t>(group.begin)]);
  return align_up(bytes, kBufferAlignment * regions);
}

std::int64_t KernelPlace::bytes(Interval group) const {
  return align_up(kernel_bytes(group) + (post == 0 ? 0 : group.size() * post_bytes),
                  kBufferAlignment * regions);
}

void choose_group(const ChipConv& conv, const Split& split, const KernelPlace& kernels,
                  ConvBuffers& buffers) {
  const int blocks = largest_part(conv, split).blocks.size();
  std::int64_t block = 0;
  for (int kb = 0; kb < conv.problem.end_block; ++kb) block = std::max(block, kernels.bytes({kb, kb + 1}));
  const std::int64_t wram = conv.chip().core.wram.size_bytes;
  buffers.resident = block * blocks <= wram;
  if (buffers.resident) {
    // In several loads, so that computing begins with the first.
    constexpr std::int64_t kLoadBytes = 32768;
    const auto loads =
        std::clamp<std::int64_t>(block * blocks / kLoadBytes, 1, std::min(blocks, kMemoryBuffers));
    buffers.group_blocks = static_cast<int>(ceil_div<std::int64_t>(blocks, loads));
    if (block * buffers.group_blocks * ceil_div(blocks, buffers.group_blocks) > wram)
      buffers.group_blocks = blocks;
    buffers.kernel_bytes = block * buffers.group_blocks;
  } else {
    buffers.kernel_bytes = wram / 2 / kernels.regions * kernels.regions;
    buffers.group_blocks = static_cast<int>(wram / 2 / block);
    if (buffers.group_blocks == 0) {
      throw UserError(
          fmt::format("layer '{}' cannot fit: the kernels of one block take {} bytes, half of "
                      "chip.core.wram.size_bytes is {}",
                      conv.problem.name, block, wram / 2));
    }
  }
  buffers.result_bytes = result_bytes(conv, buffers.tile_rows, buffers.tile_columns, buffers.group_blocks);
}

}  // namespace tilebeat
