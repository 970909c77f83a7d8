// Layers that enlarge maps with the real program (SPEC OP-2): on a chip of every engine, what a board without
// cores refuses, what a wrong file says.
#include "tilebeat_command.h"
#include "workload/npy.h"

#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

/// x, 1 x 2 pixels of three fours, is enlarged in three ways.
json model() {
  const auto constant = [](int value) {
    return json{{"random", {{"seed", 1}, {"min", value}, {"max", value}}}};
  };
  json x = constant(4);
  x["name"] = "x", x["shape"] = {1, 1, 2, 3};
  return {
      {"inputs", {x}},
      {"layers",
       {{{"name", "bilinear"}, {"op", "resize"}, {"inputs", {"x"}}, {"size", {3, 5}}, {"mode", "bilinear"}},
        {{"name", "transposed"},
         {"op", "conv_transpose"},
         {"inputs", {"x"}},
         {"out_channels", 2},
         {"kernel", {1, 3}},
         {"stride", {1, 2}},
         {"weights", constant(5)}},
        {{"name", "framed"}, {"op", "pad"}, {"inputs", {"x"}}, {"pads", {0, 1, 0, 0}}, {"value", 6}}}},
      {"outputs", {"bilinear", "transposed", "framed"}}};
}

class UpsamplingOn : public ::testing::TestWithParam<const char*> {};

TEST_P(UpsamplingOn, OP_2_CY_3_writes_the_same_results_in_both_granularities) {
  std::map<std::string, std::map<std::string, std::string>> files;
  const CommandFolder folder;
  for (const std::string granularity : {"tile", "clock"}) {
    const CommandResult result = folder.run({"run", "--config", source_path(GetParam()), "--layer",
                                             folder.write("model.json", model().dump()), "--check", "on",
                                             "--granularity", granularity});
    ASSERT_EQ(result.status, 0) << result.out << result.err;
    const json report = folder.report();
    for (const auto& layer : report.at("layers")) EXPECT_EQ(layer.at("check"), "passed") << layer.at("name");
    EXPECT_EQ(report.at("layers").at(0).at("macs"), 0);
    EXPECT_EQ(report.at("layers").at(1).at("macs"), 6 * 2 * 3) << "three taps of two phases: one a pixel";
    const Tensor bilinear = read_npy(folder.path("tilebeat-out/outputs/bilinear.npy"));
    EXPECT_EQ(bilinear.shape, (std::vector<std::int64_t>{1, 3, 5, 3}));
    EXPECT_EQ(bilinear.bytes, std::vector<std::uint8_t>(45, 4)) << "the mean of equals";
    const Tensor sums = read_npy(folder.path("tilebeat-out/outputs/transposed.npy"));
    EXPECT_EQ(sums.shape, (std::vector<std::int64_t>{1, 1, 5, 2}));
    for (std::int64_t i = 0; i < 10; ++i)
      EXPECT_EQ(sums.at(i), i / 2 == 2 ? 120 : 60) << "3 channels of 4 * 5, twice where two kernels meet";
    EXPECT_EQ(read_npy(folder.path("tilebeat-out/outputs/framed.npy")).bytes,
              (std::vector<std::uint8_t>{6, 6, 6, 4, 4, 4, 4, 4, 4}));
    files[granularity] = folder.files();
  }
  EXPECT_TRUE(files["tile"] == files["clock"]) << "report and outputs are the same bytes";
}
INSTANTIATE_TEST_SUITE_P(Configs, UpsamplingOn,
                         ::testing::Values("configs/core1.json", "configs/cluster4x4.json",
                                           "configs/wfold16x4.json", "configs/wfold_cluster4x4.json",
                                           "configs/rolling16.json", "configs/rolling_cluster4x4.json",
                                           "configs/offset16.json", "configs/offset_cluster4x4.json"),
                         [](const auto& config) { return test_name(config.param); });

TEST(UpsamplingCommand, OP_2_a_board_refuses_transposed_convolutions) {
  for (const char* board : {"{}", R"({"dataflow": "rolling"})"}) {
    const CommandFolder folder;
    json file = model();
    file["layers"] = {file["layers"][1]}, file["outputs"] = {"transposed"};
    const CommandResult result = folder.run({"run", "--config", folder.write("hardware.json", board),
                                             "--layer", folder.write("model.json", file.dump())});
    EXPECT_EQ(result.status, 2) << result.out;
    EXPECT_THAT(result.err,
                HasSubstr("layer 'transposed': conv_transpose needs the DMA engines of a core, which "
                          "this hardware does not have"));
  }
}

TEST(UpsamplingCommand, OP_2_UI_5_a_wrong_field_is_one_line_and_exit_status_2) {
  const CommandFolder folder;
  json file = model();
  file["layers"][0]["size"] = {3, 0};
  const std::string path = folder.write("model.json", file.dump());
  const CommandResult result =
      folder.run({"run", "--config", source_path("configs/core1.json"), "--layer", path});
  EXPECT_EQ(result.status, 2) << result.out;
  EXPECT_EQ(result.err,
            "tilebeat: " + path +
                ": /layers/0/size/1: 0 is not allowed, allowed is a whole number from 1 to 65535\n");
}

}  // namespace
}  // namespace tilebeat::testing
