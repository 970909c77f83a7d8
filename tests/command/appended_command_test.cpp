// Caches that steps append to, from the command line: what plan and report say, and what it saves (AT-2).
#include "tilebeat_command.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tilebeat::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Three steps, each with a token for two heads; every length of the cache is an output.
constexpr const char* kSteps = R"({
  "inputs": [{"name": "first", "shape": [1, 2, 40, 64], "random": {"seed": 1}},
             {"name": "row", "shape": [1, 2, 1, 64], "random": {"seed": 2}}],
  "layers": [{"name": "root", "op": "relu", "inputs": ["first"]}],
  "steps": {
    "count": 3,
    "carried": {"keys": {"from": "root", "next": "all"}, "last": {"from": "row", "next": "context"}},
    "layers": [
      {"name": "all", "op": "concat", "inputs": ["keys", "last"], "axis": 2},
      {"name": "scores", "op": "matmul", "inputs": ["last", "all"], "transpose_b": true, "requant": {"scale": 0.002}},
      {"name": "context", "op": "matmul", "inputs": ["scores", "all"], "requant": {"scale": 0.01}}],
    "outputs": ["all", "context"]}})";

class AppendedCommand : public ::testing::Test {
 protected:
  AppendedCommand() { folder_.write("w.json", kSteps); }

  std::string config(const std::string& name, bool appends) {
    auto hardware =
        nlohmann::json::parse(read_bytes(source_path("configs/" + name + ".json")), nullptr, true, true);
    hardware["planner"]["append_in_place"] = appends;
    return folder_.write(name + (appends ? "" : "_copies") + ".json", hardware.dump());
  }
  CommandFolder folder_;
};

TEST_F(AppendedCommand, AT_2_steps_write_new_rows_alone_and_results_are_those_of_copies) {
  for (const char* name : {"core1", "cluster4x4", "rolling_cluster4x4", "wfold_cluster4x4"}) {
    for (const char* granularity : {"tile", "clock"}) {
      for (const bool appends : {true, false}) {
        const CommandResult result =
            folder_.run({"run", "--config", config(name, appends), "--layer", folder_.path("w.json"),
                         "--granularity", granularity, "--check", "on", "--out", appends ? "a" : "c"});
        ASSERT_EQ(result.status, 0) << name << ": " << result.err;
      }
      EXPECT_EQ(folder_.tensors("a"), folder_.tensors("c")) << name;
      const nlohmann::json appended = folder_.report("a"), copied = folder_.report("c");
      for (std::size_t i = 0; i < copied.at("layers").size(); ++i) {
        const nlohmann::json &in_place = appended.at("layers")[i], &copy = copied.at("layers")[i];
        const nlohmann::json& bytes = in_place.at("bytes").at("dram");
        if (copy.at("op") != "concat") continue;
        EXPECT_EQ(bytes.at("write"), 128) << name << ": two rows of 64";
        EXPECT_LT(in_place.at("cycles"), copy.at("cycles")) << name;
        EXPECT_EQ(copy.at("bytes").at("dram").at("write"),
                  128 * (40 + std::stoi(copy.at("scene").get<std::string>().substr(4))));
      }
    }
  }
}

TEST_F(AppendedCommand, AT_2_plan_says_what_is_appended_and_listings_say_where_results_lie) {
  const auto plan = [&](bool appends) {
    return folder_
        .run({"plan", "--config", config("core1", appends), "--layer", folder_.path("w.json"),
              "--disassemble"})
        .out;
  };
  const std::string text = plan(true);
  EXPECT_THAT(text,
              HasSubstr("concat           appended in place: 128 of 5248 bytes are written, behind 'root', "
                        "which lies where the result begins"));
  EXPECT_THAT(text, HasSubstr(" int8 1 2 41 64 apart:2:2752\n"));
  EXPECT_THAT(plan(false), Not(HasSubstr("appended")));
}

// The heads of a group's keys and values lie apart, and those of the map that another group begins with.
TEST_F(AppendedCommand, AT_2_FU_14_groups_read_caches_with_room_between_heads) {
  nlohmann::json file = nlohmann::json::parse(kSteps);
  nlohmann::json& steps = file["steps"];
  steps["layers"].push_back({{"name", "bounded"}, {"op", "relu"}, {"inputs", {"all"}}});
  steps["layers"].push_back(
      {{"name", "halved"}, {"op", "requantize"}, {"inputs", {"bounded"}}, {"requant", {{"scale", 0.5}}}});
  steps["outputs"].push_back("halved");
  folder_.write("w.json", file.dump());
  folder_.write("groups.json", R"({"tilebeat_mapping": 1, "groups": [
    {"layers": ["scores.1", "context.1"]}, {"layers": ["bounded.1", "halved.1"]}, {"layers": ["scores.2", "context.2"]}]})");
  for (const char* name : {"core1", "cluster4x4", "rolling_cluster4x4", "wfold_cluster4x4"}) {
    for (const char* granularity : {"tile", "clock"}) {
      const CommandResult result = folder_.run(
          {"run", "--config", config(name, true), "--layer", folder_.path("w.json"), "--mapping",
           folder_.path("groups.json"), "--granularity", granularity, "--check", "on", "--out", granularity});
      ASSERT_EQ(result.status, 0) << name << ": " << result.err;
    }
    EXPECT_EQ(folder_.report("tile").at("total"), folder_.report("clock").at("total")) << name;
    EXPECT_EQ(folder_.tensors("tile"), folder_.tensors("clock")) << name;
  }
}

TEST_F(AppendedCommand, AT_2_HI_2_exported_programs_write_every_length_of_the_cache) {
  const std::string chip = config("core1", true), layer = folder_.path("w.json");
  ASSERT_EQ(folder_.run({"run", "--config", chip, "--layer", layer, "--out", "planned"}).status, 0);
  ASSERT_EQ(folder_.run({"plan", "--config", chip, "--layer", layer, "--export", "made.program"}).status, 0);
  const CommandResult again =
      folder_.run({"run", "--config", chip, "--program", "made.program", "--out", "again"});
  ASSERT_EQ(again.status, 0) << again.err;
  EXPECT_EQ(folder_.tensors("again"), folder_.tensors("planned"));
  EXPECT_EQ(folder_.tensors("again").size(), 6U);
}

}  // namespace
}  // namespace tilebeat::testing
