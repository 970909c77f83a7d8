// `tilebeat sweep` (SPEC UI-9): runs of many points end with the same bytes however often they are
// interrupted; what is done is not done again; a point that fails is a row.
#include "budget.h"
#include "sweep_files.h"
#include "workload/npy.h"

#include <chrono>
#include <filesystem>
#include <random>
#include <set>
#include <string>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tilebeat::testing {
namespace {

namespace fs = std::filesystem;

std::string write_sweep(const CommandFolder& folder, const nlohmann::json& sweep) {
  return folder.write("sweep.json", sweep.dump());
}

/// When the report of each point below `out` was written.
std::map<std::string, fs::file_time_type> reports(const CommandFolder& folder, const std::string& out) {
  std::map<std::string, fs::file_time_type> times;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder.path(out + "/points"), ignored)) {
    const fs::path report = entry.path() / "report.json";
    if (fs::exists(report, ignored)) times[entry.path().filename()] = fs::last_write_time(report);
  }
  return times;
}

TEST(SweepCommand, UI_9_a_sweep_that_is_killed_three_times_ends_with_the_same_table) {
  const CommandFolder folder;
  nlohmann::json sweep = small_sweep();
  // A push kills a sweep of fifty points.
  const std::size_t points = is_push() ? 50 : 200;
  const nlohmann::json outstanding =
      is_push() ? nlohmann::json{1, 2} : nlohmann::json{1, 2, 3, 4, 5, 6, 7, 8};
  sweep["axes"] = {config_axis("rows", "/switch_array/rows", {4, 8, 12, 16, 20}),
                   config_axis("columns", "/switch_array/columns", {4, 8, 12, 16, 20}),
                   config_axis("outstanding", "/dma/max_outstanding", outstanding)};
  sweep["check"] = "off";
  const std::string file = write_sweep(folder, sweep);
  const CommandResult whole = folder.run({"sweep", file, "--out", "whole"});
  ASSERT_EQ(whole.status, 0) << whole.err;
  ASSERT_EQ(reports(folder, "whole").size(), points);

  std::mt19937 random(20);
  std::map<std::string, fs::file_time_type> done;
  for (std::size_t round = 1; round <= 3; ++round) {
    const StartedCommand started = folder.start({"sweep", file, "--out", "killed"}, {});
    const std::size_t until = done.size() + 5 + random() % (points / 5);
    while (reports(folder, "killed").size() < until)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    started.signal(SIGKILL);
    ASSERT_EQ(started.finish().status, 128 + SIGKILL) << "it was over before round " << round;
    for (const auto& [point, time] : done)
      EXPECT_EQ(reports(folder, "killed").at(point), time) << point << " is not run again";
    done = reports(folder, "killed");
    EXPECT_LT(done.size(), points);
    EXPECT_FALSE(fs::exists(folder.path("killed/sweep.csv"))) << "there is no table of some of the points";
  }
  const CommandResult rest = folder.run({"sweep", file, "--out", "killed"});
  EXPECT_EQ(rest.status, 0) << rest.err;
  EXPECT_EQ(read_bytes(folder.path("killed/sweep.csv")), read_bytes(folder.path("whole/sweep.csv")));
  EXPECT_EQ(read_bytes(folder.path("killed/sweep.html")), read_bytes(folder.path("whole/sweep.html")));
}

TEST(SweepCommand, UI_14_a_point_above_a_limit_fails_the_sweep) {
  const CommandFolder folder;
  nlohmann::json sweep = small_sweep();
  sweep["axes"] = {config_axis("rows", "/switch_array/rows", {8, 16})};
  const auto run = [&](const nlohmann::json& limits) {
    sweep["limits"] = limits;
    return folder.run({"sweep", write_sweep(folder, sweep), "--out", "s"});
  };
  ASSERT_EQ(run({{"cycles", 1e6}}).status, 0);
  const auto table = [&] { return csv_cells(read_bytes(folder.path("s/sweep.csv"))); };
  const int slow = std::stoi(cell_of(table(), "rows=8", "cycles")),
            fast = std::stoi(cell_of(table(), "rows=16", "cycles"));
  ASSERT_GT(slow, fast);
  EXPECT_EQ(run({{"cycles", slow}}).status, 0) << "the limit is allowed";
  const CommandResult failed = run({{"dram_bytes", 1e9}, {"cycles", slow - 1}});
  EXPECT_EQ(failed.status, 1);
  const std::string error =
      fmt::format("cycles is {}, the limit is {}", slow, nlohmann::json(slow - 1.0).dump());
  EXPECT_NE(failed.err.find("tilebeat: point rows=8: " + error + "\n"), std::string::npos) << failed.err;
  EXPECT_EQ(cell_of(table(), "rows=8", "result"), "failed");
  EXPECT_EQ(cell_of(table(), "rows=8", "error"), error);
  EXPECT_EQ(cell_of(table(), "rows=16", "result"), "passed");
}

TEST(SweepCommand, UI_9_an_interrupted_sweep_says_how_far_it_was_and_goes_on) {
  const CommandFolder folder;
  nlohmann::json sweep = small_sweep();
  sweep["axes"] = {config_axis("rows", "/switch_array/rows", {8, 16}),
                   config_axis("depth", "/switch_array/bank_depth_words", {256, 300, 400, 500, 600, 700})};
  sweep["layer"] = source_path("models/small_chain.json");
  const std::string file = write_sweep(folder, sweep);
  const StartedCommand started = folder.start({"sweep", file, "--jobs", "1"}, {});
  while (reports(folder, "tilebeat-sweep").empty())
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  started.signal(SIGINT);
  const CommandResult result = started.finish();
  ASSERT_EQ(result.status, 128 + SIGINT) << result.err;
  EXPECT_NE(result.err.find(" of 12 points are done; the same command goes on from there"), std::string::npos)
      << result.err;
  EXPECT_EQ(result.out, "");
  const std::size_t before = reports(folder, "tilebeat-sweep").size();
  const CommandResult rest = folder.run({"sweep", file, "--jobs", "1"});
  EXPECT_EQ(rest.status, 0) << rest.err;
  EXPECT_NE(rest.err.find(std::to_string(before) + " of 12 points are there already"), std::string::npos)
      << rest.err;
}

TEST(SweepCommand, UI_9_only_what_changed_is_run_again) {
  const CommandFolder folder;
  nlohmann::json sweep = small_sweep();
  sweep["axes"] = {config_axis("rows", "/switch_array/rows", {8, 16})};
  ASSERT_EQ(folder.run({"sweep", write_sweep(folder, sweep)}).status, 0);
  const auto first = reports(folder, "tilebeat-sweep");
  const std::string table = read_bytes(folder.path("tilebeat-sweep/sweep.csv"));
  sweep["axes"][0]["values"] = {8, 16, 32};
  ASSERT_EQ(folder.run({"sweep", write_sweep(folder, sweep)}).status, 0);
  auto second = reports(folder, "tilebeat-sweep");
  EXPECT_EQ(second.size(), 3U);
  EXPECT_EQ(second.at("rows=8"), first.at("rows=8"));
  EXPECT_EQ(second.at("rows=16"), first.at("rows=16"));
  // Other contents of a file under the same name.
  nlohmann::json hardware =
      nlohmann::json::parse(read_bytes(source_path("configs/switch16.json")), nullptr, true, true);
  hardware["dma"]["max_outstanding"] = 1;
  sweep["config"] = folder.write("hardware.json", hardware.dump());
  ASSERT_EQ(folder.run({"sweep", write_sweep(folder, sweep)}).status, 0);
  for (const auto& [point, time] : reports(folder, "tilebeat-sweep"))
    EXPECT_NE(time, second.at(point)) << point;
  EXPECT_NE(read_bytes(folder.path("tilebeat-sweep/sweep.csv")).substr(0, table.size()), table);
}

// What a point has is what its run wrote, or it is run again.
TEST(SweepCommand, UI_9_points_whose_results_were_changed_are_run_again) {
  const CommandFolder folder;
  nlohmann::json sweep = small_sweep();
  sweep["axes"] = {config_axis("rows", "/switch_array/rows", {8, 16, 32})};
  const std::string file = write_sweep(folder, sweep);
  ASSERT_EQ(folder.run({"sweep", file}).status, 0);
  const auto before = folder.files();
  const std::string points = folder.path("tilebeat-sweep/points/");
  std::string tensor;
  for (const auto& entry : fs::directory_iterator(points + "rows=8/outputs")) {
    if (entry.path().extension() == ".npy") tensor = entry.path().string();
  }
  fs::remove(tensor);
  std::string report = read_bytes(points + "rows=16/report.json");
  const std::size_t cycles = report.find("\"cycles\": ") + 10;
  report[cycles] = report[cycles] == '9' ? '8' : '9';
  folder.write("tilebeat-sweep/points/rows=16/outputs/.report.json", report);
  fs::remove(points + "rows=32/status");
  const CommandResult again = folder.run({"sweep", file});
  EXPECT_EQ(again.status, 0);
  EXPECT_NE(again.err.find("1 of 3 points are there already"), std::string::npos) << again.err;
  EXPECT_EQ(folder.files(), before);
}

// A second name of a file that a point writes keeps what it had.
TEST(SweepCommand, UI_5_UI_9_files_behind_links_in_a_point_stay) {
  const CommandFolder folder;
  nlohmann::json sweep = small_sweep();
  sweep["axes"] = {config_axis("rows", "/switch_array/rows", {8})};
  const std::string file = write_sweep(folder, sweep);
  const std::string mine = folder.write("mine.txt", "mine");
  fs::create_directories(folder.path("tilebeat-sweep/points/rows=8"));
  fs::create_hard_link(mine, folder.path("tilebeat-sweep/points/rows=8/log.txt"));
  fs::create_symlink(mine, folder.path("tilebeat-sweep/points/rows=8/errors.txt"));
  EXPECT_EQ(folder.run({"sweep", file}).status, 0);
  EXPECT_EQ(read_bytes(mine), "mine");
}

TEST(SweepCommand, UI_9_a_tensor_with_other_contents_is_another_input) {
  const CommandFolder folder;
  const auto tensor = [](std::uint8_t value) {
    return npy_bytes({{1, 2, 2, 4}, DType::kInt8, std::vector<std::uint8_t>(16, value)});
  };
  folder.write("x.npy", tensor(1));
  nlohmann::json model{{"name", "one"}, {"outputs", {"conv"}}};
  model["inputs"] = {{{"name", "x"}, {"shape", {1, 2, 2, 4}}, {"file", "x.npy"}}};
  model["layers"] = {{{"name", "conv"},
                      {"op", "conv2d"},
                      {"inputs", {"x"}},
                      {"out_channels", 4},
                      {"kernel", {1, 1}},
                      {"weights", {{"random", {{"seed", 1}}}}}}};
  folder.write("one.json", model.dump());
  nlohmann::json sweep = small_sweep();
  sweep["layer"] = "one.json";  // beside the sweep file
  sweep["points"] = {{{"label", "plain"}},
                     {{"label", "wide"}, {"set", {{"layer", {{"/layers/0/out_channels", 8}}}}}}};
  const std::string file = write_sweep(folder, sweep);
  const CommandResult result = folder.run({"sweep", file});
  ASSERT_EQ(result.status, 0) << result.err;
  const auto csv = csv_cells(read_bytes(folder.path("tilebeat-sweep/sweep.csv")));
  EXPECT_EQ(cell_of(csv, "plain", "macs"), "64");
  EXPECT_EQ(cell_of(csv, "wide", "macs"), "128");
  const auto first = reports(folder, "tilebeat-sweep");
  ASSERT_EQ(folder.run({"sweep", file}).status, 0);
  EXPECT_EQ(reports(folder, "tilebeat-sweep"), first);
  folder.write("x.npy", tensor(2));
  ASSERT_EQ(folder.run({"sweep", file}).status, 0);
  for (const auto& [point, time] : reports(folder, "tilebeat-sweep")) EXPECT_NE(time, first.at(point));
}

TEST(SweepCommand, UI_9_rows_are_those_of_the_runs_and_a_failing_point_is_one_of_them) {
  const CommandFolder folder;
  nlohmann::json sweep = small_sweep();
  sweep["axes"] = {config_axis("rows", "/switch_array/rows", {8, 16, 12}),
                   config_axis("groups", "/switch_array/groups", {2, 3})};
  const CommandResult result = folder.run({"sweep", write_sweep(folder, sweep), "--out", "out"});
  EXPECT_EQ(result.status, 1) << "8 and 16 rows have no three groups";
  const auto csv = csv_cells(read_bytes(folder.path("out/sweep.csv")));
  ASSERT_EQ(csv.size(), 7U);
  const std::vector<std::string> order{"point",
                                       "rows=8+groups=2",
                                       "rows=8+groups=3",
                                       "rows=16+groups=2",
                                       "rows=16+groups=3",
                                       "rows=12+groups=2",
                                       "rows=12+groups=3"};
  for (std::size_t i = 0; i < order.size(); ++i) EXPECT_EQ(csv[i][0], order[i]);
  for (const char* point : {"rows=8+groups=3", "rows=16+groups=3"}) {
    EXPECT_EQ(cell_of(csv, point, "result"), "error");
    EXPECT_NE(cell_of(csv, point, "error").find("config.json: /switch_array/rows: "), std::string::npos);
    EXPECT_NE(result.err.find(point), std::string::npos) << result.err;
  }
  EXPECT_NE(result.out.find("6 points, 4 passed, 2 without a report"), std::string::npos) << result.out;
  ASSERT_EQ(folder.run_layer("configs/switch16.json", "models/worked_dilated.json").status, 0);
  const nlohmann::json total = folder.report().at("total");
  EXPECT_EQ(cell_of(csv, "rows=16+groups=2", "cycles"), total.at("cycles").dump());
  EXPECT_EQ(cell_of(csv, "rows=16+groups=2", "macs"), total.at("macs").dump());
  EXPECT_EQ(cell_of(csv, "rows=16+groups=2", "dram_read_bytes"), total.at("dram_read_bytes").dump());
  EXPECT_EQ(cell_of(csv, "rows=16+groups=2", "result"), "passed");
  const std::string page = read_bytes(folder.path("out/sweep.html"));
  EXPECT_NE(page.find(cell_of(csv, "rows=12+groups=3", "cycles")), std::string::npos);
  EXPECT_EQ(page.find("src="), std::string::npos) << "needs no other file";
}

TEST(SweepCommand, UI_9_a_failed_check_is_a_row_and_exit_1) {
  const CommandFolder folder;
  folder.write("wrong.npy", npy_bytes({{1, 4, 10, 16}, DType::kInt8, std::vector<std::uint8_t>(640, 0)}));
  nlohmann::json sweep = small_sweep();
  sweep["points"] = {
      {{"label", "right"}},
      {{"label", "wrong"}, {"set", {{"layer", {{"/expected/conv1", folder.path("wrong.npy")}}}}}}};
  const CommandResult result = folder.run({"sweep", write_sweep(folder, sweep)});
  EXPECT_EQ(result.status, 1);
  const auto csv = csv_cells(read_bytes(folder.path("tilebeat-sweep/sweep.csv")));
  EXPECT_EQ(cell_of(csv, "right", "result"), "passed");
  EXPECT_EQ(cell_of(csv, "wrong", "result"), "failed") << result.err;
  EXPECT_EQ(cell_of(csv, "wrong", "error"), "conv1 differs from expected");
  EXPECT_EQ(cell_of(csv, "wrong", "cycles"), cell_of(csv, "right", "cycles"));
  EXPECT_EQ(cell_of(csv, "wrong", "pareto"), "no") << "wrong results are no choice";
}

TEST(SweepCommand, UI_9_two_sweeps_do_not_share_a_folder) {
  const CommandFolder folder;
  nlohmann::json sweep = small_sweep();
  sweep["layer"] = source_path("models/resnet50_3x3_s2.json");
  sweep["points"] = {{{"label", "a"}}};
  const std::string file = write_sweep(folder, sweep);
  const StartedCommand first = folder.start({"sweep", file}, {});
  while (!fs::exists(folder.path("tilebeat-sweep/points/a/log.txt")))
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  first.signal(SIGSTOP);  // it keeps the folder for as long as the second one waits
  const CommandResult second = folder.run({"sweep", file});
  first.signal(SIGCONT);
  EXPECT_EQ(first.finish().status, 0);
  EXPECT_EQ(second.status, 2);
  EXPECT_NE(second.err.find("tilebeat-sweep: another sweep is running there"), std::string::npos)
      << second.err;
}

TEST(SweepCommand, UI_9_the_workflow_has_the_same_points_and_makes_the_same_table) {
  const CommandFolder folder;
  nlohmann::json sweep = small_sweep();
  sweep["axes"] = {config_axis("rows", "/switch_array/rows", {8, 12}),
                   config_axis("groups", "/switch_array/groups", {2, 3})};
  const std::string file = write_sweep(folder, sweep);
  ASSERT_EQ(folder.run({"sweep", file, "--out", "here"}).status, 1);
  ASSERT_EQ(folder.run({"sweep", file, "--out", "there", "--snakemake", "Snakefile"}).status, 0);
  const std::string workflow = read_bytes(folder.path("Snakefile"));
  const std::string run = "run --config config.json --layer workload.json --out .";
  EXPECT_NE(workflow.find(run), std::string::npos) << workflow;
  EXPECT_NE(workflow.find("sweep {SWEEP:q} --out {OUT:q} --pareto cycles,dram_bytes --collect"),
            std::string::npos);
  const CommandResult early = folder.run({"sweep", file, "--out", "there", "--collect"});
  EXPECT_EQ(early.status, 1);
  EXPECT_NE(early.err.find("point rows=8+groups=2: was not run"), std::string::npos) << early.err;
  EXPECT_TRUE(reports(folder, "there").empty()) << "nothing ran";
  // What the rule of a point does.
  for (const char* point : {"rows=8+groups=2", "rows=8+groups=3", "rows=12+groups=2", "rows=12+groups=3"}) {
    EXPECT_NE(workflow.find("\"" + std::string(point) + "\""), std::string::npos) << point;
    const std::string shell = "cd '" + folder.path("there/points/") + point + "' && '" + tilebeat_binary() +
                              "' " + run + " > log.txt 2> errors.txt; echo $? > status";
    ASSERT_EQ(std::system(shell.c_str()), 0);
  }
  EXPECT_EQ(folder.run({"sweep", file, "--out", "there", "--collect"}).status, 1);
  EXPECT_EQ(read_bytes(folder.path("there/sweep.csv")), read_bytes(folder.path("here/sweep.csv")));
  EXPECT_EQ(read_bytes(folder.path("there/sweep.html")), read_bytes(folder.path("here/sweep.html")));
}

}  // namespace
}  // namespace tilebeat::testing
