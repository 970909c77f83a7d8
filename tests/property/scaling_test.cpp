// AlexNet on one to sixty-four cores: more of them never take longer (SPEC HI-1, MA-4).
#include "tilebeat_command.h"

#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

TEST(Scaling, HI_1_MA_4_alexnet_takes_no_longer_on_more_cores) {
  std::int64_t before = 0;
  nlohmann::json layers_before;
  std::string outputs;
  for (const char* config : {"core1", "cluster4", "cluster4x4", "cluster16x4"}) {
    const CommandFolder folder;
    const CommandResult result =
        folder.run_layer(fmt::format("configs/{}.json", config), "models/alexnet.json", {"--check", "off"});
    ASSERT_EQ(result.status, 0) << result.err;
    const nlohmann::json report = folder.report();
    const auto cycles = report.at("total").at("cycles").get<std::int64_t>();
    if (before != 0) {
      EXPECT_LE(cycles, before) << config;
    }
    before = cycles;
    const std::string bytes = folder.tensors("tilebeat-out").at("softmax.npy");
    EXPECT_TRUE(outputs.empty() || bytes == outputs) << config;
    outputs = bytes;
    for (const auto& layer : report.at("layers")) {
      EXPECT_FALSE(layer.at("busiest").at("module").get<std::string>().empty()) << layer.at("name");
      EXPECT_NE(result.out.find(layer.at("busiest").at("module").get<std::string>()), std::string::npos);
    }
    // Where four times the cores with the same DRAM gain less than a tenth, DRAM is what the report names.
    if (config == std::string("cluster4x4")) {
      int saturated = 0;
      for (std::size_t i = 0; i < layers_before.size(); ++i) {
        const nlohmann::json &four = layers_before[i], &sixteen = report.at("layers").at(i);
        const bool large = four.at("macs") >= 1'000'000;
        if (!large || sixteen.at("cycles").get<double>() < 0.9 * four.at("cycles").get<double>()) continue;
        EXPECT_EQ(sixteen.at("busiest").at("module").get<std::string>().rfind("dram", 0), 0U)
            << sixteen.at("name") << ": " << sixteen.at("busiest");
        EXPECT_GE(sixteen.at("busiest").at("share").get<double>(), 0.6) << sixteen.at("name");
        ++saturated;
      }
      EXPECT_GE(saturated, 2) << "the large fully connected layers";
    }
    layers_before = report.at("layers");
  }
}

}  // namespace
}  // namespace tilebeat::testing
