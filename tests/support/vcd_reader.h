#pragma once

// A strict reader of Value Change Dumps (IEEE 1364), as much of them as Tilebeat writes.

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace tilebeat::testing {

/// One signal and all its changes; no value means x.
struct VcdSignal {
  std::string path;  ///< scopes and name, dotted
  int width = 1;
  std::vector<std::pair<std::int64_t, std::optional<std::uint64_t>>> changes;
  /// The changes of a signal of more than 64 bits, of which `changes` has the lowest 64: binary digits.
  std::vector<std::pair<std::int64_t, std::string>> digits;
  bool is_text = false;
  std::vector<std::pair<std::int64_t, std::string>> texts;  ///< the changes of a text

  /// The time up to `end` by text.
  std::map<std::string, std::int64_t> times(std::int64_t end) const {
    std::map<std::string, std::int64_t> sums;
    for (std::size_t i = 0; i < texts.size() && texts[i].first < end; ++i)
      sums[texts[i].second] +=
          std::min(end, i + 1 < texts.size() ? texts[i + 1].first : end) - texts[i].first;
    return sums;
  }

  /// Whether it is anything but 0 or x at any time.
  bool ever_set() const {
    return std::any_of(changes.begin(), changes.end(),
                       [](const auto& change) { return change.second.value_or(0) != 0; });
  }
  /// The value at `time`: that of the latest change not after it.
  std::optional<std::uint64_t> at(std::int64_t time) const {
    std::optional<std::uint64_t> value;
    for (const auto& [when, to] : changes) {
      if (when > time) break;
      value = to;
    }
    return value;
  }
  /// The lowest `count` bytes of the value at `time`, the lowest one first.
  std::vector<std::uint8_t> bytes_at(std::int64_t time, int count) const {
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(count));
    std::string binary;
    for (const auto& [when, to] : digits) {
      if (when > time) break;
      binary = to;
    }
    for (std::size_t i = 0; i < binary.size() && i < 8 * bytes.size(); ++i)
      bytes[i / 8] |= static_cast<std::uint8_t>((binary[binary.size() - 1 - i] - '0') << i % 8);
    return bytes;
  }
  /// The first time at which the value is known.
  std::int64_t first_known() const {
    for (const auto& [when, to] : changes) {
      if (to) return when;
    }
    throw std::runtime_error(path + " is never known");
  }
};

class Vcd {
 public:
  /// Throws std::runtime_error for anything that is no valid dump.
  explicit Vcd(const std::string& text) : words_(text) {
    while (next()) {
      if (word_[0] == '$') {
        directive();
      } else if (word_[0] == '#') {
        advance(std::stoll(word_.substr(1)));
      } else {
        change();
      }
    }
    if (!scopes_.empty() || !defined_) fail("ends inside its header");
  }

  /// The one signal of this name, or of this dotted path.
  const VcdSignal& signal(const std::string& name) const {
    const VcdSignal* found = nullptr;
    for (const auto& [code, signal] : signals_) {
      const bool ends =
          signal.path.size() > name.size() &&
          signal.path.compare(signal.path.size() - name.size() - 1, std::string::npos, "." + name) == 0;
      if (signal.path != name && !ends) continue;
      if (found != nullptr) throw std::runtime_error("two signals are called " + name);
      found = &signal;
    }
    if (found == nullptr) throw std::runtime_error("no signal is called " + name);
    return *found;
  }
  std::set<std::string> paths() const {
    std::set<std::string> all;
    for (const auto& [code, signal] : signals_) all.insert(signal.path);
    return all;
  }
  /// By path: the changes, in binary digits without leading zeros, or x, or the text.
  std::map<std::string, std::vector<std::pair<std::int64_t, std::string>>> changes_by_path() const {
    std::map<std::string, std::vector<std::pair<std::int64_t, std::string>>> all;
    for (const auto& [code, signal] : signals_) {
      auto& changes = all[signal.path] = signal.texts;
      std::size_t wide = 0;
      for (const auto& [time, value] : signal.changes) {
        std::string digits = value ? "" : "x";
        if (value && signal.width > 64) digits = signal.digits.at(wide++).second;
        for (std::uint64_t left = value.value_or(0); value && signal.width <= 64 && left != 0; left >>= 1)
          digits.insert(digits.begin(), (left & 1) != 0 ? '1' : '0');
        changes.emplace_back(time, digits.empty() ? "0" : digits);
      }
    }
    return all;
  }
  std::int64_t first_time() const { return first_time_; }
  std::int64_t last_time() const { return time_; }
  const std::string& timescale() const { return timescale_; }
  const std::vector<std::string>& comments() const { return comments_; }
  bool dated() const { return dated_; }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw std::runtime_error("VCD: " + what + " (at '" + word_ + "')");
  }
  bool next() { return static_cast<bool>(words_ >> word_); }
  std::vector<std::string> until_end() {
    std::vector<std::string> body;
    while (next()) {
      if (word_ == "$end") return body;
      body.push_back(word_);
    }
    fail("$end is missing");
  }
  void directive() {
    const std::string name = word_;
    if (name == "$dumpvars" || name == "$end" || name == "$dumpall" || name == "$dumpon" ||
        name == "$dumpoff") {
      if (!defined_) fail("values before $enddefinitions");
      return;
    }
    const std::vector<std::string> body = until_end();
    if (name == "$scope") {
      scopes_.push_back(body.at(1));
    } else if (name == "$upscope") {
      if (scopes_.empty()) fail("$upscope without a scope");
      scopes_.pop_back();
    } else if (name == "$var") {
      declare(body);
    } else if (name == "$timescale") {
      timescale_ = body.at(0);
    } else if (name == "$comment") {
      std::string text;
      for (const std::string& word : body) text += (text.empty() ? "" : " ") + word;
      comments_.push_back(text);
    } else if (name == "$date") {
      dated_ = true;
    } else if (name == "$enddefinitions") {
      defined_ = true;
    } else if (name != "$version") {
      fail("unknown directive");
    }
  }
  void declare(const std::vector<std::string>& body) {
    VcdSignal signal;
    signal.width = std::stoi(body.at(1));
    signal.is_text = body.at(0) == "string";
    if (!signal.is_text && body.at(0) != "wire") fail("an unknown type");
    for (const std::string& scope : scopes_) signal.path += scope + ".";
    signal.path += body.at(3);
    if (signal.width > 1 && (body.size() != 5 || body[4] != "[" + std::to_string(signal.width - 1) + ":0]"))
      fail("no range");
    if (!signals_.emplace(body.at(2), signal).second) fail("a code is used twice");
  }
  void advance(std::int64_t to) {
    if (!defined_) fail("a time before $enddefinitions");
    if (first_time_ < 0)
      first_time_ = to;
    else if (to <= time_)
      fail("time does not advance");
    time_ = to;
  }
  void change() {
    if (time_ < 0) fail("a change before the first time");
    std::string value = word_.substr(0, 1), code = word_.substr(1);
    if (value == "b") {
      value = code;
      if (!next()) fail("a vector without code");
      code = word_;
    }
    const bool text = value == "s";
    if (text) {
      value = code;
      if (!next()) fail("a text without code");
      code = word_;
    }
    const auto found = signals_.find(code);
    if (found == signals_.end()) fail("a change of an undeclared signal");
    if (text != found->second.is_text) fail("a value of another type");
    if (text) {
      found->second.texts.emplace_back(time_, value);
      return;
    }
    VcdSignal& signal = found->second;
    if (static_cast<int>(value.size()) > signal.width) fail("a value wider than its signal");
    std::optional<std::uint64_t> to;
    if (value != "x") {
      if (value.find_first_not_of("01") != std::string::npos) fail("a value that is not binary");
      if (signal.width > 64) signal.digits.emplace_back(time_, value);
      to = std::stoull(value.substr(value.size() - std::min<std::size_t>(value.size(), 64)), nullptr, 2);
    }
    signal.changes.emplace_back(time_, to);
  }

  std::istringstream words_;
  std::string word_;
  std::vector<std::string> scopes_;
  std::map<std::string, VcdSignal> signals_;
  std::string timescale_;
  std::vector<std::string> comments_;
  bool defined_ = false, dated_ = false;
  std::int64_t first_time_ = -1, time_ = -1;
};

}  // namespace tilebeat::testing
