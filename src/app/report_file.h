#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace tilebeat {

/// A report that a run has written. Throws UserError when the file is none, is of another version or does not
/// follow the schema.
nlohmann::ordered_json read_report(const std::string& path);

}  // namespace tilebeat
