#pragma once

// Random workloads in whole simulations: planned or refused, run in both granularities, compared with the
// reference operators. For use inside `check_cases`.

#include "../data/temporary_folder.h"
#include "random_cases.h"
#include "reference/reference.h"
#include "simulated_run.h"
#include "tilebeat/error.h"

#include <algorithm>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <rapidcheck.h>

namespace tilebeat::testing {

/// How many of a test's cases the planner refused.
struct Refusals {
  int cases = 0, refused = 0;
};

/// A refusal says that something cannot fit and names what is too small: a field whose path begins with one
/// of `fields`, for example `chip.`.
inline void check_refusal(const std::string& message, std::initializer_list<std::string_view> fields) {
  RC_LOG() << message << "\n";
  RC_ASSERT(message.find("cannot fit") != std::string::npos);
  bool named = false;
  for (const std::string_view field : fields) named = named || message.find(field) != std::string::npos;
  RC_ASSERT(named);
}

/// The plan of a case, or nothing when the planner refuses it, for a reason that `check_refusal` accepts.
inline std::optional<PlannedNetwork> plan_or_refusal(const Workload& workload, const HardwareConfig& hardware,
                                                     std::initializer_list<std::string_view> fields,
                                                     Refusals& tally) {
  RC_LOG() << hardware_to_json(hardware).dump() << "\n";
  check_hardware(hardware, "random hardware");
  ++tally.cases;
  try {
    return plan_network(workload, hardware);
  } catch (const UserError& error) {
    check_refusal(error.what(), fields);
    ++tally.refused;
    return std::nullopt;
  }
}

/// Every output of the workload is the reference's, element by element.
inline void check_outputs(const Workload& workload, const std::map<std::string, Tensor>& reference,
                          const SimulatedRun& run, const char* granularity) {
  for (const std::string& name : workload.outputs) {
    RC_ASSERT(run.outputs.count(name) == 1U);
    const Tensor &expected = reference.at(name), &actual = run.outputs.at(name);
    RC_ASSERT(actual.shape == expected.shape);
    RC_ASSERT(actual.dtype == expected.dtype);
    const auto mismatch = first_mismatch(name, expected, actual);
    if (mismatch)
      RC_LOG() << name << " in " << granularity << " granularity: " << mismatch->actual << " instead of "
               << mismatch->expected << "\n";
    RC_ASSERT(!mismatch.has_value());
  }
}

/// The texts are the same; says where they part otherwise.
inline void check_same_report(const std::string& one, const std::string& other) {
  const auto [a, b] = std::mismatch(one.begin(), one.end(), other.begin(), other.end());
  const auto place = static_cast<std::size_t>(a - one.begin()),
             from = place - std::min<std::size_t>(place, 150);
  if (a != one.end() || b != other.end())
    RC_LOG() << "reports part:\n..." << one.substr(from, 300) << "\n..." << other.substr(from, 300) << "\n";
  RC_ASSERT(one == other);
}

/// Runs a plan in both granularities: nothing fails, all outputs are the reference's, the reports are the
/// same bytes. Returns the run of one of them.
inline SimulatedRun check_both_granularities(const Workload& workload, const HardwareConfig& hardware,
                                             const Plan& plan, unsigned limit_seconds = 60) {
  SimulationOptions options;
  options.granularity = Granularity::kTile;
  const SimulatedRun tile = simulate_in_child(hardware, plan, options, limit_seconds);
  options.granularity = Granularity::kClock;
  SimulatedRun clock = simulate_in_child(hardware, plan, options, limit_seconds);
  for (const std::string& failure : tile.failures) RC_LOG() << failure << "\n";
  RC_ASSERT(tile.failures == std::vector<std::string>{});
  RC_ASSERT(clock.failures == std::vector<std::string>{});
  const std::map<std::string, Tensor> reference = run_reference(workload);
  check_outputs(workload, reference, tile, "tile");
  check_outputs(workload, reference, clock, "clock");
  check_same_report(tile.report_text, clock.report_text);
  return clock;
}

/// The order in which modules are built and processes run changes nothing: another run of the plan, in either
/// granularity, writes the report of `run` (SPEC CY-4).
inline void check_any_order(const HardwareConfig& hardware, const Plan& plan, const SimulatedRun& run) {
  SimulationOptions options;
  options.granularity = one_in(2) ? Granularity::kTile : Granularity::kClock;
  options.jitter_seed = static_cast<std::uint32_t>(number(1, 1000));
  options.build_order_seed = static_cast<std::uint32_t>(number(1, 1000));
  RC_ASSERT(simulate_in_child(hardware, plan, options, 60).report_text == run.report_text);
}

/// What the DMA engines read from and wrote to DRAM is what the planner counted: maps, kernels and factors.
inline void check_planned_bytes(const Plan& plan, const SimulatedRun& run) {
  std::int64_t read = 0, written = 0, planned_read = 0, planned_written = 0;
  for (const auto& counter : run.report.at("counters")) {
    const std::string module = counter.at("module"), name = counter.at("name");
    const bool dma = module.find(".iodma") != std::string::npos || module.find(".gdma") != std::string::npos;
    const bool board = module == "bus.load" || module == "bus.parameter" || module == "bus.store";
    if (!board && (module.substr(0, 4) != "noc." || !dma)) continue;
    if (name == "read") read += counter.at("value").get<std::int64_t>();
    if (name == "written") written += counter.at("value").get<std::int64_t>();
  }
  for (const LayerPlan& layer : plan.layers) {
    planned_read += layer.input_bytes + layer.kernel_bytes;
    planned_written += layer.output_bytes;
  }
  RC_ASSERT(read == planned_read);
  RC_ASSERT(written == planned_written);
}

/// So many workload files of `make` on hardware of `hardware`, each in both granularities; at most half of
/// them may be refused as too large. Runs `check_cases` itself.
inline void check_generated(int cases, nlohmann::json (*make)(), HardwareConfig (*hardware)()) {
  Refusals tally;
  check_cases(cases, [&] {
    const std::string text = make().dump();
    RC_LOG() << text << "\n";
    const TemporaryFolder folder;
    const Workload loaded = load_workload(folder.write("generated.json", text));
    const HardwareConfig on = hardware();
    const auto planned = plan_or_refusal(loaded, on, {""}, tally);
    if (planned) check_both_granularities(loaded, on, planned->plan);
  });
  EXPECT_LE(tally.refused * 2, tally.cases) << "workloads that cannot fit are the exception";
}

}  // namespace tilebeat::testing
