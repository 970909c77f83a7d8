// Random networks whose weights have four bits, on random chips of every engine: the bytes of every output
// are the reference's with the decoded weights, in both granularities, fused and not, and DRAM moves what was
// planned (SPEC DT-1, DT-4).
#include "budget.h"
#include "checked_run.h"
#include "four_bits.h"
#include "random_engine.h"
#include "random_network.h"

#include <string>

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace tilebeat::testing {
namespace {

struct FourBitTally : Refusals {
  int layers = 0, decoded = 0, grouped = 0;
};

void check_four_bits(Engine engine, bool fused, FourBitTally& tally) {
  const RandomNetwork network(number(1, 4));
  RC_LOG() << network.text() << "\n";
  Workload workload = network.load();
  const int given = give_four_bits(workload);
  if (given == 0) return;
  HardwareConfig hardware = random_chip_with(engine);
  hardware.fused = fused;
  if (fused) {
    keep_last_outputs(workload);
    hardware.fusion.keep_where_slower = true, hardware.fusion.least_main_layers = 1;
  }
  hardware.chip->decode_bytes_per_clock = number(1, 40);
  const auto planned =
      plan_or_refusal(workload, hardware,
                      {"chip.", "NRAM", "switch_array.", "wfold.", "rolling.", "offset.", "dram."}, tally);
  if (!planned) return;
  const SimulatedRun run = check_both_granularities(workload, hardware, planned->plan, 30);
  check_planned_bytes(planned->plan, run);
  if (one_in(4)) check_any_order(hardware, planned->plan, run);
  tally.layers += given;
  for (const LayerPlan& layer : planned->plan.layers) tally.grouped += layer.layers.size() > 1 ? 1 : 0;
  std::int64_t decoded = 0;
  for (const auto& counter : run.report.at("counters"))
    decoded += counter.at("name") == "decoded" ? counter.at("value").get<std::int64_t>() : 0;
  RC_ASSERT(decoded > 0);
}

class FourBitWeights : public ::testing::TestWithParam<Engine> {};

TEST_P(FourBitWeights, DT_1_DT_4_random_networks_layer_by_layer) {
  FourBitTally tally;
  check_cases_until([&] { return tally.layers >= budget(100, 20); }, budget(60, 12),
                    [&] { check_four_bits(GetParam(), false, tally); });
  EXPECT_GE(tally.layers, budget(100, 20)) << "layers with weights of four bits";
}

TEST_P(FourBitWeights, DT_1_DT_4_random_networks_fused) {
  FourBitTally tally;
  check_cases_until([&] { return tally.layers >= budget(60, 12) && tally.grouped > 0; }, budget(40, 10),
                    [&] { check_four_bits(GetParam(), true, tally); });
  EXPECT_GE(tally.layers, budget(60, 12)) << "layers with weights of four bits";
  EXPECT_GT(tally.grouped, 0) << "fusion groups";
}

INSTANTIATE_TEST_SUITE_P(Engines, FourBitWeights, ::testing::ValuesIn(kEngines), engine_name);

}  // namespace
}  // namespace tilebeat::testing
