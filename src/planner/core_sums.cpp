#include "core_sums.h"

#include "tilebeat/base/math.h"

#include <algorithm>
#include <utility>

#include "result_stores.h"

namespace tilebeat {
namespace {

constexpr int kSumBytes = 4;

// Pixels [begin, end) of a tile, row by row, as up to three rectangles of it, each with its first pixel.
std::vector<std::pair<OutputTile, int>> rectangles_of(const OutputTile& tile, Interval pixels) {
  std::vector<std::pair<OutputTile, int>> rectangles;
  const int width = tile.w.outs;
  for (int at = pixels.begin; at < pixels.end;) {
    const int column = at % width;
    const bool whole_rows = column == 0 && pixels.end - at >= width;
    const int columns = whole_rows ? width : std::min(width - column, pixels.end - at);
    const int rows = whole_rows ? (pixels.end - at) / width : 1;
    OutputTile part = tile;
    part.h.out += at / width, part.h.outs = rows;
    part.w.out += column, part.w.outs = columns;
    rectangles.emplace_back(part, at);
    at += rows * columns;
  }
  return rectangles;
}

std::uint64_t bytes_of_sums(std::int64_t sums) {
  return static_cast<std::uint64_t>(sums * kSumBytes);
}

// Of one pass over the elements: the lanes, the operands' bytes through the bus and the results'.
TaskCost vector_cost(const VectorRun& run, const ChipConfig& chip) {
  const double elements = static_cast<double>(run.rows) * run.columns * run.channels;
  const double width = chip.core.bus.bytes_per_clock;
  constexpr double kStart = 16;
  TaskCost cost;
  cost.cycles = kStart + std::max(elements / chip.core.vector.lanes, elements * kSumBytes / width);
  cost.latency = kStart + chip.core.vector.latency_cycles;
  return cost;
}

}  // namespace

void CoreSums::add_streams(Staging& staging, const std::vector<int>& cores, int others) {
  if (!work_.layer.adds_sums()) return;
  const LayerMapping& m = work_.mapping;
  if (work_.layer.post_parameters != 0 && m.kernels != DataPath::kDirect)
    post_streams_[cores.front() / work_.chip().cores_per_cluster] = staging.add_stream(footprint_.post, 2);
  const int of_core = 2 * (work_.layer.cores() - 1);
  const std::int64_t bytes =
      std::min(footprint_.slice, staging.share(others + of_core * static_cast<int>(cores.size())));
  const int loads =
      ceil_div(largest_part_of(work_.layer.problem.kernel_blocks(), m.kernel_parts, 1), m.blocks_per_load);
  for (const int core : cores) {
    Buffers& buffers = buffers_[core];
    buffers.stream = staging.add_stream(bytes, of_core);
    buffers.slices = BufferRing(graph_, BufferRole::kResult, slice_buffers(work_.layer.cores()));
    buffers.results = BufferRing(graph_, BufferRole::kResult, kResultBuffers);
    buffers.post = BufferCache<int>(graph_, BufferRole::kKernels, loads);
  }
}

std::vector<CoreSums::Result> CoreSums::add(Staging& staging, const std::vector<Member>& team,
                                            const OutputTile& tile, Interval blocks) {
  const Problem& p = work_.layer.problem;
  const int cores = work_.layer.cores(), pixels = tile.h.outs * tile.w.outs;
  const std::int64_t kernels = p.kernels_of(blocks);
  std::vector<Interval> slices;
  for (int core = 0; core < cores; ++core) slices.push_back(part_of(pixels, cores, core, 1));
  // In every round a core sends one slice and receives one.
  std::vector<std::vector<BufferRing::Filling>> received(team.size());
  for (int distance = 1; distance < cores; ++distance) {
    for (std::size_t to = 0; to < team.size(); ++to) {
      if (slices[to].empty()) continue;
      const Member& sender = team[(to + static_cast<std::size_t>(distance)) % team.size()];
      const BufferRing::Filling filling = buffers_.at(team[to].core).slices.next();
      received[to].push_back(filling);
      const Transfer transfer{sender.address + bytes_of_sums(slices[to].begin * kernels),
                              team[to].place.nram + slice_offset(filling.place),
                              one_run(slices[to].size() * kernels * kSumBytes)};
      staging.pass(buffers_.at(sender.core).stream, transfer, sender.place.processor, sender.sums.read(),
                   team[to].place.processor, filling.write());
    }
  }
  std::vector<Result> results(team.size());
  for (std::size_t i = 0; i < team.size(); ++i) {
    if (slices[i].empty()) continue;
    const BufferRing::Filling filling = add_up(staging, team[i], slices[i], blocks, received[i]);
    results[i].read = filling.read();
    const std::uint64_t begin = team[i].place.nram + result_offset(filling.place);
    for (const auto& [part, first] : rectangles_of(tile, slices[i])) {
      const auto before = static_cast<std::uint64_t>((first - slices[i].begin) * kernels * p.element_bytes());
      for (const Transfer& transfer : store_transfers(p, work_.output, part, blocks, begin + before))
        results[i].transfers.push_back(transfer);
    }
  }
  return results;
}

// A slice's results: what is received is added to the core's own sums, in the order of the cores behind it.
BufferRing::Filling CoreSums::add_up(Staging& staging, const Member& core, Interval pixels, Interval blocks,
                                     const std::vector<BufferRing::Filling>& received) {
  const Problem& p = work_.layer.problem;
  const auto first = bytes_of_sums(std::int64_t{pixels.begin} * p.kernels_of(blocks));
  VectorRun run;
  run.kind = VectorKind::kAddSums;
  run.a_type = run.b_type = run.out_type = DType::kInt32;
  run.a = static_cast<std::uint32_t>(core.address - core.place.nram + first);
  run.rows = 1, run.columns = narrow(p, pixels.size(), "pixels of a core");
  run.channels = narrow(p, p.kernels_of(blocks), "kernels");
  Access sums = core.sums.read();
  for (std::size_t i = 0; i + 1 < received.size(); ++i) {
    run.b = run.destination = slice_offset(received[i].place);
    add_task(core, run, {sums, {received[i].buffer, received[i].version, AccessKind::kAccumulate}});
    run.a = run.destination;
    sums = received[i].read();
  }
  const BufferRing::Filling result = buffers_.at(core.core).results.next();
  AccessList accesses{sums, received.back().read(), result.write()};
  run.b = slice_offset(received.back().place), run.destination = result_offset(result.place);
  if (work_.layer.post_parameters != 0) {
    const Post post = load_post(staging, core, blocks);
    accesses.push_back(post.read);
    run.kind = VectorKind::kEndSums;
    run.out_type = p.output.dtype;
    run.out_zero = static_cast<std::int16_t>(conv_setup(p).output_zero_point);
    run.parameters = post.offset;
  }
  add_task(core, run, std::move(accesses));
  return result;
}

// Those of a load of kernels stay where they are.
CoreSums::Post CoreSums::load_post(Staging& staging, const Member& core, Interval blocks) {
  const Problem& p = work_.layer.problem;
  const auto use = buffers_.at(core.core).post.use(blocks.begin);
  const std::uint32_t offset =
      offset_of(use.filling.place, footprint_.post,
                slice_buffers(work_.layer.cores()) * footprint_.slice + kResultBuffers * footprint_.ended);
  const Post post{offset, use.filling.read()};
  if (!use.load) return post;
  const std::uint64_t bounds = work_.layer.post_parameters, to = core.place.nram + offset;
  const std::uint64_t records =
      bounds + kActivationBytes +
      static_cast<std::uint64_t>(blocks.begin) * p.block_kernels * kPostParameterBytes;
  const std::vector<Transfer> transfers{
      {bounds, to, one_run(kActivationBytes)},
      {records, to + kActivationBytes, one_run(std::int64_t{p.kernels_of(blocks)} * kPostParameterBytes)}};
  loaded_bytes_ += bytes_of(transfers);
  if (work_.mapping.kernels == DataPath::kDirect) {
    copies_.add(core.place.processor, Unit::kIodma, transfers, {use.filling.write()});
  } else {
    staging.load(post_streams_.at(core.core / work_.chip().cores_per_cluster),
                 {{core.place.processor, transfers, {use.filling.write()}}});
  }
  return post;
}

void CoreSums::add_task(const Member& core, const VectorRun& run, AccessList accesses) {
  Task task;
  task.processor = core.place.processor;
  task.instruction.operation = run;
  task.accesses = std::move(accesses);
  task.cost = vector_cost(run, work_.chip());
  graph_.add(std::move(task));
}

// Behind maps and sums of the core's own lie slices of others, results and post-parameters.
std::uint32_t CoreSums::offset_of(int place, std::int64_t bytes, std::int64_t before) const {
  return static_cast<std::uint32_t>(work_.mapping.map_buffers * footprint_.map +
                                    kResultBuffers * footprint_.result + before + place * bytes);
}
std::uint32_t CoreSums::slice_offset(int place) const {
  return offset_of(place, footprint_.slice, 0);
}
std::uint32_t CoreSums::result_offset(int place) const {
  return offset_of(place, footprint_.ended, slice_buffers(work_.layer.cores()) * footprint_.slice);
}

}  // namespace tilebeat
