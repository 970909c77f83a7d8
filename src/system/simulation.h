#pragma once

#include "config/hardware_config.h"
#include "program/plan.h"
#include "report/run_result.h"
#include "system/system.h"
#include "workload/workload.h"

#include <string>
#include <vector>

namespace tilebeat {

/// Elaborates the chip, loads `plan` into its memory, runs every program, collects the result and checks the
/// invariants of SPEC CY-1. Simulation errors do not escape: they become lines of `failures`, beside
/// everything known so far. SystemC elaborates once per process, so this may be called only once per process.
RunResult simulate(const HardwareConfig& hardware, Plan plan, const SimulationOptions& options);

/// The result of `system`, which was made from `hardware` and `plan`, from the beginning of its programs to
/// their end or to the failures; checks the invariants as `simulate` does.
RunResult collect_result(const HardwareConfig& hardware, const Plan& plan, const SimulationOptions& options,
                         System& system, std::vector<std::string> failures = {});

}  // namespace tilebeat
