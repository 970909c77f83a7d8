#include "planner/program/fewer_cores.h"

#include "base/types.h"
#include "planner/fusion/choose_groups.h"
#include "planner/layer/choose_layer.h"

#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace tilebeat {
namespace {

// Networks of so few layers are planned several times, and single layers of so few cycles.
constexpr std::size_t kFewLayers = 6;
constexpr double kShortLayerAlone = 40000;

struct CoresOfChip {
  int clusters = 0, of_each = 0;
};

// Half of the clusters, and so on, then half of the cores of each.
std::vector<CoresOfChip> smaller_chips(const ChipConfig& chip) {
  std::vector<CoresOfChip> chips;
  for (int clusters = chip.clusters; clusters > 1;) {
    clusters = ceil_div(clusters, 2);
    chips.push_back({clusters, chip.cores_per_cluster});
  }
  for (int cores = chip.cores_per_cluster; cores > 1;) {
    cores = ceil_div(cores, 2);
    chips.push_back({chip.clusters, cores});
  }
  return chips;
}

// The network with what the planner chooses for a smaller chip; nothing where it does not fit one of the two.
std::optional<PlannedNetwork> planned_as_on(const CoresOfChip& cores, const HardwareConfig& hardware,
                                            const PlanWithRequests& plan_with) {
  HardwareConfig smaller = hardware;
  smaller.chip->clusters = cores.clusters, smaller.chip->cores_per_cluster = cores.of_each;
  try {
    const PlannedNetwork there = plan_with(smaller, {});
    NetworkMapping asked = parse_mapping(mapping_text(there.mappings, {}), "");
    if (cores.of_each < hardware.chip->cores_per_cluster) {
      for (MappingRequest& request : asked.layers) request.cores_per_cluster = cores.of_each;
    }
    return plan_with(hardware, asked);
  } catch (const UserError&) {
    return std::nullopt;
  }
}

}  // namespace

PlannedNetwork or_as_on_fewer_cores(const Workload& workload, const HardwareConfig& hardware,
                                    PlannedNetwork found, const PlanWithRequests& plan_with) {
  if (!hardware.chip || workload.layers.empty() || workload.layers.size() > kFewLayers) return found;
  const auto cost_of = [](const PlannedNetwork& network) {
    return static_cast<double>(totals_of(network.plan).cycles);
  };
  double least = cost_of(found);
  if (workload.layers.size() == 1 && least > kShortLayerAlone) return found;
  for (const CoresOfChip& cores : smaller_chips(*hardware.chip)) {
    std::optional<PlannedNetwork> other = planned_as_on(cores, hardware, plan_with);
    if (!other) continue;
    const double cost = cost_of(*other);
    if (cost > kClearlyFaster * least || cost > least - kClearlyFewer) continue;
    other->plan.layers.front().facts.emplace_back(
        "fewer cores",
        fmt::format("mapped as on a chip of {} x {} cores: {:.0f} cycles, both as planned, instead of {:.0f}",
                    cores.clusters, cores.of_each, cost, least));
    found = std::move(*other), least = cost;
  }
  return found;
}

}  // namespace tilebeat
