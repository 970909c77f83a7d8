#pragma once

#include "schema/values.h"

#include <functional>
#include <initializer_list>
#include <utility>

namespace tilebeat {

/// A value of any kind (schema/values.h), in the view of a visitor of fields.
class FieldValue {
 public:
  virtual ~FieldValue() = default;
  virtual void read(const Json& json, const Place& place) = 0;
  virtual OrderedJson write() const = 0;
  virtual OrderedJson schema() const = 0;
};

/// The visitor of `void describe(Fields& v, XConfig& c)`, which calls one member for every field, in the
/// order of the documentation. The same calls read a file, write the effective values and make the JSON
/// Schema, from which the Markdown table is made. `doc` describes the field, with its unit.
class Fields {
 public:
  virtual ~Fields() = default;
  /// Whether the fields have the values of a file.
  virtual bool reading() const { return false; }
  /// Ends the reading of this object: what follows depends on a field that has been refused.
  virtual void stop() {}
  /// Exactly one of `keys` must be present.
  virtual void exactly_one(std::initializer_list<const char*> /*keys*/) {}
  /// `key` must be present, or else all of `others`.
  virtual void one_or_all(const char* /*key*/, std::initializer_list<const char*> /*others*/) {}
  /// `key` was called `before`: a file that still says so is refused with the new name.
  virtual void renamed(const char* /*before*/, const char* /*key*/) {}

  /// Marks the next field as required: a file without it is refused.
  Fields& required() {
    required_ = true;
    return *this;
  }

  template <class T>
  void integer(const char* key, T& value, Range range, const char* doc) {
    special(key, IntegerValue<T>{value, range}, doc);
  }
  void number(const char* key, double& value, Bounds bounds, const char* doc) {
    special(key, NumberValue{value, bounds}, doc);
  }
  void boolean(const char* key, bool& value, const char* doc) { special(key, BooleanValue{value}, doc); }
  void name(const char* key, std::string& value, const char* doc) { special(key, NameValue{value}, doc); }
  void text(const char* key, std::string& value, const char* doc) { special(key, TextValue{value}, doc); }
  template <class E, std::size_t N>
  void choice(const char* key, E& value, const std::array<std::string_view, N>& names, const char* doc) {
    special(key, ChoiceValue<E>{value, {names.begin(), names.end()}}, doc);
  }
  template <class T>
  void object(const char* key, T& value, const char* doc) {
    special(key, ObjectValue<T>{value}, doc);
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
  /// A field with any kind of value, such as one that only one file format has.
  template <class Value>
  void special(const char* key, Value value, const char* doc) {
    struct Held : FieldValue {
      explicit Held(Value&& v) : value(std::move(v)) {}
      void read(const Json& json, const Place& place) override { value.read(json, place); }
      OrderedJson write() const override { return value.write(); }
      OrderedJson schema() const override { return value.schema(); }
      Value value;
    };
    Held held(std::move(value));
    field(key, doc, held, std::exchange(required_, false));
  }

 protected:
  /// `needed`: the field has no default.
  virtual void field(const char* key, const char* doc, FieldValue& value, bool needed) = 0;

 private:
  template <class List, class MakeElement>
  void list(const char* key, List& values, Count count, MakeElement element, const char* doc) {
    special(key, ListValue<List, MakeElement>{values, count, element}, doc);
  }
  template <class T, class Make>
  void optional(const char* key, std::optional<T>& value, Make make, const char* doc) {
    special(key, OptionalValue<T, Make>{value, make}, doc);
  }

  bool required_ = false;
};

/// Visits the fields of one object.
using Describe = std::function<void(Fields&)>;
template <class T>
Describe fields_of(T& value) {
  return [&value](Fields& v) { describe(v, value); };
}

/// The key that every object may have besides its fields: a text, or a list of lines, for readers. It has no
/// effect, and tables of fields leave it out.
constexpr const char* kCommentKey = "comment";

/// Sets fields from a JSON object; those that it does not name keep their values. Throws UserError if `json`
/// is no object, and for a key that is no field, with a hint; FileErrors for several errors. The keys
/// `ignored` and `comment` are allowed.
void read_object(const Json& json, const Place& place, const Describe& fields, const char* ignored = nullptr);
/// The same for an object that has several kinds: a key that only other kinds have is refused with the name
/// of this kind. `others` visits the fields of all kinds; it is called after the fields are read.
void read_kind(const Json& json, const Place& place, const Describe& fields, const Describe& others,
               const std::function<std::string()>& kind);
/// All fields, for the effective configuration.
OrderedJson write_object(const Describe& fields);
/// The JSON Schema (draft-07) of the object.
OrderedJson object_schema(const Describe& fields);

template <class T>
void ObjectValue<T>::read(const Json& json, const Place& place) {
  read_object(json, place, fields_of(value));
}

template <class T>
OrderedJson ObjectValue<T>::write() const {
  return write_object(fields_of(value));
}

template <class T>
OrderedJson ObjectValue<T>::schema() const {
  return object_schema(fields_of(value));
}

/// Reads a whole file into `value`, which holds the defaults. At the top a `$schema` key is allowed. Throws
/// UserError (SPEC UI-2).
template <class T>
void read_document(const Json& json, const std::string& file, T& value) {
  const auto schema = [] {
    T fresh{};
    return ObjectValue<T>{fresh}.schema();
  };
  read_object(json, Place::document(file, schema), fields_of(value), "$schema");
}

/// The members `description`, `properties`, ... of a whole file's schema wrapped as a draft-07 document that
/// allows `$schema`.
OrderedJson schema_document(const std::string& title, const std::string& description,
                            const OrderedJson& object_schema);

/// A Markdown table of all fields of a schema made here: JSON path, type and allowed values, default,
/// meaning. Fields of objects that come in kinds are listed once a kind that has them.
std::string schema_markdown(const OrderedJson& schema);

}  // namespace tilebeat
