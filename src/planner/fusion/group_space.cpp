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
std::optional<std::int64_t> GroupSpace::wram_bytes(const GroupRequest& request) {
  try {
    FusionGroup group(workload_, hardware_, request);
    group.place_for_trial(parts_);
    return group.wram_bytes();
  } catch (const UserError&) {
    return std::nullopt;
  }
}

}  // namespace tilebeat
