// Poolings with the real program whose windows do not fit NRAM with all their channels (SPEC HI-2).
#include "tilebeat_command.h"

#include <map>
#include <string>

#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

using nlohmann::json;

TEST(PoolingCommand, HI_2_CY_3_channels_of_large_windows_are_pooled_in_parts) {
  const json x{{"name", "x"}, {"shape", {1, 9, 7, 600}}, {"zero_point", 5}, {"random", {{"seed", 1}}}};
  const json file{{"inputs", {x}},
                  {"layers",
                   {{{"name", "mean"}, {"op", "global_average_pool"}, {"inputs", {"x"}}},
                    {{"name", "peaks"},
                     {"op", "max_pool"},
                     {"inputs", {"x"}},
                     {"kernel", {8, 7}},
                     {"stride", {1, 1}},
                     {"pads", {0, 1, 0, 0}}}}},
                  {"outputs", {"mean", "peaks"}}};
  std::map<std::string, std::map<std::string, std::string>> files;
  const CommandFolder folder;
  for (const std::string granularity : {"tile", "clock"}) {
    const std::string chip = folder.write(
        "small.json", R"({"chip": {"cores_per_cluster": 2, "core": {"nram": {"size_bytes": 32768}}}})");
    const CommandResult result =
        folder.run({"run", "--config", chip, "--layer", folder.write("model.json", file.dump()), "--check",
                    "on", "--granularity", granularity});
    ASSERT_EQ(result.status, 0) << result.out << result.err;
    const json report = folder.report();
    for (const auto& layer : report.at("layers")) EXPECT_EQ(layer.at("check"), "passed") << layer.at("name");
    files[granularity] = folder.files();
  }
  EXPECT_TRUE(files["tile"] == files["clock"]) << "report and outputs are the same bytes";
}

// A window as long as the map makes no step.
TEST(PoolingCommand, HI_2_OP_1_windows_longer_than_a_step_can_be) {
  const json x{{"name", "x"}, {"shape", {1, 300, 3, 5}}, {"random", {{"seed", 1}}}};
  const json file{{"inputs", {x}},
                  {"layers",
                   {{{"name", "mean"}, {"op", "global_average_pool"}, {"inputs", {"x"}}},
                    {{"name", "peak"}, {"op", "global_max_pool"}, {"inputs", {"x"}}},
                    {{"name", "rows"},
                     {"op", "average_pool"},
                     {"inputs", {"x"}},
                     {"kernel", {300, 1}},
                     {"stride", {300, 2}}}}},
                  {"outputs", {"mean", "peak", "rows"}}};
  const CommandFolder folder;
  const CommandResult result = folder.run({"run", "--config", source_path("configs/core1.json"), "--layer",
                                           folder.write("model.json", file.dump()), "--check", "on"});
  EXPECT_EQ(result.status, 0) << result.out << result.err;
}

// A map that fits into NRAM as a whole, but not into the 16 bits in which an instruction counts its pixels.
TEST(PoolingCommand, HI_2_maps_wider_than_an_instruction_can_count) {
  const json file{{"inputs", {{{"name", "x"}, {"shape", {1, 1, 70000, 1}}, {"random", {{"seed", 1}}}}}},
                  {"layers",
                   {{{"name", "peaks"},
                     {"op", "max_pool"},
                     {"inputs", {"x"}},
                     {"kernel", {1, 200}},
                     {"stride", {1, 10}},
                     {"dilation", {1, 10}},
                     {"pads", {0, 100, 0, 100}}}}}};
  const CommandFolder folder;
  const CommandResult result = folder.run({"run", "--config", source_path("configs/core1.json"), "--layer",
                                           folder.write("model.json", file.dump()), "--check", "on"});
  EXPECT_EQ(result.status, 0) << result.out << result.err;
}

}  // namespace
}  // namespace tilebeat::testing
