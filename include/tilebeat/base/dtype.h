#pragma once

#include <cstdint>
#include <string_view>

namespace tilebeat {

/// Element types of tensors (SPEC NU-1).
enum class DType : std::uint8_t { kInt8, kUint8, kInt32 };

/// Bytes of one element.
constexpr int dtype_size(DType type) {
  return type == DType::kInt32 ? 4 : 1;
}
/// The smallest value of the type.
constexpr std::int64_t dtype_min(DType type) {
  return type == DType::kInt8 ? -128 : type == DType::kUint8 ? 0 : INT32_MIN;
}
/// The largest value of the type.
constexpr std::int64_t dtype_max(DType type) {
  return type == DType::kInt8 ? 127 : type == DType::kUint8 ? 255 : INT32_MAX;
}
/// The name used in workload files and reports.
constexpr std::string_view dtype_name(DType type) {
  return type == DType::kInt8 ? "int8" : type == DType::kUint8 ? "uint8" : "int32";
}

}  // namespace tilebeat
