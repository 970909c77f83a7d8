#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tilebeat {

/// 1234567 as "1,234,567".
std::string grouped(std::int64_t value);

/// Rows of cells as lines, columns as wide as their widest cell; the first column to the left, the others to
/// the right.
std::string format_rows(const std::vector<std::vector<std::string>>& rows);

}  // namespace tilebeat
