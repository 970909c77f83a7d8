// Batches of rows, in whatever form a workload writes them (SPEC RN-9): products of a matrix with kernels.
#include "tilebeat_command.h"

#include <cstdint>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

class RowsOnEngine : public ::testing::TestWithParam<const char*> {};

/// The cycles of a layer whose input has 16 rows of 64 channels; its outputs are checked.
std::int64_t cycles_of(const std::string& config, const std::string& shape, const std::string& layer) {
  const CommandFolder folder;
  const std::string file = folder.write("layer.json", fmt::format(R"({{"name": "rows",
                 "inputs": [{{"name": "x", "shape": {}, "dtype": "int8", "random": {{"seed": 1}}, "zero_point": 3}}],
                 "layers": [{{"name": "y", {}, "inputs": ["x"], "weights": {{"random": {{"seed": 2}}}},
                              "requant": {{"scale": 0.001, "zero_point": 0, "dtype": "int8"}}}}]}})",
                                                                  shape, layer));
  const CommandResult run =
      folder.run({"run", "--config", source_path(config), "--layer", file, "--check", "on"});
  EXPECT_EQ(run.status, 0) << run.err;
  return folder.report().at("total").at("cycles");
}

TEST_P(RowsOnEngine, RN_9_maps_of_one_pixel_take_what_the_matmul_takes) {
  const std::string config = fmt::format("configs/{}.json", GetParam());
  const std::int64_t matmul = cycles_of(config, "[16, 64]", R"("op": "matmul", "out_features": 64)");
  EXPECT_EQ(cycles_of(config, "[16, 1, 1, 64]", R"("op": "fully_connected", "out_features": 64)"), matmul);
  EXPECT_EQ(cycles_of(config, "[16, 1, 1, 64]", R"("op": "conv2d", "out_channels": 64, "kernel": [1, 1])"),
            matmul);
}

// A mapping may ask for a group on hardware that is not fused: its maps are maps there, too.
TEST(RowsInGroups, RN_9_FU_9_groups_that_a_mapping_asks_for_take_maps_of_one_pixel) {
  const CommandFolder folder;
  const auto layer = [](const char* name, const char* input) {
    return fmt::format(
        R"({{"name": "{}", "op": "conv2d", "inputs": ["{}"], "out_channels": 64, "kernel": [1, 1],
                           "weights": {{"random": {{"seed": 2}}}}, "requant": {{"scale": 0.001}}}})",
        name, input);
  };
  folder.write("mapping.json", R"({"tilebeat_mapping": 1, "groups": [{"layers": ["a", "b"]}]})");
  for (const int maps : {7, 8, 64}) {
    folder.write("layers.json",
                 fmt::format(R"({{"name": "rows", "inputs": [{{"name": "x", "shape": [{}, 1, 1, 64],
                                 "dtype": "int8", "random": {{"seed": 1}}}}], "layers": [{}, {}]}})",
                             maps, layer("a", "x"), layer("b", "a")));
    const CommandResult run = folder.run({"run", "--config", source_path("configs/cluster4.json"), "--layer",
                                          "layers.json", "--mapping", "mapping.json", "--check", "on"});
    ASSERT_EQ(run.status, 0) << maps << run.err;
    EXPECT_EQ(folder.report().at("layers").at(0).at("op"), "fused") << maps;
  }
}

INSTANTIATE_TEST_SUITE_P(Engines, RowsOnEngine,
                         ::testing::Values("switch16", "wfold16x4", "rolling16", "offset16", "cluster4"),
                         [](const auto& engine) { return std::string(engine.param); });

}  // namespace
}  // namespace tilebeat::testing
