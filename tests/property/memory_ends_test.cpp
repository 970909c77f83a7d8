// Runs of engines at the end of the memories that they reach without the bus: the last byte may be used, and
// both granularities refuse the one behind it alike, whatever else would have happened before the run got
// there (SPEC CY-3, HI-2).
#include "changed_program.h"
#include "config/hardware_config.h"
#include "conv_workload.h"
#include "engines/offset_table/operations.h"
#include "engines/rolling/operations.h"
#include "isa/address_map.h"
#include "refused_alike.h"
#include "tilebeat_command.h"

#include <functional>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

struct EndCase {
  const char* name;
  const char* config;
  std::function<bool(Instruction& instruction, std::uint64_t end)> move;  ///< so that it would end at `end`
  std::function<std::uint64_t(const ChipConfig& chip)> memory_end;
  const char* message;
  std::uint64_t bytes;  ///< from its first to its last one
};
void PrintTo(const EndCase& c, std::ostream* out) {
  *out << c.name;
}

template <typename Run>
std::function<bool(Instruction&, std::uint64_t)> results_of(std::uint64_t rows, std::uint64_t columns) {
  return [=](Instruction& instruction, std::uint64_t end) {
    const auto* planned = instruction.operation.get_if<Run>();
    if (planned == nullptr) return false;
    Run run = *planned;
    run.result = end - (rows * columns - 1) * run.result_pixel - std::uint64_t{run.kernels} * 4;
    instruction.operation = run;
    return true;
  };
}
template <typename Run>
bool kernels_of(Instruction& instruction, std::uint64_t end) {
  const auto* planned = instruction.operation.get_if<Run>();
  if (planned == nullptr) return false;
  Run run = *planned;
  run.weights = end - 4 * 8;  // 4 kernels of 8 channels
  instruction.operation = run;
  return true;
}

std::uint64_t nram_end(const ChipConfig& chip) {
  return nram_address(0) + static_cast<std::uint64_t>(chip.core.nram.size_bytes);
}
std::uint64_t wram_end(const ChipConfig& chip) {
  return wram_address(0) + static_cast<std::uint64_t>(chip.core.wram.size_bytes);
}

class MemoryEnds : public ::testing::TestWithParam<EndCase> {};

/// Runs a layer whose instruction ends so many bytes behind the memory; `message`: as `expect_same_end`.
void run_beyond(const EndCase& c, std::uint64_t beyond, const char* message) {
  ConvShape shape;
  shape.height = 2, shape.width = 3, shape.channels = 8, shape.out_channels = 4;
  const HardwareConfig hardware = load_hardware(source_path(fmt::format("configs/{}.json", c.config)));
  Plan plan = make_plan(conv_workload(shape), hardware);
  ProgramImage& program = plan.programs.front();
  int moved = 0;
  for (Instruction& instruction : program.instructions)
    moved += c.move(instruction, c.memory_end(*hardware.chip) + beyond) ? 1 : 0;
  ASSERT_EQ(moved, 1);
  write_back(plan, program);
  expect_same_end(hardware, plan, message);
}

TEST_P(MemoryEnds, HI_2_CY_3_the_last_byte_is_used_and_the_next_refused_alike) {
  run_beyond(GetParam(), 0, nullptr);
  run_beyond(GetParam(), 1, GetParam().message);
}

TEST_P(MemoryEnds, HI_2_CY_3_what_lies_behind_the_memory_is_refused_at_its_first_byte) {
  const EndCase& c = GetParam();
  const std::uint64_t end =
      c.memory_end(*load_hardware(source_path(fmt::format("configs/{}.json", c.config))).chip);
  run_beyond(c, 4096, fmt::format("no memory at address {:#x}", end + 4096 - c.bytes).c_str());
}

INSTANTIATE_TEST_SUITE_P(
    Engines, MemoryEnds,
    ::testing::Values(
        EndCase{"results_of_the_rolling_unit", "rolling16", results_of<rolling::RollingRun>(2, 3), nram_end,
                "rolling.results: no memory at address 0x40000080000, rolling.run", 96},
        EndCase{"kernels_of_the_rolling_unit", "rolling16", kernels_of<rolling::RollingRun>, wram_end,
                "no memory at address 0x80000100000, rolling.run", 32},
        EndCase{"results_of_the_offset_engine", "offset16", results_of<offset_table::OffsetRun>(2, 3),
                nram_end, "offset.results: no memory at address 0x40000080000, offset.run", 96},
        EndCase{"kernels_of_the_offset_engine", "offset16", kernels_of<offset_table::OffsetRun>, wram_end,
                "offset.kernels: no memory at address 0x80000100000, offset.run", 32}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace tilebeat::testing
