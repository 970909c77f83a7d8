#include "planner/layer/core_lane.h"

#include "isa/address_map.h"
#include "planner/layer/placement.h"

namespace tilebeat {

MatrixJob job_of(const Shard& share, const OutputTile& tile, const KernelGroup& group, JobPlaces places) {
  const MatrixLayer& layer = *share.layer;
  const Problem& p = layer.problem();
  MatrixJob job;
  job.tile = tile, job.tile.image = 0;
  job.blocks = group.blocks;
  job.reduction = group.reduction;
  const std::int64_t row = layer.ifm_row_bytes(tile.w);
  job.ifm = {places.map, row * tile.h.ins, row, p.channels};
  job.weights = places.kernels;
  if (const std::optional<WeightImage> image = share.image_of(group))
    job.image = places.kernels, job.image_front = image->codes_begin(), job.image_bytes = image->bytes();
  if (share.weights.post != 0 && group.reduction.last)
    job.post = places.kernels + post_offset(layer, share.weights, group, share.extent_of(group));
  job.ofm = TensorLayout::dense(places.result, tile.h.outs, tile.w.outs,
                                std::int64_t{p.kernels_of(group.blocks)} * p.element_bytes());
  job.ifm_reads = std::move(places.map_reads);
  job.weights_read = places.kernels_read;
  job.ofm_write = places.result_write;
  return job;
}

CoreLane::CoreLane(TaskGraph& graph, CopyTasks& copies, const ChipConfig& chip, int core)
    : number(core),
      cluster(core / chip.cores_per_cluster),
      processor(processor_of_core(chip, core)),
      place{processor, nram_address(core), wram_address(core)},
      graph_(&graph),
      copies_(&copies),
      chip_(&chip) {}

void CoreLane::begin_map(const MapLoad& load, const BufferRing::Filling& map) {
  if (load.before) copy(*load.before, {map.write()});
}

Access CoreLane::map_access(const MapLoad& load, const BufferRing::Filling& map) {
  return load.before ? map.accumulate() : map.write();
}

void CoreLane::end_map(const MapLoad& load, const BufferRing::Filling& map) {
  if (load.after) copy(*load.after, {map.accumulate()});
}

void CoreLane::run_piece(const VectorPiece& piece, const PieceRoom& room, std::uint64_t untouched,
                         const Source& source, const Sink& sink) {
  const BufferRing::Filling input = operands.next();
  const std::int64_t from = room.operands_at + input.place * room.operand_bytes;
  const auto nram = [&](std::int64_t offset) { return place.nram + to_unsigned(offset); };
  if (piece.fill) copy(fill_copy(piece, untouched, nram(from)), {input.write()});
  if (!piece.fetches.empty()) source(nram(from), piece.fill ? input.accumulate() : input.write());
  if (piece.rows) {
    const BufferRing::Filling result = results.next();
    const std::int64_t to = room.results_at + result.place * room.result_bytes;
    RowGather rows = *piece.rows;
    rows.indices += nram(from), rows.more_indices += nram(from), rows.destination = nram(to);
    copies_->add(processor, rows, {input.read(), result.write()});
    sink(nram(to), result.read());
    return;
  }
  if (!piece.run) {
    sink(nram(from), input.read());
    return;
  }
  const bool stored = piece.result_place == VectorPiece::ResultPlace::kStored;
  const BufferRing::Filling result = stored ? results.next() : BufferRing::Filling{};
  const std::int64_t to = stored ? room.results_at + result.place * room.result_bytes : 0;
  Task task = vector_task(piece, from, to, room.parameters_at, *chip_);
  task.processor = processor;
  task.accesses = {input.read()};
  if (!stored) {
    task.accesses.push_back({*room.parameters, 0, AccessKind::kAccumulate});
  } else {
    task.accesses.push_back(result.write());
    if (room.parameters) task.accesses.push_back({*room.parameters, 0, AccessKind::kRead});
  }
  graph_->add(std::move(task));
  if (stored) sink(nram(to), result.read());
}

void DramLanes::load(CoreLane& lane, const std::vector<Transfer>& transfers,
                     const AccessList& written) const {
  const auto stream = loads_.find(lane.number);
  if (stream == loads_.end())
    lane.copy(Unit::kIodma, transfers, written);
  else
    stream->second.first->load(stream->second.second, {{lane.processor, transfers, written}});
}

void DramLanes::store(CoreLane& lane, const std::vector<Transfer>& transfers, const Access& read) const {
  const auto stream = stores_.find(lane.number);
  if (stream == stores_.end())
    lane.store(transfers, {read});
  else
    stream->second.first->store(stream->second.second, lane.processor, transfers, read);
}

}  // namespace tilebeat
