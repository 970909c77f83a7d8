#include "report/page/sections.h"
#include "report/text_table.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <set>

#include <fmt/format.h>

namespace tilebeat::page {
namespace {

constexpr std::size_t kFewRuns = 6;  ///< that have a column each

/// A quantity of the table of totals.
struct Quantity {
  std::string name;
  std::function<std::string(const RunFacts&)> cell;
};

std::string rate(const RunFacts& run, const char* name, double value, const char* unit) {
  return run.cited.computed(name, value, prefixed(value) + unit);
}

std::string largest_stall(const RunFacts& run) {
  if (run.causes.empty()) return "none";
  const Cause& cause = run.causes.front();
  const double share = ratio(cause.cycles, run.array_cycles);
  return escaped(cause.name) + " " + run.cited.computed("share/" + cause.name, share, percent(share));
}

std::vector<Quantity> quantities(const std::vector<RunFacts>& runs) {
  const double first = runs.front().microseconds;
  std::vector<Quantity> all;
  all.push_back({"cycles", [](const RunFacts& r) { return r.cited.count_in("/total/cycles", ""); }});
  all.push_back({"time", [](const RunFacts& r) {
                   return r.cited.computed("microseconds", r.microseconds,
                                           fmt::format("{:.1f} µs", r.microseconds));
                 }});
  all.push_back({"time of the first / time", [first](const RunFacts& r) {
                   const double faster = ratio(first, r.microseconds);
                   return r.cited.computed("speedup", faster, fmt::format("{:.2f}", faster));
                 }});
  all.push_back({"utilisation", [](const RunFacts& r) { return r.cited.share("/total/utilization"); }});
  all.push_back({"operations",
                 [](const RunFacts& r) { return rate(r, "ops_per_second", 2 * r.macs_per_second, "OPS"); }});
  all.push_back({"peak", [](const RunFacts& r) {
                   return rate(r, "peak_ops_per_second", 2 * r.peak_macs_per_second, "OPS");
                 }});
  all.push_back(
      {"DRAM read", [](const RunFacts& r) { return r.cited.count_in("/total/dram_read_bytes", "B"); }});
  all.push_back(
      {"DRAM written", [](const RunFacts& r) { return r.cited.count_in("/total/dram_write_bytes", "B"); }});
  all.push_back({"DRAM, average", [](const RunFacts& r) {
                   return rate(r, "dram_bytes_per_second", r.dram_bytes_per_second, "B/s");
                 }});
  all.push_back({"arrays busy", [](const RunFacts& r) {
                   const double busy = ratio(r.beats, r.array_cycles);
                   return r.cited.computed("share/busy", busy, percent(busy));
                 }});
  all.push_back({"largest stall", largest_stall});
  all.push_back({"checks", [](const RunFacts& r) { return std::string(check_result(r.cited.report())); }});
  return all;
}

// Layers of the workload in one row of the table of layers: a single layer, or, where a run has fused it, all
// layers of the fusion group.
struct Group {
  std::string scene;
  std::vector<std::string> layers;               ///< in the order of the first run that has them
  std::vector<std::vector<std::size_t>> places;  ///< by run: of its layers
};

bool shares_layers(const Group& group, const std::string& scene, const std::vector<std::string>& names) {
  return group.scene == scene && std::any_of(names.begin(), names.end(), [&](const std::string& name) {
           return std::find(group.layers.begin(), group.layers.end(), name) != group.layers.end();
         });
}

void add_layer(std::vector<Group>& groups, const Json& layer, std::size_t run, std::size_t place) {
  auto names = layer["layers"].get<std::vector<std::string>>();
  if (names.empty()) names = {layer["name"].get<std::string>()};
  const auto scene = layer["scene"].get<std::string>();
  Group* into = nullptr;
  for (std::size_t g = 0; g < groups.size();) {
    Group& group = groups[g];
    if (&group == into || !shares_layers(group, scene, names)) {
      ++g;
      continue;
    }
    if (into == nullptr) {
      into = &group, ++g;
      continue;
    }
    into->layers.insert(into->layers.end(), group.layers.begin(), group.layers.end());
    for (std::size_t r = 0; r < group.places.size(); ++r)
      into->places[r].insert(into->places[r].end(), group.places[r].begin(), group.places[r].end());
    groups.erase(groups.begin() + to_signed(g));
  }
  if (into == nullptr) into = &groups.emplace_back(Group{scene, {}, {}});
  for (const std::string& name : names) {
    if (std::find(into->layers.begin(), into->layers.end(), name) == into->layers.end())
      into->layers.push_back(name);
  }
  if (into->places.size() <= run) into->places.resize(run + 1);
  into->places[run].push_back(place);
}

// Cycles of a run's layers of a group; nothing: it has none of them.
std::optional<double> cycles_of(const RunFacts& run, const Group& group, std::size_t index) {
  if (index >= group.places.size() || group.places[index].empty()) return std::nullopt;
  std::int64_t sum = 0;
  for (const std::size_t layer : group.places[index])
    sum = add_capped(sum, run.cited.integer(layer_at(layer) + "/cycles"));
  return static_cast<double>(sum);
}

// The style of a cell: white for the run with fewest cycles, darker up to three times as many.
std::string shaded(double cycles, double fewest) {
  constexpr double kMostTimes = 3, kLightest = 0.45;
  const double times = std::min(ratio(cycles, fewest), kMostTimes);
  const double share = times <= 1 ? 0 : kLightest * std::log(times) / std::log(kMostTimes);
  return share <= 0 ? "" : fmt::format(" style=\"background: {}\"", shade(share));
}

std::string cycles_cell(const RunFacts& run, const Group& group, const std::string& name, std::size_t index) {
  if (index >= group.places.size() || group.places[index].empty()) return "no layer";
  if (group.places[index].size() == 1)
    return run.cited.count_in(layer_at(group.places[index].front()) + "/cycles", "");
  std::int64_t sum = 0;
  for (const std::size_t layer : group.places[index])
    sum = add_capped(sum, run.cited.integer(layer_at(layer) + "/cycles"));
  return run.cited.computed("cycles/" + name, static_cast<double>(sum),
                            four_digits(static_cast<double>(sum)));
}

std::string layer_rows(const std::vector<RunFacts>& runs) {
  std::vector<Group> groups;
  for (std::size_t r = 0; r < runs.size(); ++r) {
    const Json& layers = runs[r].cited.report()["layers"];
    for (std::size_t i = 0; i < layers.size(); ++i) {
      for (Group& group : groups) group.places.resize(r + 1);
      add_layer(groups, layers[i], r, i);
    }
  }
  std::string html;
  for (const Group& group : groups) {
    std::string name = group.layers.front();
    if (group.layers.size() > 1) name += " to " + group.layers.back();
    if (group.scene != "main") name = group.scene + "/" + name;
    html += fmt::format("<tr><td>{}</td>", escaped(name));
    double fewest = std::numeric_limits<double>::max();
    for (std::size_t r = 0; r < runs.size(); ++r)
      fewest = std::min(fewest, cycles_of(runs[r], group, r).value_or(fewest));
    for (std::size_t r = 0; r < runs.size(); ++r)
      html += fmt::format("<td class=\"n\"{}>{}</td>",
                          shaded(cycles_of(runs[r], group, r).value_or(fewest), fewest),
                          cycles_cell(runs[r], group, name, r));
    html += "</tr>\n";
  }
  return html;
}

}  // namespace

namespace {

std::string name_of(const RunFacts& run, std::size_t index) {
  return fmt::format("<a href=\"#run{}\">{} on {}</a><div class=\"note\">{}</div>", index,
                     escaped(run.workload), escaped(run.hardware), escaped(run.file));
}

// A row for each quantity, or, of many runs, for each run.
std::string totals_table(const std::vector<RunFacts>& runs, const std::string& head_of_runs) {
  const std::vector<Quantity> all = quantities(runs);
  std::string rows;
  if (runs.size() <= kFewRuns) {
    for (const Quantity& quantity : all) {
      rows += fmt::format("<tr><td>{}</td>", quantity.name);
      for (const RunFacts& run : runs) rows += fmt::format("<td class=\"n\">{}</td>", quantity.cell(run));
      rows += "</tr>\n";
    }
    return "<table>" + head_of_runs + "<tbody>\n" + rows + "</tbody></table>\n";
  }
  std::string head = "<thead><tr><th>run</th>";
  for (const Quantity& quantity : all) head += fmt::format("<th class=\"n\">{}</th>", quantity.name);
  for (std::size_t r = 0; r < runs.size(); ++r) {
    rows += fmt::format("<tr><td>{}</td>", name_of(runs[r], r));
    for (const Quantity& quantity : all)
      rows += fmt::format("<td class=\"n\">{}</td>", quantity.cell(runs[r]));
    rows += "</tr>\n";
  }
  return "<table>" + head + "</tr></thead><tbody>\n" + rows + "</tbody></table>\n";
}

}  // namespace

std::string comparison(const std::vector<RunFacts>& runs) {
  std::string head = "<thead><tr><th></th>";
  for (std::size_t r = 0; r < runs.size(); ++r)
    head += fmt::format("<th class=\"n\">{}</th>", name_of(runs[r], r));
  head += "</tr></thead>";
  const bool same_workload = std::all_of(
      runs.begin(), runs.end(), [&](const RunFacts& run) { return run.workload == runs.front().workload; });
  std::string html = "<h2>The runs beside each other</h2>\n" + totals_table(runs, head) + charts_across(runs);
  if (!same_workload || runs.size() > kFewRuns) return html;
  return html +
         "<h3>Cycles of the layers</h3>\n<p>A fusion group stands beside all layers that it is made of, "
         "taken "
         "together. The darker a field, the more cycles its layer takes beside the run with "
         "fewest.</p>\n<table>" +
         head + "<tbody>\n" + layer_rows(runs) + "</tbody></table>\n";
}

}  // namespace tilebeat::page
