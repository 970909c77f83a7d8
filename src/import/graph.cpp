#include "tilebeat/import/graph.h"

#include "tilebeat/base/error.h"
#include "tilebeat/workload/npy.h"

#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "half.h"

namespace tilebeat {
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
  return kTypes[static_cast<std::size_t>(type)];
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
  std::vector<double> values(static_cast<std::size_t>(elements()));
  widen_all(*this, values);
  return values;
}

std::vector<std::int64_t> Constant::integers() const {
  std::vector<std::int64_t> integers(static_cast<std::size_t>(elements()));
  if (is_real(type)) {
    const std::vector<double> reals = values();
    for (std::size_t i = 0; i < reals.size(); ++i) integers[i] = narrowed<std::int64_t>(reals[i]);
    return integers;
  }
  widen_all(*this, integers);
  return integers;
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

}  // namespace tilebeat
