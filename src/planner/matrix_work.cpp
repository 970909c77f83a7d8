#include "matrix_work.h"

#include "tilebeat/base/error.h"
#include "tilebeat/base/math.h"

#include <algorithm>

#include <fmt/format.h>

#include "processors.h"

namespace tilebeat {
namespace {

std::int64_t map_bytes(const MatrixLayer& layer, const LayerMapping& m) {
  const Problem& p = layer.problem();
  return align_up(p.axis_h().span(m.tile_rows) * layer.ifm_row_bytes(p.axis_w().inner(m.tile_columns)),
                  kBufferAlignment);
}

std::int64_t result_bytes(const MatrixLayer& layer, const LayerMapping& m) {
  const Problem& p = layer.problem();
  const int kernels = std::min(m.blocks_per_load * p.block_kernels, p.conv.out_channels);
  return align_up(std::int64_t{m.tile_rows} * m.tile_columns * kernels * p.element_bytes(), kBufferAlignment);
}

}  // namespace

CorePart part_of_core(const Problem& p, const Grain& grain, const LayerMapping& m, int core) {
  const int of_rows = core / (m.column_parts * m.kernel_parts);
  return {part_of(p.out_height, m.row_parts, of_rows % m.row_parts, grain.rows),
          part_of(p.out_width, m.column_parts, core / m.kernel_parts % m.column_parts, grain.columns),
          part_of(p.kernel_blocks(), m.kernel_parts, core % m.kernel_parts, 1),
          part_of(p.batch, m.image_parts, of_rows / m.row_parts, 1)};
}

CorePart largest_part(const Problem& p, const Grain& grain, const LayerMapping& m) {
  return {{0, largest_part_of(p.out_height, m.row_parts, grain.rows)},
          {0, largest_part_of(p.out_width, m.column_parts, grain.columns)},
          {0, largest_part_of(p.kernel_blocks(), m.kernel_parts, 1)},
          {0, largest_part_of(p.batch, m.image_parts, 1)}};
}

MatrixJob largest_job(const MatrixLayer& layer, const LayerMapping& m) {
  const Problem& p = layer.problem();
  MatrixJob job;
  job.tile = {0, p.axis_h().inner(m.tile_rows), p.axis_w().inner(m.tile_columns)};
  job.blocks = {0, std::min(m.blocks_per_load, p.kernel_blocks())};
  job.reduction = {part_of(p.channels, m.channel_parts, 0, layer.grain().channels), true,
                   m.channel_parts == 1};
  return job;
}

std::int64_t group_bytes(const MatrixLayer& layer, const WeightPlace& weights, const LayerMapping& m) {
  std::int64_t most = 0;
  const Grain grain = layer.grain();
  for (const KernelGroup& group :
       kernel_groups(layer.problem(), m, grain, {0, layer.problem().kernel_blocks()}))
    most = std::max(most, buffer_bytes(layer, weights, group));
  return most;
}

Footprint footprint_of(const MatrixWork& work) {
  const LayerMapping& m = work.mapping;
  const ChipConfig& chip = work.chip();
  Footprint f;
  f.map = map_bytes(work.layer, m), f.result = result_bytes(work.layer, m);
  f.kernels = group_bytes(work.layer, work.weights, m);
  f.nram = m.map_buffers * f.map + kResultBuffers * f.result;
  f.wram = m.kernel_buffers * f.kernels;
  const std::string& name = work.layer.problem().name;
  const Problem& p = work.layer.problem();
  const CorePart part = largest_part(p, work.layer.grain(), m);
  const auto refuse = [&](const std::string& why) {
    throw UserError(fmt::format("layer '{}' cannot be mapped so: {}", name, why));
  };
  if (m.channel_parts > 1 && !work.layer.reduces())
    refuse("the engine does not add up parts of the channels");
  if (m.channel_parts > ceil_div(p.channels, work.layer.grain().channels))
    refuse(fmt::format("{} parts of {} channels", m.channel_parts, p.channels));
  const Grain grain = work.layer.grain();
  if (m.channel_parts > 1 && (m.tile_rows > grain.rows || m.tile_columns > grain.columns))
    refuse(fmt::format("parts of the channels are added up for {} x {} outputs at a time, tiles have {} x {}",
                       grain.rows, grain.columns, m.tile_rows, m.tile_columns));
  if (m.channel_parts > 1 && m.blocks_per_load > 1)
    refuse("parts of the channels need a load for every kernel block (blocks_per_load 1)");
  if (m.kernels == DataPath::kBroadcast && m.blocks_per_load * m.kernel_buffers < part.blocks.size())
    refuse("kernels are broadcast only when all of a core's stay in its WRAM");
  if (f.nram > chip.core.nram.size_bytes)
    throw UserError(fmt::format(
        "layer '{}' cannot fit: a tile of {} x {} outputs takes {} x {} bytes of inputs and {} x {} bytes of "
        "results, chip.core.nram.size_bytes is {}",
        name, m.tile_rows, m.tile_columns, m.map_buffers, f.map, kResultBuffers, f.result,
        chip.core.nram.size_bytes));
  if (f.wram > chip.core.wram.size_bytes)
    throw UserError(
        fmt::format("layer '{}' cannot fit: {} buffers of {} bytes for the kernels of {} blocks, "
                    "chip.core.wram.size_bytes is {}",
                    name, m.kernel_buffers, f.kernels, m.blocks_per_load, chip.core.wram.size_bytes));
  return f;
}

}  // namespace tilebeat
