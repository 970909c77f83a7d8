// Timelines for trace viewers (SPEC UI-3).
#include "tilebeat/observe/chrome_timeline.h"

#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tilebeat::testing {
namespace {

struct Row {
  std::string name;
  std::vector<std::pair<double, double>> spans;  // begin and end, as they stand in the file
};

std::map<int, Row> rows_of(ChromeTimeline& timeline) {
  std::map<int, Row> rows;
  const nlohmann::json parsed = nlohmann::json::parse(timeline.json());
  for (const auto& event : parsed.at("traceEvents")) {
    if (event.at("name") == "process_name") continue;
    Row& row = rows[event.at("tid")];
    if (event.at("ph") == "M") {
      row.name = event.at("args").at("name");
    } else {
      const double begin = event.at("ts");
      row.spans.emplace_back(begin, begin + event.at("dur").get<double>());
    }
  }
  return rows;
}

TEST(ChromeTimeline, UI_3_what_overlaps_has_rows_of_its_own) {
  ChromeTimeline timeline;
  timeline.span("bus", "first", 0, 3'000'000);
  timeline.span("bus", "second", 1'000'000, 4'000'000);
  timeline.span("bus", "third", 3'000'000, 5'000'000);  // begins where the first one ends
  timeline.span("array", "run", 2'000'000, 3'000'000);
  const std::map<int, Row> rows = rows_of(timeline);
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows.at(1).name, "array");
  EXPECT_EQ(rows.at(2).name, "bus");
  EXPECT_EQ(rows.at(2).spans, (std::vector<std::pair<double, double>>{{0, 3}, {3, 5}}));
  EXPECT_EQ(rows.at(3).name, "bus (2)");
  EXPECT_EQ(rows.at(3).spans, (std::vector<std::pair<double, double>>{{1, 4}}));
}

TEST(ChromeTimeline, UI_3_spans_of_a_row_never_overlap_and_none_is_lost) {
  std::mt19937 engine(7);
  ChromeTimeline timeline;
  constexpr int kSpans = 5000;
  for (int i = 0; i < kSpans; ++i) {
    const Picoseconds begin = engine() % 1000 * 1'000'000;
    timeline.span("track" + std::to_string(engine() % 5), "span", begin, begin + engine() % 40 * 1'000'000);
  }
  std::size_t found = 0;
  for (const auto& [id, row] : rows_of(timeline)) {
    found += row.spans.size();
    for (std::size_t i = 1; i < row.spans.size(); ++i)
      ASSERT_GE(row.spans[i].first, row.spans[i - 1].second) << row.name;
  }
  EXPECT_EQ(found, std::size_t{kSpans});
}

}  // namespace
}  // namespace tilebeat::testing
