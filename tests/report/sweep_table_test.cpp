// The table of a sweep (SPEC UI-9): what it takes from a report, its Pareto front, CSV and page.
#include "report/sweep_table.h"

#include <algorithm>
#include <random>
#include <regex>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tilebeat::testing {
namespace {

using Json = nlohmann::ordered_json;

const ParetoAxes kAxes{"cycles", "dram_bytes"};

Json row(const std::string& point, std::int64_t cycles, std::int64_t bytes, const char* result = "passed") {
  return {
      {"point", point},     {"result", result},        {"cycles", cycles},           {"dram_bytes", bytes},
      {"utilization", 0.5}, {"largest_stall", "host"}, {"largest_stall_share", 0.25}};
}

Json report() {
  return Json::parse(R"({"total": {"cycles": 1000, "macs": 4096, "utilization": 0.5, "dram_read_bytes": 70,
      "dram_write_bytes": 7}, "layers": [
        {"beats": 100, "stall_cycles": {"host": 10, "input_load": 30}},
        {"beats": 40, "stall_cycles": {"host": 20}}],
      "configuration": {"clock_mhz": 800}})");
}

TEST(SweepTable, UI_9_values_are_those_of_the_report) {
  const Json values = sweep_values(report());
  EXPECT_EQ(values["cycles"], 1000);
  EXPECT_EQ(values["time_us"], 1000 / 800.0);
  EXPECT_EQ(values["dram_bytes"], 77);
  EXPECT_EQ(values["largest_stall"], "host")
      << "30 cycles in two layers; input_load has 30 in one, named later";
  EXPECT_EQ(values["largest_stall_share"], 30 / 200.0);
  EXPECT_FALSE(values.contains("energy_pj"));
}

TEST(SweepTable, UI_9_energy_is_shown_where_reports_have_it) {
  Json with = report();
  with["energy"] = {{"pj", {{"total", 12.5}}}, {"edp_joule_seconds", 1e-5}, {"area_mm2", {{"total", 3}}}};
  SweepTable table{"energies", {}, {row("a", 1, 1), row("b", 2, 2)}};
  EXPECT_EQ(sweep_csv(table, kAxes).find("energy_pj"), std::string::npos);
  table.rows[1].update(sweep_values(with));
  const std::string csv = sweep_csv(table, kAxes);
  EXPECT_NE(csv.find(",energy_pj,edp_joule_seconds,area_mm2,"), std::string::npos) << csv;
  EXPECT_NE(csv.find(",12.5,1e-05,3,"), std::string::npos) << csv;
  EXPECT_EQ(pareto_front(table, {"energy_pj", "area_mm2"}), std::vector<std::size_t>{1});
}

// The front by its definition, for points in a small square, so that many are equal in one or both.
TEST(SweepTable, UI_9_the_front_has_every_point_that_no_other_beats) {
  std::mt19937 random(9);
  for (int round = 0; round < 200; ++round) {
    SweepTable table{"random", {}, {}};
    for (unsigned i = 0; i < 1 + random() % 20; ++i)
      table.rows.push_back(row("p" + std::to_string(i), static_cast<std::int64_t>(random() % 8),
                               static_cast<std::int64_t>(random() % 8),
                               random() % 5 == 0 ? "failed" : "passed"));
    std::vector<std::size_t> front = pareto_front(table, kAxes);
    EXPECT_TRUE(std::is_sorted(front.begin(), front.end(), [&](std::size_t a, std::size_t b) {
      return table.rows[a]["cycles"] < table.rows[b]["cycles"];
    }));
    std::sort(front.begin(), front.end());
    std::vector<std::size_t> wanted;
    for (std::size_t i = 0; i < table.rows.size(); ++i) {
      const Json& mine = table.rows[i];
      const bool beaten = std::any_of(table.rows.begin(), table.rows.end(), [&](const Json& other) {
        return other["result"] == "passed" && other["cycles"] <= mine["cycles"] &&
               other["dram_bytes"] <= mine["dram_bytes"] &&
               (other["cycles"] < mine["cycles"] || other["dram_bytes"] < mine["dram_bytes"]);
      });
      if (mine["result"] == "passed" && !beaten) wanted.push_back(i);
    }
    EXPECT_EQ(front, wanted) << sweep_csv(table, kAxes);
  }
}

TEST(SweepTable, UI_9_an_axis_of_numbers_is_compared_as_numbers) {
  SweepTable table{"axis", {"cores"}, {row("a", 30, 1), row("b", 20, 1), row("c", 10, 1)}};
  const char* labels[] = {"4", "16", "100"};
  for (std::size_t i = 0; i < 3; ++i) table.rows[i]["cores"] = labels[i];
  EXPECT_EQ(pareto_front(table, {"cores", "cycles"}), (std::vector<std::size_t>{0, 1, 2}));
}

TEST(SweepTable, UI_9_csv_quotes_what_it_has_to) {
  SweepTable table{"quotes", {}, {row("a", 1, 1, "failed")}};
  table.rows[0]["error"] = "layer \"x\", and more";
  const std::string csv = sweep_csv(table, kAxes);
  EXPECT_NE(csv.find(",\"layer \"\"x\"\", and more\"\n"), std::string::npos) << csv;
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 2);
}

TEST(SweepTable, UI_9_the_page_draws_every_point_that_passed_and_escapes_names) {
  SweepTable table{
      "<b>",
      {},
      {row("first", 10, 40), row("second", 20, 20), row("third", 30, 30), row("fourth", 5, 5, "failed")}};
  table.rows[3]["error"] = "a < b";
  const std::string page = sweep_page(table, kAxes);
  EXPECT_EQ(page.find("<b>"), std::string::npos);
  EXPECT_NE(page.find("a &lt; b"), std::string::npos);
  const std::regex drawn("<(circle|path)[^>]* data-point=\"([a-z]+)\"");
  std::map<std::string, std::string> forms;
  for (std::sregex_iterator it(page.begin(), page.end(), drawn), end; it != end; ++it)
    forms[(*it)[2]] = (*it)[1];
  EXPECT_EQ(forms,
            (std::map<std::string, std::string>{{"first", "path"}, {"second", "path"}, {"third", "circle"}}))
      << "diamonds are the front";
  for (const char* outside : {"http:", "https:", "<script", "src=", "@import"})
    EXPECT_EQ(page.find(outside), std::string::npos) << outside;
  EXPECT_NE(sweep_page({"none", {}, {}}, kAxes).find("No point that passed"), std::string::npos);
}

TEST(SweepTable, UI_15_points_are_coloured_by_the_axis_that_does_most_and_each_effect_is_shown) {
  // 2 x 2 points: `a` halves the cycles, `b` takes a tenth off; one point has failed.
  SweepTable table{"effects", {"a", "b"}, {row("p1", 100, 40), row("p2", 90, 40), row("p3", 50, 80)}};
  const char* labels[][2] = {{"1", "x"}, {"1", "y"}, {"2", "x"}};
  for (std::size_t i = 0; i < 3; ++i) table.rows[i]["a"] = labels[i][0], table.rows[i]["b"] = labels[i][1];
  const std::string page = sweep_page(table, kAxes);
  EXPECT_NE(page.find("Colours are values of <b>a</b>"), std::string::npos) << page;
  std::vector<std::string> effects;
  const std::regex shown("data-effect=\"([^\"]*)\"");
  for (std::sregex_iterator it(page.begin(), page.end(), shown), end; it != end; ++it)
    effects.push_back((*it)[1]);
  // By value of a, then of b: times the cycles, times the bytes; p2 has no partner at a = 2.
  ASSERT_EQ(effects.size(), 8U) << page;
  const std::vector<double> wanted{1, 1, 0.5, 2, 1, 1, 0.9, 1};
  for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(std::stod(effects[i]), wanted[i], 1e-12) << i;
  EXPECT_NE(sweep_page(table, kAxes, "b").find("Colours are values of <b>b</b>"), std::string::npos);
}

}  // namespace
}  // namespace tilebeat::testing
