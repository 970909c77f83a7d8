#include "report/report.h"
#include "report/sweep_table.h"
#include "report/text_table.h"
#include "schema/place.h"
#include "tilebeat/error.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace tilebeat {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kChecks = "checks";
constexpr const char* kFailed = "FAILED";  // the checks of a run that did not pass

// A quantity of several reports. Values are null where a report has none.
struct Row {
  std::string layer;  ///< empty: of the whole run
  std::string quantity;
  std::vector<Json> values;
};

// Rows with a value in some report.
class Comparison {
 public:
  explicit Comparison(const std::vector<NamedReport>& reports) : reports_(reports) {}

  void totals() {
    std::vector<Json> values;
    for (const NamedReport& report : reports_) values.push_back(total_of(report.report));
    for (const auto& [key, quantity] : {std::pair("peak_macs_per_clock", "peak MACs a cycle"),
                                        {"cycles", "cycles"},
                                        {"time_us", "microseconds"},
                                        {"macs", "macs"},
                                        {"utilization", "utilization"},
                                        {"tops", "TOPS"},
                                        {"dram_read_bytes", "DRAM read bytes"},
                                        {"dram_write_bytes", "DRAM write bytes"},
                                        {"dram_gb_s", "DRAM GB/s"},
                                        {"largest_stall", "largest stall"},
                                        {"largest_stall_share", "largest stall's share"},
                                        {"energy_pj", "energy pJ"},
                                        {"edp_joule_seconds", "energy-delay J s"},
                                        {"area_mm2", "area mm2"},
                                        {"passed", kChecks}})
      add("", quantity, values, [&key = key](const Json& total) { return total.value(key, Json()); });
    add_parts("energy pJ", "energy_parts", values);
    add_parts("area mm2", "area_parts", values);
    add_losses("", values);
  }

  // Adds the rows of a layer, one value per report: a layer, several layers added up, or null where a report
  // has none.
  void layer(const std::vector<Json>& layers) {
    const Json& named = named_of(layers);
    const std::string name = named["name"].get<std::string>();
    for (const char* key : {"cycles", "beats", "bank_conflict_cycles", "macs", "utilization"})
      add(name, key, layers, [key](const Json& layer) { return layer[key]; });
    add(name, "energy pJ", layers,
        [](const Json& layer) { return layer.contains("energy_pj") ? layer["energy_pj"]["total"] : Json(); });
    add_losses(name, layers);
    for (int i = 1; i < kActivityCount; ++i) {
      const std::string cause(activity_name(static_cast<Activity>(i)));
      add(name, "stall " + cause, layers,
          [&](const Json& layer) { return Json(layer["stall_cycles"].value(cause, std::int64_t{0})); });
    }
    for (const auto& [level, directions] : named["bytes"].items()) {
      for (const auto& [direction, ignored] : directions.items())
        add(name, fmt::format("{} {} bytes", level, direction), layers,
            [&level = level, &direction = direction](const Json& layer) {
              return layer["bytes"][level][direction];
            });
    }
  }

  bool has(const std::string& quantity) const { return quantities_.count(quantity) != 0; }
  // Throws UserError unless `quantity` is one that the reports have as a number, be it 0 everywhere, or the
  // checks.
  void check_quantity(const std::string& quantity) const {
    const auto refuse = [&quantity](const std::string& why) {
      throw UserError(one_line(fmt::format("--fail-above {}: {}", quantity, why)));
    };
    const std::vector<std::string> known(quantities_.begin(), quantities_.end());
    if (!has(quantity))
      refuse(fmt::format("no such quantity, the nearest one is {}; there are {}",
                         nearest_name(quantity, known), fmt::join(known, ", ")));
    if (words_.count(quantity) != 0) refuse("is no number");
  }

  std::vector<std::string> exceeded(const std::vector<CompareLimit>& limits) const {
    std::vector<std::string> lines;
    for (const Row& row : rows_) {
      const CompareLimit* limit = row.quantity == kChecks ? &limits.front() : limit_of(row, limits);
      for (std::size_t i = 1; limit != nullptr && i < row.values.size(); ++i) {
        if (is_beyond(row, i, *limit)) lines.push_back(beyond_text(row, i, *limit));
      }
    }
    return lines;
  }

  std::string table(TableFormat format) const {
    if (format == TableFormat::kCsv) return csv();
    std::vector<std::vector<std::string>> rows{{""}};
    for (const NamedReport& report : reports_) rows[0].push_back(one_line(report.name));
    for (std::size_t i = 1; i < reports_.size(); ++i)
      rows[0].push_back(reports_.size() == 2 ? "ratio" : fmt::format("ratio {}", i + 1));
    for (const Row& row : rows_) {
      rows.push_back({row.layer.empty() ? "total " + row.quantity : row.layer + ": " + row.quantity});
      for (const Json& value : row.values) rows.back().push_back(shown_value(row, value));
      for (std::size_t i = 1; i < row.values.size(); ++i) rows.back().push_back(ratio(row, i, "-"));
    }
    return format == TableFormat::kText ? format_rows(rows) : markdown_rows(rows);
  }

 private:
  static std::string plain(const std::string& quantity) {
    std::string name;
    for (const char c : quantity) {
      const auto byte = static_cast<unsigned char>(c);
      if (std::isalnum(byte) != 0) {
        name += static_cast<char>(std::tolower(byte));
      } else if (!name.empty() && name.back() != '_') {
        name += '_';
      }
    }
    return name;
  }

  static const CompareLimit* limit_of(const Row& row, const std::vector<CompareLimit>& limits) {
    const CompareLimit* found = nullptr;
    for (const CompareLimit& limit : limits) {
      if (limit.quantity == plain(row.quantity)) return &limit;
      if (limit.quantity.empty()) found = &limit;
    }
    return found;
  }

  static bool is_beyond(const Row& row, std::size_t i, const CompareLimit& limit) {
    const Json &first = row.values[0], &value = row.values[i];
    if (value == kFailed) return true;
    if (!first.is_number() && !value.is_number()) return false;
    if (!first.is_number() || !value.is_number()) return true;
    const double change = value.get<double>() - first.get<double>();
    const double allowed = std::abs(first.get<double>()) * limit.percent / 100;
    return (limit.direction != LimitDirection::kLess && change > allowed) ||
           (limit.direction != LimitDirection::kMore && -change > allowed);
  }

  std::string beyond_text(const Row& row, std::size_t i, const CompareLimit& limit) const {
    const Json &first = row.values[0], &value = row.values[i];
    if (value == kFailed) return one_line(reports_[i].name + ": total: did not pass its checks");
    std::string change;
    if (first.is_number() && value.is_number() && first != 0)
      change = fmt::format(" ({:+.3g} %)", 100 * (value.get<double>() / first.get<double>() - 1));
    constexpr std::array<const char*, 3> kSigns{"", "+", "-"};
    return one_line(fmt::format("{}: {}: {}: {} -> {}{}, allowed {}{} %", reports_[i].name,
                                row.layer.empty() ? "total" : "layer " + row.layer, row.quantity,
                                first.is_null() ? "nothing" : first.dump(),
                                value.is_null() ? "nothing" : value.dump(), change,
                                nth(kSigns, limit.direction), limit.percent));
  }

  // What has the names of all of a row's layers stands for several.
  static const Json& named_of(const std::vector<Json>& layers) {
    const Json* named = nullptr;
    for (const Json& layer : layers) {
      if (!layer.is_null() && (named == nullptr || !layer.contains("op"))) named = &layer;
    }
    return *named;
  }

  void add_losses(const std::string& layer, const std::vector<Json>& from) {
    for (const std::string_view loss : kMacLossNames) {
      const std::string name(loss);
      add(layer, "lost macs, " + name, from, [&name](const Json& source) {
        return source.contains("lost_macs") ? source["lost_macs"][name] : Json();
      });
    }
  }

  // A row for each part of `whole`, but for those that are 0 everywhere; `parts` is their place in the
  // totals.
  void add_parts(const std::string& whole, const char* parts, const std::vector<Json>& totals) {
    Json all = Json::object();
    for (const Json& total : totals) {
      if (total.contains(parts)) all.update(total[parts]);
    }
    for (const auto& [part, ignored] : all.items()) {
      const auto get = [&parts, &part = part](const Json& total) {
        return total.contains(parts) ? total[parts].value(part, Json()) : Json();
      };
      if (part != "total" && part != "memories") add("", whole + ", " + part, totals, get, Zeros::kLeftOut);
    }
  }

  static Json total_of(const Json& report) {
    Json total = sweep_values(report);
    total["peak_macs_per_clock"] = report["peak_macs_per_clock"];
    if (report.contains("energy"))
      total["energy_parts"] = report["energy"]["pj"], total["area_parts"] = report["energy"]["area_mm2"];
    const double seconds = total["time_us"].get<double>() * 1e-6;
    const auto rate = [seconds](const Json& count, double scale) {
      return seconds > 0 ? count.get<double>() * scale / seconds : 0.0;
    };
    total["tops"] = rate(total["macs"], 2e-12), total["dram_gb_s"] = rate(total["dram_bytes"], 1e-9);
    if (report["total"].contains("lost_macs")) total["lost_macs"] = report["total"]["lost_macs"];
    total["passed"] = report["passed"].get<bool>() ? "passed" : kFailed;
    return total;
  }

  enum class Zeros { kShown, kLeftOut };

  template <class Get>
  void add(const std::string& layer, const std::string& quantity, const std::vector<Json>& from,
           const Get& get, Zeros zeros = Zeros::kShown) {
    Row row{layer, quantity, {}};
    for (const Json& source : from) row.values.push_back(source.is_null() ? Json() : get(source));
    quantities_.insert(plain(quantity));
    const auto is_word = [](const Json& value) { return value.is_string(); };
    if (quantity != kChecks && std::any_of(row.values.begin(), row.values.end(), is_word))
      words_.insert(plain(quantity));
    // Rows that no report has, and rows of a layer or of a part with zeros only, are left out.
    const bool zeros_shown = layer.empty() && zeros == Zeros::kShown;
    const bool told = std::any_of(row.values.begin(), row.values.end(), [&](const Json& value) {
      return !value.is_null() && (zeros_shown || value != 0);
    });
    if (told) rows_.push_back(std::move(row));
  }

  static std::string shown_value(const Row& row, const Json& value) {
    if (value.is_null()) return row.layer.empty() ? "-" : "no layer";
    if (value.is_string()) return value.get<std::string>();
    if (row.quantity == "utilization" || row.quantity == "largest stall's share")
      return fmt::format("{:.2f} %", 100 * value.get<double>());
    if (value.is_number_integer()) return grouped(value.get<std::int64_t>());
    const auto number = value.get<double>();
    return number != 0 && std::abs(number) < 0.01 ? fmt::format("{:.3g}", number)
                                                  : fmt::format("{:.3f}", number);
  }

  // The ratio of value `i` to the first one; `none` where the first one is 0.
  static std::string ratio(const Row& row, std::size_t i, const char* none) {
    if (!row.values[0].is_number() || !row.values[i].is_number()) return "";
    const auto first = row.values[0].get<double>(), value = row.values[i].get<double>();
    return first != 0 ? fmt::format("{:.3f}", value / first) : (value == 0 ? "" : none);
  }

  static std::string markdown_rows(const std::vector<std::vector<std::string>>& rows) {
    std::string text;
    for (std::size_t r = 0; r < rows.size(); ++r) {
      for (const std::string& cell : rows[r]) {
        std::string escaped;
        for (const char c : cell) escaped += c == '|' ? "\\|" : std::string(1, c);
        text += "| " + escaped + " ";
      }
      text += "|\n";
      if (r > 0) continue;
      text += "| --- |";
      for (std::size_t c = 1; c < rows[r].size(); ++c) text += " ---: |";
      text += "\n";
    }
    return text;
  }

  std::string csv() const {
    std::vector<std::string> cells{"layer", "quantity"};
    for (const NamedReport& report : reports_) cells.push_back(one_line(report.name));
    for (std::size_t i = 1; i < reports_.size(); ++i) cells.push_back(fmt::format("ratio {}", i + 1));
    std::string text = csv_line(cells);
    for (const Row& row : rows_) {
      cells = {row.layer, row.quantity};
      for (const Json& value : row.values) cells.push_back(csv_value(value));
      for (std::size_t i = 1; i < row.values.size(); ++i) cells.push_back(ratio(row, i, ""));
      text += csv_line(cells);
    }
    return text;
  }

  const std::vector<NamedReport>& reports_;
  std::vector<Row> rows_;
  std::set<std::string> quantities_, words_;  // as limits name them: all, and those that are no numbers
};

// The workload's layers in an entry of a report: several for a fusion group.
std::set<std::string> layers_of(const Json& layer) {
  if (layer["layers"].empty()) return {layer["name"].get<std::string>()};
  const auto names = layer["layers"].get<std::vector<std::string>>();
  return {names.begin(), names.end()};
}

void add_numbers(Json& sum, const Json& value) {
  if (value.is_object()) {
    if (sum.is_null()) sum = Json::object();
    for (const auto& [key, entry] : value.items()) add_numbers(sum[key], entry);
  } else if (value.is_number_integer()) {
    sum = (sum.is_null() ? 0 : sum.get<std::int64_t>()) + value.get<std::int64_t>();
  } else if (value.is_number()) {
    sum = (sum.is_null() ? 0.0 : sum.get<double>()) + value.get<double>();
  }
}

// The cycles of all PE arrays in a layer.
double array_cycles(const Json& layer) {
  auto cycles = layer["beats"].get<double>();
  for (const auto& [cause, count] : layer["stall_cycles"].items()) cycles += count.get<double>();
  return cycles;
}

// Several layers of a report added up, or a single layer; null: none.
Json together(const std::vector<const Json*>& layers) {
  if (layers.empty()) return {};
  if (layers.size() == 1) return *layers.front();
  Json sum{{"name", fmt::format("{} to {}", layers.front()->at("name").get<std::string>(),
                                layers.back()->at("name").get<std::string>())}};
  double used = 0;  // cycles
  for (const Json* layer : layers) {
    for (const char* key : {"cycles", "beats", "bank_conflict_cycles", "macs", "stall_cycles", "bytes"})
      add_numbers(sum[key], (*layer)[key]);
    for (const char* key : {"lost_macs", "energy_pj"}) {
      if (layer->contains(key)) add_numbers(sum[key], (*layer)[key]);
    }
    used += layer->at("utilization").get<double>() * array_cycles(*layer);
  }
  const double cycles = array_cycles(sum);
  sum["utilization"] = cycles > 0 ? used / cycles : 0.0;
  return sum;
}

// Layers of the reports for the same layers of the workload: one layer of each report, or the fusion group of
// one report and the layers of the others that it consists of.
struct Group {
  std::set<std::string> layers;
  std::vector<std::vector<const Json*>> sides;  ///< by report
};

void add_layer(std::vector<Group>& groups, const Json& layer, std::size_t side, std::size_t reports) {
  Group made{layers_of(layer), std::vector<std::vector<const Json*>>(reports)};
  const std::set<std::string> names = made.layers;
  std::vector<Group> others;
  std::optional<std::size_t> place;
  for (Group& group : groups) {
    const bool shares = std::any_of(group.layers.begin(), group.layers.end(),
                                    [&](const std::string& name) { return names.count(name) > 0; });
    if (!shares) {
      others.push_back(std::move(group));
      continue;
    }
    if (!place) place = others.size();
    made.layers.merge(group.layers);
    for (std::size_t i = 0; i < reports; ++i)
      made.sides[i].insert(made.sides[i].end(), group.sides[i].begin(), group.sides[i].end());
  }
  made.sides[side].push_back(&layer);
  others.insert(others.begin() + to_signed(place.value_or(others.size())), std::move(made));
  groups = std::move(others);
}

std::vector<Group> groups_of(const std::vector<NamedReport>& reports) {
  std::vector<Group> groups;
  for (std::size_t i = 0; i < reports.size(); ++i) {
    for (const Json& layer : reports[i].report["layers"]) add_layer(groups, layer, i, reports.size());
  }
  return groups;
}

Comparison comparison_of(const std::vector<NamedReport>& reports, CompareDetail detail) {
  Comparison comparison(reports);
  comparison.totals();
  if (detail == CompareDetail::kTotals) return comparison;
  for (const Group& group : groups_of(reports)) {
    std::vector<Json> layers;
    for (const auto& side : group.sides) layers.push_back(together(side));
    comparison.layer(layers);
  }
  return comparison;
}

}  // namespace

std::string compare_reports(const std::vector<NamedReport>& reports, CompareDetail detail,
                            TableFormat format) {
  return comparison_of(reports, detail).table(format);
}

std::vector<std::string> exceeded_limits(const std::vector<NamedReport>& reports, CompareDetail detail,
                                         const std::vector<CompareLimit>& limits) {
  if (limits.empty()) return {};
  const Comparison compared = comparison_of(reports, detail);
  const Comparison layers = comparison_of(reports, CompareDetail::kLayers);
  for (const CompareLimit& limit : limits) {
    if (limit.quantity.empty()) continue;
    layers.check_quantity(limit.quantity);
    if (!compared.has(limit.quantity))
      throw UserError(
          fmt::format("--fail-above {}: is a quantity of layers, which --layers compares", limit.quantity));
  }
  return compared.exceeded(limits);
}

}  // namespace tilebeat
