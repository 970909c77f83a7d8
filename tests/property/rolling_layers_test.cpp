// Random layers on random chips of rolling-register units, and products on every matrix engine: outputs
// against the reference operators, everything of one granularity against the other, other orders of processes
// (SPEC RO_1 to RO_6, OP_1, CY_3, CY_4).
#include "budget.h"
#include "checked_run.h"
#include "random_rolling.h"

#include <optional>

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace tilebeat::testing {
namespace {

/// Both granularities, and processes in another order; true unless the planner refused.
bool check_rolling(const Workload& workload, const HardwareConfig& hardware, Refusals& tally) {
  const auto plan = plan_or_refusal(workload, hardware, {"chip.", "wfold.", "dram.", "switch_array."}, tally);
  if (!plan) return false;
  const SimulatedRun run = check_both_granularities(workload, hardware, plan->plan, 60);
  check_any_order(hardware, plan->plan, run);
  return true;
}

TEST(RandomRollingLayers, RO_1_RO_2_RO_3_RO_4_RO_5_RO_6_CY_3_on_random_chips) {
  Refusals tally;
  int cut = 0;
  check_cases(budget(150, kFewest), [&] {
    const ConvShape shape = random_wfold_layer(200'000);
    RC_LOG() << to_text(shape) << "\n";
    const HardwareConfig hardware = random_rolling_chip();
    cut += check_rolling(conv_workload(shape), hardware, tally) ? 1 : 0;
  });
  EXPECT_LE(tally.refused * 2, tally.cases) << "layers that cannot fit are the exception";
  EXPECT_GE(cut * 2, tally.cases);
}

/// A product A x B: `axes` are those of A before its last one.
Workload product(std::vector<std::int64_t> axes, int length, int columns, const ConvShape& like) {
  ConvShape shape = like;
  shape.kernel = shape.stride = shape.dilation = {1, 1}, shape.pads = {0, 0, 0, 0};
  shape.groups = 1, shape.channels = length, shape.out_channels = columns;
  shape.batch = shape.height = 1, shape.width = 1;
  for (const std::int64_t extent : axes) shape.width *= static_cast<int>(extent);
  if (shape.requant) shape.requant->scale.resize(1);
  Workload workload = conv_workload(shape);
  Layer& layer = workload.layers.front();
  std::get<Conv2d>(layer.operation).pixels = PixelAxes::kRows;
  layer.op = "matmul";
  layer.output.shape = axes;
  layer.output.shape.push_back(columns);
  axes.push_back(length);
  workload.inputs["x"].shape = workload.input_data["x"].shape = axes;
  return workload;
}

TEST(RandomProducts, OP_1_RO_5_on_every_engine) {
  Refusals tally;
  check_cases(budget(120, kFewest), [&] {
    std::vector<std::int64_t> axes;
    for (int axis = number(1, 3); axis > 0; --axis) axes.push_back(skewed(40));
    if (axes.size() == 3) axes[0] = number(1, 3);
    const Workload workload = product(axes, skewed(150), skewed(60), random_wfold_layer(1000));
    const int engine = number(0, 2);
    HardwareConfig hardware = engine == 0   ? random_rolling_chip()
                              : engine == 1 ? random_wfold_chip()
                                            : random_chip();
    check_rolling(workload, hardware, tally);
  });
  EXPECT_LE(tally.refused * 2, tally.cases);
}

constexpr const char* kArray = "cluster0.core0.rolling.array";

/// The run of a product on the shipped configuration with stacked storage.
SimulatedRun run_stacked(int m, int n, int k, int blocks, rolling::BlockingChoice blocking) {
  ConvShape like;
  like.channels = n, like.out_channels = k;
  HardwareConfig hardware = load_hardware(TILEBEAT_SOURCE_DIR "/configs/rolling16_stacked.json");
  auto& config = hardware.engine<rolling::RollingConfig>();
  config.stacked_blocks = blocks, config.blocking = blocking;
  return check_both_granularities(product({m}, n, k, like), hardware,
                                  plan_network(product({m}, n, k, like), hardware).plan, 120);
}

TEST(RollingStacked, RO_7_operands_are_read_once_for_each_stack_of_the_other) {
  using rolling::BlockingChoice;
  constexpr int kLines = 16;
  for (const auto& [m, n, k] : {std::array{64, 64, 64}, {32, 32, 32}, {80, 48, 112}, {16, 20, 200}}) {
    for (const int s : {1, 2, 4}) {
      for (const BlockingChoice blocking : {BlockingChoice::kGroupRolling, BlockingChoice::kWholeRolling}) {
        if (s == 1 && blocking != BlockingChoice::kGroupRolling) continue;
        const SimulatedRun run = run_stacked(m, n, k, s, s == 1 ? BlockingChoice::kPlain : blocking);
        // A is read for every stack of columns of B, B for every stack of rows of A: the planner's jobs are
        // multiples of s L, so that no stack is cut.
        const auto stacks = [&](int lines) { return (lines + s * kLines - 1) / (s * kLines); };
        EXPECT_EQ(run.counter(kArray, "operands"), m * n * stacks(k) + n * k * stacks(m))
            << m << " x " << n << " x " << k << ", s = " << s;
      }
    }
  }
}

TEST(RollingStacked, RO_7_stacks_of_256_read_a_quarter) {
  const SimulatedRun run = run_stacked(256, 256, 256, 4, rolling::BlockingChoice::kGroupRolling);
  EXPECT_EQ(run.counter(kArray, "operands"), 2 * 256 * 256 * 4);
  EXPECT_EQ(run.counter(kArray, "operands_reloading"), 2 * 256 * 256 * 16);
}

TEST(RollingStacked, RO_7_the_planner_stacks_where_that_saves_reads_at_about_the_same_cycles) {
  const auto run = [](int blocks) {
    return run_stacked(256, 256, 256, blocks, rolling::BlockingChoice::kAuto);
  };
  const SimulatedRun chosen = run(0), plain = run(1);
  EXPECT_LE(2 * chosen.counter(kArray, "operands"), plain.counter(kArray, "operands"));
  EXPECT_LE(20 * chosen.cycles(), 21 * plain.cycles());
}

TEST(RollingStacked, RO_7_one_ring_of_two_blocks_rolls_once_for_each_cut) {
  // 32 lines in one ring: 31 rolls with their corrections, for each of two cuts that follow one another.
  const SimulatedRun run = run_stacked(32, 32, 32, 2, rolling::BlockingChoice::kWholeRolling);
  EXPECT_EQ(run.counter(kArray, "operands"), 2 * 32 * 32);
  EXPECT_EQ(run.counter(kArray, "rolls"), 2 * 31);
  EXPECT_EQ(run.counter(kArray, "corrections"), 2 * 31);
}

}  // namespace
}  // namespace tilebeat::testing
