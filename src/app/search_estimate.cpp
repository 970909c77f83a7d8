#include "app/search_estimate.h"

#include "planner/program/planner.h"
#include "report/run_result.h"
#include "tilebeat/error.h"

namespace tilebeat {

std::optional<PointEstimate> estimate_of(const Workload& workload, const HardwareConfig& hardware,
                                         const NetworkMapping& asked) {
  HardwareConfig estimating = hardware;
  estimating.planner.search = 0;
  PointEstimate estimate;
  double macs = 0, bytes = 0;
  try {
    const Plan plan = plan_network(workload, estimating, asked).plan;
    for (const LayerPlan& layer : plan.layers) {
      if (layer.estimated_cycles == 0 && !layer.on_host) return {};
      estimate.cycles += static_cast<double>(layer.estimated_cycles);
      macs += static_cast<double>(layer.macs);
      bytes += static_cast<double>(layer.input_bytes + layer.kernel_bytes + layer.output_bytes);
    }
  } catch (const UserError&) {
    return {};
  }
  if (estimate.cycles <= 0) return {};
  const TechnologyConfig& technology = hardware.technology;
  constexpr double kPjPerMilliwattMicrosecond = 1000;
  estimate.time_us = estimate.cycles / hardware.clock_mhz;
  estimate.area_mm2 = area_of(hardware, RunResult{}).total();
  estimate.energy_pj =
      macs * technology.mac_pj + bytes * technology.dram_pj_per_byte +
      estimate.area_mm2 * technology.leakage_mw_per_mm2 * estimate.time_us * kPjPerMilliwattMicrosecond;
  return estimate;
}

}  // namespace tilebeat
