#pragma once

#include "schema/values.h"

#include <initializer_list>
#include <set>
#include <utility>

namespace tilebeat {

/// What a `template <class V> void describe(V& v, XConfig& c)` calls, once for every field, in the order of
/// the documentation. The same calls read a file, write the effective values and make the JSON Schema, from
/// which the Markdown table is made (DESIGN, rules of style 3). `doc` says what the field is, with its unit.
template <class Derived>
class Fields {
 public:
  /// The next field has no default: a file without it is refused.
  Derived& required() {
    required_ = true;
    return self();
  }

  template <class T>
  void integer(const char* key, T& value, Range range, const char* doc) {
    add(key, doc, IntegerValue<T>{value, range});
  }
  void number(const char* key, double& value, Bounds bounds, const char* doc) {
    add(key, doc, NumberValue{value, bounds});
  }
  void boolean(const char* key, bool& value, const char* doc) { add(key, doc, BooleanValue{value}); }
  void name(const char* key, std::string& value, const char* doc) { add(key, doc, NameValue{value}); }
  void text(const char* key, std::string& value, const char* doc) { add(key, doc, TextValue{value}); }
  template <class E, std::size_t N>
  void choice(const char* key, E& value, const std::array<std::string_view, N>& names, const char* doc) {
    add(key, doc, ChoiceValue<E>{value, {names.begin(), names.end()}});
  }
  template <class T>
  void object(const char* key, T& value, const char* doc) {
    add(key, doc, ObjectValue<T>{value});
  }
  /// A pair such as a stride, or four pads.
  template <class T, std::size_t N>
  void integers(const char* key, std::array<T, N>& values, Range range, const char* doc) {
    list(
        key, values, Count{N, N},
        [range](T& entry) {
          return IntegerValue<T>{entry, range};
        },
        doc);
  }
  template <class T>
  void integers(const char* key, std::vector<T>& values, Range range, Count count, const char* doc) {
    list(
        key, values, count,
        [range](T& entry) {
          return IntegerValue<T>{entry, range};
        },
        doc);
  }
  void names(const char* key, std::vector<std::string>& values, Count count, const char* doc) {
    list(
        key, values, count, [](std::string& entry) { return NameValue{entry}; }, doc);
  }
  template <class T>
  void objects(const char* key, std::vector<T>& values, Count count, const char* doc) {
    list(
        key, values, count, [](T& entry) { return ObjectValue<T>{entry}; }, doc);
  }
  /// As `objects`, of a struct whose fields depend on its kind (KindValue).
  template <class T>
  void objects_by_kind(const char* key, std::vector<T>& values, Count count, const char* doc) {
    list(
        key, values, count, [](T& entry) { return KindValue<T>{entry}; }, doc);
  }
  /// A pair of numbers.
  template <std::size_t N>
  void numbers(const char* key, std::array<double, N>& values, Bounds bounds, const char* doc) {
    list(
        key, values, Count{N, N},
        [bounds](double& entry) {
          return NumberValue{entry, bounds};
        },
        doc);
  }
  template <class T>
  void optional_integer(const char* key, std::optional<T>& value, Range range, const char* doc) {
    optional(
        key, value,
        [range](T& content) {
          return IntegerValue<T>{content, range};
        },
        doc);
  }
  template <class T, std::size_t N>
  void optional_integers(const char* key, std::optional<std::array<T, N>>& values, Range range,
                         const char* doc) {
    const auto element = [range](T& entry) { return IntegerValue<T>{entry, range}; };
    using Integers = ListValue<std::array<T, N>, decltype(element)>;
    optional(
        key, values,
        [=](std::array<T, N>& content) {
          return Integers{content, {N, N}, element};
        },
        doc);
  }
  void optional_number(const char* key, std::optional<double>& value, Bounds bounds, const char* doc) {
    optional(
        key, value,
        [bounds](double& content) {
          return NumberValue{content, bounds};
        },
        doc);
  }
  void optional_boolean(const char* key, std::optional<bool>& value, const char* doc) {
    optional(
        key, value, [](bool& content) { return BooleanValue{content}; }, doc);
  }
  void optional_text(const char* key, std::optional<std::string>& value, const char* doc) {
    optional(
        key, value, [](std::string& content) { return TextValue{content}; }, doc);
  }
  void optional_names(const char* key, std::optional<std::vector<std::string>>& values, Count count,
                      const char* doc) {
    const auto element = [](std::string& entry) { return NameValue{entry}; };
    using Names = ListValue<std::vector<std::string>, decltype(element)>;
    optional(
        key, values,
        [=](std::vector<std::string>& content) {
          return Names{content, count, element};
        },
        doc);
  }
  template <class E, std::size_t N>
  void optional_choice(const char* key, std::optional<E>& value, const std::array<std::string_view, N>& names,
                       const char* doc) {
    optional(
        key, value,
        [&names](E& content) {
          return ChoiceValue<E>{content, {names.begin(), names.end()}};
        },
        doc);
  }
  template <class T>
  void optional_object(const char* key, std::optional<T>& value, const char* doc) {
    optional(
        key, value, [](T& content) { return ObjectValue<T>{content}; }, doc);
  }
  /// A field of a kind of value that only one file format has.
  template <class Value>
  void special(const char* key, Value value, const char* doc) {
    add(key, doc, std::move(value));
  }

 private:
  Derived& self() { return static_cast<Derived&>(*this); }
  template <class Value>
  void add(const char* key, const char* doc, Value value) {
    self().field(key, doc, std::move(value), std::exchange(required_, false));
  }
  template <class List, class MakeElement>
  void list(const char* key, List& values, Count count, MakeElement element, const char* doc) {
    add(key, doc, ListValue<List, MakeElement>{values, count, element});
  }
  template <class T, class Make>
  void optional(const char* key, std::optional<T>& value, Make make, const char* doc) {
    add(key, doc, OptionalValue<T, Make>{value, make});
  }

  bool required_ = false;
};

/// Sets fields from a JSON object; fields that the object does not name keep their values.
class Reader : public Fields<Reader> {
 public:
  /// Throws UserError if `json` is not an object. Both arguments must outlive the reader.
  Reader(const Json& json, const Place& place);
  bool reading() const { return true; }

  template <class Value>
  void field(const char* key, const char*, Value value, bool needed) {
    if (const Json* found = find(key, needed)) value.read(*found, place_.key(key));
  }
  /// Exactly one of `keys` must be there.
  void exactly_one(std::initializer_list<const char*> keys) const;
  /// `key` must be there, or else all of `others`.
  void one_or_all(const char* key, std::initializer_list<const char*> others) const;
  /// `key` is allowed and has no effect here.
  void ignore(const char* key) { known_.emplace_back(key); }
  /// Throws UserError for a key that no field has taken, with the nearest known name.
  void finish() const;
  /// A key that no field has taken; null if there is none.
  const std::string* unknown() const;
  /// Throws UserError for `key`, which other kinds of the object have, but not this one.
  [[noreturn]] void refuse_key(const std::string& key, const std::string& kind) const;

 private:
  const Json* find(const char* key, bool needed);

  const Json& json_;
  const Place& place_;
  std::vector<std::string> known_;
};

/// Lists the keys of an object.
class KeyLister : public Fields<KeyLister> {
 public:
  bool reading() const { return false; }
  template <class Value>
  void field(const char* key, const char*, const Value&, bool) {
    keys_.emplace(key);
  }
  void exactly_one(std::initializer_list<const char*>) {}
  void one_or_all(const char*, std::initializer_list<const char*>) {}
  bool has(const std::string& key) const { return keys_.count(key) > 0; }

 private:
  std::set<std::string> keys_;
};

/// Writes all fields, for the effective configuration.
class Writer : public Fields<Writer> {
 public:
  bool reading() const { return false; }
  template <class Value>
  void field(const char* key, const char*, const Value& value, bool) {
    OrderedJson json = value.write();
    if (!json.is_null()) json_[key] = std::move(json);
  }
  void exactly_one(std::initializer_list<const char*>) {}
  void one_or_all(const char*, std::initializer_list<const char*>) {}
  OrderedJson take() { return std::move(json_); }

 private:
  OrderedJson json_ = OrderedJson::object();
};

/// Makes the JSON Schema (draft-07) of the object.
class SchemaBuilder : public Fields<SchemaBuilder> {
 public:
  bool reading() const { return false; }
  template <class Value>
  void field(const char* key, const char* doc, const Value& value, bool needed) {
    OrderedJson schema{{"description", doc}};
    schema.update(value.schema());
    add(key, std::move(schema), value.write(), needed);
  }
  void exactly_one(std::initializer_list<const char*> keys);
  void one_or_all(const char* key, std::initializer_list<const char*> others);
  OrderedJson take();

 private:
  void add(const char* key, OrderedJson schema, OrderedJson standard, bool needed);

  OrderedJson properties_ = OrderedJson::object();
  OrderedJson needed_ = OrderedJson::array();
  OrderedJson alternatives_ = OrderedJson::array(), choices_ = OrderedJson::array();
};

template <class T>
void ObjectValue<T>::read(const Json& json, const Place& place) {
  Reader reader(json, place);
  describe(reader, value);
  reader.finish();
}

template <class T>
OrderedJson ObjectValue<T>::write() const {
  Writer writer;
  describe(writer, value);
  return writer.take();
}

template <class T>
OrderedJson ObjectValue<T>::schema() const {
  SchemaBuilder builder;
  describe(builder, value);
  return builder.take();
}

template <class T>
void KindValue<T>::read(const Json& json, const Place& place) {
  Reader reader(json, place);
  describe(reader, value);
  if (const std::string* key = reader.unknown()) {
    KeyLister others;
    for (T& kind : T::kinds()) describe(others, kind);
    if (others.has(*key)) reader.refuse_key(*key, value.kind());
  }
  reader.finish();
}

template <class T>
OrderedJson KindValue<T>::schema() const {
  OrderedJson kinds = OrderedJson::array();
  for (T& kind : T::kinds()) {
    OrderedJson schema{{"title", kind.kind_title()}};
    schema.update(ObjectValue<T>{kind}.schema());
    kinds.push_back(std::move(schema));
  }
  return {{"anyOf", std::move(kinds)}};
}

/// Reads a whole file into `value`, which holds the defaults. At the top a `$schema` key is allowed. Throws
/// UserError (SPEC UI-2).
template <class T>
void read_document(const Json& json, const std::string& file, T& value) {
  const Place root(file);
  Reader reader(json, root);
  reader.ignore("$schema");
  describe(reader, value);
  reader.finish();
}

/// The members `description`, `properties`, ... of a whole file's schema wrapped as a draft-07 document that
/// allows
/// `$schema`.
OrderedJson schema_document(const std::string& title, const std::string& description,
                            const OrderedJson& object_schema);

/// A Markdown table of all fields of a schema made here: JSON path, type and allowed values, default,
/// meaning. Fields of objects that come in kinds are listed once a kind that has them.
std::string schema_markdown(const OrderedJson& schema);

}  // namespace tilebeat
