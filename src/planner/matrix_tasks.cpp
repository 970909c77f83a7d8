#include "matrix_tasks.h"

#include "tilebeat/base/error.h"
#include "tilebeat/base/math.h"
#include "tilebeat/isa/address_map.h"
#include "tilebeat/mapping/arena.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "processors.h"
#include "staging.h"

namespace tilebeat {
namespace {

// Kernel blocks that are loaded together, and the channels that are added up with them.
struct Group {
  Interval blocks;
  Reduction reduction;
};

std::vector<Group> groups_of(const Problem& p, const LayerMapping& m, const Grain& grain, Interval blocks) {
  std::vector<Group> groups;
  for (int b = blocks.begin; b < blocks.end; b += m.blocks_per_load) {
    const Interval loaded{b, std::min(blocks.end, b + m.blocks_per_load)};
    for (int part = 0; part < m.channel_parts; ++part) {
      const Interval channels = part_of(p.channels, m.channel_parts, part, grain.channels);
      groups.push_back({loaded, {channels, part == 0, part == m.channel_parts - 1}});
    }
  }
  return groups;
}

// Buffers that are filled in turn, and what they hold.
template <class Key>
class Cache {
 public:
  Cache() = default;
  Cache(TaskGraph& graph, BufferRole role, int count)
      : ring_(graph, role, count), held_(static_cast<std::size_t>(count)) {}

  struct Use {
    BufferRing::Filling filling;
    bool load = false;
  };
  Use use(const Key& key) {
    for (const auto& held : held_) {
      if (held && held->first == key) return {held->second, false};
    }
    const BufferRing::Filling filling = ring_.next();
    held_[static_cast<std::size_t>(filling.place)] = std::pair(key, filling);
    return {filling, true};
  }

 private:
  BufferRing ring_;
  std::vector<std::optional<std::pair<Key, BufferRing::Filling>>> held_;
};

// The weights of a group: from DRAM to a buffer of WRAM, which begins at `destination`.
std::vector<Transfer> weight_transfers(const MatrixLayer& layer, const WeightPlace& w, const Group& group,
                                       std::uint64_t destination) {
  const auto offset = [&](int block) { return w.image.blocks[static_cast<std::size_t>(block)]; };
  const auto source = [&](int block) { return w.blocks[static_cast<std::size_t>(block)]; };
  const bool whole = group.reduction.first && group.reduction.last;
  std::vector<Transfer> transfers;
  if (w.image.regions > 1) {
    for (int block = group.blocks.begin; block < group.blocks.end; ++block) {
      const auto region = static_cast<std::int64_t>(offset(block + 1) - offset(block)) / w.image.regions;
      const Interval bytes =
          whole ? Interval{0, static_cast<int>(region)} : layer.weights_of(block, group.reduction.channels);
      CopyShape shape = one_run(bytes.size());
      shape.rows = w.image.regions;
      shape.source_row = region, shape.destination_row = w.region_bytes;
      transfers.push_back({source(block) + static_cast<std::uint64_t>(bytes.begin), destination, shape});
      destination += static_cast<std::uint64_t>(shape.run);
    }
    return transfers;
  }
  if (whole) {
    const auto bytes = static_cast<std::int64_t>(offset(group.blocks.end) - offset(group.blocks.begin));
    transfers.push_back({source(group.blocks.begin), destination, one_run(bytes)});
    destination += static_cast<std::uint64_t>(align_up(bytes, kBufferAlignment));
  } else {
    for (int block = group.blocks.begin; block < group.blocks.end; ++block) {
      const Interval bytes = layer.weights_of(block, group.reduction.channels);
      transfers.push_back(
          {source(block) + static_cast<std::uint64_t>(bytes.begin), destination, one_run(bytes.size())});
      destination += static_cast<std::uint64_t>(bytes.size());
    }
    destination = align_up<std::uint64_t>(destination, kBufferAlignment);
  }
  if (w.post != 0 && group.reduction.last) {
    const std::int64_t records = group.blocks.size() * w.image.post_bytes;
    transfers.push_back({w.post + static_cast<std::uint64_t>(group.blocks.begin * w.image.post_bytes),
                         destination, one_run(records)});
  }
  return transfers;
}

// Bytes from the beginning of a group's buffer to its post-parameters.
std::uint64_t post_offset(const std::vector<Transfer>& transfers, std::uint64_t destination) {
  return transfers.back().destination - destination;
}

// Bytes of WRAM that a group takes: in all regions together.
std::int64_t buffer_bytes(const MatrixLayer& layer, const WeightPlace& w, const Group& group) {
  const std::vector<Transfer> transfers = weight_transfers(layer, w, group, 0);
  if (w.image.regions > 1) return align_up(bytes_of(transfers), kBufferAlignment * w.image.regions);
  const Transfer& last = transfers.back();
  return align_up(static_cast<std::int64_t>(last.destination) + last.shape.bytes(), kBufferAlignment);
}

std::int64_t map_bytes(const MatrixLayer& layer, const LayerMapping& m) {
  const Problem& p = layer.problem();
  return align_up(p.axis_h().span(m.tile_rows) * layer.ifm_row_bytes(p.axis_w().inner(m.tile_columns)),
                  kBufferAlignment);
}

std::int64_t result_bytes(const MatrixLayer& layer, const LayerMapping& m) {
  const Problem& p = layer.problem();
  const int kernels = std::min(m.blocks_per_load * p.block_kernels, p.conv.out_channels);
  return align_up(std::int64_t{m.tile_rows} * m.tile_columns * kernels * p.element_bytes(), kBufferAlignment);
}

constexpr int kResultBuffers = 2;

// The tasks of all cores.
class MatrixTasks {
 public:
  MatrixTasks(TaskGraph& graph, const MatrixWork& work, const LoweringFactory& lowering,
              const std::vector<BufferId>& stored)
      : graph_(graph),
        work_(work),
        m_(work.mapping),
        layer_(work.layer),
        p_(work.layer.problem()),
        chip_(work.chip()),
        footprint_(footprint_of(work)),
        copies_(graph, work.hardware),
        stored_(stored) {
    const Grain grain = layer_.grain();
    for (int core = 0; core < m_.cores(); ++core) {
      const CorePart part = part_of_core(p_, grain, m_, core);
      if (part.empty()) continue;
      cores_.push_back(make_core(core, part, grain));
      Core& made = cores_.back();
      made.lowering = lowering(graph_, made.place);
    }
    make_staging();
  }

  PlannedBytes run() {
    std::size_t steps = 0;
    for (const Core& core : cores_) steps = std::max(steps, core.steps.size());
    for (std::size_t step = 0; step < steps; ++step) {
      load_kernels(step);
      load_maps(step);
      for (Core& core : cores_) {
        if (step < core.steps.size()) compute(core, step);
      }
      for (Core& core : cores_) {
        if (step < core.steps.size()) store(core, step);
      }
    }
    bytes_.results = p_.output.size_bytes();
    return bytes_;
  }

 private:
  struct Step {
    OutputTile tile;
    int tile_number = 0;
    Group group;
    int group_number = 0;
  };
  struct Core {
    int number = 0, cluster = 0;
    EnginePlace place;
    std::vector<Step> steps;
    Cache<int> maps, kernels;
    BufferRing results;
    std::optional<BufferRing::Filling> map, weights, result;  // of the step
    bool loads_map = false, loads_weights = false;            // in the step
    std::unique_ptr<MatrixLowering> lowering;
  };

  Core make_core(int number, const CorePart& part, const Grain& grain) {
    Core core;
    core.number = number;
    core.cluster = number / chip_.cores_per_cluster;
    core.place = {processor_of_core(chip_, number), nram_address(number), wram_address(number)};
    const std::vector<OutputTile> tiles = tiles_of(part);
    const std::vector<Group> groups = groups_of(p_, m_, grain, part.blocks);
    const bool tile_outer = m_.order == StepOrder::kTileOuter;
    // Parts of a reduction follow one another for every tile.
    const std::size_t parts = static_cast<std::size_t>(m_.channel_parts), loads = groups.size() / parts;
    for (std::size_t i = 0; i < (tile_outer ? tiles.size() : loads); ++i) {
      for (std::size_t j = 0; j < (tile_outer ? loads : tiles.size()); ++j) {
        const std::size_t tile = tile_outer ? i : j, load = tile_outer ? j : i;
        for (std::size_t part_number = 0; part_number < parts; ++part_number) {
          const std::size_t group = load * parts + part_number;
          core.steps.push_back({tiles[tile], static_cast<int>(tile), groups[group], static_cast<int>(group)});
        }
      }
    }
    core.maps = Cache<int>(graph_, BufferRole::kMap, m_.map_buffers);
    core.kernels = Cache<int>(graph_, BufferRole::kKernels, m_.kernel_buffers);
    core.results = BufferRing(graph_, BufferRole::kResult, kResultBuffers);
    return core;
  }

  std::vector<OutputTile> tiles_of(const CorePart& part) const {
    std::vector<OutputTile> tiles;
    const WindowAxis h = p_.axis_h(), w = p_.axis_w();
    for (int n = 0; n < p_.batch; ++n) {
      for (int r = part.rows.begin; r < part.rows.end; r += m_.tile_rows) {
        for (int c = part.columns.begin; c < part.columns.end; c += m_.tile_columns) {
          tiles.push_back({n, h.window({r, std::min(part.rows.end, r + m_.tile_rows)}),
                           w.window({c, std::min(part.columns.end, c + m_.tile_columns)})});
        }
      }
    }
    return tiles;
  }

  // ---- addresses ----

  std::uint64_t map_address(const Core& core, int place) const {
    return core.place.nram + static_cast<std::uint64_t>(place * footprint_.map);
  }
  std::uint64_t result_address(const Core& core, int place) const {
    return core.place.nram +
           static_cast<std::uint64_t>(m_.map_buffers * footprint_.map + place * footprint_.result);
  }
  std::uint64_t weights_offset(int place) const {
    return static_cast<std::uint64_t>(place * footprint_.kernels / work_.weights.image.regions);
  }

  // ---- the memory of a cluster ----

  void make_staging() {
    if (!m_.uses_memory_cores()) return;
    for (int cluster = 0; cluster < chip_.clusters; ++cluster) {
      std::vector<int> cores;
      for (const Core& core : cores_) {
        if (core.cluster == cluster) cores.push_back(core.number);
      }
      if (cores.empty()) continue;
      staging_.emplace(cluster, Staging(graph_, work_.hardware, cluster, p_.name));
      Staging& staging = staging_.at(cluster);
      // Kernels are broadcast whole groups at a time; what else goes through shares the rest evenly.
      if (m_.kernels == DataPath::kBroadcast) {
        broadcasts_[cluster] = staging.add_stream(footprint_.kernels, 2);
      }
      const int streams = stream_count(cluster);
      if (streams == 0) continue;
      const std::int64_t bytes = staging.share(2 * streams);
      if (m_.maps == DataPath::kSram) {
        for (const auto& [key, users] : map_users(cluster, 0))
          map_streams_[{cluster, users.front()}] = staging.add_stream(bytes, 2);
      }
      if (m_.kernels == DataPath::kSram) {
        for (const auto& [key, users] : kernel_users(cluster))
          kernel_streams_[{cluster, key}] = staging.add_stream(bytes, 2);
      }
      if (m_.results == DataPath::kSram) {
        for (const int core : cores) store_streams_[core] = staging.add_stream(bytes, 2);
      }
    }
  }
  int stream_count(int cluster) const {
    int count = 0;
    if (m_.maps == DataPath::kSram) count += static_cast<int>(map_users(cluster, 0).size());
    if (m_.kernels == DataPath::kSram) count += static_cast<int>(kernel_users(cluster).size());
    if (m_.results == DataPath::kSram) {
      for (const Core& core : cores_) count += core.cluster == cluster ? 1 : 0;
    }
    return count;
  }
  // Cores of a cluster whose step is on the same tile, and those that use the same kernels, by number.
  std::map<std::pair<int, int>, std::vector<int>> map_users(int cluster, std::size_t step) const {
    std::map<std::pair<int, int>, std::vector<int>> users;
    for (const Core& core : cores_) {
      if (core.cluster == cluster && step < core.steps.size())
        users[{core.number / m_.kernel_parts, core.steps[step].tile_number}].push_back(core.number);
    }
    return users;
  }
  std::map<int, std::vector<int>> kernel_users(int cluster) const {
    std::map<int, std::vector<int>> users;
    for (const Core& core : cores_) {
      if (core.cluster == cluster) users[core.number % m_.kernel_parts].push_back(core.number);
    }
    return users;
  }

  // ---- loads ----

  void load_kernels(std::size_t step) {
    for (Core& core : cores_) {
      if (step >= core.steps.size()) continue;
      const auto use = core.kernels.use(core.steps[step].group_number);
      core.weights = use.filling, core.loads_weights = use.load;
    }
    for (Core& core : cores_) {
      if (step >= core.steps.size() || !core.loads_weights) continue;
      const Group& group = core.steps[step].group;
      const std::vector<Transfer> transfers = weight_transfers(
          layer_, work_.weights, group, core.place.wram + weights_offset(core.weights->place));
      if (m_.kernels == DataPath::kDirect) {
        bytes_.kernels += bytes_of(transfers);
        copies_.add(core.place.processor, Unit::kIodma, transfers, {core.weights->write()});
      } else {
        share_kernels(core, step, group);
      }
    }
  }

  // Fetches a group once for all cores of the cluster that load it now.
  void share_kernels(const Core& first, std::size_t step, const Group& group) {
    std::vector<Core*> users;
    for (Core& core : cores_) {
      if (core.cluster == first.cluster && core.number % m_.kernel_parts == first.number % m_.kernel_parts &&
          step < core.steps.size() && core.loads_weights &&
          core.steps[step].group_number == first.steps[step].group_number)
        users.push_back(&core);
    }
    Staging& staging = staging_.at(first.cluster);
    const std::vector<Transfer> from_dram = weight_transfers(layer_, work_.weights, group, 0);
    bytes_.kernels += bytes_of(from_dram);
    if (m_.kernels == DataPath::kBroadcast) {
      std::uint64_t cores = 0;
      std::vector<Access> written;
      for (Core* core : users) {
        cores |= std::uint64_t{1} << (core->number % chip_.cores_per_cluster);
        written.push_back(core->weights->write());
        core->loads_weights = false;
      }
      const std::uint64_t wram = multicast_address(cores, true, weights_offset(first.weights->place));
      staging.broadcast(broadcasts_.at(first.cluster), weight_transfers(layer_, work_.weights, group, wram),
                        written);
      return;
    }
    std::vector<Staging::Reader> readers;
    for (Core* core : users) {
      readers.push_back({core->place.processor,
                         weight_transfers(layer_, work_.weights, group,
                                          core->place.wram + weights_offset(core->weights->place)),
                         core->weights->write()});
      core->loads_weights = false;
    }
    staging.load(kernel_streams_.at({first.cluster, first.number % m_.kernel_parts}), readers);
  }

  void load_maps(std::size_t step) {
    for (Core& core : cores_) {
      if (step >= core.steps.size()) continue;
      core.map.reset();
      core.loads_map = false;
      if (core.steps[step].tile.padding_only()) continue;
      const auto use = core.maps.use(core.steps[step].tile_number);
      core.map = use.filling, core.loads_map = use.load;
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
  MapLoad map_load(const Core& core, const OutputTile& tile) const {
    return layer_.load_map(tile, work_.input, map_address(core, core.map->place));
  }
  void begin_map(const Core& core, const MapLoad& load) {
    if (load.before) copies_.add(core.place.processor, *load.before, {core.map->write()});
  }
  void end_map(const Core& core, const MapLoad& load) {
    if (load.after) copies_.add(core.place.processor, *load.after, {accumulated(*core.map)});
  }
  static Access accumulated(const BufferRing::Filling& filling) {
    return {filling.buffer, filling.version, AccessKind::kAccumulate};
  }
  static Access map_access(const Core& core, const MapLoad& load) {
    return load.before ? accumulated(*core.map) : core.map->write();
  }
  void load_map(const Core& core, const OutputTile& tile) {
    const MapLoad load = map_load(core, tile);
    bytes_.maps += load.transfer.shape.bytes();
    begin_map(core, load);
    copies_.add(core.place.processor, Unit::kIodma, {load.transfer}, {map_access(core, load)});
    end_map(core, load);
  }
  // Fetches a tile once for all cores of the cluster that load it now.
  void share_map(const Core& first, std::size_t step) {
    std::vector<Staging::Reader> readers;
    std::vector<std::pair<Core*, MapLoad>> loads;
    for (Core& core : cores_) {
      if (core.cluster != first.cluster || step >= core.steps.size() || !core.loads_map ||
          core.number / m_.kernel_parts != first.number / m_.kernel_parts ||
          core.steps[step].tile_number != first.steps[step].tile_number)
        continue;
      loads.emplace_back(&core, map_load(core, core.steps[step].tile));
    }
    bytes_.maps += loads.front().second.transfer.shape.bytes();
    for (auto& [core, load] : loads) {
      begin_map(*core, load);
      readers.push_back({core->place.processor, {load.transfer}, map_access(*core, load)});
      core->loads_map = false;
    }
    const auto users = map_users(first.cluster, 0);
    for (const auto& [key, numbers] : users) {
      if (key.first == first.number / m_.kernel_parts)
        staging_.at(first.cluster).load(map_streams_.at({first.cluster, numbers.front()}), readers);
    }
    for (const auto& [core, load] : loads) end_map(*core, load);
  }

  // ---- computing and storing ----

  void compute(Core& core, std::size_t number) {
    const Step& step = core.steps[number];
    const int element = p_.element_bytes();
    if (step.group.reduction.first) core.result = core.results.next();
    const std::int64_t pixel = std::int64_t{p_.kernels_of(step.group.blocks)} * element;
    MatrixJob job;
    job.tile = step.tile, job.tile.image = 0;
    job.blocks = step.group.blocks;
    job.reduction = step.group.reduction;
    const std::int64_t row = layer_.ifm_row_bytes(step.tile.w);
    const std::uint64_t map = core.map ? map_address(core, core.map->place) : core.place.nram;
    job.ifm = {map, row * step.tile.h.ins, row, p_.channels};
    const std::uint64_t wram = weights_offset(core.weights->place);
    job.weights = core.place.wram + wram;
    if (work_.weights.post != 0 && step.group.reduction.last)
      job.post = job.weights + post_offset(weight_transfers(layer_, work_.weights, step.group, wram), wram);
    job.ofm = TensorLayout::dense(result_address(core, core.result->place), step.tile.h.outs,
                                  step.tile.w.outs, pixel);
    if (core.map) job.ifm_read = core.map->read();
    job.weights_read = core.weights->read();
    job.ofm_write = core.result->write();
    core.lowering->add(job);
  }

  void store(Core& core, std::size_t number) {
    const Step& step = core.steps[number];
    if (!step.group.reduction.last) return;
    const int element = p_.element_bytes();
    const OutputTile& tile = step.tile;
    Transfer transfer;
    CopyShape& shape = transfer.shape;
    shape = one_run(std::int64_t{p_.kernels_of(step.group.blocks)} * element);
    shape.columns = tile.w.outs, shape.rows = tile.h.outs;
    shape.source_column = shape.run, shape.source_row = shape.run * tile.w.outs;
    shape.destination_column = work_.output.pixel_stride, shape.destination_row = work_.output.row_stride;
    transfer.source = result_address(core, core.result->place);
    transfer.destination =
        work_.output.at(tile.image, tile.h.out, tile.w.out) +
        static_cast<std::uint64_t>(std::int64_t{step.group.blocks.begin} * p_.block_kernels * element);
    const auto done = [&](int processor) {
      return Access{stored_[static_cast<std::size_t>(processor)], 0, AccessKind::kWrite};
    };
    if (m_.results == DataPath::kDirect) {
      copies_.add(core.place.processor, Unit::kIodma, {transfer},
                  {core.result->read(), done(core.place.processor)});
    } else {
      staging_.at(core.cluster)
          .store(store_streams_.at(core.number), core.place.processor, {transfer}, core.result->read(),
                 done(processor_of_memory(chip_, core.cluster)));
    }
  }

  TaskGraph& graph_;
  const MatrixWork& work_;
  const LayerMapping& m_;
  const MatrixLayer& layer_;
  const Problem& p_;
  const ChipConfig& chip_;
  Footprint footprint_;
  CopyTasks copies_;
  const std::vector<BufferId>& stored_;
  std::vector<Core> cores_;
  std::map<int, Staging> staging_;  // by cluster
  std::map<int, int> broadcasts_, store_streams_;
  std::map<std::pair<int, int>, int> map_streams_, kernel_streams_;
  PlannedBytes bytes_;
};

}  // namespace

CorePart part_of_core(const Problem& p, const Grain& grain, const LayerMapping& m, int core) {
  return {part_of(p.out_height, m.row_parts, core / (m.column_parts * m.kernel_parts), grain.rows),
          part_of(p.out_width, m.column_parts, core / m.kernel_parts % m.column_parts, grain.columns),
          part_of(p.kernel_blocks(), m.kernel_parts, core % m.kernel_parts, 1)};
}

CorePart largest_part(const Problem& p, const Grain& grain, const LayerMapping& m) {
  return {{0, largest_part_of(p.out_height, m.row_parts, grain.rows)},
          {0, largest_part_of(p.out_width, m.column_parts, grain.columns)},
          {0, largest_part_of(p.kernel_blocks(), m.kernel_parts, 1)}};
}

MatrixJob largest_job(const MatrixLayer& layer, const LayerMapping& m) {
  const Problem& p = layer.problem();
  MatrixJob job;
  job.tile = {0, p.axis_h().inner(m.tile_rows), p.axis_w().inner(m.tile_columns)};
  job.blocks = {0, std::min(m.blocks_per_load, p.kernel_blocks())};
  job.reduction = {part_of(p.channels, m.channel_parts, 0, layer.grain().channels), true,
                   m.channel_parts == 1};
  return job;
}

std::int64_t group_bytes(const MatrixLayer& layer, const WeightPlace& weights, const LayerMapping& m) {
  std::int64_t most = 0;
  const Grain grain = layer.grain();
  for (const Group& group : groups_of(layer.problem(), m, grain, {0, layer.problem().kernel_blocks()}))
    most = std::max(most, buffer_bytes(layer, weights, group));
  return most;
}

Footprint footprint_of(const MatrixWork& work) {
  const LayerMapping& m = work.mapping;
  const ChipConfig& chip = work.chip();
  Footprint f;
  f.map = map_bytes(work.layer, m), f.result = result_bytes(work.layer, m);
  f.kernels = group_bytes(work.layer, work.weights, m);
  f.nram = m.map_buffers * f.map + kResultBuffers * f.result;
  f.wram = m.kernel_buffers * f.kernels;
  const std::string& name = work.layer.problem().name;
  const Problem& p = work.layer.problem();
  const CorePart part = largest_part(p, work.layer.grain(), m);
  const auto refuse = [&](const std::string& why) {
    throw UserError(fmt::format("layer '{}' cannot be mapped so: {}", name, why));
  };
  if (m.channel_parts > 1 && !work.layer.reduces())
    refuse("the engine does not add up parts of the channels");
  if (m.channel_parts > ceil_div(p.channels, work.layer.grain().channels))
    refuse(fmt::format("{} parts of {} channels", m.channel_parts, p.channels));
  const Grain grain = work.layer.grain();
  if (m.channel_parts > 1 && (m.tile_rows > grain.rows || m.tile_columns > grain.columns))
    refuse(fmt::format("parts of the channels are added up for {} x {} outputs at a time, tiles have {} x {}",
                       grain.rows, grain.columns, m.tile_rows, m.tile_columns));
  if (m.channel_parts > 1 && m.blocks_per_load > 1)
    refuse("parts of the channels need a load for every kernel block (blocks_per_load 1)");
  if (m.kernels == DataPath::kBroadcast && m.blocks_per_load * m.kernel_buffers < part.blocks.size())
    refuse("kernels are broadcast only when all of a core's stay in its WRAM");
  if (f.nram > chip.core.nram.size_bytes)
    throw UserError(fmt::format(
        "layer '{}' cannot fit: a tile of {} x {} outputs takes {} x {} bytes of inputs and {} x {} bytes of "
        "results, chip.core.nram.size_bytes is {}",
        name, m.tile_rows, m.tile_columns, m.map_buffers, f.map, kResultBuffers, f.result,
        chip.core.nram.size_bytes));
  if (f.wram > chip.core.wram.size_bytes)
    throw UserError(
        fmt::format("layer '{}' cannot fit: {} buffers of {} bytes for the kernels of {} blocks, "
                    "chip.core.wram.size_bytes is {}",
                    name, m.kernel_buffers, f.kernels, m.blocks_per_load, chip.core.wram.size_bytes));
  return f;
}

PlannedBytes add_matrix_tasks(TaskGraph& graph, const MatrixWork& work, const LoweringFactory& lowering,
                              const std::vector<BufferId>& stored) {
  return MatrixTasks(graph, work, lowering, stored).run();
}

}  // namespace tilebeat
