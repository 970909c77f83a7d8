// Fusion groups as a user sees them: chosen, shown, written to a mapping file, and given by one (SPEC FU-5,
// FU-8).
#include "tilebeat_command.h"

#include <algorithm>
#include <cstdint>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tilebeat::testing {
namespace {

using ::testing::HasSubstr;

// A block of a residual network behind a convolution.
constexpr const char* kBlock = R"({"name": "block",
  "inputs": [{"name": "x", "shape": [1, 24, 24, 16], "dtype": "int8", "random": {"seed": 1}}],
  "layers": [
    {"name": "first", "op": "conv2d", "inputs": ["x"], "out_channels": 32, "kernel": [3, 3], "pads": [1, 1, 1, 1],
     "weights": {"random": {"seed": 2}}, "requant": {"scale": 0.002, "zero_point": 0, "dtype": "int8"}},
    {"name": "left", "op": "conv2d", "inputs": ["first"], "out_channels": 32, "kernel": [3, 3], "pads": [1, 1, 1, 1],
     "weights": {"random": {"seed": 3}}, "requant": {"scale": 0.001, "zero_point": 0, "dtype": "int8"}},
    {"name": "sum", "op": "add", "inputs": ["left", "first"], "requant": {"scale": 0.5}}
  ], "outputs": ["sum"]})";

// With a narrow interconnect, so that maps in DRAM cost more than anything else.
class FusionCommand : public ::testing::Test {
 protected:
  std::string config(const std::string& fusion) const {
    return folder_.write(
        "chip.json",
        R"({"fused": true, "fusion": {)" + fusion + R"(}, "planner": {"weight_prefetch": )" +
            (weight_prefetch_ ? "true" : "false") +
            R"(}, "interconnect": {"bytes_per_clock": 4}, "chip": {"clusters": 2, "cores_per_cluster": 2}})");
  }
  CommandResult run(const std::string& command, const std::string& fusion,
                    const std::vector<std::string>& more = {}) const {
    std::vector<std::string> arguments{command, "--config", config(fusion), "--layer",
                                       folder_.path("net.json")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return folder_.run(arguments);
  }
  void SetUp() override { folder_.write("net.json", kBlock); }

  CommandFolder folder_;
  bool weight_prefetch_ = true;
};

TEST_F(FusionCommand, FU_5_plan_says_what_fusing_saves_and_why_a_unit_ends) {
  const CommandResult result = run("plan", "");
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("layer sum (fused, scene main)\n  layers           first, left, sum\n"));
  EXPECT_THAT(result.out, HasSubstr("mode             small map"));
  EXPECT_THAT(result.out, HasSubstr("ends             no further layer can be fused"));
  EXPECT_THAT(result.out, HasSubstr("fusion, planner rules: 3 layers in 1 group, 0 by themselves"));
  // 24 x 24 x 16 in, 24 x 24 x 32 out; layer by layer the map of `first` is written once and read twice.
  EXPECT_THAT(result.out,
              ::testing::ContainsRegex("inputs, outputs, weights once +27,648 +13,824 +0 +0 +41,472"));
}

// The table does not depend on the planner that is asked for, what becomes of the network does.
TEST_F(FusionCommand, FU_8_plan_shows_both_planners_and_the_bound_side_by_side) {
  const auto table_of = [](const std::string& plan) {
    const std::size_t begin = plan.find("  over DRAM, bytes");
    return plan.substr(begin, plan.find("\n\n", begin) - begin);
  };
  // A main layer too few for the rules: they leave all layers alone.
  const std::string rules = R"("least_main_layers": 3, "planner": "rules", "objective": "dram_bytes")",
                    optimal = R"("least_main_layers": 3, "planner": "optimal", "objective": "dram_bytes")";
  const CommandResult ruled = run("plan", rules), least = run("plan", optimal);
  ASSERT_EQ(ruled.status, 0) << ruled.err;
  EXPECT_EQ(table_of(ruled.out), table_of(least.out));
  EXPECT_THAT(ruled.out, HasSubstr("fusion, planner rules: 0 layers in 0 groups, 3 by themselves"));
  EXPECT_THAT(least.out, HasSubstr("fusion, planner optimal: 3 layers in 1 group, 0 by themselves"));
  const auto maps = [table = table_of(least.out)](const std::string& row) {
    std::istringstream rest(table.substr(table.find("\n  " + row + " ") + 3 + row.size()));
    std::string number;
    rest >> number;
    number.erase(std::remove(number.begin(), number.end(), ','), number.end());
    return std::stoll(number);
  };
  // Layer by layer 9,216 + 3 x 18,432 bytes come in, besides rows that several cores need, and 3 x 18,432 go
  // out.
  EXPECT_GE(maps("layer by layer"), 119808);
  EXPECT_EQ(maps("rules"), maps("layer by layer"));
  EXPECT_EQ(maps("optimal"), 27648);
  EXPECT_EQ(maps("inputs, outputs, weights once"), 27648);
}

TEST_F(FusionCommand, FU_3_a_rule_that_is_switched_on_stops_a_unit) {
  // Main, main and non-main in a row are there, a scalar before a vector layer is not.
  EXPECT_THAT(run("plan", R"("rules_off": [7])").out, HasSubstr(": 3 layers in 1 group, 0 by themselves"));
  EXPECT_THAT(run("plan", R"("rules_off": [6])").out, HasSubstr(": 0 layers in 0 groups, 3 by themselves"));
  EXPECT_THAT(run("plan", R"("least_main_layers": 3)").out,
              HasSubstr(": 0 layers in 0 groups, 3 by themselves"));
}

// The kernel inside the block does not count, those before and behind it do: 2 + 2 + 2 pixels.
TEST_F(FusionCommand, FU_10_a_block_is_excused_from_rule_19_and_no_other_layer_is) {
  weight_prefetch_ = false;  // with it the layers one by one are as fast as the group is taken to be
  std::string network = kBlock;
  const auto add_conv = [&](const std::string& name, const std::string& input, int seed) {
    const std::string conv = R"(,
    {"name": ")" + name + R"(", "op": "conv2d", "inputs": [")" +
                             input + R"("], "out_channels": 32, "kernel": [3, 3],
     "pads": [1, 1, 1, 1], "weights": {"random": {"seed": )" +
                             std::to_string(seed) + R"(}}, "requant": {"scale": 0.001}}
  ])";
    network.replace(network.rfind("\n  ], \"outputs\""), 4, conv);
  };
  add_conv("second", "sum", 14);
  add_conv("third", "second", 15);
  network.replace(network.rfind("[\"sum\"]"), 7, "[\"third\"]");
  folder_.write("net.json", network);
  const CommandResult result = run("plan", "");
  EXPECT_THAT(result.out, HasSubstr("layers           first, left, sum, second\n")) << result.err;
  EXPECT_THAT(result.out,
              HasSubstr("ends             rule 19: kernels reach 6 pixels beyond strides, 4 are allowed"));
  EXPECT_THAT(run("plan", R"("stride_redundancy": 6)").out,
              HasSubstr(": 5 layers in 1 group, 0 by themselves"));
}

TEST_F(FusionCommand, FU_8_both_planners_and_a_mapping_file_give_the_bytes_of_the_reference) {
  for (const char* fusion :
       {"", R"("planner": "optimal")", R"("planner": "optimal", "objective": "dram_bytes")"}) {
    const std::string mapping = folder_.path("m.json");
    const CommandResult planned = run("plan", fusion, {"--mapping", mapping});
    ASSERT_EQ(planned.status, 0) << planned.err;
    const CommandResult chosen = run("run", fusion, {"--out", folder_.path("chosen"), "--check", "on"});
    ASSERT_EQ(chosen.status, 0) << chosen.err;
    EXPECT_THAT(chosen.out, HasSubstr("passed"));
    ASSERT_EQ(
        run("run", fusion, {"--out", folder_.path("given"), "--check", "on", "--mapping", mapping}).status,
        0);
    // The facts of a group say why it was chosen, which a mapping file does not know.
    const auto results_of = [this](const char* folder) {
      nlohmann::json results = nlohmann::json::parse(folder_.results(folder));
      for (nlohmann::json& layer : results.at("layers")) layer.erase("facts");
      return results;
    };
    EXPECT_TRUE(results_of("chosen") == results_of("given"));
  }
}

// Bytes never rise with the SRAM, and end at inputs, outputs and weights once (41,472, see above) with what
// belongs to the weights, and instructions.
TEST_F(FusionCommand, FU_8_the_curve_of_bytes_over_the_sram) {
  const CommandResult result =
      run("plan", R"("planner": "optimal", "objective": "dram_bytes")", {"--sram", "4,16,64,256"});
  ASSERT_EQ(result.status, 0) << result.err;
  const std::size_t begin = result.out.find("bytes over DRAM, over the SRAM of a cluster\n");
  ASSERT_NE(begin, std::string::npos) << result.out;
  std::istringstream lines(result.out.substr(begin));
  std::vector<std::int64_t> optimal;
  for (std::string line; std::getline(lines, line) && !line.empty();) {
    std::istringstream fields(line);
    std::vector<std::int64_t> numbers;
    for (std::string field; fields >> field;) {
      field.erase(std::remove(field.begin(), field.end(), ','), field.end());
      if (field.find_first_not_of("0123456789") == std::string::npos) numbers.push_back(std::stoll(field));
    }
    if (numbers.size() != 5) continue;
    EXPECT_LE(numbers[3], numbers[1]) << "at least cost, and layer by layer: " << line;
    EXPECT_EQ(numbers[4], 41472);
    optimal.push_back(numbers[3]);
  }
  ASSERT_EQ(optimal.size(), 4U) << result.out;
  EXPECT_TRUE(std::is_sorted(optimal.rbegin(), optimal.rend())) << result.out;
  EXPECT_GT(optimal.front(), optimal.back());
  const std::int64_t data = 41472 + 64 * 16 + 24;  // with the records of 64 kernels and the sum's factors
  EXPECT_GT(optimal.back(), data);
  EXPECT_LT(optimal.back(), data + 64 * 200) << "fewer than 200 instructions";
}

// What a plan says of the bytes over DRAM of each way, by their names in its table.
struct PlannedBytes {
  std::int64_t data = 0;  // maps and kernels
  std::int64_t instructions = 0, tables = 0, all = 0;
};
PlannedBytes planned_bytes(const std::string& plan, const std::string& way) {
  std::istringstream row(
      plan.substr(plan.find("\n  " + way + " ", plan.find("  over DRAM, bytes")) + 3 + way.size()));
  std::vector<std::int64_t> numbers;
  for (std::string field; numbers.size() < 5 && row >> field;) {
    field.erase(std::remove(field.begin(), field.end(), ','), field.end());
    numbers.push_back(std::stoll(field));
  }
  return {numbers.at(0) + numbers.at(1), numbers.at(2), numbers.at(3), numbers.at(4)};
}

// A network of convolutions one after the other: kernels and the extent of a kernel, by layer.
std::string chain_of(const std::string& shape, const std::vector<std::pair<int, int>>& convolutions) {
  std::string layers, input = "x";
  for (const auto& [kernels, extent] : convolutions) {
    const std::string name = fmt::format("c{}", layers.size());
    const int pad = extent / 2;
    layers += fmt::format(
        R"({}{{"name": "{}", "op": "conv2d", "inputs": ["{}"], "out_channels": {}, "kernel": [{}, {}],
           "pads": [{}, {}, {}, {}], "weights": {{"random": {{"seed": {}}}}}, "requant": {{"scale": 0.001}}}})",
        layers.empty() ? "" : ",", name, input, kernels, extent, extent, pad, pad, pad, pad,
        layers.size() + 2);
    input = name;
  }
  return fmt::format(R"({{"name": "net", "inputs": [{{"name": "x", "shape": {}, "dtype": "int8",
    "random": {{"seed": 1}}}}], "layers": [{}]}})",
                     shape, layers);
}

// Small maps on many cores: instructions take as many bytes as maps.
TEST_F(FusionCommand, FU_8_least_bytes_are_all_that_a_run_counts_instructions_and_tables_too) {
  struct Case {
    std::string network, chip;
    bool rules_move_more;  // all in all, though fewer bytes of maps and kernels
  };
  const std::string chain = chain_of("[2, 3, 3, 32]", {{16, 1}, {32, 3}, {8, 3}}),
                    batch = chain_of("[4, 4, 4, 16]", {{16, 1}, {32, 3}, {8, 3}});
  for (
      const Case& c :
      {Case{chain_of("[1, 6, 6, 16]", {{8, 1}, {32, 1}}),
            R"("dataflow": "offset",
               "chip": {"clusters": 2, "cores_per_cluster": 1, "sram": {"size_bytes": 262144}})",
            true},
       Case{
           batch,
           R"("dataflow": "offset", "host": {"start": "table"}, "chip": {"clusters": 4, "cores_per_cluster": 2,
               "sram": {"size_bytes": 262144}})",
           false},
       Case{
           chain_of("[2, 2, 2, 16]", {{64, 1}, {32, 3}}),
           R"("dataflow": "offset", "chip": {"clusters": 4, "cores_per_cluster": 4, "sram": {"size_bytes": 8192}})",
           false},
       Case{chain_of("[1, 12, 12, 32]", {{32, 3}, {32, 3}}),
            R"("dataflow": "offset", "offset": {"table_bytes": 1024},
               "chip": {"clusters": 1, "cores_per_cluster": 2})",
            false},
       Case{
           chain,
           R"("dataflow": "offset", "host": {"start": "table"}, "chip": {"clusters": 4, "cores_per_cluster": 4,
               "sram": {"size_bytes": 262144}})",
           false},
       Case{chain, R"("dataflow": "wfold", "chip": {"clusters": 2, "cores_per_cluster": 4})", false}}) {
    folder_.write("net.json", c.network);
    const auto bytes_of = [&](const std::string& fusion) {
      const std::string config = folder_.write("chip.json", "{" + c.chip + fusion + "}");
      const CommandResult result =
          folder_.run({"run", "--config", config, "--layer", folder_.path("net.json"), "--out",
                       folder_.path("out"), "--check", "on"});
      EXPECT_EQ(result.status, 0) << result.out << result.err;
      const auto total = nlohmann::json::parse(read_bytes(folder_.path("out/report.json"))).at("total");
      return total.at("dram_read_bytes").get<std::int64_t>() +
             total.at("dram_write_bytes").get<std::int64_t>();
    };
    const std::string objective = R"("objective": "dram_bytes"})";
    const std::int64_t alone = bytes_of(""), rules = bytes_of(R"(, "fused": true, "fusion": {)" + objective),
                       least = bytes_of(R"(, "fused": true, "fusion": {"planner": "optimal", )" + objective);
    const CommandResult plan =
        folder_.run({"plan", "--config", folder_.path("chip.json"), "--layer", folder_.path("net.json")});
    ASSERT_EQ(plan.status, 0) << plan.err;
    const PlannedBytes planned_alone = planned_bytes(plan.out, "layer by layer"),
                       planned_rules = planned_bytes(plan.out, "rules"),
                       planned_least = planned_bytes(plan.out, "optimal");
    EXPECT_EQ(planned_alone.all, alone) << plan.out;
    EXPECT_EQ(planned_rules.all, rules) << plan.out;
    EXPECT_EQ(planned_least.all, least) << plan.out;
    EXPECT_GT(planned_least.instructions, 0);
    EXPECT_EQ(planned_least.tables > 0, c.chip.find("offset") != std::string::npos);
    EXPECT_LE(least, alone) << plan.out;
    EXPECT_LE(least, rules) << plan.out;
    if (!c.rules_move_more) continue;
    EXPECT_LT(planned_rules.data, planned_alone.data) << plan.out;
    EXPECT_GT(rules, alone) << "instructions and tables decide: " << plan.out;
    EXPECT_LT(least, alone) << plan.out;
  }
}

// Every layer is unlike those before it, so no estimate serves two groups.
TEST_F(FusionCommand, FU_13_a_chain_of_twice_as_many_layers_has_twice_as_many_groups_to_estimate) {
  const auto estimated = [&](int layers) {
    std::vector<std::pair<int, int>> convolutions;
    for (int i = 0; i < layers; ++i) convolutions.emplace_back(8 + i, 1);
    folder_.write("net.json", chain_of("[1, 4, 4, 8]", convolutions));
    const CommandResult plan = folder_.run(
        {"plan", "--config",
         folder_.write("chip.json",
                       R"({"fused": true, "fusion": {"planner": "optimal"}, "chip": {"clusters": 1,
                         "cores_per_cluster": 1}})"),
         "--layer", folder_.path("net.json")});
    EXPECT_EQ(plan.status, 0) << plan.err;
    const std::string before = "least cycles: ";
    return std::stoi(plan.out.substr(plan.out.find(before) + before.size()));
  };
  const int some = estimated(32), more = estimated(64);
  EXPECT_GT(some, 32);
  EXPECT_LT(more, 3 * some) << "pairs of a first and a last layer would be four times as many";
}

TEST_F(FusionCommand, FU_8_UI_5_a_size_that_does_not_fit_has_its_reason_in_the_curve) {
  const CommandResult result = run("plan", R"("planner": "rules")", {"--sram", "1,256"});
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("\n  256  "));
  for (const char* size : {"0", "2000000", "x"}) {
    const CommandResult refused = run("plan", "", {"--sram", size});
    EXPECT_EQ(refused.status, 2) << size << refused.out;
    EXPECT_THAT(refused.err, HasSubstr("--sram"));
  }
  const CommandResult alone = folder_.run({"plan", "--config", folder_.write("alone.json", R"({"chip": {}})"),
                                           "--layer", folder_.path("net.json"), "--sram", "64"});
  EXPECT_EQ(alone.status, 2);
  EXPECT_THAT(alone.err, HasSubstr("the hardware file needs \"fused\": true"));
}

TEST_F(FusionCommand, FU_8_a_picture_has_a_row_for_each_layer_and_a_frame_for_each_unit) {
  const std::string picture = folder_.path("groups.svg");
  ASSERT_EQ(run("plan", "", {"--picture", picture}).status, 0);
  const std::string svg = read_bytes(picture);
  for (const char* part :
       {"<svg ", ">first<", ">left<", ">sum<", "stroke=\"#333\"", "2 clusters, ", "</svg>\n"})
    EXPECT_THAT(svg, HasSubstr(part));
  const CommandResult same = run("plan", "", {"--picture", picture, "--mapping", picture});
  EXPECT_EQ(same.status, 2);
  EXPECT_THAT(same.err, HasSubstr("is what --mapping writes"));
  const CommandResult input = run("plan", "", {"--picture", folder_.path("net.json")});
  EXPECT_EQ(input.status, 2);
  EXPECT_THAT(input.err, HasSubstr("is read by this command, it cannot be written"));
  EXPECT_EQ(read_bytes(folder_.path("net.json")), kBlock);
}

// Rows of 1,024 pixels: one of each tensor and those around it are more than the SRAM.
TEST_F(FusionCommand, FU_2_rows_that_do_not_fit_are_cut_into_strips) {
  std::string network = kBlock;
  network.replace(network.find("[1, 24, 24, 16]"), 15, "[1, 24, 1024, 16]");
  folder_.write("net.json", network);
  const auto with = [&](const std::string& fusion) {
    return folder_.write("wide.json", R"({"fused": true, "fusion": {)" + fusion + R"(}, "interconnect": {
      "bytes_per_clock": 4}, "chip": {"clusters": 2, "cores_per_cluster": 2, "sram": {"size_bytes": 131072}}})");
  };
  const auto bytes_of = [&](const std::string& name) {
    const auto report = nlohmann::json::parse(read_bytes(folder_.path(name + "/report.json")));
    return report["total"]["dram_read_bytes"].get<std::int64_t>() +
           report["total"]["dram_write_bytes"].get<std::int64_t>();
  };
  const auto run_as = [&](const std::string& name, const std::string& config) {
    const CommandResult result = folder_.run({"run", "--config", config, "--layer", folder_.path("net.json"),
                                              "--out", folder_.path(name), "--check", "on"});
    EXPECT_EQ(result.status, 0) << result.out << result.err;
  };
  run_as("alone", with(R"("least_main_layers": 3)"));
  for (const auto& [name, fusion] : {std::pair("rules", R"("cut": "alternating", "redundancy_percent": 200)"),
                                     std::pair("optimal", R"("planner": "optimal")")}) {
    const std::string config = with(fusion);
    const CommandResult plan = folder_.run({"plan", "--config", config, "--layer", folder_.path("net.json")});
    ASSERT_EQ(plan.status, 0) << plan.err;
    EXPECT_THAT(plan.out, HasSubstr("layers           first, left, sum\n"));
    EXPECT_THAT(plan.out, HasSubstr(" of 1024 columns a step\n"));
    run_as(name, config);
    EXPECT_EQ(read_bytes(folder_.path(name + std::string("/outputs/sum.npy"))),
              read_bytes(folder_.path("alone/outputs/sum.npy")));
    EXPECT_LT(bytes_of(name) * 2, bytes_of("alone"));
  }
}

TEST_F(FusionCommand, UI_5_wrong_fields_are_refused) {
  for (const auto& [fusion, message] :
       {std::pair(R"("planner": "best")", R"(/fusion/planner: "best" is not allowed)"),
        std::pair(R"("rules_off": [3])", "/fusion/rules_off/0: 3 is not allowed"),
        std::pair(R"("cut": "columns")", R"(/fusion/cut: "columns" is not allowed)"),
        std::pair(R"("ratios": [])", "/fusion/ratios"),
        std::pair(R"("ratios": [100])", "/fusion/ratios/0: 100")}) {
    const CommandResult result = run("plan", fusion);
    EXPECT_EQ(result.status, 2) << fusion;
    EXPECT_THAT(result.err, HasSubstr(message)) << fusion;
  }
}

}  // namespace
}  // namespace tilebeat::testing
