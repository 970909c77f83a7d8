#include "tilebeat/report/report.h"
#include "tilebeat/report/text_table.h"
#include "tilebeat/schema/place.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace tilebeat {
namespace {

using Json = nlohmann::ordered_json;

// One value against a schema of the kind that `report_schema` makes. Throws at the first place that is wrong.
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

class Comparison {
 public:
  Comparison(const std::string& a, const std::string& b) : rows_{{"", a, b, "ratio"}} {}

  void count(const std::string& what, const Json& left, const Json& right) { add(what, left, right, false); }
  void share(const std::string& what, const Json& left, const Json& right) { add(what, left, right, true); }

  // A layer that one of the reports does not have is null there.
  void layer(const Json& left, const Json& right) {
    // What stands for several layers has their names.
    const Json& there = left.is_null() || (!right.is_null() && !right.contains("op")) ? right : left;
    const std::string prefix = there["name"].get<std::string>() + ": ";
    const auto of = [](const Json& layer, const char* key) { return layer.is_null() ? Json() : layer[key]; };
    for (const char* key : {"cycles", "beats", "bank_conflict_cycles", "macs"})
      count(prefix + key, of(left, key), of(right, key));
    share(prefix + "utilization", of(left, "utilization"), of(right, "utilization"));
    const auto stall = [](const Json& layer, const std::string& cause) {
      return layer.is_null() ? Json() : Json(layer["stall_cycles"].value(cause, std::int64_t{0}));
    };
    for (int i = 1; i < kActivityCount; ++i) {
      const std::string cause(activity_name(static_cast<Activity>(i)));
      const Json l = stall(left, cause), r = stall(right, cause);
      if ((!l.is_null() && l != 0) || (!r.is_null() && r != 0)) count(prefix + "stall " + cause, l, r);
    }
    for (const auto& [level, directions] : there["bytes"].items()) {
      for (const auto& [direction, ignored] : directions.items()) {
        const auto bytes = [&level = level, &direction = direction](const Json& layer) {
          return layer.is_null() ? Json() : layer["bytes"][level][direction];
        };
        count(fmt::format("{}{} {} bytes", prefix, level, direction), bytes(left), bytes(right));
      }
    }
  }

  std::string table() const { return format_rows(rows_); }

 private:
  void add(const std::string& what, const Json& left, const Json& right, bool percent) {
    const auto show = [percent](const Json& value) {
      if (value.is_null()) return std::string("no layer");
      return percent ? fmt::format("{:.2f} %", 100 * value.get<double>())
                     : grouped(value.get<std::int64_t>());
    };
    std::string ratio;
    if (!left.is_null() && !right.is_null()) {
      const auto l = left.get<double>(), r = right.get<double>();
      ratio = l != 0 ? fmt::format("{:.3f}", r / l) : (r == 0 ? "" : "-");
    }
    rows_.push_back({what, show(left), show(right), ratio});
  }

  std::vector<std::vector<std::string>> rows_;
};

// Layers of the workload that a layer of a report stands for: a fused unit for several.
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
  }
}

// The cycles of all PE arrays in a layer.
double array_cycles(const Json& layer) {
  auto cycles = layer["beats"].get<double>();
  for (const auto& [cause, count] : layer["stall_cycles"].items()) cycles += count.get<double>();
  return cycles;
}

// Several layers of a report as one; null: none. A single one is that layer.
Json together(const std::vector<const Json*>& layers) {
  if (layers.empty()) return {};
  if (layers.size() == 1) return *layers.front();
  Json sum{{"name", fmt::format("{} to {}", layers.front()->at("name").get<std::string>(),
                                layers.back()->at("name").get<std::string>())}};
  double used = 0;  // cycles
  for (const Json* layer : layers) {
    for (const char* key : {"cycles", "beats", "bank_conflict_cycles", "macs", "stall_cycles", "bytes"})
      add_numbers(sum[key], (*layer)[key]);
    used += layer->at("utilization").get<double>() * array_cycles(*layer);
  }
  const double cycles = array_cycles(sum);
  sum["utilization"] = cycles > 0 ? used / cycles : 0.0;
  return sum;
}

// Layers of both reports that stand for the same layers of the workload: one and one, or where one of the
// reports has fused them a unit and what the other one has of it.
struct Group {
  std::set<std::string> layers;
  std::vector<const Json*> left, right;
};
std::vector<Group> groups_of(const Json& left, const Json& right) {
  std::vector<Group> groups;
  const auto add = [&](const Json& layer, std::vector<const Json*> Group::*side) {
    const std::set<std::string> names = layers_of(layer);
    const auto shares = [&](const Group& group) {
      return std::any_of(group.layers.begin(), group.layers.end(),
                         [&](const std::string& name) { return names.count(name) > 0; });
    };
    Group made{names, {}, {}};
    std::vector<Group> others;
    std::optional<std::size_t> place;
    for (Group& group : groups) {
      if (!shares(group)) {
        others.push_back(std::move(group));
        continue;
      }
      if (!place) place = others.size();
      made.layers.merge(group.layers);
      made.left.insert(made.left.end(), group.left.begin(), group.left.end());
      made.right.insert(made.right.end(), group.right.begin(), group.right.end());
    }
    (made.*side).push_back(&layer);
    others.insert(others.begin() + static_cast<std::ptrdiff_t>(place.value_or(others.size())),
                  std::move(made));
    groups = std::move(others);
  };
  for (const Json& layer : left["layers"]) add(layer, &Group::left);
  for (const Json& layer : right["layers"]) add(layer, &Group::right);
  return groups;
}

}  // namespace

void check_report(const Json& report, const std::string& file) {
  check_value(report, report_schema(), Place(file));
}

std::string compare_reports(const Json& left, const Json& right, const std::string& a, const std::string& b) {
  Comparison comparison(a, b);
  const Json &l = left["total"], &r = right["total"];
  comparison.count("total cycles", l["cycles"], r["cycles"]);
  comparison.count("total macs", l["macs"], r["macs"]);
  comparison.share("total utilization", l["utilization"], r["utilization"]);
  comparison.count("total DRAM read bytes", l["dram_read_bytes"], r["dram_read_bytes"]);
  comparison.count("total DRAM write bytes", l["dram_write_bytes"], r["dram_write_bytes"]);
  for (const Group& group : groups_of(left, right))
    comparison.layer(together(group.left), together(group.right));
  return comparison.table();
}

}  // namespace tilebeat
