// Files in YAML, by what commands make of them.
#include "tilebeat_command.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tilebeat::testing {
namespace {

using ::testing::HasSubstr;

const std::string kChip = R"(%YAML 1.2
---
name: &name "1"   # a text, since it is quoted
clock_mhz: +1e3
fused: False
chip:
  clusters: 1
  cores_per_cluster: 1
  core:
    nram: &memory
      size_bytes: 0x80000
      banks: 0o20
    wram: *memory
dram:
  preset: ddr4_2400
  comment: |
    Two lines
    of text.
...
)";
const std::string kWorkload = R"(
name: small
inputs:
- {name: x, shape: [1, 12, 12, 16], random: {seed: 1}}
layers:
- name: conv
  op: conv2d
  inputs: [x]
  out_channels: 32
  kernel: &square [3, 3]
  weights: {random: {seed: 2}}
  requant: {scale: .5e-2}
- name: pool
  op: max_pool
  inputs: [conv]
  kernel: *square
outputs: [pool]
)";

TEST(Yaml, AP_4_types_are_those_of_the_core_schema) {
  const CommandFolder folder;
  folder.write("chip.yaml", kChip), folder.write("net.yml", kWorkload);
  const CommandResult run = folder.run({"run", "--config", "chip.yaml", "--layer", "net.yml"});
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("small on 1 "));
  const nlohmann::json hardware = folder.report().at("configuration");
  EXPECT_EQ(hardware.at("name"), "1");
  EXPECT_EQ(hardware.at("clock_mhz"), 1000);
  EXPECT_EQ(hardware.at("fused"), false);
  for (const char* memory : {"nram", "wram"}) {
    EXPECT_EQ(hardware.at("chip").at("core").at(memory).at("size_bytes"), 0x80000);
    EXPECT_EQ(hardware.at("chip").at("core").at(memory).at("banks"), 16);
  }
  EXPECT_EQ(folder.report().at("layers").size(), 2U);
}

TEST(Yaml, AP_4_every_command_reads_it_as_json) {
  const CommandFolder folder;
  const std::string config = folder.write("chip.yaml", read_bytes(source_path("configs/core1.json")));
  const std::string layer = folder.write("net.yaml", kWorkload);
  const nlohmann::json same{
      {"name", "small"},
      {"inputs", {{{"name", "x"}, {"shape", {1, 12, 12, 16}}, {"random", {{"seed", 1}}}}}},
      {"layers",
       {{{"name", "conv"},
         {"op", "conv2d"},
         {"inputs", {"x"}},
         {"out_channels", 32},
         {"kernel", {3, 3}},
         {"weights", {{"random", {{"seed", 2}}}}},
         {"requant", {{"scale", 0.005}}}},
        {{"name", "pool"}, {"op", "max_pool"}, {"inputs", {"conv"}}, {"kernel", {3, 3}}}}},
      {"outputs", {"pool"}}};
  const std::string file = folder.write("net.json", same.dump());
  ASSERT_EQ(folder.run({"run", "--config", config, "--layer", layer, "--out", "yaml"}).status, 0);
  ASSERT_EQ(
      folder.run({"run", "--config", source_path("configs/core1.json"), "--layer", file, "--out", "json"})
          .status,
      0);
  EXPECT_EQ(folder.results("yaml"), folder.results("json"));
  EXPECT_EQ(folder.tensors("yaml"), folder.tensors("json"));
  ASSERT_EQ(folder.run({"plan", "--config", config, "--layer", layer, "--mapping", "mapping.json"}).status,
            0);
  std::filesystem::rename(folder.path("mapping.json"), folder.path("mapping.yaml"));
  EXPECT_EQ(folder.run({"run", "--config", config, "--layer", layer, "--mapping", "mapping.yaml"}).status, 0);
  EXPECT_EQ(folder.run({"rerun", "yaml/report.json"}).status, 0);
  EXPECT_EQ(folder.run({"whatif", "--config", config, "--layer", layer, "--knobs", "dram.channels"}).status,
            0);
  folder.write("sweep.yaml",
               "tilebeat_sweep: 1\nname: s\nconfig: chip.yaml\nlayer: net.yaml\naxes:\n"
               "- {name: channels, target: config, pointer: /dram/channels, values: [1, 2]}\n");
  const CommandResult sweep = folder.run({"sweep", "sweep.yaml"});
  EXPECT_EQ(sweep.status, 0) << sweep.err;
  EXPECT_THAT(sweep.out, HasSubstr("2 points, 2 passed"));
  folder.write("suite.yaml",
               "tilebeat_suite: 1\nname: s\nruns:\n- {configs: [chip.yaml], layers: [net.yaml]}\n");
  const CommandResult update = folder.run({"check", "suite.yaml", "--update"});
  EXPECT_EQ(update.status, 2);
  EXPECT_THAT(update.err, HasSubstr("suite.yaml: has // comments, which --update would lose, or is YAML"));
}

struct Refused {
  const char *text, *what;
};

class YamlErrors : public ::testing::TestWithParam<Refused> {};

TEST_P(YamlErrors, UI_2_they_name_the_line) {
  const CommandFolder folder;
  folder.write("chip.yaml", GetParam().text);
  const CommandResult result =
      folder.run({"plan", "--config", "chip.yaml", "--layer", source_path("models/small_chain.json")});
  EXPECT_EQ(result.status, 2);
  EXPECT_THAT(result.err, HasSubstr(std::string("tilebeat: chip.yaml: ") + GetParam().what));
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
}

INSTANTIATE_TEST_SUITE_P(
    Texts, YamlErrors,
    ::testing::Values(
        Refused{"", "is empty"}, Refused{"# nothing\n", "is empty"},
        Refused{"name: [a\nclock_mhz: 3\n", "error at line 2, column "},
        Refused{"name: a\nclock_mhz: 3\nname: b\n",
                "error at line 3, column 1: /name: this key appears twice"},
        Refused{"dram: {channels: 1, channels: 2}\n", "error at line 1, column 21: /dram/channels: this key"},
        Refused{"dram: &d\n  comment: *d\n", "error at line 2, column 12: no complete value in front of it"},
        Refused{"name: *a\n", "error at line 1, column 7: no complete value"},
        Refused{"a: 1\n--- \nb: 2\n", "error at line 2, column 1: a second document begins"},
        Refused{"? [a, b]\n: 1\n", "error at line 1, column 3: a key is a text"},
        Refused{"name: !mine x\n", "error at line 1, column 7: the tag \"!mine\" is not known"},
        Refused{"clock_mhz: !!int x\n", "error at line 1, column 12: \"x\" is no int"},
        Refused{"clock_mhz: .inf\n", "error at line 1, column 12: /clock_mhz: \".inf\" is not allowed"},
        Refused{"dram: [1, 1e999]\n", "error at line 1, column 11: /dram/1: \"1e999\" is not allowed"},
        Refused{"name: \"\\0\"\n", "error at line 1, column 7: a zero byte"},
        Refused{"name: \xff\n", "error at byte "}, Refused{"\tname: a\n", "error at line 1, column 1: "},
        // These are texts in YAML 1.2, and no switches.
        Refused{"fused: yes\n", "/fused: \"yes\" is not allowed, allowed is true or false"},
        Refused{"clock_mhz: 1_000\n", "/clock_mhz: \"1_000\" is not allowed"},
        Refused{"switch_array:\n  rows: -3\n",
                "/switch_array/rows: -3 is not allowed, allowed is a whole number"},
        Refused{"switch_array:\n  rows: '16'\n", "/switch_array/rows: \"16\" is not allowed"},
        Refused{"clock_mhz:\n", "/clock_mhz: null is not allowed"}));

TEST(Yaml, UI_5_what_grows_without_end_is_refused) {
  const CommandFolder folder;
  std::string laughs = "a0: &a0 [ha, ha, ha, ha, ha, ha, ha, ha, ha]\n";
  for (int i = 1; i < 30; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    laughs += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + before;
    for (int k = 0; k < 8; ++k) laughs += ", " + before;
    laughs += "]\n";
  }
  std::string chain = "a0: &a0 [x]\n";
  for (int i = 1; i < 200; ++i)
    chain += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [*a" + std::to_string(i - 1) + "]\n";
  const std::pair<std::string, const char*> cases[] = {
      {laughs, "anchors and aliases stand for more than 67108864 bytes"},
      {chain, "nested more than 64 deep"},
      {"a: " + std::string(1000, '['), "nested more than 64 deep"},
      {"a: " + std::string(1'000'000, '['), "nested more than 64 deep"}};
  for (const auto& [text, what] : cases) {
    folder.write("chip.yaml", text);
    const CommandResult result =
        folder.run({"plan", "--config", "chip.yaml", "--layer", source_path("models/small_chain.json")});
    EXPECT_EQ(result.status, 2);
    EXPECT_THAT(result.err, HasSubstr(what));
  }
}

}  // namespace
}  // namespace tilebeat::testing
