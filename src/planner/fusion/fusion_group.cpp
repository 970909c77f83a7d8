#include "planner/fusion/fusion_group.h"

#include "base/types.h"
#include "isa/address_map.h"
#include "planner/fusion/group_tasks.h"
#include "planner/fusion/pyramid.h"
#include "planner/layer/choose_layer.h"
#include "planner/layer/estimate.h"
#include "planner/layer/placement.h"
#include "tilebeat/error.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tilebeat {
namespace {

TensorInfo as_map(TensorInfo tensor, const MapExtents& map) {
  tensor.shape = {map.images, map.height, map.width, map.channels};
  return tensor;
}

// A vector layer on maps: the axes that it names are the channels (row_axis).
Layer on_maps(Layer layer, const MapExtents& output) {
  layer.output = as_map(layer.output, output);
  const auto last = count_of(layer.output.shape) - 1;
  if (auto* softmax = std::get_if<Softmax>(&layer.operation)) softmax->axis = last;
  if (auto* concat = std::get_if<Concat>(&layer.operation)) concat->axis = last;
  return layer;
}

}  // namespace

ShardedLayer group_layer_in_shards(const GroupShards& of, const std::shared_ptr<MatrixLayer>& whole) {
  // The address of the map is 0: places are counted from its beginning.
  const OperandPlaces places{whole->problem().map_layout(0), of.kernels};
  if (of.cores == 1) return whole_layer(whole, places, of.hardware);
  return sharded_layers(of.workload, of.layer, of.hardware, *whole, ShardCut::kChannels, of.cores, places)
      .front();
}

FusionGroup::FusionGroup(const LayerIndex& index, const HardwareConfig& hardware, const GroupRequest& request)
    : workload_(index.workload()),
      hardware_(hardware),
      graph_(make_group_graph(index, index.numbers_of(request.layers))) {
  if (!hardware.chip) throw UserError("layers cannot be fused: the hardware has no chip");
  const ChipConfig& chip = *hardware.chip;
  for (const int number : index.numbers_of(request.layers))
    mapping_.layers.push_back(nth(workload_.layers, number).name);
  const GroupTensor& output = nth(graph_.tensors, graph_.output());
  const int rows = output.images() * output.height();
  mapping_.clusters = request.clusters.value_or(std::min(chip.clusters, rows));
  if (mapping_.clusters > chip.clusters)
    throw UserError(fmt::format("{} clusters, the chip has {}", mapping_.clusters, chip.clusters));
  mapping_.cores = request.cores.value_or(chip.cores_per_cluster);
  if (mapping_.cores > chip.cores_per_cluster)
    throw UserError(fmt::format("{} cores, a cluster has {}", mapping_.cores, chip.cores_per_cluster));
  mapping_.step_rows = request.step_rows.value_or(
      to_int(std::min<std::int64_t>(output.height(), ceil_div(rows, 4 * mapping_.clusters))));
  mapping_.step_columns = std::min(output.map.width, request.step_columns.value_or(output.map.width));
  mapping_.step_maps = request.step_maps.value_or(1);
  const bool products = !graph_.kernels.empty();
  mapping_.kernels = request.kernels.value_or(products ? GroupKernels::kStreamed : GroupKernels::kResident);
  if (products && mapping_.kernels == GroupKernels::kResident)
    throw UserError("kernels: \"resident\": those of a product of two results are other ones for each image");
  mapping_.results =
      request.results.value_or(chip.dram_path == DramPath::kSram ? DataPath::kSram : DataPath::kDirect);
  if (mapping_.step_maps > 1 && mapping_.step_rows < output.height()) {
    throw UserError(
        fmt::format("step_maps {}: several maps at a time have all their {} rows, step_rows is {}",
                    mapping_.step_maps, output.height(), mapping_.step_rows));
  }
  if (mapping_.step_maps > 1 && products)
    throw UserError(fmt::format("step_maps {}: products of two results take one map after the other",
                                mapping_.step_maps));
  for (const auto& [tensor, holding] : request.holdings) {
    const bool known = std::any_of(graph_.tensors.begin(), graph_.tensors.end(),
                                   [&name = tensor](const GroupTensor& t) { return t.name == name; });
    if (!known || tensor == output.name)
      throw UserError(fmt::format("holdings: '{}' is not a tensor that the group holds", tensor));
  }
  for (const auto& [layer, cores] : request.reductions) {
    const bool known =
        std::any_of(graph_.layers.begin(), graph_.layers.end(), [&name = layer](const GroupLayer& l) {
          return l.layer->name == name && std::holds_alternative<Conv2d>(l.layer->operation);
        });
    if (!known)
      throw UserError(fmt::format("reductions: '{}' is not a layer of the group on matrix units", layer));
    if (cores > mapping_.cores && cores <= chip.cores_per_cluster)
      throw UserError(
          fmt::format("reductions: {} cores of '{}', of each cluster {} work", cores, layer, mapping_.cores));
  }
  mapping_.reductions = request.reductions;
  for (const GroupTensor& tensor : graph_.tensors) {
    if (tensor.name == output.name) continue;
    const auto asked = request.holdings.find(tensor.name);
    const bool given = asked != request.holdings.end();
    Holding& holding = mapping_.holdings[tensor.name];
    holding = given ? asked->second : request.holding.value_or(Holding::kRowBuffer);
    if (holding != Holding::kNram || tensor.producer >= 0) continue;
    if (given)
      throw UserError(fmt::format(
          "holdings: '{}' cannot be held as nram: it comes from DRAM, by way of the SRAM", tensor.name));
    holding = Holding::kRowBuffer;
  }
}

std::vector<std::string> FusionGroup::inputs() const {
  std::vector<std::string> names;
  for (const GroupTensor& tensor : graph_.tensors) {
    if (tensor.producer < 0) names.push_back(tensor.name);
  }
  for (const std::string& tensor : graph_.kernels) {
    if (std::find(names.begin(), names.end(), tensor) == names.end()) names.push_back(tensor);
  }
  return names;
}

std::set<std::string> FusionGroup::inner_tensors() const {
  std::set<std::string> names;
  for (const GroupTensor& tensor : graph_.tensors) {
    if (tensor.producer >= 0 && tensor.name != mapping_.layers.back()) names.insert(tensor.name);
    names.insert(tensor.aliases.begin(), tensor.aliases.end());
  }
  return names;
}

std::vector<int> FusionGroup::processors() const {
  std::vector<int> processors;
  const ChipConfig& chip = *hardware_.chip;
  for (int cluster = 0; cluster < mapping_.clusters; ++cluster) {
    for (int core = 0; core < mapping_.cores; ++core)
      processors.push_back(processor_of_core(chip, cluster * chip.cores_per_cluster + core));
    processors.push_back(processor_of_memory(chip, cluster));
  }
  return processors;
}

namespace {

// Where B of a product of two results lies; nothing for other layers.
std::optional<KernelTensorPlace> place_of_kernels(const Layer& layer,
                                                  const std::map<std::string, Placement>& tensors) {
  if (layer.inputs.size() < 2 || !is_kernels(layer, 1)) return std::nullopt;
  return kernels_at(tensors.at(layer.inputs[1]));
}

}  // namespace

void FusionGroup::place(DramPlaces& places, const std::map<std::string, Placement>& tensors) {
  for (const GroupTensor& tensor : graph_.tensors) {
    const auto found = tensors.find(tensor.name);
    const Placement place = found == tensors.end() ? Placement{} : found->second;
    addresses_.push_back(place.address), stored_.push_back(place.stored);
  }
  for (const GroupLayer& layer : graph_.layers) {
    DecidedLayer& decided = layers_.emplace_back();
    if (std::holds_alternative<Conv2d>(layer.layer->operation)) {
      auto made = std::make_shared<ShardedLayer>(
          group_layer_in_shards({workload_, *layer.layer, hardware_, reduction_group_of(layer.layer->name),
                                 place_of_kernels(*layer.layer, tensors)},
                                make_matrix_layer(workload_, *layer.layer, hardware_)));
      std::vector<int> parts;  // the first kernel block of each shard
      int blocks = 0;
      for (const Shard& shard : made->shards) {
        parts.push_back(blocks);
        blocks += count_of(shard.weights.blocks);
      }
      place_kernels(*made, parts, places);
      decided.matrix = std::move(made);
      continue;
    }
    decide_vector(layer, decided);
    decided.parameters = places.place("factors of " + layer.layer->name, decided.vector->parameters());
  }
}

int FusionGroup::reduction_group_of(const std::string& layer) const {
  const auto found = mapping_.reductions.find(layer);
  return found == mapping_.reductions.end() ? 1 : found->second;
}

void FusionGroup::check_reductions() const {
  for (const GroupLayer& layer : graph_.layers) {
    const int cores = reduction_group_of(layer.layer->name);
    if (cores == 1) continue;
    try {
      check_reduction_group(*make_matrix_layer(workload_, *layer.layer, hardware_), *hardware_.chip, cores);
    } catch (const UserError& error) {
      throw UserError(fmt::format("reductions: {}", error.what()));
    }
  }
}

void FusionGroup::decide_vector(const GroupLayer& layer, DecidedLayer& decided) const {
  decided.on_maps = std::make_shared<Layer>(on_maps(*layer.layer, nth(graph_.tensors, layer.output).map));
  const auto place_of = [this](int tensor) {
    const GroupTensor& placed = nth(graph_.tensors, tensor);
    return Placement{group_address(graph_, addresses_, tensor), as_map(placed.info, placed.map)};
  };
  std::vector<Placement> inputs;
  for (const int input : layer.inputs) inputs.push_back(place_of(input));
  decided.vector = make_vector_work(*decided.on_maps, hardware_, inputs, place_of(layer.output));
}

GroupWork FusionGroup::work(const Prefetch& prefetch) const {
  GroupWork work{workload_,
                 hardware_,
                 graph_,
                 mapping_.clusters,
                 mapping_.cores,
                 mapping_.step_rows,
                 mapping_.step_columns,
                 mapping_.step_maps,
                 {},
                 mapping_.kernels,
                 mapping_.results,
                 {},
                 addresses_,
                 stored_,
                 prefetch.loads,
                 prefetch.wram_at};
  for (const GroupTensor& tensor : graph_.tensors) {
    const auto found = mapping_.holdings.find(tensor.name);
    work.holdings.push_back(found == mapping_.holdings.end() ? Holding::kRowBuffer : found->second);
  }
  for (const DecidedLayer& layer : layers_)
    work.layers.push_back({layer.matrix.get(), layer.vector.get(), layer.parameters});
  return work;
}

// Of a layer's `macs`, which are for some of its rows, those for results that are read.
std::int64_t FusionGroup::seen_macs(std::size_t l, std::int64_t macs) const {
  const Softmax::Mask* const mask = graph_.mask_of(l);
  if (mask == nullptr || !layers_[l].matrix->problem.kernel_tensor) return macs;
  const std::int64_t keys = layers_[l].matrix->problem.conv.out_channels;
  return macs / (mask->queries * keys) * mask->pairs();
}

BoundCycles FusionGroup::bound(int loads) const {
  BoundCycles bound;
  const GroupTensor& last = nth(graph_.tensors, graph_.output());
  // Counts only rows that are needed: when outputs are computed one by one, a stride may skip some. Strips,
  // and the parts of cores that hold maps in NRAM, may skip columns in the same way; without them, all
  // columns from the first to the last needed one are made.
  const std::vector<Holding> rings(graph_.tensors.size(), Holding::kRowBuffer);
  const RowSchedule needed(graph_, rings, row_axes(workload_, graph_), {0, 1, {0, last.height()}, 1});
  const bool pyramids = std::any_of(mapping_.holdings.begin(), mapping_.holdings.end(),
                                    [](const auto& held) { return held.second == Holding::kNram; });
  const bool strips = pyramids || mapping_.step_columns < last.map.width;
  const RowSchedule across(graph_, rings, row_axes(workload_, graph_, MapAxis::kColumns),
                           {0, 1, {0, last.map.width}, strips ? 1 : last.map.width});
  std::int64_t bytes = last.info.size_bytes();
  for (std::size_t t = 0; t < graph_.tensors.size(); ++t) {
    const GroupTensor& tensor = graph_.tensors[t];
    if (tensor.producer < 0)
      bytes +=
          tensor.images() * needed.made_rows(to_int(t)) * across.made_rows(to_int(t)) * tensor.pixel_bytes();
  }
  for (std::size_t l = 0; l < graph_.layers.size(); ++l) {
    if (!layers_[l].matrix) continue;
    const Layer& layer = *graph_.layers[l].layer;
    const ShardedLayer& shared = *layers_[l].matrix;
    const Problem& problem = shared.problem;
    const int output = graph_.layers[l].output;
    const auto outputs = [&](std::int64_t made, MapAxis axis, int all) {
      const int at_a_time = row_axis(workload_, layer, 0, graph_.view, axis)->rows_at_a_time();
      return std::min<std::int64_t>(ceil_div<std::int64_t>(made, at_a_time), all);
    };
    const std::int64_t rows = outputs(needed.made_rows(output), MapAxis::kRows, problem.out_height);
    const std::int64_t wide = outputs(across.made_rows(output), MapAxis::kColumns, problem.out_width);
    const std::int64_t macs =
        useful_macs(workload_, layer) / problem.out_height * rows / problem.out_width * wide;
    bound.compute += bound_of(problem, layer, seen_macs(l, macs), hardware_).compute;
    if (problem.kernel_tensor) {
      const std::int64_t kernels = problem.kernel_tensor->info.size_bytes();
      const Softmax::Mask* const mask = graph_.mask_of(l);
      const auto keys = mask != nullptr ? mask->seen(0, mask->queries - 1) : std::nullopt;
      bytes += keys ? kernels / problem.conv.out_channels * (keys->second - keys->first) : kernels;
      continue;
    }
    for (const Shard& shard : shared.shards)
      bytes += loads * (least_kernel_bytes(shard) + shard.weights.layout.records_apart());
  }
  bound.dram = dram_bound(bytes, hardware_);
  return bound;
}

std::map<std::string, int> FusionGroup::idle_reduction_groups(bool to_fit) const {
  const ChipConfig& chip = *hardware_.chip;
  std::map<std::string, int> reduction_groups;
  std::vector<MostOutputs> most;
  for (std::size_t l = 0; l < graph_.layers.size(); ++l) {
    if (!layers_[l].matrix || layers_[l].matrix->adds_sums()) continue;
    if (layers_[l].matrix->problem.kernel_tensor) continue;
    const MatrixLayer& layer = *layers_[l].matrix->shards.front().layer;
    const Problem& p = layer.problem();
    if (p.kernel_blocks() >= mapping_.cores && !to_fit) continue;
    std::int64_t parts = p.kernel_blocks();
    if (!to_fit) {
      if (most.empty()) most = most_outputs(work());
      const Grain grain = layer.grain();
      parts *= std::int64_t{ceil_div(most[l].rows, grain.rows)} * ceil_div(most[l].columns, grain.columns);
    }
    // A map buffer has about a quarter of NRAM.
    const std::int64_t map = p.axis_h().span(1) * layer.ifm_row_bytes(p.axis_w().inner(1));
    if (to_fit && map > chip.core.nram.size_bytes / 4) parts = 1;
    const auto cores = to_int(std::min<std::int64_t>(mapping_.cores / std::max<std::int64_t>(parts, 1),
                                                     largest_reduction_group(layer, chip)));
    if (cores > 1) reduction_groups[graph_.layers[l].layer->name] = cores;
  }
  return reduction_groups;
}

// Which cores of a cluster work, as text; empty: all.
std::string FusionGroup::part_of_cores() const {
  const int all = hardware_.chip->cores_per_cluster;
  return mapping_.cores < all ? fmt::format(", {} of the {} cores of each", mapping_.cores, all) : "";
}

// The part of an image that a step makes, as text.
std::string FusionGroup::output_part() const {
  const GroupTensor& output = nth(graph_.tensors, graph_.output());
  std::string part = fmt::format("{} output rows", mapping_.step_rows);
  if (mapping_.step_columns < output.map.width)
    part += fmt::format(" of {} of {} columns", mapping_.step_columns, output.map.width);
  return part;
}

LayerPlan FusionGroup::plan() const {
  LayerPlan plan;
  const GroupLayer& last = graph_.layers.back();
  plan.name = last.layer->name, plan.op = "fused", plan.scene = last.layer->scene;
  plan.output_bytes = last.layer->output.size_bytes();
  const GroupWork made = work();
  const std::vector<Pyramid> pyramids = shaped_pyramids(made);
  for (std::size_t l = 0; l < graph_.layers.size(); ++l) {
    const Layer& layer = *graph_.layers[l].layer;
    if (!layers_[l].matrix) continue;
    const GroupTensor& output = nth(graph_.tensors, graph_.layers[l].output);
    const Problem& problem = layers_[l].matrix->problem;
    const std::int64_t outputs = std::int64_t{output.images()} * problem.out_height * problem.out_width;
    plan.macs += useful_macs(workload_, layer) / outputs * computed_outputs(made, pyramids, l);
  }
  plan.bound = bound();
  plan.layers = mapping_.layers;
  plan.choices.emplace_back("layers", fmt::format("{}", fmt::join(mapping_.layers, ", ")));
  plan.choices.emplace_back(
      "clusters",
      fmt::format("{} of {}{}, {} a step", mapping_.clusters, hardware_.chip->clusters, part_of_cores(),
                  mapping_.step_maps > 1 ? fmt::format("{} maps", mapping_.step_maps) : output_part()));
  for (const GroupTensor& tensor : graph_.tensors) {
    const auto found = mapping_.holdings.find(tensor.name);
    if (found == mapping_.holdings.end()) continue;
    const bool nram = found->second == Holding::kNram;
    plan.choices.emplace_back(
        nram ? "in NRAM" : "in SRAM",
        nram ? tensor.name : fmt::format("{}: {}", tensor.name, nth(kHoldingNames, found->second)));
  }
  for (const Pyramid& pyramid : pyramids)
    plan.choices.emplace_back("part of a core",
                              fmt::format("{} rows of {} columns of {}", pyramid.rows, pyramid.columns,
                                          graph_.layers[pyramid.layers.back()].layer->name));
  if (mapping_.results == DataPath::kSram)
    plan.choices.emplace_back("results", "through the SRAM, a step at a time");
  if (mapping_.kernels == GroupKernels::kStreamed)
    plan.choices.emplace_back("kernels", "come to WRAM layer by layer in every step");
  for (std::size_t l = 0; l < graph_.layers.size(); ++l) {
    if (layers_[l].matrix && layers_[l].matrix->adds_sums())
      plan.choices.emplace_back(
          "sums", fmt::format("{}: {}", graph_.layers[l].layer->name, in_words(*layers_[l].matrix)));
  }
  std::int64_t again = 0, rows = 0;  // bytes
  for (std::size_t t = 0; t < graph_.tensors.size(); ++t) {
    const GroupTensor& tensor = graph_.tensors[t];
    again += made_pixels(made, pyramids, to_int(t)) * tensor.pixel_bytes();
    rows += tensor.info.size_bytes();
  }
  plan.choices.emplace_back(
      "halo", fmt::format("{} bytes of rows are loaded or made more than once, {:.1f} % on top", again - rows,
                          100 * static_cast<double>(again - rows) / static_cast<double>(rows)));
  return plan;
}

PlannedUse FusionGroup::add_tasks(TaskGraph& graph, const Prefetch& prefetch) const {
  return add_group_tasks(graph, work(prefetch));
}

PlannedUse FusionGroup::add_estimated_tasks(TaskGraph& graph, const EnoughTasks& enough) const {
  GroupWork estimated = work();
  estimated.for_estimate = true;
  return add_group_tasks(graph, estimated, enough);
}

PlannedUse FusionGroup::add_prefetch(TaskGraph& graph, const Prefetch& prefetch, std::int64_t sram) const {
  return add_unit_prefetch(graph, work(prefetch), sram);
}

std::vector<std::int64_t> FusionGroup::wram_of_loads() const {
  return wram_of_unit_loads(work());
}

std::int64_t FusionGroup::wram_bytes(const Prefetch& prefetch) const {
  return wram_of_unit(work(prefetch));
}

int FusionGroup::regions() const {
  for (const DecidedLayer& layer : layers_) {
    if (layer.matrix) return layer.matrix->shards.front().weights.layout.regions;
  }
  return 1;
}

}  // namespace tilebeat
