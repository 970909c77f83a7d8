// Programs whose runs of the switch array begin and end their sums in another order than a PE's one
// accumulator allows: both granularities refuse them alike (SPEC CY-3; docs/isa.md, conv.run).
#include "changed_program.h"
#include "config/hardware_config.h"
#include "conv_workload.h"
#include "engines/switch_array/operations.h"
#include "refused_alike.h"

#include <functional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilebeat::testing {

using switch_array::ConvRun;

namespace {

struct SumsCase {
  const char* name;
  std::function<void(std::vector<ConvRun*> runs)> change;
  const char* message;  ///< null: runs
};
void PrintTo(const SumsCase& c, std::ostream* out) {
  *out << c.name;
}

/// On a 4 x 4 array of two groups, an operation cycle has 2 x 2 pixels. With 64 channels and few words a
/// bank, a tile is one operation cycle whose channels come in several runs.
HardwareConfig small_array(int bank_depth_words) {
  return parse_hardware(nlohmann::json{{"switch_array",
                                        {{"rows", 4},
                                         {"columns", 4},
                                         {"groups", 2},
                                         {"port_channels", 4},
                                         {"bank_depth_words", bank_depth_words},
                                         {"parameter_depth_words", 64}}}},
                        "test");
}

class OpenSums : public ::testing::TestWithParam<SumsCase> {};

TEST_P(OpenSums, CY_3_both_granularities_refuse_alike) {
  const SumsCase& c = GetParam();
  ConvShape shape;
  shape.height = 5, shape.width = 5, shape.channels = 64, shape.out_channels = 4, shape.kernel = {3, 3};
  const HardwareConfig hardware = small_array(16);
  Plan plan = make_plan(conv_workload(shape), hardware);
  ProgramImage& program = plan.programs.front();
  std::vector<ConvRun> runs;
  std::vector<ConvRun*> pointers;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < program.instructions.size(); ++i) {
    if (const auto* run = program.instructions[i].operation.get_if<ConvRun>())
      runs.push_back(*run), places.push_back(i);
  }
  for (ConvRun& run : runs) pointers.push_back(&run);
  ASSERT_GE(runs.size(), 4U);
  ASSERT_TRUE(runs[0].first && !runs[0].last && !runs[1].first) << "channels in pieces";
  c.change(pointers);
  for (std::size_t i = 0; i < runs.size(); ++i) program.instructions[places[i]].operation = runs[i];
  write_back(plan, program);
  expect_same_end(hardware, plan, c.message);
}

INSTANTIATE_TEST_SUITE_P(
    SwitchArray, OpenSums,
    ::testing::Values(SumsCase{"as_planned", [](auto) {}, nullptr},
                      SumsCase{"nobody_began", [](auto runs) { runs[0]->first = false; },
                               "conv.run: goes on with sums that nobody began"},
                      SumsCase{"not_ended", [](auto runs) { runs[1]->first = true; },
                               "conv.run: begins sums while others have not ended"},
                      SumsCase{"fewer_pixels", [](auto runs) { runs[1]->rows = 1; },
                               "conv.run: goes on with the sums of 2 x 2 pixels for 1 x 2"},
                      SumsCase{"as_many_pixels_of_another_shape",
                               [](auto runs) { runs[1]->rows = 1, runs[1]->columns = 4; },
                               "conv.run: goes on with the sums of 2 x 2 pixels for 1 x 4"},
                      SumsCase{"more_than_an_operation_cycle", [](auto runs) { runs[0]->rows = 3; },
                               "conv.run: 3 x 2 pixels leave sums, an operation cycle has 2 x 2"}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace tilebeat::testing
