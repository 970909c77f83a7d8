// `tilebeat import` as a user meets it (SPEC RN_1, RN_2, RN_5): what runtimes have recorded comes out of
// every engine, a refused file leaves nothing behind, and inputs can be replaced.
#include "mutated_bytes.h"
#include "tilebeat_command.h"

#include <cstdlib>
#include <map>
#include <random>
#include <regex>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

const char* const kKeywords = "tests/data/models/kws/model.tflite";

/// The exit status of scripts/check-networks for the models in tests/data, with what it printed.
CommandResult check_networks(const std::string& config, const std::string& only) {
  const TemporaryFolder folder;
  const std::string command = "TILEBEAT='" + std::string(tilebeat_binary()) + "' '" +
                              source_path("scripts/check-networks") + "' '" +
                              source_path("tests/data/models") + "' --only " + only + " --config '" + config +
                              "' > '" + folder.path("out") + "' 2>&1";
  const int status = std::system(command.c_str());
  return {WEXITSTATUS(status), read_bytes(folder.path("out")), ""};
}

class RecordedOn : public ::testing::TestWithParam<const char*> {};

TEST_P(RecordedOn, RN_5_the_networks_of_MLPerf_Tiny_have_the_bytes_of_the_runtime) {
  const CommandResult result = check_networks(source_path(GetParam()), "kws --only ic01 --only ad01");
  EXPECT_EQ(result.status, 0) << result.out;
  EXPECT_THAT(result.out, HasSubstr("6 of 6 equal")) << "XNNPACK and built-in kernels";
}

TEST_P(RecordedOn, RN_2_operators_and_a_QDQ_network_have_the_bytes_of_the_runtime) {
  const CommandResult result =
      check_networks(source_path(GetParam()), "ort/ --only qdq_cnn/model --only stress");
  EXPECT_EQ(result.status, 0) << result.out;
  EXPECT_THAT(result.out, HasSubstr("17 of 17 equal"));
}

INSTANTIATE_TEST_SUITE_P(Engines, RecordedOn,
                         ::testing::Values("configs/core1.json", "configs/wfold16x4.json",
                                           "configs/rolling16.json", "configs/offset16.json",
                                           "configs/cluster4x4.json"),
                         [](const auto& config) { return test_name(config.param); });

TEST(ImportCommand, RN_5_fused_layers_have_the_bytes_of_the_runtime) {
  const CommandFolder folder;
  json hardware = json::parse(read_bytes(source_path("configs/core1.json")), nullptr, true, true);
  hardware["fused"] = true;
  const CommandResult result = check_networks(folder.write("fused.json", hardware.dump()),
                                              "kws --only ic01 --only ad01 --only qdq_cnn/model");
  EXPECT_EQ(result.status, 0) << result.out;
}

TEST(ImportCommand, RN_1_writes_a_workload_that_runs) {
  const CommandFolder folder;
  const CommandResult result = folder.run({"import", source_path(kKeywords), "--out", "net"});
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("13 operators as 12 layers"));
  const json workload = json::parse(read_bytes(folder.path("net/workload.json")));
  EXPECT_EQ(workload["arithmetic"], "fixed");
  EXPECT_EQ(workload["outputs"], json({"softmax_t34"}));
  const json tensors = json::parse(read_bytes(folder.path("net/tensors.json")));
  ASSERT_EQ(tensors.size(), 35U);
  EXPECT_EQ(tensors[22]["index"], 22);
  EXPECT_EQ(tensors[22]["holder"], "conv_2d_t22");
  EXPECT_TRUE(tensors[17]["holder"].is_null()) << "weights";
  EXPECT_EQ(tensors[0]["holder"], "input_1");

  const std::string input = "input_1=" + source_path("tests/data/models/kws/input0_real_mfcc.npy");
  for (const std::string out : {"random", "given"}) {
    std::vector<std::string> arguments{
        "run", "--config", source_path("configs/core1.json"), "--layer", "net/workload.json", "--out", out};
    if (out == "given") arguments.insert(arguments.end(), {"--input", input});
    ASSERT_EQ(folder.run(arguments).status, 0);
  }
  EXPECT_NE(folder.tensors("random"), folder.tensors("given"));
}

TEST(ImportCommand, RN_1_keep_all_makes_every_activation_an_output) {
  const CommandFolder folder;
  ASSERT_EQ(
      folder.run({"import", source_path(kKeywords), "--out", "net", "--keep-all", "--arithmetic", "float32"})
          .status,
      0);
  const json workload = json::parse(read_bytes(folder.path("net/workload.json")));
  EXPECT_EQ(workload["outputs"].size(), workload["layers"].size());
  EXPECT_EQ(workload["arithmetic"], "float32");
}

TEST(ImportCommand, RN_1_inputs_are_named_and_fit) {
  const CommandFolder folder;
  ASSERT_EQ(folder.run({"import", source_path(kKeywords), "--out", "net"}).status, 0);
  const auto run = [&](const std::string& input) {
    return folder.run({"run", "--config", source_path("configs/core1.json"), "--layer", "net/workload.json",
                       "--input", input});
  };
  EXPECT_THAT(run("input=x.npy").err, HasSubstr("has no such input, the nearest is \"input_1\""));
  EXPECT_THAT(run("x.npy").err, HasSubstr("NAME=X.npy is expected"));
  EXPECT_THAT(run("input_1=missing.npy").err, HasSubstr("missing.npy: cannot be opened"));
  const CommandResult other = run("input_1=" + folder.path("net/conv_2d_t22_bias.npy"));
  EXPECT_EQ(other.status, 2);
  EXPECT_THAT(other.err, HasSubstr("shape [1, 49, 10, 1] of int8"));
}

TEST(ImportCommand, RN_1_a_model_is_no_workload) {
  const CommandFolder folder;
  const CommandResult result = folder.run_layer("configs/core1.json", kKeywords);
  EXPECT_EQ(result.status, 2);
  EXPECT_THAT(result.err,
              HasSubstr("make one of it with `tilebeat import " + source_path(kKeywords) + " --out model`"));
}

TEST(ImportCommand, RN_1_a_refused_file_leaves_nothing_behind) {
  const CommandFolder folder;
  const std::string whole = read_bytes(source_path(kKeywords));
  folder.write("cut.tflite", whole.substr(0, whole.size() / 2));
  folder.write("text.onnx", "this is no model");
  folder.write("model.pb", "neither");
  const auto before = folder.files();
  for (const std::string model : {"cut.tflite", "text.onnx", "model.pb", "missing.onnx"}) {
    const CommandResult result = folder.run({"import", model, "--out", "net"});
    EXPECT_EQ(result.status, 2) << model;
    EXPECT_EQ(result.out, "");
    EXPECT_THAT(result.err, HasSubstr(model));
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << "one clear message";
    EXPECT_EQ(folder.files(), before) << model;
  }
}

TEST(ImportCommand, RN_3_a_float_network_is_calibrated) {
  const CommandFolder folder;
  const std::string model = source_path("tests/data/models/qdq_cnn/float.onnx"),
                    samples = source_path("tests/data/models/qdq_cnn/input0.npy");
  const CommandResult without = folder.run({"import", model, "--out", "net"});
  EXPECT_EQ(without.status, 2);
  EXPECT_THAT(without.err, HasSubstr("--calibrate X.npy quantises such parts of a network"));
  for (const std::string percentile : {"100", "99.9"}) {
    const CommandResult result =
        folder.run({"import", model, "--out", "net", "--calibrate", samples, "--percentile", percentile});
    ASSERT_EQ(result.status, 0) << result.err;
    EXPECT_THAT(result.out, HasSubstr("SQNR   cosine"));
    EXPECT_THAT(result.out, ::testing::ContainsRegex("prob[_0-9]* +[0-9.]+ dB  0\\.99")) << result.out;
  }
}

TEST(ImportCommand, RN_3_networks_of_real_shape_stay_within_a_cosine_of_0_99) {
  for (const std::string network : {"resnet18", "mobilenet"}) {
    const CommandFolder folder;
    const std::string make = "'" + source_path("scripts/make-float-network") + "' " + network +
                             " --size 32 --width 8 --out '" + folder.path("float.onnx") + "' --samples '" +
                             folder.path("x.npy") + "'";
    ASSERT_EQ(std::system(make.c_str()), 0);
    const CommandResult result = folder.run({"import", "float.onnx", "--out", "net", "--calibrate", "x.npy"});
    ASSERT_EQ(result.status, 0) << result.err;
    std::smatch cosine;
    ASSERT_TRUE(std::regex_search(result.out, cosine, std::regex("logits\\S* +\\S+ dB +(\\S+)")))
        << result.out;
    EXPECT_GE(std::stod(cosine[1]), 0.99) << network;
    const CommandResult run =
        folder.run({"run", "--config", source_path("configs/cluster4.json"), "--layer", "net/workload.json"});
    ASSERT_EQ(run.status, 0) << network << ": the chip computes what the reference does";
    // The report says it of the chip's own outputs, layer by layer.
    EXPECT_THAT(run.out, HasSubstr("SQNR   cosine"));
    const json report = folder.report();
    int layers = 0;
    for (const json& layer : report.at("layers")) {
      if (!layer.contains("quality")) continue;
      ++layers;
      EXPECT_GE(layer.at("quality").at("cosine"), 0.98) << network << ", " << layer.at("name");
    }
    EXPECT_GE(layers, 20) << network;
    const json& output = report.at("layers").back();
    EXPECT_NEAR(output.at("quality").at("cosine").get<double>(), std::stod(cosine[1]), 1e-5);
  }
}

TEST(ImportCommand, DT_1_RN_3_float_weights_are_stored_with_four_bits) {
  const CommandFolder folder;
  const std::string make = "'" + source_path("scripts/make-float-network") +
                           "' resnet18 --size 32 --width 8 --out '" + folder.path("float.onnx") +
                           "' --samples '" + folder.path("x.npy") + "'";
  ASSERT_EQ(std::system(make.c_str()), 0);
  // The signal to quantisation noise of the output, in dB.
  std::map<std::string, double> quality;
  for (const std::string weights : {"int8", "int4", "int4:16", "int4:128"}) {
    const CommandResult result =
        folder.run({"import", "float.onnx", "--out", "net", "--calibrate", "x.npy", "--weights", weights});
    ASSERT_EQ(result.status, 0) << result.err;
    std::smatch found;
    ASSERT_TRUE(std::regex_search(result.out, found, std::regex("logits\\S* +(\\S+) dB"))) << result.out;
    quality[weights] = std::stod(found[1]);
    int stored = 0;
    const json workload = json::parse(read_bytes(folder.path("net/workload.json")));
    for (const json& layer : workload.at("layers")) {
      if (!layer.contains("weights")) continue;
      const json& of = layer.at("weights");
      ++stored;
      EXPECT_EQ(of.value("dtype", "int8"), weights.substr(0, 4)) << layer;
      EXPECT_EQ(of.contains("group"), weights.size() > 4);
      if (weights.size() > 4) {
        EXPECT_EQ(of.at("group"), std::stoi(weights.substr(5)));
      }
    }
    EXPECT_GE(stored, 20);
    const CommandResult run =
        folder.run({"run", "--config", source_path("configs/cluster4.json"), "--layer", "net/workload.json"});
    ASSERT_EQ(run.status, 0) << weights << run.out << run.err;
  }
  EXPECT_GT(quality["int8"], quality["int4:16"] + 3);
  EXPECT_GT(quality["int4:16"], quality["int4:128"]) << "small groups are nearer";
  EXPECT_GT(quality["int4:16"], 8);
  const CommandResult odd =
      folder.run({"import", "float.onnx", "--out", "net", "--calibrate", "x.npy", "--weights", "int4:24"});
  EXPECT_EQ(odd.status, 2);
  EXPECT_THAT(odd.err, HasSubstr("--weights"));
}

TEST(ImportCommand, RN_3_quality_is_of_the_inputs_that_the_file_names) {
  const CommandFolder folder;
  const std::string model = source_path("tests/data/models/qdq_cnn/float.onnx"),
                    samples = source_path("tests/data/models/qdq_cnn/input0.npy");
  ASSERT_EQ(folder.run({"import", model, "--out", "net", "--calibrate", samples}).status, 0);
  const std::vector<std::string> run{"run", "--config", source_path("configs/core1.json"), "--layer",
                                     "net/workload.json"};
  const json workload = json::parse(read_bytes(folder.path("net/workload.json")));
  ASSERT_EQ(folder.run(run).status, 0);
  EXPECT_TRUE(folder.report().at("layers").back().contains("quality"));
  // A bit that is flipped in the engine: the quality is that of what was computed, not of the reference.
  const double sound = folder.report().at("layers").back().at("quality").at("sqnr_db");
  std::vector<std::string> faulty = run;
  for (const char* word : {"--fault", "0:0:255", "--fault", "1:0:255", "--fault", "2:1:255"})
    faulty.emplace_back(word);
  ASSERT_EQ(folder.run(faulty).status, 1);
  EXPECT_NE(folder.report().at("layers").back().at("quality").at("sqnr_db"), sound);
  // Another input has no float values.
  std::vector<std::string> other = run;
  other.emplace_back("--input");
  other.push_back(workload.at("inputs").at(0).at("name").get<std::string>() + "=" + samples);
  const CommandResult replaced = folder.run(other);
  ASSERT_EQ(replaced.status, 0) << replaced.err;
  EXPECT_FALSE(folder.report().at("layers").back().contains("quality"));
}

TEST(ImportCommand, RN_3_wrong_float_values_are_refused) {
  const CommandFolder folder;
  const std::string model = source_path("tests/data/models/qdq_cnn/float.onnx"),
                    samples = source_path("tests/data/models/qdq_cnn/input0.npy");
  ASSERT_EQ(folder.run({"import", model, "--out", "net", "--calibrate", samples}).status, 0);
  const json sound = json::parse(read_bytes(folder.path("net/workload.json")));
  ASSERT_GE(sound.at("float_references").size(), 2U);
  const auto refusal = [&](const json& workload) {
    folder.write("net/workload.json", workload.dump());
    const CommandResult result =
        folder.run({"run", "--config", source_path("configs/core1.json"), "--layer", "net/workload.json"});
    EXPECT_EQ(result.status, 2);
    return result.err;
  };
  json wrong = sound;
  wrong["float_references"][0]["layer"] = "nothing";
  EXPECT_THAT(refusal(wrong), HasSubstr("/float_references/0/layer: \"nothing\""));
  wrong = sound;
  wrong["float_references"][1]["layer"] = sound["float_references"][0]["layer"];
  wrong["float_references"][1]["file"] = sound["float_references"][0]["file"];
  EXPECT_THAT(refusal(wrong), HasSubstr("each layer once"));
  wrong = sound;
  wrong["float_references"][0]["scale"] = 0;
  EXPECT_THAT(refusal(wrong), HasSubstr("/float_references/0/scale: 0"));
  wrong = sound;
  wrong["float_references"][0]["file"] = sound["layers"][1].value("weights", json{{"file", "x"}})["file"];
  EXPECT_THAT(refusal(wrong), HasSubstr("/float_references/0/file: "));
}

// The model and its samples, under any name that import writes.
TEST(ImportCommand, UI_5_RN_1_a_file_that_is_read_is_not_overwritten) {
  const CommandFolder folder;
  std::filesystem::create_directory(folder.path("o"));
  const std::string model = read_bytes(source_path("tests/data/models/kws/model.tflite"));
  folder.write("o/workload.json", model);
  std::filesystem::create_hard_link(folder.path("o/workload.json"), folder.path("model.tflite"));
  const CommandResult result = folder.run({"import", "model.tflite", "--out", "o"});
  EXPECT_EQ(result.status, 2);
  EXPECT_EQ(result.err, "tilebeat: o/workload.json: is read by this command and would be overwritten\n");
  EXPECT_EQ(read_bytes(folder.path("o/workload.json")), model);
  EXPECT_EQ(folder.files().size(), 3U);
}

TEST(ImportCommand, UI_5_a_folder_for_temporary_files_that_is_not_there_is_named) {
  const CommandFolder folder;
  CommandSetting setting;
  setting.environment = {{"TMPDIR", "/nonexistent"}};
  const CommandResult result =
      folder.run({"import", source_path("tests/data/models/kws/model.tflite"), "--out", "o"}, setting);
  EXPECT_EQ(result.status, 2);
  EXPECT_THAT(result.err, HasSubstr("tilebeat: TMPDIR /nonexistent: no folder for temporary files: "));
}

// Whenever the signal comes, the folder for temporary files is empty behind it.
TEST(ImportCommand, UI_5_SIGTERM_leaves_no_temporary_files) {
  const CommandFolder folder;
  std::filesystem::create_directory(folder.path("tmp"));
  int ended = 0;
  for (int call = 1; call <= 12; ++call) {
    CommandSetting setting;
    setting.environment = {{"LD_PRELOAD", TILEBEAT_FAILING_CALLS},
                           {"FAILING_CALL", std::to_string(call)},
                           {"FAILING_HOW", "term"},
                           {"TMPDIR", folder.path("tmp")},
                           {"ASAN_OPTIONS", "verify_asan_link_order=0:detect_leaks=0"}};
    const CommandResult result =
        folder.run({"import", source_path("tests/data/models/kws/model.tflite"), "--out", "o"}, setting);
    ended += result.status == 128 + SIGTERM ? 1 : 0;
    EXPECT_TRUE(std::filesystem::is_empty(folder.path("tmp"))) << "SIGTERM at call " << call;
  }
  EXPECT_GE(ended, 1);
}

TEST(ImportCommand, RN_1_a_changed_file_leaves_nothing_behind) {
  std::mt19937_64 random(30);
  const CommandFolder folder;
  for (int i = 0; i < 24; ++i) {
    const std::string model = i % 2 == 0 ? "model.onnx" : "model.tflite";
    const std::string source = i % 2 == 0 ? "ort/qconv_grp_s8.onnx" : "kws/model.tflite";
    folder.write(model, mutated(read_bytes(source_path("tests/data/models/" + source)), random));
    const CommandResult result = folder.run({"import", model, "--out", "net"});
    if (result.status == 0) {
      std::filesystem::remove_all(folder.path("net"));
      continue;
    }
    EXPECT_EQ(result.status, 2) << i << ": " << result.err;
    EXPECT_NE(result.err, "");
    EXPECT_FALSE(std::filesystem::exists(folder.path("net"))) << i;
  }
}

}  // namespace
}  // namespace tilebeat::testing
