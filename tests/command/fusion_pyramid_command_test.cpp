// Maps between the layers of a group in the NRAM of cores, clusters that are not used, and the ways of a
// group's operands and results, through the product (SPEC FU-11, HI-4).
#include "tilebeat_command.h"

#include <algorithm>
#include <regex>
#include <string>
#include <tuple>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tilebeat::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

json layer(const std::string& name, const std::string& input, int kernel, int seed) {
  const int pad = kernel / 2;
  return {{"name", name},
          {"op", "conv2d"},
          {"inputs", {input}},
          {"out_channels", 64},
          {"kernel", {kernel, kernel}},
          {"pads", {pad, pad, pad, pad}},
          {"weights", {{"random", {{"seed", seed}}}}},
          {"requant", {{"scale", 0.001}, {"zero_point", 0}, {"dtype", "int8"}}},
          {"activation", "relu"}};
}
/// Four products of pixels in a row, or a residual block.
json pyramid_network(bool block) {
  const json layers = block ? json{layer("a", "x", 3, 2),
                                   layer("b", "a", 3, 3),
                                   {{"name", "sum"},
                                    {"op", "add"},
                                    {"inputs", {"b", "x"}},
                                    {"requant", {{"scale", 1}, {"zero_point", 0}, {"dtype", "int8"}}}}}
                            : json{layer("a", "x", 1, 2), layer("b", "a", 1, 3), layer("c", "b", 1, 4),
                                   layer("d", "c", 1, 5)};
  return {
      {"name", "net"},
      {"inputs", {{{"name", "x"}, {"shape", {1, 32, 32, 64}}, {"dtype", "int8"}, {"random", {{"seed", 1}}}}}},
      {"layers", layers}};
}
json chip_of(const std::string& dataflow, int bus_bytes, const json& fusion) {
  return {{"name", "hw"},
          {"dataflow", dataflow},
          {"fused", true},
          {"fusion", fusion},
          {"chip",
           {{"clusters", 1},
            {"cores_per_cluster", 8},
            {"memory_controllers", 2},
            {"cluster_bus", {{"bytes_per_clock", bus_bytes}}}}}};
}

struct Outcome {
  CommandResult command;
  json report;
  /// The sum of a counter over the modules whose name matches.
  std::int64_t sum(const std::string& modules, const std::string& counter) const {
    std::int64_t sum = 0;
    for (const json& entry : report.at("counters")) {
      if (std::regex_match(entry.at("module").get<std::string>(), std::regex(modules)) &&
          entry.at("name") == counter)
        sum += entry.at("value").get<std::int64_t>();
    }
    return sum;
  }
  std::int64_t cycles() const { return report.at("total").at("cycles"); }
};
Outcome outcome(const json& config, const json& workload, const json& groups = {},
                const std::string& granularity = "tile") {
  const CommandFolder folder;
  folder.write("c.json", config.dump());
  folder.write("n.json", workload.dump());
  std::vector<std::string> arguments{"run",    "--config",      "c.json",   "--layer",
                                     "n.json", "--granularity", granularity};
  if (!groups.is_null()) {
    folder.write("m.json", json{{"tilebeat_mapping", 1}, {"groups", groups}}.dump());
    arguments.insert(arguments.end(), {"--mapping", "m.json"});
  }
  Outcome result{folder.run(arguments), {}};
  if (result.command.status == 0) result.report = folder.report();
  return result;
}

// Where the SRAM's bus is narrow, both planners leave the maps between the layers in NRAM, and that is
// faster.
TEST(FusionPyramid, FU_11_maps_stay_in_nram_where_that_is_faster) {
  for (const char* dataflow : {"dilated", "wfold", "rolling", "offset"}) {
    for (const char* planner : {"rules", "optimal"}) {
      const auto made = [&](const char* inner) {
        return outcome(chip_of(dataflow, 16, {{"planner", planner}, {"inner", inner}}),
                       pyramid_network(false));
      };
      const Outcome sram = made("sram"), chosen = made("auto"), nram = made("nram");
      ASSERT_EQ(chosen.command.status, 0) << chosen.command.err;
      EXPECT_LT(chosen.cycles(), sram.cycles() * 4 / 5) << dataflow << ", " << planner;
      EXPECT_LE(chosen.cycles(), nram.cycles() * 102 / 100) << dataflow << ", " << planner;
      // The map crosses the bus of the SRAM once, on its way to the cores, which hand on nothing there.
      const std::int64_t map = 32 * 32 * 64;
      EXPECT_EQ(chosen.sum(R"(cluster0\.memory\.bus\.core\d+)", "read"), map) << dataflow << ", " << planner;
      EXPECT_EQ(chosen.sum(R"(cluster0\.memory\.bus\.core\d+)", "written"), 0) << dataflow << ", " << planner;
    }
  }
}

// A block's maps in NRAM give the bytes of the reference, in both granularities, and halos are made again.
TEST(FusionPyramid, FU_11_halos_of_parts_are_made_again) {
  const json groups{{{"layers", {"a", "b", "sum"}}, {"holding", "nram"}}};
  json config = chip_of("dilated", 64, json::object());
  const Outcome tile = outcome(config, pyramid_network(true), groups);
  const Outcome clock = outcome(config, pyramid_network(true), groups, "clock");
  ASSERT_EQ(tile.command.status, 0) << tile.command.err;
  ASSERT_EQ(clock.command.status, 0) << clock.command.err;
  EXPECT_THAT(tile.command.out, HasSubstr("passed"));
  EXPECT_EQ(tile.cycles(), clock.cycles());
  const Outcome held =
      outcome(config, pyramid_network(true), {{{"layers", {"a", "b", "sum"}}, {"step_rows", 32}}});
  const auto macs = [](const Outcome& result) {
    return result.report.at("total").at("macs").get<std::int64_t>();
  };
  EXPECT_GT(macs(tile), macs(held)) << "parts overlap in what the second convolution reads";
}

// A run of a matrix unit may begin while the one before still writes, but not when it reads what that writes.
TEST(FusionPyramid, FU_11_CY_3_a_run_waits_for_the_results_that_it_reads_in_place) {
  json layers = json::array();
  for (const auto& [name, input, features] : std::vector<std::tuple<const char*, const char*, int>>{
           {"a", "x", 15}, {"b", "a", 1}, {"c", "b", 12}}) {
    layers.push_back({{"name", name},
                      {"op", "matmul"},
                      {"inputs", {input}},
                      {"out_features", features},
                      {"weights", {{"random", {{"seed", 1}}}}},
                      {"requant", {{"scale", 0.01}, {"zero_point", 0}, {"dtype", "int8"}}}});
  }
  const json rows{
      {"name", "rows"},
      {"inputs", {{{"name", "x"}, {"shape", {1, 1}}, {"dtype", "int8"}, {"random", {{"seed", 1}}}}}},
      {"layers", layers}};
  for (const char* dataflow : {"dilated", "wfold", "rolling", "offset"}) {
    json config = chip_of(dataflow, 64, json::object());
    config["chip"]["cores_per_cluster"] = 1;
    const Outcome made = outcome(config, rows, {{{"layers", {"a", "b", "c"}}, {"holding", "nram"}}});
    EXPECT_EQ(made.command.status, 0) << dataflow << ": " << made.command.out << made.command.err;
  }
}

// More clusters make no block slower: those that would not pay have no work.
TEST(FusionPyramid, MA_6_clusters_that_do_not_pay_are_unused) {
  for (const char* planner : {"rules", "optimal"}) {
    std::int64_t least = 0;
    for (const int clusters : {1, 2, 4, 8, 16}) {
      json config = chip_of("dilated", 64, {{"planner", planner}});
      config["chip"]["clusters"] = clusters, config["chip"]["cores_per_cluster"] = 2;
      const std::int64_t cycles = outcome(config, pyramid_network(true)).cycles();
      const std::int64_t most = least == 0 ? cycles : std::max(least + 64, least * 102 / 100);
      EXPECT_LE(cycles, most) << planner << ", " << clusters;
      least = least == 0 ? cycles : std::min(least, cycles);
    }
  }
}

// Cores that a mapping leaves out have no program, on every engine, whether maps stay in NRAM or in the SRAM.
TEST(FusionPyramid, MA_6_cores_that_a_mapping_leaves_out_have_no_work) {
  for (const char* dataflow : {"dilated", "wfold", "rolling", "offset"}) {
    json config = chip_of(dataflow, 64, json::object());
    config["chip"]["clusters"] = 2, config["chip"]["cores_per_cluster"] = 4;
    for (const char* holding : {"nram", "row_buffer"}) {
      json group{{"layers", {"a", "b", "c", "d"}}, {"holding", holding}, {"step_rows", 6}, {"cores", 3}};
      const Outcome made = outcome(config, pyramid_network(false), json::array({group}));
      ASSERT_EQ(made.command.status, 0) << dataflow << ", " << holding << ": " << made.command.err;
      for (const json& core : made.report.at("cores")) {
        const std::string name = core.at("name");
        const auto macs = core.at("macs").get<std::int64_t>();
        if (name.find("core3") != std::string::npos) {
          EXPECT_EQ(macs, 0) << dataflow << ", " << holding << ": " << core.dump();
        } else if (name.find("core1") != std::string::npos) {
          EXPECT_GT(macs, 0) << dataflow << ", " << holding << ": " << core.dump();
        }
      }
    }
    const json group{{"layers", {"a", "b"}}, {"cores", 5}};
    EXPECT_THAT(outcome(config, pyramid_network(false), json::array({group})).command.err,
                HasSubstr("5 cores, a cluster has 4"));
  }
}

// More cores, or more clusters, that would not pay stay without work: the network takes what it takes on
// fewer. What pays on few is another form than the one that is best on all: other rows, maps in NRAM, several
// maps.
TEST(FusionPyramid, MA_6_more_cores_and_clusters_take_as_long_where_they_do_not_pay) {
  const auto conv = [](const std::string& name, const std::string& input, int kernel, int stride,
                       int channels) {
    json made = layer(name, input, kernel, name.front());  // kernels of its own
    made["stride"] = {stride, stride}, made["out_channels"] = channels;
    made.erase("activation");
    return made;
  };
  const auto network = [](const json& shape, const json& layers) {
    return json{{"name", "net"},
                {"inputs", {{{"name", "x"}, {"shape", shape}, {"dtype", "int8"}, {"random", {{"seed", 1}}}}}},
                {"layers", layers}};
  };
  const auto cycles = [](json config, const char* more, int count, const json& net) {
    config["chip"][more] = count;
    const Outcome made = outcome(config, net);
    EXPECT_EQ(made.command.status, 0) << made.command.err;
    return made.cycles();
  };
  json cores{{"dataflow", "wfold"},
             {"fused", true},
             {"fusion", {{"planner", "optimal"}}},
             {"interconnect", {{"bytes_per_clock", 16}}},
             {"dram", {{"channels", 1}}},
             {"chip",
              {{"clusters", 2},
               {"memory_controllers", 1},
               {"sram", {{"size_bytes", 65536}}},
               {"cluster_bus", {{"bytes_per_clock", 32}}},
               {"core", {{"nram", {{"size_bytes", 131072}}}, {"wram", {{"size_bytes", 262144}}}}}}}};
  const json three = network({1, 14, 14, 16},
                             {conv("a", "x", 5, 2, 16), conv("b", "a", 3, 1, 16), conv("c", "b", 1, 1, 16)});
  const std::int64_t on_one = cycles(cores, "cores_per_cluster", 1, three);
  constexpr std::int64_t kAllowed = 64;  // MA-6's, below 3,200 cycles
  for (const int count : {2, 4})
    EXPECT_LE(cycles(cores, "cores_per_cluster", count, three), on_one + kAllowed) << count;

  json clusters{{"dataflow", "rolling"},
                {"fused", true},
                {"fusion", {{"planner", "rules"}}},
                {"interconnect", {{"bytes_per_clock", 8}}},
                {"dram", {{"channels", 2}}},
                {"chip",
                 {{"cores_per_cluster", 4},
                  {"memory_controllers", 2},
                  {"cluster_bus", {{"bytes_per_clock", 16}}},
                  {"core", {{"nram", {{"size_bytes", 262144}}}, {"wram", {{"size_bytes", 524288}}}}}}}};
  const json six = network(
      {4, 14, 14, 16},
      {conv("a", "x", 3, 1, 32), conv("b", "a", 3, 1, 32), conv("c", "b", 1, 2, 32), conv("d", "c", 1, 1, 32),
       json{{"name", "sum"}, {"op", "add"}, {"inputs", {"d", "c"}}, {"requant", {{"scale", 0.5}}}},
       conv("e", "sum", 1, 1, 128)});
  const std::int64_t on_two = cycles(clusters, "clusters", 2, six);
  for (const int count : {4, 8}) EXPECT_EQ(cycles(clusters, "clusters", count, six), on_two) << count;
}

// The optimal planner fuses three of four layers; the rules fuse all four, which the network as a whole does
// not pay for: the layer that stays alone says so.
TEST(FusionPyramid, FU_12_a_report_names_groups_that_were_dropped) {
  const json fusion{{"planner", "optimal"}, {"inner", "sram"}};
  json network{
      {"name", "net"},
      {"inputs", {{{"name", "x"}, {"shape", {1, 16, 16, 64}}, {"dtype", "int8"}, {"random", {{"seed", 1}}}}}},
      {"layers", {layer("a", "x", 3, 2), layer("b", "a", 1, 3), layer("c", "b", 3, 4)}}};
  for (json& made : network["layers"]) made["out_channels"] = 128;
  const Outcome made = outcome(chip_of("dilated", 64, fusion), network);
  ASSERT_EQ(made.command.status, 0) << made.command.err;
  std::string dropped;
  for (const json& fact : made.report.at("layers").back().at("facts")) {
    if (fact.at("name") == "not fused") dropped = fact.at("text");
  }
  EXPECT_THAT(dropped, HasSubstr("a to c: with this group and others beside it the network takes "));
}

// Parts go to cores in turn also where a step has fewer parts than a cluster has cores.
TEST(FusionPyramid, FU_4_FU_11_all_cores_make_parts_of_small_steps) {
  json config = chip_of("dilated", 64, json::object());
  config["chip"]["cores_per_cluster"] = 4;
  const json group{
      {"layers", {"a", "b", "c", "d"}}, {"holding", "nram"}, {"step_rows", 1}, {"step_columns", 8}};
  const Outcome made = outcome(config, pyramid_network(false), json::array({group}));
  ASSERT_EQ(made.command.status, 0) << made.command.err;
  for (const json& core : made.report.at("cores")) EXPECT_GT(core.at("macs"), 0) << core.dump();
}

// What `fusion.inner` asks for is done, by both planners, also where the SRAM is expected to be faster.
TEST(FusionPyramid, FU_11_nram_is_taken_when_asked) {
  for (const char* planner : {"rules", "optimal"}) {
    const json fusion{{"planner", planner}, {"inner", "nram"}, {"keep_where_slower", true}};
    const Outcome made = outcome(chip_of("dilated", 64, fusion), pyramid_network(true));
    ASSERT_EQ(made.command.status, 0) << made.command.err;
    bool held = false;
    for (const json& layer : made.report.at("layers")) {
      for (const json& fact : layer.at("facts")) {
        held = held || fact.at("name") == "in NRAM";
        const bool inside =
            fact.at("name") == "in SRAM" && fact.at("text").get<std::string>().rfind("x:", 0) != 0;
        EXPECT_FALSE(inside) << planner << ": " << fact.dump();
      }
    }
    EXPECT_TRUE(held) << planner;
  }
}

// The second layer reads every other column of the first one, and the parts of a core make no others.
TEST(FusionPyramid, FU_11_MA_5_the_bound_counts_no_columns_that_parts_skip) {
  const json fusion{{"inner", "nram"}, {"keep_where_slower", true}, {"least_main_layers", 1}};
  json hardware = chip_of("rolling", 64, fusion);
  hardware["rolling"] = {{"rows", 1}, {"columns", 1}, {"multipliers", 1}};
  hardware["chip"]["cores_per_cluster"] = 1;
  json network = pyramid_network(false);
  network["inputs"][0]["shape"] = {1, 8, 8, 16};
  network["layers"] = {layer("a", "x", 1, 2), layer("b", "a", 1, 3)};
  for (json& each : network["layers"]) each["out_channels"] = 8;
  network["layers"][1]["stride"] = {1, 2};
  const Outcome made = outcome(hardware, network);
  ASSERT_EQ(made.command.status, 0) << made.command.out << made.command.err;
  const json group = made.report.at("layers").at(0);
  EXPECT_EQ(group.at("layers").size(), 2U);
  EXPECT_EQ(group.at("macs"), 8 * 4 * 8 * (16 + 8)) << "half of the columns";
}

TEST(FusionPyramid, FU_11_UI_5_what_cannot_stay_in_nram_is_refused) {
  const json config = chip_of("dilated", 64, json::object());
  const auto refused = [&](const json& group) {
    return outcome(config, pyramid_network(true), json::array({group})).command;
  };
  const json layers{"a", "b", "sum"};
  const CommandResult input = refused({{"layers", layers}, {"holdings", {{"x", "nram"}}}});
  EXPECT_EQ(input.status, 2);
  EXPECT_THAT(input.err, HasSubstr("'x' cannot be held as nram: it comes from DRAM"));
  const CommandResult streamed = refused({{"layers", layers}, {"holding", "nram"}, {"kernels", "streamed"}});
  EXPECT_EQ(streamed.status, 2);
  EXPECT_THAT(streamed.err, HasSubstr("'a' cannot be held as nram: its layers' kernels are streamed"));
  const CommandResult shared = refused({{"layers", layers}, {"holding", "nram"}, {"reductions", {{"b", 2}}}});
  EXPECT_EQ(shared.status, 2);
  EXPECT_THAT(shared.err, HasSubstr("cores share the input channels"));
  json small = config;
  small["chip"]["core"] = {{"nram", {{"size_bytes", 4096}}}};
  const CommandResult large =
      outcome(small, pyramid_network(true), {{{"layers", layers}, {"holding", "nram"}}}).command;
  EXPECT_EQ(large.status, 2);
  EXPECT_THAT(large.err,
              HasSubstr("cannot fit: not even one output with all that it is made of fits the NRAM"));
}

// `direct`: kernels and results do not pass through the SRAM; the map does, which is what a group is.
// `sram`: nothing goes another way.
TEST(FusionPyramid, HI_4_FU_11_the_way_of_a_group_is_obeyed) {
  const auto made = [](const char* path) {
    json config = chip_of("dilated", 64, json::object());
    config["chip"]["dram_path"] = path;
    return outcome(config, pyramid_network(true), {{{"layers", {"a", "b", "sum"}}, {"step_rows", 16}}});
  };
  const Outcome direct = made("direct"), sram = made("sram");
  ASSERT_EQ(direct.command.status, 0) << direct.command.err;
  ASSERT_EQ(sram.command.status, 0) << sram.command.err;
  const std::int64_t map = 32 * 32 * 64;
  EXPECT_EQ(direct.sum(R"(noc\..*\.gdma)", "read"), map);
  EXPECT_EQ(direct.sum(R"(noc\..*\.gdma)", "written"), 0);
  EXPECT_EQ(direct.sum(R"(noc\..*\.iodma)", "written"), map);
  EXPECT_EQ(sram.sum(R"(noc\..*\.iodma)", "read"), 0);
  EXPECT_EQ(sram.sum(R"(noc\..*\.iodma)", "written"), 0);
  EXPECT_EQ(sram.sum(R"(noc\..*\.gdma)", "written"), map);
  EXPECT_NE(direct.cycles(), sram.cycles());
}

}  // namespace
}  // namespace tilebeat::testing
