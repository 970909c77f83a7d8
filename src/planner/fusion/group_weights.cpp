#include "planner/fusion/group_weights.h"

#include "base/types.h"
#include "isa/address_map.h"
#include "planner/layer/estimate.h"
#include "planner/layer/placement.h"
#include "planner/layer/weight_streams.h"
#include "tilebeat/error.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include <fmt/format.h>

namespace tilebeat {

GroupWeights::GroupWeights(TaskGraph& graph, const GroupWork& work)
    : graph_(graph), work_(work), chip_(*work.hardware.chip), layers_(work.layers.size()) {
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    const VectorWork* vector = work.layers[l].vector;
    layers_[l].factors_at = factor_bytes_;
    if (vector == nullptr) {
      // Enough room for the exchange's parameters, however the kernel blocks are loaded.
      const ShardedLayer& layer = *work.layers[l].matrix;
      if (layer.post_parameters != 0)
        factor_bytes_ += layer.problem.kernel_blocks() * post_buffer_bytes(layer.problem, 1);
      continue;
    }
    layers_[l].factors = graph_.add_buffer(BufferRole::kKernels);
    factor_bytes_ += vector->parameter_room();
  }
}

void GroupWeights::split(const std::vector<MostOutputs>& most, ClusterShare share,
                         std::vector<std::optional<LayerMapping>> fixed) {
  fixed_ = std::move(fixed);
  if (streamed()) return split_streamed(most, share);
  using Kernels = ClusterShare::Kernels;
  for (const Kernels kernels : {Kernels::kAny, Kernels::kFewAtEqualCost, Kernels::kFewest}) {
    share.kernels = kernels;
    place(most, share);
    if (kernel_bytes_ <= chip_.core.wram.size_bytes) return;
  }
  throw UserError(
      fmt::format("the unit of layer '{}' cannot fit: its kernels take {} bytes of a core, "
                  "chip.core.wram.size_bytes is {}",
                  work_.graph.layers.back().layer->name, kernel_bytes_, chip_.core.wram.size_bytes));
}

int GroupWeights::regions() const {
  int regions = 1;
  for (const GroupLayerWork& layer : work_.layers) {
    if (layer.matrix != nullptr) regions = layer.matrix->shards.front().weights.layout.regions;
  }
  return regions;
}

void GroupWeights::map_layer(std::size_t l, const std::vector<MostOutputs>& most, ClusterShare share) {
  if (fixed_[l]) {
    layers_[l].mapping = *fixed_[l];
    return;
  }
  share.rows = most[l].rows, share.columns = most[l].columns;
  if (streamed() && kernel_fetches(work_.hardware, work_.clusters) == work_.clusters) {
    std::int64_t bytes = 0;
    for (const Shard& of : work_.layers[l].matrix->shards) bytes += least_kernel_bytes(of);
    const auto cycles = [&](const DmaConfig& dma) {
      return port_cycles({bytes, 1, bytes}, dram_path(work_.hardware, dma, Direction::kRead));
    };
    share.dram_load = static_cast<double>(bytes) / machine_of(work_.hardware, {}).dram_bytes_per_clock;
    share.shared_load = cycles(chip_.copy), share.own_load = cycles(chip_.core.copy);
  }
  layers_[l].mapping = split_over_cluster(*work_.layers[l].matrix, chip_, share);
}

void GroupWeights::place(const std::vector<MostOutputs>& most, ClusterShare share) {
  const auto first = to_unsigned(work_.wram_at / regions());
  std::uint64_t end = first;
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    if (work_.layers[l].matrix == nullptr) continue;
    map_layer(l, most, share);
    layers_[l].cuts = job_cuts(*work_.layers[l].matrix, layers_[l].mapping, work_.hardware);
    place_groups(l, end);
  }
  kernel_bytes_ = to_signed(end - first) * regions();
}

// Kernels of different cores have the same offsets in WRAM.
void GroupWeights::place_groups(std::size_t l, std::uint64_t& end) {
  OfLayer& of = layers_[l];
  std::uint64_t most = 0;
  of.groups.clear(), of.portions = 1;
  for (std::size_t shard = 0; shard < work_.layers[l].matrix->shards.size(); ++shard) {
    const auto bytes = to_unsigned(group_bytes_of(l, shard) / regions());
    for (int part = 0; part < of.mapping.kernel_parts; ++part) {
      std::uint64_t at = 0;
      for (const KernelGroup& group : groups_of(l, shard, part)) {
        of.groups.push_back({group, part, shard, 0, end + at, graph_.add_buffer(BufferRole::kKernels)});
        at += bytes;
      }
      most = std::max(most, at);
    }
  }
  end += most;
  place_posts(l);
}

std::vector<KernelGroup> GroupWeights::groups_of(std::size_t l, std::size_t shard, int part) const {
  const MatrixLayer& layer = *work_.layers[l].matrix->shards[shard].layer;
  const LayerMapping& m = layers_[l].mapping;
  return kernel_groups(layer.problem(), m, layer.grain(),
                       part_of(layer.problem().kernel_blocks(), m.kernel_parts, part, 1));
}

// The most WRAM bytes of a group of a shard, in all regions together.
std::int64_t GroupWeights::group_bytes_of(std::size_t l, std::size_t shard) const {
  const Shard& of = work_.layers[l].matrix->shards[shard];
  return group_bytes(of, layers_[l].mapping);
}

// Places the parameters of the partial-sum exchange of each kernel group, one after the other.
void GroupWeights::place_posts(std::size_t l) {
  const ShardedLayer& layer = *work_.layers[l].matrix;
  if (layer.post_parameters == 0) return;
  std::map<int, std::pair<std::int64_t, BufferId>> posts;  // by the first kernel block
  std::int64_t at = layers_[l].factors_at;
  for (Group& group : layers_[l].groups) {
    const Interval blocks = group.group.blocks;
    const auto [found, added] = posts.try_emplace(blocks.begin);
    if (added) {
      found->second = {at, graph_.add_buffer(BufferRole::kKernels)};
      at += post_buffer_bytes(layer.problem, blocks.size());
    }
    std::tie(group.post_at, group.post) = found->second;
  }
}

// With more slots more portions can be loaded while another one is used; each portion loads the maps anew.
void GroupWeights::split_streamed(const std::vector<MostOutputs>& most, ClusterShare share) {
  constexpr int kMostSlots = 4, kFewestSlots = 2;
  const std::int64_t region = chip_.core.wram.size_bytes / regions();
  share.kernels = ClusterShare::Kernels::kFewAtEqualCost;  // fewer portions
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    if (work_.layers[l].matrix != nullptr) map_layer(l, most, share);
  }
  std::uint64_t slot = 0;
  int slots = kMostSlots;
  for (; slots >= kFewestSlots; --slots) {
    const auto room = to_unsigned(region / slots / kBufferAlignment * kBufferAlignment);
    slot = 0;
    for (std::size_t l = 0; l < layers_.size(); ++l) {
      if (work_.layers[l].matrix != nullptr) slot = std::max(slot, place_portions(l, room));
    }
    if (slot <= room) break;
  }
  if (slots < kFewestSlots) {
    throw UserError(
        fmt::format("the unit of layer '{}' cannot fit: two portions of streamed kernels take {} bytes of a "
                    "core, chip.core.wram.size_bytes is {}",
                    work_.graph.layers.back().layer->name, kFewestSlots * to_signed(slot) * regions(),
                    chip_.core.wram.size_bytes));
  }
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    if (work_.layers[l].matrix != nullptr)
      layers_[l].cuts = job_cuts(*work_.layers[l].matrix, layers_[l].mapping, work_.hardware);
  }
  check_pyramids(slots);
  for (int s = 0; s < slots; ++s) {
    Slot& made = slots_.emplace_back();
    made.offset = slot * to_unsigned(s);
    made.versions.resize(to_size(work_.cores), -1);
    made.clearings = made.versions;
    for (int c = 0; c < work_.cores; ++c) {
      made.buffers.push_back(graph_.add_buffer(BufferRole::kKernels));
      made.cleared.push_back(graph_.add_buffer(BufferRole::kKernels));
    }
  }
  slot_ = slots_.size() - 1;
  kernel_bytes_ = to_signed(slot) * slots * regions();
}

// A pyramid reads the kernels of all its layers at a time.
void GroupWeights::check_pyramids(int slots) const {
  int whole = 0;
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    if (!fixed_[l]) continue;
    whole += layers_[l].portions;
    if (layers_[l].portions == 1 && whole <= slots) continue;
    throw UserError(fmt::format(
        "the unit of layer '{}' cannot fit: kernels of all layers between tensors in NRAM take more than the "
        "{} slots of WRAM; chip.core.wram.size_bytes is {}",
        work_.graph.layers.back().layer->name, slots, chip_.core.wram.size_bytes));
  }
}

// Makes portions of at most `room` bytes of a region, if possible. Returns the bytes of the largest one.
std::uint64_t GroupWeights::place_portions(std::size_t l, std::uint64_t room) {
  OfLayer& of = layers_[l];
  const std::size_t shards = work_.layers[l].matrix->shards.size();
  const auto bytes_of_group = [&] {
    std::int64_t most = 0;
    for (std::size_t shard = 0; shard < shards; ++shard) most = std::max(most, group_bytes_of(l, shard));
    return to_unsigned(most / regions());
  };
  std::uint64_t bytes = bytes_of_group();
  while (bytes > room && of.mapping.blocks_per_load > 1) {
    of.mapping.blocks_per_load = to_int(ceil_div(of.mapping.blocks_per_load, 2));
    bytes = bytes_of_group();
  }
  // kernel groups of a portion
  const auto of_portion = to_int(std::max<std::uint64_t>(1, room / bytes));
  of.groups.clear(), of.portions = 0;
  int most = 0;  // kernel groups of the largest portion
  for (std::size_t shard = 0; shard < shards; ++shard) {
    for (int part = 0; part < of.mapping.kernel_parts; ++part) {
      int number = 0;
      for (const KernelGroup& group : groups_of(l, shard, part)) {
        const int portion = number / of_portion, place = number % of_portion;
        of.groups.push_back({group, part, shard, portion, bytes * to_unsigned(place)});
        of.portions = std::max(of.portions, portion + 1), most = std::max(most, place + 1);
        ++number;
      }
    }
  }
  place_posts(l);
  return bytes * to_unsigned(most);
}

bool GroupWeights::is_product(std::size_t l) const {
  const ShardedLayer* matrix = work_.layers[l].matrix;
  return matrix != nullptr && matrix->problem.kernel_tensor.has_value();
}

std::vector<GroupWeights::Load> GroupWeights::fill(std::size_t l, int portion, int set) {
  const bool product = is_product(l);
  for (std::size_t s = 0; product && s < slots_.size(); ++s) {
    const Slot& known = slots_[s];
    if (known.layer != to_int(l) || known.portion != portion || known.set != set) continue;
    slot_ = layers_[l].slot = s;
    return {};
  }
  slot_ = layers_[l].slot = (slot_ + 1) % slots_.size();
  Slot& slot = slots_[slot_];
  slot.layer = product ? to_int(l) : -1, slot.portion = portion, slot.set = set;
  std::vector<Load> loads;
  std::uint64_t written = 0;  // cores
  for (const Group& group : layers_[l].groups) {
    if (group.portion != portion) continue;
    Load load = load_of(l, group, set);
    const std::uint64_t cores = cores_of(l, group);
    for (std::size_t c = 0; c < slot.buffers.size(); ++c) {
      const std::uint64_t bit = std::uint64_t{1} << c;
      if ((cores & bit) == 0) continue;
      if ((written & bit) == 0) ++slot.versions[c];
      load.written.push_back({slot.buffers[c], slot.versions[c], AccessKind::kWrite});
    }
    written |= cores;
    if (product) clear(l, group, load);
    loads.push_back(std::move(load));
  }
  return loads;
}

// Adds the copies that set places of the current slot which the kernels do not fill.
void GroupWeights::clear(std::size_t l, const Group& group, Load& load) {
  const Shard& shard = work_.layers[l].matrix->shards[group.shard];
  load.clears = cleared_kernels(*shard.layer, shard.weights, group.group, offset_of(l, group));
  if (load.clears.empty()) return;
  Slot& slot = slots_[slot_];
  for (std::size_t c = 0; c < slot.buffers.size(); ++c) {
    if ((load.cores >> c & 1) != 0)
      load.cleared.push_back({slot.cleared[c], ++slot.clearings[c], AccessKind::kWrite});
  }
}

std::uint64_t GroupWeights::offset_of(std::size_t l, const Group& group) const {
  return streamed() ? slots_[layers_[l].slot].offset + group.offset : group.offset;
}

Access GroupWeights::read(std::size_t l, const Group& group, int core) const {
  if (!streamed()) return {group.buffer, 0, AccessKind::kRead};
  const Slot& slot = slots_[layers_[l].slot];
  const auto c = to_size(core);
  return {slot.buffers[c], slot.versions[c], AccessKind::kRead};
}

std::int64_t GroupWeights::largest_load() const {
  std::int64_t most = 0;
  for (std::size_t l = 0; streamed() && l < layers_.size(); ++l) {
    for (const Group& group : layers_[l].groups) most = std::max(most, bytes_of(transfers(l, group)));
  }
  return most;
}

// The cores that have part `part` of a layer's kernels, of any shard, as a bit mask.
std::uint64_t GroupWeights::cores_of_part(std::size_t l, int part) const {
  const LayerMapping& m = layers_[l].mapping;
  std::uint64_t cores = 0;
  for (int c = 0; c < m.cores(); ++c) {
    if (c / m.reduction_parts % m.kernel_parts == part) cores |= std::uint64_t{1} << c;
  }
  return cores;
}

// The cores that need a kernel group, as a bit mask.
std::uint64_t GroupWeights::cores_of(std::size_t l, const Group& group) const {
  const LayerMapping& m = layers_[l].mapping;
  std::uint64_t cores = cores_of_part(l, group.part);
  for (int c = 0; c < m.cores(); ++c) {
    if (to_size(shard_of_core(m, c)) != group.shard) cores &= ~(std::uint64_t{1} << c);
  }
  return cores;
}

GroupWeights::Load GroupWeights::load_of(std::size_t l, const Group& group, int set) const {
  return {transfers(l, group, set), {}, cores_of(l, group)};
}

std::vector<Transfer> GroupWeights::transfers(std::size_t l, const Group& group, int set) const {
  const Shard& shard = work_.layers[l].matrix->shards[group.shard];
  KernelGroup kernels = group.group;
  kernels.set = set;
  return weight_loads(graph_, shard, kernels,
                      multicast_address(cores_of(l, group), true, offset_of(l, group)), stream_buffer_);
}

GroupWeights::Load GroupWeights::load_of_post(std::size_t l, const Group& group) const {
  const std::uint64_t cores = cores_of_part(l, group.part);
  return {post_transfers(*work_.layers[l].matrix, group.group.blocks,
                         multicast_address(cores, false, to_unsigned(group.post_at))),
          {{group.post, 0, AccessKind::kWrite}},
          cores};
}

Transfer GroupWeights::transfer_of_factors(std::size_t l) const {
  const std::uint64_t cores = (std::uint64_t{1} << work_.cores) - 1;
  return {work_.layers[l].parameters, multicast_address(cores, false, to_unsigned(layers_[l].factors_at)),
          one_run(ssize(work_.layers[l].vector->parameters()))};
}

std::vector<GroupWeights::Load> GroupWeights::loads(bool ahead) const {
  std::vector<Load> loads;
  int number = 0;
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    for (const Group& group : layers_[l].groups) {
      if (streamed() || (number++ < work_.weight_prefetch) != ahead) continue;
      loads.push_back(load_of(l, group));
      loads.back().written = {{group.buffer, 0, AccessKind::kWrite}};
    }
    const VectorWork* vector = work_.layers[l].vector;
    if (!ahead && vector != nullptr && !vector->parameters().empty())
      loads.push_back({{transfer_of_factors(l)},
                       {{layers_[l].factors, 0, AccessKind::kWrite}},
                       (std::uint64_t{1} << work_.cores) - 1});
    for (const Group& group : layers_[l].groups) {
      if (!ahead && vector == nullptr && group.shard == 0 && work_.layers[l].matrix->post_parameters != 0)
        loads.push_back(load_of_post(l, group));
    }
  }
  return loads;
}

std::vector<std::int64_t> GroupWeights::wram_of_loads() const {
  std::vector<std::int64_t> bytes;
  if (streamed()) return bytes;
  std::int64_t most = 0;
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    for (const Group& group : layers_[l].groups) {
      const std::int64_t size = group_bytes_of(l, group.shard);
      most = std::max(most, to_signed(group.offset) * regions() - work_.wram_at + size);
      bytes.push_back(most);
    }
  }
  return bytes;
}

}  // namespace tilebeat
