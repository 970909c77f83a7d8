#pragma once

#include "tilebeat/report/run_result.h"

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace tilebeat {

/// Version of the report's layout; grows with every change of a name or a meaning.
constexpr int kReportVersion = 2;

/// The report file (SPEC UI-4). `hardware` is the effective configuration, written along. Same result, same
/// bytes.
nlohmann::ordered_json report_json(const RunResult& run, const nlohmann::ordered_json& hardware);
/// The JSON Schema (draft-07) of the report file.
nlohmann::ordered_json report_schema();
/// The tables that a run prints: layers, where the array's cycles went, traffic, and what failed.
std::string report_table(const RunResult& run);
/// Throws UserError naming `file` and the JSON path of what does not follow `report_schema`; unknown keys
/// pass.
void check_report(const nlohmann::ordered_json& report, const std::string& file);
/// Two reports side by side (`tilebeat compare`); both have passed `check_report`, `a` and `b` are their
/// names.
std::string compare_reports(const nlohmann::ordered_json& left, const nlohmann::ordered_json& right,
                            const std::string& a, const std::string& b);

}  // namespace tilebeat
