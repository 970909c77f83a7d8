#include "planner/fusion/choose_groups.h"
#include "tilebeat/error.h"

#include <algorithm>
#include <numeric>

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
      totals.kernels += ssize(conv->weights.bytes);
  }
  return totals;
}

GroupSpace::GroupSpace(const Workload& workload, const HardwareConfig& hardware, const Plan& alone)
    : workload_(workload), hardware_(hardware), parts_(workload, hardware) {
  for (const Layer& layer : workload.layers) {
    const auto plan = std::find_if(alone.layers.begin(), alone.layers.end(),
                                   [&](const LayerPlan& l) { return l.name == layer.name; });
    const std::int64_t kernels = plan->kernel_bytes - plan->bytes_ahead + plan->bytes_before;
    alone_.push_back(
        {static_cast<double>(plan->estimated_cycles), plan->input_bytes + kernels + plan->output_bytes});
  }
}

std::optional<std::string> GroupSpace::unused_clusters(int begin, int end,
                                                       const GroupRequest& request) const {
  const GroupGraph made = graph(begin, end);
  const GroupTensor& output = nth(made.tensors, made.output());
  const int most = std::min(hardware_.chip->clusters, output.images() * output.height());
  if (request.clusters.value_or(most) >= most) return std::nullopt;
  return fmt::format("{} of {} clusters: kernels and halos come less often, which is expected to be better",
                     hardware_.chip->clusters - *request.clusters, hardware_.chip->clusters);
}

std::optional<int> GroupSpace::next_end(int begin, int end) const {
  for (int last = end; last < layers(); ++last) {
    const Layer& added = layer(last);
    if (added.scene != layer(begin).scene) return std::nullopt;
    for (std::size_t i = 0; i < added.inputs.size(); ++i) {
      if (!row_axis(workload_, added, i, TensorView::kMaps) &&
          !row_axis(workload_, added, i, TensorView::kRows))
        return std::nullopt;
    }
    if (is_unit(begin, last + 1)) return last + 1;  // else a branch is open: it has several outputs
  }
  return std::nullopt;
}

bool GroupSpace::is_unit(int begin, int end) const {
  try {
    graph(begin, end);
    return true;
  } catch (const UserError&) {
    return false;
  }
}

GroupGraph GroupSpace::graph(int begin, int end) const {
  return make_group_graph(workload_, numbers(begin, end));
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
    sum.bytes += nth(alone_, i).bytes;
  }
  return sum;
}

std::optional<GroupEstimate> GroupSpace::fused(const GroupRequest& request, double limit) {
  try {
    return estimate_unit(workload_, hardware_, request, parts_, limit);
  } catch (const UserError&) {
    return std::nullopt;
  }
}
std::optional<GroupRequest> GroupSpace::in_reduction_groups(const GroupRequest& request, bool to_fit) {
  if (hardware_.chip->cores_per_cluster == 1) return std::nullopt;
  try {
    FusionGroup group(workload_, hardware_, request);
    group.place_for_trial(parts_);
    GroupRequest made = request;
    made.reductions.merge(group.idle_reduction_groups(to_fit));
    if (made.reductions.size() == request.reductions.size()) return std::nullopt;
    return made;
  } catch (const UserError&) {
    return std::nullopt;
  }
}
std::optional<std::int64_t> GroupSpace::fused_bytes(const GroupRequest& request) {
  try {
    return bytes_of_unit(workload_, hardware_, request, parts_);
  } catch (const UserError&) {
    return std::nullopt;
  }
}
std::optional<GroupNeeds> GroupSpace::needs(const GroupRequest& request) {
  try {
    FusionGroup group(workload_, hardware_, request);
    group.place_for_trial(parts_);
    return group.needs();
  } catch (const UserError&) {
    return std::nullopt;
  }
}

FusionSummary::Totals totals_of(const Plan& plan) {
  FusionSummary::Totals totals;
  for (const LayerPlan& layer : plan.layers) {
    totals.maps += layer.input_bytes + layer.output_bytes, totals.kernels += layer.kernel_bytes;
    totals.cycles += layer.estimated_cycles;
  }
  return totals;
}

std::int64_t bytes_of(const FusionSummary::Totals& totals) {
  return totals.maps + totals.kernels;
}

bool is_worse(const FusionSummary::Totals& fused, const FusionSummary::Totals& alone,
              const FusionConfig& config) {
  constexpr double kSurely = 0.98;  // estimates of groups and of layers have different errors
  const bool slower = static_cast<double>(fused.cycles) > kSurely * static_cast<double>(alone.cycles);
  const bool more = bytes_of(fused) > bytes_of(alone);
  if (config.planner == FusionPlanner::kRules) return (slower || more) && !config.keep_where_slower;
  return config.objective == FusionObjective::kCycles ? slower : more;
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
            layers.front(), layers.back(), with.cycles, bytes_of(with), taken.cycles, bytes_of(taken)));
  }
}

}  // namespace tilebeat
