#pragma once

#include <cstdint>
#include <string_view>

namespace tilebeat {

/// Element types of tensors (SPEC NU-1). float32 is that of real tensors before `quantize` and behind
/// `dequantize`.
enum class DType : std::uint8_t { kInt8, kUint8, kInt32, kFloat32 };

/// Whether elements are bytes, int8 or uint8.
constexpr bool is_byte(DType type) {
  return type == DType::kInt8 || type == DType::kUint8;
}

/// Bytes of one element.
constexpr int dtype_size(DType type) {
  return is_byte(type) ? 1 : 4;
}
/// The smallest value of the type, which is no float32.
constexpr std::int64_t dtype_min(DType type) {
  return type == DType::kInt8 ? -128 : type == DType::kUint8 ? 0 : INT32_MIN;
}
/// The largest value of the type, which is no float32.
constexpr std::int64_t dtype_max(DType type) {
  return type == DType::kInt8 ? 127 : type == DType::kUint8 ? 255 : INT32_MAX;
}
/// The name used in workload files and reports.
constexpr std::string_view dtype_name(DType type) {
  return type == DType::kInt8    ? "int8"
         : type == DType::kUint8 ? "uint8"
         : type == DType::kInt32 ? "int32"
                                 : "float32";
}

}  // namespace tilebeat
