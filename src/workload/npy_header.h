#pragma once

#include "tilebeat/workload/workload.h"

#include <string>
#include <vector>

namespace tilebeat {

/// A tensor without data, of the shape and type that the Python dictionary in a .npy header names. Throws
/// UserError.
Tensor parse_npy_header(const std::string& header, const std::string& path);

/// "[1, 8, 14, 3]".
std::string shape_text(const std::vector<std::int64_t>& shape);

}  // namespace tilebeat
