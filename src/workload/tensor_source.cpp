#include "workload/tensor_source.h"

#include "base/types.h"
#include "tilebeat/error.h"
#include "workload/npy.h"

#include <algorithm>
#include <cstring>
#include <filesystem>

#include <fmt/format.h>

namespace tilebeat {
namespace {

[[gnu::always_inline]] inline std::uint64_t mixed(std::uint64_t seed, std::uint64_t index) {
  std::uint64_t z = seed + (index + 1) * 0x9e3779b97f4a7c15U;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}

// The elements of a tensor, in order; they are independent, so that the loop can be vectorised.
struct Elements {
  std::uint8_t* bytes;
  std::uint64_t count, seed, min, span;
};
template <class T>
[[gnu::always_inline]] inline void fill(const Elements& e) {
  for (std::uint64_t i = 0; i < e.count; ++i) {
    const auto value = static_cast<T>(e.min + (((mixed(e.seed, i) >> 32) * e.span) >> 32));
    std::memcpy(e.bytes + i * sizeof value, &value, sizeof value);
  }
}
template <class T>
__attribute__((target("avx512f,avx512dq,avx512bw,avx512vl"))) void fill_avx512(const Elements& elements) {
  fill<T>(elements);
}
template <class T>
__attribute__((target("avx2"))) void fill_avx2(const Elements& elements) {
  fill<T>(elements);
}
template <class T>
void fill_here(const Elements& elements) {
  if (__builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512vl"))
    return fill_avx512<T>(elements);
  if (__builtin_cpu_supports("avx2")) return fill_avx2<T>(elements);
  fill<T>(elements);
}

}  // namespace

std::uint64_t splitmix64(std::uint64_t seed, std::uint64_t index) {
  return mixed(seed, index);
}

Tensor random_tensor(const std::vector<std::int64_t>& shape, DType dtype, std::uint64_t seed,
                     std::int64_t min, std::int64_t max) {
  Tensor tensor{shape, dtype, {}};
  const auto elements = to_unsigned(tensor.elements());
  const auto span = to_unsigned(max - min + 1);
  tensor.bytes.resize(elements * to_size(dtype_size(dtype)));
  const Elements all{tensor.bytes.data(), elements, seed, to_unsigned(min), span};
  if (dtype == DType::kInt32) {
    fill_here<std::uint32_t>(all);
  } else if (dtype == DType::kInt16) {
    fill_here<std::uint16_t>(all);
  } else {
    fill_here<std::uint8_t>(all);
  }
  return tensor;
}

namespace {

Tensor make_random(const RandomSpec& random, const TensorWish& wish, const Place& place) {
  const DType dtype = wish.dtype.value_or(wish.random_dtype);
  const Range type{dtype_min(dtype), dtype_max(dtype)};
  const Range standard = wish.random.value_or(type);
  const std::int64_t min = random.min.value_or(standard.low);
  const std::int64_t max = random.max.value_or(standard.high);
  if (min < type.low || min > type.high) {
    place.key("min").refuse_value(
        min, fmt::format("{} to {}, the range of {}", type.low, type.high, dtype_name(dtype)));
  }
  if (max < min || max > type.high) {
    place.key("max").refuse_value(
        max, fmt::format("{} to {}, from min to the end of {}", min, type.high, dtype_name(dtype)));
  }
  return random_tensor(wish.shape, dtype, to_unsigned(random.seed), min, max);
}

}  // namespace

bool same_but_ones(std::vector<std::int64_t> a, std::vector<std::int64_t> b) {
  for (std::vector<std::int64_t>* shape : {&a, &b})
    shape->erase(std::remove(shape->begin(), shape->end(), 1), shape->end());
  return a == b;
}

std::string tensor_text(const std::vector<std::int64_t>& shape, DType dtype) {
  return fmt::format("shape {} of {}", shape_text(shape), dtype_name(dtype));
}

Tensor load_npy(const std::string& file, const Place& place) {
  try {
    return read_npy((std::filesystem::path(place.file()).parent_path() / file).string());
  } catch (const UserError& error) {
    place.fail(error.what());
  }
}

void check_shape(const std::vector<std::int64_t>& shape, const Place& place) {
  std::int64_t elements = 1;
  for (const std::int64_t extent : shape) {
    if (extent < 1 || extent > kMaxDimension) {
      place.refuse("shape " + shape_text(shape), fmt::format("1 to {} in every dimension", kMaxDimension));
    }
    elements *= extent;
    if (elements > kMaxElements) {
      place.refuse("shape " + shape_text(shape), fmt::format("at most {} elements", kMaxElements));
    }
  }
}

Tensor load_tensor(const SourceSpec& source, const TensorWish& wish, const Place& place) {
  check_shape(wish.shape, place);
  if (source.random) return make_random(*source.random, wish, place.key("random"));
  const Place here = place.key("file");
  Tensor tensor = load_npy(source.file.value(), here);
  const bool fits =
      wish.ones_may_differ ? same_but_ones(tensor.shape, wish.shape) : tensor.shape == wish.shape;
  if (!fits || (wish.dtype && tensor.dtype != *wish.dtype)) {
    here.refuse(fmt::format("{} with {}", shown(*source.file), tensor_text(tensor.shape, tensor.dtype)),
                tensor_text(wish.shape, wish.dtype.value_or(tensor.dtype)));
  }
  tensor.shape = wish.shape;
  return tensor;
}

// ---- fields ----

void describe(Fields& v, RandomSpec& s) {
  v.required().integer("seed", s.seed, {0, INT64_MAX}, "start of the SplitMix64 sequence");
  v.optional_integer("min", s.min, kElement,
                     "least element; without it the type's least, -127 for int8 weights, -1000 for biases");
  v.optional_integer("max", s.max, kElement,
                     "greatest element; without it the type's greatest, 1000 for biases");
}

void describe(Fields& v, SourceSpec& s) {
  v.optional_text("file", s.file, ".npy file; a relative path starts at the workload file");
  v.optional_object("random", s.random, "uniformly distributed elements instead of a file");
  v.exactly_one({"file", "random"});
}

}  // namespace tilebeat
