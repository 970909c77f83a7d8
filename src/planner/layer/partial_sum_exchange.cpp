#include "planner/layer/partial_sum_exchange.h"

#include "base/types.h"

#include <algorithm>
#include <utility>

namespace tilebeat {
namespace {

constexpr int kSumBytes = 4;

// Pixels [begin, end) of a tile, in row order, as up to three rectangles, each with the number of its first
// pixel.
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
  return to_unsigned(sums * kSumBytes);
}

// The cost of one pass over the elements: lanes, and bytes of operands and results on the core's bus.
TaskCost vector_cost(const VectorRun& run, const ChipConfig& chip) {
  const double elements =
      static_cast<double>(run.rows) * static_cast<double>(run.columns) * static_cast<double>(run.channels);
  const double width = chip.core.bus.bytes_per_clock;
  constexpr double kStart = 16;
  TaskCost cost;
  cost.cycles = kStart + std::max(elements / chip.core.vector.lanes, elements * kSumBytes / width);
  cost.latency = kStart + chip.core.vector.latency_cycles;
  return cost;
}

}  // namespace

void PartialSumExchange::add_streams(Staging& staging, const std::vector<int>& cores, int buffers,
                                     std::int64_t bytes) {
  for (const int core : cores) {
    Buffers& made = buffers_[core];
    made.stream = staging.add_stream(bytes, buffers);
    made.slices = BufferRing(graph_, BufferRole::kResult, room_.slices);
    made.results = BufferRing(graph_, BufferRole::kResult, kEndedBuffers);
  }
}

std::vector<PartialSumExchange::Result> PartialSumExchange::add(Staging& staging,
                                                                const std::vector<Member>& reduction_group,
                                                                const Sums& sums) {
  const Problem& p = sums.problem;
  const int cores = count_of(reduction_group), pixels = sums.tile.h.outs * sums.tile.w.outs;
  const std::int64_t kernels = p.kernels_of(sums.blocks);
  std::vector<Interval> slices;
  for (int core = 0; core < cores; ++core) slices.push_back(part_of(pixels, cores, core, 1));
  // In every round a core sends one slice and receives one.
  std::vector<std::vector<BufferRing::Filling>> received(reduction_group.size());
  for (int distance = 1; distance < cores; ++distance) {
    for (std::size_t to = 0; to < reduction_group.size(); ++to) {
      if (slices[to].empty()) continue;
      const Member& sender = reduction_group[(to + to_size(distance)) % reduction_group.size()];
      const BufferRing::Filling filling = buffers_.at(reduction_group[to].core).slices.next();
      received[to].push_back(filling);
      const Transfer transfer{sender.address + bytes_of_sums(slices[to].begin * kernels),
                              reduction_group[to].place.nram + slice_offset(filling.place),
                              one_run(slices[to].size() * kernels * kSumBytes)};
      staging.pass(buffers_.at(sender.core).stream, transfer, sender.place.processor, sender.sums.read(),
                   reduction_group[to].place.processor, filling.write());
    }
  }
  std::vector<Result> results(reduction_group.size());
  for (std::size_t i = 0; i < reduction_group.size(); ++i) {
    if (slices[i].empty()) continue;
    const BufferRing::Filling filling = add_up(reduction_group[i], slices[i], sums, received[i]);
    results[i].read = filling.read();
    const std::uint64_t begin = reduction_group[i].place.nram + result_offset(filling.place);
    for (const auto& [part, first] : rectangles_of(sums.tile, slices[i])) {
      const auto before = to_unsigned((first - slices[i].begin) * kernels * p.element_bytes());
      results[i].parts.push_back({part, begin + before});
    }
  }
  return results;
}

// The results of a slice: adds the received sums to the core's own, in the order of the cores behind it.
BufferRing::Filling PartialSumExchange::add_up(const Member& core, Interval pixels, const Sums& of,
                                               const std::vector<BufferRing::Filling>& received) {
  const Problem& p = of.problem;
  const auto first = bytes_of_sums(std::int64_t{pixels.begin} * p.kernels_of(of.blocks));
  VectorRun run;
  run.kind = VectorKind::kAddSums;
  run.a_type = run.b_type = run.out_type = DType::kInt32;
  set_field(run.a, core.address - core.place.nram + first);
  run.rows = 1, run.columns = narrow(p, pixels.size(), "pixels of a core");
  run.channels = narrow(p, p.kernels_of(of.blocks), "kernels");
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
  if (of.post) {
    const Post post = of.post(core);
    accesses.push_back(post.read);
    run.kind = VectorKind::kEndSums;
    run.out_type = p.output.dtype;
    set_field(run.out_zero, conv_setup(p).output_zero_point);
    run.parameters = post.offset;
  }
  add_task(core, run, std::move(accesses));
  return result;
}

void PartialSumExchange::add_task(const Member& core, const VectorRun& run, AccessList accesses) {
  Task task;
  task.processor = core.place.processor;
  task.instruction.operation = run;
  task.accesses = std::move(accesses);
  task.cost = vector_cost(run, chip_);
  graph_.add(std::move(task));
}

std::uint32_t PartialSumExchange::slice_offset(int place) const {
  return static_cast<std::uint32_t>(room_.at + place * room_.slice);
}
std::uint32_t PartialSumExchange::result_offset(int place) const {
  return static_cast<std::uint32_t>(room_.at + room_.slices * room_.slice + place * room_.ended);
}

PostLoads::PostLoads(TaskGraph& graph, const MatrixWork& work, const Footprint& footprint, std::int64_t at)
    : graph_(graph), work_(work), at_(at), buffer_bytes_(footprint.post), copies_(graph, work.hardware) {}

void PostLoads::add_stream(Staging& staging, const std::vector<int>& cores) {
  const LayerMapping& m = work_.mapping;
  if (work_.layer.post_parameters == 0) return;
  if (m.kernels != DataPath::kDirect)
    streams_[cores.front() / work_.chip().cores_per_cluster] = staging.add_stream(buffer_bytes_, 2);
  const int loads =
      ceil_div(largest_part_of(work_.layer.problem.kernel_blocks(), m.kernel_parts, 1), m.blocks_per_load);
  for (const int core : cores) loaded_[core] = BufferCache<int>(graph_, BufferRole::kKernels, loads);
}

PartialSumExchange::Post PostLoads::load(Staging& staging, const PartialSumExchange::Member& core,
                                         Interval blocks) {
  const auto use = loaded_.at(core.core).use(blocks.begin);
  const auto offset = static_cast<std::uint32_t>(at_ + use.filling.place * buffer_bytes_);
  const PartialSumExchange::Post post{offset, use.filling.read()};
  if (!use.load) return post;
  const std::vector<Transfer> transfers = post_transfers(work_.layer, blocks, core.place.nram + offset);
  bytes_ += bytes_of(transfers);
  if (work_.mapping.kernels == DataPath::kDirect) {
    copies_.add(core.place.processor, Unit::kIodma, transfers, {use.filling.write()});
  } else {
    staging.load(streams_.at(core.core / work_.chip().cores_per_cluster),
                 {{core.place.processor, transfers, {use.filling.write()}}});
  }
  return post;
}

}  // namespace tilebeat
