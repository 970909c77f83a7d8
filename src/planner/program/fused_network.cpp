#include "planner/program/fused_network.h"

#include "planner/fusion/choose_groups.h"

#include <chrono>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace tilebeat {
namespace {

using Totals = FusionSummary::Totals;

// The best of some ways to fuse layers, by their totals, with the configuration `fusion`; nothing: the layers
// one by one are better.
std::optional<std::size_t> best_way(const std::vector<Totals>& ways, std::size_t first, const Totals& alone,
                                    const FusionConfig& fusion) {
  const bool cycles = fusion.objective == FusionObjective::kCycles;
  const auto cost_of = [&](const Totals& t) { return cycles ? t.cycles : t.bytes(); };
  std::optional<std::size_t> best;
  for (std::size_t way = first; way < ways.size(); ++way) {
    if (is_worse(ways[way], alone, fusion)) continue;
    if (!best || cost_of(ways[way]) < cost_of(ways[*best])) best = way;
  }
  return best;
}

// What the best of the ways from `first` on gives.
FusionSummary summary_of(const std::vector<Totals>& ways, std::size_t first, const FusionSummary& none,
                         const FusionConfig& fusion) {
  FusionSummary summary = none;
  const std::optional<std::size_t> best = best_way(ways, first, none.alone, fusion);
  if (best) summary.fused = ways[*best];
  summary.kept_alone = !best && ways.size() > first;
  return summary;
}

}  // namespace

PlannedNetwork plan_fused(const Workload& workload, const HardwareConfig& hardware,
                          const PlanWithGroups& plan_with) {
  HardwareConfig unfused = hardware;
  unfused.fused = false;
  PlannedNetwork best = plan_with(unfused, {});
  const auto begin = std::chrono::steady_clock::now();
  const ChosenGroups chosen = choose_groups(workload, hardware, best.plan);
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
  const Totals alone = totals_of(best.plan);
  const FusionSummary none{alone, alone, compulsory_bytes(workload), chosen.visited, taken.count()};
  std::vector<Totals> by_way;
  for (const std::vector<ChosenGroup>& groups : chosen.ways) {
    PlannedNetwork made = plan_with(hardware, groups);
    by_way.push_back(totals_of(made.plan));
    if (best_way(by_way, 0, alone, hardware.fusion) == by_way.size() - 1) best = std::move(made);
  }
  best.fusion = summary_of(by_way, 0, none, hardware.fusion);
  if (hardware.fusion.planner == FusionPlanner::kOptimal) {
    FusionConfig rules = hardware.fusion;
    rules.planner = FusionPlanner::kRules;
    best.by_rules = summary_of(by_way, chosen.by_rules, none, rules);
  }
  for (std::size_t way = 0; way < by_way.size(); ++way)
    tell_dropped(chosen.ways[way], by_way[way], best.fusion->fused, best);
  return best;
}

}  // namespace tilebeat
