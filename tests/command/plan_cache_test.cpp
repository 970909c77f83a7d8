// Plans that a folder keeps: found again, ignored where they are damaged or another's (SPEC MA-1).
#include "app/provenance.h"
#include "sweep_files.h"
#include "tilebeat_command.h"

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tilebeat::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kBlock = "models/resnet18_block.json";

std::string fused(const CommandFolder& folder, const std::string& planner) {
  return folder.write(planner + ".json",
                      R"({"name": "fused", "fused": true, "fusion": {"planner": ")" + planner +
                          R"("}, "chip": {"clusters": 4, "cores_per_cluster": 4, "memory_controllers": 2}})");
}

CommandResult run_kept(const CommandFolder& folder, const std::string& config, const std::string& out) {
  return folder.run({"run", "--config", config, "--layer", source_path(kBlock), "--out", folder.path(out),
                     "--plan-cache", folder.path("kept")});
}
std::string plan_of(const CommandFolder& folder, const std::string& out) {
  return folder.report(out).at("provenance").at("plan");
}
std::string only_entry(const CommandFolder& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path("kept")))
    names.push_back(entry.path().string());
  EXPECT_EQ(names.size(), 1U);
  return names.at(0);
}

TEST(PlanCache, MA_1_a_kept_plan_gives_the_same_run) {
  for (const std::string planner : {"rules", "optimal"}) {
    SCOPED_TRACE(planner);
    const CommandFolder folder;
    const std::string config = fused(folder, planner);
    ASSERT_EQ(run_kept(folder, config, "made").status, 0);
    ASSERT_EQ(run_kept(folder, config, "kept_run").status, 0);
    EXPECT_EQ(plan_of(folder, "made"), "made");
    EXPECT_EQ(plan_of(folder, "kept_run"), "kept");
    EXPECT_EQ(folder.results("made"), folder.results("kept_run"));
    EXPECT_FALSE(folder.report("made").at("layers").at(0).at("layers").empty());  // it is a group
  }
}

TEST(PlanCache, MA_1_a_kept_plan_is_told_alike) {
  const CommandFolder folder;
  const std::vector<std::string> plan{
      "plan",         "--config",         fused(folder, "optimal"), "--layer", source_path(kBlock),
      "--plan-cache", folder.path("kept")};
  const CommandResult made = folder.run(plan), kept = folder.run(plan);
  ASSERT_EQ(made.status, 0) << made.err;
  EXPECT_EQ(made.out, kept.out);
  EXPECT_THAT(kept.out, HasSubstr("one by one"));
  EXPECT_THAT(made.err, HasSubstr("chosen in"));
  EXPECT_THAT(kept.err, Not(HasSubstr("chosen in")));
}

TEST(PlanCache, MA_1_other_hardware_or_workload_is_planned) {
  const CommandFolder folder;
  ASSERT_EQ(run_kept(folder, fused(folder, "optimal"), "a").status, 0);
  ASSERT_EQ(run_kept(folder, fused(folder, "rules"), "b").status, 0);
  EXPECT_EQ(plan_of(folder, "b"), "made");
  std::string text = read_bytes(source_path(kBlock));
  text.replace(text.find("\"seed\": 2"), 9, "\"seed\": 7");
  const std::string other = folder.write("other.json", text);
  ASSERT_EQ(folder
                .run({"run", "--config", fused(folder, "optimal"), "--layer", other, "--out",
                      folder.path("c"), "--plan-cache", folder.path("kept")})
                .status,
            0);
  EXPECT_EQ(plan_of(folder, "c"), "made");
}

TEST(PlanCache, MA_1_a_damaged_plan_is_made_again) {
  const CommandFolder folder;
  const std::string config = fused(folder, "rules");
  ASSERT_EQ(run_kept(folder, config, "first").status, 0);
  const std::string entry = only_entry(folder), whole = read_bytes(entry);
  nlohmann::json foreign = nlohmann::json::parse(whole);
  foreign["key"] = std::string(64, '0');
  std::string changed = whole;
  changed.replace(changed.find("\"step_rows\": 14"), 15, "\"step_rows\": 13");
  for (const std::string& bytes :
       {whole.substr(0, whole.size() / 2), std::string(), foreign.dump(), changed, std::string("[]")}) {
    SCOPED_TRACE(bytes.substr(0, 80));
    folder.write("kept/" + std::filesystem::path(entry).filename().string(), bytes);
    const CommandResult run = run_kept(folder, config, "again");
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_THAT(run.err, HasSubstr("is damaged; planned again"));
    EXPECT_EQ(plan_of(folder, "again"), "made");
    EXPECT_EQ(folder.results("first"), folder.results("again"));
    EXPECT_EQ(read_bytes(entry), whole);
  }
}

/// The entry with other content, under the digest of that.
std::string signed_again(nlohmann::ordered_json entry) {
  entry["digest"] = sha256_of_bytes(entry.at("plan").dump());
  return entry.dump();
}

TEST(PlanCache, MA_1_a_plan_that_says_of_itself_what_is_not_so_is_made_again) {
  const CommandFolder folder;
  const std::string config = fused(folder, "optimal");
  ASSERT_EQ(run_kept(folder, config, "first").status, 0);
  const std::string entry = only_entry(folder), whole = read_bytes(entry);
  const auto kept = nlohmann::ordered_json::parse(whole);
  nlohmann::ordered_json programs = kept, by_rules = kept, visited = kept;
  programs["plan"]["programs"] = std::string(64, '0');
  by_rules["plan"].erase("by_rules");
  visited["plan"]["fusion"]["visited"] = 1e300;
  const std::string deep = "{\"plan\": " + std::string(1000000, '[');
  for (const std::string& bytes :
       {signed_again(programs), signed_again(by_rules), signed_again(visited), deep}) {
    SCOPED_TRACE(bytes.substr(0, 80));
    folder.write("kept/" + std::filesystem::path(entry).filename().string(), bytes);
    const CommandResult run = run_kept(folder, config, "again");
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_THAT(run.err, HasSubstr("; planned again"));
    EXPECT_EQ(plan_of(folder, "again"), "made");
    EXPECT_EQ(read_bytes(entry), whole);
  }
}

TEST(PlanCache, MA_1_a_plan_that_cannot_be_kept_is_used) {
  const CommandFolder folder;
  const std::string config = fused(folder, "rules");
  ASSERT_EQ(run_kept(folder, config, "first").status, 0);
  const std::string entry = only_entry(folder);
  std::filesystem::remove(entry);
  std::filesystem::create_directories(entry + "/a_folder_in_its_place");
  const CommandResult run = run_kept(folder, config, "again");
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("; the plan is not kept"));
  EXPECT_EQ(folder.results("first"), folder.results("again"));
}

TEST(PlanCache, MA_1_two_processes_share_a_folder) {
  const CommandFolder folder;
  const std::string config = fused(folder, "rules");
  const auto start = [&](const char* out) {
    return folder.start({"run", "--config", config, "--layer", source_path(kBlock), "--out", folder.path(out),
                         "--plan-cache", folder.path("kept")});
  };
  const StartedCommand a = start("a"), b = start("b");
  const CommandResult of_a = a.finish(), of_b = b.finish();
  EXPECT_EQ(of_a.status, 0) << of_a.err;
  EXPECT_EQ(of_b.status, 0) << of_b.err;
  EXPECT_EQ(folder.results("a"), folder.results("b"));
  only_entry(folder);
}

TEST(PlanCache, MA_1_a_folder_that_cannot_be_is_refused) {
  const CommandFolder folder;
  const std::string file = folder.write("file", "");
  const CommandResult run =
      folder.run({"run", "--config", fused(folder, "rules"), "--layer", source_path(kBlock), "--out",
                  folder.path("out"), "--plan-cache", file});
  EXPECT_EQ(run.status, 2);
  EXPECT_THAT(run.err, HasSubstr("--plan-cache " + file + ": cannot be made"));
  EXPECT_FALSE(std::filesystem::exists(folder.path("out")));
}

TEST(PlanCache, MA_1_kept_plans_have_the_mode_of_other_outputs) {
  const CommandFolder folder;
  ASSERT_EQ(run_kept(folder, fused(folder, "rules"), "out").status, 0);
  EXPECT_EQ(std::filesystem::status(only_entry(folder)).permissions(),
            std::filesystem::status(folder.write("other", "")).permissions());
}

TEST(PlanCache, MA_1_steps_of_whatif_find_their_plans) {
  const CommandFolder folder;
  const auto measured = [&] {
    return folder.run({"whatif", "--config", fused(folder, "rules"), "--layer", source_path(kBlock),
                       "--knobs", "dram.preset", "--out", folder.path("steps"), "--plan-cache",
                       folder.path("kept")});
  };
  const CommandResult made = measured();
  ASSERT_EQ(made.status, 0) << made.err;
  std::map<std::string, std::filesystem::file_time_type> written;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path("kept")))
    written[entry.path().filename()] = entry.last_write_time();
  EXPECT_GT(written.size(), 3U);
  EXPECT_EQ(measured().out, made.out);
  for (const auto& entry : std::filesystem::directory_iterator(folder.path("kept")))
    EXPECT_EQ(entry.last_write_time(), written.at(entry.path().filename())) << "it was made again";
}

TEST(PlanCache, MA_1_points_of_a_sweep_find_their_plans) {
  const CommandFolder folder;
  nlohmann::json sweep = small_sweep();
  sweep["config"] = source_path("configs/cluster4.json");
  sweep["axes"] = {config_axis("links", "/chip/memory_controllers", {1, 2})};
  const std::string file = folder.write("sweep.json", sweep.dump());
  for (const std::string out : {"one", "two"}) {
    const CommandResult run = folder.run({"sweep", file, "--out", out, "--plan-cache", "kept"});
    ASSERT_EQ(run.status, 0) << run.err;
    for (const auto& point : std::filesystem::directory_iterator(folder.path(out + "/points"))) {
      const auto report = nlohmann::json::parse(read_bytes(point.path().string() + "/report.json"));
      EXPECT_EQ(report.at("provenance").at("plan"), out == "one" ? "made" : "kept");
    }
  }
  // A sweep that is repeated takes what it has.
  EXPECT_THAT(folder.run({"sweep", file, "--out", "one", "--plan-cache", "kept"}).status, 0);
}

}  // namespace
}  // namespace tilebeat::testing
