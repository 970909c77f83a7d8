// Orders of maps in DRAM from the command line (SPEC OT-2, UI-2, UI-5).
#include "tilebeat_command.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tilebeat::testing {
namespace {

using ::testing::HasSubstr;

std::string with_layout(const CommandFolder& folder, const std::string& config, const std::string& layout,
                        const std::string& engine = "") {
  auto hardware = nlohmann::json::parse(read_bytes(source_path(config)), nullptr, true, true);
  hardware["planner"]["map_layout"] = layout;
  if (!engine.empty()) hardware["offset"]["layout"] = engine;
  return folder.write(layout + engine + ".json", hardware.dump());
}

TEST(MapLayoutCommand, OT_2_a_network_runs_in_every_layout_in_both_granularities) {
  const CommandFolder folder;
  const std::string network = source_path("models/small_chain.json");
  for (const std::string layout : {"nhwc", "nchw", "cnhw", "nchwc"}) {
    const std::string config = with_layout(folder, "configs/offset16.json", layout, layout);
    const auto run = [&](const char* granularity) {
      const CommandResult result = folder.run(
          {"run", "--config", config, "--layer", network, "--check", "on", "--granularity", granularity});
      EXPECT_EQ(result.status, 0) << result.err;
      auto report = folder.report();
      EXPECT_EQ(report["layers"][0]["check"], "passed");
      report.erase("granularity");
      return report;
    };
    EXPECT_EQ(run("tile"), run("clock")) << layout;
  }
}

TEST(MapLayoutCommand, OT_2_plan_says_how_maps_lie_and_what_layouts_cost) {
  const CommandFolder folder;
  const std::string config = with_layout(folder, "configs/offset16.json", "nchwc", "nchwc");
  const std::string text =
      folder.run({"plan", "--config", config, "--layer", source_path("models/small_chain.json")}).out;
  EXPECT_THAT(text, HasSubstr("in DRAM          conv1 nchwc by 16, x nchwc by 16"));
  // 16 x 16 pixels of 8 channels: two 64-byte beats a row of NHWC; from blocks of 16 a run a pixel.
  EXPECT_THAT(text,
              HasSubstr("nhwc 342 + 256 (32), nchwc 378 + 32 (32) cycles of the lanes + of writing the map "
                        "from DRAM in nchwc (in the same order)"));
}

TEST(MapLayoutCommand, UI_5_boards_have_no_other_order_than_nhwc) {
  const CommandFolder folder;
  const std::string config = with_layout(folder, "configs/switch16.json", "nchw");
  const CommandResult result =
      folder.run({"plan", "--config", config, "--layer", source_path("models/worked_dense.json")});
  EXPECT_EQ(result.status, 2);
  EXPECT_THAT(result.err, HasSubstr("/planner/map_layout: \"nchw\" is not allowed, allowed is \"nhwc\""));
}

}  // namespace
}  // namespace tilebeat::testing
