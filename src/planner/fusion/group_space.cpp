#include "planner/fusion/choose_groups.h"
#include "planner/layer/choose_layer.h"
#include "tilebeat/error.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include <fmt/format.h>

namespace tilebeat {
namespace {

std::vector<int> numbers(int begin, int end) {
  std::vector<int> numbers(to_size(end - begin));
  std::iota(numbers.begin(), numbers.end(), begin);
  return numbers;
}

}  // namespace

std::pair<std::string, std::string> compared(const GroupEstimate& alone, const GroupEstimate& fused) {
  return {"one by one", fmt::format("{:.0f} cycles, {} bytes over DRAM, both as planned; fused {:.0f} and {}",
                                    alone.cycles, alone.bytes, fused.cycles, fused.bytes)};
}

FusionSummary::Totals compulsory_bytes(const Workload& workload) {
  FusionSummary::Totals totals;
  for (const auto& [name, info] : workload.inputs) totals.maps += info.size_bytes();
  for (const std::string& name : workload.outputs) totals.maps += workload.tensor(name).size_bytes();
  for (const Layer& layer : workload.layers) {
    if (const auto* conv = std::get_if<Conv2d>(&layer.operation))
      totals.kernels += conv->weights.least_bytes();
  }
  return totals;
}

GroupSpace::GroupSpace(const Workload& workload, const HardwareConfig& hardware, const Plan& alone)
    : workload_(workload), hardware_(hardware), parts_(workload, hardware) {
  std::unordered_map<std::string, const LayerPlan*> plans;
  for (const LayerPlan& plan : alone.layers) plans.emplace(plan.name, &plan);
  for (const Layer& layer : workload.layers) {
    const LayerPlan* plan = plans.at(layer.name);
    const std::int64_t kernels = plan->kernel_bytes - plan->bytes_ahead + plan->bytes_before;
    GroupEstimate& estimate = alone_.emplace_back();
    estimate.cycles = static_cast<double>(plan->estimated_cycles);
    estimate.bytes = plan->input_bytes + kernels + plan->output_bytes;
    estimate.overhead = plan->instruction_bytes + plan->table_bytes;
  }
  number_layers();
  look_at_neighbours();
}

void GroupSpace::number_layers() {
  std::map<std::vector<int>, int> first;
  for (int i = 0; i < layers(); ++i) {
    const Layer& one = layer(i);
    numbers_[one.name] = i;
    alike_.push_back(i);
    const auto* conv = std::get_if<Conv2d>(&one.operation);
    if (conv != nullptr) ++users_of_kernels_[conv->weights_source];
    // Orders of maps in DRAM depend on all layers that use them.
    if (conv == nullptr || conv->kernels != KernelSource::kWeights || conv->pixels != PixelAxes::kMap ||
        hardware_.planner.map_layout != MapLayout::kNhwc)
      continue;
    std::vector<int> sizes = sizes_of(workload_, one, parts_.matrix(one)->problem);
    alike_.back() = first.try_emplace(std::move(sizes), i).first->second;
  }
}

GroupSpace::Question GroupSpace::question(const GroupRequest& request) {
  Question asked{request.clusters.value_or(0),
                 request.cores.value_or(0),
                 request.step_rows.value_or(0),
                 request.step_columns.value_or(0),
                 request.step_maps.value_or(0),
                 request.holding ? 1 + to_int(*request.holding) : 0,
                 request.kernels ? 1 + to_int(*request.kernels) : 0,
                 request.results ? 1 + to_int(*request.results) : 0};
  // Tensors by the layer of the group that makes them, and inputs in the order of their first readers.
  std::map<std::string, int> tensors;
  int inputs = 0;
  for (std::size_t l = 0; l < request.layers.size(); ++l) {
    const int number = numbers_.at(request.layers[l]);
    asked.push_back(nth(alike_, number));
    for (const std::string& input : layer(number).inputs) {
      const auto [known, added] = tensors.try_emplace(input, -1 - inputs);
      inputs += added ? 1 : 0;
      asked.push_back(known->second);
    }
    tensors[request.layers[l]] = to_int(l);
  }
  std::map<int, int> reductions;
  for (const auto& [name, cores] : request.reductions) reductions[tensors.at(name)] = cores;
  asked.push_back(count_of(reductions));
  for (const auto& [tensor, cores] : reductions) asked.push_back(tensor), asked.push_back(cores);
  std::map<int, int> held;
  for (const auto& [name, holding] : request.holdings) held[tensors.at(name)] = to_int(holding);
  for (const auto& [tensor, holding] : held) asked.push_back(tensor), asked.push_back(holding);
  return asked;
}

std::optional<std::string> GroupSpace::unused(int begin, int end, const GroupRequest& request) const {
  const GroupGraph made = graph(begin, end);
  const GroupTensor& output = nth(made.tensors, made.output());
  const ChipConfig& chip = *hardware_.chip;
  const int most = std::min(chip.clusters, output.images() * output.height());
  const int clusters = request.clusters.value_or(most),
            cores = request.cores.value_or(chip.cores_per_cluster);
  std::vector<std::string> idle;
  if (clusters < most)
    idle.push_back(fmt::format("{} of {} clusters", chip.clusters - clusters, chip.clusters));
  if (cores < chip.cores_per_cluster)
    idle.push_back(fmt::format("{} of {} cores of each cluster", chip.cores_per_cluster - cores,
                               chip.cores_per_cluster));
  if (idle.empty()) return std::nullopt;
  return fmt::format("{}: kernels, halos and instructions come less often, which is expected to be better",
                     fmt::join(idle, ", "));
}

void GroupSpace::look_at_neighbours() {
  const LayerIndex& index = parts_.index();
  for (int i = 0; i < layers(); ++i) {
    const Layer& one = layer(i);
    Neighbour& of = neighbours_.emplace_back();
    const auto made_of_rows = [&](TensorView view) {
      for (std::size_t input = 0; input < one.inputs.size(); ++input) {
        if (!is_kernels(one, input) && !row_axis(workload_, one, input, view)) return false;
      }
      return true;
    };
    of.matrices = matrices_of(one);
    if (one.inputs.size() > 1 && is_kernels(one, 1)) {
      const auto found = numbers_.find(one.inputs[1]);
      of.kernels_from = found == numbers_.end() ? -1 : found->second;
    }
    of.by_maps = made_of_rows(TensorView::kMaps);
    of.by_rows = made_of_rows({TensorView::kRows, of.matrices});
    of.slides = slides_over_maps(one);
    of.does_nothing = std::holds_alternative<Reshape>(one.operation);
    const std::vector<int>& readers = index.readers(i);
    of.last_reader = readers.empty() || index.is_output(i) ? layers() : readers.back();
  }
}

std::optional<int> GroupSpace::next_end(int begin, int end) const {
  int last_reader = begin;  // of the results of all layers but the last one
  for (int i = begin; i < end; ++i) last_reader = std::max(last_reader, nth(neighbours_, i).last_reader);
  for (int last = end; last < layers() && last_reader < layers(); ++last) {
    const Neighbour& added = nth(neighbours_, last);
    if (!has_scene_of(last, begin) || !is_fusable(added)) return std::nullopt;
    // Else a branch is open: the group has several outputs.
    if (last_reader <= last && is_unit(begin, last + 1)) return last + 1;
    last_reader = std::max(last_reader, added.last_reader);
  }
  return std::nullopt;
}

bool GroupSpace::is_unit(int begin, int end) const {
  if (nth(neighbours_, begin).does_nothing || nth(neighbours_, end - 1).does_nothing) return false;
  bool slides = false, by_maps = true, by_rows = true;
  int matrices = 0;
  for (int i = begin; i < end; ++i) {
    const Neighbour& of = nth(neighbours_, i);
    if (!has_scene_of(i, begin) || (i + 1 < end && of.last_reader >= end)) return false;
    if (of.kernels_from >= begin || (of.matrices > 0 && matrices > 0 && of.matrices != matrices))
      return false;
    matrices = std::max(matrices, of.matrices);
    slides = slides || of.slides, by_maps = by_maps && of.by_maps, by_rows = by_rows && of.by_rows;
  }
  return slides ? by_maps : by_rows;
}

std::vector<int> GroupSpace::begins_of(int end) const {
  std::vector<int> begins;
  if (!is_fusable(nth(neighbours_, end - 1))) return begins;
  for (int begin = end - 2; begin >= 0; --begin) {
    const Neighbour& of = nth(neighbours_, begin);
    if (!has_scene_of(begin, end - 1) || !is_fusable(of) || of.last_reader >= end) break;
    if (is_unit(begin, end)) begins.push_back(begin);
  }
  return begins;
}

bool GroupSpace::shares_kernels(int number) const {
  const auto* conv = std::get_if<Conv2d>(&layer(number).operation);
  return conv != nullptr && !conv->weights_source.empty() && users_of_kernels_.at(conv->weights_source) > 1;
}

GroupGraph GroupSpace::graph(int begin, int end) const {
  return make_group_graph(parts_.index(), numbers(begin, end));
}

GroupRequest GroupSpace::request(int begin, int end) const {
  GroupRequest request;
  for (int i = begin; i < end; ++i) request.layers.push_back(layer(i).name);
  return request;
}

GroupEstimate GroupSpace::alone(int begin, int end) const {
  GroupEstimate sum;
  for (int i = begin; i < end; ++i) {
    sum.cycles += nth(alone_, i).cycles;
    sum.bytes += nth(alone_, i).bytes, sum.overhead += nth(alone_, i).overhead;
  }
  return sum;
}

std::optional<GroupEstimate> GroupSpace::fused(const GroupRequest& request, double limit) {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  const auto [known, added] = estimated_.try_emplace(question(request));
  Estimated& of = known->second;
  const bool exact = !added && (!of.estimate || of.estimate->careful < kNever);
  if (added || (!exact && limit > of.limit)) {
    of.limit = limit;
    try {
      of.estimate = estimate_unit(request, parts_, limit);
    } catch (const UserError&) {
      of.estimate.reset();
    }
  }
  if (of.estimate && of.estimate->careful > limit) return GroupEstimate{kNever, of.estimate->bytes, kNever};
  return of.estimate;
}
std::optional<GroupRequest> GroupSpace::in_reduction_groups(const GroupRequest& request, bool to_fit) {
  if (request.cores.value_or(hardware_.chip->cores_per_cluster) == 1) return std::nullopt;
  const auto [known, added] = reductions_.try_emplace({question(request), to_fit});
  if (added) {
    try {
      FusionGroup group(parts_.index(), hardware_, request);
      group.place_for_trial(parts_);
      known->second.emplace();
      for (const auto& [name, cores] : group.idle_reduction_groups(to_fit))
        known->second->emplace(numbers_.at(name) - numbers_.at(request.layers.front()), cores);
    } catch (const UserError&) {
      known->second.reset();
    }
  }
  if (!known->second) return std::nullopt;
  GroupRequest made = request;
  for (const auto& [number, cores] : *known->second)
    made.reductions.emplace(layer(numbers_.at(request.layers.front()) + number).name, cores);
  if (made.reductions.size() == request.reductions.size()) return std::nullopt;
  return made;
}
std::optional<std::int64_t> GroupSpace::fused_bytes(const GroupRequest& request, double limit) {
  try {
    return bytes_of_unit(request, parts_, limit);
  } catch (const UserError&) {
    return std::nullopt;
  }
}
std::optional<GroupNeeds> GroupSpace::needs(const GroupRequest& request) {
  const auto [known, added] = needs_.try_emplace(question(request));
  if (added) {
    try {
      FusionGroup group(parts_.index(), hardware_, request);
      group.place_for_trial(parts_);
      known->second = group.needs();
    } catch (const UserError&) {
      known->second.reset();
    }
  }
  return known->second;
}

FusionSummary::Totals totals_of(const Plan& plan) {
  FusionSummary::Totals totals;
  for (const LayerPlan& layer : plan.layers) {
    totals.maps += layer.input_bytes + layer.output_bytes, totals.kernels += layer.kernel_bytes;
    totals.tables += layer.table_bytes, totals.cycles += layer.estimated_cycles;
  }
  for (const ProgramImage& program : plan.programs)
    totals.instructions += ssize(program.instructions) * kInstructionBytes;
  for (const StartTable& table : plan.start_tables) totals.tables += to_signed(table.bytes);
  return totals;
}

bool is_worse(const FusionSummary::Totals& fused, const FusionSummary::Totals& alone,
              const FusionConfig& config) {
  constexpr double kSurely = 0.98;  // estimates of groups and of layers have different errors
  const bool slower = static_cast<double>(fused.cycles) > kSurely * static_cast<double>(alone.cycles);
  if (config.planner == FusionPlanner::kRules) {
    const bool more = fused.maps + fused.kernels > alone.maps + alone.kernels;
    return (slower || more) && !config.keep_where_slower;
  }
  return config.objective == FusionObjective::kCycles ? slower : fused.bytes() > alone.bytes();
}

ChosenGroups choose_groups(const Workload& workload, const HardwareConfig& hardware, const Plan& alone) {
  GroupSpace space(workload, hardware, alone);
  ChosenGroups chosen;
  const auto add = [&](std::vector<ChosenGroup> groups) {
    if (!groups.empty()) chosen.ways.push_back(std::move(groups));
  };
  if (hardware.fusion.planner == FusionPlanner::kOptimal) add(optimal_groups(space, chosen.visited));
  chosen.by_rules = chosen.ways.size();
  for (std::vector<ChosenGroup>& way : ways_by_rules(space)) add(std::move(way));
  return chosen;
}

void tell_dropped(const std::vector<ChosenGroup>& way, const FusionSummary::Totals& with,
                  const FusionSummary::Totals& taken, PlannedNetwork& network) {
  for (const ChosenGroup& group : way) {
    const std::vector<std::string>& layers = group.request.layers;
    const bool made = std::any_of(network.groups.begin(), network.groups.end(),
                                  [&](const GroupMapping& of) { return of.layers == layers; });
    const auto plan =
        std::find_if(network.plan.layers.begin(), network.plan.layers.end(), [&](const LayerPlan& l) {
          return l.name == layers.back() || std::count(l.layers.begin(), l.layers.end(), layers.back()) > 0;
        });
    // A layer that is in another group now is not told of: its own group says why it is taken.
    if (made || plan == network.plan.layers.end() || !plan->layers.empty()) continue;
    plan->facts.emplace_back(
        "not fused",
        fmt::format(
            "{} to {}: with this group and others beside it the network takes {} cycles and {} bytes over "
            "DRAM, both as planned, instead of {} and {}",
            layers.front(), layers.back(), with.cycles, with.bytes(), taken.cycles, taken.bytes()));
  }
}

}  // namespace tilebeat
