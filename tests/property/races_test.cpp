// Programs that use memory while an engine works on it, without having waited: both granularities end them
// with the same error (SPEC HI-2, CY-3).
#include "changed_program.h"
#include "config/hardware_config.h"
#include "conv_workload.h"
#include "engines/offset_table/operations.h"
#include "engines/rolling/operations.h"
#include "engines/switch_array/operations.h"
#include "engines/wfold/operations.h"
#include "isa/address_map.h"
#include "simulated_run.h"
#include "tilebeat_command.h"

#include <functional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilebeat::testing {

using switch_array::LoadInput;
using switch_array::LoadKernels;
using switch_array::StoreOutput;
using wfold::WfoldRun;

namespace {

using ::testing::HasSubstr;

/// The first run of a program, an `Op`, and what precedes it.
template <class Op>
const Op& first(const std::vector<Instruction>& program) {
  for (const Instruction& instruction : program) {
    if (const Op* found = instruction.operation.get_if<Op>()) return *found;
  }
  throw std::runtime_error("no such instruction");
}
bool is_run(const Instruction& instruction) {
  const std::string name = instruction.operation.type().name();
  return name == "conv.run" || name == "wfold.run" || name == "rolling.run" || name == "offset.run";
}
Instruction untokened(Instruction instruction) {
  instruction.waits = instruction.release_signals = instruction.done_signals = {};
  return instruction;
}
template <class Op>
Instruction first_instruction(const std::vector<Instruction>& program) {
  for (const Instruction& instruction : program) {
    if (instruction.operation.is<Op>()) return untokened(instruction);
  }
  throw std::runtime_error("no such instruction");
}
Instruction copy_between(std::uint64_t from, std::uint64_t to, std::uint32_t bytes) {
  Copy copy;
  copy.source = from, copy.destination = to, copy.run_bytes = bytes;
  Instruction instruction;
  instruction.operation = copy;
  return instruction;
}
constexpr std::uint64_t kElsewhere = 0x100000;  // in DRAM

struct Race {
  const char* name;
  const char* config;
  /// What is put behind the first run of the program, again and again.
  std::function<Instruction(const std::vector<Instruction>& program)> intruder;
  const char* message;
};
void PrintTo(const Race& race, std::ostream* out) {
  *out << race.name;
}

ConvShape one_tile() {
  ConvShape shape;
  shape.height = 24, shape.width = 24, shape.channels = 32, shape.out_channels = 16, shape.kernel = {3, 3};
  shape.requant = Requant{{0.01}, 0, DType::kInt8};
  return shape;
}

/// So often that some of them come while the run works.
constexpr std::size_t kTimes = 24;

/// `plan` with intruders behind the first run.
void intrude(Plan& plan, const Race& race) {
  ProgramImage& program = plan.programs.front();
  const auto run = std::find_if(program.instructions.begin(), program.instructions.end(), is_run);
  const Instruction intruder = race.intruder(program.instructions);
  program.instructions.insert(run + 1, kTimes, intruder);
  write_back(plan, program);
}

class Races : public ::testing::TestWithParam<Race> {};

TEST_P(Races, HI_2_CY_3_both_granularities_end_with_the_same_error) {
  const Race& race = GetParam();
  const HardwareConfig hardware = load_hardware(source_path(fmt::format("configs/{}.json", race.config)));
  Plan plan = make_plan(conv_workload(one_tile()), hardware);
  std::vector<std::string> failures;
  for (const Granularity granularity : {Granularity::kTile, Granularity::kClock}) {
    SimulationOptions options;
    options.granularity = granularity;
    ASSERT_EQ(simulate_in_child(hardware, plan, options).failures, std::vector<std::string>{})
        << "as planned";
  }
  intrude(plan, race);
  for (const Granularity granularity : {Granularity::kTile, Granularity::kClock}) {
    for (const int jitter : {0, 7}) {
      SimulationOptions options;
      options.granularity = granularity;
      options.jitter_seed = static_cast<std::uint32_t>(jitter);
      const SimulatedRun run = simulate_in_child(hardware, plan, options);
      ASSERT_EQ(run.failures.size(), 1U);
      failures.push_back(run.failures.front());
      EXPECT_THAT(failures.back(), HasSubstr(race.message));
      EXPECT_EQ(failures.back(), failures.front());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Engines, Races,
    ::testing::Values(
        Race{"maps_of_the_switch_array", "switch16",
             [](const auto& program) { return first_instruction<LoadInput>(program); },
             "race in the input banks: conv.run"},
        Race{"kernels_of_the_switch_array", "switch16",
             [](const auto& program) { return first_instruction<LoadKernels>(program); },
             "race in the parameter buffer: conv.run"},
        Race{"results_of_the_switch_array", "switch16",
             [](const auto& program) { return first_instruction<StoreOutput>(program); },
             "race in the output buffer: conv.run"},
        Race{"kernels_of_the_wfold_engine", "wfold16x4",
             [](const auto& program) {
               return copy_between(kElsewhere, wram_address(0) + first<WfoldRun>(program).weights, 4096);
             },
             "wram: wfold.run"},
        Race{"maps_of_the_rolling_unit", "rolling16",
             [](const auto& program) {
               return copy_between(kElsewhere, first<rolling::RollingRun>(program).map, 4096);
             },
             "nram: rolling.run"},
        Race{"kernels_of_the_rolling_unit", "rolling16",
             [](const auto& program) {
               return copy_between(kElsewhere, first<rolling::RollingRun>(program).weights, 4096);
             },
             "wram: rolling.run"},
        Race{"results_of_the_rolling_unit", "rolling16",
             [](const auto& program) {
               return copy_between(first<rolling::RollingRun>(program).result, kElsewhere, 4096);
             },
             "nram: rolling.run"},
        Race{"maps_of_the_offset_engine", "offset16",
             [](const auto& program) {
               return copy_between(kElsewhere, first<offset_table::OffsetRun>(program).map, 4096);
             },
             "nram: offset.run"},
        Race{"kernels_of_the_offset_engine", "offset16",
             [](const auto& program) {
               return copy_between(kElsewhere, first<offset_table::OffsetRun>(program).weights, 4096);
             },
             "wram: offset.run"},
        Race{"results_of_the_offset_engine", "offset16",
             [](const auto& program) {
               return copy_between(first<offset_table::OffsetRun>(program).result, kElsewhere, 4096);
             },
             "nram: offset.run"}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace tilebeat::testing
