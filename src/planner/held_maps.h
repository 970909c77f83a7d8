#pragma once

#include "tilebeat/mapping/task_graph.h"
#include "tilebeat/mapping/window.h"

#include <algorithm>
#include <cstddef>
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

}  // namespace tilebeat
