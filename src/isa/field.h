#pragma once

#include "base/dtype.h"
#include "base/numerics.h"
#include "base/types.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace tilebeat {

/// The values of an enum-valued field, as text: `names[v]` is value v. An enum becomes usable as a field when
/// a function `constexpr FieldChoices choices_of(TheEnum)` stands beside it.
struct FieldChoices {
  const char* what = "";  ///< name of a value in messages: "type"
  const std::string_view* names = nullptr;
  std::size_t count = 0;
};

inline constexpr std::array<std::string_view, 6> kDTypeNames{
    dtype_name(DType::kInt8),    dtype_name(DType::kUint8), dtype_name(DType::kInt32),
    dtype_name(DType::kFloat32), dtype_name(DType::kInt16), dtype_name(DType::kInt64)};
constexpr FieldChoices choices_of(DType) {
  return {"type", kDTypeNames.data(), kDTypeNames.size()};
}

inline constexpr std::array<std::string_view, 6> kRealFunctionNames{"none", "leaky_relu", "sigmoid",
                                                                    "tanh", "hard_swish", "gelu"};
constexpr FieldChoices choices_of(RealFunction) {
  return {"function", kRealFunctionNames.data(), kRealFunctionNames.size()};
}

/// Instructions know no kTflm: layers that have it are made of the instructions of kFixed.
constexpr FieldChoices choices_of(Arithmetic) {
  return {"arithmetic", kArithmeticNames.data(), kArithmeticNames.size() - 1};
}
constexpr FieldChoices choices_of(Rescale) {
  return {"rescale", kRescaleNames.data(), kRescaleNames.size()};
}

/// The properties of a field's C++ type. Values are handled as 64-bit patterns, signed ones sign-extended.
struct FieldType {
  bool is_signed = false;
  bool is_address = false;  ///< written in hexadecimal
  bool is_real = false;     ///< an IEEE double of 64 bits
  FieldChoices choices;     ///< none: a number
  std::uint64_t (*load)(const void* value) = nullptr;
  void (*store)(void* value, std::uint64_t pattern) = nullptr;
};

/// The FieldType of T: an integer, a bool, a double, or an enum with `choices_of`. 64-bit integers are
/// addresses.
template <class T>
constexpr FieldType field_type() {
  static_assert(std::is_integral_v<T> || std::is_enum_v<T> || std::is_same_v<T, double>,
                "a field is an integer, a bool, a double or an enum");
  FieldType type;
  type.is_real = std::is_same_v<T, double>;
  type.is_signed = std::is_signed_v<T> && !type.is_real;
  type.is_address = std::is_same_v<T, std::uint64_t>;
  if constexpr (std::is_enum_v<T>) type.choices = choices_of(T{});
  if constexpr (std::is_same_v<T, double>) {
    type.load = [](const void* value) {
      std::uint64_t pattern = 0;
      std::memcpy(&pattern, value, sizeof pattern);
      return pattern;
    };
    type.store = [](void* value, std::uint64_t pattern) { std::memcpy(value, &pattern, sizeof pattern); };
  } else {
    type.load = [](const void* value) { return to_unsigned(*static_cast<const T*>(value)); };
    type.store = [](void* value, std::uint64_t pattern) {
      *static_cast<T*>(value) = static_cast<T>(pattern);
    };
  }
  return type;
}
template <class T>
inline constexpr FieldType kFieldType = field_type<T>();

/// The range of values of an integer field, where it is smaller than its bits allow.
struct FieldRange {
  std::int64_t least = INT64_MIN, most = INT64_MAX;
};
inline constexpr FieldRange kFromOne{1, INT64_MAX};      ///< extents, strides, counts
inline constexpr FieldRange kZeroPointRange{-128, 255};  ///< of int8 and uint8
inline constexpr int kZeroPointBits = 9;

/// The properties of a field, independent of any operation.
struct FieldInfo {
  std::string name;
  int bits = 0;
  bool is_real = false;                 ///< a finite double
  std::int64_t least = 0, most = 0;     ///< range of an integer
  std::vector<std::string_view> names;  ///< the values of an enum; empty for other types
};

/// One field of an operation, for code that handles operations without knowing their C++ types: name, width
/// in the encoding, and the place of the value.
class Field {
 public:
  template <class T>
  Field(const char* name, T& value, int bits, FieldRange range)
      : name_(name), bits_(bits), range_(range), value_(&value), type_(&kFieldType<T>) {}

  const char* name() const { return name_; }
  /// Width in the encoding: 1 to 63, 64 for a double.
  int bits() const { return bits_; }
  FieldInfo info() const;
  /// The error in the value, "rows is 0, allowed are 1 to 65535"; empty: no error.
  std::string fault() const;

  /// The value as it is encoded, in the lowest `bits()` bits. Throws SimulationError when it does not fit.
  std::uint64_t encoded() const;
  /// Sets the value from its encoding. Throws SimulationError when no such value exists; `fault` tells
  /// whether it is in range.
  void set_encoded(std::uint64_t code) const;
  /// The value as `disassemble` prints it.
  std::string text() const;
  /// Sets the value from text. Throws UserError for an invalid value.
  void set_text(std::string_view text) const;

 private:
  std::uint64_t extended(std::uint64_t code) const;
  std::int64_t least() const;
  std::int64_t most() const;

  const char* name_;
  int bits_;
  FieldRange range_;
  void* value_;
  const FieldType* type_;
};

/// Visits the fields of an operation in the order in which they are packed. An operation calls it with name,
/// member, width and, where not all values of that width are allowed, range: `visit("rows", rows, 16,
/// kFromOne)`.
class FieldVisitor {
 public:
  virtual ~FieldVisitor() = default;
  template <class T>
  void operator()(const char* name, T& value, int bits, FieldRange range = {}) {
    field(Field(name, value, bits, range));
  }

 private:
  virtual void field(const Field& field) = 0;
};

}  // namespace tilebeat
