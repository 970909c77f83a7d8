// A second access of a bank's port ends the run of every engine, in both granularities (SPEC HI-9, CY-3).
#include "config/hardware_config.h"
#include "conv_workload.h"
#include "planner/program/planner.h"
#include "second_access.h"
#include "system/simulation.h"

#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

struct PortCase {
  const char* name;
  const char* engine;
  const char* memory;
  int port;
};
void PrintTo(const PortCase& c, std::ostream* out) {
  *out << c.name;
}

class BankPorts : public ::testing::TestWithParam<PortCase> {};

TEST_P(BankPorts, HI_9_CY_3_make_one_access_a_cycle_in_both_granularities) {
  const PortCase& c = GetParam();
  ConvShape shape;
  shape.height = 8, shape.width = 8, shape.channels = 16, shape.out_channels = 16, shape.kernel = {3, 3};
  const HardwareConfig hardware =
      parse_hardware({{"dataflow", c.engine}, {"chip", nlohmann::json::object()}}, "test");
  const Plan plan = make_plan(conv_workload(shape), hardware);
  const std::string port = fmt::format("{}.bank0.port_{}", c.memory, c.port);
  constexpr Cycle kLater = 1'000'000;  // than all accesses of the run
  for (const Granularity granularity : {Granularity::kTile, Granularity::kClock}) {
    const std::string failure = in_child([&] {
      strict_systemc();
      const Picoseconds period = 1'000'000 / hardware.clock_mhz;
      const SecondAccess second("second", port, kLater * period);
      SimulationOptions options;
      options.granularity = granularity;
      const RunResult result = simulate(hardware, plan, options);
      return result.failures.empty() ? "none" : result.failures.front();
    });
    EXPECT_THAT(failure, ::testing::HasSubstr(fmt::format(
                             "{}.bank0: port {} makes one access a cycle, but in cycle {} it was asked for "
                             "bytes 0x0 and 0x",
                             c.memory, c.port, kLater)))
        << (granularity == Granularity::kTile ? "tile" : "clock");
  }
}

// Ports 1 and 2 are the engines' own. Words over the bus of a core whose engine has no port there are moved
// together.
INSTANTIATE_TEST_SUITE_P(Engines, BankPorts,
                         ::testing::Values(PortCase{"rolling_map", "rolling", "nram", 1},
                                           PortCase{"rolling_results", "rolling", "nram", 2},
                                           PortCase{"rolling_kernels", "rolling", "wram", 1},
                                           PortCase{"offset_lines", "offset", "nram", 1},
                                           PortCase{"offset_results", "offset", "nram", 2},
                                           PortCase{"offset_kernels", "offset", "wram", 1},
                                           PortCase{"wfold_kernels", "wfold", "wram", 1},
                                           PortCase{"wfold_bus", "wfold", "nram", 0}),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace tilebeat::testing
