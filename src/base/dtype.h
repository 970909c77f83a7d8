#pragma once

#include <cstdint>
#include <string_view>

namespace tilebeat {

/// Element types of tensors (SPEC NU-1, DT-2). float32 is that of real tensors before `quantize` and behind
/// `dequantize`; int64 that of sums of products of int16.
enum class DType : std::uint8_t { kInt8, kUint8, kInt32, kFloat32, kInt16, kInt64 };

/// Whether elements are bytes, int8 or uint8.
constexpr bool is_byte(DType type) {
  return type == DType::kInt8 || type == DType::kUint8;
}

/// Whether elements are those of quantised maps: bytes or int16.
constexpr bool is_quantised(DType type) {
  return is_byte(type) || type == DType::kInt16;
}

/// Bytes of one element.
constexpr int dtype_size(DType type) {
  return is_byte(type) ? 1 : type == DType::kInt16 ? 2 : type == DType::kInt64 ? 8 : 4;
}
/// The smallest value of the type, which is no float32.
constexpr std::int64_t dtype_min(DType type) {
  return type == DType::kInt8    ? -128
         : type == DType::kUint8 ? 0
         : type == DType::kInt16 ? INT16_MIN
         : type == DType::kInt64 ? INT64_MIN
                                 : INT32_MIN;
}
/// The largest value of the type, which is no float32.
constexpr std::int64_t dtype_max(DType type) {
  return type == DType::kInt8    ? 127
         : type == DType::kUint8 ? 255
         : type == DType::kInt16 ? INT16_MAX
         : type == DType::kInt64 ? INT64_MAX
                                 : INT32_MAX;
}
/// The name used in workload files and reports.
constexpr std::string_view dtype_name(DType type) {
  return type == DType::kInt8    ? "int8"
         : type == DType::kUint8 ? "uint8"
         : type == DType::kInt32 ? "int32"
         : type == DType::kInt16 ? "int16"
         : type == DType::kInt64 ? "int64"
                                 : "float32";
}

}  // namespace tilebeat
