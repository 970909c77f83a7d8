#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace tilebeat {

/// A line of comma-separated values (RFC 4180), with its line feed.
std::string csv_line(const std::vector<std::string>& cells);
/// A value with all of its digits; null as nothing.
std::string csv_value(const nlohmann::ordered_json& value);

}  // namespace tilebeat
