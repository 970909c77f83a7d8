// The rules of fusion decide, one by one, through the product: small networks on which a rule alone changes
// the groups (SPEC FU-3, FU-12), and memory that never loses a group.
#include "tilebeat_command.h"

#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tilebeat::testing {
namespace {

using nlohmann::json;

/// A convolution with an odd kernel that keeps the size of the map.
json conv(const std::string& name, const std::string& input, int channels, int kernel, int seed) {
  const int pad = kernel / 2;
  return {{"name", name},
          {"op", "conv2d"},
          {"inputs", {input}},
          {"out_channels", channels},
          {"kernel", {kernel, kernel}},
          {"pads", {pad, pad, pad, pad}},
          {"weights", {{"random", {{"seed", seed}}}}},
          {"requant", {{"scale", 0.001}, {"zero_point", 0}, {"dtype", "int8"}}},
          {"activation", "relu"}};
}

json network(const std::vector<int>& shape, const json& layers) {
  return {{"name", "net"},
          {"inputs", {{{"name", "x"}, {"shape", shape}, {"dtype", "int8"}, {"random", {{"seed", 1}}}}}},
          {"layers", layers}};
}

json hardware(int clusters, int cores, int sram, const json& fusion) {
  return {{"name", "hw"},
          {"dataflow", "dilated"},
          {"fused", true},
          {"fusion", fusion},
          {"chip",
           {{"clusters", clusters},
            {"cores_per_cluster", cores},
            {"memory_controllers", 2},
            {"sram", {{"size_bytes", sram}}}}}};
}

/// A run: the layers of its groups, as the report has them, and its cost.
struct FusedRun {
  std::vector<json> groups;
  std::int64_t cycles = 0, bytes = 0;
};
FusedRun run(const json& config, const json& workload) {
  const CommandFolder folder;
  folder.write("c.json", config.dump());
  folder.write("n.json", workload.dump());
  const CommandResult result = folder.run({"run", "--config", "c.json", "--layer", "n.json"});
  EXPECT_EQ(result.status, 0) << result.err;
  const json report = folder.report();
  FusedRun made;
  for (const json& layer : report.at("layers")) {
    EXPECT_EQ(layer.at("check"), "passed");
    if (layer.at("op") == "fused") made.groups.push_back(layer.at("layers"));
  }
  made.cycles = report.at("total").at("cycles");
  made.bytes = report.at("total").at("dram_read_bytes").get<std::int64_t>() +
               report.at("total").at("dram_write_bytes").get<std::int64_t>();
  return made;
}

// What does not fit beside the bytes on their way is made smaller, so that more memory loses no group.
TEST(FusionRules, FU_12_more_sram_never_loses_a_group) {
  const json net = network({16, 16, 16, 16}, {conv("c1", "x", 32, 3, 2), conv("c2", "c1", 16, 3, 3)});
  const auto made = [&](int kib, bool fused) {
    json config = hardware(1, 2, kib << 10, {{"planner", "rules"}});
    config["interconnect"] = {{"bytes_per_clock", 4}};
    config["fused"] = fused;
    return run(config, net);
  };
  const FusedRun alone = made(64, false);
  for (const int kib : {64, 72, 80, 88, 96, 112, 128, 192}) {
    const FusedRun fused = made(kib, true);
    EXPECT_EQ(fused.groups, (std::vector<json>{{"c1", "c2"}})) << kib << " KiB";
    EXPECT_LT(fused.bytes, alone.bytes / 2) << kib << " KiB";
    EXPECT_LT(fused.cycles, alone.cycles * 6 / 10) << kib << " KiB";
  }
}

// Rules 6 and 7 are off as by default.
TEST(FusionRules, FU_12_rule_9_ends_a_group_before_kernels_that_another_layer_has) {
  const auto net = [](int seed) {
    return network({1, 64, 64, 16}, {conv("c1", "x", 16, 3, 2), conv("c2", "c1", 16, 3, seed)});
  };
  const auto groups = [&](const json& workload, const json& rules_off) {
    json config = hardware(2, 2, 1 << 20, {{"planner", "rules"}, {"rules_off", rules_off}});
    config["interconnect"] = {{"bytes_per_clock", 4}};
    return run(config, workload).groups.size();
  };
  EXPECT_EQ(groups(net(2), {6, 7}), 0U) << "both layers have the kernels of seed 2";
  EXPECT_EQ(groups(net(2), {6, 7, 9}), 1U) << "the rule alone";
  EXPECT_EQ(groups(net(3), {6, 7}), 1U) << "kernels of their own";
}

TEST(FusionRules, FU_12_rule_10_counts_the_kernels_of_a_core) {
  // All kernels are 9,216 bytes. A core of two has half of each layer's kernel blocks.
  const json net = network({1, 64, 64, 16}, {conv("c1", "x", 32, 3, 2), conv("c2", "c1", 16, 3, 3)});
  const auto groups = [&](int wram, const json& rules_off) {
    json config = hardware(2, 2, 1 << 20, {{"planner", "rules"}, {"rules_off", rules_off}});
    config["chip"]["core"] = {{"wram", {{"size_bytes", wram}}}};
    config["interconnect"] = {{"bytes_per_clock", 4}};
    return run(config, net).groups.size();
  };
  EXPECT_EQ(groups(16384, {6, 7}), 1U);
  EXPECT_EQ(groups(8960, {6, 7}), 1U) << "a core's kernels fit, all do not";
  EXPECT_EQ(groups(8960, {6, 7, 10}), 1U) << "a rule that is off loses no group";
  EXPECT_EQ(groups(2560, {6, 7}), 0U) << "a core's kernels do not fit";
}

TEST(FusionRules, FU_13_several_maps_a_step_are_found) {
  const json net = network({64, 7, 7, 128}, {conv("c1", "x", 128, 3, 2), conv("c2", "c1", 128, 3, 3)});
  const FusedRun rules = run(hardware(4, 4, 1 << 16, {{"planner", "rules"}}), net);
  const FusedRun optimal = run(hardware(4, 4, 1 << 16, {{"planner", "optimal"}}), net);
  EXPECT_EQ(rules.groups.size(), 1U);
  EXPECT_EQ(optimal.groups.size(), 1U);
  EXPECT_LE(optimal.cycles, 96'915) << "four maps a step, by a mapping file";
  EXPECT_LT(rules.cycles, 113'479) << "one map a step";
}

}  // namespace
}  // namespace tilebeat::testing
