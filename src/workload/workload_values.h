#pragma once

#include "schema/fields.h"
#include "workload/npy.h"
#include "workload/operators.h"

#include <array>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tilebeat {

// Ranges that fields of workload files share.

constexpr std::array<std::string_view, 2> kByteTypeNames{"int8", "uint8"};
constexpr Range kExtent{1, kMaxDimension};
// Ranges of instruction fields (docs/isa.md): kernels, strides and dilations have 16 bits, offsets 16 signed
// bits.
constexpr Range kTapExtent{1, UINT16_MAX};
constexpr Range kPadding{0, INT16_MAX};
constexpr Range kElement{INT32_MIN, INT32_MAX};
constexpr Range kZeroPoint{-128, 255};

// Kinds of values that only workload files have; see schema/values.h for what a kind of value is.

/// "none", "relu", {"clamp": [low, high]} or a function of the real value: {"sigmoid": {"output_scale":
/// 256}}.
struct ActivationValue {
  Activation& value;
  void read(const Json& json, const Place& place);
  OrderedJson write() const;
  OrderedJson schema() const;
};

/// "int8", "uint8" or "int16": the type of a quantised tensor.
struct QuantisedTypeValue {
  DType& value;
  void read(const Json& json, const Place& place);
  OrderedJson write() const { return dtype_name(value); }
  OrderedJson schema() const { return {{"enum", {"int8", "uint8", "int16"}}}; }
};

/// "none" or "relu".
struct ReluValue {
  bool& value;
  void read(const Json& json, const Place& place);
  OrderedJson write() const { return value ? "relu" : "none"; }
  OrderedJson schema() const { return {{"enum", {"none", "relu"}}}; }
};

/// A number, or a list of one a channel.
struct PerChannelValue {
  std::vector<double>& value;
  Bounds bounds;
  void read(const Json& json, const Place& place);
  OrderedJson write() const;
  OrderedJson schema() const;
};

}  // namespace tilebeat
