#include "planner/fusion/choose_units.h"
#include "tilebeat/error.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

namespace tilebeat {
namespace {

std::vector<int> numbers(int begin, int end) {
  std::vector<int> numbers(static_cast<std::size_t>(end - begin));
  std::iota(numbers.begin(), numbers.end(), begin);
  return numbers;
}

}  // namespace

std::pair<std::string, std::string> compared(const UnitEstimate& alone, const UnitEstimate& fused) {
  return {"one by one", fmt::format("{:.0f} cycles, {} bytes over DRAM, both as planned; fused {:.0f} and {}",
                                    alone.cycles, alone.bytes, fused.cycles, fused.bytes)};
}

FusionSummary::Totals compulsory_bytes(const Workload& workload) {
  FusionSummary::Totals totals;
  for (const auto& [name, info] : workload.inputs) totals.maps += info.size_bytes();
  for (const std::string& name : workload.outputs) totals.maps += workload.tensor(name).size_bytes();
  for (const Layer& layer : workload.layers) {
    if (const auto* conv = std::get_if<Conv2d>(&layer.operation))
      totals.kernels += static_cast<std::int64_t>(conv->weights.bytes.size());
  }
  return totals;
}

UnitSpace::UnitSpace(const Workload& workload, const HardwareConfig& hardware, const Plan& alone)
    : workload_(workload), hardware_(hardware), parts_(workload, hardware) {
  for (const Layer& layer : workload.layers) {
    const auto plan = std::find_if(alone.layers.begin(), alone.layers.end(),
                                   [&](const LayerPlan& l) { return l.name == layer.name; });
    const std::int64_t kernels = plan->kernel_bytes - plan->bytes_ahead + plan->bytes_before;
    alone_.push_back(
        {static_cast<double>(plan->estimated_cycles), plan->input_bytes + kernels + plan->output_bytes});
  }
}

std::optional<int> UnitSpace::next_end(int begin, int end) const {
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

bool UnitSpace::is_unit(int begin, int end) const {
  try {
    graph(begin, end);
    return true;
  } catch (const UserError&) {
    return false;
  }
}

UnitGraph UnitSpace::graph(int begin, int end) const {
  return make_unit_graph(workload_, numbers(begin, end));
}

UnitRequest UnitSpace::request(int begin, int end) const {
  UnitRequest request;
  for (int i = begin; i < end; ++i) request.layers.push_back(layer(i).name);
  return request;
}

UnitEstimate UnitSpace::alone(int begin, int end) const {
  UnitEstimate sum;
  for (int i = begin; i < end; ++i) {
    sum.cycles += alone_[static_cast<std::size_t>(i)].cycles;
    sum.bytes += alone_[static_cast<std::size_t>(i)].bytes;
  }
  return sum;
}

std::optional<UnitEstimate> UnitSpace::fused(const UnitRequest& request, double limit) {
  try {
    return estimate_unit(workload_, hardware_, request, parts_, limit);
  } catch (const UserError&) {
    return std::nullopt;
  }
}
std::optional<UnitRequest> UnitSpace::in_teams(const UnitRequest& request, bool to_fit) {
  if (hardware_.chip->cores_per_cluster == 1) return std::nullopt;
  try {
    FusedUnit unit(workload_, hardware_, request);
    unit.place_for_trial(parts_);
    UnitRequest made = request;
    made.reductions.merge(unit.idle_teams(to_fit));
    if (made.reductions.size() == request.reductions.size()) return std::nullopt;
    return made;
  } catch (const UserError&) {
    return std::nullopt;
  }
}
std::optional<std::int64_t> UnitSpace::fused_bytes(const UnitRequest& request) {
  try {
    return bytes_of_unit(workload_, hardware_, request, parts_);
  } catch (const UserError&) {
    return std::nullopt;
  }
}

}  // namespace tilebeat
