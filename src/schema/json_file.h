#pragma once

#include <cstdint>
#include <string>

#include <nlohmann/json_fwd.hpp>

namespace tilebeat {

/// The largest JSON file that is read, in bytes.
constexpr std::int64_t kMaxJsonBytes = std::int64_t{64} << 20;
/// The deepest nesting of lists and objects that is read.
constexpr int kMaxJsonDepth = 64;

/// The bytes of a file. Throws UserError, one line that starts with `path`, when it is missing, a directory,
/// unreadable or longer than `max_bytes`.
std::string read_file(const std::string& path, std::int64_t max_bytes);

/// Parses JSON (RFC 8259) with comments. Throws UserError, one line that starts with `file`: syntax errors
/// with line and column, duplicate keys with their JSON path, nesting beyond kMaxJsonDepth, bytes that are
/// not UTF-8 (SPEC UI-2).
nlohmann::json parse_json(const std::string& text, const std::string& file);

/// `parse_json` of the contents of the file `path`, or parse_yaml (yaml_file.h) where its name ends with
/// .yaml or .yml.
nlohmann::json read_json_file(const std::string& path);

}  // namespace tilebeat
