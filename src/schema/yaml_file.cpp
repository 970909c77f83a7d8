#include "schema/yaml_file.h"

#include "schema/json_file.h"
#include "schema/place.h"
#include "tilebeat/error.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <limits>
#include <map>
#include <new>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <yaml.h>

namespace tilebeat {
namespace {

using nlohmann::json;

constexpr std::string_view kTags = "tag:yaml.org,2002:";

std::string text_of(const yaml_char_t* text) {
  return text == nullptr ? "" : reinterpret_cast<const char*>(text);
}

constexpr const char* kDigits = "0123456789";

// Whether there are characters from `begin` on, all of them of `known`.
bool has_only(const std::string& text, std::size_t begin, const char* known) {
  return begin < text.size() && text.find_first_not_of(known, begin) == std::string::npos;
}

// A real number without sign: digits with a point, an exponent, or both.
bool is_real(const std::string& text) {
  const std::size_t mantissa_end = std::min(text.find_first_not_of("0123456789."), text.size());
  const std::string mantissa = text.substr(0, mantissa_end);
  const auto points = std::count(mantissa.begin(), mantissa.end(), '.');
  if (mantissa.empty() || mantissa == "." || points > 1) return false;
  if (mantissa_end == text.size()) return true;
  if (text[mantissa_end] != 'e' && text[mantissa_end] != 'E') return false;
  const bool has_sign = mantissa_end + 1 < text.size() &&
                        std::string_view("+-").find(text[mantissa_end + 1]) != std::string_view::npos;
  return has_only(text, mantissa_end + (has_sign ? 2 : 1), kDigits);
}

// What the core schema calls the kind of a scalar.
std::string_view tag_of_scalar(const json& scalar) {
  if (scalar.is_string()) return "str";
  if (scalar.is_boolean()) return "bool";
  if (scalar.is_null()) return "null";
  return scalar.is_number_float() ? "float" : "int";
}

// An event of the parser.
class Event {
 public:
  Event() = default;
  ~Event() { yaml_event_delete(&event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  yaml_event_t* get() { return &event_; }
  yaml_event_type_t type() const { return event_.type; }
  const yaml_event_t* operator->() const { return &event_; }

 private:
  yaml_event_t event_{};
};

// A value that is complete, and what copies of it cost.
// NOLINTNEXTLINE(bugprone-exception-escape): JSON is moved without an exception.
struct Node {
  json value;
  std::size_t bytes = 0;   // about what it takes in memory
  std::size_t height = 0;  // lists and objects from it to its deepest value
};

// A list or an object that is open.
// NOLINTNEXTLINE(bugprone-exception-escape): as for Node.
struct Level {
  Node node;
  std::string anchor;
  std::set<std::string> keys;
  std::string key;
  bool has_key = false;
};

class YamlReader {
 public:
  YamlReader(const std::string& text, std::string file) : file_(std::move(file)) {
    if (yaml_parser_initialize(&parser_) == 0) throw std::bad_alloc();
    yaml_parser_set_encoding(&parser_, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text.data()), text.size());
  }
  ~YamlReader() { yaml_parser_delete(&parser_); }
  YamlReader(const YamlReader&) = delete;
  YamlReader& operator=(const YamlReader&) = delete;

  json read() {
    bool has_document = false;
    for (;;) {
      Event event;
      if (yaml_parser_parse(&parser_, event.get()) == 0) fail_syntax();
      if (event.type() == YAML_STREAM_END_EVENT) break;
      if (event.type() == YAML_DOCUMENT_START_EVENT && std::exchange(has_document, true))
        fail(event->start_mark, "a second document begins, one is read");
      take(event);
    }
    if (!has_document) throw UserError(one_line(file_ + ": is empty"));
    return std::move(root_);
  }

 private:
  void take(const Event& event) {
    switch (event.type()) {
      case YAML_SCALAR_EVENT:
        return take_scalar(event);
      case YAML_ALIAS_EVENT:
        return take_alias(event);
      case YAML_SEQUENCE_START_EVENT:
        check_tag(event, event->data.sequence_start.tag, "seq");
        return open(event, json::array(), event->data.sequence_start.anchor);
      case YAML_MAPPING_START_EVENT:
        check_tag(event, event->data.mapping_start.tag, "map");
        return open(event, json::object(), event->data.mapping_start.anchor);
      case YAML_SEQUENCE_END_EVENT:
      case YAML_MAPPING_END_EVENT:
        return close(event);
      default:
        return;
    }
  }

  void take_scalar(const Event& event) {
    const auto& scalar = event->data.scalar;
    const std::string text(reinterpret_cast<const char*>(scalar.value), scalar.length);
    if (text.find('\0') != std::string::npos) fail(event->start_mark, "a zero byte is not allowed in a text");
    if (expects_key()) return take_key(event, text);
    Node node{value_of(event, text), sizeof(json) + text.size(), 0};
    keep(event, text_of(scalar.anchor), node);
    add(std::move(node));
  }

  void take_key(const Event& event, const std::string& key) {
    Level& level = open_.back();
    level.key = key, level.has_key = true;
    if (!level.keys.insert(key).second)
      fail(event->start_mark, fmt::format("{}: this key appears twice", pointer()));
    if (event->data.scalar.anchor != nullptr) fail(event->start_mark, "a key has no anchor here");
  }

  void take_alias(const Event& event) {
    const std::string name = text_of(event->data.alias.anchor);
    const auto anchor = anchors_.find(name);
    if (expects_key()) fail(event->start_mark, "a key is a text");
    if (anchor == anchors_.end())
      fail(event->start_mark, fmt::format("no complete value in front of it has the anchor {}", shown(name)));
    count_copy(event, anchor->second);
    if (open_.size() + anchor->second.height > kMaxJsonDepth) fail_depth(event);
    add(anchor->second);
  }

  void open(const Event& event, json value, const yaml_char_t* anchor) {
    if (expects_key()) fail(event->start_mark, "a key is a text, not a list or an object");
    if (open_.size() >= kMaxJsonDepth) fail_depth(event);
    Level level;
    level.node = {std::move(value), sizeof(json), 0};
    level.anchor = text_of(anchor);
    // An alias inside of it must not find an earlier value of that name.
    anchors_.erase(level.anchor);
    open_.push_back(std::move(level));
  }

  void close(const Event& event) {
    Level level = std::move(open_.back());
    open_.pop_back();
    ++level.node.height;
    keep(event, level.anchor, level.node);
    add(std::move(level.node));
  }

  void keep(const Event& event, const std::string& anchor, const Node& node) {
    if (anchor.empty()) return;
    count_copy(event, node);
    anchors_[anchor] = node;
  }

  void count_copy(const Event& event, const Node& node) {
    copied_ += node.bytes;
    if (copied_ > static_cast<std::size_t>(kMaxJsonBytes))
      fail(event->start_mark, fmt::format("anchors and aliases stand for more than {} bytes", kMaxJsonBytes));
  }

  void add(Node node) {
    if (open_.empty()) {
      root_ = std::move(node.value);
      return;
    }
    Level& level = open_.back();
    level.node.bytes += node.bytes + level.key.size();
    level.node.height = std::max(level.node.height, node.height);
    if (level.node.value.is_array()) return level.node.value.push_back(std::move(node.value));
    level.node.value[level.key] = std::move(node.value);
    level.has_key = false;
  }

  bool expects_key() const {
    return !open_.empty() && open_.back().node.value.is_object() && !open_.back().has_key;
  }

  // The value of a scalar by its tag or, if it is plain, by the core schema.
  json value_of(const Event& event, const std::string& text) const {
    const auto& scalar = event->data.scalar;
    const std::string tag = text_of(scalar.tag);
    if (tag.empty() && scalar.plain_implicit == 0) return text;
    if (tag.empty()) return plain_value(event, text);
    for (const char* known : {"str", "int", "float", "bool", "null"}) {
      if (tag != std::string(kTags) + known) continue;
      json value = std::string_view(known) == "str" ? json(text) : plain_value(event, text);
      const std::string_view kind = tag_of_scalar(value);
      if (kind == known || (kind == "int" && std::string_view(known) == "float")) return value;
      fail(event->start_mark, fmt::format("{} is no {}", shown(text), known));
    }
    fail(event->start_mark, fmt::format("the tag {} is not known", shown(tag)));
  }

  json plain_value(const Event& event, const std::string& text) const {
    const auto is_one_of = [&](std::initializer_list<const char*> known) {
      return std::find(known.begin(), known.end(), text) != known.end();
    };
    if (is_one_of({"", "null", "Null", "NULL", "~"})) return nullptr;
    if (is_one_of({"true", "True", "TRUE"})) return true;
    if (is_one_of({"false", "False", "FALSE"})) return false;
    constexpr int kOctal = 8, kHexadecimal = 16;
    if (text.compare(0, 2, "0o") == 0 && has_only(text, 2, "01234567")) return whole(event, text, kOctal);
    if (text.compare(0, 2, "0x") == 0 && has_only(text, 2, "0123456789abcdefABCDEF"))
      return whole(event, text, kHexadecimal);
    const std::size_t sign = text.front() == '-' || text.front() == '+' ? 1 : 0;
    if (has_only(text, sign, kDigits)) return decimal_value(event, text);
    const std::string unsigned_text = text.substr(sign);
    for (const char* none : {".inf", ".Inf", ".INF", ".nan", ".NaN", ".NAN"}) {
      if (unsigned_text == none) refuse_number(event, text);
    }
    return is_real(unsigned_text) ? real_value(event, text) : json(text);
  }

  json whole(const Event& event, const std::string& text, int base) const {
    errno = 0;
    const std::uint64_t value = std::strtoull(text.c_str() + 2, nullptr, base);
    if (errno != 0) fail(event->start_mark, fmt::format("{}: a number of more than 64 bits", pointer()));
    return value;
  }

  // Beyond 64 bits it is a real number, as in JSON.
  json decimal_value(const Event& event, const std::string& text) const {
    errno = 0;
    if (text.front() == '-') {
      const std::int64_t value = std::strtoll(text.c_str(), nullptr, 10);
      return errno == 0 ? json(value) : real_value(event, text);
    }
    const std::uint64_t value = std::strtoull(text.c_str(), nullptr, 10);
    return errno == 0 ? json(value) : real_value(event, text);
  }

  json real_value(const Event& event, const std::string& text) const {
    const double value = std::strtod(text.c_str(), nullptr);
    if (std::abs(value) > std::numeric_limits<double>::max()) refuse_number(event, text);
    return value;
  }

  void check_tag(const Event& event, const yaml_char_t* tag, const char* known) const {
    if (tag != nullptr && text_of(tag) != std::string(kTags) + known)
      fail(event->start_mark, fmt::format("the tag {} is not known", shown(text_of(tag))));
  }

  // The JSON path of the value that is read.
  std::string pointer() const {
    json::json_pointer path;
    for (const Level& level : open_) {
      if (level.node.value.is_array())
        path /= level.node.value.size();
      else
        path /= level.key;
    }
    return path.to_string();
  }

  [[noreturn]] void fail(const yaml_mark_t& mark, const std::string& problem) const {
    throw UserError(one_line(
        fmt::format("{}: error at line {}, column {}: {}", file_, mark.line + 1, mark.column + 1, problem)));
  }
  [[noreturn]] void refuse_number(const Event& event, const std::string& text) const {
    fail(event->start_mark,
         fmt::format("{}: {} is not allowed, allowed is a number up to 1.8e308", pointer(), shown(text)));
  }
  [[noreturn]] void fail_depth(const Event& event) const {
    fail(event->start_mark, fmt::format("lists and objects are nested more than {} deep", kMaxJsonDepth));
  }
  [[noreturn]] void fail_syntax() const {
    if (parser_.error == YAML_MEMORY_ERROR) throw std::bad_alloc();
    const std::string problem = parser_.problem == nullptr ? "no YAML" : parser_.problem;
    if (parser_.error == YAML_READER_ERROR)
      throw UserError(
          one_line(fmt::format("{}: error at byte {}: {}", file_, parser_.problem_offset, problem)));
    fail(parser_.problem_mark, problem);
  }

  std::string file_;
  yaml_parser_t parser_{};
  json root_;
  std::vector<Level> open_;
  std::map<std::string, Node> anchors_;
  std::size_t copied_ = 0;
};

}  // namespace

json parse_yaml(const std::string& text, const std::string& file) {
  return YamlReader(text, file).read();
}

}  // namespace tilebeat
