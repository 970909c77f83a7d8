// `tilebeat search` (SPEC AP-4): the best point of a space with fewer runs than there are points.
#include "base/types.h"
#include "sweep_files.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tilebeat::testing {
namespace {

using nlohmann::json;

// A space of 3 x 3 x 2 x 2 points in which several things limit the time, or of 4 x 4 x 3 x 3.
std::string write_space(const CommandFolder& folder, bool large = false) {
  json space = small_sweep();
  json sizes{8, 16, 32}, buses{8, 32}, outstanding{1, 8};
  if (large) sizes = {4, 8, 16, 32}, buses = {8, 16, 32}, outstanding = {1, 4, 8};
  space["axes"] = {config_axis("rows", "/switch_array/rows", sizes),
                   config_axis("columns", "/switch_array/columns", sizes),
                   config_axis("bus", "/interconnect/bytes_per_clock", buses),
                   config_axis("outstanding", "/dma/max_outstanding", outstanding)};
  space["check"] = "off";
  return folder.write("space.json", space.dump());
}

/// The numbers of a table's column, by point.
std::map<std::string, double> column_of(const CommandFolder& folder, const std::string& csv,
                                        const std::string& column) {
  std::map<std::string, double> values;
  const auto cells = csv_cells(read_bytes(folder.path(csv)));
  for (std::size_t i = 1; i < cells.size(); ++i)
    values[cells[i].front()] = std::stod(cell_of(cells, cells[i].front(), column));
  return values;
}
double least(const std::map<std::string, double>& values) {
  double best = values.begin()->second;
  for (const auto& [point, value] : values) best = std::min(best, value);
  return best;
}

/// A space, all of whose points are swept into the folder "all", where searches find them.
struct SweptSpace {
  CommandFolder folder;
  std::string file;
  explicit SweptSpace(bool large = false) : file(write_space(folder, large)) {
    const CommandResult swept = folder.run({"sweep", file, "--out", "all"});
    EXPECT_EQ(swept.status, 0) << swept.err;
  }
  std::map<std::string, double> all(const std::string& column) const {
    return column_of(folder, "all/sweep.csv", column);
  }
};

TEST(SearchCommand, AP_4_without_limits_the_least_point_of_the_space_is_found_and_none_is_better) {
  const SweptSpace space;
  for (const std::string objective : {"cycles", "edp"}) {
    const CommandResult found =
        space.folder.run({"search", space.file, "--out", "all", "--objective", objective});
    ASSERT_EQ(found.status, 0) << found.err;
    const std::string column = objective == "edp" ? "edp_joule_seconds" : objective;
    EXPECT_EQ(least(column_of(space.folder, "all/search.csv", column)), least(space.all(column)));
    EXPECT_NE(found.out.find("none of the space is better"), std::string::npos) << found.out;
  }
}

TEST(SearchCommand, AP_4_points_that_cannot_be_better_by_their_bounds_are_not_run) {
  const CommandFolder folder;
  json space = small_sweep();
  space["axes"] = {config_axis("rows", "/switch_array/rows", {2, 4, 32}),
                   config_axis("columns", "/switch_array/columns", {1, 2, 32})};
  const std::string file = folder.write("space.json", space.dump());
  ASSERT_EQ(folder.run({"sweep", file, "--out", "all"}).status, 0);
  const CommandResult found = folder.run({"search", file, "--out", "s"});
  ASSERT_EQ(found.status, 0) << found.err;
  const std::map<std::string, double> run = column_of(folder, "s/search.csv", "cycles"),
                                      all = column_of(folder, "all/sweep.csv", "cycles");
  EXPECT_LT(run.size(), all.size());
  EXPECT_EQ(least(run), least(all));
  EXPECT_NE(found.out.find("none of the space is better"), std::string::npos) << found.out;
}

TEST(SearchCommand, AP_4_the_model_finds_with_few_runs_what_chance_and_a_grid_do_not) {
  const SweptSpace space(true);
  const double best = least(space.all("cycles"));
  const auto gap = [&](const std::string& strategy, int runs, int seed = 1) {
    const CommandResult found =
        space.folder.run({"search", space.file, "--out", "all", "--runs", std::to_string(runs), "--jobs", "2",
                          "--strategy", strategy, "--seed", std::to_string(seed)});
    EXPECT_EQ(found.status, 0) << found.err;
    const std::map<std::string, double> run = column_of(space.folder, "all/search.csv", "cycles");
    EXPECT_LE(run.size(), to_size(runs));
    return least(run) / best - 1;
  };
  constexpr int kRuns = 16, kSeeds = 4;
  double random = 0;
  for (int seed = 1; seed <= kSeeds; ++seed) random += gap("random", kRuns, seed) / kSeeds;
  const double model = gap("model", kRuns);
  EXPECT_LE(model, random);
  EXPECT_LE(model, gap("grid", kRuns));
  EXPECT_LE(model, 0.01);
  // Plans tell the model where to begin: without them the first batch has each value of each axis once.
  EXPECT_LE(gap("model", 4), 0.05);
}

TEST(SearchCommand, AP_4_the_same_seed_makes_the_same_table_and_a_second_call_runs_nothing) {
  const CommandFolder folder;
  const std::string file = write_space(folder);
  const std::vector<std::string> command{"search", file, "--out", "a", "--runs", "12", "--jobs", "2"};
  const CommandResult first = folder.run(command);
  ASSERT_EQ(first.status, 0) << first.err;
  const std::string table = read_bytes(folder.path("a/search.csv"));
  const auto written = std::filesystem::last_write_time(folder.path("a/points"));
  const CommandResult again = folder.run(command);
  EXPECT_EQ(again.out, first.out);
  EXPECT_EQ(read_bytes(folder.path("a/search.csv")), table);
  EXPECT_EQ(std::filesystem::last_write_time(folder.path("a/points")), written);
  folder.run({"search", file, "--out", "b", "--runs", "12", "--jobs", "1"});
  EXPECT_EQ(read_bytes(folder.path("b/search.csv")), table);
}

TEST(SearchCommand, AP_4_a_killed_search_goes_on_where_it_was) {
  const CommandFolder folder;
  const std::string file = write_space(folder);
  const std::vector<std::string> command{"search", file, "--out", "s", "--runs", "24"};
  const StartedCommand started = folder.start(command, {});
  while (!std::filesystem::exists(folder.path("s/points")))
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  started.signal(SIGINT);
  EXPECT_EQ(started.finish().status, 128 + SIGINT);
  EXPECT_FALSE(std::filesystem::exists(folder.path("s/search.csv")));
  ASSERT_EQ(folder.run(command).status, 0);
  folder.run({"search", file, "--out", "whole", "--runs", "24"});
  EXPECT_EQ(read_bytes(folder.path("s/search.csv")), read_bytes(folder.path("whole/search.csv")));
}

TEST(SearchCommand, AP_4_area_delay_is_the_product_of_both) {
  const SweptSpace space;
  const CommandResult found =
      space.folder.run({"search", space.file, "--out", "all", "--objective", "area-delay"});
  ASSERT_EQ(found.status, 0) << found.err;
  const std::map<std::string, double> area = space.all("area_mm2"), time = space.all("time_us");
  double best = 0;
  std::string wanted;
  for (const auto& [point, mm2] : area) {
    if (wanted.empty() || mm2 * time.at(point) < best) best = mm2 * time.at(point), wanted = point;
  }
  EXPECT_NE(found.out.find(fmt::format("Least area-delay: {:.6g}", best)), std::string::npos) << found.out;
}

TEST(SearchCommand, AP_4_points_that_cannot_be_run_are_rows_and_none_of_them_is_the_best) {
  const CommandFolder folder;
  json space = small_sweep();
  space["axes"] = {
      config_axis("rows", "/switch_array/rows", {4, 8, 16}),
      {{"name", "kernel"}, {"target", "layer"}, {"pointer", "/layers/0/kernel/0"}, {"values", {999, 3}}}};
  const std::string file = folder.write("space.json", space.dump());
  const CommandResult found = folder.run({"search", file, "--out", "s"});
  ASSERT_EQ(found.status, 0) << found.err;
  EXPECT_NE(found.out.find("+kernel=3, found by run"), std::string::npos) << found.out;
  EXPECT_NE(read_bytes(folder.path("s/search.csv")).find("kernel=999"), std::string::npos) << "it is a row";
}

TEST(SearchCommand, AP_4_wrong_arguments_are_refused) {
  const CommandFolder folder;
  const std::string file = write_space(folder);
  const std::vector<std::vector<std::string>> wrong{
      {"--objective", "speed"}, {"--strategy", "luck"}, {"--runs", "0"}, {"--budget", "0"}, {"--seed", "-1"}};
  for (const std::vector<std::string>& arguments : wrong) {
    std::vector<std::string> command{"search", file, "--out", "s"};
    command.insert(command.end(), arguments.begin(), arguments.end());
    const CommandResult refused = folder.run(command);
    EXPECT_EQ(refused.status, 2) << refused.out;
    EXPECT_NE(refused.err.find(arguments[0]), std::string::npos) << refused.err;
  }
  EXPECT_FALSE(std::filesystem::exists(folder.path("s")));
  EXPECT_EQ(folder.run({"search", "none.json"}).status, 2);
}

TEST(SearchCommand, AP_4_at_the_end_of_the_budget_what_is_there_is_told) {
  const CommandFolder folder;
  const std::string file = write_space(folder);
  const CommandResult found = folder.run({"search", file, "--out", "s", "--budget", "0.3", "--jobs", "1"});
  EXPECT_LE(found.status, 1) << found.err;
  EXPECT_NE(found.out.find(" of 36 points were run"), std::string::npos) << found.out;
  EXPECT_EQ(found.out.find("none of the space is better"), std::string::npos) << found.out;
}

}  // namespace
}  // namespace tilebeat::testing
