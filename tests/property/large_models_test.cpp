// What takes longer than a minute in all: the largest models of models/, whose reports and outputs must not
// depend on the granularity (SPEC CY-3), and whole networks on chips (SPEC FU-7).

#include <map>
#include <string>

#include <gtest/gtest.h>

#include "layer_estimates.h"
#include "tilebeat_command.h"

namespace tilebeat::testing {
namespace {

class LargeModel : public ::testing::TestWithParam<const char*> {};

TEST_P(LargeModel, CY_3_clock_and_tile_write_the_same_bytes) {
  const std::string model = std::string("models/") + GetParam() + ".json";
  std::map<std::string, std::map<std::string, std::string>> files;
  for (const std::string granularity : {"tile", "clock"}) {
    const CommandFolder folder;
    const CommandResult result = folder.run_layer(
        "configs/switch16.json", model,
        {"--granularity", granularity, "--timeline", "t.json", "--check", "off"});  // models_test checks them
    ASSERT_EQ(result.status, 0) << result.out << result.err;
    files[granularity] = folder.files();
  }
  EXPECT_TRUE(files["tile"] == files["clock"]);
}
INSTANTIATE_TEST_SUITE_P(Models, LargeModel,
                         ::testing::Values("alexnet_conv1", "aspp_head", "matting_block",
                                           "mobilenet_depthwise", "resnet50_1x1", "resnet50_3x3_s2",
                                           "resnet50_conv1", "vgg16_conv3_2"),
                         [](const auto& model) { return model.param; });

/// A network of models/ whole on a chip of configs/: its outputs checked, its estimates as MA-3 wants them.
void expect_runs(const std::string& model, const std::string& chip) {
  const CommandFolder folder;
  const CommandResult result =
      folder.run_layer("configs/" + chip + ".json", "models/" + model + ".json", {"--check", "on"});
  ASSERT_EQ(result.status, 0) << result.out << result.err;
  const nlohmann::json report = folder.report();
  LayerEstimates estimates;
  estimates.add(report, model);
  estimates.expect_half_within_a_twentieth();
  for (const auto& layer : report.at("layers")) EXPECT_EQ(layer.at("check"), "passed") << layer.at("name");
}

class Chip : public ::testing::TestWithParam<const char*> {};

TEST_P(Chip, FU_7_MA_3_runs_alexnet) {
  expect_runs("alexnet", GetParam());
}
TEST_P(Chip, FU_7_MA_3_runs_resnet18) {
  expect_runs("resnet18", GetParam());
}
TEST_P(Chip, FU_7_MA_3_runs_resnet50) {
  expect_runs("resnet50", GetParam());
}
TEST_P(Chip, FU_7_MA_3_runs_mobilenet_v1) {
  expect_runs("mobilenet_v1", GetParam());
}
TEST_P(Chip, FU_7_MA_3_runs_mobilenet_v2) {
  expect_runs("mobilenet_v2", GetParam());
}
TEST_P(Chip, FU_7_MA_3_runs_fsrcnn) {
  expect_runs("fsrcnn", GetParam());
}
TEST_P(Chip, FU_7_MA_3_runs_a_segmentation_network) {
  expect_runs("deeplab_v3", GetParam());
}
TEST_P(Chip, FU_7_MA_3_runs_a_matting_network) {
  expect_runs("matting_unet", GetParam());
}
INSTANTIATE_TEST_SUITE_P(Chips, Chip, ::testing::Values("core1", "cluster4", "cluster4x4"),
                         [](const auto& chip) { return chip.param; });

}  // namespace
}  // namespace tilebeat::testing
