#include "schema/fields.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

namespace tilebeat {
namespace {

/// The values that a schema allows, in words.
std::string allowed(const OrderedJson& schema) {
  if (schema.contains("enum")) {
    std::string words;
    for (const auto& entry : schema["enum"])
      words += fmt::format("{}`{}`", words.empty() ? "" : ", ", entry.dump());
    return words;
  }
  if (schema.contains("anyOf") && !schema.contains("properties")) {
    std::string words;
    for (const auto& entry : schema["anyOf"])
      words += fmt::format("{}{}", words.empty() ? "" : " or ", allowed(entry));
    return words;
  }
  if (schema.contains("const")) return fmt::format("`{}`", schema["const"].dump());
  std::string type = schema.value("type", "any");
  if (type == "array") {
    const OrderedJson& items = schema["items"];
    const bool object =
        items.contains("properties") || (items.contains("anyOf") && items["anyOf"][0].contains("properties"));
    const std::string entries = object ? "object" : allowed(items);
    if (!schema.contains("minItems")) return fmt::format("list: {}", entries);
    const auto low = schema["minItems"].get<std::size_t>();
    const auto high = schema["maxItems"].get<std::size_t>();
    return fmt::format("list of {}: {}",
                       low == high ? fmt::format("{}", low) : fmt::format("{} to {}", low, high), entries);
  }
  if (schema.contains("minimum")) {
    if (!schema.contains("maximum")) return fmt::format("{} from {} on", type, schema["minimum"].dump());
    return fmt::format("{} {} to {}", type, schema["minimum"].dump(), schema["maximum"].dump());
  }
  return type;
}

class Table {
 public:
  void add_fields(const OrderedJson& schema, const std::string& path) {
    for (const auto& [key, field] : schema["properties"].items()) {
      if (key == kCommentKey) continue;
      const std::string here = fmt::format("{}/{}", path, key);
      add_row(schema, key, fmt::format("`{}`", here));
      add_below(field, here);
    }
  }
  std::string take() { return std::move(rows_); }

 private:
  void add_below(const OrderedJson& field, const std::string& path) {
    if (field.contains("properties")) add_fields(field, path);
    if (!field.contains("items")) return;
    const OrderedJson& items = field["items"];
    if (items.contains("properties")) add_fields(items, path + "/N");
    if (items.contains("anyOf") && items["anyOf"][0].contains("title"))
      add_kinds(items["anyOf"], path + "/N");
  }

  /// Fields that all kinds have come first; those of one kind name it.
  void add_kinds(const OrderedJson& kinds, const std::string& path) {
    const auto common = [&kinds](const std::string& key) {
      const auto same = [&](const OrderedJson& kind) {
        return kind["properties"].contains(key) && kind["properties"][key] == kinds[0]["properties"][key];
      };
      return std::all_of(kinds.begin(), kinds.end(), same);
    };
    for (const auto& [key, field] : kinds[0]["properties"].items()) {
      if (common(key) && key != kCommentKey) add_row(kinds[0], key, fmt::format("`{}/{}`", path, key));
    }
    for (const OrderedJson& kind : kinds) {
      for (const auto& [key, field] : kind["properties"].items()) {
        if (common(key)) continue;
        const std::string here = fmt::format("{}/{}", path, key);
        add_row(kind, key, fmt::format("`{}` of {}", here, kind["title"].get<std::string>()));
        add_below(field, here);
      }
    }
  }

  void add_row(const OrderedJson& schema, const std::string& key, const std::string& shown_path) {
    const OrderedJson& field = schema["properties"][key];
    const OrderedJson needed = schema.value("required", OrderedJson::array());
    std::string standard = field.contains("default") ? fmt::format("`{}`", field["default"].dump()) : "";
    if (std::find(needed.begin(), needed.end(), key) != needed.end()) standard = "required";
    const std::string row = fmt::format("| {} | {} | {} | {} |\n", shown_path, allowed(field), standard,
                                        field["description"].get<std::string>());
    if (listed_.insert(row).second) rows_ += row;
  }

  std::set<std::string> listed_;  // rows listed so far: fields that several kinds share are listed once
  std::string rows_;
};

}  // namespace

std::string schema_markdown(const OrderedJson& schema) {
  std::string table = fmt::format("# {}\n\n{}\n\n", schema["title"].get<std::string>(),
                                  schema["description"].get<std::string>());
  table += "| field | allowed | default | meaning |\n| --- | --- | --- | --- |\n";
  Table rows;
  rows.add_fields(schema, "");
  return table + rows.take() +
         "\nEvery object may have a `comment` besides: a text, or a list of lines. It has no effect.\n";
}

}  // namespace tilebeat
