#include "schema/fields.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

namespace tilebeat {
namespace {

constexpr std::size_t kMostCommentLines = 1000;

void check_comment(const Json& json, const Place& place) {
  if (json.is_string()) return;
  if (!json.is_array()) place.refuse_value(json, "a text, or a list of texts");
  check_list(json, place, {0, kMostCommentLines});
  for (std::size_t i = 0; i < json.size(); ++i) {
    if (!json[i].is_string()) place.item(i).refuse_value(json[i], "a text");
  }
}

OrderedJson comment_schema() {
  const OrderedJson text{{"type", "string"}};
  return {{"description", "for readers; it has no effect"},
          {"anyOf", {text, list_schema(text, {0, kMostCommentLines})}}};
}

class Reader : public Fields {
 public:
  Reader(const Json& json, const Place& place) : json_(json), place_(place) {
    if (!json.is_object()) place.refuse_value(json, "an object: {...}");
    if (json.contains(kCommentKey)) check_comment(json[kCommentKey], place.key(kCommentKey));
  }
  bool reading() const override { return true; }
  void exactly_one(std::initializer_list<const char*> keys) override {
    const auto present =
        std::count_if(keys.begin(), keys.end(), [this](const char* key) { return json_.contains(key); });
    if (present != 1) {
      give_up(place_, fmt::format("{} of the keys \"{}\" are there, allowed is exactly one", present,
                                  fmt::join(keys, "\", \"")));
    }
  }
  void one_or_all(const char* key, std::initializer_list<const char*> others) override {
    const auto there = [this](const char* name) { return json_.contains(name); };
    if (there(key) || std::all_of(others.begin(), others.end(), there)) return;
    give_up(place_.key(key),
            fmt::format("is missing, it has no default without \"{}\"", fmt::join(others, "\", \"")));
  }
  void renamed(const char* before, const char* key) override {
    if (!json_.contains(before)) return;
    errors_.attempt([&] { place_.key(before).fail(fmt::format("is called \"{}\" now", key)); });
    ignore(before);
  }
  void ignore(const char* key) { known_.emplace_back(key); }
  void stop() override { errors_.raise(); }
  /// The keys that no field has taken.
  std::vector<std::string> unknown() const {
    std::vector<std::string> keys;
    for (const auto& [key, value] : json_.items()) {
      if (key != kCommentKey && std::find(known_.begin(), known_.end(), key) == known_.end())
        keys.push_back(key);
    }
    return keys;
  }
  /// Refuses the unknown keys, those that `elsewhere` has as keys of other kinds than `kind`, and throws all
  /// errors of the object.
  template <class Elsewhere>
  void finish(const Elsewhere& elsewhere, const std::function<std::string()>& kind) {
    for (const std::string& key : unknown()) {
      errors_.attempt([&] {
        if (!elsewhere(key)) place_.unknown_key(key, json_[key], known_);
        place_.key(key).refuse(fmt::format("key \"{}\" of {}", key, kind()),
                               fmt::format("one of \"{}\"", fmt::join(known_, "\", \"")));
      });
    }
    errors_.raise();
  }

 private:
  void field(const char* key, const char* /*doc*/, FieldValue& value, bool needed) override {
    known_.emplace_back(key);
    const auto found = json_.find(key);
    errors_.attempt([&] {
      if (found != json_.end()) return value.read(*found, place_.key(key));
      if (needed) place_.key(key).fail("is missing, it has no default");
    });
  }
  /// Fields that follow may depend on this rule.
  void give_up(const Place& place, const std::string& problem) {
    errors_.attempt([&] { place.fail(problem); });
    errors_.raise();
  }

  const Json& json_;
  const Place& place_;
  std::vector<std::string> known_;
  ErrorList errors_;
};

class KeyLister : public Fields {
 public:
  bool has(const std::string& key) const { return keys_.count(key) > 0; }

 private:
  void field(const char* key, const char* /*doc*/, FieldValue& /*value*/, bool /*needed*/) override {
    keys_.emplace(key);
  }

  std::set<std::string> keys_;
};

class Writer : public Fields {
 public:
  OrderedJson take() { return std::move(json_); }

 private:
  void field(const char* key, const char* /*doc*/, FieldValue& value, bool /*needed*/) override {
    OrderedJson json = value.write();
    if (!json.is_null()) json_[key] = std::move(json);
  }

  OrderedJson json_ = OrderedJson::object();
};

class SchemaBuilder : public Fields {
 public:
  void exactly_one(std::initializer_list<const char*> keys) override {
    for (const char* key : keys) alternatives_.push_back({{"required", OrderedJson::array({key})}});
  }
  void one_or_all(const char* key, std::initializer_list<const char*> others) override {
    choices_.push_back({{"required", OrderedJson::array({key})}});
    choices_.push_back({{"required", others}});
  }
  OrderedJson take() {
    properties_[kCommentKey] = comment_schema();
    OrderedJson schema{{"type", "object"}, {"properties", std::move(properties_)}};
    if (!needed_.empty()) schema["required"] = std::move(needed_);
    if (!alternatives_.empty()) schema["oneOf"] = std::move(alternatives_);
    if (!choices_.empty()) schema["anyOf"] = std::move(choices_);
    schema["additionalProperties"] = false;
    return schema;
  }

 private:
  void field(const char* key, const char* doc, FieldValue& value, bool needed) override {
    OrderedJson schema{{"description", doc}};
    schema.update(value.schema());
    OrderedJson standard = value.write();
    if (needed) {
      needed_.push_back(key);
    } else if (!standard.is_null() && !standard.is_object()) {
      schema["default"] = std::move(standard);
    }
    properties_[key] = std::move(schema);
  }

  OrderedJson properties_ = OrderedJson::object();
  OrderedJson needed_ = OrderedJson::array();
  OrderedJson alternatives_ = OrderedJson::array(), choices_ = OrderedJson::array();
};

}  // namespace

void read_object(const Json& json, const Place& place, const Describe& fields, const char* ignored) {
  Reader reader(json, place);
  if (ignored != nullptr) reader.ignore(ignored);
  fields(reader);
  reader.finish([](const std::string&) { return false; }, {});
}

void read_kind(const Json& json, const Place& place, const Describe& fields, const Describe& others,
               const std::function<std::string()>& kind) {
  Reader reader(json, place);
  fields(reader);
  KeyLister keys;
  if (!reader.unknown().empty()) others(keys);
  reader.finish([&](const std::string& key) { return keys.has(key); }, kind);
}

OrderedJson write_object(const Describe& fields) {
  Writer writer;
  fields(writer);
  return writer.take();
}

OrderedJson object_schema(const Describe& fields) {
  SchemaBuilder builder;
  fields(builder);
  return builder.take();
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
