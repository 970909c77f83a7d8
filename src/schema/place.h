#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace tilebeat {

/// `text` without line breaks and other control characters, so that a message stays one line.
std::string one_line(const std::string& text);

/// `json` as one line of at most about 80 characters, for messages.
std::string shown(const nlohmann::json& json);
/// A text as one line of at most about 80 characters, in quotes.
std::string shown(const std::string& text);

/// The entry of `known` with the smallest edit distance to `name`; the first of several. `known` is not
/// empty.
std::string nearest_name(const std::string& name, const std::vector<std::string>& known);

/// Whether `name` is `known` but for a letter in three.
bool likely_typo(const std::string& name, const std::string& known);

/// The place of a value: a file and a JSON pointer (RFC 6901) into it. Every error message about a value
/// starts with it (SPEC UI-2).
class Place {
 public:
  explicit Place(std::string file, std::string pointer = "")
      : file_(std::move(file)), pointer_(std::move(pointer)) {}
  /// The top of a file with this schema, which hints of errors are looked up in.
  static Place document(std::string file, std::function<nlohmann::ordered_json()> schema);
  /// The member `name` of the object at this place.
  Place key(const std::string& name) const;
  /// Entry `index` of the list at this place.
  Place item(std::size_t index) const;
  const std::string& file() const { return file_; }

  /// `file: /pointer: problem`, as messages begin.
  std::string located(const std::string& problem) const;
  /// Throws UserError with `located(problem)`.
  [[noreturn]] void fail(const std::string& problem) const;
  /// Throws UserError `file: /pointer: value is not allowed, allowed is ...`.
  [[noreturn]] void refuse(const std::string& value, const std::string& allowed) const;
  [[noreturn]] void refuse_value(const nlohmann::json& value, const std::string& allowed) const;
  /// Refuses the key `key` of the object at this place, whose keys are `known`, with a hint: what the key is
  /// called, the place in the file that it belongs at, or the nearest name.
  [[noreturn]] void unknown_key(const std::string& key, const nlohmann::json& value,
                                const std::vector<std::string>& known) const;

 private:
  Place below(const std::string& step) const;

  std::string file_;
  std::string pointer_;
  std::shared_ptr<const std::function<nlohmann::ordered_json()>> schema_;  // null: it is not known
};

/// The kinds of JSON files that are handed to a command.
enum class FileKind { kHardware, kWorkload, kMapping, kReport, kSweep, kSuite, kWhatIf };

/// Throws UserError, one line that starts with `file`, when `json` is clearly a file of another kind than
/// `wanted`; it says what to do with such a file. Unclear cases pass.
void check_file_kind(const nlohmann::json& json, FileKind wanted, const std::string& file);

}  // namespace tilebeat
