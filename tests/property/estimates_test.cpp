// The planner's estimates against whole runs of the models on the configurations (SPEC MA-3). Those of whole
// networks on some chips are in large_models_test, which runs them anyhow.
#include "budget.h"
#include "layer_estimates.h"
#include "tilebeat_command.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tilebeat::testing {
namespace {

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(source_path(folder))) {
    if (entry.path().extension() == ".json") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

class Estimates : public ::testing::TestWithParam<std::string> {};

// Every single layer on every chip. Of the networks, each other chip has one: the next in turn. The kernels
// of aspp_head have 37 x 37 taps with inserted zeros.
TEST_P(Estimates, MA_3_long_layers_are_estimated_within_a_fifth_and_half_of_them_within_a_twentieth) {
  const std::set<std::string> large{"cluster16x4", "offset_cluster4x4", "rolling_cluster4x4",
                                    "wfold_cluster4x4"};
  if (is_push() && large.count(GetParam()) > 0) GTEST_SKIP() << "is too long for a push: .ci/nightly runs it";
  const std::set<std::string> networks{"alexnet",      "deeplab_v3",   "fsrcnn",
                                       "matting_unet", "mobilenet_v1", "mobilenet_v2",
                                       "resnet18",     "resnet50",     "vgg16"};
  const std::set<std::string> elsewhere{"core1", "cluster4", "cluster4x4"};
  const std::vector<std::string> in_turn{"resnet18", "mobilenet_v2", "alexnet"};
  const std::vector<std::string> chips = names_in("configs");
  const auto chip = std::find(chips.begin(), chips.end(), GetParam()) - chips.begin();
  const std::string here = in_turn[static_cast<std::size_t>(chip) % in_turn.size()];
  LayerEstimates estimates;
  for (const std::string& model : names_in("models")) {
    if (networks.count(model) > 0 && (elsewhere.count(GetParam()) > 0 || model != here)) continue;
    if (model == "aspp_head" && GetParam() == "switch16_zero_inserted") continue;
    const CommandFolder folder;
    const CommandResult result = folder.run_layer(fmt::format("configs/{}.json", GetParam()),
                                                  fmt::format("models/{}.json", model), {"--check", "off"});
    if (result.status == 2 && result.err.find("needs a vector unit") != std::string::npos) continue;
    ASSERT_EQ(result.status, 0) << model << ": " << result.err;
    estimates.add(folder.report(), model);
  }
  estimates.expect_half_within_a_twentieth();
}

INSTANTIATE_TEST_SUITE_P(Configs, Estimates, ::testing::ValuesIn(names_in("configs")),
                         [](const auto& config) { return config.param; });

class EstimatesOfOneCore : public ::testing::Test {
 protected:
  // The error of the estimate of a layer of one convolution, with such a mapping on core1.
  double error_of(const std::string& layer, nlohmann::json mapping) const {
    mapping["layer"] = "conv";
    folder_.write("mapping.json", nlohmann::json{{"tilebeat_mapping", 1}, {"layers", {mapping}}}.dump());
    const CommandResult result = folder_.run({"run", "--config", source_path("configs/core1.json"), "--layer",
                                              layer, "--mapping", "mapping.json", "--check", "off"});
    EXPECT_EQ(result.status, 0) << result.err;
    const nlohmann::json report = folder_.report().at("layers").at(0);
    return report.at("estimated_cycles").get<double>() / report.at("cycles").get<double>() - 1;
  }

  CommandFolder folder_;
  const nlohmann::json strips_ = {{"tile_rows", 2},       {"map_strips", true},  {"map_buffers", 1},
                                  {"maps", "direct"},     {"kernels", "direct"}, {"results", "direct"},
                                  {"order", "tile_outer"}};
};

// A depthwise convolution whose maps or results, or neither, go through the SRAM: then two DMA engines ask
// for DRAM, and one has data to carry while the other is served.
TEST_F(EstimatesOfOneCore, MA_3_copies_by_one_engine_and_by_two_are_estimated_within_three_percent) {
  const nlohmann::json workload = {
      {"inputs", {{{"name", "x"}, {"shape", {1, 56, 56, 144}}, {"random", {{"seed", 1}}}}}},
      {"layers",
       {{{"name", "conv"},
         {"op", "conv2d"},
         {"inputs", {"x"}},
         {"out_channels", 144},
         {"groups", 144},
         {"kernel", {3, 3}},
         {"stride", {2, 2}},
         {"pads", {1, 1, 1, 1}},
         {"weights", {{"random", {{"seed", 2}}}}},
         {"requant", {{"scale", 0.005}}}}}},
      {"outputs", {"conv"}}};
  const std::string layer = folder_.write("layer.json", workload.dump());
  EXPECT_NEAR(error_of(layer, strips_), 0, 0.03);
  for (const char* operand : {"maps", "results"}) {
    nlohmann::json mapping = strips_;
    mapping[operand] = "sram";
    EXPECT_NEAR(error_of(layer, mapping), 0, 0.03) << operand;
  }
}

// Results in runs of 64 bytes, 128 bytes apart: all in banks of one group, which take longer.
TEST_F(EstimatesOfOneCore, MA_3_HI_6_runs_in_one_bank_group_are_estimated_within_three_percent) {
  nlohmann::json mapping = strips_;
  mapping["blocks_per_load"] = 4, mapping["kernel_buffers"] = 2;
  EXPECT_NEAR(error_of(source_path("models/mobilenet_depthwise.json"), mapping), 0, 0.03);
}

}  // namespace
}  // namespace tilebeat::testing
