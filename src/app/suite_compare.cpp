#include "app/suite_compare.h"

#include "app/provenance.h"
#include "report/page/markup.h"
#include "report/sweep_table.h"
#include "schema/place.h"
#include "tilebeat/error.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace tilebeat {
namespace {

// The values of a suite that have tolerances, by name.
struct CostField {
  const char* name;
  double (*value)(const StoredCosts&);
  std::string (*shown)(const StoredCosts&);
  double (*tolerance)(const SuiteTolerances&);
};
constexpr std::array<CostField, 3> kFields{
    {{"cycles", [](const StoredCosts& c) { return static_cast<double>(c.cycles); },
      [](const StoredCosts& c) { return std::to_string(c.cycles); },
      [](const SuiteTolerances& t) { return t.cycles; }},
     {"dram_bytes", [](const StoredCosts& c) { return static_cast<double>(c.dram_bytes); },
      [](const StoredCosts& c) { return std::to_string(c.dram_bytes); },
      [](const SuiteTolerances& t) { return t.dram_bytes; }},
     {"energy_pj", [](const StoredCosts& c) { return c.energy_pj; },
      [](const StoredCosts& c) { return Json(c.energy_pj).dump(); },
      [](const SuiteTolerances& t) { return t.energy_pj; }}}};

void compare_costs(const std::string& run, const std::string& place, const StoredCosts& before,
                   const StoredCosts& now, const SuiteTolerances& tolerances,
                   std::vector<SuiteDifference>& found) {
  constexpr double kPercent = 100;
  for (const CostField& field : kFields) {
    const double old = field.value(before), change = field.value(now) - old;
    if (std::abs(change) <= old * field.tolerance(tolerances) / kPercent) continue;
    found.push_back({run, place, field.name, field.shown(before), field.shown(now),
                     old != 0 ? std::optional(kPercent * change / old) : std::nullopt});
  }
}

// Entries that both have go to `both`; a difference of `field` for each that one of them has alone.
template <class T, class Both>
void compare_names(const std::string& run, const std::string& kind, const std::map<std::string, T>& before,
                   const std::map<std::string, T>& now, const Both& both,
                   std::vector<SuiteDifference>& found) {
  for (const auto& [name, entry] : before) {
    const std::string place = fmt::format("{} {}", kind, name);
    if (const auto other = now.find(name); other != now.end()) {
      both(place, entry, other->second);
    } else {
      found.push_back({run, place, "there", "yes", "no", {}});
    }
  }
  for (const auto& [name, entry] : now) {
    if (before.count(name) == 0)
      found.push_back({run, fmt::format("{} {}", kind, name), "there", "no", "yes", {}});
  }
}

}  // namespace

std::string SuiteDifference::text() const {
  return one_line(fmt::format("{}: {}: {}: {} -> {}{}", run, place, field, before, after,
                              percent ? fmt::format(" ({:+.3g} %)", *percent) : ""));
}

StoredRun stored_run(const nlohmann::ordered_json& report, const std::string& outputs) {
  const nlohmann::ordered_json total = sweep_values(report);
  StoredRun run;
  run.costs = {total["cycles"].get<std::int64_t>(), total["dram_bytes"].get<std::int64_t>(),
               total.value("energy_pj", 0.0)};
  for (const nlohmann::ordered_json& layer : report["layers"]) {
    const nlohmann::ordered_json& dram = layer["bytes"]["dram"];
    const nlohmann::ordered_json energy = layer.value("energy_pj", nlohmann::ordered_json::object());
    run.layers[layer["name"].get<std::string>()] = {
        layer["cycles"].get<std::int64_t>(),
        dram["read"].get<std::int64_t>() + dram["write"].get<std::int64_t>(), energy.value("total", 0.0)};
  }
  for (const nlohmann::ordered_json& name : report.value("outputs", nlohmann::ordered_json::array())) {
    const std::string file = fmt::format("{}/{}.npy", outputs, name.get<std::string>());
    const std::optional<std::string> hash = hashes_of({file}).at(file);
    if (!hash) throw UserError(file + ": is not there any more");
    run.outputs[name.get<std::string>()] = *hash;
  }
  return run;
}

StoredConfiguration stored_configuration(const nlohmann::ordered_json& report) {
  StoredConfiguration values;
  const Json flat = Json(report["configuration"]).flatten();
  for (const auto& [pointer, value] : flat.items()) values[pointer] = value;
  return values;
}

std::vector<SuiteDifference> differences(const std::string& run, const StoredRun& before,
                                         const StoredRun& now, const SuiteTolerances& tolerances) {
  std::vector<SuiteDifference> found;
  compare_costs(run, "total", before.costs, now.costs, tolerances, found);
  compare_names(
      run, "layer", before.layers, now.layers,
      [&](const std::string& place, const StoredCosts& old, const StoredCosts& layer) {
        compare_costs(run, place, old, layer, tolerances, found);
      },
      found);
  compare_names(
      run, "output", before.outputs, now.outputs,
      [&](const std::string& place, const std::string& old, const std::string& hash) {
        if (old != hash) found.push_back({run, place, "sha256", old, hash, {}});
      },
      found);
  return found;
}

std::vector<SuiteDifference> differences(const std::string& name, const StoredConfiguration& before,
                                         const StoredConfiguration& now) {
  std::vector<SuiteDifference> found;
  for (const auto& [pointer, value] : before) {
    const auto other = now.find(pointer);
    if (other != now.end() && other->second == value) continue;
    found.push_back({name,
                     "configuration",
                     pointer,
                     shown(value),
                     other != now.end() ? shown(other->second) : "nothing",
                     {}});
  }
  return found;
}

std::string junit_text(const std::string& suite, const std::vector<SuiteCase>& cases) {
  using page::escaped;
  std::size_t failures = 0, errors = 0;
  std::string body;
  for (const SuiteCase& one : cases) {
    body += fmt::format("    <testcase classname=\"{}.{}\" name=\"{}\"", escaped(suite), escaped(one.group),
                        escaped(one.name));
    if (one.error.empty() && one.differences.empty()) {
      body += "/>\n";
      continue;
    }
    const bool error = !one.error.empty();
    (error ? errors : failures) += 1;
    std::string lines, first = one.error;
    for (const SuiteDifference& difference : one.differences)
      lines += (lines.empty() ? "" : "\n") + escaped(difference.text());
    if (!error)
      first = one.differences.size() == 1 ? one.differences.front().text()
                                          : fmt::format("{} differences", one.differences.size());
    const char* tag = error ? "error" : "failure";
    body += fmt::format(">\n      <{} type=\"{}\" message=\"{}\">{}</{}>\n    </testcase>\n", tag,
                        error ? "run" : "difference", escaped(first), error ? escaped(first) : lines, tag);
  }
  const std::string counts = fmt::format("name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\"",
                                         escaped(suite), cases.size(), failures, errors);
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites {}>\n  <testsuite {} "
      "skipped=\"0\">\n{}  </testsuite>\n</testsuites>\n",
      counts, counts, body);
}

}  // namespace tilebeat
