#include "report/whatif.h"

#include "report/report.h"
#include "report/text_table.h"
#include "schema/json_file.h"
#include "schema/place.h"
#include "tilebeat/error.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include <fmt/format.h>

namespace tilebeat {
namespace {

using Json = nlohmann::ordered_json;

struct Cost {
  const char *name, *percent, *pointer;
};
constexpr std::array<Cost, 3> kCosts{{{"cycles", "cycles_percent", "/total/cycles"},
                                      {"energy_pj", "energy_percent", "/energy/pj/total"},
                                      {"area_mm2", "area_percent", "/energy/area_mm2/total"}}};
constexpr std::size_t kMostShown = 12;

Json text(const char* description) {
  return {{"type", "string"}, {"description", description}};
}
Json number(const char* description) {
  return {{"type", "number"}, {"description", description}};
}
Json object(const char* description, const Json& properties, const Json& required) {
  return {
      {"type", "object"}, {"description", description}, {"properties", properties}, {"required", required}};
}

Json row_schema() {
  return object("a step, or two at once",
                {{"step", text("its name, KNOB=VALUE")},
                 {"knob", text("what it changes")},
                 {"from", {{"description", "the value without the step"}}},
                 {"to", {{"description", "the value with it"}}},
                 {"set",
                  {{"type", "object"},
                   {"description",
                    "by `config` and `layer`: JSON pointers into the files, and the values "
                    "that stood there"}}},
                 {"result", {{"enum", {"measured", "refused", "failed", "not_run"}}}},
                 {"reason", text("why it was not measured")},
                 {"cycles", number("of the run, for as many images as the base has")},
                 {"cycles_percent", number("by which they differ from those of the base")},
                 {"energy_pj", number("likewise")},
                 {"energy_percent", number("")},
                 {"area_mm2", number("")},
                 {"area_percent", number("")},
                 {"area_parts_percent",
                  {{"type", "object"},
                   {"description", "the parts of the area that are not those of the base, likewise"}}}},
                {"step", "knob", "set", "result"});
}

std::string signed_percent(double value) {
  const std::string shown = fmt::format("{:+.1f} %", value);
  return shown == "-0.0 %" ? "+0.0 %" : shown;
}

// Parts that differ by less than this per cent are not told.
constexpr double kPartNoticed = 0.05;

// By how many per cent each part of the area differs from that of the base; parts that the base has none of
// are left out, as are those that are as large.
Json area_parts_percent(const Json& report, const Json& base) {
  constexpr std::array<const char*, 9> kParts{"macs", "results", "lanes", "buffers", "nram",
                                              "wram", "sram",    "dma",   "buses"};
  Json parts = Json::object();
  for (const char* part : kParts) {
    const double before = base["area_parts"].value(part, 0.0);
    const double now = report["energy"]["area_mm2"].value(part, 0.0);
    if (before > 0 && std::abs(now - before) > before * kPartNoticed / 100)
      parts[part] = 100 * (now - before) / before;
  }
  return parts;
}

std::string value_text(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::vector<std::string> cells(const Json& row) {
  return {change_text(row, "->"), grouped(row["cycles"].get<std::int64_t>()),
          signed_percent(row["cycles_percent"].get<double>()),
          signed_percent(row["energy_percent"].get<double>()),
          signed_percent(row["area_percent"].get<double>()) + area_parts_text(row)};
}

std::string table_text(const std::vector<Json>& rows) {
  std::vector<std::vector<std::string>> lines{{"step", "cycles", "change", "energy", "area"}};
  for (const Json& row : rows) lines.push_back(cells(row));
  return format_rows(lines);
}

std::size_t count_of_result(const WhatIfTable& table, const char* list, const char* result) {
  std::size_t count = 0;
  for (const Json& row : table[list]) {
    if (row["result"] == result) ++count;
  }
  return count;
}

// "12 measured, 3 refused": what there is none of is left out, but for the first.
std::string counts_text(const WhatIfTable& table, const char* list) {
  std::string text = fmt::format("{} measured", count_of_result(table, list, "measured"));
  for (const auto& [result, word] :
       {std::pair("refused", "refused"), std::pair("failed", "failed"), std::pair("not_run", "not run")}) {
    if (const std::size_t count = count_of_result(table, list, result); count > 0)
      text += fmt::format(", {} {}", count, word);
  }
  return text;
}

std::vector<Json> first_of(std::vector<Json> rows) {
  if (rows.size() > kMostShown) rows.resize(kMostShown);
  return rows;
}

std::string not_measured(const WhatIfTable& table, const char* result, const char* heading) {
  std::string lines;
  std::size_t count = 0;
  for (const char* list : {"steps", "pairs"}) {
    for (const Json& row : table[list]) {
      if (row["result"] != result || ++count > kMostShown) continue;
      lines += fmt::format("  {}: {}\n", change_text(row, "->"), row["reason"].get<std::string>());
    }
  }
  if (count == 0) return "";
  if (count > kMostShown) lines += fmt::format("  ... and {} more, see whatif.csv\n", count - kMostShown);
  return fmt::format("\n{}:\n{}", heading, lines);
}

}  // namespace

Json whatif_schema() {
  const Json rows{{"type", "array"}, {"items", row_schema()}};
  Json schema = object(
      "Steps of hardware and workload, one at a time and the best in pairs, and what each came to, as "
      "`tilebeat whatif` writes them.",
      {{"tilebeat_whatif", {{"const", kWhatIfVersion}}},
       {"workload", text("name of the workload")},
       {"hardware", text("name of the hardware")},
       {"base", object("the run without a step",
                       {{"cycles", number("of the run")},
                        {"energy_pj", number("of the run")},
                        {"area_mm2", number("of the chip")},
                        {"area_parts", {{"type", "object"}, {"description", "in mm2"}}}},
                       {"cycles", "energy_pj", "area_mm2"})},
       {"steps", rows},
       {"pairs", rows},
       {"configuration", {{"type", "object"}, {"description", "the effective one of the base"}}},
       {"provenance", {{"type", "object"}, {"description", "version, revision, files"}}}},
      {"tilebeat_whatif", "workload", "hardware", "base", "steps", "pairs", "configuration"});
  schema["$schema"] = "http://json-schema.org/draft-07/schema#";
  schema["title"] = "Tilebeat what-if table";
  return schema;
}

WhatIfTable read_whatif(const std::string& path) {
  const nlohmann::json json = read_json_file(path);
  check_file_kind(json, FileKind::kWhatIf, path);
  if (!json.is_object() || !json.contains("tilebeat_whatif"))
    throw UserError(path + ": is no table of tilebeat whatif");
  WhatIfTable table = json;
  check_against(table, whatif_schema(), path);
  for (const char* list : {"steps", "pairs"}) {
    for (std::size_t i = 0; i < table[list].size(); ++i) {
      const Json& row = table[list][i];
      const bool measured = row["result"] == "measured";
      for (const Cost& cost : kCosts) {
        for (const char* name : {cost.name, cost.percent}) {
          if (measured && !row.contains(name)) Place(path).key(list).item(i).key(name).fail("is missing");
        }
      }
      if (!measured && !row.contains("reason"))
        Place(path).key(list).item(i).key("reason").fail("is missing");
    }
  }
  return table;
}

Json whatif_base(const Json& report) {
  Json base = Json::object();
  for (const Cost& cost : kCosts) base[cost.name] = report.at(Json::json_pointer(cost.pointer));
  base["area_parts"] = report.at("energy").at("area_mm2");
  return base;
}

void add_measured(Json& row, const Json& report, const Json& base, const BatchRatio& batch) {
  for (const Cost& cost : kCosts) {
    const Json& value = report.at(Json::json_pointer(cost.pointer));
    const double scale = std::string_view(cost.name) == "area_mm2" ? 1 : batch.images_before / batch.images;
    const double per_base = value.get<double>() * scale, before = base[cost.name].get<double>();
    if (scale == 1 || !value.is_number_integer())
      row[cost.name] = scale == 1 ? value : Json(per_base);
    else
      row[cost.name] = std::llround(per_base);
    row[cost.percent] = before > 0 ? 100 * (per_base - before) / before : 0.0;
  }
  row["area_parts_percent"] = area_parts_percent(report, base);
}

std::vector<Json> measured_rows(const WhatIfTable& table, const char* list) {
  std::vector<Json> rows;
  for (const Json& row : table[list]) {
    if (row["result"] == "measured") rows.push_back(row);
  }
  std::stable_sort(rows.begin(), rows.end(), [](const Json& a, const Json& b) {
    return a["cycles_percent"].get<double>() < b["cycles_percent"].get<double>();
  });
  return rows;
}

std::vector<Json> helpful_pairs(const WhatIfTable& table) {
  std::map<std::string, double> alone;
  for (const Json& row : measured_rows(table, "steps"))
    alone[row["step"].get<std::string>()] = row["cycles_percent"].get<double>();
  std::vector<Json> pairs = measured_rows(table, "pairs");
  const auto adds_nothing = [&](const Json& pair) {
    const std::string name = pair["step"].get<std::string>();
    const std::size_t plus = name.find('+');
    const double best = std::min(alone[name.substr(0, plus)], alone[name.substr(plus + 1)]);
    return pair["cycles_percent"].get<double>() > best - kNoticed;
  };
  pairs.erase(std::remove_if(pairs.begin(), pairs.end(), adds_nothing), pairs.end());
  return pairs;
}

bool saves_cycles(const Json& row) {
  return row["cycles_percent"].get<double>() <= -kNoticed;
}

bool saves_area(const Json& row) {
  constexpr double kLeast = 0.05;  // per cent, as shown
  return row["area_percent"].get<double>() <= -kLeast && row["cycles_percent"].get<double>() <= kNoticed;
}

std::string area_parts_text(const Json& row) {
  std::string text;
  if (!row.contains("area_parts_percent")) return text;
  for (const auto& [part, percent] : row["area_parts_percent"].items())
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", part, signed_percent(percent.get<double>()));
  return text.empty() ? "" : " (" + text + ")";
}

std::string change_text(const Json& row, const char* arrow) {
  if (!row.contains("from")) return row["step"].get<std::string>();
  const std::string knob = row["knob"].get<std::string>();
  std::string text = fmt::format("{} {} {} {}", knob, value_text(row["from"]), arrow, value_text(row["to"]));
  if (!row["set"].contains("config")) return text;
  for (const auto& [pointer, value] : row["set"]["config"].items()) {
    std::string name = pointer.substr(std::min<std::size_t>(1, pointer.size()));
    std::replace(name.begin(), name.end(), '/', '.');
    if (name != knob) text += fmt::format(", {} {}", name, value_text(value));
  }
  return text;
}

std::string whatif_csv(const WhatIfTable& table) {
  const std::vector<std::string> columns{"step",           "knob",     "from",           "to",
                                         "result",         "cycles",   "cycles_percent", "energy_pj",
                                         "energy_percent", "area_mm2", "area_percent",   "reason"};
  std::string csv = csv_line(columns);
  for (const char* list : {"steps", "pairs"}) {
    for (const Json& row : table[list]) {
      std::vector<std::string> line;
      for (const std::string& column : columns)
        line.push_back(row.contains(column) ? csv_value(row[column]) : "");
      csv += csv_line(line);
    }
  }
  return csv;
}

std::string whatif_summary(const WhatIfTable& table) {
  std::string text =
      fmt::format("{} on {}: {} cycles; steps: {}; pairs: {}\n", table["workload"].get<std::string>(),
                  table["hardware"].get<std::string>(), grouped(table["base"]["cycles"].get<std::int64_t>()),
                  counts_text(table, "steps"), counts_text(table, "pairs"));
  std::vector<Json> helpful, free;
  for (const Json& row : measured_rows(table, "steps")) {
    if (saves_cycles(row)) helpful.push_back(row);
    if (saves_area(row)) free.push_back(row);
  }
  const std::vector<Json> pairs = helpful_pairs(table);
  text += helpful.empty() ? "\nNo measured step takes fewer cycles.\n"
                          : "\nWhat helps most, measured:\n" + table_text(first_of(helpful));
  if (!pairs.empty()) text += "\nPairs that save more than either step:\n" + table_text(first_of(pairs));
  std::stable_sort(free.begin(), free.end(), [](const Json& a, const Json& b) {
    return a["area_percent"].get<double>() < b["area_percent"].get<double>();
  });
  if (!free.empty())
    text += fmt::format("\nSmaller, for at most {} % more cycles:\n", kNoticed) + table_text(first_of(free));
  text += not_measured(table, "refused", "Refused");
  return text + not_measured(table, "failed", "Failed");
}

}  // namespace tilebeat
