#include "choose_units.h"

#include "optimal_units.h"
#include "rules_units.h"

namespace tilebeat {

ChosenUnits choose_units(const Workload& workload, const HardwareConfig& hardware, const Plan& alone) {
  UnitSpace space(workload, hardware, alone);
  if (hardware.fusion.planner == FusionPlanner::kRules) return {units_by_rules(space), 0};
  ChosenUnits chosen;
  chosen.units = optimal_units(space, chosen.visited);
  return chosen;
}

}  // namespace tilebeat
