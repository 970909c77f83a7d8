#pragma once

#include "workload/tensor.h"
#include "workload/workload.h"

#include <string>
#include <vector>

namespace tilebeat {

/// Longest extent of a dimension and most elements of a tensor.
constexpr std::int64_t kMaxDimension = std::int64_t{1} << 20;
constexpr std::int64_t kMaxElements = std::int64_t{1} << 31;

/// Reads a NumPy `.npy` file of version 1, 2 or 3 (SPEC NU-4). Elements are `|i1`, `|u1`, `<i4` or `<f4` in C
/// order. Throws UserError, one line that starts with `path`, for everything else: no .npy file, other
/// element types, Fortran order, a file of another length than its shape, dimensions beyond kMaxDimension.
Tensor read_npy(const std::string& path);

/// The bytes of the version 1.0 file that NumPy itself would save.
std::string npy_bytes(const Tensor& tensor);

/// Writes `npy_bytes` to `path`. Throws UserError if that fails.
void write_npy(const std::string& path, const Tensor& tensor);

/// A tensor without data, with the shape and type in the Python dictionary of a .npy header. Throws
/// UserError.
Tensor parse_npy_header(const std::string& header, const std::string& path);

/// "[1, 8, 14, 3]".
std::string shape_text(const std::vector<std::int64_t>& shape);

}  // namespace tilebeat
