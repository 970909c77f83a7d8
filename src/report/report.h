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

/// Writes the report file (SPEC UI-4) to `sink`, part by part: those of large chips have a hundred thousand
/// counters. `hardware` is the effective configuration and `provenance` what the run was given; both are
/// written along, the latter unless it is null. Same result, same bytes.
void write_report(const RunResult& run, const nlohmann::ordered_json& hardware,
                  const nlohmann::ordered_json& provenance,
                  const std::function<void(std::string_view)>& sink);
/// The JSON Schema (draft-07) of the report file.
nlohmann::ordered_json report_schema();
/// The tables that a run prints: layers, where the array's cycles went, traffic, and what failed.
std::string report_table(const RunResult& run);
/// Throws UserError naming `file` and the JSON path of what does not follow `report_schema`; unknown keys
/// pass.
void check_report(const nlohmann::ordered_json& report, const std::string& file);
/// A report that stands beside others, and what it is called there.
struct NamedReport {
  std::string name;
  nlohmann::ordered_json report;  ///< has passed `check_report`
};
/// How far a comparison goes, and what it is written as.
enum class CompareDetail { kTotals, kLayers };
enum class TableFormat { kText, kCsv, kMarkdown };
/// Reports side by side (`tilebeat compare`), two or more: totals, then on demand every layer; ratios to the
/// first one. Layers are matched by name, fusion groups with the layers that they are made of.
std::string compare_reports(const std::vector<NamedReport>& reports, CompareDetail detail,
                            TableFormat format);

}  // namespace tilebeat
