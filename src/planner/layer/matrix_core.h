#pragma once

#include "planner/language/problem.h"
#include "planner/language/task_graph.h"
#include "planner/layer/core_lane.h"
#include "planner/layer/matrix_work.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

namespace tilebeat {

/// The contents of a core's map buffers: single tiles, or strips of vertically neighbouring tiles. A strip is
/// loaded in pieces: each tile loads the rows that the tiles above it have not loaded.
class HeldMaps {
 public:
  HeldMaps() = default;
  HeldMaps(TaskGraph& graph, int places) : graph_(&graph), places_(to_size(places)) {}

  struct Piece {
    Interval rows;  ///< rows of the map
    BufferRing::Filling filling;
  };
  struct Use {
    int place = 0;
    int first_row = 0;          ///< map row at which the place begins
    std::optional<Piece> load;  ///< the piece that must be loaded first; later steps find it loaded
    AccessList reads;           ///< reads of all pieces that contain the rows
  };
  /// Uses rows `rows` (not empty) of strip `strip`, whose first row is `first_row`.
  Use use(int strip, int first_row, Interval rows) {
    const std::size_t number = place_of(strip);
    Place& place = places_[number];
    Use use{to_int(number), first_row, std::nullopt, {}};
    const int loaded = place.pieces.empty() ? rows.begin : place.pieces.back().rows.end;
    if (rows.end > loaded) {
      const std::size_t piece = place.pieces.size();
      if (place.buffers.size() == piece) place.buffers.emplace_back(*graph_, BufferRole::kMap, 1);
      place.pieces.push_back({{std::max(loaded, rows.begin), rows.end}, place.buffers[piece].next()});
      use.load = place.pieces.back();
    }
    for (const Piece& piece : place.pieces) {
      if (piece.rows.end > rows.begin && piece.rows.begin < rows.end)
        use.reads.push_back(piece.filling.read());
    }
    return use;
  }

 private:
  struct Place {
    std::optional<int> strip;
    std::vector<Piece> pieces;
    std::vector<BufferRing> buffers;  // by piece; reused by successive strips
  };
  // The place of a strip; a strip without one takes the places in turn.
  std::size_t place_of(int strip) {
    for (std::size_t place = 0; place < places_.size(); ++place) {
      if (places_[place].strip == strip) return place;
    }
    const std::size_t place = next_++ % places_.size();
    places_[place].strip = strip, places_[place].pieces.clear();
    return place;
  }

  TaskGraph* graph_ = nullptr;
  std::vector<Place> places_;
  std::size_t next_ = 0;
};

/// The lane of a core that computes a part of a matrix layer, its buffers and what they hold in a step.
struct MatrixCore : CoreLane {
  /// `worker`: the core's number among those that work.
  MatrixCore(TaskGraph& graph, CopyTasks& copies, const MatrixWork& work, int worker, const Shard& computed,
             const CorePart& part)
      : CoreLane(graph, copies, work.chip(), core_of(work.chip(), work.mapping, worker)),
        shard(&computed),
        steps(core_steps(computed.layer->problem(), work.mapping, computed.layer->grain(), part)),
        first_row(computed.layer->problem().axis_h().window(part.rows).in),
        maps(graph, work.mapping.map_buffers),
        kernels(graph, BufferRole::kKernels, work.mapping.kernel_buffers),
        cleared(graph, BufferRole::kKernels, work.mapping.kernel_buffers) {
    const LayerMapping& m = work.mapping;
    const int cores = m.reduction_parts, reduction_group = worker / cores, in_group = worker % cores;
    same_maps = reduction_group / m.kernel_parts * cores + in_group;
    same_kernels = reduction_group % (m.kernel_parts * m.group_parts) * cores + in_group;
    results = BufferRing(graph, BufferRole::kResult, kResultBuffers);
  }

  const Shard* shard;
  int same_maps = 0, same_kernels = 0;  ///< cores with the same maps, or kernels, have the same number
  std::vector<CoreStep> steps;
  int first_row;  ///< first map row of the core's part
  HeldMaps maps;
  BufferCache<int> kernels;
  BufferRing cleared;                ///< fillings that clear places of kernels which the kernels do not fill
  std::optional<HeldMaps::Use> map;  ///< the step's map; nothing: the tile is padding
  std::optional<BufferRing::Filling> weights, result;  ///< the step's kernels and result
  /// clearing of the kernels' place; nothing: the kernels fill it
  std::optional<BufferRing::Filling> clearing;
  bool loads_map = false, loads_weights = false;  ///< whether the step loads them
  int kernel_loads = 0;                           ///< number of kernel loads so far
  std::unique_ptr<MatrixLowering> lowering;
};

}  // namespace tilebeat
