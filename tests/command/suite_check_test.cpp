// `tilebeat check` (SPEC UI-14): what a suite of twenty runs notices, and what it writes.
#include "suite_files.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>
#include <tuple>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tilebeat::testing {
namespace {

constexpr const char* kAsStored = "suite twenty: 20 runs, all as stored\n";

std::int64_t lines_of(const std::string& text) {
  return std::count(text.begin(), text.end(), '\n');
}

class SuiteCheck : public ::testing::Test {
 protected:
  void SetUp() override {
    const CommandResult stored = folder_.check({"--update"});
    ASSERT_EQ(stored.status, 0) << stored.err << stored.out;
    ASSERT_EQ(stored.out, "suite twenty: 20 runs, 20 stored anew\nWrote suite.json\n");
    stored_ = folder_.text();
  }
  SuiteFolder folder_;
  std::string stored_;
};

TEST_F(SuiteCheck, UI_14_what_is_stored_are_the_numbers_of_the_report) {
  EXPECT_EQ(folder_.check().out, kAsStored);
  const nlohmann::json suite = folder_.suite();
  ASSERT_EQ(suite.at("results").size(), 20U);
  ASSERT_EQ(suite.at("configurations").size(), 5U);
  ASSERT_EQ(folder_.run_layer("configs/switch8.json", "models/worked_scenes.json").status, 0);
  const nlohmann::json report = folder_.report();
  const nlohmann::json& stored = suite.at("results").at("switch8/worked_scenes");
  EXPECT_EQ(stored.at("cycles"), report.at("total").at("cycles"));
  EXPECT_EQ(stored.at("dram_bytes").get<std::int64_t>(),
            report.at("total").at("dram_read_bytes").get<std::int64_t>() +
                report.at("total").at("dram_write_bytes").get<std::int64_t>());
  EXPECT_EQ(stored.at("energy_pj"), report.at("energy").at("pj").at("total"));
  EXPECT_EQ(stored.at("layers").size(), report.at("layers").size());
  for (const nlohmann::json& layer : report.at("layers")) {
    const nlohmann::json& costs = stored.at("layers").at(layer.at("name").get<std::string>());
    EXPECT_EQ(costs.at("cycles"), layer.at("cycles"));
    EXPECT_EQ(costs.at("energy_pj"), layer.at("energy_pj").at("total"));
    EXPECT_EQ(costs.at("dram_bytes").get<std::int64_t>(),
              layer.at("bytes").at("dram").at("read").get<std::int64_t>() +
                  layer.at("bytes").at("dram").at("write").get<std::int64_t>());
  }
  for (const nlohmann::json& name : report.at("outputs")) {
    const std::string file = folder_.path("tilebeat-out/outputs/" + name.get<std::string>() + ".npy");
    const std::string command = fmt::format("echo {}  '{}' | sha256sum --check --status",
                                            stored.at("outputs").at(name).get<std::string>(), file);
    EXPECT_EQ(std::system(command.c_str()), 0) << name;
  }
}

TEST_F(SuiteCheck, UI_14_one_cycle_more_in_one_layer_is_a_line_that_names_it) {
  nlohmann::json suite = folder_.suite();
  nlohmann::json& cycles = suite["results"]["switch8/worked_dilated"]["layers"]["conv1"]["cycles"];
  const auto now = cycles.get<int>();
  cycles = now - 1;
  folder_.write_suite(suite);
  const CommandResult result = folder_.check();
  EXPECT_EQ(result.status, 1);
  EXPECT_EQ(result.out, fmt::format("switch8/worked_dilated: layer conv1: cycles: {} -> {} ({:+.3g} %)\n"
                                    "suite twenty: 20 runs, 1 difference in 1 run\n",
                                    now - 1, now, 100.0 / (now - 1)));
  suite["tolerances"] = {{"cycles", 101.0 / (now - 1)}};
  folder_.write_suite(suite);
  EXPECT_EQ(folder_.check().out, kAsStored) << "it is allowed";
  suite["runs"][0]["tolerances"] = {{"energy_pj", 1}};
  folder_.write_suite(suite);
  EXPECT_EQ(folder_.check().status, 1) << "those of the runs count instead of those of the suite";
}

TEST_F(SuiteCheck, UI_14_one_byte_of_one_output_is_noticed_whatever_is_allowed) {
  folder_.write_input({1, 2, 3, 4, 5, 6, 7, 9});
  nlohmann::json suite = folder_.suite();
  suite["tolerances"] = {{"cycles", 1000}, {"dram_bytes", 1000}, {"energy_pj", 1000}};
  folder_.write_suite(suite);
  const CommandResult result = folder_.check();
  EXPECT_EQ(result.status, 1);
  EXPECT_EQ(lines_of(result.out), 6) << result.out;
  const std::string before = suite["results"]["own/copied"]["outputs"]["copy"];
  EXPECT_EQ(result.out.rfind("own/copied: output copy: sha256: " + before + " -> ", 0), 0U) << result.out;
}

TEST_F(SuiteCheck, UI_14_a_knob_with_another_default_is_named) {
  // The suite sees the effective configuration, so a file that says another value is one with another
  // default.
  for (const auto& [object, knob, results_too] :
       {std::tuple("switch_array", "post_latency_cycles", true), {"dram", "starvation_cap", false}}) {
    folder_.write("hw/own.json", fmt::format(R"({{"{}": {{"{}": 9}}}})", object, knob));
    const CommandResult result = folder_.check();
    EXPECT_EQ(result.status, 1);
    EXPECT_EQ(result.out.rfind(fmt::format("own: configuration: /{}/{}: ", object, knob), 0), 0U)
        << result.out;
    EXPECT_NE(result.out.find(" -> 9\n"), std::string::npos) << result.out;
    EXPECT_EQ(lines_of(result.out) > 2, results_too) << result.out;
  }
  // A knob that an earlier version did not have is no difference.
  folder_.write("hw/own.json", R"({"switch_array": {"post_latency_cycles": 4}})");
  nlohmann::json suite = folder_.suite();
  suite["configurations"]["own"].erase("/host/register_write_cycles");
  folder_.write_suite(suite);
  EXPECT_EQ(folder_.check().out, kAsStored);
}

TEST_F(SuiteCheck, UI_14_layers_outputs_and_runs_that_come_and_go_are_named) {
  nlohmann::json suite = folder_.suite();
  nlohmann::json& run = suite["results"]["switch8/worked_dense"];
  run["layers"]["gone"] = run["layers"]["conv1"];
  run["outputs"]["gone"] = run["outputs"].begin().value();
  suite["results"].erase("switch16/copied");
  suite["results"]["no/run"] = run;
  folder_.write_suite(suite);
  const CommandResult result = folder_.check();
  EXPECT_EQ(result.status, 1);
  EXPECT_EQ(result.out,
            "switch16/copied: nothing is stored, --update does that\n"
            "switch8/worked_dense: layer gone: there: yes -> no\n"
            "switch8/worked_dense: output gone: there: yes -> no\n"
            "no/run: is stored, and no run of the suite; --update removes it\n"
            "suite twenty: 20 runs, 4 differences in 3 runs\n");
  EXPECT_EQ(folder_.check({"--update"}).status, 0);
  EXPECT_EQ(folder_.text(), stored_) << "the update brings all back, byte by byte";
}

TEST_F(SuiteCheck, UI_14_CY_4_jobs_give_the_same_bytes) {
  nlohmann::json suite = folder_.suite();
  suite["results"]["switch8/worked_dilated"]["cycles"] = 1;
  folder_.write_suite(suite);
  std::string out, junit;
  for (const char* jobs : {"1", "4"}) {
    const CommandResult result = folder_.check({"--jobs", jobs, "--junit", "junit.xml"});
    EXPECT_EQ(result.status, 1);
    if (!out.empty()) {
      EXPECT_EQ(result.out, out);
      EXPECT_EQ(read_bytes(folder_.path("junit.xml")), junit);
    }
    out = result.out, junit = read_bytes(folder_.path("junit.xml"));
  }
  for (const char* jobs : {"1", "4"}) {
    folder_.write_suite(suite);
    EXPECT_EQ(folder_.check({"--update", "--jobs", jobs}).status, 0);
    EXPECT_EQ(folder_.text(), stored_);
  }
}

TEST_F(SuiteCheck, UI_14_a_filter_runs_and_stores_a_part) {
  folder_.write("hw/own.json", R"({"switch_array": {"post_latency_cycles": 9}})");
  EXPECT_EQ(folder_.check({"--filter", "switch8/"}).out, "suite twenty: 4 runs, all as stored\n");
  EXPECT_EQ(folder_.check({"--filter", "*/worked_d*", "--filter", "nothing"}).status, 1);
  const CommandResult update = folder_.check({"--update", "--filter", "own/copied"});
  EXPECT_EQ(update.out, "suite twenty: 1 run, 1 stored anew\nWrote suite.json\n") << update.err;
  const nlohmann::json before = nlohmann::json::parse(stored_), now = folder_.suite();
  for (const auto& [name, run] : before.at("results").items())
    EXPECT_EQ(now.at("results").at(name) == run, name != "own/copied") << name;
  EXPECT_EQ(now.at("configurations").at("switch8"), before.at("configurations").at("switch8"));
  EXPECT_EQ(now.at("configurations").at("own").at("/switch_array/post_latency_cycles"), 9);
  const CommandResult none = folder_.check({"--filter", "switch9"});
  EXPECT_EQ(none.status, 2);
  EXPECT_EQ(none.err,
            "tilebeat: --filter switch9: fits none of the 20 runs of suite.json, such as 'own/copied'\n");
}

TEST_F(SuiteCheck, UI_14_a_run_that_does_not_pass_is_a_difference_and_is_not_stored) {
  std::filesystem::remove(folder_.path("work/one.npy"));
  const CommandResult result = folder_.check();
  EXPECT_EQ(result.status, 1);
  EXPECT_EQ(result.out.substr(0, result.out.find('\n')),
            "own/copied: did not pass: work/copied.json: /layers/0/weights/file: work/one.npy: cannot be "
            "opened: No such file or directory");
  EXPECT_EQ(lines_of(result.out), 6) << result.out;
  const CommandResult update = folder_.check({"--update"});
  EXPECT_EQ(update.status, 1);
  EXPECT_EQ(folder_.text(), stored_);
  EXPECT_EQ(lines_of(update.err), 6) << update.err;
  EXPECT_NE(update.err.find("tilebeat: suite.json: stays as it is\n"), std::string::npos) << update.err;
}

TEST(SuiteOptions, UI_14_every_way_is_a_run_and_both_granularities_store_the_same) {
  const CommandFolder folder;
  nlohmann::json suite{{"tilebeat_suite", 1},
                       {"name", "ways"},
                       {"runs",
                        {{{"configs", {{{"name", "quad"}, {"file", source_path("configs/cluster4.json")}}}},
                          {"layers", {source_path("models/alexnet_small.json")}},
                          {"options",
                           {{{"label", "tile"}},
                            {{"label", "clock"}, {"granularity", "clock"}, {"check", "on"}},
                            {{"label", "fused"}, {"set", {{"config", {{"/fused", true}}}}}}}}}}}};
  folder.write("suite.json", suite.dump());
  const CommandResult update = folder.run({"check", "suite.json", "--update"});
  ASSERT_EQ(update.status, 0) << update.err;
  suite = nlohmann::json::parse(read_bytes(folder.path("suite.json")));
  const nlohmann::json& results = suite.at("results");
  EXPECT_EQ(results.at("quad/alexnet_small/tile"), results.at("quad/alexnet_small/clock"));
  EXPECT_NE(results.at("quad/alexnet_small/tile").at("cycles"),
            results.at("quad/alexnet_small/fused").at("cycles"));
  EXPECT_EQ(results.at("quad/alexnet_small/tile").at("outputs"),
            results.at("quad/alexnet_small/fused").at("outputs"));
  EXPECT_EQ(suite.at("configurations").size(), 2U);
  EXPECT_EQ(suite.at("configurations").at("quad").at("/fused"), false);
  EXPECT_EQ(suite.at("configurations").at("quad/fused").at("/fused"), true);
}

// ---- JUnit ----

bool follows_schema(const std::string& file) {
  const std::string command = fmt::format("xmllint --noout --schema '{}' '{}' 2>/dev/null",
                                          source_path("tests/data/junit.xsd"), file);
  return std::system(command.c_str()) == 0;
}

TEST_F(SuiteCheck, UI_14_junit_follows_its_schema_and_says_what_differs) {
  EXPECT_EQ(folder_.check({"--junit", "good.xml"}).status, 0);
  EXPECT_TRUE(follows_schema(folder_.path("good.xml"))) << "is xmllint there (libxml2-utils)?";
  std::string good = read_bytes(folder_.path("good.xml"));
  EXPECT_NE(good.find("<testsuite name=\"twenty\" tests=\"25\" failures=\"0\" errors=\"0\" skipped=\"0\">"),
            std::string::npos)
      << good;
  nlohmann::json suite = folder_.suite();
  suite["results"]["switch8/worked_dilated"]["layers"]["a <\"&'>\u00e9\u0001"] =
      suite["results"]["switch8/worked_dilated"]["layers"]["conv1"];
  suite["results"]["switch8/worked_dense"]["cycles"] = 1;
  suite["results"]["switch8/worked_dense"]["dram_bytes"] = 1;
  suite["results"].erase("switch16/copied");
  folder_.write_suite(suite);
  EXPECT_EQ(folder_.check({"--junit", "bad.xml"}).status, 1);
  EXPECT_TRUE(follows_schema(folder_.path("bad.xml"))) << read_bytes(folder_.path("bad.xml"));
  const std::string bad = read_bytes(folder_.path("bad.xml"));
  EXPECT_NE(bad.find("tests=\"25\" failures=\"2\" errors=\"1\""), std::string::npos) << bad;
  EXPECT_NE(bad.find("<testcase classname=\"twenty.switch8\" name=\"worked_dense\">\n"
                     "      <failure type=\"difference\" message=\"2 differences\">"
                     "switch8/worked_dense: total: cycles: 1 -&gt; "),
            std::string::npos)
      << bad;
  EXPECT_NE(bad.find("layer a &lt;&quot;&amp;&#39;&gt;\u00e9 : there: yes -&gt; no"), std::string::npos)
      << bad;
  // The schema has teeth.
  for (const auto& [from, to] : {std::pair("testcase classname", "testcase class"),
                                 {"errors=", "mistakes="},
                                 {"tests=\"25\"", "tests=\"all\""}}) {
    std::string broken = good;
    broken.replace(broken.find(from), std::string(from).size(), to);
    EXPECT_FALSE(follows_schema(folder_.write("broken.xml", broken))) << to;
  }
}

// ---- interruptions ----

/// A suite of one run that takes some seconds, and the folder that it uses meanwhile.
class LongSuite : public ::testing::TestWithParam<int> {};

TEST_P(LongSuite, UI_14_UI_5_an_interrupted_update_leaves_the_old_file) {
  const CommandFolder folder;
  std::filesystem::create_directory(folder.path("tmp"));
  const nlohmann::json suite{{"tilebeat_suite", 1},
                             {"name", "long"},
                             {"runs",
                              {{{"configs", {source_path("configs/switch16.json")}},
                                {"layers", {source_path("models/vgg16_conv3_2.json")}},
                                {"options", {{{"label", "clock"}, {"granularity", "clock"}}}}}}}};
  folder.write("suite.json", suite.dump(2));
  const std::string before = read_bytes(folder.path("suite.json"));
  CommandSetting setting;
  setting.environment = {{"TMPDIR", folder.path("tmp")}};
  const StartedCommand started = folder.start({"check", "suite.json", "--update"}, setting);
  const auto runs = [&] {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path("tmp"))) {
      if (entry.path().filename() == "outputs") return true;
    }
    return false;
  };
  for (int i = 0; i < 2000 && !runs(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  ASSERT_TRUE(runs()) << "the run has begun";
  started.signal(GetParam());
  EXPECT_EQ(started.finish().status, 128 + GetParam());
  EXPECT_EQ(read_bytes(folder.path("suite.json")), before);
  if (GetParam() == SIGKILL) return;
  EXPECT_EQ(folder.files(), (std::map<std::string, std::string>{{"suite.json", before}, {"tmp/", ""}}))
      << "nothing else is left";
}

INSTANTIATE_TEST_SUITE_P(Signals, LongSuite, ::testing::Values(SIGINT, SIGTERM, SIGHUP, SIGKILL));

}  // namespace
}  // namespace tilebeat::testing
