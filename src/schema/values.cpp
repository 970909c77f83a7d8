#include "schema/values.h"

#include "base/types.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace tilebeat {
namespace {

constexpr std::size_t kMaxNameLength = 128;
constexpr std::size_t kMaxTextLength = 4096;
constexpr double kExactInDouble = 9007199254740992.0;

bool name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

}  // namespace

std::int64_t read_integer(const Json& json, const Place& place, Range range) {
  const std::string allowed = fmt::format("a whole number from {} to {}", range.low, range.high);
  std::int64_t value = 0;
  if (json.is_number_float()) {
    const auto number = json.get<double>();
    if (std::nearbyint(number) != number || std::fabs(number) > kExactInDouble)
      place.refuse_value(json, allowed);
    value = static_cast<std::int64_t>(number);
  } else if (json.is_number_unsigned()) {
    if (json.get<std::uint64_t>() > to_unsigned(INT64_MAX)) place.refuse_value(json, allowed);
    value = json.get<std::int64_t>();
  } else if (json.is_number_integer()) {
    value = json.get<std::int64_t>();
  } else {
    place.refuse_value(json, allowed);
  }
  if (value < range.low || value > range.high) place.refuse_value(json, allowed);
  return value;
}

double read_number(const Json& json, const Place& place, Bounds bounds) {
  const std::string allowed = fmt::format("a number from {} to {}", bounds.low, bounds.high);
  if (!json.is_number()) place.refuse_value(json, allowed);
  const auto value = json.get<double>();
  if (!(value >= bounds.low && value <= bounds.high)) place.refuse_value(json, allowed);
  return value;
}

bool read_boolean(const Json& json, const Place& place) {
  if (!json.is_boolean()) place.refuse_value(json, "true or false");
  return json.get<bool>();
}

std::size_t read_choice(const Json& json, const Place& place, const std::vector<std::string>& names) {
  const auto found =
      json.is_string() ? std::find(names.begin(), names.end(), json.get<std::string>()) : names.end();
  if (found == names.end()) {
    place.refuse_value(
        json, fmt::format("{}\"{}\"", names.size() == 1 ? "" : "one of ", fmt::join(names, "\", \"")));
  }
  return to_size(found - names.begin());
}

bool is_name(const std::string& text) {
  return !text.empty() && text.size() <= kMaxNameLength && name_character(text[0]) &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return name_character(c) || c == '-' || c == '.'; });
}

std::string read_name(const Json& json, const Place& place) {
  if (!json.is_string() || !is_name(json.get<std::string>())) {
    place.refuse_value(
        json,
        fmt::format("a name of 1 to {} letters, digits, '_', '-', '.', the first a letter, digit or '_'",
                    kMaxNameLength));
  }
  return json.get<std::string>();
}

std::string read_text(const Json& json, const Place& place) {
  const auto length = json.is_string() ? json.get_ref<const std::string&>().size() : 0;
  if (length == 0 || length > kMaxTextLength) {
    place.refuse_value(json, fmt::format("a text of 1 to {} characters", kMaxTextLength));
  }
  if (one_line(json.get<std::string>()) != json.get<std::string>())
    place.refuse_value(json, "a text without control characters");
  return json.get<std::string>();
}

void check_list(const Json& json, const Place& place, Count count) {
  if (json.is_array() && json.size() >= count.low && json.size() <= count.high) return;
  const std::string number =
      count.low == count.high ? fmt::format("{}", count.low) : fmt::format("{} to {}", count.low, count.high);
  place.refuse_value(json, fmt::format("a list of {} entries", number));
}

OrderedJson integer_schema(Range range) {
  return {{"type", "integer"}, {"minimum", range.low}, {"maximum", range.high}};
}

OrderedJson number_schema(Bounds bounds) {
  return {{"type", "number"}, {"minimum", bounds.low}, {"maximum", bounds.high}};
}

OrderedJson choice_schema(const std::vector<std::string>& names) {
  return {{"enum", names}};
}

OrderedJson list_schema(OrderedJson entry, Count count) {
  return {{"type", "array"}, {"items", std::move(entry)}, {"minItems", count.low}, {"maxItems", count.high}};
}

OrderedJson name_schema() {
  return {{"type", "string"},
          {"pattern", fmt::format("^[A-Za-z0-9_][A-Za-z0-9_.-]{{0,{}}}$", kMaxNameLength - 1)}};
}

OrderedJson text_schema() {
  return {{"type", "string"}, {"minLength", 1}, {"maxLength", kMaxTextLength}};
}

}  // namespace tilebeat
