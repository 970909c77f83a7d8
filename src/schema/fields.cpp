#include "schema/fields.h"

#include <algorithm>

#include <fmt/format.h>

namespace tilebeat {

Reader::Reader(const Json& json, const Place& place) : json_(json), place_(place) {
  if (!json.is_object()) place.refuse_value(json, "an object: {...}");
}

const Json* Reader::find(const char* key, bool needed) {
  known_.emplace_back(key);
  const auto found = json_.find(key);
  if (found != json_.end()) return &*found;
  if (needed) place_.key(key).fail("is missing, it has no default");
  return nullptr;
}

void Reader::exactly_one(std::initializer_list<const char*> keys) const {
  const auto present =
      std::count_if(keys.begin(), keys.end(), [this](const char* key) { return json_.contains(key); });
  if (present != 1) {
    place_.fail(fmt::format("{} of the keys \"{}\" are there, allowed is exactly one", present,
                            fmt::join(keys, "\", \"")));
  }
}

void Reader::one_or_all(const char* key, std::initializer_list<const char*> others) const {
  const auto there = [this](const char* name) { return json_.contains(name); };
  if (there(key) || std::all_of(others.begin(), others.end(), there)) return;
  place_.key(key).fail(
      fmt::format("is missing, it has no default without \"{}\"", fmt::join(others, "\", \"")));
}

const std::string* Reader::unknown() const {
  for (auto item = json_.begin(); item != json_.end(); ++item) {
    if (std::find(known_.begin(), known_.end(), item.key()) == known_.end()) return &item.key();
  }
  return nullptr;
}

void Reader::finish() const {
  if (const std::string* key = unknown()) {
    place_.key(*key).fail(fmt::format("unknown key {}, the nearest known name is \"{}\"", shown(*key),
                                      nearest_name(*key, known_)));
  }
}

void Reader::refuse_key(const std::string& key, const std::string& kind) const {
  place_.key(key).refuse(fmt::format("key \"{}\" of {}", key, kind),
                         fmt::format("one of \"{}\"", fmt::join(known_, "\", \"")));
}

void SchemaBuilder::exactly_one(std::initializer_list<const char*> keys) {
  for (const char* key : keys) alternatives_.push_back({{"required", OrderedJson::array({key})}});
}

void SchemaBuilder::one_or_all(const char* key, std::initializer_list<const char*> others) {
  choices_.push_back({{"required", OrderedJson::array({key})}});
  choices_.push_back({{"required", others}});
}

void SchemaBuilder::add(const char* key, OrderedJson schema, OrderedJson standard, bool needed) {
  if (needed) {
    needed_.push_back(key);
  } else if (!standard.is_null() && !standard.is_object()) {
    schema["default"] = std::move(standard);
  }
  properties_[key] = std::move(schema);
}

OrderedJson SchemaBuilder::take() {
  OrderedJson schema{{"type", "object"}, {"properties", std::move(properties_)}};
  if (!needed_.empty()) schema["required"] = std::move(needed_);
  if (!alternatives_.empty()) schema["oneOf"] = std::move(alternatives_);
  if (!choices_.empty()) schema["anyOf"] = std::move(choices_);
  schema["additionalProperties"] = false;
  return schema;
}

OrderedJson schema_document(const std::string& title, const std::string& description,
                            const OrderedJson& object_schema) {
  OrderedJson document{
      {"$schema", "http://json-schema.org/draft-07/schema#"}, {"title", title}, {"description", description}};
  document.update(object_schema);
  document["properties"]["$schema"] = {
      {"description", "where an editor finds this schema; it has no effect"}};
  return document;
}

}  // namespace tilebeat
