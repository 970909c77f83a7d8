#include "import/graph.h"

#include "base/types.h"
#include "schema/place.h"
#include "tilebeat/error.h"
#include "workload/npy.h"
#include "workload/weights.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tilebeat {

/// The value of an IEEE half-precision number.
inline float half_to_float(std::uint16_t bits) {
  const int exponent = bits >> 10 & 0x1f, fraction = bits & 0x3ff;
  const float sign = (bits & 0x8000) != 0 ? -1.0F : 1.0F;
  if (exponent == 0x1f)
    return fraction != 0 ? std::numeric_limits<float>::quiet_NaN()
                         : sign * std::numeric_limits<float>::infinity();
  if (exponent == 0) return sign * std::ldexp(static_cast<float>(fraction), -24);
  return sign * std::ldexp(static_cast<float>(fraction + 0x400), exponent - 25);
}

namespace {

struct TypeFacts {
  std::string_view name;
  std::size_t bytes;
};

constexpr std::array<TypeFacts, 10> kTypes{{{"float32", 4},
                                            {"float16", 2},
                                            {"float64", 8},
                                            {"int8", 1},
                                            {"uint8", 1},
                                            {"int16", 2},
                                            {"int32", 4},
                                            {"int64", 8},
                                            {"bool", 1},
                                            {"another type", 0}}};

const TypeFacts& facts(ElementType type) {
  return nth(kTypes, type);
}

template <class Stored, class Wanted>
void widen(const std::vector<std::uint8_t>& bytes, std::vector<Wanted>& values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    Stored element;
    std::memcpy(&element, &bytes[i * sizeof element], sizeof element);
    values[i] = static_cast<Wanted>(element + Stored{0});  // the sum is no char any more
  }
}

/// A double as the nearest element of Stored.
template <class Stored>
Stored narrowed(double value) {
  if constexpr (std::is_floating_point_v<Stored>) {
    return static_cast<Stored>(value);
  } else {
    if (std::isnan(value)) return 0;
    constexpr auto kLow = static_cast<double>(std::numeric_limits<Stored>::min());
    constexpr auto kHigh = static_cast<double>(std::numeric_limits<Stored>::max());
    if (value >= kHigh) return std::numeric_limits<Stored>::max();
    if (value <= kLow) return std::numeric_limits<Stored>::min();
    return static_cast<Stored>(value);
  }
}

template <class Stored>
void store(const std::vector<double>& values, std::vector<std::uint8_t>& bytes) {
  bytes.resize(values.size() * sizeof(Stored));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto element = narrowed<Stored>(values[i]);
    std::memcpy(&bytes[i * sizeof element], &element, sizeof element);
  }
}

template <class Wanted>
void widen_all(const Constant& constant, std::vector<Wanted>& values) {
  switch (constant.type) {
    case ElementType::kFloat32:
      return widen<float>(constant.bytes, values);
    case ElementType::kFloat64:
      return widen<double>(constant.bytes, values);
    case ElementType::kInt8:
      return widen<std::int8_t>(constant.bytes, values);
    case ElementType::kUint8:
    case ElementType::kBool:
      return widen<std::uint8_t>(constant.bytes, values);
    case ElementType::kInt16:
      return widen<std::int16_t>(constant.bytes, values);
    case ElementType::kInt32:
      return widen<std::int32_t>(constant.bytes, values);
    case ElementType::kInt64:
      return widen<std::int64_t>(constant.bytes, values);
    case ElementType::kFloat16:
      for (std::size_t i = 0; i < values.size(); ++i) {
        std::uint16_t bits = 0;
        std::memcpy(&bits, &constant.bytes[i * sizeof bits], sizeof bits);
        values[i] = static_cast<Wanted>(half_to_float(bits));
      }
      return;
    case ElementType::kOther:
      throw UserError("a tensor has a type that is not read");
  }
}

bool is_real(ElementType type) {
  return type == ElementType::kFloat32 || type == ElementType::kFloat16 || type == ElementType::kFloat64;
}

}  // namespace

std::size_t element_bytes(ElementType type) {
  return facts(type).bytes;
}

std::string_view element_name(ElementType type) {
  return facts(type).name;
}

std::string type_text(const GraphTensor& tensor) {
  return tensor.type == ElementType::kOther && !tensor.other_type.empty()
             ? tensor.other_type
             : std::string(element_name(tensor.type));
}

std::string onnx_type_name(std::int32_t type) {
  constexpr std::array<std::string_view, 24> kNames{"an undefined type",
                                                    "float32",
                                                    "uint8",
                                                    "int8",
                                                    "uint16",
                                                    "int16",
                                                    "int32",
                                                    "int64",
                                                    "string",
                                                    "bool",
                                                    "float16",
                                                    "float64",
                                                    "uint32",
                                                    "uint64",
                                                    "complex64",
                                                    "complex128",
                                                    "bfloat16",
                                                    "float8e4m3fn",
                                                    "float8e4m3fnuz",
                                                    "float8e5m2",
                                                    "float8e5m2fnuz",
                                                    "uint4",
                                                    "int4",
                                                    "float4e2m1"};
  if (type < 0 || type >= static_cast<std::int32_t>(kNames.size())) return fmt::format("type {}", type);
  return std::string(nth(kNames, type));
}

std::string extents_text(const Extents& extents) {
  return fmt::format("[{}]", fmt::join(extents, ", "));
}

std::int64_t element_count(const Extents& extents) {
  std::int64_t count = 1;
  for (const std::int64_t extent : extents) {
    if (extent < 0 || extent > kMaxElements || (count *= extent) > kMaxElements)
      throw UserError(fmt::format("a tensor of shape {} has too many elements, at most {} are allowed",
                                  extents_text(extents), kMaxElements));
  }
  return count;
}

std::vector<double> Constant::values() const {
  std::vector<double> values(to_size(elements()));
  widen_all(*this, values);
  return values;
}

std::vector<std::int64_t> Constant::integers() const {
  std::vector<std::int64_t> integers(to_size(elements()));
  if (is_real(type)) {
    const std::vector<double> reals = values();
    for (std::size_t i = 0; i < reals.size(); ++i) integers[i] = narrowed<std::int64_t>(reals[i]);
    return integers;
  }
  widen_all(*this, integers);
  return integers;
}

std::optional<FourBitForm> four_bit_form(std::int64_t block, bool zero_points) {
  const auto largest = std::find_if(kWeightGroups.rbegin(), kWeightGroups.rend(),
                                    [block](int group) { return block % group == 0; });
  if (largest == kWeightGroups.rend()) return std::nullopt;
  return FourBitForm{*largest, zero_points};
}

std::vector<std::uint8_t> unpacked_halves(const std::uint8_t* bytes, std::int64_t count, bool is_signed) {
  std::vector<std::uint8_t> made(to_size(count));
  for (std::int64_t i = 0; i < count; ++i) {
    const int half = bytes[i / 2] >> (4 * (i % 2)) & 15;
    nth(made, i) = static_cast<std::uint8_t>(is_signed ? (half ^ 8) - 8 : half);
  }
  return made;
}

Constant make_constant(ElementType type, Extents shape, const std::vector<double>& values) {
  Constant made{type, std::move(shape), {}};
  switch (type) {
    case ElementType::kFloat64:
      store<double>(values, made.bytes);
      break;
    case ElementType::kInt8:
      store<std::int8_t>(values, made.bytes);
      break;
    case ElementType::kUint8:
    case ElementType::kBool:
      store<std::uint8_t>(values, made.bytes);
      break;
    case ElementType::kInt16:
      store<std::int16_t>(values, made.bytes);
      break;
    case ElementType::kInt32:
      store<std::int32_t>(values, made.bytes);
      break;
    case ElementType::kInt64:
      store<std::int64_t>(values, made.bytes);
      break;
    default:
      made.type = ElementType::kFloat32;
      store<float>(values, made.bytes);
  }
  return made;
}

void check_order(const ModelGraph& graph) {
  const auto fail = [&](const std::string& problem) {
    throw UserError(one_line(fmt::format("{}: {}", graph.path, problem)));
  };
  std::vector<bool> there(graph.tensors.size());
  for (std::size_t i = 0; i < there.size(); ++i) there[i] = graph.tensors[i].data.has_value();
  for (const std::size_t input : graph.inputs) there[input] = true;
  for (const GraphNode& node : graph.nodes) {
    for (const auto& input : node.inputs) {
      if (input && !there[*input])
        fail(fmt::format("node {} ({}) reads {}, which nothing before it makes", node.name, node.op,
                         graph.tensors[*input].name));
    }
    for (const auto& output : node.outputs) {
      if (!output) continue;
      if (there[*output])
        fail(fmt::format("node {} ({}) makes {}, which is there already", node.name, node.op,
                         graph.tensors[*output].name));
      there[*output] = true;
    }
  }
  for (const std::size_t output : graph.outputs) {
    if (!there[output]) fail(fmt::format("output {} is made by no node", graph.tensors[output].name));
  }
}

std::set<std::size_t> unread_nodes(const ModelGraph& graph, const std::set<std::size_t>& without) {
  std::set<std::size_t> unread, needed(graph.outputs.begin(), graph.outputs.end());
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {
    if (without.count(i) != 0) continue;
    const auto& outputs = graph.nodes[i].outputs;
    const bool read = std::any_of(outputs.begin(), outputs.end(),
                                  [&](const auto& made) { return made && needed.count(*made) != 0; });
    if (!read) {
      unread.insert(i);
      continue;
    }
    for (const auto& input : graph.nodes[i].inputs) {
      if (input) needed.insert(*input);
    }
  }
  return unread;
}

}  // namespace tilebeat
