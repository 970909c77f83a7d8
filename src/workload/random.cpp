#include "tilebeat/workload/random.h"

#include <cstring>

namespace tilebeat {

std::uint64_t splitmix64(std::uint64_t seed, std::uint64_t index) {
  std::uint64_t z = seed + (index + 1) * 0x9e3779b97f4a7c15U;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}

namespace {

/// Elements of type T, one after the other in `bytes`.
template <class T>
void fill(std::vector<std::uint8_t>& bytes, std::uint64_t elements, std::uint64_t seed, std::int64_t min,
          std::uint64_t span) {
  for (std::uint64_t i = 0; i < elements; ++i) {
    const std::uint64_t step = ((splitmix64(seed, i) >> 32) * span) >> 32;
    const auto value = static_cast<T>(min + static_cast<std::int64_t>(step));
    std::memcpy(&bytes[i * sizeof value], &value, sizeof value);
  }
}

}  // namespace

Tensor random_tensor(const std::vector<std::int64_t>& shape, DType dtype, std::uint64_t seed,
                     std::int64_t min, std::int64_t max) {
  Tensor tensor{shape, dtype, {}};
  const auto elements = static_cast<std::uint64_t>(tensor.elements());
  const auto span = static_cast<std::uint64_t>(max - min + 1);
  tensor.bytes.resize(elements * static_cast<std::size_t>(dtype_size(dtype)));
  if (dtype == DType::kInt32) {
    fill<std::int32_t>(tensor.bytes, elements, seed, min, span);
  } else {
    fill<std::uint8_t>(tensor.bytes, elements, seed, min, span);
  }
  return tensor;
}

}  // namespace tilebeat
