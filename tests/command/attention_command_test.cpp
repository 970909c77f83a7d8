// Attention as a fusion group, through the product (SPEC AT-1, FU-12, FU-14).
#include "tilebeat_command.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tilebeat::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

json fused(const std::string& config, const json& fusion) {
  json hardware = json::parse(read_bytes(source_path("configs/" + config + ".json")));
  hardware["fused"] = true, hardware["fusion"] = fusion;
  return hardware;
}

/// The total of a passed run of a workload.
json total_of(const CommandFolder& folder, const json& hardware, const std::string& workload) {
  const CommandResult run =
      folder.run({"run", "--config", folder.write("c.json", hardware.dump()), "--layer", workload});
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_TRUE(folder.report().at("passed").get<bool>());
  return folder.report().at("total");
}

// 2,048 keys, eight heads of 64, 256 queries: the scores of a head are half a MiB.
TEST(AttentionCommand, AT_1_scores_of_2048_keys_stay_on_the_chip_in_at_most_800000_and_340000_cycles) {
  const CommandFolder folder;
  const std::string attention = source_path("examples/attention/attention.json");
  for (const auto& [config, most] : {std::pair("core1", 800'000), {"cluster4x4", 340'000}}) {
    const json total = total_of(folder, fused(config, {{"planner", "optimal"}}), attention);
    EXPECT_LE(total.at("cycles").get<std::int64_t>(), most) << config;
    EXPECT_EQ(total.at("bytes").at("dram").at("write"), 8 * 256 * 64) << config;
  }
}

// 1,024 queries and keys: a causal mask hides half of the scores, a window of 256 keys seven eighths.
TEST(AttentionCommand, AT_1_keys_that_no_query_of_a_step_sees_are_neither_loaded_nor_computed) {
  const CommandFolder folder;
  json work = json::parse(read_bytes(source_path("examples/attention/attention.json")));
  for (json& input : work["inputs"]) input["shape"] = {8, 1024, 64};
  std::vector<std::int64_t> macs, read;
  for (const json& causal : {json(), json::object(), json{{"window", 256}}}) {
    if (!causal.is_null()) work["layers"][1]["causal"] = causal;
    const json total = total_of(folder, fused("cluster4x4", {{"planner", "optimal"}}),
                                folder.write("attention.json", work.dump()));
    macs.push_back(total.at("macs").get<std::int64_t>());
    read.push_back(total.at("bytes").at("dram").at("read").get<std::int64_t>());
  }
  constexpr std::int64_t kProduct = std::int64_t{8} * 1024 * 1024 * 64;
  EXPECT_EQ(macs[0], 2 * kProduct);
  EXPECT_LE(macs[1], kProduct + kProduct * 5 / 8);
  EXPECT_LE(macs[2], kProduct + kProduct * 3 / 8);
  EXPECT_GE(macs[1], kProduct + kProduct / 2);
  EXPECT_LE(read[1], read[0] * 9 / 10) << "keys behind all queries of a step stay in DRAM";
}

/// One head of 16 queries and 256 keys.
std::string small_attention(const CommandFolder& folder) {
  json work = json::parse(read_bytes(source_path("examples/attention/attention.json")));
  work["inputs"][0]["shape"] = {1, 64, 64};
  for (const int operand : {1, 2}) work["inputs"][operand]["shape"] = {1, 256, 64};
  return folder.write("attention.json", work.dump());
}

// Rule 8 of document 001: no kernels that are the output of a layer, or an input.
TEST(AttentionCommand, FU_12_rule_8_alone_decides_whether_products_of_two_results_are_fused) {
  const CommandFolder folder;
  const std::string attention = small_attention(folder);
  for (const bool off : {false, true}) {
    json rules{6, 7};
    if (off) rules.push_back(8);
    const json hardware = fused("core1", {{"rules_off", rules}, {"keep_where_slower", true}});
    total_of(folder, hardware, attention);
    EXPECT_EQ(folder.report().at("layers").size(), off ? 1U : 3U);
  }
}

TEST(AttentionCommand, FU_14_what_no_group_of_products_can_be_is_refused) {
  const CommandFolder folder;
  const std::string attention = small_attention(folder);
  const auto refused = [&](const json& group, const std::string& said) {
    json asked = group;
    if (!asked.contains("layers")) asked["layers"] = {"scores", "probabilities", "context"};
    folder.write("m.json", json{{"tilebeat_mapping", 1}, {"groups", {asked}}}.dump());
    const CommandResult run = folder.run(
        {"run", "--config", source_path("configs/core1.json"), "--layer", attention, "--mapping", "m.json"});
    EXPECT_EQ(run.status, 2) << run.out;
    EXPECT_THAT(run.err, HasSubstr(said));
  };
  refused({{"kernels", "resident"}}, "those of a product of two results are other ones for each image");
  refused({{"step_maps", 2}, {"step_rows", 64}}, "products of two results take one map after the other");
  json work = json::parse(read_bytes(attention));
  json again = work["layers"][2];
  again["name"] = "again", again["inputs"] = {"q", "scores"};
  work["layers"] = {work["layers"][0], again};
  work["outputs"] = {"again"};
  folder.write("attention.json", work.dump());
  refused({{"layers", {"scores", "again"}}}, "its second operand, 'scores', is made in the group");
}

}  // namespace
}  // namespace tilebeat::testing
