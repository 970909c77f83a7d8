// A run whose simulation fails: exit status 1, and everything that is known until then is written (SPEC
// UI-5).
#include "app/commands.h"
#include "changed_program.h"
#include "engines/switch_array/operations.h"
#include "planner/program/planner.h"
#include "program/plan.h"
#include "report_schema.h"
#include "systemc_test.h"
#include "tilebeat_command.h"
#include "vcd_reader.h"

#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tilebeat {

using switch_array::ConvRun;
using switch_array::LoadInput;

namespace testing {
namespace {

/// What is done to a plan before it is simulated.
std::function<void(Plan&)>& sabotage() {
  static std::function<void(Plan&)> change;
  return change;
}

}  // namespace
}  // namespace testing

// The planner makes no programs that fail, so that of the command line is replaced: the linker takes this
// function instead of the library's.
PlannedNetwork plan_workload(const Workload& workload, const HardwareConfig& hardware,
                             const std::string& /*file*/, const NetworkMapping& asked) {
  PlannedNetwork planned = plan_network(workload, hardware, asked);
  testing::sabotage()(planned.plan);
  return planned;
}

namespace testing {
namespace {

/// The place of the `number`-th instruction of a program that is an `Op`.
template <class Op>
std::size_t find(const ProgramImage& program, int number = 0) {
  for (std::size_t i = 0; i < program.instructions.size(); ++i) {
    if (program.instructions[i].operation.is<Op>() && number-- == 0) return i;
  }
  throw std::runtime_error("no such instruction");
}
std::uint64_t address_of(const ProgramImage& program, std::size_t instruction) {
  return program.address + instruction * kInstructionBytes;
}

/// Runs the worked scenes, of which the second one's plan is changed, with everything that can be written.
class FailedScene : public ::testing::TestWithParam<const char*> {
 protected:
  std::vector<std::string> arguments() const {
    std::vector<std::string> all{"tilebeat",   "run",
                                 "--config",   source_path("configs/switch16.json"),
                                 "--layer",    source_path("models/worked_scenes.json"),
                                 "--out",      folder_.path("out"),
                                 "--timeline", folder_.path("t.json")};
    if (std::string(GetParam()) == "clock") {
      all.emplace_back("--vcd");
      all.push_back(folder_.path("w.vcd"));
    }
    return all;
  }
  /// The run's standard output; its exit status must be 1.
  std::string run(std::function<void(Plan&)> change) {
    sabotage() = std::move(change);
    const std::string status = in_child([this] {
      std::vector<std::string> texts = arguments();
      std::vector<char*> raw;
      for (std::string& text : texts) raw.push_back(text.data());
      raw.push_back(nullptr);
      if (std::freopen(folder_.path("stdout").c_str(), "w", stdout) == nullptr) return std::string("?");
      return std::to_string(run_command_line(static_cast<int>(texts.size()), raw.data()));
    });
    EXPECT_EQ(status, "1");
    report_ = folder_.report("out");
    return read_bytes(folder_.path("stdout"));
  }
  void expect_everything_until_then() const {
    const auto files = folder_.files();
    EXPECT_TRUE(files.count("out/outputs/dense.npy")) << "the first scene was complete";
    EXPECT_FALSE(files.count("out/outputs/dilated.npy"));
    EXPECT_FALSE(report_.at("passed").get<bool>());
    EXPECT_EQ(report_.at("outputs"), nlohmann::json({"dense"}));
    ASSERT_EQ(report_.at("layers").size(), 1U);
    EXPECT_EQ(report_.at("layers")[0].at("check"), "passed");
    const auto cycles = report_.at("total").at("cycles").get<std::int64_t>();
    EXPECT_GT(cycles, report_.at("layers")[0].at("cycles").get<std::int64_t>());
    EXPECT_GT(report_.at("total").at("macs"), 0);
    EXPECT_GT(report_.at("counters").size(), 0U);
    EXPECT_GT(report_.at("modules").size(), 0U);
    for (const auto& module : report_.at("modules")) {
      std::int64_t clocks = module.at("busy");
      for (const auto& [cause, count] : module.at("stall_cycles").items())
        clocks += count.get<std::int64_t>();
      EXPECT_EQ(clocks, module.at("cycles")) << module.at("name");
      if (module.at("clock") == "npu") {
        EXPECT_EQ(module.at("cycles"), cycles) << module.at("name");
      }
    }
    const nlohmann::json schema = nlohmann::json::parse(folder_.run({"schema", "report"}).out);
    EXPECT_EQ(schema_violations(schema, report_), std::vector<std::string>{});
    const nlohmann::json timeline = nlohmann::json::parse(files.at("t.json"));
    EXPECT_GT(timeline.at("traceEvents").size(), 0U);
    if (std::string(GetParam()) != "clock") return;
    const Vcd vcd(files.at("w.vcd"));  // throws when it is not valid
    EXPECT_EQ(vcd.last_time(), (cycles + 1) * 1000) << "the waveform ends with the run";
  }

  CommandFolder folder_;
  nlohmann::json report_;
};

TEST_P(FailedScene, UI_5_a_deadlock_names_clock_unit_instruction_and_semaphore) {
  std::uint64_t address = 0;
  const auto change = [&](Plan& plan) {
    ProgramImage& program = plan.programs.at(1);
    const std::size_t at = find<ConvRun>(program);
    address = address_of(program, at);
    program.instructions[at].waits[3] = map_full(5);  // nobody gives it
    write_back(plan, program);
  };
  Plan probe = make_plan(load_workload(source_path("models/worked_scenes.json")), HardwareConfig{});
  change(probe);
  const std::string out = run(change);
  expect_everything_until_then();
  const auto cycles = report_.at("total").at("cycles").get<std::int64_t>();
  const std::string message = report_.at("failures").at(0);
  EXPECT_EQ(message.find(fmt::format("simulation error at clock {}: deadlock", cycles)), 0U) << message;
  EXPECT_LT(cycles, 2000) << "the cycle of the last event, not of the next look at the simulation";
  EXPECT_NE(
      message.find(fmt::format("matrix    holds 0, 0 under way, 1 queued; instruction at {:#x} waits for {}",
                               address, semaphore_name(map_full(5)))),
      std::string::npos)
      << message;
  EXPECT_NE(out.find("FAILED: " + message.substr(0, message.find('\n'))), std::string::npos) << out;
}

TEST_P(FailedScene, UI_5_an_error_of_a_module) {
  const std::string out = run([](Plan& plan) {
    ProgramImage& program = plan.programs.at(1);
    program.instructions[find<ConvRun>(program)].operation.get<ConvRun>().output_base = 1 << 30;
    write_back(plan, program);
  });
  expect_everything_until_then();
  const std::string message = report_.at("failures").at(0);
  EXPECT_NE(message.find("leave the output buffer of"), std::string::npos) << message;
  EXPECT_NE(out.find("FAILED: "), std::string::npos) << out;
}

TEST_P(FailedScene, UI_5_a_program_without_halt) {
  run([](Plan& plan) {
    ProgramImage& program = plan.programs.at(1);
    program.instructions.pop_back();
    program.instructions.pop_back();
    write_back(plan, program);
  });
  expect_everything_until_then();
  const std::string message = report_.at("failures").at(0);
  EXPECT_NE(message.find("the program ends without halt"), std::string::npos) << message;
}

TEST_P(FailedScene, UI_5_a_load_from_nowhere) {
  run([](Plan& plan) {
    ProgramImage& program = plan.programs.at(1);
    program.instructions[find<LoadInput>(program)].operation.get<LoadInput>().address = std::uint64_t{1}
                                                                                        << 43;
    write_back(plan, program);
  });
  expect_everything_until_then();
  const std::string message = report_.at("failures").at(0);
  EXPECT_NE(message.find("dma_load.port: no memory at address 0x80000000000"), std::string::npos) << message;
}

INSTANTIATE_TEST_SUITE_P(Granularity, FailedScene, ::testing::Values("clock", "tile"),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace testing
}  // namespace tilebeat
