// The planner's estimates against whole runs of the models on the configurations (SPEC MA-3).

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tilebeat_command.h"

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

struct Estimate {
  std::string layer;
  double error = 0;
};

class Estimates : public ::testing::TestWithParam<std::string> {};

// VGG-16 takes longer than most others together; FSRCNN and DeepLab are as long, and the matting network has
// their operators. The kernels of aspp_head have 37 x 37 taps with inserted zeros.
TEST_P(Estimates, MA_3_long_layers_are_estimated_within_a_fifth_and_half_of_them_within_a_twentieth) {
  constexpr std::int64_t kLong = 10000;  // cycles
  std::vector<Estimate> estimates;
  for (const std::string& model : names_in("models")) {
    if (model == "vgg16" || model == "fsrcnn" || model == "deeplab_v3") continue;
    if (model == "aspp_head" && GetParam() == "switch16_zero_inserted") continue;
    const CommandFolder folder;
    const CommandResult result = folder.run_layer(fmt::format("configs/{}.json", GetParam()),
                                                  fmt::format("models/{}.json", model), {"--check", "off"});
    if (result.status == 2 && result.err.find("needs a vector unit") != std::string::npos) continue;
    ASSERT_EQ(result.status, 0) << model << ": " << result.err;
    const nlohmann::json report = folder.report();
    for (const auto& layer : report.at("layers")) {
      const std::int64_t cycles = layer.at("cycles"), estimated = layer.at("estimated_cycles");
      const auto& bound = layer.at("bound_cycles");
      const std::string name = fmt::format("{} of {}", layer.at("name").get<std::string>(), model);
      EXPECT_GE(estimated,
                std::max(bound.at("compute").get<std::int64_t>(), bound.at("dram").get<std::int64_t>()))
          << name;
      if (cycles < kLong) continue;
      estimates.push_back({name, static_cast<double>(estimated) / static_cast<double>(cycles) - 1});
      EXPECT_LE(std::abs(estimates.back().error), 0.20) << name << ": " << estimated << " for " << cycles;
    }
  }
  ASSERT_GE(estimates.size(), 3U) << "layers of more than " << kLong << " cycles";
  std::sort(estimates.begin(), estimates.end(),
            [](const Estimate& a, const Estimate& b) { return std::abs(a.error) < std::abs(b.error); });
  const Estimate& median = estimates[estimates.size() / 2];
  EXPECT_LE(std::abs(median.error), 0.05) << median.layer << ", of " << estimates.size();
}

INSTANTIATE_TEST_SUITE_P(Configs, Estimates, ::testing::ValuesIn(names_in("configs")),
                         [](const auto& config) { return config.param; });

}  // namespace
}  // namespace tilebeat::testing
