// `tilebeat report`: the page of real runs, and files that are no reports (SPEC UI-8, UI-5).
#include "tilebeat_command.h"

#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tilebeat::testing {
namespace {

constexpr const char* kReportedLayer = "models/worked_dilated.json";

TEST(ReportCommand, UI_8_makes_one_page_of_several_runs) {
  const CommandFolder folder;
  ASSERT_EQ(folder.run_layer("configs/switch16.json", kReportedLayer, {"--out", "a"}).status, 0);
  ASSERT_EQ(folder.run_layer("configs/cluster4.json", kReportedLayer, {"--out", "b"}).status, 0);
  const CommandResult result =
      folder.run({"report", "a/report.json", "b/report.json", "--html", "page.html"});
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(result.out, "Wrote page.html\n");
  const std::string page = read_bytes(folder.path("page.html"));
  for (const char* out : {"a", "b"}) {
    const auto cycles = std::to_string(folder.report(out).at("total").at("cycles").get<int>());
    const std::string wanted = std::string("data-at=\"") + (*out == 'a' ? "0" : "1") +
                               ":/total/cycles\" data-value=\"" + cycles + "\"";
    EXPECT_NE(page.find(wanted), std::string::npos) << wanted;
  }
  ASSERT_EQ(folder.run({"report", "a/report.json", "b/report.json", "--html", "again.html"}).status, 0);
  EXPECT_EQ(read_bytes(folder.path("again.html")), page) << "same reports, same bytes";
}

TEST(ReportCommand, UI_5_UI_8_wrong_files_are_named_and_nothing_is_written) {
  const CommandFolder folder;
  ASSERT_EQ(folder.run_layer("configs/switch16.json", kReportedLayer).status, 0);
  nlohmann::json report = folder.report();
  report["tilebeat_report"] = 99;
  folder.write("other.json", report.dump());
  report = folder.report();
  report["configuration"].erase("clock_mhz");
  folder.write("lacking.json", report.dump());
  report = folder.report();
  report.erase("total");
  folder.write("damaged.json", report.dump());
  folder.write("text.json", "no JSON");
  folder.write("none.json", "{}");
  folder.write("run.yaml", "total:\n  cycles: 7\n");
  const auto before = folder.files();
  const std::string good = "tilebeat-out/report.json";
  const struct {
    std::string file, wanted;
  } cases[] = {{source_path(kReportedLayer), "is a workload, the report of a run is expected here"},
               {"none.json", "is no report of tilebeat run"},
               {"run.yaml", "run.yaml: is no report of tilebeat run"},
               {"other.json", "/tilebeat_report: 99 is another version"},
               {"lacking.json", "/configuration/clock_mhz: is missing"},
               {"damaged.json", "/total: is missing"},
               {"text.json", "text.json: "},
               {"nowhere.json", "nowhere.json: "}};
  for (const auto& [file, wanted] : cases) {
    const CommandResult result = folder.run({"report", good, file, "--html", "page.html"});
    EXPECT_EQ(result.status, 2) << file;
    EXPECT_NE(result.err.find(wanted), std::string::npos) << result.err;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << "one line: " << result.err;
    EXPECT_EQ(result.out, "");
  }
  EXPECT_EQ(folder.run({"report", good}).status, 2) << "--html is missing";
  EXPECT_EQ(folder.run({"report", "--html", "page.html"}).status, 2) << "no report";
  EXPECT_EQ(folder.run({"report", good, "--html", good}).status, 2) << "the report would be overwritten";
  EXPECT_EQ(folder.run({"report", good, "--html", "nowhere/page.html"}).status, 2);
  EXPECT_EQ(folder.files(), before);
}

TEST(ReportCommand, UI_2_a_report_in_the_place_of_a_workload_is_named) {
  const CommandFolder folder;
  ASSERT_EQ(folder.run_layer("configs/switch16.json", kReportedLayer).status, 0);
  const CommandResult result = folder.run(
      {"plan", "--config", source_path("configs/switch16.json"), "--layer", "tilebeat-out/report.json"});
  EXPECT_EQ(result.status, 2);
  EXPECT_NE(result.err.find("is the report of a run, a workload is expected here; `tilebeat report`"),
            std::string::npos)
      << result.err;
}

TEST(ReportCommand, UI_1_its_help_has_an_example) {
  const CommandResult result = CommandFolder().run({"report", "--help"});
  EXPECT_EQ(result.status, 0);
  EXPECT_NE(result.out.find("tilebeat report tilebeat-out/report.json --html run.html"), std::string::npos);
}

}  // namespace
}  // namespace tilebeat::testing
