// Layers on a board without cores, whose rolling-register unit reads operands straight from DRAM (SPEC RO-5):
// outputs against the reference operators, one granularity against the other.
#include "budget.h"
#include "checked_run.h"
#include "random_rolling.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace tilebeat::testing {
namespace {

/// A board with a random small unit on a bus to DRAM.
HardwareConfig random_rolling_board() {
  HardwareConfig hardware = random_rolling_chip();
  hardware.chip.reset();
  hardware.host.start = HostStart::kEach;
  hardware.planner.map_layout = MapLayout::kNhwc;  // boards have no other
  auto& transposition = hardware.engine<rolling::RollingConfig>().transposition;
  if (transposition == rolling::TranspositionChoice::kStep)
    transposition = rolling::TranspositionChoice::kInMemory;
  return hardware;
}

TEST(RollingBoard, RO_5_RO_6_CY_3_operands_straight_from_dram) {
  Refusals tally;
  int run = 0;
  const int cases = budget(40, 16);
  check_cases(cases, [&] {
    const ConvShape shape = random_wfold_layer(60'000);
    RC_LOG() << to_text(shape) << "\n";
    const Workload workload = conv_workload(shape);
    const HardwareConfig hardware = random_rolling_board();
    const auto plan = plan_or_refusal(workload, hardware, {"dram."}, tally);
    if (!plan) return;
    check_both_granularities(workload, hardware, plan->plan, 60);
    ++run;
  });
  EXPECT_GE(run, cases - 5) << "boards that refuse a layer are the exception";
}

TEST(RollingBoard, RO_5_operands_are_read_once_a_round) {
  // 20 x 32 times 32 x 20 on 16 x 16 PEs, one block pair after the other: 2 x 2 output blocks, each of which
  // reads its rows of A and its columns of B.
  ConvShape shape;
  shape.height = 1, shape.width = 20, shape.channels = 32, shape.out_channels = 20;
  const Workload workload = conv_workload(shape);
  HardwareConfig hardware;
  hardware.dataflow = rolling::kDataflow;
  hardware.engine<rolling::RollingConfig>().blocking = rolling::BlockingChoice::kPlain;
  const PlannedNetwork planned = plan_network(workload, hardware);
  SimulationOptions options;
  for (const Granularity granularity : {Granularity::kClock, Granularity::kTile}) {
    options.granularity = granularity;
    const SimulatedRun run = simulate_in_child(hardware, planned.plan, options, 60);
    EXPECT_EQ(run.failures, std::vector<std::string>{});
    EXPECT_EQ(run.counter("rolling.array", "operands"), 2 * (20 * 32 + 20 * 32));
    EXPECT_EQ(run.counter("rolling.array", "operands_reloading"), 2 * (20 * 32 + 20 * 32));
    EXPECT_EQ(run.counter("rolling.a", "read"), 2 * 20 * 32);
    // L computations of each of two cuts: 16 for every pair that has a full block, 4 for the last one.
    EXPECT_EQ(run.counter("rolling.array", "beats"), 2 * (16 + 16 + 16 + 4));
  }
}

}  // namespace
}  // namespace tilebeat::testing
