// The report file is written part by part (SPEC UI-4): its bytes are those of one JSON document.
#include "report/report.h"
#include "report_text.h"

#include <cstdint>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tilebeat::testing {
namespace {

using Json = nlohmann::ordered_json;

RunResult run_with(int modules, int counters) {
  RunResult run;
  // Texts that look like the places where the lists belong, and need escapes.
  run.workload = "a\n \"modules\": []", run.hardware = "\n \"counters\": []";
  for (int i = 0; i < modules; ++i) {
    ModuleCycles module{fmt::format("module\n{}", i), "npu", i, {}};
    if (i % 2 == 1) module.activity[static_cast<std::size_t>(Activity::kBarrier)] = i;
    run.modules.push_back(module);
  }
  for (int i = 0; i < counters; ++i)
    run.counters.push_back({fmt::format("m\"{}", i), "read", "bytes", std::int64_t{i} << 40});
  return run;
}

// Several parts; lists of one element and none.
TEST(ReportFile, UI_4_the_parts_are_one_document_as_the_library_writes_it) {
  for (const auto& [modules, counters] : {std::pair{0, 0}, {1, 0}, {0, 1}, {3, 2}, {2000, 3000}}) {
    const RunResult run = run_with(modules, counters);
    const std::string text = report_text(run, {{"modules", Json::array()}, {"counters", Json::array()}});
    const Json report = Json::parse(text);
    EXPECT_EQ(report.dump(1) + "\n", text);
    ASSERT_EQ(report.at("modules").size(), run.modules.size());
    ASSERT_EQ(report.at("counters").size(), run.counters.size());
    for (std::size_t i = 0; i < run.modules.size(); ++i)
      EXPECT_EQ(report["modules"][i].at("name"), run.modules[i].name);
    for (std::size_t i = 0; i < run.counters.size(); ++i)
      EXPECT_EQ(report["counters"][i].at("value"), run.counters[i].value);
  }
}

TEST(ReportFile, UI_11_what_a_run_was_given_comes_last_where_it_is_known) {
  const RunResult run = run_with(1, 1);
  std::string text;
  write_report(run, Json::object(), {{"revision", "abc"}}, [&text](std::string_view part) { text += part; });
  const Json report = Json::parse(text);
  EXPECT_EQ(std::prev(report.end()).key(), "provenance");
  EXPECT_EQ(report.at("provenance").at("revision"), "abc");
  EXPECT_FALSE(Json::parse(report_text(run, Json::object())).contains("provenance"));
}

}  // namespace
}  // namespace tilebeat::testing
