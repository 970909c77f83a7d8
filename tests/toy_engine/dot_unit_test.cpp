// The parts of the toy engine by themselves: its schedule as a pure value, its unit between stubs.
#include "engines/dot/sim/dot_unit.h"

#include "engines/dot/schedule.h"
#include "unit_driver.h"

#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilebeat::dot {
namespace {

using ::testing::HasSubstr;
using tilebeat::testing::ScriptedTarget;
using tilebeat::testing::UnitDriver;

/// Outputs in one row, of 1 x 1 kernels.
DotRun row_of(int columns, int channels) {
  DotRun run;
  run.result = 0x100, run.result_pixel = 4;
  run.rows = 1, run.columns = static_cast<std::uint16_t>(columns), run.kernels = 1;
  run.height = 1, run.width = run.columns;
  run.pixel_bytes = run.channels = static_cast<std::uint16_t>(channels);
  run.group_kernels = 1;
  return run;
}

// ---- the schedule ----

TEST(DotSchedule, kernels_then_outputs_then_taps) {
  ConvSetup setup;
  setup.kernel_h = setup.kernel_w = 2;
  setup.stride_w = 2;
  DotRun run = row_of(2, 3);
  run.kernels = 4, run.group_kernels = 2, run.pixel_bytes = 6;
  run.height = 2, run.width = 3, run.w_offset = -1;  // a column of padding on the left
  const DotSchedule schedule(setup, run);
  EXPECT_EQ(schedule.steps(), 4 * 2 * 4);
  EXPECT_EQ(schedule.clocks(2), 4 * 2 * 4 * 2);
  EXPECT_EQ(schedule.kernel_bytes(), 16 + 4 * 3);
  std::vector<std::int64_t> bytes;
  for (int i = 0; i < 8; ++i) bytes.push_back(schedule.step(i).map_byte);
  EXPECT_EQ(bytes, (std::vector<std::int64_t>{-1, 0, -1, 18, 6, 12, 24, 30}));
  EXPECT_TRUE(schedule.step(0).begins_kernel);
  EXPECT_FALSE(schedule.step(4).begins_kernel);
  EXPECT_TRUE(schedule.step(8).begins_kernel);
  EXPECT_TRUE(schedule.step(3).ends_output);
  EXPECT_EQ(schedule.step(17).map_byte, 3) << "the second group's channels, of kernels 2 and 3";
}

// ---- the unit ----

/// The unit with a memory at each port that answers in the cycle after the request.
struct Bench {
  SimContext context{ClockDomain(1000)};
  UnitDriver driver{"driver", context};
  ScriptedTarget operands{"operands_memory", context}, results{"results_memory", context};
  DotUnit unit;

  explicit Bench(int lanes) : unit("dot", context, {lanes, 4096}, DmaConfig{}) {
    tilebeat::testing::strict_systemc();
    driver.command.bind(unit.command);
    unit.completion.bind(driver.completion);
    unit.operands.socket.bind(operands.socket);
    unit.results.socket.bind(results.socket);
  }
  std::string run(Cycle cycles = 1000) { return tilebeat::testing::error_of_run(cycles, 1000); }
};

TEST(DotUnit, latency_of_one_output) {
  Bench bench(4);
  DotRun run = row_of(1, 4);
  run.weights = 0x40;
  for (const unsigned i : {0U, 1U, 2U, 3U}) {
    bench.operands.bytes[i] = static_cast<std::uint8_t>(i + 1);
    bench.operands.bytes[0x40 + 16 + i] = static_cast<std::uint8_t>(-2);
  }
  bench.driver.send(0, ConvSetup{});
  bench.driver.send(0, run);
  ASSERT_EQ(bench.run(), "");
  // Kernel requested in 1, operands in 2, there in 3; the step in 4, the write in 5, its response in 6.
  EXPECT_EQ(bench.operands.arrivals.at(0).cycle, 1);
  EXPECT_EQ(bench.operands.arrivals.at(1).cycle, 2);
  EXPECT_EQ(bench.driver.released(2), 4);
  EXPECT_EQ(bench.results.arrivals.at(0).cycle, 5);
  EXPECT_EQ(bench.driver.done(2), 7);
  EXPECT_EQ(bench.results.bytes.at(0x100), static_cast<std::uint8_t>(-20));
  EXPECT_EQ(bench.results.bytes.at(0x103), 0xFF) << "int32, little-endian";
}

/// The cycle in which `columns` outputs of 8 channels are done.
void expect_done(int lanes, int columns, Cycle done) {
  const std::string actual = tilebeat::testing::in_child([&] {
    Bench bench(lanes);
    bench.driver.send(0, ConvSetup{});
    bench.driver.send(0, row_of(columns, 8));
    bench.run();
    EXPECT_EQ(bench.unit.beats, bench.unit.ledger.cycles()[static_cast<int>(Activity::kBusy)]);
    return std::to_string(bench.driver.done(2));
  });
  EXPECT_EQ(actual, std::to_string(done)) << lanes << " lanes, " << columns << " outputs";
}

TEST(DotUnit, throughput_is_one_step_of_lanes_channels_a_clock) {
  expect_done(8, 1, 7);
  expect_done(8, 50, 7 + 49);
  expect_done(4, 50, 7 + 1 + 49 * 2);
  expect_done(1, 50, 7 + 7 + 49 * 8);
}

TEST(DotUnit, stalls_are_named_after_what_is_waited_for) {
  Bench bench(8);
  bench.operands.respond_cycles = 30;  // one burst after the other can be under way, eight at a time
  bench.results.accept_cycles = 40, bench.results.respond_cycles = 45;
  bench.driver.send(0, ConvSetup{});
  bench.driver.send(0, row_of(40, 8));
  ASSERT_EQ(bench.run(4000), "");
  bench.unit.ledger.settle(4000);
  const auto clocks = [&](Activity a) { return bench.unit.ledger.cycles()[static_cast<std::size_t>(a)]; };
  EXPECT_EQ(clocks(Activity::kBusy), 40);
  EXPECT_EQ(clocks(Activity::kWeightLoad), 31) << "the kernel's way";
  EXPECT_GT(clocks(Activity::kInputLoad), 0);
  EXPECT_GT(clocks(Activity::kOutputSpace), 0);
  EXPECT_GT(clocks(Activity::kOutputReady), 0);
  EXPECT_GT(clocks(Activity::kNoWork), 0);
}

TEST(DotUnit, programs_that_make_no_sense_are_refused) {
  const auto error = [](const Operation& operation) {
    return tilebeat::testing::in_child([&] {
      Bench bench(4);
      bench.driver.send(0, operation);
      return bench.run();
    });
  };
  EXPECT_THAT(error(row_of(0, 4)), HasSubstr("dot.run: 1 x 0 outputs"));
  EXPECT_THAT(error(row_of(1, 5000)), HasSubstr("a kernel takes 5000 bytes, the register has 4096"));
  EXPECT_THAT(error(Copy{}), HasSubstr("the matrix unit of this core is a dot-product engine"));
}

}  // namespace
}  // namespace tilebeat::dot
