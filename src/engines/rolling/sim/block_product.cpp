#include "engines/rolling/sim/pe_array.h"

#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tilebeat::rolling {
namespace {

template <class Added>
void multiply_portable(const Lines& a, int rows, const Lines& b, int columns, int length, Sum* sums,
                       std::size_t stride) {
  for (int i = 0; i < rows; ++i) {
    const std::int16_t* x = a.line(i);
    for (int j = 0; j < columns; ++j) {
      const std::int16_t* w = b.line(j);
      Added sum = 0;
      for (int n = 0; n < length; ++n) sum += std::int32_t{x[n]} * w[n];
      sums[to_size(i) * stride + to_size(j)] += sum;
    }
  }
}

void multiply_lines_portable(const std::int16_t* a, const std::int16_t* b, int lines, int lanes,
                             std::int32_t* sums) {
  for (int i = 0; i < lines; ++i, a += lanes, b += lanes) {
    std::int32_t sum = 0;
    for (int lane = 0; lane < lanes; ++lane) sum += std::int32_t{a[lane]} * b[lane];
    sums[i] = sum;
  }
}

#if defined(__x86_64__)

__attribute__((target("avx2"))) inline __m256i load(const std::int16_t* from) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
}

// The sums of four vectors.
__attribute__((target("avx2"))) inline __m128i sums_of(const __m256i (&part)[4]) {
  const __m256i both =
      _mm256_hadd_epi32(_mm256_hadd_epi32(part[0], part[1]), _mm256_hadd_epi32(part[2], part[3]));
  return _mm_add_epi32(_mm256_castsi256_si128(both), _mm256_extracti128_si256(both, 1));
}

__attribute__((target("avx2"))) inline void add_four(Sum* sums, __m128i added) {
  auto* place = reinterpret_cast<__m256i*>(sums);
  _mm256_storeu_si256(place, _mm256_add_epi64(_mm256_loadu_si256(place), _mm256_cvtepi32_epi64(added)));
}

// Two rows and four columns at a time, in registers.
__attribute__((target("avx2"))) void multiply_avx2(const Lines& a, int rows, const Lines& b, int columns,
                                                   int length, Sum* sums, std::size_t stride) {
  constexpr int kRows = 2, kColumns = 4, kVector = 16;
  const int whole_rows = rows / kRows * kRows, whole_columns = columns / kColumns * kColumns;
  for (int i = 0; i < whole_rows; i += kRows) {
    const std::int16_t* const x[kRows] = {a.line(i), a.line(i + 1)};
    for (int j = 0; j < whole_columns; j += kColumns) {
      __m256i part[kRows][kColumns] = {};
      for (int n = 0; n < length; n += kVector) {
        const __m256i upper = load(x[0] + n), lower = load(x[1] + n);
        for (int k = 0; k < kColumns; ++k) {
          const __m256i w = load(b.line(j + k) + n);
          part[0][k] = _mm256_add_epi32(part[0][k], _mm256_madd_epi16(upper, w));
          part[1][k] = _mm256_add_epi32(part[1][k], _mm256_madd_epi16(lower, w));
        }
      }
      for (int r = 0; r < kRows; ++r) {
        add_four(sums + to_size(i + r) * stride + j, sums_of(part[r]));
      }
    }
  }
  if (whole_columns < columns)
    multiply_portable<std::int32_t>(a, whole_rows, b.from(whole_columns), columns - whole_columns, length,
                                    sums + whole_columns, stride);
  if (whole_rows < rows)
    multiply_portable<std::int32_t>(a.from(whole_rows), rows - whole_rows, b, columns, length,
                                    sums + to_size(whole_rows) * stride, stride);
}

// Four rows and four columns at a time; what is left by the narrower form.
__attribute__((target("avx512f,avx512bw,avx512vnni"))) void multiply_vnni(const Lines& a, int rows,
                                                                          const Lines& b, int columns,
                                                                          int length, Sum* sums,
                                                                          std::size_t stride) {
  constexpr int kRows = 4, kColumns = 4, kVector = 32;
  const int whole_rows = rows / kRows * kRows, whole_columns = columns / kColumns * kColumns;
  const int whole = length / kVector * kVector;
  const __mmask32 rest = (std::uint32_t{1} << (length - whole)) - 1;
  for (int i = 0; i < whole_rows; i += kRows) {
    for (int j = 0; j < whole_columns; j += kColumns) {
      __m512i part[kRows][kColumns] = {};
      for (int n = 0; n < length; n += kVector) {
        const __mmask32 mask = n < whole ? ~__mmask32{0} : rest;
        __m512i w[kColumns];
        for (int k = 0; k < kColumns; ++k) w[k] = _mm512_maskz_loadu_epi16(mask, b.line(j + k) + n);
        for (int r = 0; r < kRows; ++r) {
          const __m512i x = _mm512_maskz_loadu_epi16(mask, a.line(i + r) + n);
          for (int k = 0; k < kColumns; ++k) part[r][k] = _mm512_dpwssd_epi32(part[r][k], x, w[k]);
        }
      }
      for (int r = 0; r < kRows; ++r) {
        __m256i half[kColumns];
        for (int k = 0; k < kColumns; ++k) {
          __m256i halves[2];
          std::memcpy(halves, &part[r][k], sizeof halves);
          half[k] = _mm256_add_epi32(halves[0], halves[1]);
        }
        add_four(sums + to_size(i + r) * stride + j, sums_of(half));
      }
    }
  }
  if (whole_columns < columns)
    multiply_avx2(a, whole_rows, b.from(whole_columns), columns - whole_columns, length, sums + whole_columns,
                  stride);
  if (whole_rows < rows)
    multiply_avx2(a.from(whole_rows), rows - whole_rows, b, columns, length,
                  sums + to_size(whole_rows) * stride, stride);
}

// Four lines at a time.
__attribute__((target("avx2"))) void multiply_lines_avx2(const std::int16_t* a, const std::int16_t* b,
                                                         int lines, int lanes, std::int32_t* sums) {
  constexpr int kLines = 4, kVector = 16;
  int i = 0;
  for (; lanes == kVector && i + kLines <= lines; i += kLines, a += kLines * kVector, b += kLines * kVector) {
    const __m256i part[kLines] = {_mm256_madd_epi16(load(a), load(b)),
                                  _mm256_madd_epi16(load(a + kVector), load(b + kVector)),
                                  _mm256_madd_epi16(load(a + 2 * kVector), load(b + 2 * kVector)),
                                  _mm256_madd_epi16(load(a + 3 * kVector), load(b + 3 * kVector))};
    _mm_storeu_si128(reinterpret_cast<__m128i*>(sums + i), sums_of(part));
  }
  for (; i + kLines <= lines; i += kLines) {
    __m256i part[kLines] = {};
    for (int line = 0; line < kLines; ++line) {
      for (int lane = 0; lane < lanes; lane += kVector, a += kVector, b += kVector)
        part[line] = _mm256_add_epi32(part[line], _mm256_madd_epi16(load(a), load(b)));
    }
    _mm_storeu_si128(reinterpret_cast<__m128i*>(sums + i), sums_of(part));
  }
  multiply_lines_portable(a, b, lines - i, lanes, sums + i);
}

#endif

using MultiplyLines = void (*)(const std::int16_t*, const std::int16_t*, int, int, std::int32_t*);
using Multiply = void (*)(const Lines&, int, const Lines&, int, int, Sum*, std::size_t);

// The kernels for this machine; all of them give the same.
struct Kernels {
  Multiply block = multiply_portable<std::int32_t>;
  MultiplyLines lines = multiply_lines_portable;
};
Kernels kernels() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512bw"))
    return {multiply_vnni, multiply_lines_avx2};
  if (__builtin_cpu_supports("avx2")) return {multiply_avx2, multiply_lines_avx2};
#endif
  return {};
}
const Kernels& chosen() {
  static const Kernels kernels_of_machine = kernels();
  return kernels_of_machine;
}

}  // namespace

void multiply_block(const Lines& a, int rows, const Lines& b, int columns, int length, Sum* sums,
                    std::size_t stride, bool wide) {
  const Multiply multiply = wide ? multiply_portable<std::int64_t> : chosen().block;
  multiply(a, rows, b, columns, length, sums, stride);
}

void multiply_lines(const std::int16_t* a, const std::int16_t* b, int lines, int lanes, std::int32_t* sums) {
  chosen().lines(a, b, lines, lanes, sums);
}

}  // namespace tilebeat::rolling
