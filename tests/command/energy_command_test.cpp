// Energy in the reports of whole runs (SPEC UI-10).
#include "tilebeat_command.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

class EnergyOn : public ::testing::TestWithParam<const char*> {};

TEST_P(EnergyOn, UI_10_layers_and_modules_sum_to_the_run) {
  const CommandFolder folder;
  const CommandResult result = folder.run_layer(GetParam(), "models/worked_dense.json");
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, ::testing::HasSubstr("Energy (45nm): "));
  const nlohmann::json report = folder.report();
  const nlohmann::json& energy = report.at("energy");
  const double total = energy.at("pj").at("total");
  EXPECT_GT(total, 0);
  for (const auto& [part, pj] : energy.at("pj").items()) {
    double sum = 0;
    for (const auto& layer : report.at("layers")) sum += layer.at("energy_pj").at(part).get<double>();
    EXPECT_NEAR(sum, pj.get<double>(), 1e-9 * total) << part;
  }
  EXPECT_NEAR(energy.at("watts").get<double>() * report.at("total").at("cycles").get<double>() * 1e3, total,
              1e-6 * total)
      << "W x ns are 1000 pJ, at 1 GHz";
  if (!report.at("configuration").contains("chip")) return;
  double modules = 0;
  for (const auto& module : energy.at("modules")) modules += module.at("pj").get<double>();
  for (const char* part : {"results", "buffers", "leakage"})
    modules += energy.at("pj").at(part).get<double>();
  // Engines that read NRAM and WRAM by ports of their own are modules, too.
  EXPECT_NEAR(modules, total, 1e-9 * total);
}
INSTANTIATE_TEST_SUITE_P(Configs, EnergyOn,
                         ::testing::Values("configs/switch16.json", "configs/cluster4x4.json",
                                           "configs/wfold16x4.json", "configs/rolling_cluster4x4.json",
                                           "configs/offset16.json"));

TEST(EnergyCommand, UI_10_a_factor_changes_its_own_part_alone) {
  const CommandFolder folder;
  const std::string layer = source_path("models/worked_dense.json");
  const auto energy = [&](const std::string& technology) {
    const std::string config = folder.write("chip.json", R"({"technology": )" + technology + "}");
    const CommandResult result = folder.run({"run", "--config", config, "--layer", layer});
    EXPECT_EQ(result.status, 0) << result.err;
    return folder.report().at("energy").at("pj");
  };
  const nlohmann::json once = energy(R"({"dram_pj_per_byte": 100})"),
                       twice = energy(R"({"dram_pj_per_byte": 200})");
  for (const auto& [part, pj] : once.items()) {
    if (part == "total") continue;
    EXPECT_EQ(twice.at(part).get<double>(), pj.get<double>() * (part == "dram" ? 2 : 1)) << part;
  }
}

}  // namespace
}  // namespace tilebeat::testing
