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

}  // namespace
}  // namespace tilebeat::testing
