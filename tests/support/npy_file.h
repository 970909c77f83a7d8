#pragma once

// A .npy file of bytes, for workloads that name their tensors' elements.

#include <cstdint>
#include <string>
#include <vector>

namespace tilebeat::testing {

/// The file of a matrix of int8, row by row.
inline std::string npy_of(int rows, int columns, const std::vector<std::int8_t>& elements) {
  std::string header = "{'descr': '|i1', 'fortran_order': False, 'shape': (" + std::to_string(rows) + ", " +
                       std::to_string(columns) + "), }";
  header.resize(117, ' ');  // 128 bytes with what is in front of it
  header += '\n';
  std::string file = "\x93NUMPY";
  file += '\x01', file += '\0', file += static_cast<char>(header.size()), file += '\0';
  return file + header + std::string(elements.begin(), elements.end());
}

}  // namespace tilebeat::testing
