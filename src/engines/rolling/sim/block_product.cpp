#include "tilebeat/engines/rolling/sim/block_product.h"

#include <immintrin.h>

namespace tilebeat::rolling {
namespace {

void multiply_portable(const std::int16_t* a, int rows, const std::int16_t* b, int columns, int lanes,
                       std::int32_t* sums, std::size_t stride) {
  for (int i = 0; i < rows; ++i, a += lanes, sums += stride) {
    for (int j = 0; j < columns; ++j) {
      std::int32_t sum = 0;
      for (int lane = 0; lane < lanes; ++lane) sum += std::int32_t{a[lane]} * b[j * lanes + lane];
      sums[j] += sum;
    }
  }
}

__attribute__((target("avx2"))) inline __m256i load(const std::int16_t* from) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
}

// Eight columns at a time: their pair sums are added across by a tree of horizontal additions.
__attribute__((target("avx2"))) void multiply_avx2(const std::int16_t* a, int rows, const std::int16_t* b,
                                                   int columns, int lanes, std::int32_t* sums,
                                                   std::size_t stride) {
  constexpr int kColumns = 8, kVector = 16;
  const int whole = columns / kColumns * kColumns;
  for (int i = 0; i < rows; ++i) {
    const std::int16_t* x = a + static_cast<std::ptrdiff_t>(i) * lanes;
    std::int32_t* row = sums + static_cast<std::size_t>(i) * stride;
    for (int j = 0; j < whole; j += kColumns) {
      __m256i part[kColumns];
      for (int k = 0; k < kColumns; ++k) {
        const std::int16_t* w = b + static_cast<std::ptrdiff_t>(j + k) * lanes;
        part[k] = _mm256_madd_epi16(load(x), load(w));
        for (int lane = kVector; lane < lanes; lane += kVector)
          part[k] = _mm256_add_epi32(part[k], _mm256_madd_epi16(load(x + lane), load(w + lane)));
      }
      const __m256i low =
          _mm256_hadd_epi32(_mm256_hadd_epi32(part[0], part[1]), _mm256_hadd_epi32(part[2], part[3]));
      const __m256i high =
          _mm256_hadd_epi32(_mm256_hadd_epi32(part[4], part[5]), _mm256_hadd_epi32(part[6], part[7]));
      const __m256i eight = _mm256_add_epi32(_mm256_permute2x128_si256(low, high, 0x20),
                                             _mm256_permute2x128_si256(low, high, 0x31));
      auto* place = reinterpret_cast<__m256i*>(row + j);
      _mm256_storeu_si256(place, _mm256_add_epi32(_mm256_loadu_si256(place), eight));
    }
  }
  if (whole < columns)
    multiply_portable(a, rows, b + static_cast<std::ptrdiff_t>(whole) * lanes, columns - whole, lanes,
                      sums + whole, stride);
}

}  // namespace

void multiply_block(const std::int16_t* a, int rows, const std::int16_t* b, int columns, int lanes,
                    std::int32_t* sums, std::size_t stride) {
  static const auto multiply = __builtin_cpu_supports("avx2") ? multiply_avx2 : multiply_portable;
  multiply(a, rows, b, columns, lanes, sums, stride);
}

}  // namespace tilebeat::rolling
