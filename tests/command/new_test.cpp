// Files that `tilebeat new` begins work together as they are.
#include "tilebeat_command.h"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tilebeat::testing {
namespace {

using ::testing::HasSubstr;

// A folder with a file of every kind.
void begin_all(const CommandFolder& folder) {
  for (const char* kind : {"hardware", "workload", "suite", "sweep"}) {
    const CommandResult made = folder.run({"new", kind, "--out", folder.path(std::string(kind) + ".json")});
    ASSERT_EQ(made.status, 0) << made.err;
  }
}

TEST(New, AP_4_hardware_and_workload_run_on_every_engine) {
  const CommandFolder folder;
  begin_all(folder);
  for (const char* engine : {"dilated", "wfold", "rolling", "offset"}) {
    nlohmann::json hardware = nlohmann::json::parse(read_bytes(folder.path("hardware.json")));
    hardware["dataflow"] = engine;
    folder.write("other.json", hardware.dump());
    const CommandResult result = folder.run({"run", "--config", folder.path("other.json"), "--layer",
                                             folder.path("workload.json"), "--out", folder.path(engine)});
    EXPECT_EQ(result.status, 0) << engine << result.err;
    EXPECT_THAT(result.out, HasSubstr("mine on mine")) << engine;
  }
}

TEST(New, AP_4_a_suite_stores_and_checks) {
  const CommandFolder folder;
  begin_all(folder);
  EXPECT_EQ(folder.run({"check", folder.path("suite.json"), "--update"}).status, 0);
  const CommandResult result = folder.run({"check", folder.path("suite.json")});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("2 runs, all as stored"));
}

TEST(New, AP_4_a_sweep_runs) {
  const CommandFolder folder;
  begin_all(folder);
  const CommandResult result =
      folder.run({"sweep", folder.path("sweep.json"), "--out", folder.path("points")});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("4 points, 4 passed"));
}

TEST(New, AP_4_a_file_that_is_there_stays) {
  const CommandFolder folder;
  folder.write("hardware.json", "mine");
  const CommandResult refused = folder.run({"new", "hardware", "--out", folder.path("hardware.json")});
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.err, HasSubstr("is there already"));
  EXPECT_EQ(read_bytes(folder.path("hardware.json")), "mine");
  std::filesystem::create_symlink(folder.path("nowhere"), folder.path("link.json"));
  EXPECT_EQ(folder.run({"new", "hardware", "--out", folder.path("link.json")}).status, 2);
  EXPECT_EQ(folder.run({"new", "sofa"}).status, 2);
}

TEST(New, AP_4_of_many_who_begin_a_file_one_does) {
  const CommandFolder folder;
  constexpr int kRounds = 10, kAtOnce = 8;
  for (int round = 0; round < kRounds; ++round) {
    const std::string file = folder.path(std::to_string(round) + ".json");
    std::vector<std::unique_ptr<StartedCommand>> started;
    for (int i = 0; i < kAtOnce; ++i)
      started.emplace_back(new StartedCommand(folder.start({"new", "hardware", "--out", file})));
    int written = 0;
    for (const auto& command : started) {
      const CommandResult result = command->finish();
      written += result.status == 0 ? 1 : 0;
      if (result.status != 0) {
        EXPECT_THAT(result.err, HasSubstr("is there already"));
      }
    }
    EXPECT_EQ(written, 1);
    EXPECT_EQ(read_bytes(file), folder.run({"new", "hardware"}).out);
  }
  EXPECT_EQ(folder.files().size(), kRounds) << "temporary files are left";
}

TEST(New, AP_4_files_name_a_schema_that_is_there) {
  const CommandFolder folder;
  for (const std::string kind : {"hardware", "workload", "suite", "sweep"}) {
    const auto made = nlohmann::json::parse(folder.run({"new", kind}).out);
    EXPECT_EQ(read_bytes(made.at("$schema")), folder.run({"schema", kind}).out) << kind;
  }
}

TEST(New, AP_4_comments_name_what_there_is) {
  const CommandFolder folder;
  const auto hardware = nlohmann::json::parse(folder.run({"new", "hardware"}).out);
  const auto schema = nlohmann::json::parse(folder.run({"schema", "hardware"}).out);
  const std::string presets = hardware.at("dram").at("comment");
  for (const std::string preset : schema.at("/properties/dram/properties/preset/enum"_json_pointer))
    if (preset.find("_ecc_") == std::string::npos) {
      EXPECT_THAT(presets, HasSubstr(preset));
    }
  for (const std::string engine : schema.at("/properties/dataflow/enum"_json_pointer))
    EXPECT_THAT(hardware.at("comment").dump(), HasSubstr(engine));
}

}  // namespace
}  // namespace tilebeat::testing
