#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace tilebeat {

/// 1234567 as "1,234,567".
std::string grouped(std::int64_t value);

/// Rows of cells as lines, columns as wide as their widest cell; the first column to the left, the others to
/// the right. Control characters become blanks (one_line).
std::string format_rows(const std::vector<std::vector<std::string>>& rows);

/// A line of comma-separated values (RFC 4180), with its line feed.
std::string csv_line(const std::vector<std::string>& cells);
/// A value with all of its digits; null as nothing.
std::string csv_value(const nlohmann::ordered_json& value);

}  // namespace tilebeat
