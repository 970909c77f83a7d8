#include "base/types.h"
#include "planner/layer/choose_layer.h"
#include "planner/layer/estimate.h"
#include "planner/layer/matrix_work.h"
#include "planner/layer/placement.h"
#include "planner/layer/staging.h"
#include "tilebeat/error.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

namespace tilebeat {
namespace {

constexpr int kMostKernelLoads = 8;
constexpr std::int64_t kKernelLoadBytes = 32768;
constexpr std::int64_t kMostBuffers = 32;  // for kernels

class Candidates {
 public:
  explicit Candidates(const MappingQuestion& question)
      : q_(question),
        cores_(question.layer.cores()),
        groups_(question.layer.group_parts()),
        share_(question.layer.largest()),
        layer_(*share_.layer),
        p_(layer_.problem()),
        hardware_(question.hardware),
        asked_(question.request != nullptr ? *question.request : MappingRequest{}),
        grain_(layer_.grain()) {
    mapping_.layer = p_.name, mapping_.kernels_per_block = p_.block_kernels;
    mapping_.cores_per_cluster = asked_.cores_per_cluster.value_or(0);
    if (mapping_.cores_per_cluster > hardware_.chip->cores_per_cluster)
      throw UserError(fmt::format("mapping: cores_per_cluster {} is more than {}, chip.cores_per_cluster",
                                  mapping_.cores_per_cluster, hardware_.chip->cores_per_cluster));
    chip_ = mapping_.working(*hardware_.chip);
    if (cores_ > chip_.cores_per_cluster)
      throw UserError(fmt::format("mapping: reduction_parts {} is more than {}, cores_per_cluster", cores_,
                                  chip_.cores_per_cluster));
    const WeightLayout& layout = share_.weights.layout;
    const std::int64_t records = layout.dealt ? 0 : layout.post_bytes;
    block_bytes_ =
        align_up(std::max<std::int64_t>(1, layout.most_bytes + records), kBufferAlignment * layout.regions);
  }

  std::vector<MappingCandidate> run() {
    add_candidates();
    if (candidates_.empty()) refuse();
    // Sorts numbers instead of candidates: there are thousands, of a few hundred bytes each.
    std::vector<std::pair<double, std::size_t>> order;
    for (const MappingCandidate& candidate : candidates_) order.emplace_back(candidate.rough, order.size());
    std::sort(order.begin(), order.end());
    std::vector<MappingCandidate> sorted;
    sorted.reserve(order.size());
    for (const auto& [rough, number] : order) sorted.push_back(std::move(candidates_[number]));
    return sorted;
  }

 private:
  // ---- candidates ----

  void add_candidates() {
    const MappingRequest& asked = asked_;
    const auto most_rows = to_int(ceil_div(p_.out_height, grain_.rows)),
               most_columns = to_int(ceil_div(p_.out_width, grain_.columns));
    const int reduction_groups = groups_of_shard();
    check_parts("kernel_parts", asked.kernel_parts, std::min(reduction_groups, p_.kernel_blocks()));
    check_parts("row_parts", asked.row_parts, std::min(reduction_groups, most_rows));
    check_parts("column_parts", asked.column_parts, std::min(reduction_groups, most_columns));
    check_parts("image_parts", asked.image_parts, std::min(reduction_groups, p_.batch));
    for (const int images : image_splits()) {
      for (const Split& split :
           splits_of(reduction_groups / images, {most_rows, most_columns, p_.kernel_blocks()})) {
        const bool wanted = asked.kernel_parts.value_or(split.kernels) == split.kernels &&
                            asked.row_parts.value_or(split.rows) == split.rows &&
                            asked.column_parts.value_or(split.columns) == split.columns;
        if (wanted) add_split(images, split);
      }
    }
  }
  int groups_of_shard() const { return reduction_groups_of(chip_, cores_) / groups_; }
  // Images of a product have kernels of their own; images of a convolution use the same kernels, and their
  // rows are split.
  std::vector<int> image_splits() const {
    if (asked_.image_parts) return {*asked_.image_parts};
    std::vector<int> splits{1};
    for (int parts = 2; p_.sets > 1 && parts <= std::min(groups_of_shard(), p_.batch); ++parts) {
      if (ceil_div(p_.batch, parts) < ceil_div(p_.batch, splits.back())) splits.push_back(parts);
    }
    return splits;
  }
  static void check_parts(const char* name, const std::optional<int>& asked, int most) {
    if (asked && *asked > most)
      throw UserError(fmt::format("mapping: {} {} is more than {}, the parts that layer and cores allow",
                                  name, *asked, most));
  }

  void add_split(int images, const Split& of) {
    LayerMapping split = mapping_;
    split.row_parts = of.rows, split.column_parts = of.columns, split.kernel_parts = of.kernels,
    split.image_parts = images, split.reduction_parts = cores_, split.group_parts = groups_;
    if (!place_kernels(split)) return;
    const std::size_t known = candidates_.size();
    const CorePart part = largest_part(p_, grain_, split);
    const bool stay = resident(split, part);
    std::set<std::tuple<int, int, int>> seen;  // loads that are asked for make several the same
    for (LayerMapping loads : kernel_loads(split, part.blocks.size(), stay)) {
      if (q_.layer.adds_sums()) loads.blocks_per_load = std::min(loads.blocks_per_load, most_blocks_added());
      loads.blocks_per_load = asked_.blocks_per_load.value_or(loads.blocks_per_load);
      loads.kernel_buffers = asked_.kernel_buffers.value_or(loads.kernel_buffers);
      loads.channel_parts = asked_.channel_parts.value_or(loads.channel_parts);
      if (seen.insert({loads.blocks_per_load, loads.kernel_buffers, loads.channel_parts}).second)
        add_tiles(loads, stay && candidates_.size() > known);
    }
  }

  void add_tiles(const LayerMapping& split, bool other_loads) {
    std::set<std::pair<int, int>> tiled;  // with fewer buffers only what does not fit with more
    for (const int buffers : {2, 1}) {
      for (const int rows : tile_heights(split)) {
        LayerMapping mapping = split;
        mapping.map_buffers = asked_.map_buffers.value_or(buffers);
        if (!place_maps(mapping, rows)) continue;
        mapping.tile_rows = asked_.tile_rows.value_or(mapping.tile_rows);
        mapping.tile_columns = asked_.tile_columns.value_or(mapping.tile_columns);
        if (!tiled.insert({mapping.tile_rows, mapping.tile_columns}).second) continue;
        if (!asked_.map_strips.value_or(false)) add_paths(mapping, other_loads);
        if (may_hold_strips(mapping)) add_paths(mapping, other_loads);
      }
    }
  }
  // Turns it into a mapping whose tiles share rows, if that saves bytes.
  bool may_hold_strips(LayerMapping& m) const {
    const CorePart part = largest_part(p_, grain_, m);
    const bool again = (p_.conv.kernel[0] - 1) * p_.conv.dilation[0] >= p_.conv.stride[0] ||
                       (!resident(m, part) && part.blocks.size() > m.blocks_per_load);
    const bool saves = again && m.tile_rows < part.rows.size() && m.tile_columns >= part.columns.size();
    if (!asked_.map_strips.value_or(saves && may_share_rows(share_))) return false;
    m.map_strips = true;
    m.map_buffers = asked_.map_buffers.value_or(std::min(2, part.images.size()));
    return asked_.map_strips.has_value() || fits(m, m.tile_rows, m.tile_columns);
  }
  void add_paths(LayerMapping mapping, bool other_loads) {
    mapping.order = asked_.order.value_or(order_of(mapping));
    const CoreWork work = work_of_core(mapping);
    std::vector<Paths> seen;  // a path that is asked for makes several the same
    for (const auto& [maps, loads, results] : paths_of(mapping)) {
      mapping.maps = asked_.maps.value_or(maps);
      mapping.kernels = asked_.kernels.value_or(loads);
      mapping.results = asked_.results.value_or(results);
      const Paths paths{mapping.maps, mapping.kernels, mapping.results};
      if (std::find(seen.begin(), seen.end(), paths) != seen.end()) continue;
      seen.push_back(paths);
      candidates_.push_back({mapping, rough_cycles(mapping, work), other_loads});
    }
  }

  // In grains, the highest first: heights that divide a part evenly, and small heights for chips with little
  // memory.
  std::set<int, std::greater<>> tile_heights(const LayerMapping& m) const {
    const int all = ceil_div(largest_part(p_, grain_, m).rows.size(), grain_.rows);
    std::set<int, std::greater<>> heights;
    for (const int tiles : {1, 2, 3, 4, 6, 8}) heights.insert(ceil_div(all, tiles));
    for (const int height : {1, 2, 3, 4, 6, 8, 12}) heights.insert(std::min(all, height));
    return heights;
  }

  // The most kernel blocks of a load whose post-parameters the vector unit can hold.
  int most_blocks_added() const {
    const int records = (chip_.core.vector.parameter_bytes - kActivationBytes) / kPostParameterBytes;
    return std::max(1, records / p_.block_kernels);
  }

  // Kernels stay in WRAM, in several loads so that computing can begin with the first and the next set is
  // loaded meanwhile; or half of WRAM is filled while the other half is used; or channels are cut.
  bool place_kernels(LayerMapping& m) const {
    const std::int64_t wram = chip_.core.wram.size_bytes;
    const int blocks = largest_part(p_, grain_, m).blocks.size();
    if (block_bytes_ * blocks <= wram) {
      const auto loads = to_int(std::clamp<std::int64_t>(block_bytes_ * blocks / kKernelLoadBytes, 1,
                                                         std::min(blocks, kMostKernelLoads)));
      m.blocks_per_load = ceil_div(blocks, loads);
      m.kernel_buffers = ceil_div(blocks, m.blocks_per_load);
      const std::int64_t bytes = block_bytes_ * m.blocks_per_load * m.kernel_buffers;
      if (p_.sets > 1 && 2 * bytes <= wram) m.kernel_buffers *= 2;
      if (block_bytes_ * m.blocks_per_load * m.kernel_buffers > wram)
        m.blocks_per_load = blocks, m.kernel_buffers = 1;
      return true;
    }
    m.kernel_buffers = 2;
    m.blocks_per_load = to_int(std::min<std::int64_t>(blocks, wram / 2 / block_bytes_));
    if (m.blocks_per_load > 0) return true;
    if (!layer_.reduces()) return false;
    m.blocks_per_load = 1;
    m.channel_parts = ceil_div(p_.channels, grain_.channels);
    if (group_bytes(share_, m) > wram / 2) return false;
    m.channel_parts = to_int(std::min<std::int64_t>(m.channel_parts, ceil_div(2 * block_bytes_, wram)));
    while (group_bytes(share_, m) > wram / 2) ++m.channel_parts;
    return true;
  }

  // The `blocks` kernel blocks of a core in loads of several sizes: with small loads computing begins sooner,
  // with large ones the engine reads maps less often. Kernels that stay are already in small loads.
  std::vector<LayerMapping> kernel_loads(const LayerMapping& placed, int blocks, bool stay) const {
    std::vector<LayerMapping> loads{placed};
    if (placed.channel_parts > 1) return loads;
    const std::int64_t wram = chip_.core.wram.size_bytes;
    const int sets = stay ? placed.kernel_buffers / ceil_div(blocks, placed.blocks_per_load) : 1;
    for (const int factor : {2, 4, 8}) {
      LayerMapping m = placed;
      m.blocks_per_load =
          stay ? std::min(blocks, placed.blocks_per_load * factor) : ceil_div(placed.blocks_per_load, factor);
      const auto room =
          to_int(std::min<std::int64_t>(wram / (block_bytes_ * m.blocks_per_load), kMostBuffers));
      if (room == 0) continue;
      m.kernel_buffers = sets * std::min(room, ceil_div(blocks, m.blocks_per_load));
      if (block_bytes_ * m.blocks_per_load * m.kernel_buffers <= wram) loads.push_back(m);
    }
    return loads;
  }

  bool fits(const LayerMapping& m, int rows, int columns) const {
    return nram_bytes(q_.layer, layer_, m, rows, columns).all <= chip_.core.nram.size_bytes;
  }
  // Tries whole rows first, of `height` grains if these fit; columns are cut when even the fewest rows do not
  // fit (SPEC SW-7).
  bool place_maps(LayerMapping& m, int height) const {
    const CorePart part = largest_part(p_, grain_, m);
    int rows = std::min(part.rows.size(), height * grain_.rows);
    int columns = part.columns.size();
    if (m.channel_parts > 1) rows = std::min(rows, grain_.rows), columns = std::min(columns, grain_.columns);
    while (rows > grain_.rows && !fits(m, rows, columns)) rows -= grain_.rows;
    rows = std::max(1, rows);
    while (!fits(m, rows, columns)) {
      if (columns <= grain_.columns) return false;
      columns = align_up(columns, grain_.columns) - grain_.columns;
    }
    m.tile_rows = rows, m.tile_columns = columns;
    return true;
  }

  // The order in which the operand with fewer bytes is the one that is fetched repeatedly.
  StepOrder order_of(const LayerMapping& m) const {
    const CorePart part = largest_part(p_, grain_, m);
    const std::int64_t tiles = tiles_of(m, part), groups = ceil_div(part.blocks.size(), m.blocks_per_load);
    if (resident(m, part) || groups == 1) return StepOrder::kTileOuter;
    const std::int64_t maps = tiles * tile_bytes(m), kernels = part.blocks.size() * block_bytes_;
    // number of times that maps are fetched with kernels outermost
    const std::int64_t fetched = stay(m, part) ? 1 : groups;
    return maps + kernels * tiles <= maps * fetched + kernels ? StepOrder::kTileOuter
                                                              : StepOrder::kKernelOuter;
  }
  std::int64_t tiles_of(const LayerMapping& m, const CorePart& part) const {
    return std::int64_t{part.images.size()} * ceil_div(part.rows.size(), m.tile_rows) *
           ceil_div(part.columns.size(), m.tile_columns);
  }
  // Whether strips stay in their buffers and are never loaded again.
  static bool stay(const LayerMapping& m, const CorePart& part) {
    return m.map_strips && part.images.size() <= m.map_buffers;
  }
  std::int64_t tile_bytes(const LayerMapping& m) const {
    return std::int64_t{p_.axis_h().span(m.tile_rows)} * p_.axis_w().span(m.tile_columns) * p_.channels;
  }
  static bool resident(const LayerMapping& m, const CorePart& part) {
    return m.channel_parts == 1 && m.blocks_per_load * m.kernel_buffers >= part.blocks.size();
  }

  std::int64_t loaded_bytes(const LayerMapping& m) const {
    const auto [found, added] =
        loaded_bytes_.try_emplace({m.kernel_parts, m.blocks_per_load, m.channel_parts}, 0);
    if (added) found->second = group_bytes(share_, m);
    return found->second;
  }

  using Paths = std::tuple<DataPath, DataPath, DataPath>;
  std::vector<Paths> paths_of(const LayerMapping& m) const {
    const CorePart part = largest_part(p_, grain_, m);
    const bool stays = resident(m, part);
    const std::int64_t group = loaded_bytes(m), sram = chip_.sram_bytes();
    const DataPath direct = DataPath::kDirect, through = DataPath::kSram, broadcast = DataPath::kBroadcast;
    const bool share_maps = m.kernel_parts > 1, share_both = 2 * group <= sram / 2;
    if (chip_.dram_path == DramPath::kSram)
      return {{share_maps ? broadcast : through, stays && share_both ? broadcast : through, through}};
    std::vector<Paths> paths{{direct, direct, direct}};
    if (!may_use_memory_cores(chip_)) return paths;
    const bool share_kernels = stays && m.reduction_groups() > m.kernel_parts * groups_ && 2 * group <= sram;
    if (share_kernels) paths.emplace_back(direct, broadcast, direct);
    if (share_maps) paths.emplace_back(broadcast, direct, direct);
    if (share_kernels && share_maps && share_both) paths.emplace_back(broadcast, broadcast, direct);
    if (m.cores() <= chip_.cores_per_cluster) return paths;
    // Paths for data that several clusters need.
    const DataPath chain = DataPath::kChain;
    const bool chain_maps = m.kernel_parts * cores_ > chip_.cores_per_cluster;
    if (share_kernels) paths.emplace_back(direct, chain, direct);
    if (share_kernels && share_maps && share_both) paths.emplace_back(broadcast, chain, direct);
    if (chain_maps) paths.emplace_back(chain, direct, direct);
    if (chain_maps && share_kernels && share_both) paths.emplace_back(chain, chain, direct);
    return paths;
  }

  // ---- what they cost ----

  // The work of a core, whatever the data paths; in bytes where nothing else is said.
  struct CoreWork {
    double maps = 0, kernels = 0, results = 0;
    double bus_of_maps = 0, bus_of_results = 0;  // bytes on the DRAM bus
    double compute = 0;                          // cycles
    double steps = 0;
  };
  CoreWork work_of_core(const LayerMapping& m) const {
    const CorePart part = largest_part(p_, grain_, m);
    const auto tiles = static_cast<double>(tiles_of(m, part));
    const double groups =
        static_cast<double>(ceil_div(part.blocks.size(), m.blocks_per_load)) * m.channel_parts;
    const bool stays = resident(m, part), tile_outer = m.order == StepOrder::kTileOuter;
    // In strips, rows that tiles share count once.
    const double shared = m.map_strips ? static_cast<double>(part.images.size() * map_rows(layer_, m)) /
                                             (tiles * p_.axis_h().span(m.tile_rows))
                                       : 1;
    const double map_loads = shared * tiles * (tile_outer || stay(m, part) ? 1 : groups);
    const double sets = std::min(p_.sets, part.images.size());
    CoreWork work;
    work.maps = map_loads * static_cast<double>(tile_bytes(m));
    work.kernels =
        static_cast<double>(part.blocks.size() * block_bytes_) * (stays || !tile_outer ? sets : tiles);
    work.results = result_bytes(m);
    work.bus_of_maps = map_loads * map_bus_bytes(m);
    work.bus_of_results = result_bus_bytes(m);
    work.compute = static_cast<double>(
        std::int64_t{part.images.size()} * ceil_div(part.rows.size(), grain_.rows) *
        ceil_div(part.columns.size(), grain_.columns) * part.blocks.size() * grain_.cycles);
    work.steps = tiles * (tile_outer ? 1 : groups);
    return work;
  }

  // The longest of computing while kernels arrive, ports, and DRAM.
  double rough_cycles(const LayerMapping& m, const CoreWork& work) const {
    const double maps = work.maps, kernels = work.kernels, results = work.results;
    const int in_cluster = std::min(m.cores(), chip_.cores_per_cluster);
    const int clusters = ceil_div(m.cores(), chip_.cores_per_cluster);
    const bool maps_shared = m.maps != DataPath::kDirect, kernels_shared = m.kernels != DataPath::kDirect;
    const double different_maps = maps_shared ? ceil_div(in_cluster, m.kernel_parts) : in_cluster;
    const double different_kernels =
        kernels_shared ? std::min(different_kernels_of(m), in_cluster) : in_cluster;
    // DRAM traffic of all clusters.
    const double chains = ceil_div(clusters, to_int(Staging::kMostLinks));
    const double fetched_maps = m.maps == DataPath::kChain
                                    ? std::max<double>(chains, ceil_div(m.cores(), m.kernel_parts))
                                    : clusters * different_maps;
    const double fetched_kernels = m.kernels == DataPath::kChain
                                       ? std::min<double>(chains * different_kernels_of(m), m.cores())
                                       : clusters * different_kernels;
    const double port = hardware_.interconnect.bytes_per_clock;
    const double direct = (maps_shared ? 0 : maps) + (kernels_shared ? 0 : kernels) +
                          (m.results == DataPath::kSram ? 0 : results);
    const double stored = m.results == DataPath::kSram ? results * in_cluster : 0;
    const double staged = (maps_shared ? maps * different_maps : 0) +
                          (kernels_shared ? kernels * different_kernels : 0) + stored;
    const double gdma = (maps_shared ? maps * fetched_maps / clusters : 0) +
                        (kernels_shared ? kernels * fetched_kernels / clusters : 0) + stored;
    const double cluster_port = chip_.cluster_bus.bytes_per_clock;
    const double dram =
        work.bus_of_results * m.cores() + work.bus_of_maps * fetched_maps + kernels * fetched_kernels;
    // Transfers and computing overlap, except for the first and the last tile.
    const double transfers =
        std::max({direct / port, gdma / port, staged / cluster_port, dram / dram_rate()});
    const double serial =
        std::min(work.compute, transfers) / (m.map_buffers > 1 || m.map_strips ? work.steps : 1);
    return std::max(work.compute, transfers) + serial + exchange_cycles(m) + start_cycles(m);
  }
  int different_kernels_of(const LayerMapping& m) const { return m.kernel_parts * cores_ * groups_; }
  // The cycles of a partial-sum exchange: a core sends all but its own slice and receives as much.
  double exchange_cycles(const LayerMapping& m) const {
    if (!q_.layer.adds_sums()) return 0;
    constexpr double kWays = 300;  // latency from core to core, through the vector unit
    const double sums = static_cast<double>(p_.output.size_bytes()) / m.reduction_groups();
    return kWays + 2 * sums * (cores_ - 1) / cores_ / chip_.cluster_bus.bytes_per_clock;
  }
  double dram_rate() const { return machine_of(hardware_, {}).dram_bytes_per_clock; }
  double start_cycles(const LayerMapping& m) const {
    if (!q_.first_of_program) return 0;
    const bool table = hardware_.host.start == HostStart::kTable;
    const auto started = static_cast<double>(processors_of(chip_, m).size());
    return 3.0 * (table ? 1.0 : started) * hardware_.host.register_write_cycles;
  }
  // Bytes on the DRAM bus of the map of a tile, and of the results of a core.
  double map_bus_bytes(const LayerMapping& m) const {
    const TensorLayout& map = share_.input;
    const Runs runs = merged_runs(p_.channels, p_.axis_w().span(m.tile_columns), map.pixel_stride,
                                  p_.axis_h().span(m.tile_rows), map.row_stride);
    return bus_bytes(runs, dram_path(hardware_, chip_.core.copy, Direction::kRead), 0);
  }
  double result_bus_bytes(const LayerMapping& m) const {
    const int element = q_.layer.problem.element_bytes();
    const std::int64_t pixel = std::int64_t{q_.layer.problem.conv.out_channels} * element;
    const std::int64_t run =
        std::min<std::int64_t>(pixel, std::int64_t{m.blocks_per_load} * p_.block_kernels * element);
    const Runs runs = merged_runs(run, m.tile_columns, pixel, m.tile_rows, p_.out_width * pixel);
    const double tile = bus_bytes(runs, dram_path(hardware_, chip_.core.copy, Direction::kWrite), 0);
    return tile / static_cast<double>(runs.run * runs.count) * result_bytes(m);
  }
  double result_bytes(const LayerMapping& m) const {
    return static_cast<double>(q_.layer.problem.output.size_bytes()) / m.cores();
  }

  [[noreturn]] void refuse() const {
    LayerMapping m;
    m.blocks_per_load = 1;
    if (!place_kernels(m))
      throw UserError(
          fmt::format("layer '{}' cannot fit: the kernels of one block take {} bytes, half of "
                      "chip.core.wram.size_bytes is {}",
                      p_.name, block_bytes_, chip_.core.wram.size_bytes / 2));
    const int rows = std::min(p_.out_height, grain_.rows), columns = std::min(p_.out_width, grain_.columns);
    m.map_buffers = 1;
    const NramBytes bytes = nram_bytes(q_.layer, layer_, m, rows, columns);
    throw UserError(
        fmt::format("layer '{}' cannot fit: a tile of {} x {} outputs with its inputs{} takes {} bytes, "
                    "chip.core.nram.size_bytes is {}",
                    p_.name, rows, columns, bytes.sums > 0 ? " and sums of other cores" : "", bytes.all,
                    chip_.core.nram.size_bytes));
  }

  const MappingQuestion& q_;
  int cores_;   // cores of a reduction group
  int groups_;  // parts of the convolution groups
  const Shard& share_;
  const MatrixLayer& layer_;
  const Problem& p_;
  const HardwareConfig& hardware_;
  MappingRequest asked_;
  LayerMapping mapping_;  // what all candidates have in common
  ChipConfig chip_;       // its cores that may work
  Grain grain_;
  std::int64_t block_bytes_ = 1;
  std::deque<MappingCandidate> candidates_;  // thousands, which do not move
  // Keyed by parts of the kernels, blocks and channel parts.
  mutable std::map<std::tuple<int, int, int>, std::int64_t> loaded_bytes_;
};

}  // namespace

bool may_use_memory_cores(const ChipConfig& chip) {
  return chip.dram_path == DramPath::kSram ||
         (chip.dram_path == DramPath::kAuto && chip.cores_per_cluster > 1);
}

std::vector<MappingCandidate> mapping_candidates(const MappingQuestion& question) {
  return Candidates(question).run();
}

}  // namespace tilebeat
