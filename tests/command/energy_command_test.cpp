// Energy in the reports of whole runs (SPEC UI-10).
#include "tilebeat_command.h"

#include <map>
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

TEST(EnergyCommand, UI_15_a_byte_of_dram_costs_what_its_preset_says) {
  const CommandFolder folder;
  const std::string layer = source_path("models/worked_dilated.json");
  const auto pj_per_byte = [&](const nlohmann::json& hardware) {
    const CommandResult result =
        folder.run({"run", "--config", folder.write("chip.json", hardware.dump()), "--layer", layer});
    EXPECT_EQ(result.status, 0) << result.err;
    const nlohmann::json report = folder.report();
    const nlohmann::json& total = report.at("total");
    const double bytes =
        total.at("dram_read_bytes").get<double>() + total.at("dram_write_bytes").get<double>();
    return report.at("energy").at("pj").at("dram").get<double>() / bytes;
  };
  // The table of docs/energy.md.
  const std::map<std::string, double> table{
      {"ddr4_2400", 160}, {"ddr4_3200", 160},  {"lpddr4_3200", 40}, {"ddr4_2400_ecc_x4", 160},
      {"ddr5_4800", 134}, {"lpddr5_6400", 32}, {"hbm2_2000", 31.2}};
  for (const auto& [preset, pj] : table)
    EXPECT_NEAR(pj_per_byte({{"dram", {{"preset", preset}}}}), pj, 1e-9) << preset;
  EXPECT_NEAR(pj_per_byte({{"dram", {{"preset", "hbm2_2000"}}}, {"technology", {{"dram_pj_per_byte", 7}}}}),
              7, 1e-9)
      << "a value of the file goes before that of the preset";
}

TEST(EnergyCommand, UI_15_area_is_told_by_unit_and_memory) {
  const CommandFolder folder;
  const auto area = [&](const nlohmann::json& chip) {
    const std::string file = folder.write("chip.json", nlohmann::json{{"chip", chip}}.dump());
    const CommandResult result =
        folder.run({"run", "--config", file, "--layer", source_path("models/worked_dilated.json")});
    EXPECT_EQ(result.status, 0) << result.err;
    return folder.report().at("energy").at("area_mm2");
  };
  const auto chip = [](std::int64_t nram, std::int64_t wram, std::int64_t sram) {
    return nlohmann::json{{"core", {{"nram", {{"size_bytes", nram}}}, {"wram", {{"size_bytes", wram}}}}},
                          {"sram", {{"size_bytes", sram}}}};
  };
  constexpr std::int64_t kKiB = 1024;
  const nlohmann::json base = area(chip(256 * kKiB, 512 * kKiB, 1024 * kKiB));
  double memories = 0;
  for (const char* memory : {"buffers", "nram", "wram", "sram"}) memories += base.at(memory).get<double>();
  EXPECT_NEAR(base.at("memories").get<double>(), memories, 1e-9);
  EXPECT_NEAR(base.at("total").get<double>(),
              memories + base.at("macs").get<double>() + base.at("results").get<double>() +
                  base.at("lanes").get<double>() + base.at("dma").get<double>() +
                  base.at("buses").get<double>(),
              1e-9);
  const std::map<std::string, nlohmann::json> doubled{
      {"nram", area(chip(512 * kKiB, 512 * kKiB, 1024 * kKiB))},
      {"wram", area(chip(256 * kKiB, 1024 * kKiB, 1024 * kKiB))},
      {"sram", area(chip(256 * kKiB, 512 * kKiB, 2048 * kKiB))}};
  for (const auto& [memory, now] : doubled) {
    for (const char* part : {"macs", "results", "lanes", "buffers", "nram", "wram", "sram"})
      EXPECT_NEAR(now.at(part).get<double>(), base.at(part).get<double>() * (memory == part ? 2 : 1), 1e-9)
          << memory << " doubled: " << part;
  }
}

TEST(EnergyCommand, UI_15_a_wider_bus_and_an_engine_for_stores_have_their_price) {
  const CommandFolder folder;
  const auto area = [&](const nlohmann::json& change) {
    nlohmann::json hardware{{"chip", {{"clusters", 2}, {"cores_per_cluster", 2}}}};
    hardware.merge_patch(change);
    const CommandResult result = folder.run({"run", "--config", folder.write("chip.json", hardware.dump()),
                                             "--layer", source_path("models/worked_dilated.json")});
    EXPECT_EQ(result.status, 0) << result.err;
    return folder.report().at("energy").at("area_mm2");
  };
  const nlohmann::json base = area(nlohmann::json::object());
  const nlohmann::json wider = area({{"interconnect", {{"bytes_per_clock", 32}}}});
  EXPECT_GT(wider.at("buses").get<double>(), base.at("buses").get<double>());
  const nlohmann::json stores = area({{"chip", {{"core", {{"stores", "between_bursts"}}}}}});
  const double landing = 16384 * 5.536e-6;
  EXPECT_NEAR(stores.at("dma").get<double>(), base.at("dma").get<double>() + 4 * landing, 1e-9);
  EXPECT_GT(stores.at("buses").get<double>(), base.at("buses").get<double>()) << "it has ports of its own";
}

// A unit for each result that an engine drains in a cycle: C of each of G groups, or what drain_bytes or a
// line of W-fold has in sums of four bytes.
TEST(EnergyCommand, CY_8_UI_10_area_has_a_result_unit_for_each_result_of_a_cycle) {
  const CommandFolder folder;
  const auto units = [&](nlohmann::json hardware) {
    hardware["chip"]["core"]["wram"] = {{"banks", 16}};
    hardware["chip"]["cores_per_cluster"] = 1;
    hardware["technology"] = {{"result_um2", 1e6}};
    const std::string file = folder.write("chip.json", hardware.dump());
    const CommandResult result =
        folder.run({"run", "--config", file, "--layer", source_path("models/worked_dense.json")});
    EXPECT_EQ(result.status, 0) << result.err;
    return folder.report().at("energy").at("area_mm2").at("results").get<double>();
  };
  EXPECT_EQ(units({{"dataflow", "dilated"}}), 2 * 16);
  EXPECT_EQ(units({{"dataflow", "dilated"}, {"switch_array", {{"columns", 8}, {"groups", 4}}}}), 4 * 8);
  EXPECT_EQ(units({{"dataflow", "dilated"}, {"switch_array", {{"drain_clocks_per_lane", 3}}}}), 2 * 6)
      << "16 results in three cycles";
  EXPECT_EQ(units({{"dataflow", "wfold"}, {"wfold", {{"line_bytes", 64}}}}), 64 / 4);
  EXPECT_EQ(units({{"dataflow", "rolling"}, {"rolling", {{"drain_bytes", 32}}}}), 32 / 4);
  EXPECT_EQ(units({{"dataflow", "offset"}, {"offset", {{"drain_bytes", 128}}}}), 128 / 4);
}

}  // namespace
}  // namespace tilebeat::testing
