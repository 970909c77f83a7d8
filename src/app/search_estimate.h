#pragma once

#include "config/hardware_config.h"
#include "planner/language/mapping_file.h"
#include "workload/workload.h"

#include <optional>

namespace tilebeat {

/// What a run is expected to take by its plan, without a simulation.
struct PointEstimate {
  double cycles = 0;
  double time_us = 0;
  double energy_pj = 0;  ///< of multiplications, DRAM's bytes and leakage
  double area_mm2 = 0;   ///< without buses
};

/// Plans the workload, by the planner's estimates alone; nothing where it does not fit the hardware, or where
/// layers have no estimate.
std::optional<PointEstimate> estimate_of(const Workload& workload, const HardwareConfig& hardware,
                                         const NetworkMapping& asked);

}  // namespace tilebeat
