// A workload that names the cycles it takes: a run with others fails as one with wrong outputs does.
#include "tilebeat_command.h"

#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tilebeat::testing {
namespace {

class ExpectedCycles : public ::testing::Test {
 protected:
  /// Runs the worked example with these expectations of its layer and of the whole run.
  CommandResult run(const nlohmann::json& layer, const nlohmann::json& total) {
    nlohmann::json workload = nlohmann::json::parse(read_bytes(source_path("models/worked_dilated.json")));
    if (!layer.is_null()) workload["expected"]["conv1"] = layer;
    if (!total.is_null()) workload["expected_total"] = total;
    const std::string file = folder_.write("w.json", workload.dump());
    return folder_.run({"run", "--config", source_path("configs/switch16.json"), "--layer", file});
  }
  CommandFolder folder_;
};

TEST_F(ExpectedCycles, UI_14_other_cycles_of_a_layer_or_of_the_run_fail_it) {
  ASSERT_EQ(run({}, {}).status, 0);
  const auto layer = folder_.report().at("layers").at(0).at("cycles").get<int>();
  const auto total = folder_.report().at("total").at("cycles").get<int>();
  EXPECT_EQ(run({{"cycles", layer}}, {{"cycles", total}}).status, 0);
  for (const int change : {-1, 1}) {
    EXPECT_EQ(run({{"cycles", layer + change}}, {}).status, 1);
    EXPECT_EQ(folder_.report().at("passed"), false);
    EXPECT_EQ(folder_.report().at("failures"),
              nlohmann::json({"layer 'conv1' took " + std::to_string(layer) +
                              " cycles, the workload expects " + std::to_string(layer + change)}));
    EXPECT_EQ(run({{"cycles", layer + change}, {"tolerance_percent", 101.0 / layer}}, {}).status, 0);
  }
  EXPECT_EQ(run({}, {{"cycles", total + 1}}).status, 1);
  EXPECT_EQ(folder_.report().at("failures").at(0).get<std::string>().rfind("the run took ", 0), 0U);
  EXPECT_EQ(run({}, {{"cycles", 2 * total}, {"tolerance_percent", 50}}).status, 0);
  EXPECT_EQ(run({}, {{"cycles", 2 * total}, {"tolerance_percent", 49}}).status, 1);
}

TEST_F(ExpectedCycles, UI_14_a_layer_may_name_its_file_and_its_cycles) {
  ASSERT_EQ(run({}, {}).status, 0);
  const auto layer = folder_.report().at("layers").at(0).at("cycles").get<int>();
  const std::string output = folder_.report().at("outputs").at(0).get<std::string>();
  folder_.write("y.npy", read_bytes(folder_.path("tilebeat-out/outputs/" + output + ".npy")));
  EXPECT_EQ(run({{"file", "y.npy"}, {"cycles", layer}}, {}).status, 0);
  EXPECT_EQ(run({{"file", "y.npy"}, {"cycles", layer + 1}}, {}).status, 1);
  std::string bytes = read_bytes(folder_.path("y.npy"));
  bytes.back() = static_cast<char>(bytes.back() + 1);
  folder_.write("y.npy", bytes);
  EXPECT_EQ(run({{"file", "y.npy"}, {"cycles", layer}}, {}).status, 1);
  EXPECT_EQ(folder_.report().at("differences").size(), 1U);
}

TEST_F(ExpectedCycles, UI_14_a_layer_in_a_fused_unit_has_no_cycles_of_its_own) {
  nlohmann::json workload = nlohmann::json::parse(read_bytes(source_path("models/alexnet_small.json")));
  workload["expected"] = {{"conv1", {{"cycles", 1000}}}};
  const std::string file = folder_.write("w.json", workload.dump());
  const std::string units = folder_.write(
      "units.json", R"({"tilebeat_mapping": 1, "groups": [{"layers": ["conv1", "pool1", "conv2"]}]})");
  const std::string config = source_path("configs/cluster4.json");
  EXPECT_EQ(folder_.run({"run", "--config", config, "--layer", file}).status, 1);
  EXPECT_EQ(folder_.run({"run", "--config", config, "--layer", file, "--mapping", units}).status, 1);
  EXPECT_EQ(folder_.report().at("failures").at(0),
            "layer 'conv1' ran as a part of a fusion group, the workload expects 1000 cycles of it alone");
}

TEST_F(ExpectedCycles, UI_2_UI_14_what_cannot_be_is_refused) {
  for (const auto& [layer, wanted] :
       {std::pair(R"({})", "/expected/conv1: has neither a file nor cycles"),
        {R"({"cycles": 0})", "/expected/conv1/cycles: 0 is not allowed, allowed is a whole number from 1"},
        {R"({"cycles": 5, "tolerance": 1})", "/expected/conv1/tolerance: unknown key"},
        {R"({"cycles": 5, "tolerance_percent": -1})", "/expected/conv1/tolerance_percent: -1 is not allowed"},
        {R"(7)", "/expected/conv1: 7 is not allowed"}}) {
    const CommandResult result = run(nlohmann::json::parse(layer), {});
    EXPECT_EQ(result.status, 2) << layer;
    EXPECT_NE(result.err.find(wanted), std::string::npos) << result.err;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  }
}

}  // namespace
}  // namespace tilebeat::testing
