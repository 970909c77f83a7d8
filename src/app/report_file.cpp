#include "report_file.h"

#include "tilebeat/base/error.h"
#include "tilebeat/report/report.h"
#include "tilebeat/schema/file_kind.h"
#include "tilebeat/schema/json_file.h"

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
