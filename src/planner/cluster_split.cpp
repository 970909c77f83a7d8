#include "cluster_split.h"

#include "tilebeat/base/error.h"
#include "tilebeat/base/math.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace tilebeat {
namespace {

// Cycles of a tile beside its beats: it is asked for, loaded, drained and stored by instructions of its own.
constexpr double kTileCycles = 64;

// One layer's splits, one after the other.
class Splits {
 public:
  Splits(const MatrixLayer& layer, const ChipConfig& chip, const ClusterShare& share)
      : layer_(layer), p_(layer.problem()), grain_(layer.grain()), chip_(chip), share_(share) {}

  std::optional<LayerMapping> best() {
    for (int rows = 1; rows <= std::min<int>(share_.cores, ceil_div(share_.rows, grain_.rows)); ++rows) {
      for (int columns = 1;
           rows * columns <= share_.cores && columns <= ceil_div(share_.columns, grain_.columns); ++columns) {
        for (int kernels = 1; rows * columns * kernels <= share_.cores && kernels <= p_.kernel_blocks();
             ++kernels)
          look_at(rows, columns, kernels);
      }
    }
    return best_;
  }

 private:
  void look_at(int row_parts, int column_parts, int kernel_parts) {
    LayerMapping m;
    m.layer = p_.name;
    m.row_parts = row_parts, m.column_parts = column_parts, m.kernel_parts = kernel_parts;
    m.kernels_per_block = p_.block_kernels;
    const int rows = largest_part_of(share_.rows, row_parts, grain_.rows);
    const int columns = largest_part_of(share_.columns, column_parts, grain_.columns);
    const int blocks = largest_part_of(p_.kernel_blocks(), kernel_parts, 1);
    m.tile_rows = rows, m.tile_columns = columns, m.blocks_per_load = blocks;
    while (!fits(m)) {
      if (m.blocks_per_load > 1 && result_bytes(m) > share_.result_bytes)
        m.blocks_per_load = static_cast<int>(ceil_div(m.blocks_per_load, 2));
      else if (m.tile_rows > grain_.rows)
        m.tile_rows = align_up<int>(ceil_div(m.tile_rows, 2), grain_.rows);
      else if (m.tile_columns > grain_.columns)
        m.tile_columns = align_up<int>(ceil_div(m.tile_columns, 2), grain_.columns);
      else if (m.tile_rows > 1)
        m.tile_rows = static_cast<int>(ceil_div(m.tile_rows, 2));
      else if (m.tile_columns > 1)
        m.tile_columns = static_cast<int>(ceil_div(m.tile_columns, 2));
      else
        return;
    }
    while (true) {
      consider(m, rows, columns, blocks);
      if (m.tile_rows <= grain_.rows) return;
      m.tile_rows = align_up<int>(ceil_div(m.tile_rows, 2), grain_.rows);
    }
  }
  void consider(const LayerMapping& m, int rows, int columns, int blocks) {
    const double tiles = static_cast<double>(ceil_div(rows, m.tile_rows)) *
                         static_cast<double>(ceil_div(columns, m.tile_columns));
    const double grains = static_cast<double>(ceil_div(m.tile_rows, grain_.rows)) *
                          static_cast<double>(ceil_div(m.tile_columns, grain_.columns)) * tiles;
    const double computed = grains * blocks * static_cast<double>(grain_.cycles);
    const double moved = tiles * static_cast<double>(map_beats(m) + result_beats(m)) * m.cores();
    // The first tile's map comes before there is something to compute, the last one's results go behind.
    const double edges = static_cast<double>(map_beats(m) + result_beats(m)) * m.cores();
    // Cores load what they alone need side by side.
    const double loaded = m.kernel_parts == m.cores()
                              ? std::max(share_.dram_load, share_.own_load / m.cores())
                              : share_.shared_load;
    const double cycles = std::max({computed, moved, loaded}) + edges + kTileCycles * tiles;
    const std::pair<int, double> cost{share_.fewest_kernels ? blocks : 0, cycles};
    if (best_ && cost >= cost_) return;
    best_ = m, cost_ = cost;
  }
  bool fits(const LayerMapping& m) const {
    return map_bytes(m) <= share_.operand_bytes && result_bytes(m) <= share_.result_bytes;
  }
  std::int64_t map_bytes(const LayerMapping& m) const {
    return std::int64_t{p_.axis_h().span(m.tile_rows)} *
           layer_.ifm_row_bytes(p_.axis_w().inner(m.tile_columns));
  }
  std::int64_t result_bytes(const LayerMapping& m) const {
    const int kernels = std::min(m.blocks_per_load * p_.block_kernels, p_.conv.out_channels);
    return std::int64_t{m.tile_rows} * m.tile_columns * kernels * p_.element_bytes();
  }

  // Of the bus of the cluster, which all cores share: a run takes whole ones.
  std::int64_t map_beats(const LayerMapping& m) const {
    const std::int64_t row = std::int64_t{p_.axis_w().span(m.tile_columns)} * p_.channels;
    return p_.axis_h().span(m.tile_rows) * beats_of(row);
  }
  std::int64_t result_beats(const LayerMapping& m) const {
    const int kernels = m.blocks_per_load * p_.block_kernels;
    if (kernels >= p_.conv.out_channels) return m.tile_rows * beats_of(result_bytes(m) / m.tile_rows);
    return std::int64_t{m.tile_rows} * m.tile_columns * beats_of(std::int64_t{kernels} * p_.element_bytes());
  }
  std::int64_t beats_of(std::int64_t run) const {
    return ceil_div<std::int64_t>(run, chip_.cluster_bus.bytes_per_clock);
  }

  const MatrixLayer& layer_;
  const Problem& p_;
  const Grain grain_;
  const ChipConfig& chip_;
  const ClusterShare& share_;
  std::optional<LayerMapping> best_;
  std::pair<int, double> cost_;  // of the best one: kernel blocks of a core, where these count, and cycles
};

}  // namespace

LayerMapping split_over_cluster(const MatrixLayer& layer, const ChipConfig& chip, const ClusterShare& share) {
  const std::optional<LayerMapping> best = Splits(layer, chip, share).best();
  if (best) return *best;
  throw UserError(
      fmt::format("layer '{}' cannot fit: not even one output fits the buffers of a fused unit, {} bytes for "
                  "operands and {} for "
                  "results; chip.core.nram.size_bytes is {}",
                  layer.problem().name, share.operand_bytes, share.result_bytes, chip.core.nram.size_bytes));
}

}  // namespace tilebeat
