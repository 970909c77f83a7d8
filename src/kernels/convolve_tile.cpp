#include "base/types.h"
#include "kernels/mac.h"

#include <algorithm>
#include <cstring>

#include <immintrin.h>

namespace tilebeat {
namespace {

constexpr int kVectorKernels = 8;  // int32 lanes of one vector
constexpr int kBlockKernels = 16;  // kernels of one register block: two vectors
// Pixels of one register block. With AVX2 6 pixels x 2 vectors are 12 accumulators, which leaves 3 registers;
// with AVX-512 a vector holds all 16 kernels, and a broadcast operand costs no instruction.
constexpr int kBlockPixels = 6, kWideBlockPixels = 14;

// The work of one call of the inner loop: `rows[tap * pixels + p]` points at the channels of pixel p under a
// tap.
struct Block {
  const std::int16_t* const* rows;
  const std::int16_t* weights;
  int taps, depth;
  Sum* acc[kWideBlockPixels];
};

// Sums that may leave int32.
void block_wide(const Block& b) {
  const std::int16_t* w = b.weights;
  for (int tap = 0; tap < b.taps; ++tap) {
    for (int c = 0; c < b.depth; c += 2, w += kBlockKernels * 2) {
      for (int p = 0; p < kBlockPixels; ++p) {
        const std::int16_t* x = b.rows[tap * kBlockPixels + p] + c;
        for (int k = 0; k < kBlockKernels; ++k) b.acc[p][k] += x[0] * w[2 * k] + x[1] * w[2 * k + 1];
      }
    }
  }
}

void block_portable(const Block& b) {
  std::int32_t sum[kBlockPixels][kBlockKernels] = {};
  const std::int16_t* w = b.weights;
  for (int tap = 0; tap < b.taps; ++tap) {
    for (int c = 0; c < b.depth; c += 2, w += kBlockKernels * 2) {
      for (int p = 0; p < kBlockPixels; ++p) {
        const std::int16_t* x = b.rows[tap * kBlockPixels + p] + c;
        for (int k = 0; k < kBlockKernels; ++k) sum[p][k] += x[0] * w[2 * k] + x[1] * w[2 * k + 1];
      }
    }
  }
  for (int p = 0; p < kBlockPixels; ++p) {
    for (int k = 0; k < kBlockKernels; ++k) b.acc[p][k] += sum[p][k];
  }
}

__attribute__((target("avx2"))) void block_avx2(const Block& b) {
  __m256i sum[kBlockPixels][2];
  for (auto& s : sum) s[0] = s[1] = _mm256_setzero_si256();
  const std::int16_t* w = b.weights;
  for (int tap = 0; tap < b.taps; ++tap) {
    const std::int16_t* const* x = b.rows + tap * kBlockPixels;
#pragma GCC unroll 2
    for (int c = 0; c < b.depth; c += 2, w += kBlockKernels * 2) {
      const __m256i w0 = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(w));
      const __m256i w1 = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(w + 2 * kVectorKernels));
#pragma GCC unroll 6
      for (int p = 0; p < kBlockPixels; ++p) {
        const __m256i pair =
            _mm256_set1_epi32(*reinterpret_cast<const int __attribute__((may_alias, aligned(2)))*>(x[p] + c));
        sum[p][0] = _mm256_add_epi32(sum[p][0], _mm256_madd_epi16(pair, w0));
        sum[p][1] = _mm256_add_epi32(sum[p][1], _mm256_madd_epi16(pair, w1));
      }
    }
  }
  for (int p = 0; p < kBlockPixels; ++p) {
    for (int v = 0; v < 2; ++v) {
      auto* place = reinterpret_cast<__m256i*>(b.acc[p] + v * kVectorKernels);
      const __m256i low = _mm256_cvtepi32_epi64(_mm256_castsi256_si128(sum[p][v]));
      const __m256i high = _mm256_cvtepi32_epi64(_mm256_extracti128_si256(sum[p][v], 1));
      _mm256_storeu_si256(place, _mm256_add_epi64(_mm256_loadu_si256(place), low));
      _mm256_storeu_si256(place + 1, _mm256_add_epi64(_mm256_loadu_si256(place + 1), high));
    }
  }
}

__attribute__((target("avx512f,avx512vnni"))) void block_vnni(const Block& b) {
  __m512i sum[kWideBlockPixels];
  for (auto& s : sum) s = _mm512_setzero_si512();
  const std::int16_t* w = b.weights;
  for (int tap = 0; tap < b.taps; ++tap) {
    const std::int16_t* const* x = b.rows + tap * kWideBlockPixels;
    for (int c = 0; c < b.depth; c += 2, w += kBlockKernels * 2) {
      const __m512i weights = _mm512_loadu_si512(w);
#pragma GCC unroll 14
      for (int p = 0; p < kWideBlockPixels; ++p) {
        const __m512i pair =
            _mm512_set1_epi32(*reinterpret_cast<const int __attribute__((may_alias, aligned(2)))*>(x[p] + c));
        sum[p] = _mm512_dpwssd_epi32(sum[p], pair, weights);
      }
    }
  }
  for (int p = 0; p < kWideBlockPixels; ++p) {
    __m256i halves[2];
    std::memcpy(halves, &sum[p], sizeof halves);
    for (int v = 0; v < 2; ++v) {
      Sum* const place = b.acc[p] + v * kVectorKernels;
      const __m512i added = _mm512_maskz_cvtepi32_epi64(0xFF, halves[v]);
      _mm512_storeu_si512(place, _mm512_add_epi64(_mm512_loadu_si512(place), added));
    }
  }
}

// The inner loop for this machine; all variants give the same result.
struct BlockKernel {
  void (*run)(const Block& block);
  int pixels;
};
BlockKernel block_kernel() {
  if (__builtin_cpu_supports("avx512vnni")) return {block_vnni, kWideBlockPixels};
  return {__builtin_cpu_supports("avx2") ? block_avx2 : block_portable, kBlockPixels};
}

}  // namespace

int accumulator_stride(int kernels) {
  return align_up(kernels, kBlockKernels);
}

namespace {

// The destinations of a kernel's channel pairs, in source order [plane][tap][pair]: rows of 16 kernels,
// ordered [tap][plane][pair].
class PairRows {
 public:
  PairRows(int planes, int taps, int pairs) : planes_(planes), taps_(taps), pairs_(pairs) {}
  std::ptrdiff_t next() {
    const std::ptrdiff_t row = (to_signed(tap_) * planes_ + plane_) * pairs_ + pair_;
    if (++pair_ == pairs_) {
      pair_ = 0;
      if (++tap_ == taps_) tap_ = 0, ++plane_;
    }
    return row;
  }

 private:
  int planes_, taps_, pairs_;
  int plane_ = 0, tap_ = 0, pair_ = 0;
};

constexpr int kPairRow = kBlockKernels * 2;  // int16 of a row

// Packs four pairs of each of 16 kernels, which are `kernel` int16 apart, into four rows.
void pack_four(const std::int16_t* from, std::ptrdiff_t kernel, std::int16_t* const* rows) {
  for (int k = 0; k < kBlockKernels; k += 4, from += 4 * kernel) {
    const auto load = [&](int i) {
      return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i * kernel));
    };
    const __m128i a = load(0), b = load(1), c = load(2), d = load(3);
    const __m128i ab_low = _mm_unpacklo_epi32(a, b), ab_high = _mm_unpackhi_epi32(a, b);
    const __m128i cd_low = _mm_unpacklo_epi32(c, d), cd_high = _mm_unpackhi_epi32(c, d);
    const auto store = [&](int i, __m128i pairs) {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(rows[i] + 2 * k), pairs);
    };
    store(0, _mm_unpacklo_epi64(ab_low, cd_low));
    store(1, _mm_unpackhi_epi64(ab_low, cd_low));
    store(2, _mm_unpacklo_epi64(ab_high, cd_high));
    store(3, _mm_unpackhi_epi64(ab_high, cd_high));
  }
}

}  // namespace

// Packs weights for the inner loop: [block of 16 kernels][tap][channel pair][16 kernels][2 channels].
void pack_weights(const TileConvolution& g, int depth, const std::vector<std::int16_t>& weights,
                  std::vector<std::int16_t>& packed) {
  const int taps = g.kernel_h * g.kernel_w;
  const int blocks = ceil_div(g.kernels, kBlockKernels);
  const int all_pairs = taps * depth / 2;
  const std::ptrdiff_t kernel = std::ptrdiff_t{2} * all_pairs, block = kernel * kBlockKernels;
  packed.resize(to_size(blocks * block));
  if (g.kernels % kBlockKernels != 0) std::fill(packed.begin(), packed.end(), std::int16_t{0});
  for (int first = 0; first < g.kernels; first += kBlockKernels) {
    const int kernels = std::min(kBlockKernels, g.kernels - first);
    const std::int16_t* from = weights.data() + first * kernel;
    std::int16_t* const to = packed.data() + first / kBlockKernels * block;
    PairRows rows(g.planes, taps, depth / g.planes / 2);
    int pair = 0;
    for (; kernels == kBlockKernels && pair + 4 <= all_pairs; pair += 4, from += 8) {
      std::int16_t* places[4];
      for (auto& place : places) place = to + rows.next() * kPairRow;
      pack_four(from, kernel, places);
    }
    for (; pair < all_pairs; ++pair, from += 2) {
      std::int16_t* const row = to + rows.next() * kPairRow;
      for (int k = 0; k < kernels; ++k)
        std::memcpy(row + std::ptrdiff_t{2} * k, from + k * kernel, 2 * sizeof *from);
    }
  }
}

void convolve_tile(const TileConvolution& g, const TileOperands& tile,
                   const std::vector<std::int16_t>& packed, Sum* acc) {
  const int taps = g.kernel_h * g.kernel_w;
  const int stride = accumulator_stride(g.kernels);
  const std::vector<std::int16_t> outside(to_size(tile.depth), 0);  // a tap on padding adds nothing
  std::vector<Sum> spare(to_size(kBlockKernels));                   // for pixels beyond the last one
  static const BlockKernel here = block_kernel();
  const BlockKernel kernel = g.wide ? BlockKernel{block_wide, kBlockPixels} : here;
  const int block_pixels = kernel.pixels;
  std::vector<const std::int16_t*> rows(to_size(taps * block_pixels));

  const int pixels = g.rows * g.columns;
  for (int base = 0; base < pixels; base += block_pixels) {
    for (int p = 0; p < block_pixels; ++p) {
      const int pixel = std::min(base + p, pixels - 1);
      const int h0 = (pixel / g.columns) * g.stride_h + g.h_offset;
      const int w0 = (pixel % g.columns) * g.stride_w + g.w_offset;
      for (int r = 0, tap = 0; r < g.kernel_h; ++r) {
        const int h = h0 + r * g.dilation_h;
        for (int s = 0; s < g.kernel_w; ++s, ++tap) {
          const int w = w0 + s * g.dilation_w;
          const bool inside = h >= 0 && h < tile.height && w >= 0 && w < tile.width;
          nth(rows, tap * block_pixels + p) =
              inside ? tile.pixels.data() + (to_signed(h) * tile.width + w) * tile.depth : outside.data();
        }
      }
    }
    for (int k = 0; k < stride; k += kBlockKernels) {
      Block block{rows.data(), packed.data() + to_signed(k) * taps * tile.depth, taps, tile.depth, {}};
      for (int p = 0; p < block_pixels; ++p) {
        block.acc[p] = base + p < pixels ? acc + to_signed(base + p) * stride + k : spare.data();
      }
      kernel.run(block);
    }
  }
}

}  // namespace tilebeat
