// Input channels split over the cores of a cluster, with the real program (SPEC MA_1, RO_6, OP_1, HI_3).
#include "tilebeat_command.h"

#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tilebeat::testing {
namespace {

using ::testing::HasSubstr;

constexpr const char* kProduct =
    R"({"name": "long", "inputs": [{"name": "a", "shape": [16, 4096], "zero_point": 3, "random": {"seed": 1}}],
        "layers": [{"name": "conv", "op": "matmul", "inputs": ["a"], "out_features": 16,
                    "weights": {"random": {"seed": 2}}, "bias": {"random": {"seed": 3}},
                    "requant": {"scale": 0.0002, "zero_point": -5, "dtype": "int8"}}]})";

std::string mapping_of(const std::string& fields) {
  return R"({"tilebeat_mapping": 1, "layers": [{"layer": "conv", )" + fields + "}]}";
}

class LongProductOn : public ::testing::TestWithParam<const char*> {
 protected:
  /// The cycles of a run whose outputs are checked.
  std::int64_t cycles(const std::string& out, const std::vector<std::string>& options) {
    std::vector<std::string> all{"run",
                                 "--config",
                                 source_path(GetParam()),
                                 "--layer",
                                 folder_.write("long.json", kProduct),
                                 "--check",
                                 "on",
                                 "--out",
                                 folder_.path(out)};
    all.insert(all.end(), options.begin(), options.end());
    const CommandResult run = folder_.run(all);
    EXPECT_EQ(run.status, 0) << run.out << run.err;
    return folder_.report(out).at("total").at("cycles");
  }
  std::string written(const std::string& fields) { return folder_.write("m.json", mapping_of(fields)); }
  CommandFolder folder_;
};

TEST_P(LongProductOn, RO_6_OP_1_MA_1_is_faster_on_four_cores_and_exact) {
  // One core by its own port to DRAM.
  const std::int64_t one =
      cycles("one", {"--mapping", written(R"("reduction_parts": 1, "row_parts": 1, "column_parts": 1,
                                             "kernel_parts": 1, "maps": "direct", "kernels": "direct")")});
  const std::int64_t four = cycles("four", {"--mapping", written(R"("reduction_parts": 4, "row_parts": 1,
                                                                    "column_parts": 1, "kernel_parts": 1)")});
  const std::int64_t chosen = cycles("chosen", {});
  EXPECT_LT(four * 3, one * 2);
  EXPECT_LE(chosen, four) << "the planner finds it";
  EXPECT_EQ(read_bytes(folder_.path("one/outputs/conv.npy")),
            read_bytes(folder_.path("four/outputs/conv.npy")));
}

TEST_P(LongProductOn, CY_3_MA_1_granularities_and_the_mapping_that_plan_writes_give_the_same_report) {
  const CommandResult plan =
      folder_.run({"plan", "--config", source_path(GetParam()), "--layer",
                   folder_.write("long.json", kProduct), "--mapping", folder_.path("plan.json")});
  ASSERT_EQ(plan.status, 0) << plan.err;
  EXPECT_THAT(plan.out, HasSubstr("4 of the channels"));
  EXPECT_THAT(plan.out, HasSubstr("4 cores of a cluster each add up at most 1024 of 4096 channels"));
  const auto layer = nlohmann::json::parse(read_bytes(folder_.path("plan.json"))).at("layers").at(0);
  EXPECT_EQ(layer.at("reduction_parts"), 4);
  cycles("tile", {"--granularity", "tile"}), cycles("clock", {"--granularity", "clock"});
  cycles("given", {"--granularity", "tile", "--mapping", folder_.path("plan.json")});
  EXPECT_EQ(folder_.results("tile"), folder_.results("clock"));
  EXPECT_EQ(folder_.results("tile"), folder_.results("given"));
}
INSTANTIATE_TEST_SUITE_P(Engines, LongProductOn,
                         ::testing::Values("configs/cluster4.json", "configs/wfold_cluster4x4.json",
                                           "configs/rolling_cluster4x4.json"),
                         [](const auto& config) { return test_name(config.param); });

// Every number of cores that a cluster has, beside other splits: the same outputs.
TEST(ReductionParts, MA_1_a_field_that_is_changed_is_obeyed_and_outputs_stay) {
  const CommandFolder folder;
  const std::string layer = folder.write(
      "conv.json",
      R"({"name": "conv", "inputs": [{"name": "x", "shape": [1, 7, 9, 96], "random": {"seed": 1}}],
        "layers": [{"name": "conv", "op": "conv2d", "inputs": ["x"], "out_channels": 40, "kernel": [3, 3],
                    "pads": [1, 1, 1, 1], "weights": {"random": {"seed": 2}}, "activation": "relu",
                    "bias": {"random": {"seed": 3}}}]})");
  const auto run = [&](const std::string& fields, const std::string& out) {
    const CommandResult result =
        folder.run({"run", "--config", source_path("configs/cluster4x4.json"), "--layer", layer, "--mapping",
                    folder.write("m.json", mapping_of(fields)), "--check", "on", "--out", folder.path(out)});
    EXPECT_EQ(result.status, 0) << fields << result.err;
    return read_bytes(folder.path(out + "/outputs/conv.npy"));
  };
  const std::string one = run(R"("reduction_parts": 1)", "one");
  for (
      const char* fields :
      {R"("reduction_parts": 2)", R"("reduction_parts": 3)", R"("reduction_parts": 4)",
       R"("reduction_parts": 2, "row_parts": 2, "kernel_parts": 2)",
       R"("reduction_parts": 4, "maps": "sram", "kernels": "broadcast", "results": "sram", "kernel_parts": 1)",
       R"("reduction_parts": 2, "kernels": "sram", "row_parts": 4)",
       R"("reduction_parts": 2, "channel_parts": 2, "blocks_per_load": 1, "kernel_buffers": 2)",
       R"("reduction_parts": 4, "tile_rows": 2, "tile_columns": 8, "order": "kernel_outer")"}) {
    EXPECT_EQ(run(fields, "given"), one) << fields;
  }
}

struct RefusedReduction {
  const char *name, *chip, *layer, *fields, *reason;
};
void PrintTo(const RefusedReduction& parameter, std::ostream* out) {
  *out << parameter.name;
}
constexpr const char* kConvolution = R"("op": "conv2d", "out_channels": 32, "kernel": [1, 1])";
class ReductionRefused : public ::testing::TestWithParam<RefusedReduction> {};

TEST_P(ReductionRefused, MA_1_with_the_reason) {
  const CommandFolder folder;
  const std::string layer = folder.write(
      "conv.json",
      fmt::format(
          R"({{"name": "conv", "inputs": [{{"name": "x", "shape": [1, 4, 8, 64], "random": {{"seed": 1}}}}],
                      "layers": [{{"name": "conv", {}, "inputs": ["x"], "weights": {{"random": {{"seed": 2}}}}}}]}})",
          GetParam().layer));
  const CommandResult run =
      folder.run({"run", "--config", folder.write("c.json", GetParam().chip), "--layer", layer, "--mapping",
                  folder.write("m.json", mapping_of(GetParam().fields))});
  EXPECT_EQ(run.status, 2);
  EXPECT_THAT(run.err, HasSubstr(GetParam().reason));
}
INSTANTIATE_TEST_SUITE_P(
    Mappings, ReductionRefused,
    ::testing::Values(
        RefusedReduction{
            "more_cores_than_a_cluster", R"({"chip": {"clusters": 2, "cores_per_cluster": 4}})", kConvolution,
            R"("reduction_parts": 8)",
            "reduction_parts 8 is more than 4, chip.cores_per_cluster: sums pass through the memory of a"},
        RefusedReduction{"one_core_a_cluster", R"({"chip": {"clusters": 4, "cores_per_cluster": 1}})",
                         kConvolution, R"("reduction_parts": 2)",
                         "reduction_parts 2 is more than 1, chip.cores_per_cluster"},
        RefusedReduction{"teams_across_clusters", R"({"chip": {"clusters": 2, "cores_per_cluster": 4}})",
                         kConvolution, R"("reduction_parts": 3, "row_parts": 2)",
                         "row_parts 2 is more than 1"},
        RefusedReduction{"more_parts_than_grains",
                         R"({"chip": {"cores_per_cluster": 16}, "switch_array": {"port_channels": 8}})",
                         kConvolution, R"("reduction_parts": 9)",
                         "is more than 8, the parts of 64 channels in multiples of 8"},
        RefusedReduction{"groups", R"({"chip": {"cores_per_cluster": 4}})",
                         R"("op": "conv2d", "out_channels": 64, "kernel": [1, 1], "groups": 2)",
                         R"("reduction_parts": 2)",
                         "reduction_parts 2 needs sums over parts of the channels"},
        RefusedReduction{"more_parts_than_groups", R"({"chip": {"cores_per_cluster": 8}})",
                         R"("op": "conv2d", "out_channels": 64, "kernel": [1, 1], "groups": 64)",
                         R"("group_parts": 5)",
                         "group_parts 5 is more than 4, what 64 groups in multiples of 16 and 8 cores allow"},
        RefusedReduction{"groups_of_a_layer_without", R"({"chip": {"cores_per_cluster": 8}})", kConvolution,
                         R"("group_parts": 2)", "group_parts 2 is more than 1, what 1 groups"},
        RefusedReduction{"groups_and_channels", R"({"chip": {"cores_per_cluster": 8}})",
                         R"("op": "conv2d", "out_channels": 64, "kernel": [1, 1], "groups": 2)",
                         R"("group_parts": 2, "reduction_parts": 2)",
                         "reduction_parts 2 needs sums over parts of the channels"},
        RefusedReduction{"groups_and_rows", R"({"chip": {"cores_per_cluster": 4}})",
                         R"("op": "conv2d", "out_channels": 64, "kernel": [1, 1], "groups": 64)",
                         R"("group_parts": 4, "row_parts": 2)", "row_parts 2 is more than 1"},
        RefusedReduction{"strips_of_narrow_tiles", R"({"chip": {"cores_per_cluster": 4}})", kConvolution,
                         R"("map_strips": true, "column_parts": 1, "tile_columns": 4)",
                         "map_strips needs tiles as wide as a core's part, 8 columns; they have 4"},
        RefusedReduction{"nram",
                         R"({"chip": {"cores_per_cluster": 4, "core": {"nram": {"size_bytes": 2048}}}})",
                         kConvolution, R"("reduction_parts": 2, "tile_rows": 4, "tile_columns": 8)",
                         "outputs with its inputs and sums of other cores takes"},
        RefusedReduction{"no_cores", R"({"dataflow": "dilated"})", kConvolution, R"("reduction_parts": 2)",
                         "cannot be mapped: the hardware has no chip"},
        RefusedReduction{"range", R"({"chip": {"cores_per_cluster": 4}})", kConvolution,
                         R"("reduction_parts": 0)", "/layers/0/reduction_parts"}),
    [](const auto& refused) { return refused.param.name; });

}  // namespace
}  // namespace tilebeat::testing
