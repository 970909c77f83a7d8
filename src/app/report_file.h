#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace tilebeat {

/// The report in a file. Throws UserError when the file is no report, has another version or violates the
/// schema.
nlohmann::ordered_json read_report(const std::string& path);

}  // namespace tilebeat
