#include "report/report.h"
#include "schema/json_file.h"
#include "schema/place.h"
#include "tilebeat/error.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace tilebeat {
namespace {

using Json = nlohmann::ordered_json;

// Checks a value against a schema of the kind that `report_schema` makes. Throws at the first violation.
void check_value(const Json& value, const Json& schema, const Place& place) {
  const auto refuse = [&](const std::string& allowed) { place.refuse_value(nlohmann::json(value), allowed); };
  if (schema.contains("const") && value != schema["const"]) refuse(schema["const"].dump());
  if (schema.contains("enum") &&
      std::find(schema["enum"].begin(), schema["enum"].end(), value) == schema["enum"].end())
    refuse("one of " + schema["enum"].dump());
  const std::string type = schema.value("type", "");
  if (type == "string" && !value.is_string()) refuse("a text");
  if (type == "boolean" && !value.is_boolean()) refuse("true or false");
  if (type == "number" && !value.is_number()) refuse("a number");
  if (type == "integer") {
    if (!value.is_number_integer()) refuse("a whole number");
    if (value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX)
      refuse(fmt::format("a whole number up to {}", INT64_MAX));
  }
  if (schema.contains("minimum") && value.get<double>() < schema["minimum"].get<double>())
    refuse("at least " + schema["minimum"].dump());
  if (schema.contains("maximum") && value.get<double>() > schema["maximum"].get<double>())
    refuse("at most " + schema["maximum"].dump());
  if (type == "array") {
    if (!value.is_array()) refuse("a list");
    for (std::size_t i = 0; i < value.size(); ++i) check_value(value[i], schema["items"], place.item(i));
  }
  if (type == "object") {
    if (!value.is_object()) refuse("an object");
    for (const auto& name : schema.value("required", Json::array())) {
      if (!value.contains(name)) place.key(name).fail("is missing");
    }
    const Json properties = schema.value("properties", Json::object());
    for (const auto& [key, entry] : value.items()) {
      if (properties.contains(key)) check_value(entry, properties[key], place.key(key));
    }
  }
}

}  // namespace

void check_against(const Json& json, const Json& schema, const std::string& file) {
  check_value(json, schema, Place(file));
}

void check_report(const Json& report, const std::string& file) {
  check_against(report, report_schema(), file);
}

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
