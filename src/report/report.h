#pragma once

#include "report/run_result.h"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace tilebeat {

/// Version of the report's layout; grows with every change of a name or a meaning.
constexpr int kReportVersion = 2;

/// Writes the report file (SPEC UI-4) to `sink`, part by part: reports of large chips have a hundred thousand
/// counters. It includes `hardware`, the effective configuration, and `provenance`, the run's inputs, unless
/// that is null. Same result, same bytes.
void write_report(const RunResult& run, const nlohmann::ordered_json& hardware,
                  const nlohmann::ordered_json& provenance,
                  const std::function<void(std::string_view)>& sink);
/// The JSON Schema (draft-07) of the report file.
nlohmann::ordered_json report_schema();
/// The tables that a run prints: layers, cycles of the arrays by cause, traffic, and failures.
std::string report_table(const RunResult& run);
/// Throws UserError naming `file` and the JSON path of the first value that does not follow `report_schema`;
/// unknown keys are allowed.
void check_report(const nlohmann::ordered_json& report, const std::string& file);
/// The same for `json` and any schema of the kind that `report_schema` makes.
void check_against(const nlohmann::ordered_json& json, const nlohmann::ordered_json& schema,
                   const std::string& file);
/// The report in a file. Throws UserError when the file is no report, has another version or violates the
/// schema.
nlohmann::ordered_json read_report(const std::string& path);
/// A report in a comparison, with its name there.
struct NamedReport {
  std::string name;
  nlohmann::ordered_json report;  ///< has passed `check_report`
};
/// The level of detail and the format of a comparison.
enum class CompareDetail { kTotals, kLayers };
enum class TableFormat { kText, kCsv, kMarkdown };
/// Compares two or more reports (`tilebeat compare`): totals, then on demand every layer, with ratios to the
/// first report. Layers are matched by name, fusion groups with the layers that they consist of.
std::string compare_reports(const std::vector<NamedReport>& reports, CompareDetail detail,
                            TableFormat format);

/// By how much a quantity of a report may differ from that of the first one.
enum class LimitDirection { kBoth, kMore, kLess };
struct CompareLimit {
  std::string quantity;  ///< as the table calls it, in lower case and with _ for what is no letter or digit;
                         ///< empty: all that have no limit of their own
  double percent = 0;    ///< of the first report's value
  LimitDirection direction = LimitDirection::kBoth;
};
/// A line for each number of the comparison that is beyond its limit. A number that one report has and the
/// first one has not, or the other way round, is beyond every limit, and so is a run that did not pass.
/// Throws UserError when no quantity with numbers is called as a limit says, in what `detail` compares.
std::vector<std::string> exceeded_limits(const std::vector<NamedReport>& reports, CompareDetail detail,
                                         const std::vector<CompareLimit>& limits);

/// A report that is shown on a page.
struct PageReport {
  std::string file;               ///< its name, as the reader knows it
  nlohmann::ordered_json report;  ///< has passed `check_report`
  /// What `tilebeat whatif` measured of the same run (whatif.h); null: nothing.
  nlohmann::ordered_json whatif = nullptr;
};

/// One self-contained HTML page about one or several runs (SPEC UI-8): totals, what limits each of them, the
/// chip, the layers, the roofline; several runs side by side. It reads nothing else, neither from the network
/// nor from disk, and needs no script. Same reports, same bytes.
///
/// An element that shows a number of a report has its exact value in `data-value` and its place in `data-at`,
/// `RUN:POINTER` with the number of the report, from 0, and the JSON pointer into it. What is computed from
/// such numbers has a name in `data-of`, `RUN:NAME`, instead.
///
/// `reports` is not empty. Throws UserError that names the file and the JSON path of a field of the
/// configuration that the page needs and the report lacks.
std::string report_page(const std::vector<PageReport>& reports);

/// What a run, or the layer or fusion group with this name, waited for: cycles by cause with what each means,
/// lower bounds, and without a name the layers with most cycles. Throws UserError as `report_page` does, and
/// for a name that no layer has.
std::string explain_report(const PageReport& report, const std::string& layer);

}  // namespace tilebeat
