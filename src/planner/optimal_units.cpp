#include "optimal_units.h"

#include "tilebeat/base/math.h"

#include <algorithm>
#include <limits>
#include <optional>

#include <fmt/format.h>

namespace tilebeat {
namespace {

class OptimalChooser {
 public:
  OptimalChooser(UnitSpace& space, int& visited)
      : space_(space),
        objective_(space.hardware().fusion.objective),
        chip_(*space.hardware().chip),
        visited_(visited) {}

  std::vector<ChosenUnit> run() {
    const int layers = space_.layers();
    std::vector<Cut> best(static_cast<std::size_t>(layers) + 1);
    best.front().cost = 0;
    for (int begin = 0; begin < layers; ++begin) {
      const double before = best[static_cast<std::size_t>(begin)].cost;
      const auto relax = [&](int end, double cost, std::optional<UnitRequest> unit) {
        Cut& cut = best[static_cast<std::size_t>(end)];
        if (before + cost < cut.cost) cut = {before + cost, begin, std::move(unit)};
      };
      relax(begin + 1, cost_of(space_.alone(begin, begin + 1)), std::nullopt);
      for (auto end = space_.next_end(begin, begin + 1); end; end = space_.next_end(begin, *end)) {
        const auto unit = best_unit(begin, *end);
        if (!unit) break;  // what is longer needs more memory
        relax(*end, unit->cost, unit->unit);
      }
    }
    return units_of(best);
  }

 private:
  // The best way to the layers before a place: its last unit, or layer, begins at `begin`.
  struct Cut {
    double cost = std::numeric_limits<double>::infinity();
    int begin = 0;
    std::optional<UnitRequest> unit;
  };
  struct Priced {
    double cost = 0;
    UnitRequest unit;
  };

  double cost_of(const UnitEstimate& estimate) const {
    return objective_ == FusionObjective::kCycles ? estimate.cycles : static_cast<double>(estimate.bytes);
  }

  // The cheapest way to run layers [begin, end) as a unit; nothing: they do not fit.
  std::optional<Priced> best_unit(int begin, int end) {
    const UnitGraph graph = space_.graph(begin, end);
    const UnitTensor& output = graph.tensors[static_cast<std::size_t>(graph.output())];
    const int rows = output.images() * output.height(), all = std::min(chip_.clusters, rows);
    UnitRequest request = space_.request(begin, end);
    std::optional<Priced> best;
    // Fewer clusters load the kernels less often; more of them compute sooner.
    const int fewest = objective_ == FusionObjective::kDramBytes ? 1 : all;
    for (int clusters = all; clusters >= fewest; clusters = (clusters + 1) / 2) {
      request.clusters = clusters;
      request.holding = Holding::kRing;
      for (int step = std::min(output.height(), ceil_div(rows, clusters)); step > 0; step /= 2) {
        request.step_rows = step;
        const bool fits = consider(request, best);
        // No row is loaded twice: bytes do not depend on the rows of a step.
        if (fits && objective_ == FusionObjective::kDramBytes) break;
      }
      if (clusters == 1) break;
    }
    if (best && objective_ == FusionObjective::kCycles) {
      request = best->unit;
      request.holding = Holding::kRecompute;
      consider(request, best);
    }
    return best;
  }

  // Whether the unit fits; it becomes the best one when it costs less.
  bool consider(const UnitRequest& request, std::optional<Priced>& best) {
    ++visited_;
    std::optional<double> cost;
    if (objective_ == FusionObjective::kCycles) {
      if (const auto estimate = space_.fused(request)) cost = careful_cycles(*estimate);
    } else if (const auto bytes = space_.fused_bytes(request)) {
      cost = static_cast<double>(*bytes);
    }
    if (cost && (!best || *cost < best->cost)) best = {*cost, request};
    return cost.has_value();
  }

  std::vector<ChosenUnit> units_of(const std::vector<Cut>& best) {
    std::vector<ChosenUnit> units;
    for (int end = space_.layers(); end > 0; end = best[static_cast<std::size_t>(end)].begin) {
      const Cut& cut = best[static_cast<std::size_t>(end)];
      if (!cut.unit) continue;
      ChosenUnit unit{*cut.unit, {}};
      unit.reasons.emplace_back("least", kFusionObjectiveNames[static_cast<std::size_t>(objective_)]);
      unit.reasons.push_back(compared(space_.alone(cut.begin, end), *space_.fused(*cut.unit)));
      units.push_back(std::move(unit));
    }
    std::reverse(units.begin(), units.end());
    return units;
  }

  UnitSpace& space_;
  FusionObjective objective_;
  const ChipConfig& chip_;
  int& visited_;
};

}  // namespace

std::vector<ChosenUnit> optimal_units(UnitSpace& space, int& visited) {
  return OptimalChooser(space, visited).run();
}

}  // namespace tilebeat
