#include "planner/fusion/cluster_tasks.h"
#include "planner/fusion/pyramid.h"
#include "planner/layer/placement.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace tilebeat {

void ClusterTasks::make_pyramids(const std::vector<MostOutputs>& most, std::vector<Pyramid>& pyramids) {
  const NramRoom room{operand_bytes_, result_bytes_,
                      inner_bytes_ / ssize(pyramids_) / kBufferAlignment * kBufferAlignment};
  // At the end of NRAM, behind all buffers.
  std::int64_t at = (chip_.core.nram.size_bytes - inner_bytes_) / kBufferAlignment * kBufferAlignment;
  for (std::size_t i = 0; i < pyramids_.size(); ++i) {
    Pyramid& pyramid = pyramids_[i];
    const MostOutputs& of = most[pyramid.layers.back()];
    if (pyramid.most.empty())
      shape_pyramid(pyramid, work_, {{0, of.made_rows}, {0, of.made_columns}}, of.images, room);
    pyramids[i] = pyramid;
    for (const int tensor : pyramid.tensors) {
      const std::int64_t bytes = part_bytes(pyramid, unit_, tensor);
      for (int turn = 0; turn < kPartsAtATime; ++turn, at += bytes) {
        for (Core& core : cores_)
          core.held[tensor].emplace_back(graph_, address_of(tensor), core.place.nram + to_unsigned(at),
                                         nth(unit_.tensors, tensor));
      }
    }
  }
}

std::vector<std::optional<LayerMapping>> ClusterTasks::fixed_mappings() const {
  std::vector<std::optional<LayerMapping>> fixed(unit_.layers.size());
  const NramRoom room{operand_bytes_, result_bytes_, inner_bytes_};
  for (const Pyramid& pyramid : pyramids_) {
    for (const std::size_t l : pyramid.layers) {
      if (work_.layers[l].matrix != nullptr) fixed[l] = mapping_in_pyramid(pyramid, work_, l, room);
    }
  }
  return fixed;
}

// Cores take parts in turn, also from step to step. Each computes its parts two by two, a layer of one and
// the same layer of the other: what one part needs is moved while the other one is computed.
void ClusterTasks::run_pyramid(const Pyramid& pyramid) {
  std::vector<PyramidPart> parts;
  for (int i = 0; i < part().images; ++i) {
    for (const Region& outs : parts_of(pyramid, made_region(pyramid.layers.back()))) {
      const int core = std::exchange(next_core_, (next_core_ + 1) % work_.cores);
      const std::size_t place = nth(cores_, core).parts++ % kPartsAtATime;
      parts.push_back({part().image + i, core, place, regions_of(pyramid, work_, axes_, column_axes_, outs)});
    }
  }
  const auto together = to_size(kPartsAtATime * work_.cores);
  for (std::size_t first = 0; first < parts.size(); first += together) {
    for (const std::size_t l : pyramid.layers) {
      for (std::size_t i = first; i < std::min(parts.size(), first + together); ++i) {
        nth(cores_, parts[i].core).part = parts[i].place;
        run_part(l, parts[i]);
      }
    }
  }
}

void ClusterTasks::run_part(std::size_t l, const PyramidPart& part) {
  Core& core = nth(cores_, part.core);
  const int output = unit_.layers[l].output;
  const Region& outs = nth(part.regions, output);
  if (outs.empty()) return;  // layers behind it read the border alone
  if (NramPart* const held = core.nram(output))
    held->begin({global(output, part.image, outs.rows), outs.columns});
  if (work_.layers[l].matrix != nullptr)
    run_matrix_alone(l, core, part.image, outs);
  else
    run_vector(l, part.image, outs, &core);
}

const NramPart* ClusterTasks::map_in_place(std::size_t l, Core& core, const OutputTile& tile) const {
  const int input = unit_.layers[l].inputs.front();
  const NramPart* const part = core.nram(input);
  if (part == nullptr) return nullptr;
  const MatrixLayer& layer = *work_.layers[l].matrix->shards.front().layer;
  const std::int64_t row = tile.w.ins * nth(unit_.tensors, input).pixel_bytes();
  const Interval rows = global(input, tile.image, {tile.h.in, tile.h.in + tile.h.ins});
  const bool same =
      part->part().rows == rows && part->part().columns == Interval{tile.w.in, tile.w.in + tile.w.ins};
  return same && layer.shares_rows() && layer.ifm_row_bytes(tile.w) == row ? part : nullptr;
}

const NramPart* ClusterTasks::results_in_place(std::size_t l, const Worker& worker,
                                               const OutputTile& tile) const {
  const int output = unit_.layers[l].output;
  const NramPart* const part = worker.core->nram(output);
  if (part == nullptr || worker.groups.size() > 1 || axes_[l].front().subpixel() != nullptr) return nullptr;
  const Problem& p = work_.layers[l].matrix->problem;
  const bool all = p.kernels_of(worker.groups.front()->group.blocks) * p.element_bytes() ==
                   nth(unit_.tensors, output).pixel_bytes();
  const bool same = part->part().rows.size() == tile.h.outs && part->part().columns.size() == tile.w.outs;
  return all && same ? part : nullptr;
}

void ClusterTasks::run_matrix_alone(std::size_t l, Core& core, int image, const Region& outs) {
  const Problem& p = work_.layers[l].matrix->problem;
  const Interval rows = axes_[l].front().outputs_of(outs.rows),
                 across = column_axes_[l].front().outputs_of(outs.columns);
  std::vector<Worker> alone = reduction_group_of(l, core.number % chip_.cores_per_cluster, 0);
  run_tile(l, alone, {image, p.axis_h().window(rows), p.axis_w().window(across)}, outs);
}

HeldTensor* ClusterTasks::held_for(Core& core, int tensor) {
  if (NramPart* const part = core.nram(tensor)) return part;
  std::optional<RowBuffer>& held = nth(held_, tensor);
  return held ? &*held : nullptr;
}

void ClusterTasks::run_layer(std::size_t l, int portion) {
  // The last layer of a pyramid stands for all of them.
  if (cores_.front().held.count(unit_.layers[l].output) > 0) return;
  const auto pyramid = std::find_if(pyramids_.begin(), pyramids_.end(),
                                    [l](const Pyramid& of) { return of.layers.back() == l; });
  for (int i = 0; i < part().images && makes(l); ++i) {
    const int output = unit_.layers[l].output, image = part().image + i;
    std::optional<RowBuffer>& held = nth(held_, output);
    if (held && portion == 0) held->make(global(output, image, made(output)));
    if (pyramid == pyramids_.end()) run_layer(l, portion, image);
  }
  if (pyramid != pyramids_.end() && makes(l)) run_pyramid(*pyramid);
}

}  // namespace tilebeat
