// The transformers of models/ (SPEC OP-3): encoders and a decoder with a cache of keys and values, on chips
// with every matrix engine, exact against the reference in both granularities.
#include "tilebeat_command.h"

#include <cstdlib>
#include <map>
#include <set>
#include <string>

#include <gtest/gtest.h>

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

// Three query heads share keys; the prompt passes causally, and two tokens are made after it.
TEST(Decoder, AT_1_AT_2_a_prompt_and_tokens_behind_its_keys_and_values_on_every_engine) {
  const CommandFolder command;
  const std::string make =
      "'" + source_path("scripts/make-decoder") + "' --out '" + command.path("d") +
      "' --blocks 2 --prompt 7 --steps 2 --vocabulary 200 --width 64 --heads 3 --shared 1 "
      "--hidden 96";
  ASSERT_EQ(std::system(make.c_str()), 0);
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
  }
}

}  // namespace
}  // namespace tilebeat::testing
