// Input channels of layers inside fusion groups, split over the cores of a cluster, with the real program
// (SPEC FU_2, MA_1, CY_3).
#include "tilebeat_command.h"

#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tilebeat::testing {
namespace {

using ::testing::HasSubstr;

// Two images; a stride, a residual sum, and results of a layer that are its sums.
constexpr const char* kNetwork = R"({"name": "net",
  "inputs": [{"name": "x", "shape": [2, 7, 5, 256], "dtype": "uint8", "zero_point": 3, "random": {"seed": 1}}],
  "layers": [
    {"name": "wide", "op": "conv2d", "inputs": ["x"], "out_channels": 192, "kernel": [3, 3], "pads": [1, 1, 1, 1],
     "weights": {"random": {"seed": 2}}, "bias": {"random": {"seed": 3}}, "activation": "relu",
     "requant": {"scale": 0.0008, "zero_point": 2, "dtype": "uint8"}},
    {"name": "strided", "op": "conv2d", "inputs": ["wide"], "out_channels": 128, "kernel": [3, 3], "stride": [2, 1],
     "pads": [1, 1, 1, 1], "weights": {"random": {"seed": 4}}, "bias": {"random": {"seed": 5}},
     "requant": {"scale": 0.0008, "zero_point": 2, "dtype": "uint8"}},
    {"name": "narrow", "op": "conv2d", "inputs": ["strided"], "out_channels": 128, "kernel": [1, 1],
     "weights": {"random": {"seed": 6}}, "requant": {"scale": 0.003, "zero_point": 9, "dtype": "uint8"}},
    {"name": "sum", "op": "add", "inputs": ["narrow", "strided"], "requant": {"scale": 0.5, "zero_point": 1}},
    {"name": "raw", "op": "conv2d", "inputs": ["sum"], "out_channels": 20, "kernel": [1, 1],
     "weights": {"random": {"seed": 7}}}
  ], "outputs": ["raw"]})";

std::string group(const std::string& fields) {
  return R"({"tilebeat_mapping": 1, "groups": [{"layers": ["wide", "strided", "narrow", "sum", "raw"])" +
         fields + "}]}";
}

class UnitReductionOn : public ::testing::TestWithParam<const char*> {
 protected:
  CommandResult command(const std::string& name, const std::string& fields,
                        const std::vector<std::string>& options = {}) {
    std::vector<std::string> all{name,
                                 "--config",
                                 source_path(GetParam()),
                                 "--layer",
                                 folder_.write("net.json", kNetwork),
                                 "--mapping",
                                 folder_.write("m.json", group(fields))};
    all.insert(all.end(), options.begin(), options.end());
    return folder_.run(all);
  }
  // Runs in both granularities, checked; returns the outputs.
  std::string outputs(const std::string& fields) {
    for (const char* granularity : {"tile", "clock"}) {
      const CommandResult run = command(
          "run", fields, {"--check", "on", "--granularity", granularity, "--out", folder_.path(granularity)});
      EXPECT_EQ(run.status, 0) << fields << run.out << run.err;
    }
    EXPECT_EQ(folder_.results("tile"), folder_.results("clock")) << fields;
    return read_bytes(folder_.path("tile/outputs/raw.npy"));
  }
  CommandFolder folder_;
};

TEST_P(UnitReductionOn, FU_2_CY_3_outputs_are_those_without_in_both_granularities) {
  const std::string without = outputs("");
  for (
      const char* fields :
      {R"(, "step_rows": 2, "reductions": {"wide": 2})",
       R"(, "step_rows": 2, "kernels": "streamed", "reductions": {"wide": 4, "strided": 2, "raw": 2})",
       R"(, "step_rows": 3, "step_columns": 4, "holding": "recompute", "reductions": {"wide": 3, "narrow": 2})",
       R"(, "holding": "whole", "clusters": 1, "reductions": {"strided": 3, "narrow": 2})",
       R"(, "step_rows": 4, "step_columns": 3, "clusters": 2, "kernels": "streamed",
             "reductions": {"strided": 3, "raw": 2})",
       R"(, "step_rows": 4, "step_maps": 2, "clusters": 1, "reductions": {"wide": 4, "strided": 3, "raw": 2})"})
    EXPECT_EQ(outputs(fields), without) << fields;
}

INSTANTIATE_TEST_SUITE_P(Engines, UnitReductionOn,
                         ::testing::Values("configs/cluster4x4.json", "configs/wfold_cluster4x4.json",
                                           "configs/rolling_cluster4x4.json",
                                           "configs/offset_cluster4x4.json"),
                         [](const auto& config) { return test_name(config.param); });

// Bottlenecks over small maps: a tile holds a whole map, and 16 kernels are one block, for one core.
std::string bottlenecks() {
  const auto conv = [](const std::string& name, const std::string& input, int kernels, int side) {
    return fmt::format(
        R"({{"name": "{0}", "op": "conv2d", "inputs": ["{1}"], "out_channels": {2}, "kernel": [{3}, {3}],
             "pads": [{4}, {4}, {4}, {4}], "weights": {{"random": {{"seed": 2}}}},
             "bias": {{"random": {{"seed": 3}}}}, "activation": "relu",
             "requant": {{"scale": 0.0005, "zero_point": 2, "dtype": "uint8"}}}},)",
        name, input, kernels, side, side / 2);
  };
  const std::string add = R"({"name": "sum", "op": "add", "inputs": ["x", "expand"],
                              "requant": {"scale": 0.5, "zero_point": 2, "dtype": "uint8"}})";
  return R"({"name": "bottleneck", "inputs": [{"name": "x", "shape": [16, 4, 4, 512], "dtype": "uint8",
              "random": {"seed": 1}}], "layers": [)" +
         conv("squeeze", "x", 16, 3) + conv("expand", "squeeze", 512, 1) + add + R"(], "outputs": ["sum"]})";
}

class UnitTeams : public ::testing::TestWithParam<const char*> {};

TEST_P(UnitTeams, FU_2_FU_5_planners_take_them_where_they_pay) {
  const CommandFolder folder;
  const std::string config =
      folder.write("chip.json", fmt::format(R"({{"fused": true, "fusion": {{"planner": "{}"}},
        "chip": {{"clusters": 1, "cores_per_cluster": 4, "memory_controllers": 2}}}})",
                                            GetParam()));
  const std::string network = folder.write("net.json", bottlenecks()), mapping = folder.path("plan.json");
  const CommandResult plan =
      folder.run({"plan", "--config", config, "--layer", network, "--mapping", mapping});
  ASSERT_EQ(plan.status, 0) << plan.err;
  EXPECT_THAT(plan.out,
              HasSubstr("sums             squeeze: 2 cores of a cluster each add up at most 256 of 512"));
  auto written = nlohmann::json::parse(read_bytes(mapping));
  EXPECT_EQ(written["groups"][0]["reductions"], nlohmann::json({{"squeeze", 2}}));
  const auto run = [&](const std::string& name, const std::vector<std::string>& more) {
    std::vector<std::string> all{"run",     "--config", config,  "--layer",        network,
                                 "--check", "on",       "--out", folder.path(name)};
    all.insert(all.end(), more.begin(), more.end());
    const CommandResult result = folder.run(all);
    EXPECT_EQ(result.status, 0) << result.out << result.err;
    return folder.report(name).at("total").at("cycles").get<std::int64_t>();
  };
  const std::int64_t chosen = run("chosen", {});
  EXPECT_EQ(run("given", {"--mapping", mapping}), chosen);
  written["groups"][0].erase("reductions");
  EXPECT_LT(chosen * 10, 9 * run("without", {"--mapping", folder.write("without.json", written.dump())}));
}
INSTANTIATE_TEST_SUITE_P(Planners, UnitTeams, ::testing::Values("rules", "optimal"),
                         [](const auto& planner) { return std::string(planner.param); });

struct RefusedUnit {
  const char *name, *reductions, *reason;
};
void PrintTo(const RefusedUnit& parameter, std::ostream* out) {
  *out << parameter.name;
}
class UnitReductionRefused : public ::testing::TestWithParam<RefusedUnit> {};

TEST_P(UnitReductionRefused, FU_2_UI_2_with_the_reason_on_one_line) {
  const CommandFolder folder;
  const std::string mapping =
      folder.write("m.json", group(std::string(R"(, "reductions": )") + GetParam().reductions));
  const CommandResult run = folder.run({"run", "--config", source_path("configs/cluster4x4.json"), "--layer",
                                        folder.write("net.json", kNetwork), "--mapping", mapping});
  EXPECT_EQ(run.status, 2);
  EXPECT_THAT(run.err, HasSubstr(mapping + ": " + GetParam().reason));
  EXPECT_EQ(run.err.find('\n'), run.err.size() - 1) << run.err;
}
INSTANTIATE_TEST_SUITE_P(
    Mappings, UnitReductionRefused,
    ::testing::Values(
        RefusedUnit{"one_core", R"({"wide": 1})",
                    "/groups/0/reductions/wide: 1 is not allowed, allowed is 2 to 1024"},
        RefusedUnit{"no_number", R"({"wide": "all"})", R"(/groups/0/reductions/wide: "all" is not allowed)"},
        RefusedUnit{"a_fraction", R"({"wide": 2.5})", "/groups/0/reductions/wide: 2.5 is not allowed"},
        RefusedUnit{"no_object", R"(["wide"])", "/groups/0/reductions: expected an object"},
        RefusedUnit{"unknown_layer", R"({"wild": 2})",
                    "/groups/0: reductions: 'wild' is not a layer of the group on matrix units"},
        RefusedUnit{"vector_layer", R"({"sum": 2})",
                    "/groups/0: reductions: 'sum' is not a layer of the group on matrix units"},
        RefusedUnit{
            "more_than_a_cluster", R"({"wide": 5})",
            "/groups/0: reductions: layer 'wide' cannot be mapped so: reduction_parts 5 is more than 4, "
            "chip.cores_per_cluster"},
        RefusedUnit{"a_number", "2", "/groups/0/reductions: expected an object"}),
    [](const auto& refused) { return std::string(refused.param.name); });

}  // namespace
}  // namespace tilebeat::testing
