#include "planner/layer/matrix_work.h"

#include "base/types.h"
#include "planner/layer/partial_sum_exchange.h"
#include "planner/layer/placement.h"
#include "tilebeat/error.h"

#include <algorithm>

#include <fmt/format.h>

namespace tilebeat {
namespace {

TileBytes aligned(const TileBytes& bytes) {
  return {align_up(bytes.map, kBufferAlignment), align_up(bytes.result, kBufferAlignment)};
}

[[noreturn]] void refuse(const Problem& p, const std::string& why) {
  throw UserError(fmt::format("layer '{}' cannot be mapped so: {}", p.name, why));
}

void check_strips(const Shard& share, const LayerMapping& m) {
  if (!m.map_strips) return;
  const Problem& p = share.layer->problem();
  const int columns = largest_part(p, share.layer->grain(), m).columns.size();
  if (!may_share_rows(share)) refuse(p, "map_strips needs rows of the map that lie one behind the other");
  if (m.tile_columns < columns)
    refuse(p, fmt::format("map_strips needs tiles as wide as a core's part, {} columns; they have {}",
                          columns, m.tile_columns));
}

// Bytes of the partial-sum exchange's buffers for tiles of `pixels` pixels. Sets `slice`, `ended` and `post`.
std::int64_t sums_bytes(const ShardedLayer& layer, const LayerMapping& m, std::int64_t pixels, Footprint& f) {
  if (!layer.adds_sums()) return 0;
  const Problem& p = layer.problem;
  const std::int64_t outputs =
      ceil_div<std::int64_t>(pixels, layer.cores()) * p.kernels_of({0, m.blocks_per_load});
  f.slice = align_up(outputs * dtype_size(DType::kInt32), kBufferAlignment);
  f.ended = align_up(outputs * p.element_bytes(), kBufferAlignment);
  f.post = post_buffer_bytes(p, m.blocks_per_load);
  const int loads =
      ceil_div(largest_part_of(p.kernel_blocks(), m.kernel_parts, 1), std::max(1, m.blocks_per_load));
  return SumsRoom{0, slice_buffers(layer.cores()), f.slice, f.ended}.bytes() + loads * f.post;
}

// Throws UserError when the parts of a core's channels cannot be accumulated.
void check_channels(const MatrixLayer& layer, const LayerMapping& m) {
  if (m.channel_parts == 1) return;
  const Problem& p = layer.problem();
  const Grain grain = layer.grain();
  if (!layer.reduces()) refuse(p, "the engine does not add up parts of the channels");
  if (m.channel_parts > ceil_div(p.channels, grain.channels))
    refuse(p, fmt::format("{} parts of {} channels", m.channel_parts, p.channels));
  if (m.tile_rows > grain.rows || m.tile_columns > grain.columns)
    refuse(p,
           fmt::format("parts of the channels are added up for {} x {} outputs at a time, tiles have {} x {}",
                       grain.rows, grain.columns, m.tile_rows, m.tile_columns));
  if (m.blocks_per_load > 1)
    refuse(p, "parts of the channels need a load for every kernel block (blocks_per_load 1)");
}

}  // namespace

std::vector<Split> splits_of(int reduction_groups, const Split& most) {
  std::vector<Split> splits;
  for (int kernels = 1; kernels <= std::min(reduction_groups, most.kernels); ++kernels) {
    for (int rows = 1; rows <= std::min(reduction_groups / kernels, most.rows); ++rows) {
      for (int columns = 1; columns <= std::min(reduction_groups / kernels / rows, most.columns); ++columns)
        splits.push_back({rows, columns, kernels});
    }
  }
  return splits;
}

int shard_of_core(const LayerMapping& m, int core) {
  if (m.reduction_parts > 1) return core % m.reduction_parts;
  return core / m.kernel_parts % m.group_parts;
}

CorePart part_of_core(const Problem& p, const Grain& grain, const LayerMapping& m, int core) {
  const int reduction_group = core / m.reduction_parts,
            of_map = reduction_group / (m.kernel_parts * m.group_parts);
  const int of_rows = of_map / m.column_parts;
  return {part_of(p.out_height, m.row_parts, of_rows % m.row_parts, grain.rows),
          part_of(p.out_width, m.column_parts, of_map % m.column_parts, grain.columns),
          part_of(p.kernel_blocks(), m.kernel_parts, reduction_group % m.kernel_parts, 1),
          part_of(p.batch, m.image_parts, of_rows / m.row_parts, 1)};
}

CorePart largest_part(const Problem& p, const Grain& grain, const LayerMapping& m) {
  return {{0, largest_part_of(p.out_height, m.row_parts, grain.rows)},
          {0, largest_part_of(p.out_width, m.column_parts, grain.columns)},
          {0, largest_part_of(p.kernel_blocks(), m.kernel_parts, 1)},
          {0, largest_part_of(p.batch, m.image_parts, 1)}};
}

int map_rows(const MatrixLayer& layer, const LayerMapping& m) {
  const Problem& p = layer.problem();
  return p.axis_h().span(m.map_strips ? largest_part(p, layer.grain(), m).rows.size() : m.tile_rows);
}

TileBytes tile_bytes(const MatrixLayer& layer, const LayerMapping& m, int rows, int columns) {
  const Problem& p = layer.problem();
  const int held = m.map_strips ? map_rows(layer, m) : p.axis_h().span(rows);
  const int kernels = std::min(m.blocks_per_load * p.block_kernels, p.conv.out_channels);
  return {held * layer.ifm_row_bytes(p.axis_w().inner(columns)),
          std::int64_t{rows} * columns * kernels * p.element_bytes()};
}

bool may_share_rows(const Shard& share) {
  return share.layer->shares_rows() && share.input.channel_stride == 1;
}

MatrixJob largest_job(const MatrixLayer& layer, const LayerMapping& m) {
  const Problem& p = layer.problem();
  MatrixJob job;
  job.tile = {0, p.axis_h().inner(m.tile_rows), p.axis_w().inner(m.tile_columns)};
  job.blocks = {0, std::min(m.blocks_per_load, p.kernel_blocks())};
  job.reduction = {part_of(p.channels, m.channel_parts, 0, layer.grain().channels), true,
                   m.channel_parts == 1};
  const int blocks = largest_part(p, layer.grain(), m).blocks.size();
  const bool maps_stay = m.order == StepOrder::kTileOuter && m.channel_parts == 1;
  job.jobs_of_map = maps_stay ? ceil_div(blocks, m.blocks_per_load) : 1;
  return job;
}

std::int64_t group_bytes(const Shard& shard, const LayerMapping& m) {
  std::int64_t most = 0;
  const MatrixLayer& layer = *shard.layer;
  const Problem& p = layer.problem();
  const auto add = [&](const Interval& blocks) {
    for (const KernelGroup& group : kernel_groups(p, m, layer.grain(), blocks))
      most = std::max(most, buffer_bytes(shard.weights, group, shard.extent_of(group)));
  };
  add({0, p.kernel_blocks()});
  for (int part = 0; part < m.kernel_parts; ++part) add(part_of(p.kernel_blocks(), m.kernel_parts, part, 1));
  return most;
}

int core_of(const ChipConfig& chip, const LayerMapping& m, int core) {
  const int working = m.working(chip).cores_per_cluster;
  return core / working * chip.cores_per_cluster + core % working;
}

NramBytes nram_bytes(const ShardedLayer& layer, const MatrixLayer& of_core, const LayerMapping& m, int rows,
                     int columns) {
  const TileBytes tile = aligned(tile_bytes(of_core, m, rows, columns));
  Footprint unused;
  NramBytes bytes;
  bytes.maps = m.map_buffers * tile.map;
  bytes.sums = sums_bytes(layer, m, std::int64_t{rows} * columns, unused);
  bytes.all = bytes.maps + kResultBuffers * tile.result + bytes.sums;
  return bytes;
}

Footprint footprint_of(const MatrixWork& work) {
  const LayerMapping& m = work.mapping;
  const ChipConfig& chip = work.chip();
  const Problem& p = work.layer.problem;
  Footprint f;
  for (const Shard& share : work.layer.shards) {
    check_channels(*share.layer, m);
    check_strips(share, m);
    const TileBytes tile = aligned(tile_bytes(*share.layer, m, m.tile_rows, m.tile_columns));
    f.map = std::max(f.map, tile.map), f.result = std::max(f.result, tile.result);
    f.kernels = std::max(f.kernels, group_bytes(share, m));
  }
  const std::int64_t sums = sums_bytes(work.layer, m, std::int64_t{m.tile_rows} * m.tile_columns, f);
  f.nram = m.map_buffers * f.map + kResultBuffers * f.result + sums;
  f.wram = m.kernel_buffers * f.kernels;
  const MatrixLayer& largest = *work.layer.largest().layer;
  const CorePart part = largest_part(largest.problem(), largest.grain(), m);
  if (broadcasts(m.kernels) && m.blocks_per_load * m.kernel_buffers < part.blocks.size())
    refuse(p, "kernels are broadcast only when all of a core's stay in its WRAM");
  const int reduction_groups = reduction_groups_of(m.working(chip), m.reduction_parts);
  if (m.reduction_groups() > reduction_groups)
    refuse(
        p,
        fmt::format(
            "{} reduction groups of {} cores, each in one cluster, are more than {}, those that the chip has",
            m.reduction_groups(), m.reduction_parts, reduction_groups));
  if (f.post > chip.core.vector.parameter_bytes)
    refuse(p, fmt::format("post-parameters of the kernels that are loaded together take {} bytes, "
                          "chip.core.vector.parameter_bytes is {}",
                          f.post, chip.core.vector.parameter_bytes));
  if (f.nram > chip.core.nram.size_bytes)
    throw UserError(fmt::format(
        "layer '{}' cannot fit: a tile of {} x {} outputs takes {} x {} bytes of inputs and {} x {} bytes of "
        "results{}, chip.core.nram.size_bytes is {}",
        p.name, m.tile_rows, m.tile_columns, m.map_buffers, f.map, kResultBuffers, f.result,
        sums > 0 ? fmt::format(", and {} bytes for sums of other cores", sums) : "",
        chip.core.nram.size_bytes));
  if (f.wram > chip.core.wram.size_bytes)
    throw UserError(
        fmt::format("layer '{}' cannot fit: {} buffers of {} bytes for the kernels of {} blocks, "
                    "chip.core.wram.size_bytes is {}",
                    p.name, m.kernel_buffers, f.kernels, m.blocks_per_load, chip.core.wram.size_bytes));
  return f;
}

}  // namespace tilebeat
