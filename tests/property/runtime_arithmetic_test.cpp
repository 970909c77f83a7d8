// Random networks in every arithmetic of SPEC NU-6, on random chips with every matrix engine: the reference's
// bytes, and one report in both granularities.
#include "budget.h"
#include "checked_run.h"
#include "random_arithmetic.h"
#include "random_engine.h"
#include "random_network.h"
#include "random_product.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace tilebeat::testing {
namespace {

std::string random_arithmetic() {
  constexpr std::array<const char*, 3> kNames{"float32", "float32_ort", "fixed"};
  return kNames.at(static_cast<std::size_t>(number(0, 2)));
}

class RuntimeArithmetic : public ::testing::TestWithParam<Engine> {};

TEST_P(RuntimeArithmetic, NU_6_CY_3_random_networks) {
  Refusals tally;
  check_cases(budget(25, 10), [&] {
    const RandomNetwork network(number(1, 6));
    const std::string text =
        with_arithmetic(nlohmann::json::parse(network.text()), random_arithmetic()).dump();
    RC_LOG() << text << "\n";
    const TemporaryFolder folder;
    const Workload workload = load_workload(folder.write("network.json", text));
    const HardwareConfig hardware = random_chip_with(GetParam());
    const auto planned = plan_or_refusal(workload, hardware, {""}, tally);
    if (planned) check_both_granularities(workload, hardware, planned->plan);
  });
  EXPECT_LE(tally.refused * 2, tally.cases) << "networks that cannot fit are the exception";
}

// Sums over parts of the channels, added up by vector units (SPEC MA-1): a chip of one cluster, one small
// map.
TEST_P(RuntimeArithmetic, NU_6_MA_1_sums_of_several_cores) {
  int reduced = 0;
  check_cases_until(
      [&] { return reduced >= budget(4, 2); }, 60,
      [&] {
        const std::string arithmetic = random_arithmetic();
        const int channels = number(300, 700), kernels = number(1, 16);
        nlohmann::json layer{{"name", "y"}, {"op", "conv2d"}, {"inputs", {"x"}}, {"out_channels", kernels}};
        layer["kernel"] = {1, 1}, layer["weights"] = {{"random", {{"seed", number(1, 1000)}}}};
        if (one_in(2)) layer["bias"] = {{"random", {{"seed", number(1, 1000)}}}};
        if (one_in(2)) layer["activation"] = "relu";
        if (one_in(2)) layer["depthwise"] = one_in(2);
        layer["requant"] = {{"scale", number(1, 4000) * 1e-6}, {"zero_point", number(-128, 127)}};
        scale_sums(layer);
        if (one_in(2)) layer["output_range"] = random_bounds("int8");
        const nlohmann::json file{{"arithmetic", arithmetic},
                                  {"inputs",
                                   {{{"name", "x"},
                                     {"shape", {1, number(1, 2), number(1, 3), channels}},
                                     {"random", {{"seed", 1}}}}}},
                                  {"layers", {layer}}};
        RC_LOG() << file.dump() << "\n";
        const TemporaryFolder folder;
        const Workload workload = load_workload(folder.write("layer.json", file.dump()));
        HardwareConfig hardware = random_chip_with(GetParam());
        Refusals tally;
        const auto planned = plan_or_refusal(workload, hardware, {""}, tally);
        if (!planned) return;
        reduced += planned->mappings.front().reduction_parts > 1 ? 1 : 0;
        check_both_granularities(workload, hardware, planned->plan);
      });
  EXPECT_GE(reduced, budget(4, 2)) << "layers whose sums several cores have";
}

INSTANTIATE_TEST_SUITE_P(Engines, RuntimeArithmetic, ::testing::ValuesIn(kEngines), engine_name);

}  // namespace
}  // namespace tilebeat::testing
