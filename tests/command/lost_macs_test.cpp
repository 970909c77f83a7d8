// Why a busy array is not a used one (SPEC UI-4): what its beats had room for is useful or lost by name, and
// both sum to the beats at the array's peak.
#include "tilebeat_command.h"

#include <string>
#include <tuple>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tilebeat::testing {
namespace {

using Json = nlohmann::json;

std::int64_t lost(const Json& of) {
  std::int64_t sum = 0;
  for (const auto& [name, count] : of.at("lost_macs").items()) {
    EXPECT_GE(count.get<std::int64_t>(), 0) << name;
    sum += count.get<std::int64_t>();
  }
  return sum;
}

struct Worked {
  const char *config, *model;
  std::int64_t no_pixel, no_channel;
};

// SPEC SW-3: 16 kernels fill the columns, 3 of 4 channels the ports. Dense: 12 x 6 outputs take 3 x 2
// operation cycles of 2 x 8 lanes, 72 of 96 used, 9 beats each. Dilated: 10 x 4 take 2 x 2, 40 of 64. With
// inserted zeros: 25 beats instead of 9, of which 16 multiply zeros.
TEST(LostMacs, SW_3_UI_4_the_worked_example_by_hand) {
  const Worked cases[] = {
      {"configs/switch16.json", "models/worked_dense.json", 24 * 16 * 9 * 4, 72 * 16 * 9 * 1},
      {"configs/switch16.json", "models/worked_dilated.json", 24 * 16 * 9 * 4, 40 * 16 * 9 * 1},
      {"configs/switch16_zero_inserted.json", "models/worked_dilated.json", 24 * 16 * 25 * 4,
       40 * 16 * (25 * 4 - 9 * 3)}};
  for (const Worked& worked : cases) {
    const CommandFolder folder;
    const CommandResult result = folder.run_layer(worked.config, worked.model);
    ASSERT_EQ(result.status, 0) << result.err;
    const Json report = folder.report();
    EXPECT_EQ(report.at("total").at("lost_macs"),
              (Json{{"no_pixel", worked.no_pixel}, {"no_kernel", 0}, {"no_channel", worked.no_channel}}))
        << worked.config << ' ' << worked.model;
    EXPECT_EQ(report.at("layers").at(0).at("lost_macs"), report.at("total").at("lost_macs"));
    EXPECT_NE(result.out.find("no_channel"), std::string::npos) << result.out;
  }
}

TEST(LostMacs, UI_4_columns_without_a_kernel) {
  const CommandFolder folder;
  Json model = Json::parse(read_bytes(source_path("models/worked_dense.json")), nullptr, true, true);
  model.at("layers").at(0).at("out_channels") = 5;
  model.at("layers").at(0)["weights"] = {{"random", {{"seed", 1}}}};
  model.at("layers").at(0).erase("bias"), model.erase("expected");
  const CommandResult result = folder.run({"run", "--config", source_path("configs/switch16.json"), "--layer",
                                           folder.write("five.json", model.dump())});
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(folder.report().at("total").at("lost_macs").at("no_kernel"), 72 * (16 - 5) * 9 * 4);
}

using Case = std::tuple<const char*, const char*, const char*>;

class LostMacsOn : public ::testing::TestWithParam<Case> {};

TEST_P(LostMacsOn, CY_1_CY_3_UI_4_beats_at_the_peak_are_useful_or_lost) {
  const auto& [config, model, granularity] = GetParam();
  const CommandFolder folder;
  const CommandResult result = folder.run_layer(config, model, {"--granularity", granularity});
  ASSERT_EQ(result.status, 0) << result.err << result.out;
  const Json report = folder.report();
  const std::int64_t cores = std::max<std::int64_t>(1, static_cast<std::int64_t>(report.at("cores").size()));
  const std::int64_t peak = report.at("peak_macs_per_clock").get<std::int64_t>() / cores;
  std::int64_t all = 0;
  for (const Json& layer : report.at("layers")) {
    const std::int64_t room = layer.at("beats").get<std::int64_t>() * peak;
    EXPECT_EQ(layer.at("macs").get<std::int64_t>() + lost(layer), room) << layer.at("name");
    all += lost(layer);
  }
  EXPECT_EQ(lost(report.at("total")), all);
  EXPECT_GT(all, 0) << "some work of these layers does not fill the array";
}

INSTANTIATE_TEST_SUITE_P(
    Engines, LostMacsOn,
    ::testing::Combine(::testing::Values("configs/core1.json", "configs/cluster4.json",
                                         "configs/wfold16x4.json", "configs/rolling16.json",
                                         "configs/rolling16_stacked.json", "configs/offset16.json"),
                       ::testing::Values("models/small_chain.json", "models/worked_dilated.json",
                                         "models/mobilenet_depthwise.json"),
                       ::testing::Values("tile", "clock")),
    [](const auto& test) {
      return test_name(std::get<0>(test.param)) + "_" + test_name(std::get<1>(test.param)) + "_" +
             std::get<2>(test.param);
    });

}  // namespace
}  // namespace tilebeat::testing
