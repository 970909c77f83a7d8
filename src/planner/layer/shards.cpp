#include "planner/layer/shards.h"

#include "base/types.h"
#include "planner/language/mapping_file.h"
#include "planner/layer/placement.h"
#include "planner/schedule/schedule.h"
#include "tilebeat/error.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <utility>

#include <fmt/format.h>

namespace tilebeat {
namespace {

// The objects that a shard's layer refers to.
struct Source {
  Workload workload;
  Layer layer;
  HardwareConfig hardware;
  std::vector<std::unique_ptr<MatrixLayer>> sizes;  // in kernel blocks of every size
};

// Channels `channels` of kernels; channels are the last axis.
Tensor kernels_over(const Tensor& kernels, Interval channels) {
  const auto all = to_size(kernels.shape.back());
  const auto begin = to_size(channels.begin), size = to_size(channels.size());
  Tensor part{kernels.shape, kernels.dtype, {}};
  part.shape.back() = channels.size();
  part.bytes.resize(kernels.bytes.size() / all * size);
  for (std::size_t kernel = 0; kernel < kernels.bytes.size() / all; ++kernel)
    std::memcpy(part.bytes.data() + kernel * size, kernels.bytes.data() + kernel * all + begin, size);
  return part;
}

// The layer with copies of its operands' descriptions.
std::shared_ptr<Source> source_of(const Workload& workload, const Layer& layer) {
  auto made = std::make_shared<Source>();
  for (const std::string& name : layer.inputs) made->workload.inputs[name] = workload.tensor(name);
  made->layer = layer;
  return made;
}

// The layer restricted to input channels `channels`, with plain int32 sums as results: no bias, activation or
// requantisation.
std::shared_ptr<Source> sums_over(const Workload& workload, const Layer& layer, Interval channels) {
  auto made = source_of(workload, layer);
  made->layer.output.dtype = DType::kInt32, made->layer.output.zero_point = 0;
  auto& conv = std::get<Conv2d>(made->layer.operation);
  conv.bias.clear(), conv.activation = {}, conv.requant.reset();
  conv.product.inner = channels.size();
  if (conv.kernels == KernelSource::kWeights) {
    std::vector<std::int64_t> shape = conv.weights.shape();
    shape.back() = channels.size();
    conv.weights = conv.weights.mapped(shape, fmt::format("channels {} to {}", channels.begin, channels.end),
                                       [channels](const Tensor& all) { return kernels_over(all, channels); });
  }
  if (conv.pixels != PixelAxes::kMatrices)
    made->workload.inputs[layer.inputs.front()].shape.back() = channels.size();
  return made;
}

// Keeps the elements of parts `some` of `all` equal parts of a vector, or of a tensor's bytes.
template <class T>
void keep(std::vector<T>& values, Interval some, int all) {
  const std::size_t each = values.size() / to_size(all);
  values.erase(values.begin() + to_signed(each * to_size(some.end)), values.end());
  values.erase(values.begin(), values.begin() + to_signed(each * to_size(some.begin)));
}

// The kernels of convolution groups `groups`, as a layer.
std::shared_ptr<Source> groups_of(const Workload& workload, const Layer& layer, Interval groups) {
  auto made = source_of(workload, layer);
  auto& conv = std::get<Conv2d>(made->layer.operation);
  const int all = conv.groups;
  std::vector<std::int64_t> shape = conv.weights.shape();
  shape.front() = shape.front() / all * groups.size();
  conv.weights =
      conv.weights.mapped(shape, fmt::format("groups {} to {} of {}", groups.begin, groups.end, all),
                          [groups, all](Tensor weights) {
                            keep(weights.bytes, groups, all);
                            weights.shape.front() = weights.shape.front() / all * groups.size();
                            return weights;
                          });
  keep(conv.bias, groups, all);
  if (conv.requant && conv.requant->scale.size() > 1) keep(conv.requant->scale, groups, all);
  if (conv.requant && conv.requant->weight_scale.size() > 1) keep(conv.requant->weight_scale, groups, all);
  conv.out_channels = conv.out_channels / all * groups.size();
  conv.groups = groups.size();
  made->layer.output.shape.back() = conv.out_channels;
  auto& channels = made->workload.inputs[layer.inputs.front()].shape.back();
  channels = channels / all * groups.size();
  return made;
}

std::vector<std::unique_ptr<MatrixLayer>> in_all_sizes(std::unique_ptr<MatrixLayer> layer) {
  std::vector<std::unique_ptr<MatrixLayer>> sizes = layer->other_block_sizes();
  sizes.insert(sizes.begin(), std::move(layer));
  return sizes;
}

// The hardware of all shards, with the engine's choices for the whole layer.
HardwareConfig hardware_of_shards(const HardwareConfig& hardware, const MatrixLayer& whole) {
  LayerMapping chosen;
  chosen.engine = hardware.dataflow, chosen.engine_choices = whole.choices();
  return with_choices(hardware, request_of(chosen), Place("choices of layer " + whole.problem().name));
}

void add_shard(ShardedLayer& shared, std::shared_ptr<MatrixLayer> layer, const OperandPlaces& places,
               int first_kernel, const HardwareConfig& hardware) {
  if (layer->problem().kernel_tensor)  // refuses where the engine has none
    layer->kernel_parts(0, {0, layer->problem().channels});
  WeightPlace weights = unplaced(layer->weight_layout(), hardware);
  weights.tensor = places.kernels;
  std::shared_ptr<const PackedKernels> packed = PackedKernels::of(layer, weights, hardware);
  shared.shards.push_back({std::move(layer), std::move(weights), places.input, first_kernel});
  shared.shards.back().packed = std::move(packed);
}

// The places of the operands from channel `channel` on.
OperandPlaces places_from(int channel, const Problem& p, OperandPlaces places) {
  places.input.address += to_unsigned(channel * places.input.channel_stride);
  if (places.kernels) places.kernels->address += to_unsigned(channel * p.kernel_tensor->channel_stride);
  return places;
}

// Number of convolution groups that must be cut together, so that their kernels fill blocks.
int groups_together(const MatrixLayer& layer) {
  const Problem& p = layer.problem();
  const int kernels = layer.grain().kernels;
  return kernels / std::gcd(kernels, p.conv.out_channels / p.conv.groups);
}

void check_groups(const MatrixLayer& layer, const ChipConfig& chip, int parts) {
  const Problem& p = layer.problem();
  const int most = most_group_parts(layer, chip);
  if (parts > most)
    throw UserError(
        fmt::format("layer '{}' cannot be mapped so: group_parts {} is more than {}, what {} groups in "
                    "multiples of {} and {} cores allow",
                    p.name, parts, most, p.conv.groups, groups_together(layer), chip.cores()));
}

// A shard as a layer, before an engine is made for it: the first channel and kernel that it has of the whole
// layer.
struct Part {
  std::shared_ptr<Source> source;
  int first_channel = 0, first_kernel = 0;
};

Part part_of_layer(const Workload& workload, const Layer& layer, const MatrixLayer& whole, ShardCut cut,
                   int parts, int part) {
  const Problem& p = whole.problem();
  if (cut == ShardCut::kChannels) {
    const Interval channels = part_of(p.channels, parts, part, whole.grain().channels);
    return {sums_over(workload, layer, channels), channels.begin, 0};
  }
  const Interval groups = part_of(p.conv.groups, parts, part, groups_together(whole));
  return {groups_of(workload, layer, groups), p.channels / p.conv.groups * groups.begin,
          p.conv.out_channels / p.conv.groups * groups.begin};
}

}  // namespace

std::optional<WeightImage> Shard::image_of(const KernelGroup& group) const {
  return packed == nullptr ? std::nullopt : packed->image_of(group);
}

std::int64_t Shard::extent_of(const KernelGroup& group) const {
  if (const std::optional<WeightImage> image = image_of(group)) return image->bytes();
  return group_extent(*layer, weights, group);
}

std::size_t ShardedLayer::largest_number() const {
  const auto largest = std::max_element(shards.begin(), shards.end(), [](const Shard& a, const Shard& b) {
    return a.layer->problem().channels < b.layer->problem().channels;
  });
  return to_size(largest - shards.begin());
}

ShardedLayer whole_layer(std::shared_ptr<MatrixLayer> layer, const OperandPlaces& places,
                         const HardwareConfig& hardware) {
  if (layer->problem().weights.four_bits() != nullptr && hardware.chip->decode_bytes_per_clock == 0)
    throw UserError(
        fmt::format("layer '{}': weights of int4 or uint4 need a decoder, chip.decode_bytes_per_clock is 0",
                    layer->problem().name));
  ShardedLayer made;
  made.problem = layer->problem();
  add_shard(made, std::move(layer), places, 0, hardware);
  return made;
}

std::vector<ShardedLayer> sharded_layers(const Workload& workload, const Layer& layer,
                                         const HardwareConfig& hardware, const MatrixLayer& whole,
                                         ShardCut cut, int parts, const OperandPlaces& places) {
  if (cut == ShardCut::kChannels)
    check_reduction_group(whole, *hardware.chip, parts);
  else
    check_groups(whole, *hardware.chip, parts);
  const Problem& p = whole.problem();
  const HardwareConfig chosen = hardware_of_shards(hardware, whole);
  std::vector<Part> of_layer;
  for (int part = 0; part < parts; ++part) {
    of_layer.push_back(part_of_layer(workload, layer, whole, cut, parts, part));
    Source& made = *of_layer.back().source;
    made.hardware = chosen;
    made.sizes = in_all_sizes(make_matrix_layer(made.workload, made.layer, made.hardware));
  }
  std::vector<ShardedLayer> versions;
  for (const auto& first : of_layer.front().source->sizes) {
    ShardedLayer made;
    made.cut = cut;
    made.problem = p;
    made.problem.block_kernels = first->problem().block_kernels;
    if (cut == ShardCut::kChannels && !post_parameters_of(p).empty()) made.post_parameters = kUnplaced;
    for (const Part& part : of_layer) {
      for (const auto& size : part.source->sizes) {
        if (size->problem().block_kernels != made.problem.block_kernels) continue;
        add_shard(made, std::shared_ptr<MatrixLayer>(part.source, size.get()),
                  places_from(part.first_channel, p, places), part.first_kernel, hardware);
        break;
      }
    }
    if (made.parts(cut) == parts) versions.push_back(std::move(made));
  }
  if (versions.empty())
    throw UserError(
        fmt::format("layer '{}' cannot be mapped so: {} {}: the engine has no size of kernel blocks for all "
                    "parts of the {}",
                    p.name, cut == ShardCut::kChannels ? "reduction_parts" : "group_parts", parts,
                    cut == ShardCut::kChannels ? "channels" : "groups"));
  return versions;
}

KernelBytes kernels_of(const ShardedLayer& layer) {
  if (layer.shards.size() == 1) return kernels_of(*layer.shards.front().layer);
  KernelBytes all{layer.shards.front().weights.layout, {}, {}, {}};
  all.layout.blocks = {0};
  std::vector<KernelBytes> shards;
  for (const Shard& shard : layer.shards) {
    shards.push_back(kernels_of(*shard.layer));
    const KernelBytes& next = shards.back();
    const std::uint64_t begin = all.layout.blocks.back();
    for (auto end = next.layout.blocks.begin() + 1; end != next.layout.blocks.end(); ++end)
      all.layout.blocks.push_back(begin + *end);
    all.post.insert(all.post.end(), next.post.begin(), next.post.end());
    all.name += next.name.empty() ? "" : next.name + "; ";
  }
  if (layer.adds_sums()) all.post = post_parameters_of(layer.problem);
  if (shards.front().block) {
    all.block = [shards = std::move(shards)](std::size_t block) {
      auto shard = shards.begin();
      for (; block + 1 >= shard->layout.blocks.size(); ++shard) block -= shard->layout.blocks.size() - 1;
      return shard->block(block);
    };
  }
  return all;
}

namespace {

void set_places(ShardedLayer& layer, const WeightPlace& place) {
  if (layer.shards.size() == 1) {
    const std::optional<KernelTensorPlace> tensor = layer.shards.front().weights.tensor;
    layer.shards.front().weights = place;
    layer.shards.front().weights.tensor = tensor;
    return;
  }
  auto next = place.blocks.begin();
  std::uint64_t post = place.post;
  for (Shard& shard : layer.shards) {
    WeightPlace& weights = shard.weights;
    std::copy_n(next, weights.blocks.size(), weights.blocks.begin());
    next += ssize(weights.blocks);
    if (weights.post == 0) continue;
    weights.post = post;
    post += to_unsigned(weights.layout.record_bytes);
  }
  if (layer.adds_sums()) layer.post_parameters = place.post;
}

}  // namespace

void place_kernels(ShardedLayer& layer, const std::vector<int>& parts, DramPlaces& places) {
  set_places(layer, places.place_weights(layer.problem.name, kernels_of(layer), parts));
  for (Shard& shard : layer.shards) shard.streams = places.streams_of(*shard.layer);
}

int largest_reduction_group(const MatrixLayer& layer, const ChipConfig& chip) {
  if (!layer.reduces() || layer.problem().interleaving || layer.problem().of_halves) return 1;
  return std::min(chip.cores_per_cluster, ceil_div(layer.problem().channels, layer.grain().channels));
}

int most_group_parts(const MatrixLayer& layer, const ChipConfig& chip) {
  const Problem& p = layer.problem();
  if (p.interleaving || p.conv.pixels != PixelAxes::kMap || p.conv.kernels != KernelSource::kWeights)
    return 1;
  return std::min(chip.cores(), ceil_div(p.conv.groups, groups_together(layer)));
}

int reduction_groups_of(const ChipConfig& chip, int cores) {
  // Groups are runs of consecutive cores: when their size does not divide a cluster, only the groups of the
  // first cluster are used.
  const int in_cluster = chip.cores_per_cluster / cores;
  return chip.cores_per_cluster % cores == 0 ? in_cluster * chip.clusters : in_cluster;
}

std::vector<std::uint8_t> post_parameters_of(const Problem& p) {
  const ConvSetup setup = conv_setup(p);
  if (!setup.post_parameters && !setup.clamp) return {};
  const auto activation = encode_activation(setup);
  std::vector<std::uint8_t> bytes(activation.begin(), activation.end());
  for (int kernel = 0; kernel < p.conv.out_channels; ++kernel) {
    const auto record = encode(post_parameter(p, kernel));
    bytes.insert(bytes.end(), record.begin(), record.end());
  }
  return bytes;
}

std::vector<Transfer> post_transfers(const ShardedLayer& layer, Interval blocks, std::uint64_t destination) {
  const Problem& p = layer.problem;
  const std::uint64_t bounds = layer.post_parameters;
  const std::uint64_t records =
      bounds + kActivationBytes + to_unsigned(blocks.begin * p.block_kernels) * kPostParameterBytes;
  return {{bounds, destination, one_run(kActivationBytes)},
          {records, destination + kActivationBytes,
           one_run(std::int64_t{p.kernels_of(blocks)} * kPostParameterBytes)}};
}

std::int64_t post_buffer_bytes(const Problem& p, int blocks) {
  return align_up(std::int64_t{kActivationBytes} + p.kernels_of({0, blocks}) * kPostParameterBytes,
                  kBufferAlignment);
}

void check_reduction_group(const MatrixLayer& layer, const ChipConfig& chip, int cores) {
  const Problem& p = layer.problem();
  const auto refuse = [&](const std::string& why) {
    throw UserError(fmt::format("layer '{}' cannot be mapped so: reduction_parts {} {}", p.name, cores, why));
  };
  const int grain = layer.grain().channels;
  if (!layer.reduces()) refuse("needs sums over parts of the channels, which groups of them do not have");
  if (p.interleaving) refuse("is not there for transposed convolutions");
  if (p.of_halves) refuse("is not there for inputs of int16, whose sums of 48 bits cores do not exchange");
  if (cores > ceil_div(p.channels, grain))
    refuse(fmt::format("is more than {}, the parts of {} channels in multiples of {}",
                       ceil_div(p.channels, grain), p.channels, grain));
  if (cores > chip.cores_per_cluster)
    refuse(fmt::format("is more than {}, chip.cores_per_cluster: sums pass through the memory of a cluster",
                       chip.cores_per_cluster));
}

namespace {

void add_window(std::vector<std::int64_t>& key, const Window& w) {
  key.insert(key.end(), {w.out, w.outs, w.in, w.ins, w.offset});
}

void add_layout(std::vector<std::int64_t>& key, const TensorLayout& l) {
  key.insert(key.end(),
             {to_signed(l.address), l.image_stride, l.row_stride, l.pixel_stride, l.channel_stride});
}

// Appends all fields of a job except its accesses.
void add_job(std::vector<std::int64_t>& key, const MatrixJob& job) {
  add_window(key, job.tile.h), add_window(key, job.tile.w);
  key.insert(key.end(),
             {job.tile.image, job.images, job.blocks.begin, job.blocks.end, job.reduction.channels.begin,
              job.reduction.channels.end, job.reduction.first ? 1 : 0, job.reduction.last ? 1 : 0,
              job.jobs_of_map, to_signed(job.weights), to_signed(job.post)});
  add_layout(key, job.ifm), add_layout(key, job.ofm);
}

}  // namespace

JobCosts::JobCosts(const Shard& shard, const JobCut& cut, const MatrixJob& largest, bool same_kernels)
    : share_(shard), cut_(cut), same_kernels_(same_kernels), key_{same_kernels ? 1 : 0} {
  add_job(key_, largest);
}

const TaskCost& JobCosts::of(const MatrixJob& job) {
  const auto shape = std::tuple(job.tile.h.outs, job.tile.w.outs, job.tile.h.ins, job.tile.w.ins,
                                share_.layer->problem().kernels_of(job.blocks), job.reduction.channels.size(),
                                job.reduction.first, job.reduction.last);
  const auto [of_shape, first] = of_shapes_.try_emplace(shape);
  if (first) {
    std::vector<std::int64_t> key = key_;
    add_job(key, job);
    of_shape->second = share_.job_costs->get(key, [&] { return cost_of(job); });
  }
  return of_shape->second;
}

TaskCost JobCosts::cost_of(const MatrixJob& job) const {
  const Alone one = jobs_alone(job, 1), two = jobs_alone(job, 2);
  TaskCost cost;
  cost.cycles = std::max(1.0, two.cycles - one.cycles);
  cost.latency = std::max(1.0, one.cycles - cost.cycles);
  cost.instructions = static_cast<double>(two.tasks - one.tasks);
  cost.beats = one.beats;
  return cost;
}

JobCosts::Alone JobCosts::jobs_alone(MatrixJob job, int count) const {
  TaskGraph graph;
  EnginePlace place;
  place.nram = job.ifm.address, place.wram = job.weights;
  const auto lowering = share_.layer->lower(graph, place, cut_);
  job.ifm_reads.clear(), job.weights_read.reset(), job.ofm_write.reset();
  for (int i = 0; i < count; ++i) {
    lowering->add(job);
    job.ifm.address += 64;
    if (same_kernels_) continue;
    job.weights += 64;
    if (job.image != 0) job.image += 64;
  }
  Alone alone{schedule(graph, dependencies_of(graph), {}).cycles, graph.tasks().size()};
  for (const Task& task : graph.tasks()) alone.beats += task.cost.beats;
  return alone;
}

}  // namespace tilebeat
