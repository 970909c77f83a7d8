// Products of matrices with the real program (SPEC OP_1): attention on a chip of every engine, what a board
// without cores can do and what it refuses, what the plan and the program say.
#include "tilebeat_command.h"

#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class AttentionOn : public ::testing::TestWithParam<const char*> {};

TEST_P(AttentionOn, OP_1_CY_3_results_of_layers_are_multiplied_in_both_granularities) {
  std::map<std::string, std::map<std::string, std::string>> files;
  const CommandFolder folder;
  for (const std::string granularity : {"tile", "clock"}) {
    const CommandResult result = folder.run_layer(GetParam(), "models/attention_scores.json",
                                                  {"--check", "on", "--granularity", granularity});
    ASSERT_EQ(result.status, 0) << result.out << result.err;
    std::map<std::string, json> layers;
    const json report = folder.report();
    for (const auto& layer : report.at("layers")) {
      EXPECT_EQ(layer.at("check"), "passed") << layer.at("name");
      layers[layer.at("name")] = layer;
    }
    EXPECT_EQ(layers.at("scores").at("macs"), 4 * 48 * 48 * 16);
    EXPECT_EQ(layers.at("context").at("macs"), 4 * 48 * 48 * 16);
    files[granularity] = folder.files();
  }
  EXPECT_TRUE(files["tile"] == files["clock"]) << "report and outputs are the same bytes";
}
std::string config_name(const ::testing::TestParamInfo<const char*>& info) {
  return test_name(info.param);
}
INSTANTIATE_TEST_SUITE_P(Configs, AttentionOn,
                         ::testing::Values("configs/core1.json", "configs/cluster4x4.json",
                                           "configs/wfold16x4.json", "configs/wfold_cluster4x4.json",
                                           "configs/rolling16.json", "configs/rolling_cluster4x4.json",
                                           "configs/offset16.json", "configs/offset_cluster4x4.json"),
                         config_name);

// SPEC OP-1: 512 x 512 x 512, both operands tensors, in every order of their axes.
TEST(Products, OP_1_keep_the_switch_array_at_least_85_percent_busy) {
  for (const bool transpose_a : {false, true}) {
    for (const bool transpose_b : {false, true}) {
      const CommandFolder folder;
      const json tensor{{"shape", {512, 512}}, {"random", {{"seed", 1}}}};
      json a = tensor, b = tensor;
      a["name"] = "a", b["name"] = "b", b["random"]["seed"] = 2;
      const json product{{"name", "y"},
                         {"op", "matmul"},
                         {"inputs", {"a", "b"}},
                         {"transpose_a", transpose_a},
                         {"transpose_b", transpose_b},
                         {"requant", {{"scale", 0.0001}}}};
      const json model{{"inputs", {a, b}}, {"layers", {product}}};
      const CommandResult result =
          folder.run({"run", "--config", source_path("configs/core1.json"), "--layer",
                      folder.write("product.json", model.dump()), "--check", "on"});
      ASSERT_EQ(result.status, 0) << result.out << result.err;
      const json layer = folder.report().at("layers").at(0);
      EXPECT_EQ(layer.at("beats"), 512 * 512 * 512 / 1024);
      EXPECT_GE(layer.at("beats").get<double>(), 0.85 * layer.at("cycles").get<double>())
          << transpose_a << transpose_b;
    }
  }
}

/// y = a x b, or with weights instead of b.
json product_model(json layer) {
  layer["name"] = "y", layer["op"] = "matmul";
  return {{"inputs",
           {{{"name", "a"}, {"shape", {3, 1, 20, 24}}, {"random", {{"seed", 1}}}},
            {{"name", "b"},
             {"shape", {2, 24, 18}},
             {"dtype", "uint8"},
             {"zero_point", 200},
             {"random", {{"seed", 2}}}}}},
          {"layers", {layer}}};
}

class ProductOnBoard : public ::testing::TestWithParam<const char*> {};

TEST_P(ProductOnBoard, OP_1_weights_may_have_leading_axes) {
  const CommandFolder folder;
  const json model = product_model({{"inputs", {"a"}},
                                    {"out_features", 18},
                                    {"weights_axes", {2}},
                                    {"weights", {{"random", {{"seed", 3}}}}},
                                    {"bias", {{"random", {{"seed", 4}}}}},
                                    {"requant", {{"scale", 0.001}}}});
  const CommandResult result =
      folder.run({"run", "--config", folder.write("hardware.json", GetParam()), "--layer",
                  folder.write("model.json", model.dump()), "--check", "on"});
  ASSERT_EQ(result.status, 0) << result.out << result.err;
  EXPECT_EQ(folder.report().at("layers").at(0).at("check"), "passed");
  EXPECT_EQ(folder.report().at("layers").at(0).at("macs"), 6 * 20 * 24 * 18);
}

TEST_P(ProductOnBoard, OP_1_what_needs_the_dma_engines_of_a_core_is_refused) {
  const CommandFolder folder;
  const std::string hardware = folder.write("hardware.json", GetParam());
  const auto refusal_of = [&](const json& layer) {
    const std::string model = folder.write("model.json", product_model(layer).dump());
    const CommandResult result = folder.run({"run", "--config", hardware, "--layer", model});
    EXPECT_EQ(result.status, 2) << result.out;
    return result.err;
  };
  EXPECT_THAT(refusal_of({{"inputs", {"a", "b"}}}),
              HasSubstr("layer 'y': a product of two tensors needs the DMA engines of a core, which this "
                        "hardware does not have"));
  EXPECT_THAT(refusal_of({{"inputs", {"a"}},
                          {"transpose_a", true},
                          {"out_features", 5},
                          {"weights", {{"random", {{"seed", 3}}}}}}),
              HasSubstr("layer 'y': transpose_a needs the DMA engines of a core"));
}
std::string board_name(const ::testing::TestParamInfo<const char*>& info) {
  return std::string(info.param).find("rolling") == std::string::npos ? "switch_array" : "rolling";
}
INSTANTIATE_TEST_SUITE_P(Boards, ProductOnBoard, ::testing::Values("{}", R"({"dataflow": "rolling"})"),
                         board_name);

// B lies as 24 rows of 18: blocks of 4 x 16 bytes are read, and turned on their way to where PE columns want
// them.
TEST(ProductProgram, OP_1_b_is_laid_out_by_the_dma_engine) {
  const CommandFolder folder;
  const std::string model = folder.write("model.json", product_model({{"inputs", {"a", "b"}}}).dump());
  const CommandResult plan =
      folder.run({"plan", "--disassemble", "--config", source_path("configs/core1.json"), "--layer", model});
  ASSERT_EQ(plan.status, 0) << plan.err;
  EXPECT_THAT(plan.out, HasSubstr("weight_zero_point=200"));
  EXPECT_THAT(plan.out, HasSubstr("weight_type=uint8"));
  EXPECT_THAT(plan.out, HasSubstr("run_bytes=16 inner_count=4 outer_count=6 source_inner_stride=18 "
                                  "source_outer_stride=72 destination_inner_stride=4 "
                                  "destination_outer_stride=64 transposed_columns=16"))
      << "16 kernels, of each every fourth channel";
  EXPECT_THAT(plan.out, HasSubstr("run_bytes=768 outer_count=0 pad_top=1 fill=200"))
      << "the second block has two kernels: the others are the zero point";
}

}  // namespace
}  // namespace tilebeat::testing
