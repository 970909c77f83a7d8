// A run's report and tensors are all old or all new, wherever it is ended and whatever the file system
// refuses (SPEC UI-5).
#include "tilebeat_command.h"

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

namespace fs = std::filesystem;
using Files = std::map<std::string, std::string>;

// Two networks with one output of the same name and one that only the first one has.
std::string network(int seed, bool two) {
  return fmt::format(
      R"({{"name": "n", "inputs": [{{"name": "x", "shape": [1, 4, 4, 4], "dtype": "int8", "random": {{"seed": {}}}}}],
  "layers": [{{"name": "a", "op": "max_pool", "inputs": ["x"], "kernel": [2, 2]}},
             {{"name": "b", "op": "max_pool", "inputs": ["x"], "kernel": [3, 3]}}], "outputs": [{}]}})",
      seed, two ? R"("a", "b")" : R"("a")");
}

/// A folder with the results of the first network, files of a user beside them, and both workloads.
class Results {
 public:
  Results() {
    folder_.write("old.json", network(1, true));
    folder_.write("new.json", network(2, false));
    EXPECT_EQ(run("old", {}).status, 0);
    old_ = set();
    EXPECT_EQ(run("new", {}).status, 0);
    new_ = set();
  }
  CommandResult run(const std::string& name, const CommandSetting& setting) const {
    return folder_.run(
        {"run", "--config", source_path("configs/core1.json"), "--layer", name + ".json", "--check", "off"},
        setting);
  }
  // The results of the first network again, as a run leaves them or with a report that is no link.
  void reset(bool plain_report) const {
    fs::remove_all(out());
    ASSERT_EQ(run("old", {}).status, 0);
    if (plain_report) {
      const std::string report = read_bytes(out() + "/report.json");
      fs::remove(out() + "/report.json"), fs::remove(out() + "/outputs/.report.json");
      folder_.write("tilebeat-out/report.json", report);
    }
    folder_.write("tilebeat-out/outputs/mine.txt", "mine");
    folder_.write("tilebeat-out/notes.txt", "notes");
  }
  // What a reader finds: the report and the tensors.
  Files set() const {
    Files files;
    if (fs::exists(out() + "/report.json")) files["report"] = read_bytes(out() + "/report.json");
    if (!fs::exists(out() + "/outputs")) return files;
    for (const auto& entry : fs::directory_iterator(out() + "/outputs")) {
      if (entry.path().extension() == ".npy")
        files[entry.path().filename()] = read_bytes(entry.path().string());
    }
    return files;
  }
  void expect_files_of_the_user(const std::string& when) const {
    EXPECT_EQ(read_bytes(out() + "/outputs/mine.txt"), "mine") << when;
    EXPECT_EQ(read_bytes(out() + "/notes.txt"), "notes") << when;
  }
  std::vector<std::string> hidden() const {
    std::vector<std::string> found;
    for (const auto& [name, bytes] : folder_.files()) {
      if (name.find(".tilebeat") != std::string::npos) found.push_back(name);
    }
    return found;
  }
  std::string out() const { return folder_.path("tilebeat-out"); }
  const Files& of_old() const { return old_; }
  const Files& of_new() const { return new_; }

 private:
  CommandFolder folder_;
  Files old_, new_;
};

CommandSetting failing(int call, const char* how) {
  CommandSetting setting;
  setting.environment = {{"LD_PRELOAD", TILEBEAT_FAILING_CALLS},
                         {"FAILING_CALL", std::to_string(call)},
                         {"FAILING_HOW", how},
                         {"ASAN_OPTIONS", "verify_asan_link_order=0:detect_leaks=0"}};
  return setting;
}

class AtomicOutputs : public ::testing::TestWithParam<bool> {};

TEST_P(AtomicOutputs, UI_5_sigkill_at_every_call_leaves_all_old_or_all_new) {
  const Results results;
  ASSERT_NE(results.of_old(), results.of_new());
  int killed = 0, old = 0;
  for (int call = 1;; ++call) {
    results.reset(GetParam());
    const std::string when = fmt::format("killed at call {}", call);
    const CommandResult result = results.run("new", failing(call, "kill"));
    results.expect_files_of_the_user(when);
    if (result.status == 0) break;
    ASSERT_EQ(result.status, 128 + SIGKILL) << when;
    ++killed;
    const Files set = results.set();
    old += set == results.of_old() ? 1 : 0;
    EXPECT_TRUE(set == results.of_old() || set == results.of_new()) << when;
    ASSERT_EQ(results.run("new", {}).status, 0) << "after a run was " << when;
    EXPECT_EQ(results.set(), results.of_new()) << "after a run was " << when;
    EXPECT_EQ(results.hidden(), std::vector<std::string>{}) << "after a run was " << when;
    results.expect_files_of_the_user(when);
  }
  EXPECT_GE(killed, 6) << "a folder is made, a user's file linked, the sets exchanged, the old one removed";
  EXPECT_GE(old, 3);
  EXPECT_LT(old, killed);
}

TEST_P(AtomicOutputs, UI_5_a_file_system_that_refuses_a_call_leaves_all_old_or_all_new) {
  const Results results;
  int refused = 0;
  for (int call = 1;; ++call) {
    results.reset(GetParam());
    const std::string when = fmt::format("call {} failed", call);
    const CommandResult result = results.run("new", failing(call, "fail"));
    results.expect_files_of_the_user(when);
    const Files set = results.set();
    if (result.status == 0) {
      EXPECT_EQ(set, results.of_new()) << when << ": " << result.err;
    } else {
      EXPECT_EQ(result.status, 2) << when;
      EXPECT_EQ(set, results.of_old()) << when;
      EXPECT_NE(result.err.find("Input/output error"), std::string::npos) << when << ": " << result.err;
      ++refused;
    }
    if (call > 60) break;
  }
  EXPECT_GE(refused, 1) << "without a folder for the new set";
}

// A signal that comes while outputs are put in place comes too late: the run ends as if it had not come.
TEST_P(AtomicOutputs, UI_5_a_run_that_SIGTERM_ends_has_written_nothing) {
  const Results results;
  int ended = 0, late = 0;
  for (int call = 1; call <= 40; ++call) {
    results.reset(GetParam());
    const std::string when = fmt::format("SIGTERM at call {}", call);
    const CommandResult result = results.run("new", failing(call, "term"));
    results.expect_files_of_the_user(when);
    if (result.status == 0) {
      EXPECT_EQ(results.set(), results.of_new()) << when;
      ++late;
    } else {
      EXPECT_EQ(result.status, 128 + SIGTERM) << when;
      EXPECT_EQ(results.set(), results.of_old()) << when;
      ++ended;
    }
    EXPECT_EQ(results.hidden(), std::vector<std::string>{}) << when;
  }
  EXPECT_GE(late, 6);
  EXPECT_GE(ended, 1);
}

INSTANTIATE_TEST_SUITE_P(Reports, AtomicOutputs, ::testing::Bool(),
                         [](const auto& test) { return test.param ? "a_plain_file" : "a_link"; });

TEST(AtomicOutputs, UI_5_sigkill_in_a_fresh_folder_leaves_nothing_or_all) {
  const Results results;
  for (int call = 1;; ++call) {
    fs::remove_all(results.out());
    const CommandResult result = results.run("new", failing(call, "kill"));
    if (result.status == 0) break;
    const Files set = results.set();
    EXPECT_TRUE(set.empty() || set == results.of_new()) << "killed at call " << call;
    ASSERT_EQ(results.run("new", {}).status, 0);
    EXPECT_EQ(results.set(), results.of_new());
    EXPECT_EQ(results.hidden(), std::vector<std::string>{});
  }
}

// Where the set cannot be exchanged files are moved one by one.
TEST(AtomicOutputs, UI_5_folders_of_a_user_beside_the_tensors_stay) {
  const Results results;
  results.reset(false);
  fs::create_directory(results.out() + "/outputs/plots");
  ASSERT_EQ(results.run("new", {}).status, 0);
  EXPECT_EQ(results.set(), results.of_new());
  EXPECT_TRUE(fs::is_directory(results.out() + "/outputs/plots"));
  results.expect_files_of_the_user("moved one by one");
  EXPECT_EQ(results.hidden(), std::vector<std::string>{});
}

TEST(AtomicOutputs, UI_5_the_report_is_a_link_into_the_set) {
  const Results results;
  EXPECT_EQ(fs::read_symlink(results.out() + "/report.json"), "outputs/.report.json");
  EXPECT_EQ(results.hidden(), std::vector<std::string>{});
}

}  // namespace
}  // namespace tilebeat::testing
