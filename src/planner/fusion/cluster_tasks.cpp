#include "planner/fusion/cluster_tasks.h"

#include "base/types.h"
#include "isa/address_map.h"
#include "planner/language/relayout.h"
#include "planner/layer/estimate.h"
#include "planner/layer/matrix_work.h"
#include "planner/layer/operand_transfers.h"
#include "planner/layer/placement.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace tilebeat {
namespace {

// Fractions of NRAM without the factors: each of two operand buffers, each of two result buffers, all buffers
// for partial sums of other cores, and all tensors of pyramids.
struct Fractions {
  double operands = 0.3, results = 0.2, slices = 0, inner = 0;
};
constexpr Fractions kPlain, kSums{0.25, 0.12, 0.26, 0}, kPyramids{0.2, 0.12, 0, 0.36},
    kSumsAndPyramids{0.15, 0.08, 0.18, 0.36};
constexpr int kBuffers = 2;
// Bytes of the SRAM for partial sums on their way between cores.
constexpr std::int64_t kSumsInSram = 131072;

}  // namespace

ClusterTasks::ClusterTasks(TaskGraph& graph, const GroupWork& work, ClusterRows rows,
                           const std::vector<MostOutputs>& most, std::vector<Pyramid>& pyramids,
                           PlannedUse& use, std::optional<std::int64_t> sram)
    : graph_(graph),
      work_(work),
      unit_(work.graph),
      chip_(*work.hardware.chip),
      cluster_(rows.cluster),
      memory_(processor_of_memory(chip_, rows.cluster)),
      rows_(std::move(rows)),
      use_(use),
      axes_(row_axes(work.workload, work.graph)),
      column_axes_(row_axes(work.workload, work.graph, MapAxis::kColumns)),
      copies_(graph, work.hardware),
      staging_(graph, work.hardware, cluster_, unit_.layers.front().layer->name),
      weights_(graph, work),
      pyramids_(pyramids) {
  make_cores();
  if (!pyramids_.empty()) make_pyramids(most, pyramids);
  if (!sram)
    hold_tensors();
  else if (*sram > 0)
    staging_.reserve(*sram, "what the layer before takes");
  weights_.split(most, {1, 1, work_.cores, operand_bytes_, result_bytes_, slice_bytes_}, fixed_mappings());
  if (!sram && largest_reduction_group_ > 1) make_sums();
  list_steps();
  use.wram = std::max(use.wram, weights_.kernel_bytes());
}

void ClusterTasks::begin(int number) {
  step_ = nth(steps_, number);
  if (step_.step == 0) {
    for (std::size_t t = 0; t < held_.size(); ++t) {
      if (held_[t]) held_[t]->begin_strip(columns(to_int(t)).begin);
    }
  }
  for (std::size_t t = 0; t < unit_.tensors.size(); ++t) {
    if (unit_.tensors[t].producer >= 0) continue;
    for (int i = 0; i < part().images; ++i) fetch(to_int(t), part().image + i, made(to_int(t)));
  }
}

void ClusterTasks::end() {
  const int output = unit_.output();
  const std::optional<RowBuffer>& held = nth(held_, output);
  const Interval rows = made(output), across = columns(output);
  if (!held || rows.empty() || across.empty()) return;
  for (int i = 0; i < part().images; ++i) {
    for (const Interval some : some_rows(output, global(output, part().image + i, rows))) {
      Transfer transfer = rows_between(output, some);
      std::swap(transfer.source, transfer.destination);
      copies_.add(memory_, Unit::kGdma,
                  relaid(nth(work_.stored, output), held->placed(transfer, TransferEnd::kSource),
                         TransferEnd::kDestination),
                  held->accesses(some, AccessKind::kRead));
    }
  }
}

bool ClusterTasks::makes(std::size_t l) const {
  const int output = unit_.layers[l].output;
  return !made(output).empty() && !columns(output).empty();
}

void ClusterTasks::make_sums() {
  const SumsRoom room{operands_at_ + kBuffers * (operand_bytes_ + result_bytes_),
                      slice_buffers(largest_reduction_group_), slice_bytes_, slice_bytes_};
  sums_.emplace(graph_, chip_, room);
  std::vector<int> cores;
  for (const Core& core : cores_) cores.push_back(core.number);
  const int of_core = 2 * (largest_reduction_group_ - 1), all = of_core * work_.cores;
  const std::int64_t bytes = align_up(ceil_div(kSumsInSram, std::int64_t{all}), kBufferAlignment);
  // Takes at most half of the free SRAM: kernels pass through the rest.
  sums_->add_streams(staging_, cores, of_core, std::min({slice_bytes_, bytes, staging_.share(2 * all)}));
}

void ClusterTasks::make_cores() {
  operands_at_ = align_up(weights_.factor_bytes(), kBufferAlignment);
  const double room = static_cast<double>(chip_.core.nram.size_bytes - operands_at_);
  const auto share = [&](double part) {
    return static_cast<std::int64_t>(std::max(0.0, room * part)) / kBufferAlignment * kBufferAlignment;
  };
  largest_reduction_group_ = work_.largest_reduction_group();
  const bool reduction_groups = largest_reduction_group_ > 1;
  const bool pyramids = !pyramids_.empty();
  const Fractions of = pyramids           ? (reduction_groups ? kSumsAndPyramids : kPyramids)
                       : reduction_groups ? kSums
                                          : kPlain;
  operand_bytes_ = share(of.operands), result_bytes_ = share(of.results), inner_bytes_ = share(of.inner);
  if (reduction_groups)
    slice_bytes_ = share(of.slices / (slice_buffers(largest_reduction_group_) + kEndedBuffers));
  for (int c = 0; c < work_.cores; ++c) {
    Core core(graph_, copies_, chip_, cluster_ * chip_.cores_per_cluster + c);
    core.operands = BufferRing(graph_, BufferRole::kMap, kBuffers);
    core.results = BufferRing(graph_, BufferRole::kResult, kBuffers);
    core.unit = graph_.add_buffer(BufferRole::kParameters);
    cores_.push_back(std::move(core));
  }
}

std::int64_t ClusterTasks::nram_bytes() const {
  const int slices =
      largest_reduction_group_ > 1 ? slice_buffers(largest_reduction_group_) + kEndedBuffers : 0;
  return operands_at_ + kBuffers * (operand_bytes_ + result_bytes_) + slices * slice_bytes_ + inner_bytes_;
}

void ClusterTasks::hold_tensors() {
  std::vector<std::int64_t> live, step;
  std::int64_t bytes = 0;
  for (std::size_t t = 0; t < unit_.tensors.size(); ++t) {
    const auto tensor = to_int(t);
    const bool direct = tensor == unit_.output() && work_.results == DataPath::kDirect;
    const bool elsewhere = direct || cores_.front().held.count(tensor) > 0;
    const int rows = elsewhere                  ? 0
                     : tensor == unit_.output() ? rows_.most_made(tensor)
                                                : rows_.most_live(tensor);
    const bool several = rows_.schedules.size() > 1 || rows_.schedules.front().steps() > 1;
    live.push_back(rows), step.push_back(rows > 0 && several ? rows_.most_made(tensor) : 0);
    bytes += align_up((live.back() + step.back()) * held_row(tensor).place_bytes(), kBufferAlignment);
  }
  constexpr std::int64_t kWeights = 131072;  // bytes of kernels that pass through the SRAM
  const std::int64_t sums = largest_reduction_group_ > 1 ? kSumsInSram : 0;
  const bool roomy = bytes + kWeights + sums <= chip_.sram_bytes();
  for (std::size_t t = 0; t < unit_.tensors.size(); ++t) {
    held_.emplace_back();
    if (live[t] == 0) continue;
    const GroupTensor& tensor = unit_.tensors[t];
    const int rows = to_int(live[t] + (roomy ? step[t] : 0));
    const BufferedRow row = held_row(to_int(t));
    const std::uint64_t address =
        staging_.reserve(rows * row.place_bytes(), fmt::format("{} rows of '{}'", rows, tensor.name));
    held_.back().emplace(graph_, address_of(to_int(t)), address, row, rows);
  }
}

BufferedRow ClusterTasks::held_row(int tensor) const {
  const GroupTensor& of = nth(unit_.tensors, tensor);
  return {of.pixel_bytes(), of.row_bytes(), rows_.most_columns(tensor)};
}

void ClusterTasks::list_steps() {
  for (std::size_t p = 0; p < rows_.parts.size(); ++p) {
    for (int step = 0; step < rows_.schedules[p].steps(); ++step) steps_.push_back({p, step});
  }
}

void ClusterTasks::run_layer(std::size_t l, int portion, int image) {
  const Region outs = made_region(l);
  if (work_.layers[l].matrix != nullptr)
    run_matrix(l, portion, image, outs);
  else
    run_vector(l, image, outs);
}

Interval ClusterTasks::global(int tensor, int image, Interval rows) const {
  const int first = image * nth(unit_.tensors, tensor).height();
  return {first + rows.begin, first + rows.end};
}

void ClusterTasks::fetch(int number, int image, Interval rows) {
  if (rows.empty() || columns(number).empty()) return;
  RowBuffer& held = *nth(held_, number);
  const Interval all = global(number, image, rows);
  held.make(all);
  for (const Interval some : some_rows(number, all)) {
    const Transfer transfer = rows_between(number, some);
    use_.bytes.maps += transfer.shape.bytes();
    copies_.add(memory_, Unit::kGdma,
                relaid(nth(work_.stored, number), held.placed(transfer, TransferEnd::kDestination),
                       TransferEnd::kSource),
                held.accesses(some, AccessKind::kWrite));
  }
}

std::vector<Interval> ClusterTasks::some_rows(int number, Interval rows) const {
  constexpr std::int64_t kAtATime = 16384;  // bytes
  const std::int64_t row_bytes = nth(unit_.tensors, number).pixel_bytes() * columns(number).size();
  const auto some = to_int(std::max<std::int64_t>(1, kAtATime / row_bytes));
  std::vector<Interval> parts;
  for (int row = rows.begin; row < rows.end; row += some)
    parts.push_back({row, std::min(rows.end, row + some)});
  return parts;
}

Transfer ClusterTasks::rows_between(int number, Interval rows) const {
  const GroupTensor& tensor = nth(unit_.tensors, number);
  const std::int64_t row = tensor.row_bytes(), pixel = tensor.pixel_bytes();
  const Interval across = columns(number);
  Transfer transfer;
  const std::int64_t offset = rows.begin * row + across.begin * pixel;
  transfer.source = nth(work_.addresses, number) + to_unsigned(offset);
  transfer.destination = nth(held_, number)->origin() + to_unsigned(offset);
  if (across.size() == tensor.map.width) {
    transfer.shape = one_run(rows.size() * row);
  } else {
    transfer.shape = one_run(across.size() * pixel);
    transfer.shape.rows = rows.size();
    transfer.shape.source_row = transfer.shape.destination_row = row;
  }
  return transfer;
}

void ClusterTasks::run_matrix(std::size_t l, int portion, int image, const Region& outs) {
  const ShardedLayer& layer = *work_.layers[l].matrix;
  const Problem& p = layer.problem;
  const LayerMapping& m = weights_.mapping(l);
  const Grain grain = layer.shards.front().layer->grain();
  const Interval rows = axes_[l].front().outputs_of(outs.rows);
  const Interval across = column_axes_[l].front().outputs_of(outs.columns);
  for (int t = 0; t < m.reduction_groups(); ++t) {
    Interval of_rows = part_of(rows.size(), m.row_parts, t / (m.column_parts * m.kernel_parts), grain.rows);
    of_rows = {rows.begin + of_rows.begin, rows.begin + of_rows.end};
    Interval of_columns =
        part_of(across.size(), m.column_parts, t / m.kernel_parts % m.column_parts, grain.columns);
    of_columns = {across.begin + of_columns.begin, across.begin + of_columns.end};
    std::vector<Worker> reduction_group = reduction_group_of(l, t, portion);
    if (reduction_group.front().groups.empty()) continue;
    for (int r = of_rows.begin; r < of_rows.end; r += m.tile_rows) {
      for (int x = of_columns.begin; x < of_columns.end; x += m.tile_columns) {
        const OutputTile tile{image, p.axis_h().window({r, std::min(of_rows.end, r + m.tile_rows)}),
                              p.axis_w().window({x, std::min(of_columns.end, x + m.tile_columns)})};
        run_tile(l, reduction_group, tile, outs);
      }
    }
  }
}

std::vector<ClusterTasks::Worker> ClusterTasks::reduction_group_of(std::size_t l, int reduction_group,
                                                                   int portion) {
  const LayerMapping& m = weights_.mapping(l);
  std::vector<Worker> workers(to_size(m.reduction_parts));
  for (std::size_t shard = 0; shard < workers.size(); ++shard) {
    Worker& worker = workers[shard];
    worker.core = &cores_[to_size(reduction_group) * workers.size() + shard];
    worker.shard = &work_.layers[l].matrix->shards[shard];
    worker.cut = &weights_.cut(l, shard);
    for (const GroupWeights::Group& group : weights_.groups(l)) {
      if (group.shard == shard && group.part == reduction_group % m.kernel_parts && group.portion == portion)
        worker.groups.push_back(&group);
    }
  }
  return workers;
}

void ClusterTasks::run_tile(std::size_t l, std::vector<Worker>& reduction_group, const OutputTile& tile,
                            const Region& outs) {
  const Region made{{tile.h.out, tile.h.out + tile.h.outs}, {tile.w.out, tile.w.out + tile.w.outs}};
  const std::vector<const GroupWeights::Group*>& groups = reduction_group.front().groups;
  const auto read = [&](const GroupWeights::Group* group) {
    return sees(l, tile.image, made, group->group.blocks);
  };
  if (std::none_of(groups.begin(), groups.end(), read)) return hide(l, tile, groups);
  for (Worker& worker : reduction_group) {
    worker.map.reset(), worker.in_place = nullptr, worker.map_at = worker.core->place.nram;
    if (tile.padding_only()) continue;
    worker.in_place = map_in_place(l, *worker.core, tile);
    if (worker.in_place != nullptr) {
      worker.map_at = worker.in_place->address();
      continue;
    }
    worker.map = worker.core->operands.next();
    worker.map_at += to_unsigned(operands_at_ + worker.map->place * operand_bytes_);
    load_map(l, worker, tile);
  }
  for (std::size_t group = 0; group < groups.size(); ++group) {
    if (!read(groups[group])) {
      hide(l, tile, {groups[group]});
      continue;
    }
    if (reduction_group.size() == 1) {
      const Computed result = compute(l, reduction_group.front(), group, tile);
      if (result.in_place) continue;
      store_tile(l, *reduction_group.front().core,
                 {tile, reduction_group.front().groups[group]->group.blocks, result.address,
                  result.buffer.read(), outs});
      continue;
    }
    std::vector<Computed> sums;
    for (const Worker& worker : reduction_group) sums.push_back(compute(l, worker, group, tile));
    end_sums(l, reduction_group, group, sums, tile, outs);
  }
}

void ClusterTasks::hide(std::size_t l, const OutputTile& tile,
                        const std::vector<const GroupWeights::Group*>& groups) {
  const Problem& p = work_.layers[l].matrix->problem;
  for (const GroupWeights::Group* group : groups)
    use_.hidden_macs +=
        std::int64_t{tile.h.outs} * tile.w.outs * p.kernels_of(group->group.blocks) * p.channels;
}

ClusterTasks::Computed ClusterTasks::compute(std::size_t l, const Worker& worker, std::size_t group,
                                             const OutputTile& tile) {
  const GroupWeights::Group& placed = *worker.groups[group];
  Core& core = *worker.core;
  const NramPart* const part = results_in_place(l, worker, tile);
  const BufferRing::Filling result = part == nullptr ? core.results.next() : BufferRing::Filling{};
  JobPlaces places;
  places.map = worker.map_at;
  if (worker.map) places.map_reads = {worker.map->read()};
  if (worker.in_place != nullptr) places.map_reads = {worker.in_place->access(AccessKind::kRead)};
  places.kernels = core.place.wram + weights_.offset_of(l, placed);
  places.kernels_read = weights_.read(l, placed, core.number % chip_.cores_per_cluster);
  places.result = part != nullptr ? part->address() : result_address(core, result);
  places.result_write = part != nullptr ? part->access(AccessKind::kWrite) : result.write();
  add_job(l, worker, job_of(*worker.shard, tile, placed.group, places));
  return {result, places.result, part != nullptr};
}

void ClusterTasks::add_job(std::size_t l, const Worker& worker, const MatrixJob& job) {
  Core& core = *worker.core;
  if (!core.lowering || core.lowered != l) {
    graph_.also(Access{core.unit, core.turns++, AccessKind::kWrite});
    core.lowering = lowering_of(l, worker);
    core.lowered = l;
  }
  graph_.also(Access{core.unit, core.turns - 1, AccessKind::kRead});
  core.lowering->add(job);
  graph_.also({});
}

std::unique_ptr<MatrixLowering> ClusterTasks::lowering_of(std::size_t l, const Worker& worker) {
  const std::int64_t jobs = std::int64_t{steps()} * count_of(unit_.layers) * chip_.cores();  // at least
  // With a task per job, slots of streamed kernels would be free too late.
  if (!work_.for_estimate || weights_.streamed() || jobs <= kFewJobs)
    return worker.shard->layer->lower(graph_, worker.core->place, *worker.cut);
  JobCosts& costs =
      job_costs_
          .try_emplace(worker.shard, *worker.shard, *worker.cut,
                       largest_job(*worker.shard->layer, weights_.mapping(l)), worker.groups.size() == 1)
          .first->second;
  return coarse_lowering(graph_, worker.core->place, costs);
}

void ClusterTasks::load_map(std::size_t l, Worker& worker, const OutputTile& tile) {
  Core& core = *worker.core;
  const int input = unit_.layers[l].inputs.front();
  const HeldTensor& held = *held_for(core, input);
  TensorLayout channels = worker.shard->input;
  channels.address += held.origin();
  const MapLoad load = worker.shard->layer->load_map(tile, channels, worker.map_at);
  core.begin_map(load, *worker.map);
  AccessList accesses =
      held.accesses(global(input, tile.image, {tile.h.in, tile.h.in + tile.h.ins}), AccessKind::kRead);
  accesses.push_back(CoreLane::map_access(load, *worker.map));
  for (const Transfer& transfer : load.transfers)
    core.copy(Unit::kMvdma, held.placed(transfer, TransferEnd::kSource), accesses);
  core.end_map(load, *worker.map);
}

void ClusterTasks::end_sums(std::size_t l, const std::vector<Worker>& reduction_group, std::size_t group,
                            const std::vector<Computed>& sums, const OutputTile& tile, const Region& outs) {
  const ShardedLayer& layer = *work_.layers[l].matrix;
  const GroupWeights::Group& placed = *reduction_group.front().groups[group];
  std::vector<PartialSumExchange::Member> members;
  for (std::size_t i = 0; i < reduction_group.size(); ++i)
    members.push_back(
        {reduction_group[i].core->number, reduction_group[i].core->place, sums[i].buffer, sums[i].address});
  PartialSumExchange::Sums of{layer.problem, tile, placed.group.blocks, {}};
  if (layer.post_parameters != 0) {
    of.post = [&](const PartialSumExchange::Member&) {
      return PartialSumExchange::Post{static_cast<std::uint32_t>(placed.post_at),
                                      {placed.post, 0, AccessKind::kRead}};
    };
  }
  const std::vector<PartialSumExchange::Result> results = sums_->add(staging_, members, of);
  for (std::size_t i = 0; i < reduction_group.size(); ++i) {
    for (const PartialSumExchange::Part& part : results[i].parts)
      store_tile(l, *reduction_group[i].core, {part.tile, of.blocks, part.address, results[i].read, outs});
  }
}

std::uint64_t ClusterTasks::result_address(const Core& core, const BufferRing::Filling& result) const {
  return core.place.nram +
         to_unsigned(operands_at_ + kBuffers * operand_bytes_ + result.place * result_bytes_);
}

void ClusterTasks::store_tile(std::size_t l, Core& core, const Made& made) {
  const Problem& p = work_.layers[l].matrix->problem;
  const int output = unit_.layers[l].output;
  const GroupTensor& tensor = nth(unit_.tensors, output);
  const TensorLayout layout = TensorLayout::dense(address_of(output), tensor.map.height, tensor.map.width,
                                                  std::int64_t{tensor.map.channels} * p.element_bytes());
  Interval rows{made.tile.h.out, made.tile.h.out + made.tile.h.outs};
  if (const SubpixelRows* subpixel = axes_[l].front().subpixel()) {
    rows = subpixel->rows_of(rows, tensor.height());
    rows = {std::max(rows.begin, made.outs.rows.begin), std::min(rows.end, made.outs.rows.end)};
  }
  for (const Transfer& transfer : store_transfers(p, layout, made.tile, made.blocks, made.address,
                                                  MapPart{made.outs.rows, made.outs.columns}))
    store(core, output, transfer, global(output, made.tile.image, rows), made.read);
}

void ClusterTasks::store(Core& core, int output, const Transfer& transfer, Interval rows,
                         const Access& read) {
  const HeldTensor* const held = held_for(core, output);
  if (held == nullptr) {
    core.store(relaid(nth(work_.stored, output), {transfer}, TransferEnd::kDestination), {read});
    return;
  }
  AccessList accesses = held->accesses(rows, AccessKind::kWrite);
  accesses.push_back(read);
  core.copy(Unit::kMvdma, held->placed(transfer, TransferEnd::kDestination), accesses);
}

void ClusterTasks::run_vector(std::size_t l, int image, const Region& outs, Core* alone) {
  const VectorWork& work = *work_.layers[l].vector;
  // Two operands; each begins at a multiple of the alignment.
  const std::int64_t most =
      std::max<std::int64_t>(0, std::min(operand_bytes_ - 2 * kBufferAlignment, result_bytes_));
  const int cores = alone != nullptr ? 1 : work_.cores;
  for (int c = 0; c < cores; ++c) {
    for (const VectorPiece& piece :
         work.pieces_of({c, cores, VectorShare::Rows{image, outs.rows, outs.columns}, most}))
      run_piece(l, alone != nullptr ? *alone : nth(cores_, c), piece);
  }
}

void ClusterTasks::run_piece(std::size_t l, Core& core, const VectorPiece& piece) {
  CoreLane::PieceRoom room{operands_at_,  operand_bytes_,         operands_at_ + kBuffers * operand_bytes_,
                           result_bytes_, weights_.factors_at(l), std::nullopt};
  if (!work_.layers[l].vector->parameters().empty()) room.parameters = weights_.factors(l);
  const int output = unit_.layers[l].output;
  core.run_piece(
      piece, room, nth(work_.addresses, unit_.output()),
      [&](std::uint64_t to, const Access& written) {
        for (const VectorPiece::Fetch& fetch : piece.fetches) {
          const HeldTensor& held = *held_for(core, group_tensor(fetch.source));
          const CopyShape& s = fetch.shape;
          const std::int64_t bytes = (s.rows - 1) * s.source_row + (s.columns - 1) * s.source_column + s.run;
          AccessList accesses = held.accesses(held.rows_of(fetch.source, bytes), AccessKind::kRead);
          accesses.push_back(written);
          const Transfer transfer{fetch.source, to + to_unsigned(fetch.offset), s};
          core.copy(Unit::kMvdma, held.placed(transfer, TransferEnd::kSource), accesses);
        }
      },
      [&](std::uint64_t from, const Access& read) {
        const CopyShape& s = piece.store;
        const std::int64_t bytes =
            (s.rows - 1) * s.destination_row + (s.columns - 1) * s.destination_column + s.run;
        const HeldTensor* const held = held_for(core, output);
        const Interval rows = held != nullptr ? held->rows_of(piece.destination, bytes) : Interval{};
        store(core, output, {from, piece.destination, s}, rows, read);
      });
}

}  // namespace tilebeat
