#include "app/report_file.h"

#include "report/report.h"
#include "schema/json_file.h"
#include "schema/place.h"
#include "tilebeat/error.h"

#include <fmt/format.h>

namespace tilebeat {

nlohmann::ordered_json read_report(const std::string& path) {
  const nlohmann::json report = read_json_file(path);
  check_file_kind(report, FileKind::kReport, path);
  if (!report.is_object() || !report.contains("tilebeat_report"))
    throw UserError(path + ": is no report of tilebeat run");
  if (report["tilebeat_report"] != kReportVersion) {
    throw UserError(fmt::format("{}: /tilebeat_report: {} is another version, {} is read", path,
                                report["tilebeat_report"].dump(), kReportVersion));
  }
  nlohmann::ordered_json ordered = report;
  check_report(ordered, path);
  return ordered;
}

}  // namespace tilebeat
