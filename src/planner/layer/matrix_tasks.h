#pragma once

#include "planner/language/problem.h"
#include "planner/language/task_graph.h"
#include "planner/layer/matrix_work.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace tilebeat {

/// What a core's buffers for maps hold: single tiles, or strips of tiles that lie one below the other. A
/// strip comes in pieces: what a tile needs that the tiles above it have not loaded.
class HeldMaps {
 public:
  HeldMaps() = default;
  HeldMaps(TaskGraph& graph, int places) : graph_(&graph), places_(static_cast<std::size_t>(places)) {}

  struct Piece {
    Interval rows;  ///< of the map
    BufferRing::Filling filling;
  };
  struct Use {
    int place = 0;
    int first_row = 0;          ///< of the map: that the place begins with
    std::optional<Piece> load;  ///< what is not there yet; the next steps find it there
    AccessList reads;           ///< of all pieces that the rows lie in
  };
  /// Rows `rows`, which are not none, of strip `strip`, whose first row is `first_row`.
  Use use(int strip, int first_row, Interval rows) {
    const std::size_t number = place_of(strip);
    Place& place = places_[number];
    Use use{static_cast<int>(number), first_row, std::nullopt, {}};
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
    std::vector<BufferRing> buffers;  // by piece, of one strip after the other
  };
  // Where a strip is; one that is not there takes the places in turn.
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

/// Bytes over DRAM that a plan moves.
struct PlannedBytes {
  std::int64_t maps = 0, kernels = 0, results = 0;
};

/// What the tasks of a layer or a fused unit move over DRAM, and the most that they take of the SRAM of a
/// cluster and of the WRAM of a core.
struct PlannedUse {
  PlannedBytes bytes;
  std::int64_t sram = 0, wram = 0;
};

/// Of a layer or a fusion group: so many of its loads of kernels, the first ones, are made while an earlier
/// one runs, into WRAM behind `wram_at` bytes.
struct Prefetch {
  int loads = 0;
  std::int64_t wram_at = 0;
};

/// Makes the lowering of one core, which computes that share of the layer.
using LoweringFactory =
    std::function<std::unique_ptr<MatrixLowering>(TaskGraph&, const EnginePlace&, int share)>;

/// Asked between two steps of a layer: whether the tasks so far are enough, of an estimate that has its
/// answer.
using EnoughTasks = std::function<bool()>;

/// Adds the tasks of the layer: loads, jobs and stores of all cores, step by step, until `enough`; of the
/// kernels not the loads that are made ahead.
PlannedUse add_matrix_tasks(TaskGraph& graph, const MatrixWork& work, const LoweringFactory& lowering,
                            const EnoughTasks& enough = {});

/// Adds the loads of the layer's kernels that are made ahead to the graph of another one, which takes `sram`
/// bytes of a cluster's SRAM and does not touch their places in WRAM. Returns their
/// bytes, and what of the SRAM is in use then. Throws UserError when it has no room left.
PlannedUse add_prefetch(TaskGraph& graph, const MatrixWork& work, std::int64_t sram);
/// Bytes of WRAM that the buffers of the first loads take, by their number from 1 on: as many as can be made
/// ahead.
std::vector<std::int64_t> wram_of_loads(const MatrixWork& work);

}  // namespace tilebeat
