#pragma once

#include "tilebeat/base/dtype.h"

#include <cstdint>
#include <vector>

namespace tilebeat {

/// A tensor: C-order elements. int8 and uint8 take one byte an element, int32 and float32 four,
/// little-endian.
struct Tensor {
  std::vector<std::int64_t> shape;
  DType dtype = DType::kInt8;
  std::vector<std::uint8_t> bytes;

  std::int64_t elements() const;
  /// Element `index` (C order) widened to 32 bits; of float32 its bits.
  std::int32_t at(std::int64_t index) const;
};

/// What every run knows of a tensor before it is computed. Maps are NHWC (SPEC NU-4).
struct TensorInfo {
  std::vector<std::int64_t> shape;
  DType dtype = DType::kInt8;
  std::int32_t zero_point = 0;
  std::int64_t elements() const;
  std::int64_t size_bytes() const { return elements() * dtype_size(dtype); }
};

}  // namespace tilebeat
