#pragma once

#include "config/hardware_config.h"
#include "program/plan.h"
#include "report/run_result.h"
#include "system/system.h"
#include "workload/workload.h"

#include <string>
#include <vector>

namespace tilebeat {

/// Elaborates the chip, loads `plan` into its memory, runs every program and collects the result, invariants
/// of SPEC CY-1 checked. Simulation errors do not escape: they are lines of `failures`, with everything known
/// so far. SystemC elaborates once a process, so this is called once a process.
RunResult simulate(const HardwareConfig& hardware, Plan plan, const SimulationOptions& options);

/// What `system`, which was made of `hardware` and `plan`, has done from the beginning of its programs to
/// their end, or up to the failures; invariants checked as `simulate` does.
RunResult collect_result(const HardwareConfig& hardware, const Plan& plan, const SimulationOptions& options,
                         System& system, std::vector<std::string> failures = {});

}  // namespace tilebeat
