#pragma once

#include "config/hardware_config.h"
#include "planner/program/planner.h"
#include "report/run_result.h"
#include "system/system.h"
#include "tilebeat/hardware.h"
#include "tilebeat/plan.h"
#include "tilebeat/result.h"
#include "tilebeat/workload.h"
#include "workload/workload.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace tilebeat {

// What is behind the handles of include/tilebeat.

struct Hardware::Inner {
  HardwareConfig config;
};

struct Network::Inner {
  Workload workload;
};

struct NetworkPlan::Inner {
  std::shared_ptr<const Hardware::Inner> hardware;  ///< the hardware that it was made for
  PlannedNetwork planned;
};

struct Result::Inner {
  RunResult run;  ///< without its outputs
  std::shared_ptr<const Hardware::Inner> hardware;
  std::vector<Layer> layers;
  std::map<std::string, TensorData> outputs;
};

TensorData::Type public_type(DType type);
Granularity granularity_of(const RunOptions& options);
/// The value of a counter. Throws UserError, with the nearest name, where there is no such one.
std::int64_t value_of(const std::vector<Counter>& counters, const std::string& module,
                      const std::string& name);
/// Makes a result of what a run found out.
Result make_result(RunResult run, std::shared_ptr<const Hardware::Inner> hardware);
/// Throws UserError unless `plan` was made for hardware that is the same in every field.
void check_made_for(const Hardware& hardware, const NetworkPlan& plan);

}  // namespace tilebeat
