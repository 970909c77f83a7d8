// The rules of fusion decide, one by one, through the product: small networks on which a rule alone changes
// the groups (SPEC FU-3, FU-12), and memory that never loses a group.
#include "tilebeat_command.h"

#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tilebeat::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

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
  std::vector<std::string> steps;  ///< what a group makes a step, such as "2 maps a step"
  std::int64_t cycles = 0, bytes = 0;
};
/// What a group makes a step, from the decisions that the report tells.
std::string step_of(const json& layer) {
  for (const json& fact : layer.at("facts")) {
    const std::string text = fact.at("text");
    if (fact.at("name") == "clusters") return text.substr(text.rfind(", ") + 2);
  }
  return "";
}
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
    if (layer.at("op") != "fused") continue;
    made.groups.push_back(layer.at("layers")), made.steps.push_back(step_of(layer));
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

// The steps of the group of a network on two cores, with rules switched off beside 6 and 7.
std::vector<std::string> steps(const json& net, int sram_kib, const std::vector<int>& off, json fusion,
                               const json& core = json::object()) {
  fusion.update({{"planner", "rules"}, {"inner", "sram"}, {"keep_where_slower", true}});
  fusion["rules_off"] = {6, 7};
  for (const int rule : off) fusion["rules_off"].push_back(rule);
  json config = hardware(1, 2, sram_kib << 10, fusion);
  if (!core.empty()) config["chip"]["core"] = core;
  return run(config, net).steps;
}
using Steps = std::vector<std::string>;

// The unit map and the rows between the layers take 25 KiB of the SRAM at 9 rows a step, kernels on their way
// 3 KiB.
TEST(FusionRules, FU_12_rule_13_leaves_room_for_kernels_on_their_way) {
  const json net = network({1, 16, 16, 64}, {conv("c1", "x", 64, 3, 2), conv("c2", "c1", 64, 3, 3)});
  EXPECT_EQ(steps(net, 25, {12}, {}), Steps{"8 output rows a step"});
  EXPECT_EQ(steps(net, 25, {12, 13}, {}), Steps{"9 output rows a step"}) << "the rule alone";
}

TEST(FusionRules, FU_12_rule_14_counts_the_part_of_a_core) {
  const json net = network({1, 16, 16, 64}, {conv("c1", "x", 64, 3, 2), conv("c2", "c1", 64, 3, 3)});
  EXPECT_EQ(steps(net, 22, {12, 13}, {}), Steps{"8 output rows a step"});
  EXPECT_EQ(steps(net, 22, {12, 13, 14}, {}), Steps{"4 output rows a step"}) << "the rule alone";
}

// Kernels of 18 KiB come in portions to 8 KiB of WRAM, in each of two steps; the results of a core are 64 KiB
// a step.
TEST(FusionRules, FU_12_rule_15_counts_results_beside_the_next_kernels) {
  const json net = network({4, 16, 16, 8}, {conv("c1", "x", 8, 3, 2), conv("c2", "c1", 256, 3, 3)});
  const json core{{"wram", {{"size_bytes", 8192}}}}, two{{"most_maps", 2}};
  EXPECT_EQ(steps(net, 40, {12, 13, 14}, two, core), Steps{"16 output rows a step"});
  EXPECT_EQ(steps(net, 40, {12, 13, 14, 15}, two, core), Steps{"2 maps a step"}) << "the rule alone";
}

TEST(FusionRules, FU_12_a_plan_names_the_rules_that_no_group_can_violate) {
  const auto said = [](const json& off) {
    const CommandFolder folder;
    folder.write("c.json", hardware(1, 2, 1 << 20, {{"planner", "rules"}, {"rules_off", off}}).dump());
    folder.write("n.json",
                 network({1, 16, 16, 16}, {conv("c1", "x", 16, 3, 2), conv("c2", "c1", 16, 3, 3)}).dump());
    return folder.run({"plan", "--config", "c.json", "--layer", "n.json"}).out;
  };
  EXPECT_THAT(said({6, 7}), HasSubstr("rule 16 cannot be violated: "));
  EXPECT_THAT(said({6, 7}), HasSubstr("rule 17 cannot be violated: "));
  EXPECT_THAT(said({6, 7, 16, 17}), Not(HasSubstr("cannot be violated")));
}

// Kernels that do not fit WRAM come in portions of their output channels where no shorter group saves more.
TEST(FusionRules, FU_11_kernels_are_streamed_where_that_pays) {
  const json net = network({1, 16, 16, 64}, {conv("c1", "x", 64, 3, 2), conv("c2", "c1", 64, 3, 3)});
  const auto made = [&](bool fused) {
    json config =
        hardware(1, 2, 36 << 10, {{"planner", "rules"}, {"inner", "sram"}, {"rules_off", {6, 7, 12, 13}}});
    config["chip"]["core"] = {{"wram", {{"size_bytes", 20480}}}};
    config["fused"] = fused;
    return run(config, net);
  };
  const FusedRun fused = made(true);
  EXPECT_EQ(fused.groups.size(), 1U);
  EXPECT_LT(fused.cycles, made(false).cycles);
}

// Ratios of a half cut 16 rows to 8, 4, 2; from below all of them are tried.
TEST(FusionRules, FU_2_unit_maps_are_found_by_ratios_or_bottom_up) {
  const json net = network({1, 16, 16, 64}, {conv("c1", "x", 64, 3, 2), conv("c2", "c1", 64, 3, 3)});
  const json halves{{"ratios", {50}}};
  json upward = halves;
  upward["split"] = "bottom_up";
  EXPECT_EQ(steps(net, 27, {}, halves), Steps{"8 output rows a step"});
  EXPECT_EQ(steps(net, 27, {}, upward), Steps{"9 output rows a step"});
}

TEST(FusionRules, FU_13_several_maps_a_step_are_found) {
  const json net = network({64, 7, 7, 128}, {conv("c1", "x", 128, 3, 2), conv("c2", "c1", 128, 3, 3)});
  const FusedRun rules = run(hardware(4, 4, 1 << 16, {{"planner", "rules"}}), net);
  const FusedRun optimal = run(hardware(4, 4, 1 << 16, {{"planner", "optimal"}}), net);
  EXPECT_EQ(rules.groups.size(), 1U);
  EXPECT_EQ(optimal.groups.size(), 1U);
  EXPECT_LE(optimal.cycles, 96'915) << "four maps a step, by a mapping file";
  EXPECT_LE(rules.cycles, 96'915) << "the same";
}

TEST(FusionRules, FU_13_rows_of_a_step_are_searched) {
  json net = network({1, 64, 64, 32}, {conv("c1", "x", 32, 1, 2), conv("c2", "c1", 16, 1, 3)});
  for (const char* planner : {"rules", "optimal"}) {
    const FusedRun fused = run(hardware(1, 4, 2 << 20, {{"planner", planner}}), net);
    EXPECT_EQ(fused.groups.size(), 1U) << planner;
    EXPECT_LE(fused.cycles, 12'522) << planner << ": 16 rows a step, by a mapping file";
  }
}

// A network whose copies fill the SRAM of a cluster: a group of it takes twice as long as its layers.
json crowded_hardware(int bus_bytes, bool fused, const char* planner) {
  return {{"name", "hw"},
          {"dataflow", "wfold"},
          {"fused", fused},
          {"fusion", {{"planner", planner}}},
          {"dram", {{"preset", "hbm2_2000"}, {"channels", 2}}},
          {"interconnect", {{"bytes_per_clock", bus_bytes}}},
          {"chip",
           {{"clusters", 4},
            {"cores_per_cluster", 2},
            {"memory_controllers", 1},
            {"cluster_bus", {{"bytes_per_clock", 16}}},
            {"core", {{"nram", {{"size_bytes", 131072}}}, {"wram", {{"size_bytes", 131072}}}}}}}};
}
json crowded_network() {
  json layers{conv("l0", "x", 100, 1, 5), conv("l1", "l0", 256, 5, 6), conv("l2", "l1", 16, 5, 7),
              conv("l3", "l2", 32, 3, 8)};
  layers[1]["stride"] = layers[2]["stride"] = {2, 2};
  return network({4, 28, 20, 64}, layers);
}
TEST(FusionRules, FU_13_a_network_is_not_slower_fused_than_layer_by_layer) {
  for (const int bytes : {8, 16}) {
    const FusedRun alone = run(crowded_hardware(bytes, false, "rules"), crowded_network());
    for (const char* planner : {"rules", "optimal"}) {
      const FusedRun fused = run(crowded_hardware(bytes, true, planner), crowded_network());
      EXPECT_LE(fused.cycles, alone.cycles * 102 / 100 + 64) << bytes << " bytes, " << planner;
    }
  }
}

TEST(FusionRules, MA_3_the_estimate_of_a_group_knows_what_an_SRAM_delivers) {
  const CommandFolder folder;
  folder.write("c.json", crowded_hardware(16, true, "optimal").dump());
  folder.write("n.json", crowded_network().dump());
  folder.write("m.json", R"({"tilebeat_mapping": 1, "layers": [], "groups":
      [{"layers": ["l0", "l1"], "step_rows": 14, "kernels": "streamed"}]})");
  const CommandResult result =
      folder.run({"run", "--config", "c.json", "--layer", "n.json", "--mapping", "m.json"});
  ASSERT_EQ(result.status, 0) << result.err;
  const json group = folder.report().at("layers").at(0);
  ASSERT_EQ(group.at("op"), "fused");
  EXPECT_NEAR(group.at("estimated_cycles").get<double>(), group.at("cycles").get<double>(),
              0.2 * group.at("cycles").get<double>());
}

// What was decided about a group is in the report: its form, why it ends, and what both ways cost.
TEST(FusionRules, FU_12_a_report_has_the_decisions_about_groups) {
  const json net = network(
      {1, 32, 32, 32}, {conv("c1", "x", 32, 3, 2), conv("c2", "c1", 32, 3, 3), conv("c3", "c2", 32, 3, 4)});
  const auto facts_of = [&](const json& fusion) {
    const CommandFolder folder;
    folder.write("c.json", hardware(1, 4, 1 << 20, fusion).dump());
    folder.write("n.json", net.dump());
    EXPECT_EQ(folder.run({"run", "--config", "c.json", "--layer", "n.json"}).status, 0);
    json facts = json::object();
    const json report = folder.report();
    for (const json& fact : report.at("layers").back().at("facts")) facts[fact.at("name")] = fact.at("text");
    return facts;
  };
  const json whole = facts_of({{"planner", "rules"}, {"stride_redundancy", 6}});
  EXPECT_EQ(whole.at("mode"), "small map");
  EXPECT_EQ(whole.at("ends"), "no further layer can be fused");
  for (const char* name : {"clusters", "in SRAM", "halo", "one by one"})
    EXPECT_TRUE(whole.contains(name)) << name << whole.dump();
}

TEST(FusionRules, FU_5_groups_that_are_slower_are_kept_when_asked) {
  const FusedRun dropped = run(crowded_hardware(16, true, "rules"), crowded_network());
  json config = crowded_hardware(16, true, "rules");
  config["fusion"]["keep_where_slower"] = true;
  config["fusion"]["rules_off"] = {5, 6, 7, 10, 13, 19};
  const FusedRun kept = run(config, crowded_network());
  EXPECT_TRUE(dropped.groups.empty());
  EXPECT_FALSE(kept.groups.empty());
  EXPECT_GT(kept.cycles, dropped.cycles);
}

}  // namespace
}  // namespace tilebeat::testing
