// Convolutions on the switch arrays of a chip; those on W-fold engines are in chip_wfold.cpp.
#include "chip_conv.h"

#include "tilebeat/engines/switch_array/config.h"

#include <algorithm>

#include <fmt/format.h>

namespace tilebeat {
namespace {

ConvUnit unit_of(const ConvProblem& p, const ArrayShape& array) {
  int widest = 0;
  for (int kb = 0; kb < p.end_block; ++kb) widest = std::max(widest, planes_of(p, array, kb).size());
  const std::int64_t words = std::int64_t{widest} * p.taps();
  return {array.groups, array.lanes(), array.columns, words, words * array.columns * array.port_channels};
}

MemoryPath core_path(const ChipConfig& chip) {
  const int bus = chip.core.bus.bytes_per_clock;
  return {bus, static_cast<double>(bus), 1, chip.core.bus.request_cycles};
}

Segment segment_of(const ChipConv& conv, const ConvStep& step, const ConvTiling& tiling) {
  Segment segment;
  segment.problem = tile_problem(conv.problem, step.tile);
  segment.problem.first_block = step.blocks.begin, segment.problem.end_block = step.blocks.end;
  segment.tiles = tiles_of(segment.problem, tiling);
  segment.input = dense_place(step.map, step.tile.h.ins, step.tile.w.ins, conv.problem.channels);
  segment.output = dense_place(step.result, step.tile.h.outs, step.tile.w.outs,
                               std::int64_t{step.kernels} * conv.element_bytes());
  segment.kernels = step.packed, segment.post = step.post;
  segment.map_load = step.map_load, segment.kernel_load = step.kernel_load;
  segment.tokens = step.tokens;
  return segment;
}

}  // namespace

ChipWork plan_chip_conv(PlanBuilder& builder, const Layer& layer, LayerPlan& made) {
  const HardwareConfig& hardware = builder.hardware;
  const ArrayShape array = array_shape(hardware.engine<SwitchArrayConfig>());
  const ConvProblem p = make_problem(builder.workload, layer, hardware.planner, array.columns);
  const ChipConv conv{p, hardware, unit_of(p, array)};
  made.macs = useful_macs(builder.workload, layer);
  made.bound = bound_of(p, layer, made.macs, hardware);
  made.output_bytes = p.output.size_bytes();

  const Split split = choose_split(conv);
  ConvBuffers buffers;
  choose_tile(conv, split, buffers);
  const NramTile tile{0, inner_h(p, buffers.tile_rows), inner_w(p, buffers.tile_columns)};
  made.tiling = choose_tiling(tile_problem(p, tile), hardware, core_path(conv.chip()), made.reason);
  const PlacedKernels placed = place_kernels(builder, p, made.tiling);
  const KernelPlace kernels{placed.address, placed.packed.blocks, placed.post,
                            std::int64_t{array.columns} * kPostParameterBytes};
  choose_group(conv, split, kernels, buffers);
  const ConvWays ways = choose_ways(conv, split, buffers);
  made.mapping = mapping_text(conv, split, buffers, ways, "kernel blocks");

  ChipWork work;
  work.ways = ways.ways;
  work.sram_bytes = ways.broadcast ? 2 * buffers.kernel_bytes : 0;
  const std::uint64_t input = builder.plan.tensors.at(layer.inputs.front()).address,
                      output = builder.plan.tensors.at(layer.name).address;
  for (int core = 0; core < split.cores(); ++core) {
    CoreSteps made_steps = steps_of_core(conv, part_of_core(conv, split, core), core, buffers, kernels, input,
                                         output, ways.broadcast);
    if (!made_steps.steps.empty()) {
      std::vector<Segment> segments;
      for (const ConvStep& step : made_steps.steps) segments.push_back(segment_of(conv, step, made.tiling));
      made.chunks += static_cast<std::int64_t>(chunks_of(segments, hardware, made.tiling).size());
      made_steps.work.steps = lower_segments(segments, hardware, made.tiling, placed.packed);
    }
    work.cores.push_back(std::move(made_steps.work));
  }
  for (int cluster = 0; ways.broadcast && cluster < conv.chip().clusters; ++cluster)
    work.memory.push_back(broadcast_kernels(conv, split, buffers, kernels, cluster, made));
  return work;
}

}  // namespace tilebeat
