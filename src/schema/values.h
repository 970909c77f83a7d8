#pragma once

#include "base/types.h"
#include "schema/error_list.h"
#include "schema/place.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <nlohmann/json.hpp>

namespace tilebeat {

using Json = nlohmann::json;                 ///< what is read
using OrderedJson = nlohmann::ordered_json;  ///< what is written, in the order of the declarations

/// Allowed whole numbers, both ends included.
struct Range {
  std::int64_t low;
  std::int64_t high;
};

/// Allowed numbers, both ends included.
struct Bounds {
  double low;
  double high;
};

/// Allowed numbers of entries of a list.
struct Count {
  std::size_t low;
  std::size_t high;
};

// A kind of value is a struct that binds a C++ variable and has three members: `read` sets the variable from
// JSON or throws UserError, `write` returns the variable as JSON, `schema` returns the JSON Schema of the
// values that `read` accepts. The functions below do not depend on the variable's type.

std::int64_t read_integer(const Json& json, const Place& place, Range range);
double read_number(const Json& json, const Place& place, Bounds bounds);
bool read_boolean(const Json& json, const Place& place);
/// The index of the name in `names`.
std::size_t read_choice(const Json& json, const Place& place, const std::vector<std::string>& names);
/// 1 to 128 letters, digits, `_`, `-`, `.`, not starting with `-` or `.`: names become file names.
std::string read_name(const Json& json, const Place& place);
/// Any text of 1 to 4096 characters.
std::string read_text(const Json& json, const Place& place);
/// Whether a text is a name as files have them: letters, digits, '_', '-', '.', the first one no '-' or '.'.
bool is_name(const std::string& text);
/// Throws unless `json` is a list with an allowed number of entries.
void check_list(const Json& json, const Place& place, Count count);
OrderedJson integer_schema(Range range);
OrderedJson number_schema(Bounds bounds);
OrderedJson name_schema();
OrderedJson text_schema();
OrderedJson choice_schema(const std::vector<std::string>& names);
OrderedJson list_schema(OrderedJson entry, Count count);

template <class T>
struct IntegerValue {
  T& value;
  Range range;
  void read(const Json& json, const Place& place) {
    value = static_cast<T>(read_integer(json, place, range));
  }
  OrderedJson write() const { return value; }
  OrderedJson schema() const { return integer_schema(range); }
};

struct NumberValue {
  double& value;
  Bounds bounds;
  void read(const Json& json, const Place& place) { value = read_number(json, place, bounds); }
  OrderedJson write() const { return value; }
  OrderedJson schema() const { return number_schema(bounds); }
};

struct BooleanValue {
  bool& value;
  void read(const Json& json, const Place& place) { value = read_boolean(json, place); }
  OrderedJson write() const { return value; }
  OrderedJson schema() const { return {{"type", "boolean"}}; }
};

struct NameValue {
  std::string& value;
  void read(const Json& json, const Place& place) { value = read_name(json, place); }
  OrderedJson write() const { return value; }
  OrderedJson schema() const { return name_schema(); }
};

struct TextValue {
  std::string& value;
  void read(const Json& json, const Place& place) { value = read_text(json, place); }
  OrderedJson write() const { return value; }
  OrderedJson schema() const { return text_schema(); }
};

/// An enumeration whose values count from 0 in the order of `names`.
template <class E>
struct ChoiceValue {
  E& value;
  std::vector<std::string> names;
  void read(const Json& json, const Place& place) { value = static_cast<E>(read_choice(json, place, names)); }
  OrderedJson write() const { return names.at(to_size(value)); }
  OrderedJson schema() const { return choice_schema(names); }
};

/// A list in a std::vector or std::array; `element` makes the value kind of one entry from a reference to it.
template <class List, class MakeElement>
struct ListValue {
  List& list;
  Count count;
  MakeElement element;

  void read(const Json& json, const Place& place) {
    check_list(json, place, count);
    if constexpr (std::is_same_v<List, std::vector<typename List::value_type>>) {
      list.clear();
      list.resize(json.size());
    }
    ErrorList errors;
    for (std::size_t i = 0; i < json.size(); ++i)
      errors.attempt([&] { element(list[i]).read(json[i], place.item(i)); });
    errors.raise();
  }
  OrderedJson write() const {
    OrderedJson entries = OrderedJson::array();
    for (auto& entry : list) entries.push_back(element(entry).write());
    return entries;
  }
  OrderedJson schema() const {
    typename List::value_type entry{};
    return list_schema(element(entry).schema(), count);
  }
};

/// A value that may be absent and then has no default; `make` makes the value kind from a reference to the
/// content.
template <class T, class Make>
struct OptionalValue {
  std::optional<T>& value;
  Make make;
  void read(const Json& json, const Place& place) { make(value.emplace()).read(json, place); }
  OrderedJson write() const { return value ? make(*value).write() : OrderedJson(); }
  OrderedJson schema() const {
    T content{};
    return make(content).schema();
  }
};

/// A nested struct with a `describe` of its own.
template <class T>
struct ObjectValue {
  T& value;
  void read(const Json& json, const Place& place);
  OrderedJson write() const;
  OrderedJson schema() const;
};

}  // namespace tilebeat
