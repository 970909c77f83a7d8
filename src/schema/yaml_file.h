#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace tilebeat {

/// The one document of a YAML text as JSON, with the types of YAML 1.2's core schema: null, true, decimal, 0o
/// and 0x numbers, floats; everything else is text. Aliases are copied. Throws UserError, one line that
/// starts with `file`: what JSON files are refused for (parse_json), with line and column, and tags beyond
/// those types, keys that are no scalars, numbers that JSON has not (.inf), an alias inside of its own
/// anchor, and aliases that make more than kMaxJsonBytes of the text.
nlohmann::json parse_yaml(const std::string& text, const std::string& file);

}  // namespace tilebeat
