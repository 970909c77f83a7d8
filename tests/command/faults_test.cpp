// A broken cell of any memory fails the check, in both granularities alike (SPEC CY-3).
#include "tilebeat_command.h"

#include <ostream>
#include <string>

#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

struct BrokenCell {
  const char *name, *engine, *place;
};

void PrintTo(const BrokenCell& cell, std::ostream* out) {
  *out << cell.place;
}

class Faults : public ::testing::TestWithParam<BrokenCell> {};

TEST_P(Faults, CY_3_a_broken_cell_of_any_memory_of_any_core_fails_the_check) {
  const CommandFolder folder;
  const std::string config = folder.write(
      "chip.json", std::string(R"({"dataflow": ")") + GetParam().engine +
                       R"(", "chip": {"clusters": 2, "cores_per_cluster": 2, "dram_path": "sram"}})");
  const std::string layer = folder.write(
      "layer.json",
      R"({"name": "n", "inputs": [{"name": "x", "shape": [1, 24, 24, 32], "dtype": "int8", "random": {"seed": 1}}],
          "layers": [{"name": "y", "op": "conv2d", "inputs": ["x"], "out_channels": 64, "kernel": [3, 3],
            "stride": [1, 1], "pads": [1, 1, 1, 1], "weights": {"random": {"seed": 2}},
            "requant": {"scale": 0.002, "zero_point": 2, "dtype": "int8"}}], "outputs": ["y"]})");
  nlohmann::json reports[2];
  for (int i = 0; i < 2; ++i) {
    const CommandResult result =
        folder.run({"run", "--config", config, "--layer", layer, "--check", "on", "--granularity",
                    i == 0 ? "tile" : "clock", "--fault", std::string(GetParam().place) + ":0:0:0x80"});
    EXPECT_EQ(result.status, 1) << result.err;
    reports[i] = folder.report();
    EXPECT_EQ(reports[i].at("layers").at(0).at("check"), "failed");
    EXPECT_TRUE(reports[i].at("failures").empty()) << "nothing else goes wrong";
  }
  EXPECT_EQ(reports[0], reports[1]);
}
INSTANTIATE_TEST_SUITE_P(Places, Faults,
                         ::testing::Values(BrokenCell{"switch_nram", "dilated", "cluster1.core1.nram"},
                                           BrokenCell{"switch_wram", "dilated", "cluster1.core0.wram"},
                                           BrokenCell{"switch_engine", "dilated", "cluster0.core1.engine"},
                                           BrokenCell{"switch_sram", "dilated", "cluster1.sram"},
                                           BrokenCell{"wfold_nram", "wfold", "cluster1.core1.nram"},
                                           BrokenCell{"wfold_wram", "wfold", "cluster1.core1.wram"},
                                           BrokenCell{"rolling_nram", "rolling", "cluster1.core1.nram"},
                                           BrokenCell{"rolling_wram", "rolling", "cluster1.core1.wram"},
                                           BrokenCell{"rolling_engine", "rolling", "cluster1.core0.engine"},
                                           BrokenCell{"wfold_engine", "wfold", "cluster0.core1.engine"},
                                           BrokenCell{"offset_engine", "offset", "cluster0.core1.engine"},
                                           BrokenCell{"offset_nram", "offset", "cluster1.core1.nram"},
                                           BrokenCell{"offset_wram", "offset", "cluster1.core1.wram"}),
                         [](const auto& cell) { return cell.param.name; });

}  // namespace
}  // namespace tilebeat::testing
