#pragma once

#include "tilebeat/config/hardware_config.h"
#include "tilebeat/program/plan.h"
#include "tilebeat/report/run_result.h"
#include "tilebeat/system/system.h"
#include "tilebeat/workload/workload.h"

namespace tilebeat {

/// Elaborates the chip, loads `plan` into its memory, runs every program and collects the result, invariants
/// of SPEC CY-1 checked. Simulation errors do not escape: they are lines of `failures`, with everything known
/// so far. SystemC elaborates once a process, so this is called once a process.
RunResult simulate(const HardwareConfig& hardware, Plan plan, const SimulationOptions& options);

}  // namespace tilebeat
