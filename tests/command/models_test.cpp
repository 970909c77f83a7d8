// Every example that is shipped runs and is right; the worked examples give the document's numbers (SPEC
// SW-3, SW-6).
#include "tilebeat_command.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

/// Networks: they need a vector unit, or the DMA engines of a core, which only the cores of a chip have.
const std::vector<std::string> kNetworks{
    "models/alexnet.json",        "models/alexnet_small.json", "models/attention_scores.json",
    "models/decoder.json",        "models/encoder.json",       "models/encoder_block.json",
    "models/deeplab_v3.json",     "models/fsrcnn.json",        "models/matting_unet.json",
    "models/mobilenet_v1.json",   "models/mobilenet_v2.json",  "models/resnet18.json",
    "models/resnet18_block.json", "models/resnet50.json",      "models/tensor_operators.json",
    "models/vgg16.json"};

/// Files of a folder that are (not) in `listed`.
std::vector<std::string> filtered(const std::string& folder, const std::vector<std::string>& listed,
                                  bool in) {
  std::vector<std::string> found;
  for (const std::string& file : json_files(folder)) {
    if ((std::find(listed.begin(), listed.end(), file) != listed.end()) == in) found.push_back(file);
  }
  return found;
}

nlohmann::json parsed(const std::string& file) {
  return nlohmann::json::parse(read_bytes(source_path(file)), nullptr, true, true);
}

/// The hardware files with or without a chip of cores.
std::vector<std::string> configs(bool chips) {
  std::vector<std::string> found;
  for (const std::string& file : json_files("configs")) {
    if (parsed(file).contains("chip") == chips) found.push_back(file);
  }
  return found;
}

void expect_checked(const CommandFolder& folder, const CommandResult& result) {
  ASSERT_EQ(result.status, 0) << result.out << result.err;
  const nlohmann::json report = folder.report();
  for (const auto& layer : report.at("layers")) EXPECT_EQ(layer.at("check"), "passed") << layer.at("name");
}

class Model : public ::testing::TestWithParam<std::string> {};

TEST_P(Model, NU_5_passes_its_check) {
  const CommandFolder folder;
  expect_checked(folder, folder.run_layer("configs/switch16.json", GetParam(), {"--check", "on"}));
}
INSTANTIATE_TEST_SUITE_P(Models, Model, ::testing::ValuesIn(filtered("models", kNetworks, false)),
                         [](const auto& file) { return test_name(file.param); });

class Network : public ::testing::TestWithParam<std::string> {};

TEST_P(Network, UI_5_is_refused_without_a_vector_unit) {
  // The small network on every system on chip, the large ones on one of them: they take long to load.
  const bool small = GetParam() == "models/alexnet_small.json";
  for (const std::string& config :
       small ? configs(false) : std::vector<std::string>{"configs/switch16.json"}) {
    const CommandFolder folder;
    const CommandResult result = folder.run_layer(config, GetParam(), {"--check", "on"});
    EXPECT_EQ(result.status, 2) << config << ": " << result.out << result.err;
    const char* const wanted = GetParam() == "models/fsrcnn.json"
                                   ? " needs the DMA engines of a core, which this hardware does not have"
                                   : " needs a vector unit, which this hardware does not have";
    EXPECT_NE(result.err.find(wanted), std::string::npos) << result.err;
    EXPECT_TRUE(folder.files().empty()) << "nothing is written";
  }
}
INSTANTIATE_TEST_SUITE_P(Networks, Network, ::testing::ValuesIn(kNetworks),
                         [](const auto& file) { return test_name(file.param); });

class ChipConfigFile : public ::testing::TestWithParam<std::string> {};

TEST_P(ChipConfigFile, FU_7_CY_3_runs_a_network_in_both_granularities) {
  std::map<std::string, std::map<std::string, std::string>> files;
  for (const std::string granularity : {"tile", "clock"}) {
    const CommandFolder folder;
    expect_checked(folder, folder.run_layer(GetParam(), "models/alexnet_small.json",
                                            {"--check", "on", "--granularity", granularity}));
    files[granularity] = folder.files();
  }
  EXPECT_TRUE(files["tile"].count("tilebeat-out/report.json"));
  EXPECT_TRUE(files["tile"] == files["clock"]) << "report and outputs are the same bytes";
}
INSTANTIATE_TEST_SUITE_P(Chips, ChipConfigFile, ::testing::ValuesIn(configs(true)),
                         [](const auto& file) { return test_name(file.param); });

TEST(FullyConnected, UI_6_runs_as_a_convolution) {
  const CommandFolder folder;
  nlohmann::json model = parsed("models/worked_dense.json");
  model["layers"].push_back({{"name", "fc"},
                             {"op", "fully_connected"},
                             {"inputs", {"conv1"}},
                             {"out_features", 10},
                             {"weights", {{"random", {{"seed", 9}}}}}});
  model["outputs"] = {"fc"};
  const std::string file = folder.write("fc.json", model.dump());
  const CommandResult result =
      folder.run({"run", "--config", source_path("configs/switch16.json"), "--layer", file, "--check", "on"});
  ASSERT_EQ(result.status, 0) << result.out << result.err;
  const nlohmann::json layer = folder.report().at("layers").at(1);
  EXPECT_EQ(layer.at("op"), "fully_connected");
  EXPECT_EQ(layer.at("check"), "passed");
  EXPECT_EQ(layer.at("macs"), 6 * 12 * 16 * 10);
}

class Config : public ::testing::TestWithParam<std::string> {};

TEST_P(Config, UI_2_runs_the_worked_examples) {
  for (const char* workload :
       {"models/worked_dense.json", "models/worked_dilated.json", "models/worked_scenes.json"}) {
    const CommandFolder folder;
    const CommandResult result = folder.run_layer(GetParam(), workload, {"--check", "on"});
    EXPECT_EQ(result.status, 0) << workload << ": " << result.out << result.err;
  }
}
INSTANTIATE_TEST_SUITE_P(Configs, Config, ::testing::ValuesIn(json_files("configs")),
                         [](const auto& file) { return test_name(file.param); });

struct CheckedRun {
  nlohmann::json layer;
  std::string output;
};
CheckedRun run(const std::string& config, const std::string& workload, const std::string& granularity) {
  const CommandFolder folder;
  const CommandResult result =
      folder.run_layer(config, workload, {"--granularity", granularity, "--check", "on"});
  EXPECT_EQ(result.status, 0) << result.err;
  return {folder.report().at("layers").at(0), read_bytes(folder.path("tilebeat-out/outputs/conv1.npy"))};
}

TEST(WorkedExample, SW_3_beats_and_useful_macs) {
  for (const std::string granularity : {"clock", "tile"}) {
    const CheckedRun dense = run("configs/switch16.json", "models/worked_dense.json", granularity);
    const CheckedRun dilated = run("configs/switch16.json", "models/worked_dilated.json", granularity);
    const CheckedRun zeros =
        run("configs/switch16_zero_inserted.json", "models/worked_dilated.json", granularity);
    EXPECT_EQ(dense.layer.at("beats"), 54);
    EXPECT_EQ(dilated.layer.at("beats"), 36);
    EXPECT_EQ(zeros.layer.at("beats"), 100);
    EXPECT_EQ(dense.layer.at("macs"), 31104);
    EXPECT_EQ(dilated.layer.at("macs"), 17280);
    EXPECT_EQ(zeros.layer.at("macs"), 17280) << "inserted zeros are no useful work";
    EXPECT_EQ(zeros.output, dilated.output) << "the baseline computes the same tensor";
    EXPECT_NE(dense.output, dilated.output);
  }
}

TEST(WorkedExample, SW_6_two_programs_one_map_one_run) {
  const CommandFolder folder;
  const CommandResult plan = folder.run({"plan", "--config", source_path("configs/switch16.json"), "--layer",
                                         source_path("models/worked_scenes.json")});
  ASSERT_EQ(plan.status, 0) << plan.err;
  EXPECT_NE(plan.out.find("program dense of soc at"), std::string::npos) << plan.out;
  EXPECT_NE(plan.out.find("program dilated of soc at"), std::string::npos) << plan.out;
  ASSERT_EQ(folder.run_layer("configs/switch16.json", "models/worked_scenes.json").status, 0);
  const nlohmann::json layers = folder.report().at("layers");
  ASSERT_EQ(layers.size(), 2U);
  EXPECT_EQ(layers[0].at("scene"), "dense");
  EXPECT_EQ(layers[1].at("scene"), "dilated");
  EXPECT_EQ(layers[0].at("beats"), 54);
  EXPECT_EQ(layers[1].at("beats"), 36);
  EXPECT_EQ(read_bytes(folder.path("tilebeat-out/outputs/dense.npy")),
            run("configs/switch16.json", "models/worked_dense.json", "tile").output);
  EXPECT_EQ(read_bytes(folder.path("tilebeat-out/outputs/dilated.npy")),
            run("configs/switch16.json", "models/worked_dilated.json", "tile").output);
}

TEST(WorkedExample, SW_4_channels_that_are_multiples_of_32_on_ports_of_32) {
  for (const int channels : {32, 64, 96}) {
    const CommandFolder folder;
    nlohmann::json model = parsed("models/worked_dilated.json");
    model["inputs"][0]["shape"] = {1, 8, 14, channels};
    model["layers"][0]["out_channels"] = 64;
    const std::string file = folder.write("wide.json", model.dump());
    const CommandResult result = folder.run({"run", "--config", source_path("configs/switch16_p32.json"),
                                             "--layer", file, "--granularity", "clock"});
    ASSERT_EQ(result.status, 0) << result.err;
    EXPECT_EQ(folder.report().at("layers").at(0).at("beats"), 4 * 9 * (channels / 32) * (64 / 16));
  }
}

class Corruption : public ::testing::TestWithParam<std::string> {};

TEST_P(Corruption, CY_3_one_wrong_byte_of_a_bank_fails_the_check) {
  // Byte 0 of bank 0 holds channel 0 of d0.0, which the first output uses.
  const CommandFolder folder;
  const CommandResult result =
      folder.run_layer("configs/switch16.json", "models/worked_dilated.json",
                       {"--granularity", GetParam(), "--fault", "0:0:0x80", "--timeline", "t.json"});
  EXPECT_EQ(result.status, 1) << result.out << result.err;
  const nlohmann::json report = folder.report();
  EXPECT_FALSE(report.at("passed").get<bool>());
  EXPECT_EQ(report.at("layers").at(0).at("check"), "failed");
  ASSERT_EQ(report.at("differences").size(), 1U);
  EXPECT_EQ(report.at("differences").at(0).at("layer"), "conv1");
  EXPECT_EQ(report.at("differences").at(0).at("index").at(1), 0)
      << "the first wrong element lies in the first row";
  const auto files = folder.files();
  for (const char* file : {"tilebeat-out/report.json", "tilebeat-out/outputs/conv1.npy", "t.json"}) {
    EXPECT_TRUE(files.count(file)) << file << " is written";
  }
  EXPECT_EQ(files.size(), 6U) << "and nothing else but two folders and the report's link";
  EXPECT_NE(result.out.find("FAIL"), std::string::npos) << "the terminal says so: " << result.out;
}

TEST_P(Corruption, CY_3_a_byte_that_nothing_reads_changes_nothing) {
  const CommandFolder folder;
  const CommandResult result = folder.run_layer("configs/switch16.json", "models/worked_dilated.json",
                                                {"--granularity", GetParam(), "--fault", "0:8000:0x80"});
  EXPECT_EQ(result.status, 0) << "the fault itself, not the option, fails the check";
}

INSTANTIATE_TEST_SUITE_P(Granularity, Corruption, ::testing::Values("clock", "tile"),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace tilebeat::testing
