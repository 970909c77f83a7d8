#include "planner/fusion/cluster_split.h"

#include "base/types.h"
#include "planner/language/transfer.h"
#include "planner/layer/matrix_work.h"
#include "tilebeat/error.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include <fmt/format.h>

namespace tilebeat {
namespace {

// Cycles of a tile besides its beats: the instructions that request, load, drain and store it.
constexpr double kTileCycles = 64;
// Fraction of the cycles of computing in which nothing moves.
constexpr double kInTurn = 0.25;

// Searches the splits of one layer.
class Splits {
 public:
  Splits(const ShardedLayer& layer, const ChipConfig& chip, const ClusterShare& share)
      : whole_(layer),
        reduction_group_(layer.cores()),
        reduction_groups_(share.cores / reduction_group_),
        layer_(*layer.largest().layer),
        p_(layer_.problem()),
        grain_(layer_.grain()),
        chip_(chip),
        bus_(cluster_path(chip).width),
        port_(std::min(bus_, core_path(chip, chip.core.copy).width)),
        share_(share) {}

  std::optional<LayerMapping> best() {
    const Split most{to_int(ceil_div(share_.rows, grain_.rows)),
                     to_int(ceil_div(share_.columns, grain_.columns)), p_.kernel_blocks()};
    for (const Split& split : splits_of(reduction_groups_, most)) look_at(split);
    return best_;
  }

 private:
  void look_at(const Split& split) {
    LayerMapping m;
    m.layer = p_.name;
    m.row_parts = split.rows, m.column_parts = split.columns, m.kernel_parts = split.kernels;
    m.reduction_parts = reduction_group_;
    m.kernels_per_block = p_.block_kernels;
    const int rows = largest_part_of(share_.rows, split.rows, grain_.rows);
    const int columns = largest_part_of(share_.columns, split.columns, grain_.columns);
    const int blocks = largest_part_of(p_.kernel_blocks(), split.kernels, 1);
    m.tile_rows = rows, m.tile_columns = columns, m.blocks_per_load = blocks;
    while (!fits(m)) {
      if (m.blocks_per_load > 1 && !results_fit(m))
        m.blocks_per_load = to_int(ceil_div(m.blocks_per_load, 2));
      else if (m.tile_rows > grain_.rows)
        m.tile_rows = align_up<int>(ceil_div(m.tile_rows, 2), grain_.rows);
      else if (m.tile_columns > grain_.columns)
        m.tile_columns = align_up<int>(ceil_div(m.tile_columns, 2), grain_.columns);
      else if (m.tile_rows > 1)
        m.tile_rows = to_int(ceil_div(m.tile_rows, 2));
      else if (m.tile_columns > 1)
        m.tile_columns = to_int(ceil_div(m.tile_columns, 2));
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
    // Only transfers run before the first tile's map has arrived and after the last tile has been computed.
    const double by_bus =
        static_cast<double>(map_beats(m, bus_) * reduction_group_ + sum_beats(m) + result_beats(m, bus_)) *
        m.reduction_groups();
    const double by_core = static_cast<double>(map_beats(m, port_) + result_beats(m, port_));
    const double edges = std::max(by_bus, by_core);
    const double moved = tiles * edges;
    // Kernels that only one core needs are loaded by all cores at the same time.
    const double loaded = m.kernel_parts * reduction_group_ == m.cores()
                              ? std::max(share_.dram_load, share_.own_load / m.cores())
                              : share_.shared_load;
    const double added = added_cycles(m);
    // Computing and moving overlap less than fully.
    const double cycles = std::max({computed, moved, loaded, tiles * added}) + kInTurn * computed + edges +
                          added + kTileCycles * tiles;
    // Parts of rows leave runs in memory longer than parts of kernels do, and those longer than parts of
    // columns.
    const bool few = share_.kernels != ClusterShare::Kernels::kAny;
    const bool fewest = share_.kernels == ClusterShare::Kernels::kFewest;
    const Cost cost{fewest ? blocks : 0, cycles, few ? m.row_parts * m.column_parts : m.column_parts,
                    m.kernel_parts, m.row_parts};
    if (best_ && cost >= cost_) return;
    best_ = m, cost_ = cost;
  }
  TileBytes bytes_of(const LayerMapping& m) const {
    return tile_bytes(layer_, m, m.tile_rows, m.tile_columns);
  }
  bool fits(const LayerMapping& m) const { return bytes_of(m).map <= share_.operand_bytes && results_fit(m); }
  bool results_fit(const LayerMapping& m) const {
    if (bytes_of(m).result > share_.result_bytes) return false;
    if (reduction_group_ == 1) return true;
    return slice_sums(m) * dtype_size(DType::kInt32) <= share_.slice_bytes &&
           post_buffer_bytes(whole_.problem, m.blocks_per_load) <= chip_.core.vector.parameter_bytes;
  }
  // Partial sums of a tile that one core adds up.
  std::int64_t slice_sums(const LayerMapping& m) const {
    return ceil_div<std::int64_t>(std::int64_t{m.tile_rows} * m.tile_columns, reduction_group_) *
           kernels_of(m);
  }
  std::int64_t kernels_of(const LayerMapping& m) const {
    return std::min(m.blocks_per_load * p_.block_kernels, p_.conv.out_channels);
  }

  // Beats of a tile at a port of `width` bytes: the cluster's bus, which all cores share, or the port of one
  // core's MVDMA. Each run takes whole beats.
  std::int64_t map_beats(const LayerMapping& m, int width) const {
    const std::int64_t columns = p_.axis_w().span(m.tile_columns), rows = p_.axis_h().span(m.tile_rows);
    return reduction_group_ == 1 ? rows * beats_of(columns * p_.channels, width)
                                 : rows * columns * beats_of(p_.channels, width);
  }
  std::int64_t result_beats(const LayerMapping& m, int width) const {
    const std::int64_t pixel = kernels_of(m) * whole_.problem.element_bytes();
    if (kernels_of(m) == p_.conv.out_channels) return m.tile_rows * beats_of(m.tile_columns * pixel, width);
    return std::int64_t{m.tile_rows} * m.tile_columns * beats_of(pixel, width);
  }
  // Each core of a reduction group sends all sums of a tile but its own slice, and receives as many.
  std::int64_t sum_beats(const LayerMapping& m) const {
    return 2 * (reduction_group_ - 1) * beats_of(slice_sums(m) * dtype_size(DType::kInt32), bus_) *
           reduction_group_;
  }
  // Cycles that a core's vector unit adds for a tile.
  double added_cycles(const LayerMapping& m) const {
    return static_cast<double>((reduction_group_ - 1) * slice_sums(m)) / chip_.core.vector.lanes;
  }
  static std::int64_t beats_of(std::int64_t run, int width) { return ceil_div<std::int64_t>(run, width); }

  const ShardedLayer& whole_;
  const int reduction_group_, reduction_groups_;  // cores of a reduction group; number of groups
  const MatrixLayer& layer_;                      // the shard with the most channels
  const Problem& p_;
  const Grain grain_;
  const ChipConfig& chip_;
  const int bus_, port_;  // bytes a cycle of the cluster's bus, and of the MVDMA of a core
  const ClusterShare& share_;
  std::optional<LayerMapping> best_;
  // Kernel blocks of a core, where they count; cycles; parts, the least wanted ones first.
  using Cost = std::tuple<int, double, int, int, int>;
  Cost cost_;  // of `best_`
};

}  // namespace

LayerMapping split_over_cluster(const ShardedLayer& layer, const ChipConfig& chip,
                                const ClusterShare& share) {
  const std::optional<LayerMapping> best = Splits(layer, chip, share).best();
  if (best) return *best;
  throw UserError(fmt::format(
      "layer '{}' cannot fit: not even one output fits the buffers of a fusion group, {} bytes for "
      "operands and {} for "
      "results; chip.core.nram.size_bytes is {}",
      layer.problem.name, share.operand_bytes, share.result_bytes, chip.core.nram.size_bytes));
}

}  // namespace tilebeat
