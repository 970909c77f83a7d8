#include "planner/layer/matrix_tasks.h"

#include "base/types.h"
#include "isa/address_map.h"
#include "planner/language/relayout.h"
#include "planner/layer/matrix_core.h"
#include "planner/layer/matrix_work.h"
#include "planner/layer/operand_transfers.h"
#include "planner/layer/partial_sum_exchange.h"
#include "planner/layer/placement.h"
#include "planner/layer/staging.h"
#include "planner/layer/weight_streams.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace tilebeat {
namespace {

// Adds the tasks of all cores.
class MatrixTasks {
 public:
  /// `lowering`: empty when only prefetched loads are added, beside `sram` bytes in use.
  MatrixTasks(TaskGraph& graph, const MatrixWork& work, const LoweringFactory& lowering,
              std::int64_t sram = 0)
      : graph_(graph),
        work_(work),
        m_(work.mapping),
        p_(work.layer.problem),
        chip_(work.chip()),
        footprint_(footprint_of(work)),
        copies_(graph, work.hardware),
        sums_(graph, chip_, sums_room()),
        posts_(graph, work, footprint_, sums_room().at + sums_room().bytes()),
        ahead_(!lowering) {
    const Grain grain = work.layer.largest().layer->grain();
    for (int number = 0; number < m_.cores(); ++number) {
      const int shard = shard_of_core(m_, number);
      const Shard& computed = nth(work.layer.shards, shard);
      const CorePart part = part_of_core(computed.layer->problem(), grain, m_, number);
      if (part.empty()) continue;
      Core& made = cores_.emplace_back(graph_, copies_, work, number, computed, part);
      if (!ahead_) made.lowering = lowering(graph_, made.place, shard);
    }
    if (ahead_)
      make_kernel_staging(sram);
    else
      make_staging();
  }

  PlannedUse run(const EnoughTasks& enough) {
    const std::size_t all = steps();
    for (std::size_t step = 0; step < all && !(enough && enough()); ++step) {
      load_kernels(step);
      load_maps(step);
      for (Core& core : cores_) {
        if (step < core.steps.size()) compute(core, step);
      }
      if (work_.layer.adds_sums()) add_sums(step);
      for (Core& core : cores_) {
        if (step < core.steps.size() && !work_.layer.adds_sums()) store(core, step);
      }
    }
    bytes_.kernels += posts_.bytes();
    bytes_.results = p_.output.size_bytes();
    return use();
  }

  PlannedUse load_ahead() {
    for (std::size_t step = 0; step < steps(); ++step) load_kernels(step);
    return use();
  }

  std::vector<std::int64_t> wram_of_loads() const {
    int loads = 0;
    for (const Core& core : cores_) {
      std::set<int> groups;
      for (const CoreStep& step : core.steps) groups.insert(step.group_number);
      loads = std::max(loads, count_of(groups));
    }
    std::vector<std::int64_t> bytes;
    for (int i = 1; i <= std::min(loads, m_.kernel_buffers); ++i) bytes.push_back(i * footprint_.kernels);
    return bytes;
  }

 private:
  PlannedUse use() const {
    PlannedUse use{bytes_, 0, footprint_.wram};
    for (const auto& [cluster, staging] : staging_) use.sram = std::max(use.sram, staging.used());
    return use;
  }

  using Core = MatrixCore;

  // ---- addresses ----

  // The NRAM address of row `row` of the map of the core's step.
  std::uint64_t map_address(const Core& core, const OutputTile& tile, int row) const {
    return core.place.nram + map_offset(core, tile, row);
  }
  std::uint64_t map_offset(const Core& core, const OutputTile& tile, int row) const {
    const HeldMaps::Use& map = *core.map;
    return to_unsigned(map.place * footprint_.map +
                       (row - map.first_row) * core.shard->layer->ifm_row_bytes(tile.w));
  }
  std::uint64_t result_address(const Core& core, int place) const {
    return core.place.nram + to_unsigned(m_.map_buffers * footprint_.map + place * footprint_.result);
  }
  std::uint64_t weights_offset(int place) const {
    const int regions = work_.layer.shards.front().weights.layout.regions;
    return to_unsigned((work_.wram_at + place * footprint_.kernels) / regions);
  }

  // The exchange's buffers, behind those for maps and for the core's own sums.
  SumsRoom sums_room() const {
    return {m_.map_buffers * footprint_.map + kResultBuffers * footprint_.result,
            slice_buffers(work_.layer.cores()), footprint_.slice, footprint_.ended};
  }

  // ---- the memory of a cluster ----

  void make_staging() {
    if (!m_.uses_memory_cores() && !work_.layer.adds_sums()) return;
    for (int cluster = 0; cluster < chip_.clusters; ++cluster) {
      std::vector<int> cores;
      for (const Core& core : cores_) {
        if (core.cluster == cluster) cores.push_back(core.number);
      }
      if (cores.empty()) continue;
      staging_.emplace(cluster, Staging(graph_, work_.hardware, cluster, p_.name));
      Staging& staging = staging_.at(cluster);
      // Broadcast kernels need room for whole groups; other streams share the rest evenly.
      if (broadcasts(m_.kernels))
        broadcasts_[cluster] = staging.add_stream(std::min(footprint_.kernels, Staging::kLargestBuffer), 2);
      std::vector<int*> streams;
      std::map<int, int> store_streams;  // by core
      if (m_.maps != DataPath::kDirect) {
        for (const Core& core : cores_) {
          if (core.cluster != cluster) continue;
          const auto [found, added] = map_streams_.try_emplace({cluster, core.same_maps}, 0);
          if (added) streams.push_back(&found->second);
        }
      }
      if (m_.kernels == DataPath::kSram) {
        for (const auto& [key, users] : kernel_users(cluster))
          streams.push_back(&kernel_streams_[{cluster, key}]);
      }
      if (m_.results == DataPath::kSram) {
        for (const int core : cores) streams.push_back(&store_streams[core]);
      }
      const int buffers = 2 * count_of(streams);
      if (work_.layer.adds_sums()) add_sum_streams(staging, cores, buffers);
      const std::int64_t bytes = streams.empty() ? 0 : staging.share(buffers);
      for (int* stream : streams) *stream = staging.add_stream(bytes, 2);
      for (const auto& [core, stream] : store_streams) dram_.store_by(core, staging, stream);
    }
  }
  // Adds the streams of a partial-sum exchange, beside `others` buffers.
  void add_sum_streams(Staging& staging, const std::vector<int>& cores, int others) {
    posts_.add_stream(staging, cores);
    const int of_core = 2 * (work_.layer.cores() - 1);
    const std::int64_t shard = staging.share(others + of_core * count_of(cores));
    sums_.add_streams(staging, cores, of_core, std::min(footprint_.slice, shard));
  }
  // Makes streams for prefetched kernels alone, in the SRAM behind `used` bytes.
  void make_kernel_staging(std::int64_t used) {
    if (m_.kernels == DataPath::kDirect) return;
    for (const Core& core : cores_) {
      const auto [found, added] =
          staging_.try_emplace(core.cluster, Staging(graph_, work_.hardware, core.cluster, p_.name));
      if (!added) continue;
      Staging& staging = found->second;
      if (used > 0) staging.reserve(used, "what the layer before takes");
      if (broadcasts(m_.kernels)) {
        broadcasts_[core.cluster] =
            staging.add_stream(std::min(footprint_.kernels, Staging::kLargestBuffer), 2);
        continue;
      }
      const auto users = kernel_users(core.cluster);
      const std::int64_t bytes = staging.share(2 * count_of(users));
      for (const auto& [key, cores] : users)
        kernel_streams_[{core.cluster, key}] = staging.add_stream(bytes, 2);
    }
  }
  // By number of the kernels: the cores of a cluster that use them.
  std::map<int, std::vector<int>> kernel_users(int cluster) const {
    std::map<int, std::vector<int>> users;
    for (const Core& core : cores_) {
      if (core.cluster == cluster) users[core.same_kernels].push_back(core.number);
    }
    return users;
  }

  // ---- loads ----

  std::size_t steps() const {
    std::size_t steps = 0;
    for (const Core& core : cores_) steps = std::max(steps, core.steps.size());
    return steps;
  }

  void load_kernels(std::size_t step) {
    for (Core& core : cores_) {
      if (step >= core.steps.size()) continue;
      const auto use = core.kernels.use(core.steps[step].group_number);
      core.weights = use.filling;
      core.loads_weights = use.load && (core.kernel_loads < m_.weight_prefetch) == ahead_;
      core.kernel_loads += use.load ? 1 : 0;
    }
    for (Core& core : cores_) {
      if (step < core.steps.size() && core.loads_weights) clear_kernels(core, core.steps[step].group);
    }
    for (Core& core : cores_) {
      if (step >= core.steps.size() || !core.loads_weights) continue;
      const KernelGroup& group = core.steps[step].group;
      const std::vector<Transfer> transfers = kernel_transfers(core, group);
      if (m_.kernels == DataPath::kDirect) {
        bytes_.kernels += bytes_of(transfers);
        dram_.load(core, transfers, kernel_accesses(core));
      } else {
        share_kernels(core, step, group);
      }
    }
  }

  std::vector<Transfer> kernel_transfers(const Core& core, const KernelGroup& group,
                                         std::int64_t buffer = INT64_MAX) const {
    return weight_loads(graph_, *core.shard, group, core.place.wram + weights_offset(core.weights->place),
                        buffer);
  }
  void clear_kernels(Core& core, const KernelGroup& group) {
    core.clearing.reset();
    for (const Copy& copy : cleared_kernels(*core.shard->layer, core.shard->weights, group,
                                            core.place.wram + weights_offset(core.weights->place))) {
      if (!core.clearing) core.clearing = core.cleared.next();
      core.copy(copy, {core.weights->write(), core.clearing->write()});
    }
  }
  // The accesses of transfers that write kernels: after the copies that clear their place.
  static AccessList kernel_accesses(const Core& core) {
    AccessList accesses{core.weights->write()};
    if (core.clearing) accesses.push_back(core.clearing->read());
    return accesses;
  }

  // Fetches a group once for all cores of the cluster, or of the chip, that load it now.
  void share_kernels(const Core& first, std::size_t step, const KernelGroup& group) {
    std::map<int, std::vector<Core*>> users;  // by cluster
    for (Core& core : cores_) {
      if (loaded_together(m_.kernels, first, core) && core.same_kernels == first.same_kernels &&
          step < core.steps.size() && core.loads_weights &&
          core.steps[step].group_number == first.steps[step].group_number)
        users[core.cluster].push_back(&core);
    }
    std::vector<Staging::Link> links;
    std::int64_t buffer = INT64_MAX;
    for (const auto& [cluster, cores] : users) {
      const int stream = broadcasts(m_.kernels) ? broadcasts_.at(cluster)
                                                : kernel_streams_.at({cluster, first.same_kernels});
      links.push_back({&staging_.at(cluster), stream, {}});
      buffer = std::min(buffer, links.back().staging->part_bytes(stream, users.size() > 1));
    }
    auto link = links.begin();
    for (const auto& [cluster, cores] : users) {
      if (broadcasts(m_.kernels)) {
        link->readers.push_back(multicast(*link->staging, cores, group, buffer));
      } else {
        for (const Core* core : cores)
          link->readers.push_back(
              {core->processor, kernel_transfers(*core, group, buffer), kernel_accesses(*core)});
      }
      for (Core* core : cores) core->loads_weights = false;
      ++link;
    }
    const std::int64_t bytes = bytes_of(links.front().readers.front().transfers);
    bytes_.kernels += Staging::load(std::move(links), loads_++) * bytes;
  }
  Staging::Reader multicast(const Staging& staging, const std::vector<Core*>& cores, const KernelGroup& group,
                            std::int64_t buffer) const {
    std::uint64_t numbers = 0;
    AccessList written;
    for (const Core* core : cores) {
      numbers |= number_in_cluster(*core);
      for (const Access& access : kernel_accesses(*core)) written.push_back(access);
    }
    const Shard& shard = *cores.front()->shard;
    const std::uint64_t wram =
        multicast_address(numbers, true, weights_offset(cores.front()->weights->place));
    return staging.multicast(weight_loads(graph_, shard, group, wram, buffer), std::move(written));
  }
  static bool loaded_together(DataPath path, const Core& a, const Core& b) {
    return path == DataPath::kChain || a.cluster == b.cluster;
  }

  void load_maps(std::size_t step) {
    for (Core& core : cores_) {
      if (step >= core.steps.size()) continue;
      core.map.reset();
      core.loads_map = false;
      const CoreStep& of = core.steps[step];
      if (of.tile.padding_only()) continue;
      const Window& h = of.tile.h;
      core.map = m_.map_strips
                     ? core.maps.use(p_.map_image(of.tile.image), core.first_row, {h.in, h.in + h.ins})
                     : core.maps.use(of.tile_number, h.in, {h.in, h.in + h.ins});
      core.loads_map = core.map->load.has_value();
    }
    for (Core& core : cores_) {
      if (step >= core.steps.size() || !core.loads_map) continue;
      if (m_.maps == DataPath::kDirect) {
        load_map(core, core.steps[step].tile);
      } else {
        share_map(core, step);
      }
    }
  }
  // The load of the part of the tile's map that the step must bring in.
  MapLoad map_load(const Core& core, const OutputTile& tile) const {
    return load_to(core, tile, map_address(core, tile, core.map->load->rows.begin));
  }
  MapLoad load_to(const Core& core, OutputTile tile, std::uint64_t address) const {
    const Interval rows = core.map->load->rows;
    tile.image = p_.map_image(tile.image);
    tile.h.in = rows.begin, tile.h.ins = rows.size();
    const TensorLayout& input = core.shard->input;
    MapLoad load = core.shard->layer->load_map(tile, input, address);
    load.transfers = transposed(relaid(input.stored, std::move(load.transfers), TransferEnd::kSource),
                                transposed_bytes(*work_.hardware.chip));
    return load;
  }
  void load_map(Core& core, const OutputTile& tile) {
    const MapLoad load = map_load(core, tile);
    const BufferRing::Filling& filling = core.map->load->filling;
    bytes_.maps += bytes_of(load.transfers);
    core.begin_map(load, filling);
    dram_.load(core, load.transfers, {CoreLane::map_access(load, filling)});
    core.end_map(load, filling);
  }
  // Fetches a tile once for all cores of the cluster, or of the chip, that load it now.
  void share_map(const Core& first, std::size_t step) {
    const OutputTile& tile = first.steps[step].tile;
    std::map<int, std::vector<Core*>> users;  // by cluster
    for (Core& core : cores_) {
      if (loaded_together(m_.maps, first, core) && core.same_maps == first.same_maps &&
          step < core.steps.size() && core.loads_map &&
          core.steps[step].tile_number == first.steps[step].tile_number &&
          core.map->load->rows == first.map->load->rows)
        users[core.cluster].push_back(&core);
    }
    const std::int64_t bytes = bytes_of(map_load(first, tile).transfers);
    for (const auto& [cluster, cores] : users) {
      for (Core* core : cores) core->begin_map(map_load(*core, tile), core->map->load->filling);
    }
    std::vector<Staging::Link> links;
    for (const auto& [cluster, cores] : users) {
      Staging& staging = staging_.at(cluster);
      links.push_back({&staging, map_streams_.at({cluster, first.same_maps}),
                       broadcasts(m_.maps) ? multicast(staging, cores, tile) : readers(cores, tile)});
      for (Core* core : cores) core->loads_map = false;
    }
    bytes_.maps += Staging::load(std::move(links), loads_++) * bytes;
    for (const auto& [cluster, cores] : users) {
      for (Core* core : cores) core->end_map(map_load(*core, tile), core->map->load->filling);
    }
  }
  std::vector<Staging::Reader> readers(const std::vector<Core*>& cores, const OutputTile& tile) const {
    std::vector<Staging::Reader> readers;
    for (const Core* core : cores) {
      MapLoad load = map_load(*core, tile);
      const Access written = CoreLane::map_access(load, core->map->load->filling);
      readers.push_back({core->processor, std::move(load.transfers), {written}});
    }
    return readers;
  }
  // One reader for each NRAM place into which cores load the tile.
  std::vector<Staging::Reader> multicast(const Staging& staging, const std::vector<Core*>& cores,
                                         const OutputTile& tile) const {
    // By NRAM place: bits of the cores, and the accesses that write.
    std::map<std::uint64_t, std::pair<std::uint64_t, AccessList>> places;
    for (const Core* core : cores) {
      auto& [numbers, written] = places[map_offset(*core, tile, core->map->load->rows.begin)];
      numbers |= number_in_cluster(*core);
      written.push_back(CoreLane::map_access(map_load(*core, tile), core->map->load->filling));
    }
    std::vector<Staging::Reader> readers;
    for (auto& [nram, to] : places) {
      MapLoad load = load_to(*cores.front(), tile, multicast_address(to.first, false, nram));
      readers.push_back(staging.multicast(std::move(load.transfers), std::move(to.second)));
    }
    return readers;
  }
  std::uint64_t number_in_cluster(const Core& core) const {  // as a bit
    return std::uint64_t{1} << (core.number % chip_.cores_per_cluster);
  }

  // ---- computing and storing ----

  void compute(Core& core, std::size_t number) {
    const CoreStep& step = core.steps[number];
    if (step.group.reduction.first) core.result = core.results.next();
    JobPlaces places;
    places.map = core.map ? map_address(core, step.tile, step.tile.h.in) : core.place.nram;
    if (core.map) places.map_reads = core.map->reads;
    places.kernels = core.place.wram + weights_offset(core.weights->place);
    places.kernels_read = core.weights->read();
    places.result = result_address(core, core.result->place);
    places.result_write = core.result->write();
    core.lowering->add(job_of(*core.shard, step.tile, step.group, std::move(places)));
  }
  std::vector<Transfer> stores_of(const Core& core, const CoreStep& step) const {
    const Problem& p = core.shard->layer->problem();
    const TensorLayout output =
        work_.output.from_channel_byte(std::int64_t{core.shard->first_kernel} * p.element_bytes());
    return store_transfers(p, output, step.tile, step.group.blocks, result_address(core, core.result->place));
  }

  void store(Core& core, std::size_t number) {
    const CoreStep& step = core.steps[number];
    if (!step.group.reduction.last) return;
    const std::vector<Transfer> transfers = stores_of(core, step);
    if (!transfers.empty()) dram_.store(core, transfers, core.result->read());
  }

  // Adds the partial-sum exchange of every reduction group; each of its cores stores a part of the results.
  void add_sums(std::size_t number) {
    const std::size_t size = work_.layer.shards.size();
    for (std::size_t first = 0; first < cores_.size(); first += size) {
      const std::vector<CoreStep>& steps = cores_[first].steps;
      if (number >= steps.size() || !steps[number].group.reduction.last) continue;
      std::vector<PartialSumExchange::Member> reduction_group;
      for (std::size_t i = first; i < first + size; ++i) {
        const Core& core = cores_[i];
        reduction_group.push_back(
            {core.number, core.place, *core.result, result_address(core, core.result->place)});
      }
      Staging& staging = staging_.at(cores_[first].cluster);
      PartialSumExchange::Sums sums{p_, steps[number].tile, steps[number].group.blocks, {}};
      if (work_.layer.post_parameters != 0)
        sums.post = [&](const PartialSumExchange::Member& core) {
          return posts_.load(staging, core, sums.blocks);
        };
      const std::vector<PartialSumExchange::Result> results = sums_.add(staging, reduction_group, sums);
      for (std::size_t i = 0; i < size; ++i) {
        std::vector<Transfer> transfers;
        for (const PartialSumExchange::Part& part : results[i].parts) {
          for (const Transfer& t : store_transfers(p_, work_.output, part.tile, sums.blocks, part.address))
            transfers.push_back(t);
        }
        if (!transfers.empty()) dram_.store(cores_[first + i], transfers, results[i].read);
      }
    }
  }

  TaskGraph& graph_;
  const MatrixWork& work_;
  const LayerMapping& m_;
  const Problem& p_;
  const ChipConfig& chip_;
  Footprint footprint_;
  CopyTasks copies_;
  PartialSumExchange sums_;
  PostLoads posts_;
  bool ahead_;             // only the prefetched loads
  std::size_t loads_ = 0;  // for several cores at a time, so far
  std::vector<Core> cores_;
  std::map<int, Staging> staging_;  // by cluster
  std::map<int, int> broadcasts_;
  DramLanes dram_;
  std::map<std::pair<int, int>, int> map_streams_, kernel_streams_;
  PlannedBytes bytes_;
};

}  // namespace

PlannedUse add_matrix_tasks(TaskGraph& graph, const MatrixWork& work, const LoweringFactory& lowering,
                            const EnoughTasks& enough) {
  return MatrixTasks(graph, work, lowering).run(enough);
}

PlannedUse add_prefetch(TaskGraph& graph, const MatrixWork& work, std::int64_t sram) {
  PlannedUse use = MatrixTasks(graph, work, {}, sram).load_ahead();
  use.sram = std::max(use.sram, sram);
  return use;
}

std::vector<std::int64_t> wram_of_loads(const MatrixWork& work) {
  TaskGraph graph;
  return MatrixTasks(graph, work, {}, {}).wram_of_loads();
}

}  // namespace tilebeat
