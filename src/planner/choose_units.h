#pragma once

#include <vector>

#include "unit_space.h"

namespace tilebeat {

struct ChosenUnits {
  std::vector<ChosenUnit> units;
  int visited = 0;  ///< units whose cost the optimal planner worked out
};

/// The units of a workload as `fusion.planner` asks: by the rules of document 001 (SPEC FU-2, FU-3, FU-10),
/// as far as they are not slower than their layers one by one and move no more bytes over DRAM, both as
/// planned (FU-5); or those that take least (FU-8). `alone`: the plan without units.
ChosenUnits choose_units(const Workload& workload, const HardwareConfig& hardware, const Plan& alone);

}  // namespace tilebeat
