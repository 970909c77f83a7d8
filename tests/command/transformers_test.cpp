// The transformers of models/ (SPEC OP-3): encoders and a decoder with a cache of keys and values, on chips
// with every matrix engine, exact against the reference in both granularities.
#include "tilebeat_command.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tilebeat::testing {
namespace {

class Transformers : public ::testing::TestWithParam<const char*> {};

TEST_P(Transformers, OP_3_run_on_every_engine_in_both_granularities) {
  const std::string model = std::string("models/") + GetParam() + ".json";
  for (const char* config : {"cluster4x4", "wfold_cluster4x4", "rolling_cluster4x4", "offset_cluster4x4"}) {
    const CommandFolder command;
    std::map<std::string, std::string> first;
    for (const char* granularity : {"tile", "clock"}) {
      const CommandResult result =
          command.run_layer(std::string("configs/") + config + ".json", model,
                            {"--granularity", granularity, "--check", "on", "--out", granularity});
      ASSERT_EQ(result.status, 0) << config << ", " << granularity << ": " << result.err;
      const auto files = command.files(granularity);
      if (first.empty()) first = files;
      EXPECT_TRUE(files == first) << config << ": another report or output in " << granularity
                                  << " granularity";
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Models, Transformers, ::testing::Values("encoder_block", "encoder", "decoder"),
                         [](const auto& model) { return model.param; });

TEST(Decoder, OP_3_makes_eight_tokens_that_differ) {
  const CommandFolder command;
  ASSERT_EQ(command.run_layer("configs/cluster4.json", "models/decoder.json").status, 0);
  std::set<std::string> tokens;
  const auto tensors = command.tensors("tilebeat-out");
  EXPECT_EQ(tensors.size(), 8U);
  for (const auto& [name, bytes] : tensors) tokens.insert(bytes);
  EXPECT_GE(tokens.size(), 4U) << "a network that always says the same proves little";
}

/// Writes d/decoder.json, and what it reads.
void make_decoder(const CommandFolder& command, const std::string& options) {
  const std::string make = "'" + source_path("scripts/make-decoder") + "' --out '" + command.path("d") + "' ";
  ASSERT_EQ(std::system((make + options).c_str()), 0);
}

/// The kind of bound that is the largest one of layers with most of a scene's cycles.
void expect_limit(const nlohmann::json& report, const nlohmann::json& scene) {
  std::map<std::string, std::int64_t> cycles;
  for (const nlohmann::json& layer : report.at("layers")) {
    if (layer.at("scene") != scene.at("name")) continue;
    std::string limit = "compute";
    for (const char* kind : {"beats", "dram", "port"})
      if (layer.at("bound_cycles").at(kind) > layer.at("bound_cycles").at(limit)) limit = kind;
    cycles[limit] += layer.at("cycles").get<std::int64_t>();
  }
  const auto most = std::max_element(cycles.begin(), cycles.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  EXPECT_EQ(scene.at("limit").at("bound"), most->first);
  EXPECT_EQ(scene.at("limit").at("cycles"), most->second);
}

/// The prompt and the steps are programs of their own, whose sums are those of the run.
void check_scenes(const nlohmann::json& report) {
  const nlohmann::json& scenes = report.at("scenes");
  ASSERT_EQ(scenes.size(), 3U);
  std::int64_t cycles = 0, macs = 0, read = 0, written = 0;
  double energy = 0;
  for (const nlohmann::json& scene : scenes) {
    cycles += scene.at("cycles").get<std::int64_t>(), macs += scene.at("macs").get<std::int64_t>();
    read += scene.at("dram_read_bytes").get<std::int64_t>();
    written += scene.at("dram_write_bytes").get<std::int64_t>();
    energy += scene.at("energy_pj").get<double>();
    EXPECT_LE(scene.at("limit").at("cycles"), scene.at("cycles"));
    expect_limit(report, scene);
  }
  EXPECT_EQ(scenes[0].at("name"), "main");
  EXPECT_EQ(scenes[2].at("name"), "step2");
  EXPECT_EQ(report.at("layers").back().at("scene"), "step2");
  const nlohmann::json& total = report.at("total");
  EXPECT_EQ(cycles, total.at("cycles"));
  EXPECT_EQ(macs, total.at("macs"));
  EXPECT_EQ(read, total.at("dram_read_bytes"));
  EXPECT_EQ(written, total.at("dram_write_bytes"));
  const auto all = report.at("energy").at("pj").at("total").get<double>();
  EXPECT_NEAR(energy, all, 1e-6 * all);
}

// Three query heads share keys; the prompt passes causally, and two tokens are made after it, each in a step.
TEST(Decoder, AT_1_AT_2_AT_3_a_prompt_and_tokens_behind_its_keys_and_values_on_every_engine) {
  const CommandFolder command;
  make_decoder(command,
               "--blocks 2 --prompt 7 --steps 2 --vocabulary 200 --width 64 --heads 3 --shared 1 "
               "--hidden 96");
  std::map<std::string, std::string> first;
  for (const char* config :
       {"core1", "cluster4x4", "wfold_cluster4x4", "rolling_cluster4x4", "offset_cluster4x4"}) {
    const CommandResult result =
        command.run({"run", "--config", source_path("configs/" + std::string(config) + ".json"), "--layer",
                     command.path("d/decoder.json"), "--check", "on", "--out", config});
    ASSERT_EQ(result.status, 0) << config << ": " << result.err;
    const auto tokens = command.tensors(config);
    ASSERT_EQ(tokens.size(), 3U);
    if (first.empty()) first = tokens;
    EXPECT_TRUE(tokens == first) << config;
    check_scenes(command.report(config));
  }
  std::set<std::string> different;
  for (const auto& [name, bytes] : first) different.insert(bytes);
  EXPECT_GE(different.size(), 2U) << "a network that always says the same proves little";
}

TEST(Decoder, AT_1_more_words_than_a_row_has_are_found_by_row_and_place) {
  const CommandFolder command;
  make_decoder(command,
               "--blocks 1 --prompt 3 --steps 1 --vocabulary 32768 --width 32 --heads 1 --shared 1 "
               "--hidden 32 --weights int8");
  auto decoder = nlohmann::json::parse(read_bytes(command.path("d/decoder.json")));
  decoder["outputs"].push_back("prompt_scores");
  command.write("d/decoder.json", decoder.dump());
  const CommandResult result = command.run(
      {"run", "--config", source_path("configs/core1.json"), "--layer", command.path("d/decoder.json")});
  ASSERT_EQ(result.status, 0) << result.err;
  const auto tensors = command.tensors("tilebeat-out");
  const auto last_bytes = [&](const std::string& name, std::size_t count) {
    const std::string& file = tensors.at(name + ".npy");
    return file.substr(file.size() - count);
  };
  const auto index = [&](const std::string& name) {
    std::int32_t value = 0;
    std::memcpy(&value, last_bytes(name, sizeof value).data(), sizeof value);
    return value;
  };
  const std::string scores = last_bytes("prompt_scores", 32768);
  const auto best = std::max_element(scores.begin(), scores.end(), [](char a, char b) {
    return static_cast<signed char>(a) < static_cast<signed char>(b);
  });
  EXPECT_EQ(index("prompt_row") * 16384 + index("prompt_id"), best - scores.begin());
}

}  // namespace
}  // namespace tilebeat::testing
