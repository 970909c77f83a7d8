#include "tilebeat/workload/random.h"

#include <cstring>

namespace tilebeat {
namespace {

[[gnu::always_inline]] inline std::uint64_t mixed(std::uint64_t seed, std::uint64_t index) {
  std::uint64_t z = seed + (index + 1) * 0x9e3779b97f4a7c15U;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}

// The elements of a tensor, one after the other: none depends on another one, so that the loop runs in
// vectors.
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
  const auto elements = static_cast<std::uint64_t>(tensor.elements());
  const auto span = static_cast<std::uint64_t>(max - min + 1);
  tensor.bytes.resize(elements * static_cast<std::size_t>(dtype_size(dtype)));
  const Elements all{tensor.bytes.data(), elements, seed, static_cast<std::uint64_t>(min), span};
  if (dtype == DType::kInt32) {
    fill_here<std::uint32_t>(all);
  } else {
    fill_here<std::uint8_t>(all);
  }
  return tensor;
}

}  // namespace tilebeat
