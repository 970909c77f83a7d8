// The transformers of models/ (SPEC OP-3): encoders and a decoder with a cache of keys and values, on chips
// with every matrix engine, exact against the reference in both granularities.
#include "tilebeat_command.h"

#include <set>

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

}  // namespace
}  // namespace tilebeat::testing
