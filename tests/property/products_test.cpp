// Products of matrices on every matrix engine: operands from inputs and other layers, transposed, broadcast;
// outputs against the reference, everything of one granularity against the other, other orders of processes
// (SPEC OP_1, NU_1, NU_2, CY_3, CY_4).
#include "budget.h"
#include "checked_run.h"
#include "random_engine.h"
#include "random_product.h"

#include <string>

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace tilebeat::testing {
namespace {

/// Both granularities, and processes in another order; true unless the planner refused.
bool check_product(const Workload& workload, const HardwareConfig& hardware, Refusals& tally) {
  const auto plan =
      plan_or_refusal(workload, hardware, {"chip.", "wfold.", "dram.", "switch_array.", "offset."}, tally);
  if (!plan) return false;
  const SimulatedRun run = check_both_granularities(workload, hardware, plan->plan, 60);
  SimulationOptions options;
  options.granularity = one_in(2) ? Granularity::kTile : Granularity::kClock;
  options.jitter_seed = static_cast<std::uint32_t>(number(1, 1000));
  options.build_order_seed = static_cast<std::uint32_t>(number(1, 1000));
  RC_ASSERT(simulate_in_child(hardware, plan->plan, options, 60).report_text == run.report_text);
  return true;
}

class RandomProductsOn : public ::testing::TestWithParam<Engine> {
 protected:
  static HardwareConfig random_hardware() { return random_chip_with(GetParam()); }
};

TEST_P(RandomProductsOn, OP_1_either_operand_is_any_tensor_transposed_or_broadcast) {
  Refusals tally;
  check_cases(budget(100, kFewest), [&] {
    const RandomProducts products({});
    RC_LOG() << products.text() << "\n";
    check_product(products.load(), random_hardware(), tally);
  });
  EXPECT_LE(tally.refused * 2, tally.cases) << "products that cannot fit are the exception";
}

// Kernels that do not fit WRAM: the inner dimension is added up in parts.
TEST_P(RandomProductsOn, OP_1_a_long_inner_dimension_is_cut) {
  Refusals tally;
  check_cases(budget(30, 12), [&] {
    const RandomProducts products({12, 700, 30, 3});
    RC_LOG() << products.text() << "\n";
    check_product(products.load(), random_hardware(), tally);
  });
  EXPECT_LE(tally.refused * 2, tally.cases) << "products that cannot fit are the exception";
}

INSTANTIATE_TEST_SUITE_P(Engines, RandomProductsOn, ::testing::ValuesIn(kEngines), engine_name);

}  // namespace
}  // namespace tilebeat::testing
