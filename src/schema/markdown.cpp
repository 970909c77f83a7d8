#include "tilebeat/schema/fields.h"

#include <algorithm>

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
  if (schema.contains("anyOf")) {
    std::string words;
    for (const auto& entry : schema["anyOf"])
      words += fmt::format("{}{}", words.empty() ? "" : " or ", allowed(entry));
    return words;
  }
  std::string type = schema.value("type", "any");
  if (type == "array") {
    const auto low = schema["minItems"].get<std::size_t>();
    const auto high = schema["maxItems"].get<std::size_t>();
    const std::string entries = schema["items"].contains("properties") ? "object" : allowed(schema["items"]);
    return fmt::format("list of {}: {}",
                       low == high ? fmt::format("{}", low) : fmt::format("{} to {}", low, high), entries);
  }
  if (schema.contains("minimum")) {
    return fmt::format("{} {} to {}", type, schema["minimum"].dump(), schema["maximum"].dump());
  }
  return type;
}

void add_rows(const OrderedJson& schema, const std::string& path, std::string& table) {
  const OrderedJson needed = schema.value("required", OrderedJson::array());
  for (const auto& [key, field] : schema["properties"].items()) {
    const std::string here = fmt::format("{}/{}", path, key);
    std::string standard = field.contains("default") ? fmt::format("`{}`", field["default"].dump()) : "";
    if (std::find(needed.begin(), needed.end(), key) != needed.end()) standard = "required";
    table += fmt::format("| `{}` | {} | {} | {} |\n", here, allowed(field), standard,
                         field["description"].get<std::string>());
    if (field.contains("properties")) add_rows(field, here, table);
    if (field.contains("items") && field["items"].contains("properties"))
      add_rows(field["items"], here + "/N", table);
  }
}

}  // namespace

std::string schema_markdown(const OrderedJson& schema) {
  std::string table = fmt::format("# {}\n\n{}\n\n", schema["title"].get<std::string>(),
                                  schema["description"].get<std::string>());
  table += "| field | allowed | default | meaning |\n| --- | --- | --- | --- |\n";
  add_rows(schema, "", table);
  return table;
}

}  // namespace tilebeat
