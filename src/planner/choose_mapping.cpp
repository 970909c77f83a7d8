#include "choose_mapping.h"

#include "tilebeat/base/error.h"
#include "tilebeat/base/math.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <tuple>

#include <fmt/format.h>

#include "processors.h"

namespace tilebeat {
namespace {

// Candidates whose task graph is scheduled: so many of one number of cores, so many numbers.
constexpr std::size_t kOfOneCount = 8, kCounts = 6;
constexpr double kWorthALook = 1.5;  // of the best by the rough formula
constexpr int kMostKernelLoads = 8;
constexpr std::int64_t kKernelLoadBytes = 32768;

// What jobs of one shape cost their unit: the schedule of the engine's own tasks.
class JobCosts {
 public:
  JobCosts(const MatrixLayer& layer, bool same_kernels) : layer_(layer), same_kernels_(same_kernels) {}

  const TaskCost& of(const MatrixJob& job) {
    const auto key = std::tuple(job.tile.h.outs, job.tile.w.outs, job.tile.h.ins, job.tile.w.ins,
                                layer_.problem().kernels_of(job.blocks), job.reduction.channels.size(),
                                job.reduction.first, job.reduction.last);
    const auto [found, added] = known_.try_emplace(key);
    if (added) {
      const double one = cycles_of(job, 1), two = cycles_of(job, 2);
      found->second.cycles = std::max(1.0, two - one);
      found->second.latency = std::max(1.0, one - found->second.cycles);
    }
    return found->second;
  }

 private:
  double cycles_of(MatrixJob job, int count) const {
    TaskGraph graph;
    EnginePlace place;
    place.nram = job.ifm.address, place.wram = job.weights;
    const auto lowering = layer_.lower(graph, place);
    job.ifm_read.reset(), job.weights_read.reset(), job.ofm_write.reset();
    for (int i = 0; i < count; ++i) {
      lowering->add(job);
      job.ifm.address += 64;
      if (!same_kernels_) job.weights += 64;
    }
    return schedule(graph, dependencies_of(graph), {}).cycles;
  }

  const MatrixLayer& layer_;
  bool same_kernels_;
  std::map<std::tuple<int, int, int, int, int, int, bool, bool>, TaskCost> known_;
};

// One task a job instead of the engine's own.
class CoarseLowering : public MatrixLowering {
 public:
  CoarseLowering(TaskGraph& graph, const EnginePlace& place, JobCosts& costs)
      : graph_(graph), place_(place), costs_(costs) {}
  void add(const MatrixJob& job) override {
    Task task;
    task.processor = place_.processor;
    task.instruction.operation = ConvSetup{};  // of the matrix unit
    for (const auto& access : {job.ifm_read, job.weights_read, job.ofm_write}) {
      if (access) task.accesses.push_back(*access);
    }
    task.cost = costs_.of(job);
    graph_.add(std::move(task));
  }

 private:
  TaskGraph& graph_;
  EnginePlace place_;
  JobCosts& costs_;
};

class Chooser {
 public:
  explicit Chooser(const MappingQuestion& question)
      : q_(question),
        layer_(question.layer),
        p_(question.layer.problem()),
        hardware_(question.hardware),
        chip_(*question.hardware.chip),
        grain_(question.layer.grain()),
        asked_(question.request != nullptr ? *question.request : MappingRequest{}) {
    const auto& offsets = question.weights.image.blocks;
    for (std::size_t b = 0; b + 1 < offsets.size(); ++b)
      block_bytes_ = std::max(block_bytes_, static_cast<std::int64_t>(offsets[b + 1] - offsets[b]));
    block_bytes_ = align_up(block_bytes_ + question.weights.image.post_bytes,
                            kBufferAlignment * question.weights.image.regions);
  }

  ChosenMapping run() {
    add_candidates();
    if (candidates_.empty()) refuse();
    std::stable_sort(candidates_.begin(), candidates_.end(),
                     [](const Candidate& a, const Candidate& b) { return a.rough < b.rough; });
    const std::size_t all = candidates_.size();
    keep_best();
    std::stable_sort(candidates_.begin(), candidates_.end(), [](const Candidate& a, const Candidate& b) {
      return std::tuple(a.mapping.cores(), a.mapping.uses_memory_cores(), a.rough) <
             std::tuple(b.mapping.cores(), b.mapping.uses_memory_cores(), b.rough);
    });
    const Candidate* best = nullptr;
    std::string failure;
    for (Candidate& candidate : candidates_) {
      try {
        candidate.cycles = estimate(candidate.mapping);
      } catch (const UserError& error) {
        failure = error.what();
        continue;
      }
      const bool more =
          best != nullptr && (candidate.mapping.cores() > best->mapping.cores() ||
                              (candidate.mapping.uses_memory_cores() && !best->mapping.uses_memory_cores()));
      if (best == nullptr || candidate.cycles < (more ? kClearlyFaster : 1) * best->cycles) best = &candidate;
    }
    if (best == nullptr) throw UserError(failure);
    return {best->mapping, best->cycles,
            fmt::format("{} of {} mappings estimated, this one at {:.0f} cycles", candidates_.size(), all,
                        best->cycles)};
  }

 private:
  struct Candidate {
    LayerMapping mapping;
    double rough = 0, cycles = 0;
  };

  // ---- candidates ----

  void add_candidates() {
    const MappingRequest& asked = asked_;
    const auto most_rows = static_cast<int>(ceil_div(p_.out_height, grain_.rows)),
               most_columns = static_cast<int>(ceil_div(p_.out_width, grain_.columns));
    const int cores = chip_.cores();
    check_parts("kernel_parts", asked.kernel_parts, std::min(cores, p_.kernel_blocks()));
    check_parts("row_parts", asked.row_parts, std::min(cores, most_rows));
    check_parts("column_parts", asked.column_parts, std::min(cores, most_columns));
    for (int kernels = 1; kernels <= std::min(cores, p_.kernel_blocks()); ++kernels) {
      for (int rows = 1; rows <= std::min(cores / kernels, most_rows); ++rows) {
        for (int columns = 1; columns <= std::min(cores / kernels / rows, most_columns); ++columns) {
          const bool wanted = asked.kernel_parts.value_or(kernels) == kernels &&
                              asked.row_parts.value_or(rows) == rows &&
                              asked.column_parts.value_or(columns) == columns;
          if (wanted) add_split(rows, columns, kernels);
        }
      }
    }
  }
  static void check_parts(const char* name, const std::optional<int>& asked, int most) {
    if (asked && *asked > most)
      throw UserError(fmt::format("mapping: {} {} is more than {}, the parts that layer and cores allow",
                                  name, *asked, most));
  }

  void add_split(int rows, int columns, int kernels) {
    LayerMapping split;
    split.layer = p_.name;
    split.row_parts = rows, split.column_parts = columns, split.kernel_parts = kernels;
    if (!place_kernels(split)) return;
    split.blocks_per_load = asked_.blocks_per_load.value_or(split.blocks_per_load);
    split.kernel_buffers = asked_.kernel_buffers.value_or(split.kernel_buffers);
    split.channel_parts = asked_.channel_parts.value_or(split.channel_parts);
    for (const int buffers : {2, 1}) {
      for (const int tiles : {1, 2, 3, 4, 6, 8}) {
        LayerMapping mapping = split;
        mapping.map_buffers = asked_.map_buffers.value_or(buffers);
        if (!place_maps(mapping, tiles)) continue;
        mapping.tile_rows = asked_.tile_rows.value_or(mapping.tile_rows);
        mapping.tile_columns = asked_.tile_columns.value_or(mapping.tile_columns);
        mapping.order = asked_.order.value_or(order_of(mapping));
        for (const auto& [maps, loads, results] : paths_of(mapping)) {
          mapping.maps = asked_.maps.value_or(maps);
          mapping.kernels = asked_.kernels.value_or(loads);
          mapping.results = asked_.results.value_or(results);
          candidates_.push_back({mapping, rough_cycles(mapping), 0});
        }
      }
    }
  }

  // Kernels stay in WRAM, in several loads so that computing begins with the first; or half of it is filled
  // while the other half is used; or channels are cut.
  bool place_kernels(LayerMapping& m) const {
    const std::int64_t wram = chip_.core.wram.size_bytes;
    const int blocks = largest_part(p_, grain_, m).blocks.size();
    if (block_bytes_ * blocks <= wram) {
      const auto loads = static_cast<int>(std::clamp<std::int64_t>(block_bytes_ * blocks / kKernelLoadBytes,
                                                                   1, std::min(blocks, kMostKernelLoads)));
      m.blocks_per_load = ceil_div(blocks, loads);
      m.kernel_buffers = ceil_div(blocks, m.blocks_per_load);
      if (block_bytes_ * m.blocks_per_load * m.kernel_buffers > wram)
        m.blocks_per_load = blocks, m.kernel_buffers = 1;
      return true;
    }
    m.kernel_buffers = 2;
    m.blocks_per_load = static_cast<int>(std::min<std::int64_t>(blocks, wram / 2 / block_bytes_));
    if (m.blocks_per_load > 0) return true;
    if (!layer_.reduces()) return false;
    m.blocks_per_load = 1;
    m.channel_parts = ceil_div(p_.channels, grain_.channels);
    if (group_bytes(layer_, q_.weights, m) > wram / 2) return false;
    m.channel_parts =
        static_cast<int>(std::min<std::int64_t>(m.channel_parts, ceil_div(2 * block_bytes_, wram)));
    while (group_bytes(layer_, q_.weights, m) > wram / 2) ++m.channel_parts;
    return true;
  }

  bool fits(const LayerMapping& m, int rows, int columns) const {
    const std::int64_t map =
        align_up(p_.axis_h().span(rows) * layer_.ifm_row_bytes(p_.axis_w().inner(columns)), kBufferAlignment);
    const int kernels = std::min(m.blocks_per_load * p_.block_kernels, p_.conv.out_channels);
    const std::int64_t result =
        align_up(std::int64_t{rows} * columns * kernels * p_.element_bytes(), kBufferAlignment);
    return m.map_buffers * map + 2 * result <= chip_.core.nram.size_bytes;
  }
  // Whole rows first, as many as make `tiles` tiles of the part; columns are cut when the fewest rows do not
  // fit (SPEC SW-7).
  bool place_maps(LayerMapping& m, int tiles) const {
    const CorePart part = largest_part(p_, grain_, m);
    const int row_blocks = ceil_div(part.rows.size(), grain_.rows);
    if (tiles > row_blocks) return false;
    int rows = std::min(part.rows.size(), ceil_div(row_blocks, tiles) * grain_.rows);
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

  // Which of the two is fetched again and again is what takes fewer bytes.
  StepOrder order_of(const LayerMapping& m) const {
    const CorePart part = largest_part(p_, grain_, m);
    const std::int64_t tiles = tiles_of(m, part), groups = ceil_div(part.blocks.size(), m.blocks_per_load);
    if (resident(m, part) || groups == 1) return StepOrder::kTileOuter;
    const std::int64_t maps = tiles * tile_bytes(m), kernels = part.blocks.size() * block_bytes_;
    return maps + kernels * tiles <= maps * groups + kernels ? StepOrder::kTileOuter
                                                             : StepOrder::kKernelOuter;
  }
  std::int64_t tiles_of(const LayerMapping& m, const CorePart& part) const {
    return std::int64_t{p_.batch} * ceil_div(part.rows.size(), m.tile_rows) *
           ceil_div(part.columns.size(), m.tile_columns);
  }
  std::int64_t tile_bytes(const LayerMapping& m) const {
    return std::int64_t{p_.axis_h().span(m.tile_rows)} * p_.axis_w().span(m.tile_columns) * p_.channels;
  }
  static bool resident(const LayerMapping& m, const CorePart& part) {
    return m.channel_parts == 1 && m.blocks_per_load * m.kernel_buffers >= part.blocks.size();
  }

  std::int64_t loaded_bytes(const LayerMapping& m) const {
    const auto [found, added] = loaded_bytes_.try_emplace({m.blocks_per_load, m.channel_parts}, 0);
    if (added) found->second = group_bytes(layer_, q_.weights, m);
    return found->second;
  }

  using Paths = std::tuple<DataPath, DataPath, DataPath>;
  std::vector<Paths> paths_of(const LayerMapping& m) const {
    const CorePart part = largest_part(p_, grain_, m);
    const bool stays = resident(m, part);
    const std::int64_t group = loaded_bytes(m), sram = chip_.sram_bytes();
    const DataPath direct = DataPath::kDirect, through = DataPath::kSram, broadcast = DataPath::kBroadcast;
    if (chip_.dram_path == DramPath::kSram)
      return {{through, stays && 2 * group <= sram / 2 ? broadcast : through, through}};
    std::vector<Paths> paths{{direct, direct, direct}};
    if (!may_use_memory_cores(chip_)) return paths;
    const bool share_kernels = stays && m.cores() > m.kernel_parts && 2 * group <= sram;
    const bool share_maps = m.kernel_parts > 1;
    if (share_kernels) paths.emplace_back(direct, broadcast, direct);
    if (share_maps) paths.emplace_back(through, direct, direct);
    if (share_kernels && share_maps && 2 * group <= sram / 2) paths.emplace_back(through, broadcast, direct);
    return paths;
  }

  // ---- what they cost ----

  // Computing as kernels arrive, ports and DRAM, whichever is longest.
  double rough_cycles(const LayerMapping& m) const {
    const CorePart part = largest_part(p_, grain_, m);
    const auto tiles = static_cast<double>(tiles_of(m, part));
    const double groups =
        static_cast<double>(ceil_div(part.blocks.size(), m.blocks_per_load)) * m.channel_parts;
    const bool stays = resident(m, part), tile_outer = m.order == StepOrder::kTileOuter;
    const double maps = tiles * static_cast<double>(tile_bytes(m)) * (tile_outer ? 1 : groups);
    const double kernels =
        static_cast<double>(part.blocks.size() * block_bytes_) * (stays || !tile_outer ? 1 : tiles);
    const double results = stored_bytes(m);
    const int in_cluster = std::min(m.cores(), chip_.cores_per_cluster);
    const int clusters = ceil_div(m.cores(), chip_.cores_per_cluster);
    const bool maps_shared = m.maps == DataPath::kSram, kernels_shared = m.kernels != DataPath::kDirect;
    const double different_maps = maps_shared ? ceil_div(in_cluster, m.kernel_parts) : in_cluster;
    const double different_kernels = kernels_shared ? std::min(m.kernel_parts, in_cluster) : in_cluster;
    const double port = hardware_.interconnect.bytes_per_clock;
    const double direct = (maps_shared ? 0 : maps) + (kernels_shared ? 0 : kernels) +
                          (m.results == DataPath::kSram ? 0 : results);
    const double staged = (maps_shared ? maps * different_maps : 0) +
                          (kernels_shared ? kernels * different_kernels : 0) +
                          (m.results == DataPath::kSram ? results * in_cluster : 0);
    const double cluster_port = chip_.cluster_bus.bytes_per_clock;
    const double dram =
        results * m.cores() + maps * clusters * different_maps + kernels * clusters * different_kernels;
    const auto compute = static_cast<double>(
        std::int64_t{p_.batch} * ceil_div(part.rows.size(), grain_.rows) *
        ceil_div(part.columns.size(), grain_.columns) * part.blocks.size() * grain_.cycles);
    // Transfers and computing overlap but for the first tile and the last one.
    const double transfers =
        std::max({direct / port, staged / port, staged / cluster_port, dram / dram_rate()});
    const double steps = tiles * (tile_outer ? 1 : groups);
    const double serial = std::min(compute, transfers) / (m.map_buffers > 1 ? steps : 1);
    return std::max(compute, transfers) + serial + start_cycles(m);
  }
  double dram_rate() const { return machine_of(hardware_, {}).dram_bytes_per_clock; }
  double start_cycles(const LayerMapping& m) const {
    if (!q_.first_of_program) return 0;
    return 3.0 * static_cast<double>(processors_of(chip_, m).size()) * hardware_.host.register_write_cycles;
  }
  // A run of a pixel's channels that does not fill whole DRAM bursts takes them whole.
  double stored_bytes(const LayerMapping& m) const {
    const auto results = static_cast<double>(p_.output.size_bytes()) / m.cores();
    const std::int64_t pixel = std::int64_t{p_.conv.out_channels} * p_.element_bytes();
    const std::int64_t run = std::min<std::int64_t>(
        pixel, std::int64_t{m.blocks_per_load} * p_.block_kernels * p_.element_bytes());
    if (run == pixel) return results;
    const PortPath path = dram_path(hardware_, chip_.core.copy, Direction::kWrite);
    return results / static_cast<double>(run) *
           static_cast<double>(align_up(run, path.atom) + 2 * path.width);
  }

  // A few for every number of cores with which the formula finds the layer about as fast as can be: it knows
  // little of waiting. Of many such numbers some, from the smallest to the largest.
  void keep_best() {
    std::map<int, std::vector<Candidate>> of_cores;
    for (const Candidate& c : candidates_) {
      std::vector<Candidate>& some = of_cores[c.mapping.cores()];
      if (some.size() < kOfOneCount) some.push_back(c);
    }
    const double limit = kWorthALook * candidates_.front().rough;
    std::vector<const std::vector<Candidate>*> counts;
    for (const auto& [cores, some] : of_cores) {
      if (some.front().rough <= limit) counts.push_back(&some);
    }
    candidates_.clear();
    const std::size_t looked_at = std::min(kCounts, counts.size());
    for (std::size_t i = 0; i < looked_at; ++i) {
      const std::size_t number = looked_at == 1 ? 0 : i * (counts.size() - 1) / (looked_at - 1);
      candidates_.insert(candidates_.end(), counts[number]->begin(), counts[number]->end());
    }
  }

  double estimate(const LayerMapping& m) {
    const MatrixWork work{layer_, hardware_, m, q_.weights, q_.input, q_.output};
    layer_.cut_jobs(largest_job(layer_, m), core_path(chip_, hardware_.dma), core_memory_bytes(chip_));
    const CorePart part = largest_part(p_, grain_, m);
    JobCosts costs(layer_, part.blocks.size() <= m.blocks_per_load && m.channel_parts == 1);
    TaskGraph graph;
    std::vector<BufferId> stored;
    for (int i = 0; i < chip_.processors(); ++i) stored.push_back(graph.add_buffer(BufferRole::kStored));
    add_matrix_tasks(
        graph, work,
        [&](TaskGraph& g, const EnginePlace& place) {
          return std::make_unique<CoarseLowering>(g, place, costs);
        },
        stored);
    const std::vector<int> started = q_.first_of_program ? processors_of(chip_, m) : std::vector<int>{};
    return schedule(graph, dependencies_of(graph), machine_of(hardware_, started)).cycles;
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
    const std::int64_t map =
        align_up(p_.axis_h().span(rows) * layer_.ifm_row_bytes(p_.axis_w().inner(columns)), kBufferAlignment);
    const std::int64_t result =
        align_up(std::int64_t{rows} * columns * p_.kernels_of({0, 1}) * p_.element_bytes(), kBufferAlignment);
    throw UserError(
        fmt::format("layer '{}' cannot fit: a tile of {} x {} outputs with its inputs takes {} bytes, "
                    "chip.core.nram.size_bytes is {}",
                    p_.name, rows, columns, map + 2 * result, chip_.core.nram.size_bytes));
  }

  const MappingQuestion& q_;
  MatrixLayer& layer_;
  const Problem& p_;
  const HardwareConfig& hardware_;
  const ChipConfig& chip_;
  Grain grain_;
  MappingRequest asked_;
  std::int64_t block_bytes_ = 1;
  std::vector<Candidate> candidates_;
  mutable std::map<std::pair<int, int>, std::int64_t> loaded_bytes_;  // by blocks and channel parts
};

}  // namespace

bool may_use_memory_cores(const ChipConfig& chip) {
  return chip.dram_path == DramPath::kSram ||
         (chip.dram_path == DramPath::kAuto && chip.cores_per_cluster > 1);
}

double core_memory_bytes(const ChipConfig& chip) {
  return chip.core.bus.bytes_per_clock;
}

std::vector<int> processors_of(const ChipConfig& chip, const LayerMapping& m) {
  std::vector<int> processors;
  for (int core = 0; core < m.cores(); ++core) processors.push_back(processor_of_core(chip, core));
  const int clusters = ceil_div(m.cores(), chip.cores_per_cluster);
  for (int k = 0; m.uses_memory_cores() && k < clusters; ++k)
    processors.push_back(processor_of_memory(chip, k));
  std::sort(processors.begin(), processors.end());
  return processors;
}

Machine machine_of(const HardwareConfig& hardware, const std::vector<int>& started) {
  Machine machine;
  const DramConfig& d = hardware.dram;
  const double refresh = d.refresh ? 1 - static_cast<double>(d.tRFC_ps) / static_cast<double>(d.tREFI_ps) : 1;
  constexpr double kReached = 0.96;  // of the peak between refreshes: rows that are opened and closed
  const int controllers = hardware.chip ? hardware.chip->memory_controllers : 1;
  machine.dram_bytes_per_clock = controllers * dram_bytes_per_clock(hardware) * refresh * kReached;
  // Three register writes a processor, the starts behind all others; then its first instruction is fetched.
  const double write = hardware.host.register_write_cycles + hardware.interconnect.request_cycles + 2.0;
  constexpr double kFetch = 60;
  for (std::size_t i = 0; i < started.size(); ++i) {
    const auto processor = static_cast<std::size_t>(started[i]);
    if (machine.starts.size() <= processor) machine.starts.resize(processor + 1, 0);
    machine.starts[processor] = write * static_cast<double>(2 * started.size() + i + 1) + kFetch;
  }
  return machine;
}

ChosenMapping choose_mapping(const MappingQuestion& question) {
  return Chooser(question).run();
}

}  // namespace tilebeat
