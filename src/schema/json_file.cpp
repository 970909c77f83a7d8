#include "schema/json_file.h"

#include "base/inputs_read.h"
#include "base/types.h"
#include "schema/place.h"
#include "schema/yaml_file.h"
#include "tilebeat/error.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <set>
#include <sstream>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace tilebeat {
namespace {

using nlohmann::json;

[[noreturn]] void fail(const std::string& file, const std::string& problem) {
  throw UserError(one_line(file + ": " + problem));
}

/// The number in the library's message "number overflow parsing '1e999'".
std::string quoted(const std::string& message) {
  const std::size_t begin = message.find('\''), end = message.rfind('\'');
  return begin == end ? "the number" : message.substr(begin + 1, end - begin - 1);
}

/// The library's message without its identifier: "parse error at line 3, column 7: ...".
std::string without_identifier(const std::string& message) {
  const std::size_t end = message.find("] ");
  return end == std::string::npos ? message : message.substr(end + 2);
}

/// Whether the text is YAML but not JSON: its first line, after comments and `---`, is `key: value` or `-
/// item`.
bool is_yaml(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find_first_not_of(" \t\r");
    if (first == std::string::npos || line[first] == '#') continue;
    line.erase(0, first);
    if (line.compare(0, 3, "---") == 0 || line.compare(0, 5, "%YAML") == 0 || line.compare(0, 2, "- ") == 0)
      return true;
    const std::size_t key =
        line.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-");
    return key != 0 && key != std::string::npos && line[key] == ':' &&
           std::strchr(" \t\r", line[std::min(key + 1, line.size())]) != nullptr;
  }
  return false;
}

/// Follows the parser through the document and refuses what nlohmann::json accepts: duplicate keys, and
/// nesting deep enough to be an attack.
class StructureGuard : public nlohmann::json_sax<json> {
 public:
  explicit StructureGuard(std::string file) : file_(std::move(file)) {}

  bool start_object(std::size_t) override { return begin(false); }
  bool start_array(std::size_t) override { return begin(true); }
  bool end_object() override { return end(); }
  bool end_array() override { return end(); }
  bool key(std::string& name) override {
    open_.back().key = name;
    if (!open_.back().keys.insert(name).second) here().fail("this key appears twice");
    return true;
  }
  bool null() override { return next_item(); }
  bool boolean(bool) override { return next_item(); }
  bool number_integer(number_integer_t) override { return next_item(); }
  bool number_unsigned(number_unsigned_t) override { return next_item(); }
  bool number_float(number_float_t, const std::string&) override { return next_item(); }
  bool string(std::string&) override { return next_item(); }
  bool binary(binary_t&) override { return next_item(); }
  bool parse_error(std::size_t, const std::string&, const json::exception& error) override {
    // The parser reports a number beyond the range of double without its place.
    if (dynamic_cast<const json::out_of_range*>(&error) != nullptr)
      next().refuse(quoted(error.what()), "a number up to 1.8e308");
    fail(file_, without_identifier(error.what()));
  }

 private:
  struct Level {
    bool list;
    std::set<std::string> keys;
    std::string key;
    std::size_t items;
  };

  bool begin(bool list) {
    next_item();
    open_.push_back({list, {}, {}, 0});
    if (open_.size() > kMaxJsonDepth)
      fail(file_, fmt::format("lists and objects are nested more than {} deep", kMaxJsonDepth));
    return true;
  }
  bool end() {
    open_.pop_back();
    return true;
  }
  bool next_item() {
    if (!open_.empty()) ++open_.back().items;
    return true;
  }
  Place here() const {
    Place place(file_);
    for (const Level& level : open_) place = level.list ? place.item(level.items - 1) : place.key(level.key);
    return place;
  }
  /// The place of the value that the parser would have reported next.
  Place next() const {
    Place place(file_);
    for (std::size_t i = 0; i < open_.size(); ++i) {
      const bool innermost = i + 1 == open_.size();
      const Level& level = open_[i];
      place = level.list ? place.item(innermost ? level.items : level.items - 1) : place.key(level.key);
    }
    return place;
  }

  std::string file_;
  std::vector<Level> open_;
};

}  // namespace

std::string read_file(const std::string& path, std::int64_t max_bytes) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) fail(path, "is a directory, a file is needed");
  errno = 0;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), &std::fclose);
  if (!file) fail(path, fmt::format("cannot be opened: {}", std::strerror(errno)));
  std::string text;
  std::vector<char> block(std::size_t{1} << 16);
  while (const std::size_t got = std::fread(block.data(), 1, block.size(), file.get())) {
    text.append(block.data(), got);
    if (ssize(text) > max_bytes) {
      fail(path, fmt::format("is larger than {} bytes", max_bytes));
    }
  }
  if (std::ferror(file.get()) != 0) fail(path, fmt::format("cannot be read: {}", std::strerror(errno)));
  return text;
}

json parse_json(const std::string& text, const std::string& file) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; };
  if (std::all_of(text.begin(), text.end(), blank)) fail(file, "is empty");
  // The library takes a zero byte as the end of the text.
  const std::size_t zero = text.find('\0');
  if (zero != std::string::npos) fail(file, fmt::format("is not JSON text: byte {} is zero", zero));
  // Checks first and builds afterwards: the library's parser with a callback takes time quadratic in the
  // length of a list.
  StructureGuard guard(file);
  json::sax_parse(text, &guard, json::input_format_t::json, true, true);
  return json::parse(text, nullptr, true, true);
}

json read_json_file(const std::string& path) {
  const std::string text = read_file(path, kMaxJsonBytes);
  note_input(path);
  const std::string ending = std::filesystem::path(path).extension().string();
  if (ending == ".onnx" || ending == ".tflite")
    fail(path,
         "is a model, JSON is read here; `tilebeat import` makes a workload of it, the value of --layer");
  if (ending == ".yaml" || ending == ".yml") return parse_yaml(text, path);
  if (is_yaml(text))
    fail(path, "is YAML, JSON is read here; YAML is read of files whose names end with .yaml or .yml");
  return parse_json(text, path);
}

}  // namespace tilebeat
