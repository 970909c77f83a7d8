#include "tilebeat/report/report.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace tilebeat {
namespace {

using Json = nlohmann::ordered_json;

std::string grouped(std::int64_t value) {
  std::string digits = std::to_string(value);
  for (int at = static_cast<int>(digits.size()) - 3; at > (value < 0 ? 1 : 0); at -= 3)
    digits.insert(static_cast<std::size_t>(at), ",");
  return digits;
}

// Columns as wide as their widest cell; the first column to the left, the others to the right.
std::string format_rows(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line = " ";
    for (std::size_t i = 0; i < row.size(); ++i)
      line += i == 0 ? fmt::format(" {:<{}}", row[i], widths[i]) : fmt::format("  {:>{}}", row[i], widths[i]);
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string layers_table(const RunResult& run) {
  std::vector<std::vector<std::string>> rows{
      {"layer", "cycles", "bound", "beats", "stalls", "MACs", "util", "DRAM read", "DRAM write", "check"}};
  for (const LayerResult& l : run.layers) {
    const Cycle bound = std::max(l.bound_compute, l.bound_dram);
    rows.push_back({l.scene == "main" ? l.name : fmt::format("{}/{}", l.scene, l.name), grouped(l.cycles),
                    fmt::format("{} {}", grouped(bound), l.bound_compute >= l.bound_dram ? "mac" : "mem"),
                    grouped(l.beats), grouped(l.cycles - l.beats), grouped(l.macs),
                    fmt::format("{:.1f} %", 100 * l.utilization), grouped(l.bytes.dram_read),
                    grouped(l.bytes.dram_write), l.check});
  }
  rows.push_back({"total", grouped(run.cycles), "", "", "", grouped(run.macs),
                  fmt::format("{:.1f} %", 100 * run.utilization), grouped(run.bytes.dram_read),
                  grouped(run.bytes.dram_write), run.passed() ? "" : "FAILED"});
  return format_rows(rows);
}

std::string activity_table(const RunResult& run) {
  ActivityCycles sums{};
  for (const LayerResult& layer : run.layers) {
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += layer.activity[i];
  }
  std::vector<std::vector<std::string>> rows;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    if (sums[i] == 0) continue;
    const auto activity = static_cast<Activity>(i);
    rows.push_back(
        {std::string(activity_name(activity)), grouped(sums[i]),
         fmt::format("{:.1f} %", 100.0 * static_cast<double>(sums[i]) / static_cast<double>(run.cycles)),
         std::string(activity_meaning(activity))});
  }
  std::stable_sort(rows.begin() + (rows.empty() ? 0 : 1), rows.end(), [](const auto& a, const auto& b) {
    return a[1].size() != b[1].size() ? a[1].size() > b[1].size() : a[1] > b[1];
  });
  std::string text;
  for (const auto& row : rows)
    text += fmt::format("  {:<18}{:>14}  {:>7}   {}\n", row[0], row[1], row[2], row[3]);
  return text;
}

}  // namespace

std::string report_table(const RunResult& run) {
  std::string text =
      fmt::format("{} on {} ({} dataflow, {} granularity, peak {} MACs a clock)\n\n", run.workload,
                  run.hardware, run.dataflow, run.granularity, grouped(run.peak_macs_per_clock));
  text += layers_table(run);
  text += fmt::format("\nWhere the PE array's {} clocks went:\n", grouped(run.cycles)) + activity_table(run);
  for (const CheckDifference& d : run.differences) {
    text += fmt::format("\nCHECK FAILED: layer '{}', element [{}]: {} says {}, simulated {}", d.layer,
                        fmt::join(d.index, ", "), d.against, d.wanted, d.got);
  }
  for (const std::string& failure : run.failures) text += "\nFAILED: " + failure;
  if (!run.passed()) text += "\n";
  return text;
}

std::string compare_reports(const Json& left, const Json& right, const std::string& a, const std::string& b) {
  std::vector<std::vector<std::string>> rows{{"", a, b, "ratio"}};
  const auto add = [&](const std::string& what, double l, double r, bool percent) {
    const auto show = [&](double v) {
      return percent ? fmt::format("{:.2f} %", 100 * v) : grouped(static_cast<std::int64_t>(v));
    };
    rows.push_back({what, show(l), show(r), l != 0 ? fmt::format("{:.3f}", r / l) : (r == 0 ? "" : "-")});
  };
  const auto add_layer = [&](const std::string& prefix, const Json& l, const Json& r) {
    for (const char* key : {"cycles", "beats", "bank_conflict_cycles", "macs"})
      add(prefix + key, l[key].get<double>(), r[key].get<double>(), false);
    add(prefix + "utilization", l["utilization"].get<double>(), r["utilization"].get<double>(), true);
    for (int i = 1; i < kActivityCount; ++i) {
      const std::string cause(activity_name(static_cast<Activity>(i)));
      const double x = l["stall_cycles"].value(cause, 0.0), y = r["stall_cycles"].value(cause, 0.0);
      if (x != 0 || y != 0) add(prefix + "stall " + cause, x, y, false);
    }
    for (const auto& [level, directions] : l["bytes"].items()) {
      for (const auto& [direction, value] : directions.items()) {
        const double other = r["bytes"].contains(level) ? r["bytes"][level].value(direction, 0.0) : 0.0;
        add(prefix + level + " " + direction + " bytes", value.get<double>(), other, false);
      }
    }
  };
  add("total cycles", left["total"]["cycles"].get<double>(), right["total"]["cycles"].get<double>(), false);
  add("total macs", left["total"]["macs"].get<double>(), right["total"]["macs"].get<double>(), false);
  add("total utilization", left["total"]["utilization"].get<double>(),
      right["total"]["utilization"].get<double>(), true);
  add("total DRAM read bytes", left["total"]["dram_read_bytes"].get<double>(),
      right["total"]["dram_read_bytes"].get<double>(), false);
  add("total DRAM write bytes", left["total"]["dram_write_bytes"].get<double>(),
      right["total"]["dram_write_bytes"].get<double>(), false);
  for (const Json& l : left["layers"]) {
    for (const Json& r : right["layers"]) {
      if (l["name"] == r["name"]) add_layer(l["name"].get<std::string>() + ": ", l, r);
    }
  }
  return format_rows(rows);
}

}  // namespace tilebeat
