#include "base/types.h"
#include "planner/layer/matrix_work.h"

#include <algorithm>

namespace tilebeat {
namespace {

struct NumberedTile {
  OutputTile tile;
  int number = 0;
};

// The tiles of a core's part, over all its images that use a set of kernels.
std::vector<NumberedTile> tiles_of(const Problem& p, const LayerMapping& m, const CorePart& part, int set) {
  std::vector<NumberedTile> tiles;
  const WindowAxis h = p.axis_h(), w = p.axis_w();
  const int of_image =
      ceil_div(part.rows.size(), m.tile_rows) * ceil_div(part.columns.size(), m.tile_columns);
  for (int n = part.images.begin; n < part.images.end; ++n) {
    if (p.kernel_set(n) != set) continue;
    int number = p.map_image(n) * of_image;
    for (int r = part.rows.begin; r < part.rows.end; r += m.tile_rows) {
      for (int c = part.columns.begin; c < part.columns.end; c += m.tile_columns) {
        const OutputTile tile{n, h.window({r, std::min(part.rows.end, r + m.tile_rows)}),
                              w.window({c, std::min(part.columns.end, c + m.tile_columns)})};
        tiles.push_back({tile, number++});
      }
    }
  }
  return tiles;
}

// The steps with one set of kernels.
void add_steps(const LayerMapping& m, const std::vector<NumberedTile>& tiles,
               const std::vector<KernelGroup>& groups, std::vector<CoreStep>& steps) {
  const bool tile_outer = m.order == StepOrder::kTileOuter;
  // The parts of a reduction follow one another for every tile.
  const std::size_t parts = to_size(m.channel_parts), loads = groups.size() / parts;
  for (std::size_t i = 0; i < (tile_outer ? tiles.size() : loads); ++i) {
    for (std::size_t j = 0; j < (tile_outer ? loads : tiles.size()); ++j) {
      const NumberedTile& tile = tiles[tile_outer ? i : j];
      const std::size_t load = tile_outer ? j : i;
      for (std::size_t part = 0; part < parts; ++part) {
        const KernelGroup& group = groups[load * parts + part];
        const std::size_t number = to_size(group.set) * groups.size() + load * parts + part;
        steps.push_back({tile.tile, tile.number, group, to_int(number)});
      }
    }
  }
}

}  // namespace

std::vector<CoreStep> core_steps(const Problem& p, const LayerMapping& m, const Grain& grain,
                                 const CorePart& part) {
  std::vector<CoreStep> steps;
  std::vector<KernelGroup> groups = kernel_groups(p, m, grain, part.blocks);
  for (int set = 0; set < p.sets; ++set) {
    for (KernelGroup& group : groups) group.set = set;
    add_steps(m, tiles_of(p, m, part, set), groups, steps);
  }
  return steps;
}

}  // namespace tilebeat
