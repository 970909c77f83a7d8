#include "report/sweep_table.h"

#include "report/text_table.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

namespace tilebeat {
namespace {

using Json = nlohmann::ordered_json;

struct Optional {
  const char *column, *pointer;
};
// Columns of reports with a table of energies.
constexpr std::array<Optional, 3> kEnergy{{{"energy_pj", "/energy/pj/total"},
                                           {"edp_joule_seconds", "/energy/edp_joule_seconds"},
                                           {"area_mm2", "/energy/area_mm2/total"}}};

// The cause of most lost cycles of the matrix arrays, and its fraction of them.
std::pair<std::string, double> largest_cause(const Json& report) {
  std::map<std::string, double> causes;
  double cycles = 0;
  for (const Json& layer : report["layers"]) {
    cycles += layer["beats"].get<double>();
    for (const auto& [cause, count] : layer["stall_cycles"].items()) {
      causes[cause] += count.get<double>();
      cycles += count.get<double>();
    }
  }
  const auto most = std::max_element(causes.begin(), causes.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most == causes.end() || cycles == 0) return {"none", 0};
  return {most->first, most->second / cycles};
}

}  // namespace

std::vector<std::string> sweep_columns() {
  return {"point",
          "result",
          "cycles",
          "time_us",
          "macs",
          "utilization",
          "dram_read_bytes",
          "dram_write_bytes",
          "dram_bytes",
          "largest_stall",
          "largest_stall_share",
          "energy_pj",
          "edp_joule_seconds",
          "area_mm2",
          "pareto",
          "error"};
}

std::vector<std::string> sweep_costs() {
  return {"cycles",     "time_us",   "dram_read_bytes",   "dram_write_bytes",
          "dram_bytes", "energy_pj", "edp_joule_seconds", "area_mm2"};
}

Json sweep_values(const Json& report) {
  const Json& total = report["total"];
  const auto read = total["dram_read_bytes"].get<std::int64_t>();
  const auto written = total["dram_write_bytes"].get<std::int64_t>();
  const auto [stall, share] = largest_cause(report);
  Json values{{"cycles", total["cycles"]},
              {"time_us", total["cycles"].get<double>() / report["configuration"].value("clock_mhz", 1000.0)},
              {"macs", total["macs"]},
              {"utilization", total["utilization"].get<double>()},
              {"dram_read_bytes", read},
              {"dram_write_bytes", written},
              {"dram_bytes", read + written},
              {"largest_stall", stall},
              {"largest_stall_share", share}};
  for (const Optional& energy : kEnergy) {
    const Json::json_pointer pointer(energy.pointer);
    if (report.contains(pointer) && report[pointer].is_number()) values[energy.column] = report[pointer];
  }
  return values;
}

std::vector<std::string> shown_columns(const SweepTable& table) {
  std::vector<std::string> columns{"point"};
  columns.insert(columns.end(), table.axes.begin(), table.axes.end());
  for (const std::string& column : sweep_columns()) {
    const bool optional =
        std::any_of(kEnergy.begin(), kEnergy.end(), [&](const Optional& e) { return e.column == column; });
    const bool there = std::any_of(table.rows.begin(), table.rows.end(),
                                   [&](const Json& row) { return row.contains(column); });
    if (column != "point" && (!optional || there)) columns.push_back(column);
  }
  return columns;
}

std::optional<double> number_in(const Json& row, const std::string& column) {
  if (!row.contains(column)) return {};
  const Json& value = row[column];
  if (value.is_number()) return value.get<double>();
  const Json parsed = Json::parse(value.is_string() ? value.get<std::string>() : "", nullptr, false);
  return parsed.is_number() ? std::optional(parsed.get<double>()) : std::nullopt;
}

std::vector<std::size_t> pareto_front(const SweepTable& table, const ParetoAxes& axes) {
  struct Point {
    double a, b;
    std::size_t row;
  };
  std::vector<Point> points;
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const Json& row = table.rows[i];
    const std::optional<double> a = number_in(row, axes[0]), b = number_in(row, axes[1]);
    if (row["result"] == "passed" && a && b) points.push_back({*a, *b, i});
  }
  std::stable_sort(points.begin(), points.end(),
                   [](const Point& p, const Point& q) { return p.a != q.a ? p.a < q.a : p.b < q.b; });
  std::vector<std::size_t> front;
  const Point* last = nullptr;  // the best one so far in the second column
  for (const Point& point : points) {
    if (last != nullptr && point.b >= last->b && !(point.a == last->a && point.b == last->b)) continue;
    last = &point;
    front.push_back(point.row);
  }
  return front;
}

std::string sweep_csv(const SweepTable& table, const ParetoAxes& axes) {
  const std::vector<std::size_t> front = pareto_front(table, axes);
  const std::vector<std::string> columns = shown_columns(table);
  std::string text = csv_line(columns);
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    std::vector<std::string> cells;
    for (const std::string& column : columns) {
      const bool best = std::find(front.begin(), front.end(), i) != front.end();
      cells.push_back(column == "pareto" ? (best ? "yes" : "no")
                                         : csv_value(table.rows[i].value(column, Json())));
    }
    text += csv_line(cells);
  }
  return text;
}

std::string sweep_summary(const SweepTable& table, const ParetoAxes& axes) {
  std::map<std::string, std::size_t> counts;
  for (const Json& row : table.rows) ++counts[row["result"].get<std::string>()];
  std::string text =
      fmt::format("sweep {}: {} points, {} passed", table.name, table.rows.size(), counts["passed"]);
  if (counts["failed"] > 0) text += fmt::format(", {} failed", counts["failed"]);
  if (counts["error"] > 0) text += fmt::format(", {} without a report", counts["error"]);
  const std::vector<std::size_t> front = pareto_front(table, axes);
  if (front.empty()) return text + fmt::format("\n\nNo point has both {} and {}.\n", axes[0], axes[1]);
  std::vector<std::vector<std::string>> lines{{"point", axes[0], axes[1], "util", "largest stall"}};
  for (const std::size_t i : front) {
    const Json& row = table.rows[i];
    lines.push_back({row["point"].get<std::string>(), shown_number(row[axes[0]]), shown_number(row[axes[1]]),
                     fmt::format("{:.1f} %", 100 * row["utilization"].get<double>()),
                     fmt::format("{} {:.0f} %", row["largest_stall"].get<std::string>(),
                                 100 * row["largest_stall_share"].get<double>())});
  }
  return text +
         fmt::format("\n\nLeast {} and {}, the Pareto front:\n{}", axes[0], axes[1], format_rows(lines));
}

std::string shown_number(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_integer()) return grouped(value.get<std::int64_t>());
  const auto number = value.get<double>();
  return number >= 0.01 && number < 1e9 ? fmt::format("{:.2f}", number) : fmt::format("{:.4g}", number);
}

}  // namespace tilebeat
