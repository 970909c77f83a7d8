#pragma once

// Whole simulations for tests. SystemC elaborates once a process, so every one runs in a forked child, and a
// test process can run as many as it likes as long as it never elaborates itself (DESIGN idea 6).

#include "config/hardware_config.h"
#include "planner/program/planner.h"
#include "program/plan.h"
#include "report/report.h"
#include "report_text.h"
#include "system/simulation.h"
#include "systemc_test.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>
#include <unistd.h>

namespace tilebeat::testing {

/// What a simulation in a child process handed back.
struct SimulatedRun {
  std::string report_text;  ///< report.json as it would be written, without `check`
  nlohmann::json report;    ///< the same, parsed
  std::map<std::string, Tensor> outputs;
  std::vector<std::string> failures;

  const nlohmann::json& layer(std::size_t index = 0) const { return report.at("layers").at(index); }
  /// Cycles of a cause in a layer's or module's `stall_cycles`; causes without cycles are left out there.
  static Cycle stall(const nlohmann::json& owner, const std::string& cause) {
    return owner.at("stall_cycles").value(cause, Cycle{0});
  }
  const nlohmann::json& module(const std::string& name) const {
    for (const auto& module : report.at("modules")) {
      if (module.at("name") == name) return module;
    }
    throw std::runtime_error("no module " + name);
  }
  std::int64_t counter(const std::string& module, const std::string& name) const {
    for (const auto& counter : report.at("counters")) {
      if (counter.at("module") == module && counter.at("name") == name)
        return counter.at("value").get<std::int64_t>();
    }
    throw std::runtime_error("no counter " + module + " " + name);
  }
  Cycle cycles() const { return report.at("total").at("cycles").get<Cycle>(); }
};

/// Runs `plan` on `hardware` in a child process. An exception or a crash there is an exception
/// here; a child that takes longer than `limit_seconds` is ended.
inline SimulatedRun simulate_in_child(const HardwareConfig& hardware, const Plan& plan,
                                      const SimulationOptions& options, unsigned limit_seconds = 60) {
  using nlohmann::json;
  const std::string bytes = in_child([&] {
    alarm(limit_seconds);
    strict_systemc();
    const RunResult result = simulate(hardware, plan, options);
    json message{{"report", report_text(result, hardware_to_json(hardware))}, {"failures", result.failures}};
    message["outputs"] = json::object();
    for (const auto& [name, tensor] : result.outputs) {
      message["outputs"][name] = {{"shape", tensor.shape},
                                  {"dtype", static_cast<int>(tensor.dtype)},
                                  {"bytes", json::binary(tensor.bytes)}};
    }
    const std::vector<std::uint8_t> packed = json::to_cbor(message);
    return std::string(packed.begin(), packed.end());
  });
  const json message = json::from_cbor(bytes);
  SimulatedRun run;
  run.report_text = message.at("report").get<std::string>();
  run.report = json::parse(run.report_text);
  run.failures = message.at("failures").get<std::vector<std::string>>();
  for (const auto& [name, tensor] : message.at("outputs").items()) {
    run.outputs[name] = {tensor.at("shape").get<std::vector<std::int64_t>>(),
                         static_cast<DType>(tensor.at("dtype").get<int>()), tensor.at("bytes").get_binary()};
  }
  return run;
}

/// `simulate_in_child` of what the planner makes of the workload.
inline SimulatedRun simulate_in_child(const Workload& workload, const HardwareConfig& hardware,
                                      Granularity granularity = Granularity::kTile) {
  SimulationOptions options;
  options.granularity = granularity;
  return simulate_in_child(hardware, make_plan(workload, hardware), options);
}

}  // namespace tilebeat::testing
