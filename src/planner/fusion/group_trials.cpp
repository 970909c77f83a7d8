// Trials of fusion groups: parts that trials share, and what a group is expected to cost.
#include "isa/address_map.h"
#include "planner/fusion/fusion_group.h"
#include "planner/fusion/group_tasks.h"
#include "planner/layer/choose_layer.h"
#include "planner/layer/estimate.h"
#include "planner/layer/placement.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tilebeat {
namespace {

// DRAM addresses of factors, and of kernels that are results, in estimates.
constexpr std::uint64_t kFactors = kDramEnd / 2, kKernels = kDramEnd / 4;

}  // namespace

void FusionGroup::place_for_trial(GroupTrials& parts) {
  constexpr int kTensorShift = 33;
  for (std::size_t t = 0; t < graph_.tensors.size(); ++t) {
    addresses_.push_back((t + 1) << kTensorShift);
    const GroupTensor& tensor = graph_.tensors[t];
    stored_.push_back(map_in_dram(workload_, hardware_.planner, tensor.name, tensor.info, addresses_.back()));
  }
  for (const GroupLayer& layer : graph_.layers) {
    DecidedLayer& decided = layers_.emplace_back();
    if (std::holds_alternative<Conv2d>(layer.layer->operation)) {
      decided.matrix = parts.matrix(*layer.layer, reduction_group_of(layer.layer->name));
    } else {
      decide_vector(layer, decided), decided.parameters = kFactors;
    }
  }
}

std::shared_ptr<const ShardedLayer> GroupTrials::matrix(const Layer& layer, int cores) {
  const auto found = made_.find({layer.name, cores});
  if (found != made_.end()) return found->second;
  std::optional<KernelTensorPlace> kernels;
  if (layer.inputs.size() > 1 && is_kernels(layer, 1)) kernels = {kKernels};
  const std::shared_ptr<MatrixLayer> whole = cores > 1
                                                 ? matrix(layer)->shards.front().layer
                                                 : make_matrix_layer(index_.workload(), layer, hardware_);
  auto made = std::make_shared<ShardedLayer>(
      group_layer_in_shards({index_.workload(), layer, hardware_, cores, kernels}, whole));
  share_job_costs(layer, *made);
  made_[{layer.name, cores}] = made;
  return made;
}

// Jobs of layers of the same sizes cost the same.
void GroupTrials::share_job_costs(const Layer& layer, ShardedLayer& made) {
  const auto& conv = std::get<Conv2d>(layer.operation);
  if (conv.kernels != KernelSource::kWeights || conv.pixels != PixelAxes::kMap) return;
  std::vector<int> sizes = sizes_of(index_.workload(), layer, made.problem);
  sizes.push_back(made.cores());
  std::vector<std::shared_ptr<KnownJobCosts>>& costs = job_costs_[std::move(sizes)];
  for (std::size_t shard = 0; shard < made.shards.size(); ++shard) {
    if (shard == costs.size()) costs.push_back(made.shards[shard].job_costs);
    made.shards[shard].job_costs = costs[shard];
  }
}

TaskGraph& GroupTrials::empty_graph() {
  graph_.shrink({});
  return graph_;
}

namespace {

// Factor on the cycles of a group beyond its DRAM time, where it is compared with its layers one by one: the
// estimate of a group is less exact, above all for the first layers of networks, whose maps have few
// channels. It is larger where several clusters stream kernels that are passed on to all of them
// (docs/fusion.md).
constexpr double kGroupMargin = 1.04, kChainMargin = 1.08;
constexpr double kNever = std::numeric_limits<double>::infinity();

// A fusion group with places for a trial.
FusionGroup trial_of(const GroupRequest& request, GroupTrials& parts) {
  FusionGroup group(parts.index(), parts.hardware(), request);
  group.place_for_trial(parts);
  return group;
}

std::int64_t add_trial_tasks(TaskGraph& graph, const FusionGroup& group, const EnoughTasks& enough = {}) {
  const PlannedBytes bytes = group.add_estimated_tasks(graph, enough).bytes;
  return bytes.maps + bytes.kernels + bytes.results;
}

}  // namespace

GroupEstimate estimate_unit(const GroupRequest& request, GroupTrials& parts, double limit) {
  const HardwareConfig& hardware = parts.hardware();
  const FusionGroup group = trial_of(request, parts);
  const int fetches = kernel_fetches(hardware, group.mapping().clusters);
  if (static_cast<double>(group.bound(fetches).cycles()) > limit) return {kNever, 0, kNever};
  TaskGraph& graph = parts.empty_graph();
  Machine machine = machine_of(hardware, {});
  machine.fetched_bytes = static_cast<double>(group.processors().size()) * machine.instruction_buffer;
  const auto end = static_cast<double>(end_cycles(hardware, hardware.chip->processors()));
  LeastCycles least(graph, machine);
  const auto too_many = [&] { return least.now() > limit - end; };
  const std::int64_t bytes = add_trial_tasks(graph, group, too_many);
  if (too_many()) return {kNever, 0, kNever};
  const auto dram = static_cast<double>(dram_bound(bytes, hardware));
  const bool chains = group.mapping().kernels == GroupKernels::kStreamed && group.mapping().clusters > 1;
  const double margin = chains ? kChainMargin : kGroupMargin;
  const double most = (limit + (margin - 1) * dram) / margin;
  if (least.now() > most - end) return {kNever, bytes, kNever};
  const Schedule times = schedule(graph, dependencies_of(graph), machine, most - end);
  const double cycles = times.cycles + end;
  return {cycles, bytes, cycles + (margin - 1) * std::max(0.0, cycles - dram)};
}

std::int64_t bytes_of_unit(const GroupRequest& request, GroupTrials& parts, double limit) {
  constexpr int kBorders = 2;  // instructions of each processor that end the group: layer.end, and a barrier
  const HardwareConfig& hardware = parts.hardware();
  const FusionGroup group = trial_of(request, parts);
  TaskGraph& graph = parts.empty_graph();
  std::int64_t bytes = add_trial_tasks(graph, group);
  double instructions = kBorders * static_cast<double>(group.processors().size());
  for (const Task& task : graph.tasks())
    instructions += task.cost.instructions, bytes += task.cost.table_bytes;
  const auto with = [&](double signals) {
    return bytes + std::llround(kInstructionBytes * (instructions + signals));
  };
  if (static_cast<double>(with(0)) > limit) return with(0);
  // Only the programs know how many signals processors give one another.
  const std::vector<Dependency> dependencies = dependencies_of(graph);
  const Schedule times = schedule(graph, dependencies, machine_of(hardware, {}));
  double signals = -static_cast<double>(graph.tasks().size());
  for (const auto& [processor, program] :
       synchronise(graph, dependencies, times, cluster_size(*hardware.chip)))
    signals += static_cast<double>(program.size());
  return with(signals);
}

}  // namespace tilebeat
