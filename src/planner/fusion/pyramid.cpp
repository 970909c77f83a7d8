#include "planner/fusion/pyramid.h"

#include "base/types.h"
#include "planner/layer/matrix_work.h"
#include "tilebeat/error.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>

namespace tilebeat {
namespace {

// Cycles of a part of a layer besides its computation: its copies and instructions, one behind the other.
constexpr double kPartCycles = 96;
// Factor on the cycles of parts that a core makes alone: nothing is moved while it computes.
constexpr double kAlone = 1.5;

bool in_nram(const GroupWork& work, int tensor) {
  return tensor != work.graph.output() && nth(work.holdings, tensor) == Holding::kNram;
}

// By tensor, the rows or columns that a pyramid needs for outputs `outs`, from the output backwards.
std::vector<Interval> needed(const Pyramid& pyramid, const GroupGraph& graph, const GroupAxes& axes,
                             Interval outs) {
  std::vector<Interval> of(graph.tensors.size());
  nth(of, graph.layers[pyramid.layers.back()].output) = outs;
  for (auto l = pyramid.layers.rbegin(); l != pyramid.layers.rend(); ++l) {
    const GroupLayer& layer = graph.layers[*l];
    const Interval made = nth(of, layer.output);
    for (std::size_t i = 0; i < layer.inputs.size() && !made.empty(); ++i) {
      Interval& read = nth(of, layer.inputs[i]);
      read = joined(read, axes[*l][i].inputs_of(made));
    }
  }
  return of;
}

// By tensor, the most rows or columns that any `size` outputs of a pyramid need.
std::vector<int> most_needed(const Pyramid& pyramid, const GroupGraph& graph, const GroupAxes& axes, int size,
                             int extent) {
  std::vector<int> most(graph.tensors.size());
  for (int first = 0; first < extent; ++first) {
    const auto of = needed(pyramid, graph, axes, {first, std::min(extent, first + size)});
    for (std::size_t t = 0; t < most.size(); ++t) most[t] = std::max(most[t], of[t].size());
  }
  return most;
}

// The most outputs that are computed for `size` rows or columns of a layer's output.
int most_computed(const RowAxis& axis, int size) {
  return axis.rows_at_a_time() == 1 ? size : to_int(ceil_div(size - 1, axis.rows_at_a_time())) + 1;
}

// The sizes of parts of `extent` that differ in their number.
std::vector<int> part_sizes(int extent, int most_parts) {
  std::vector<int> sizes;
  for (int parts = 1; parts <= std::min(extent, most_parts); ++parts) {
    const int size = to_int(ceil_div(extent, parts));
    if (sizes.empty() || sizes.back() != size) sizes.push_back(size);
  }
  return sizes;
}

// Searches the parts of one pyramid.
class Shapes {
 public:
  Shapes(Pyramid pyramid, const GroupWork& work, const NramRoom& room)
      : pyramid_(std::move(pyramid)),
        work_(work),
        room_(room),
        down_(row_axes(work.workload, work.graph)),
        across_(row_axes(work.workload, work.graph, MapAxis::kColumns)) {}

  std::optional<Pyramid> best(const Region& most, int maps) {
    constexpr int kMostParts = 64, kMostColumnParts = 8;
    const GroupTensor& output = nth(work_.graph.tensors, work_.graph.layers[pyramid_.layers.back()].output);
    std::vector<std::pair<int, std::vector<int>>> columns;
    for (const int size : part_sizes(most.columns.size(), kMostColumnParts))
      columns.emplace_back(size, most_needed(pyramid_, work_.graph, across_, size, output.map.width));
    for (const int rows : part_sizes(most.rows.size(), kMostParts)) {
      const auto high = most_needed(pyramid_, work_.graph, down_, rows, output.height());
      for (const auto& [size, wide] : columns) {
        const std::int64_t parts =
            std::int64_t{maps} * ceil_div(most.rows.size(), rows) * ceil_div(most.columns.size(), size);
        consider(rows, size, high, wide, ceil_div<std::int64_t>(parts, work_.cores));
      }
    }
    return best_;
  }

 private:
  const ChipConfig& chip() const { return *work_.hardware.chip; }

  // `turns`: parts of a step that the core with the most makes.
  void consider(int rows, int columns, const std::vector<int>& high, const std::vector<int>& wide,
                std::int64_t turns) {
    pyramid_.rows = rows, pyramid_.columns = columns;
    pyramid_.most.clear();
    for (std::size_t t = 0; t < high.size(); ++t) pyramid_.most.push_back({{0, high[t]}, {0, wide[t]}});
    std::int64_t inner = 0;
    for (const int tensor : pyramid_.tensors)
      inner += kPartsAtATime * part_bytes(pyramid_, work_.graph, tensor);
    if (inner > room_.inner) return;
    double cycles = 0;
    for (const std::size_t l : pyramid_.layers) {
      const GroupLayerWork& layer = work_.layers[l];
      const Region& part = nth(pyramid_.most, work_.graph.layers[l].output);
      if (layer.matrix == nullptr) {
        const GroupTensor& made = nth(work_.graph.tensors, work_.graph.layers[l].output);
        cycles += static_cast<double>(part.rows.size()) * part.columns.size() * made.map.channels /
                      chip().core.vector.lanes +
                  kPartCycles;
        continue;
      }
      const LayerMapping m = mapping_in_pyramid(pyramid_, work_, l, room_);
      const MatrixLayer& of = *layer.matrix->shards.front().layer;
      const TileBytes bytes = tile_bytes(of, m, m.tile_rows, m.tile_columns);
      if (bytes.map > room_.operands || bytes.result > room_.results) return;
      const Grain grain = of.grain();
      cycles += static_cast<double>(ceil_div(m.tile_rows, grain.rows)) *
                    static_cast<double>(ceil_div(m.tile_columns, grain.columns)) *
                    static_cast<double>(of.problem().kernel_blocks()) * static_cast<double>(grain.cycles) +
                kPartCycles;
    }
    // A core moves what a part needs while it computes another part, if it has several.
    cycles *= static_cast<double>(turns) * (turns == 1 ? kAlone : 1);
    if (best_ && cycles >= cycles_) return;
    best_ = pyramid_, cycles_ = cycles;
  }

  Pyramid pyramid_;
  const GroupWork& work_;
  const NramRoom& room_;
  GroupAxes down_, across_;
  std::optional<Pyramid> best_;
  double cycles_ = 0;  // of `best_`
};

}  // namespace

std::int64_t part_bytes(const Pyramid& pyramid, const GroupGraph& graph, int tensor) {
  const Region& part = nth(pyramid.most, tensor);
  const std::int64_t pixels = std::int64_t{part.rows.size()} * part.columns.size();
  return align_up(pixels * nth(graph.tensors, tensor).pixel_bytes(), kBufferAlignment);
}

std::vector<Pyramid> pyramids_of(const GroupWork& work) {
  const GroupGraph& graph = work.graph;
  // by layer: the last layer of its pyramid
  std::vector<std::size_t> last(graph.layers.size());
  std::iota(last.begin(), last.end(), std::size_t{0});
  const auto refuse = [](const std::string& tensor, const char* why) {
    throw UserError(fmt::format("holdings: '{}' cannot be held as nram: {}", tensor, why));
  };
  for (std::size_t l = graph.layers.size(); l-- > 0;) {
    const int output = graph.layers[l].output;
    if (!in_nram(work, output)) continue;
    const GroupTensor& tensor = nth(graph.tensors, output);
    last[l] = nth(last, tensor.consumers.front());
    for (const int consumer : tensor.consumers) {
      if (nth(last, consumer) != last[l])
        refuse(tensor.name, "layers that read it end in different outputs that leave the core");
    }
  }
  std::vector<Pyramid> pyramids;
  for (std::size_t end = 0; end < graph.layers.size(); ++end) {
    Pyramid pyramid;
    for (std::size_t l = 0; l <= end; ++l) {
      if (last[l] != end) continue;
      pyramid.layers.push_back(l);
      if (l != end) pyramid.tensors.push_back(graph.layers[l].output);
    }
    if (pyramid.tensors.empty()) continue;
    const std::string& name = nth(graph.tensors, pyramid.tensors.front()).name;
    // Kernels of products of two results stay while a core computes the layers of a pyramid; others are
    // replaced.
    for (std::size_t l = pyramid.layers.front(); l <= pyramid.layers.back(); ++l) {
      const ShardedLayer* matrix = work.layers[l].matrix;
      const bool stays = matrix == nullptr || (matrix->problem.kernel_tensor.has_value() && last[l] == end);
      if (work.kernels == GroupKernels::kStreamed && !stays) refuse(name, "its layers' kernels are streamed");
    }
    for (const std::size_t l : pyramid.layers) {
      if (work.layers[l].matrix != nullptr && work.layers[l].matrix->cores() > 1)
        refuse(name, "cores share the input channels of a layer that reads or makes it");
    }
    pyramids.push_back(std::move(pyramid));
  }
  return pyramids;
}

void shape_pyramid(Pyramid& pyramid, const GroupWork& work, const Region& most, int maps,
                   const NramRoom& room) {
  const auto shaped = Shapes(pyramid, work, room).best(most, maps);
  if (!shaped) {
    throw UserError(fmt::format(
        "layers '{}' to '{}' cannot fit: not even one output with all that it is made of fits the NRAM of a "
        "core; chip.core.nram.size_bytes is {}",
        work.graph.layers[pyramid.layers.front()].layer->name,
        work.graph.layers[pyramid.layers.back()].layer->name, work.hardware.chip->core.nram.size_bytes));
  }
  pyramid = *shaped;
}

LayerMapping mapping_in_pyramid(const Pyramid& pyramid, const GroupWork& work, std::size_t l,
                                const NramRoom& room) {
  const GroupLayer& layer = work.graph.layers[l];
  const MatrixLayer& of = *work.layers[l].matrix->shards.front().layer;
  const auto axis_of = [&](MapAxis axis) {
    return *row_axis(work.workload, *layer.layer, 0, work.graph.view, axis);
  };
  const Region& part = nth(pyramid.most, layer.output);
  LayerMapping m;
  m.layer = of.problem().name;
  m.row_parts = work.cores;
  m.kernels_per_block = of.problem().block_kernels;
  m.tile_rows = std::max(1, most_computed(axis_of(MapAxis::kRows), part.rows.size()));
  m.tile_columns = std::max(1, most_computed(axis_of(MapAxis::kColumns), part.columns.size()));
  m.blocks_per_load = of.problem().kernel_blocks();
  while (m.blocks_per_load > 1 && tile_bytes(of, m, m.tile_rows, m.tile_columns).result > room.results)
    m.blocks_per_load = to_int(ceil_div(m.blocks_per_load, 2));
  return m;
}

std::vector<Region> regions_of(const Pyramid& pyramid, const GroupWork& work, const GroupAxes& down,
                               const GroupAxes& across, const Region& out) {
  const auto rows = needed(pyramid, work.graph, down, out.rows),
             columns = needed(pyramid, work.graph, across, out.columns);
  std::vector<Region> regions;
  for (std::size_t t = 0; t < rows.size(); ++t) regions.push_back({rows[t], columns[t]});
  return regions;
}

std::vector<Region> parts_of(const Pyramid& pyramid, const Region& outs) {
  std::vector<Region> parts;
  for (int row = outs.rows.begin; row < outs.rows.end; row += pyramid.rows) {
    for (int column = outs.columns.begin; column < outs.columns.end; column += pyramid.columns)
      parts.push_back({{row, std::min(outs.rows.end, row + pyramid.rows)},
                       {column, std::min(outs.columns.end, column + pyramid.columns)}});
  }
  return parts;
}

}  // namespace tilebeat
