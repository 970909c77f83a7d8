// Random layers and products on random chips of offset-table engines: outputs against the reference
// operators, everything of one granularity against the other, other orders of processes (SPEC OT_1 to OT_6,
// CY_3, CY_4).
#include "budget.h"
#include "checked_run.h"
#include "random_offset.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace tilebeat::testing {
namespace {

/// Both granularities, and processes in another order; true unless the planner refused.
bool check_offset(const Workload& workload, const HardwareConfig& hardware, Refusals& tally) {
  const auto plan = plan_or_refusal(workload, hardware, {"chip.", "offset.", "dram."}, tally);
  if (!plan) return false;
  const SimulatedRun run = check_both_granularities(workload, hardware, plan->plan, 60);
  if (!one_in(4)) return true;
  check_any_order(hardware, plan->plan, run);
  return true;
}

TEST(RandomOffsetLayers, OT_1_OT_2_OT_3_OT_4_OT_5_OT_6_CY_3_on_random_chips) {
  Refusals tally;
  int run = 0;
  check_cases(budget(300), [&] {
    const ConvShape shape = random_wfold_layer(100'000);
    RC_LOG() << to_text(shape) << "\n";
    run += check_offset(conv_workload(shape), random_offset_chip(), tally) ? 1 : 0;
  });
  EXPECT_GE(run * 4, tally.cases * 3) << tally.refused << " of " << tally.cases << " layers cannot fit";
}

}  // namespace
}  // namespace tilebeat::testing
