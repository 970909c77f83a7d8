#include "app/sweep_file.h"

#include "report/sweep_table.h"
#include "schema/json_file.h"
#include "schema/place.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

namespace tilebeat {
namespace {

constexpr std::size_t kMostAxes = 16, kMostLabels = 10'000;

// An object whose keys are JSON pointers.
struct SettingsValue {
  SweepSettings& settings;

  void read(const Json& json, const Place& place) {
    if (!json.is_object() || json.empty()) place.refuse_value(json, "an object of JSON pointers and values");
    for (const auto& [pointer, value] : json.items()) {
      check_pointer(pointer, place.key(pointer));
      settings[pointer] = value;
    }
  }
  OrderedJson write() const { return {}; }
  OrderedJson schema() const {
    return {{"type", "object"}, {"minProperties", 1}, {"propertyNames", {{"pattern", "^/"}}}};
  }
  static void check_pointer(const std::string& pointer, const Place& place) {
    if (pointer.empty() || pointer[0] != '/')
      place.refuse(Json(pointer).dump(), "a JSON pointer, such as \"/chip/clusters\"");
  }
};

// A short value of any kind, which is its own label.
struct LabelValue {
  Json& value;

  void read(const Json& json, const Place& place) {
    if (!json.is_primitive() || json.is_null() || !is_name(text_of(json)))
      place.refuse_value(json, "a number from 0 on, true, false or a name; others are written as choices");
    value = json;
  }
  OrderedJson write() const { return value; }
  OrderedJson schema() const {
    return {{"anyOf", {{{"type", "number"}, {"minimum", 0}}, {{"type", "boolean"}}, name_schema()}}};
  }
  static std::string text_of(const Json& json) {
    return json.is_string() ? json.get<std::string>() : json.dump();
  }
};

// The settings of a change, by file.
struct ChangeSettings {
  std::array<SweepSettings, kSweepTargets>& set;
};

template <class V>
void describe(V& v, ChangeSettings& c) {
  constexpr std::array<const char*, kSweepTargets> kDocs{
      "in the hardware file: JSON pointers and the values that stand there; what is missing on the way is "
      "made",
      "in the workload, likewise", "in the mapping file, likewise"};
  for (std::size_t t = 0; t < kSweepTargets; ++t)
    v.special(kSweepTargetNames[t].data(), SettingsValue{c.set[t]}, kDocs[t]);
}

struct SettingsOfChange {
  std::array<SweepSettings, kSweepTargets>& set;

  void read(const Json& json, const Place& place) {
    ChangeSettings settings{set};
    ObjectValue<ChangeSettings>{settings}.read(json, place);
  }
  OrderedJson write() const { return {}; }
  OrderedJson schema() const {
    ChangeSettings settings{set};
    return ObjectValue<ChangeSettings>{settings}.schema();
  }
};

}  // namespace

void describe(Fields& v, SweepChange& c) {
  v.required().name("label", c.label, "what the point is called by, in the table and in its folder's name");
  v.optional_text("config", c.files[0], "another hardware file");
  v.optional_text("layer", c.files[1], "another workload");
  v.optional_text("mapping", c.files[2], "another mapping file");
  v.special("set", SettingsOfChange{c.set}, "single values that are changed");
}

namespace {

// A number by the name of a column that has a limit.
struct LimitsValue {
  SweepLimits& limits;

  void read(const Json& json, const Place& place) {
    if (!json.is_object()) place.refuse_value(json, R"(an object: {"cycles": 100000})");
    const std::vector<std::string> columns = sweep_costs();
    for (const auto& [column, most] : json.items()) {
      if (std::find(columns.begin(), columns.end(), column) == columns.end())
        place.key(column).fail(fmt::format("unknown key {}, the nearest known name is \"{}\"", shown(column),
                                           nearest_name(column, columns)));
      limits[column] = read_number(most, place.key(column), kLimit);
    }
  }
  OrderedJson write() const { return OrderedJson::object(); }
  OrderedJson schema() const {
    OrderedJson properties = OrderedJson::object();
    for (const std::string& column : sweep_costs()) {
      properties[column] = {{"description", "the most that a point may have"}};
      properties[column].update(number_schema(kLimit));
    }
    return {{"type", "object"}, {"properties", std::move(properties)}, {"additionalProperties", false}};
  }
  static constexpr Bounds kLimit{0, 1e18};
};

}  // namespace

template <class V>
void describe(V& v, SweepAxis& a) {
  v.required().name("name", a.name, "heading of the column in the table");
  v.optional_choice("target", a.target, kSweepTargetNames, "the file that `values` are for");
  v.optional_text("pointer", a.pointer, "JSON pointer of the place in it");
  const auto element = [](Json& value) { return LabelValue{value}; };
  v.special("values", ListValue<std::vector<Json>, decltype(element)>{a.values, {0, kMostLabels}, element},
            "what stands there, point by point; each value is its label");
  v.objects("choices", a.choices, {0, kMostLabels}, "instead of the three: changes of any number of places");
  v.exactly_one({"pointer", "choices"});
}

template <class V>
void describe(V& v, SweepFile& file) {
  v.required().integer("tilebeat_sweep", file.version, {kSweepVersion, kSweepVersion},
                       "version of the format");
  v.required().name("name", file.name, "name of the sweep");
  v.required().special("config", TextValue{file.config}, "hardware file; paths start at this file");
  v.required().special("layer", TextValue{file.layer}, "workload");
  v.optional_text("mapping", file.mapping, "mapping file");
  v.choice("check", file.check, kSweepCheckNames, "whether outputs are compared, as for tilebeat run");
  v.special("limits", LimitsValue{file.limits},
            "by column of the table the most that a point may take; one that takes more has failed");
  v.objects("axes", file.axes, {0, kMostAxes},
            "the points are all combinations of their labels, the last axis changing first");
  v.objects("points", file.points, {0, kMostLabels}, "instead of axes: the points");
  v.exactly_one({"axes", "points"});
}

namespace {

void check_labels(const std::vector<SweepChange>& choices, const Place& place) {
  std::set<std::string> seen;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    if (!seen.insert(choices[i].label).second)
      place.item(i).fail(fmt::format("the label '{}' stands there twice", choices[i].label));
  }
}

// Turns values into choices.
void expand(SweepAxis& axis, const Place& place) {
  const char* labels = axis.pointer ? "values" : "choices";
  if (axis.pointer.has_value() != axis.target.has_value())
    place.fail(axis.pointer ? "target is missing" : "target has no meaning without pointer");
  if ((axis.pointer ? axis.values.size() : axis.choices.size()) == 0)
    place.key(labels).fail("at least one entry is expected");
  if (!axis.pointer && !axis.values.empty()) place.key("values").fail("has no meaning without pointer");
  if (axis.pointer) SettingsValue::check_pointer(*axis.pointer, place.key("pointer"));
  for (const Json& value : axis.values) {
    SweepChange change;
    change.label = LabelValue::text_of(value);
    nth(change.set, *axis.target)[*axis.pointer] = value;
    axis.choices.push_back(std::move(change));
  }
  check_labels(axis.choices, place.key(labels));
}

// Of two axes that change one place, the values of the first would never be seen.
void check_distinct_places(const std::vector<SweepAxis>& axes, const Place& place) {
  std::map<std::pair<std::size_t, std::string>, std::size_t> axis_of;  // by target and pointer
  for (std::size_t a = 0; a < axes.size(); ++a) {
    for (const SweepChange& change : axes[a].choices) {
      for (std::size_t t = 0; t < kSweepTargets; ++t) {
        for (const auto& [pointer, value] : change.set[t]) {
          const std::size_t first = axis_of.try_emplace({t, pointer}, a).first->second;
          if (first != a)
            place.item(a).fail(fmt::format("axis '{}' changes {} of the {} as axis '{}' does", axes[a].name,
                                           pointer, nth(kSweepTargetNames, t), axes[first].name));
        }
      }
    }
  }
}

}  // namespace

SweepFile load_sweep(const std::string& path) {
  const Json json = read_json_file(path);
  check_file_kind(json, FileKind::kSweep, path);
  SweepFile file;
  read_document(json, path, file);
  const Place root(path);
  if (file.axes.empty() && file.points.empty())
    root.fail("no point: axes or points with at least one entry are expected");
  check_labels(file.points, root.key("points"));
  std::set<std::string> names;
  const std::vector<std::string> columns = sweep_columns();
  for (std::size_t i = 0; i < file.axes.size(); ++i) {
    const Place place = root.key("axes").item(i);
    const std::string& name = file.axes[i].name;
    if (std::find(columns.begin(), columns.end(), name) != columns.end())
      place.key("name").fail(fmt::format("'{}' is a column of the results, take another name", name));
    if (!names.insert(name).second) place.key("name").fail(fmt::format("'{}' stands there twice", name));
    expand(file.axes[i], place);
  }
  check_distinct_places(file.axes, root.key("axes"));
  return file;
}

OrderedJson sweep_schema() {
  SweepFile file;
  return schema_document("Tilebeat sweep file",
                         "Runs of one workload on one configuration with changes, for `tilebeat sweep`: all "
                         "combinations of the labels of axes, or a list of points.",
                         ObjectValue<SweepFile>{file}.schema());
}

}  // namespace tilebeat
