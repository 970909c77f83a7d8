// Layers that wait for DRAM, with every preset and every number of transfers a clock (SPEC CY-1, MA-3).
#include "tilebeat_command.h"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tilebeat::testing {
namespace {

/// A layer that uses each of its 256 KiB of weights once.
constexpr std::int64_t kFeatures = 512, kResults = 512;
constexpr const char* kLayer = R"({
 "inputs": [{"name": "x", "shape": [1, 1, 1, 512], "random": {"seed": 1}}],
 "layers": [{"name": "f", "op": "fully_connected", "inputs": ["x"], "out_features": 512,
             "weights": {"random": {"seed": 2}}, "requant": {"scale": 0.0003}}]})";
constexpr std::int64_t kBytes = kFeatures * kResults + kFeatures + kResults;

/// Every engine by itself, and chips of them with two memory controllers.
const std::vector<std::string> kHardware{
    "switch16",         "core1",      "rolling16",          "wfold16x4",
    "offset16",         "cluster4x4", "rolling_cluster4x4", "wfold_cluster4x4",
    "offset_cluster4x4"};

/// What the data sheet of a preset says: bytes that all channels of a controller carry in a clock of it.
struct Peak {
  const char* preset;
  std::int64_t bytes, clock_ps;
};
void PrintTo(const Peak& peak, std::ostream* out) {
  *out << peak.preset;
}

/// Runs the layer on the shipped configuration `name` with this DRAM; `peak` says what it carries.
void expect_bound(const std::string& name, const nlohmann::json& dram, const Peak& peak) {
  const CommandFolder folder;
  nlohmann::json hardware =
      nlohmann::json::parse(read_bytes(source_path("configs/" + name + ".json")), nullptr, true, true);
  hardware["dram"] = dram;
  folder.write("hw.json", hardware.dump());
  folder.write("layer.json", kLayer);
  const CommandResult result = folder.run({"run", "--config", "hw.json", "--layer", "layer.json"});
  ASSERT_EQ(result.status, 0) << name << " " << dram << ": " << result.out << result.err;
  const nlohmann::json layer = folder.report().at("layers").at(0);
  const nlohmann::json configuration = folder.report().at("configuration");
  const std::int64_t controllers =
      configuration.contains("chip") ? configuration.at("chip").at("memory_controllers").get<int>() : 1;
  const std::int64_t bytes_a_clock = peak.bytes * controllers;
  const std::int64_t clocks = (kBytes + bytes_a_clock - 1) / bytes_a_clock;
  const std::int64_t bound = clocks * peak.clock_ps / 1000;
  EXPECT_EQ(layer.at("bound_cycles").at("dram").get<std::int64_t>(), bound) << name << " " << dram;
  EXPECT_GE(layer.at("cycles").get<std::int64_t>(), bound) << name << " " << dram;
}

class Preset : public ::testing::TestWithParam<Peak> {};

TEST_P(Preset, CY_1_a_layer_that_waits_for_dram_keeps_the_bound_on_every_engine) {
  for (const std::string& name : kHardware) expect_bound(name, {{"preset", GetParam().preset}}, GetParam());
}

INSTANTIATE_TEST_SUITE_P(Presets, Preset,
                         ::testing::Values(Peak{"ddr4_2400", 16, 833}, Peak{"ddr4_3200", 16, 625},
                                           Peak{"lpddr4_3200", 8, 625}, Peak{"ddr4_2400_ecc_x4", 64, 833},
                                           Peak{"ddr5_4800", 16, 416}, Peak{"lpddr5_6400", 32, 1250},
                                           Peak{"hbm2_2000", 256, 1000}),
                         [](const auto& peak) { return std::string(peak.param.preset); });

class Transfers : public ::testing::TestWithParam<int> {};

TEST_P(Transfers, MA_3_the_bound_is_the_bytes_by_the_bytes_of_a_clock) {
  for (const std::string& name : kHardware)
    expect_bound(name, {{"transfers_per_clock", GetParam()}}, {"", std::int64_t{8} * GetParam(), 833});
}

INSTANTIATE_TEST_SUITE_P(PerClock, Transfers, ::testing::Values(1, 2, 4, 8));

}  // namespace
}  // namespace tilebeat::testing
