#pragma once

#include "schema/fields.h"
#include "workload/npy.h"

#include <optional>
#include <string>

namespace tilebeat {

// Where the elements of tensors come from, as a workload file says it, and the ranges that its fields share.

constexpr std::array<std::string_view, 2> kByteTypeNames{"int8", "uint8"};
constexpr Range kExtent{1, kMaxDimension};
// What an instruction holds (docs/isa.md): kernels, strides and dilations in 16 bits, offsets in 16 signed
// ones.
constexpr Range kTapExtent{1, UINT16_MAX};
constexpr Range kPadding{0, INT16_MAX};
constexpr Range kElement{INT32_MIN, INT32_MAX};
constexpr Range kZeroPoint{-128, 255};

struct RandomSpec {
  std::int64_t seed = 0;
  std::optional<std::int64_t> min;
  std::optional<std::int64_t> max;
};

/// Where the elements of a tensor come from; exactly one of the two is there.
struct SourceSpec {
  std::optional<std::string> file;
  std::optional<RandomSpec> random;
};

struct WeightsSpec {
  SourceSpec source;
  std::optional<DType> dtype;
  std::int32_t zero_point = 0;
};

template <class V>
void describe(V& v, RandomSpec& s) {
  v.required().integer("seed", s.seed, {0, INT64_MAX}, "start of the SplitMix64 sequence");
  v.optional_integer("min", s.min, kElement,
                     "least element; without it the type's least, -127 for int8 weights, -1000 for biases");
  v.optional_integer("max", s.max, kElement,
                     "greatest element; without it the type's greatest, 1000 for biases");
}

template <class V>
void describe_source(V& v, SourceSpec& s) {
  v.optional_text("file", s.file, ".npy file; a relative path starts at the workload file");
  v.optional_object("random", s.random, "uniformly distributed elements instead of a file");
  v.exactly_one({"file", "random"});
}

template <class V>
void describe(V& v, SourceSpec& s) {
  describe_source(v, s);
}

template <class V>
void describe(V& v, WeightsSpec& s) {
  v.optional_choice("dtype", s.dtype, kByteTypeNames,
                    "type of the elements; without it the file's, int8 for random");
  v.integer("zero_point", s.zero_point, kZeroPoint, "element that stands for 0, within the type's range");
  describe_source(v, s.source);
}

}  // namespace tilebeat
