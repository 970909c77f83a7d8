#include "kernels/mac.h"

#include "base/types.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

#include <immintrin.h>

namespace tilebeat {
namespace {

bool have_avx2() {
  static const bool yes = __builtin_cpu_supports("avx2");
  return yes;
}

// acc[row][i] += x[row][2i mod period] * w[2i] + x[row][(2i+1) mod period] * w[2i+1] for i < count, in
// portable code.
void mac_portable(const std::int16_t* x, int rows, int period, const std::int16_t* w, std::int32_t* acc,
                  int row_stride, int count) {
  for (int row = 0; row < rows; ++row, x += period, acc += row_stride) {
    for (int i = 0; i < count; ++i) {
      const int c = (2 * i) & (period - 1);
      acc[i] += std::int32_t{x[c]} * w[2 * i] + std::int32_t{x[c + 1]} * w[2 * i + 1];
    }
  }
}

// Repeats the channels of one lane until they fill a vector.
__attribute__((target("avx2"))) inline __m256i repeat_channels(const std::int16_t* x, int period) {
  std::int64_t four = 0;
  switch (period) {
    case 2: {
      std::int32_t two = 0;
      std::memcpy(&two, x, sizeof two);
      return _mm256_set1_epi32(two);
    }
    case 4:
      std::memcpy(&four, x, sizeof four);
      return _mm256_set1_epi64x(four);
    case 8:
      return _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x)));
    default:
      return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x));
  }
}

__attribute__((target("avx2"))) void mac_avx2(const std::int16_t* x, int rows, int period,
                                              const std::int16_t* w, std::int32_t* acc, int row_stride,
                                              int count) {
  const int wide = period > 16 ? period : 16;  // channels after which the operand vectors repeat
  for (int row = 0; row < rows; ++row, x += period, acc += row_stride) {
    __m256i operand = repeat_channels(x, period);
    for (int i = 0; i < count; i += 8) {
      if (wide > 16) operand = repeat_channels(x + ((2 * i) & (wide - 1)), 16);
      const __m256i weights = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(w + 2 * i));
      auto* place = reinterpret_cast<__m256i*>(acc + i);
      _mm256_storeu_si256(place,
                          _mm256_add_epi32(_mm256_loadu_si256(place), _mm256_madd_epi16(operand, weights)));
    }
  }
}

// The sums of one unit, up to two kernels and Vectors vectors of a line, from element `at` on, stay in
// registers over all steps.
template <int Vectors, int Kernels>
__attribute__((target("avx2"))) void steps_avx2(const StepLines& b, int kernel, int unit, int at,
                                                std::int32_t* acc) {
  constexpr int kVector = 16;
  const std::ptrdiff_t next_kernel = to_signed(b.units) * b.line / 2;
  std::int32_t* const first = acc + kernel * next_kernel + (to_signed(unit) * b.line + at) / 2;
  const auto load = [](const auto* from) __attribute__((target("avx2"), always_inline)) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  };
  __m256i sum[to_size(Kernels)][to_size(Vectors)];
  for (int k = 0; k < Kernels; ++k) {
    for (int v = 0; v < Vectors; ++v) sum[k][v] = load(first + k * next_kernel + v * kVector / 2);
  }
  for (int step = 0; step < b.steps; ++step) {
    const std::int16_t* const x = b.lines + b.offsets[step] + to_signed(unit) * b.line + at;
    const std::int16_t* const w = b.weights + (to_signed(step) * b.kernels + kernel) * b.line + at;
    for (int v = 0; v < Vectors; ++v) {
      const __m256i operand = load(x + v * kVector);
      for (int k = 0; k < Kernels; ++k)
        sum[k][v] =
            _mm256_add_epi32(sum[k][v], _mm256_madd_epi16(operand, load(w + k * b.line + v * kVector)));
    }
  }
  for (int k = 0; k < Kernels; ++k) {
    for (int v = 0; v < Vectors; ++v)
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(first + k * next_kernel + v * kVector / 2), sum[k][v]);
  }
}
template <int Vectors>
void all_steps_avx2(const StepLines& b, std::int32_t* acc) {
  for (int at = 0; at < b.line; at += Vectors * 16) {
    for (int unit = 0; unit < b.units; ++unit) {
      int kernel = 0;
      for (; kernel + 2 <= b.kernels; kernel += 2) steps_avx2<Vectors, 2>(b, kernel, unit, at, acc);
      if (kernel < b.kernels) steps_avx2<Vectors, 1>(b, kernel, unit, at, acc);
    }
  }
}

// The sums of up to two units and four kernels stay in registers over all steps. Vectors: number of 32-int16
// vectors in a line.
template <int Vectors, int Kernels, int Units>
__attribute__((target("avx512f,avx512vnni"))) void steps_vnni(const StepLines& b, int kernel, int unit,
                                                              std::int32_t* acc) {
  constexpr int kVector = 32;
  constexpr int kLine = Vectors * kVector;
  const std::ptrdiff_t next_kernel = to_signed(b.units) * kLine / 2;
  std::int32_t* const first = acc + kernel * next_kernel + to_signed(unit) * kLine / 2;
  const auto place = [&](int k, int u, int v) {
    return first + k * next_kernel + (u * kLine + v * kVector) / 2;
  };
  __m512i sum[to_size(Kernels)][to_size(Units)][to_size(Vectors)];
  for (int k = 0; k < Kernels; ++k) {
    for (int u = 0; u < Units; ++u) {
      for (int v = 0; v < Vectors; ++v) sum[k][u][v] = _mm512_loadu_si512(place(k, u, v));
    }
  }
  for (int step = 0; step < b.steps; ++step) {
    const std::int16_t* const x = b.lines + b.offsets[step] + to_signed(unit) * kLine;
    const std::int16_t* const w = b.weights + (to_signed(step) * b.kernels + kernel) * kLine;
    for (int v = 0; v < Vectors; ++v) {
      __m512i operand[to_size(Units)];
      for (int u = 0; u < Units; ++u) operand[u] = _mm512_loadu_si512(x + u * kLine + v * kVector);
      for (int k = 0; k < Kernels; ++k) {
        const __m512i weights = _mm512_loadu_si512(w + k * kLine + v * kVector);
        for (int u = 0; u < Units; ++u) sum[k][u][v] = _mm512_dpwssd_epi32(sum[k][u][v], operand[u], weights);
      }
    }
  }
  for (int k = 0; k < Kernels; ++k) {
    for (int u = 0; u < Units; ++u) {
      for (int v = 0; v < Vectors; ++v) _mm512_storeu_si512(place(k, u, v), sum[k][u][v]);
    }
  }
}
template <int Vectors, int Kernels>
void kernels_vnni(const StepLines& b, int kernel, std::int32_t* acc) {
  constexpr int kUnits = Vectors > 2 ? 1 : 2;  // as many sums as registers can hold
  int unit = 0;
  for (; unit + kUnits <= b.units; unit += kUnits) steps_vnni<Vectors, Kernels, kUnits>(b, kernel, unit, acc);
  for (; unit < b.units; ++unit) steps_vnni<Vectors, Kernels, 1>(b, kernel, unit, acc);
}
template <int Vectors>
void all_steps_vnni(const StepLines& b, std::int32_t* acc) {
  constexpr int kKernels = 4;
  int kernel = 0;
  for (; kernel + kKernels <= b.kernels; kernel += kKernels) kernels_vnni<Vectors, kKernels>(b, kernel, acc);
  for (; kernel < b.kernels; ++kernel) kernels_vnni<Vectors, 1>(b, kernel, acc);
}

// Shows the complete sums of `columns` PEs, each of `parts` partial sums: what was added to them since they
// were `before`, or that and the sums in turn.
void show_portable(const std::int32_t* from, int parts, int columns, bool with_sums, std::int32_t* before,
                   std::uint8_t* to) {
  const std::size_t bytes = sizeof *before * (with_sums ? 2 : 1);
  for (int column = 0; column < columns; ++column, from += parts, to += bytes) {
    std::uint32_t sum = 0;
    for (int part = 0; part < parts; ++part) sum += static_cast<std::uint32_t>(from[part]);
    const std::array<std::uint32_t, 2> shown{sum - static_cast<std::uint32_t>(before[column]), sum};
    std::memcpy(to, shown.data(), bytes);
    before[column] = static_cast<std::int32_t>(sum);
  }
}

// The sums of eight PEs, each of Parts partial sums.
template <int Parts>
__attribute__((target("avx2"))) inline __m256i eight_sums(const std::int32_t* from) {
  const auto load = [from](int at) __attribute__((target("avx2"), always_inline)) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + at));
  };
  if constexpr (Parts == 1) {
    return load(0);
  } else if constexpr (Parts == 2) {
    return _mm256_permute4x64_epi64(_mm256_hadd_epi32(load(0), load(8)), 0b11'01'10'00);
  } else {
    const __m256i halves =
        _mm256_hadd_epi32(_mm256_hadd_epi32(load(0), load(8)), _mm256_hadd_epi32(load(16), load(24)));
    return _mm256_permutevar8x32_epi32(halves, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
  }
}

// The same as show_portable, for multiples of eight PEs.
template <int Parts>
__attribute__((target("avx2"))) void show_avx2(const std::int32_t* from, int /*parts*/, int columns,
                                               bool with_sums, std::int32_t* before, std::uint8_t* to) {
  const auto store = [](void* place, __m256i value) __attribute__((target("avx2"), always_inline)) {
    _mm256_storeu_si256(static_cast<__m256i*>(place), value);
  };
  constexpr std::size_t kVector = sizeof(__m256i);
  for (int column = 0; column < columns; column += 8, from += 8 * Parts, before += 8) {
    const __m256i sums = eight_sums<Parts>(from);
    const __m256i added = _mm256_sub_epi32(sums, _mm256_loadu_si256(reinterpret_cast<__m256i*>(before)));
    store(before, sums);
    if (with_sums) {
      const __m256i low = _mm256_unpacklo_epi32(added, sums), high = _mm256_unpackhi_epi32(added, sums);
      store(to, _mm256_permute2x128_si256(low, high, 0x20));
      store(to + kVector, _mm256_permute2x128_si256(low, high, 0x31));
      to += 2 * kVector;
    } else {
      store(to, added);
      to += kVector;
    }
  }
}

}  // namespace

int padded_channels(int port_channels) {
  int padded = 2;
  while (padded < port_channels) padded *= 2;
  return padded;
}

void widen(const std::uint8_t* bytes, int count, DType type, int zero_point, std::int16_t* out, int first) {
  const auto zero = static_cast<std::int16_t>(zero_point);
  const auto* as_signed = reinterpret_cast<const std::int8_t*>(bytes);
  if (type == DType::kInt16) {
    for (int i = 0; i < count; ++i) {
      const bool low = (first + i) % 2 == 0;
      out[i] = static_cast<std::int16_t>(low ? bytes[i] : as_signed[i] * 256);
    }
  } else if (type == DType::kUint8) {
    for (int i = 0; i < count; ++i) out[i] = static_cast<std::int16_t>(bytes[i] - zero);
  } else {
    for (int i = 0; i < count; ++i) out[i] = static_cast<std::int16_t>(as_signed[i] - zero);
  }
}

void widen_words(const std::uint8_t* bytes, int count, int channels, DType type, int zero_point,
                 std::int16_t* out) {
  const int padded = padded_channels(channels);
  if (padded == channels) {
    widen(bytes, count * channels, type, zero_point, out);
    return;
  }
  for (int word = 0; word < count; ++word) {
    std::int16_t* to = out + word * padded;
    widen(bytes + word * channels, channels, type, zero_point, to);
    std::fill(to + channels, to + padded, std::int16_t{0});
  }
}

void mac_lines(const std::int16_t* lines, int units, int line, const std::int16_t* weights,
               std::int32_t* acc) {
  const auto kernel = have_avx2() && line % 16 == 0 ? mac_avx2 : mac_portable;
  kernel(lines, units, line, weights, acc, line / 2, line / 2);
}

void mac_steps(const StepLines& b, std::int32_t* acc) {
  static const bool have_vnni = __builtin_cpu_supports("avx512vnni");
  if (have_vnni && b.line == 32) return all_steps_vnni<1>(b, acc);
  if (have_vnni && b.line == 64) return all_steps_vnni<2>(b, acc);
  if (have_vnni && b.line == 128) return all_steps_vnni<4>(b, acc);
  if (have_avx2() && b.line % 64 == 0) return all_steps_avx2<4>(b, acc);
  if (have_avx2() && b.line % 16 == 0) return all_steps_avx2<1>(b, acc);
  const std::int16_t* weights = b.weights;
  for (int step = 0; step < b.steps; ++step) {
    for (int k = 0; k < b.kernels; ++k, weights += b.line)
      mac_lines(b.lines + b.offsets[step], b.units, b.line, weights,
                acc + to_signed(k) * b.units * b.line / 2);
  }
}

void mac_steps(const StepLines& b, Sum* acc) {
  const std::int16_t* weights = b.weights;
  for (int step = 0; step < b.steps; ++step) {
    const std::int16_t* const lines = b.lines + b.offsets[step];
    for (int k = 0; k < b.kernels; ++k, weights += b.line) {
      for (int unit = 0; unit < b.units; ++unit) {
        const std::int16_t* const x = lines + to_signed(unit) * b.line;
        Sum* const sums = acc + (to_signed(k) * b.units + unit) * b.line / 2;
        for (int i = 0; i < b.line / 2; ++i)
          sums[i] +=
              std::int32_t{x[2 * i]} * weights[2 * i] + std::int32_t{x[2 * i + 1]} * weights[2 * i + 1];
      }
    }
  }
}

BeatAccumulators::BeatAccumulators(int rows, int columns, int port_channels)
    : rows_(rows),
      columns_(columns),
      padded_(padded_channels(port_channels)),
      row_stride_(align_up(columns * padded_ / 2, 8)),
      partial_(to_size(rows * row_stride_), 0) {}

void BeatAccumulators::clear(bool wide) {
  std::fill(partial_.begin(), partial_.end(), 0);
  wide_.assign(wide ? partial_.size() : 0, 0);
}

void BeatAccumulators::mac(const std::int16_t* x, const std::int16_t* w) {
  const int count = columns_ * padded_ / 2;
  // The vector form handles whole vectors: it is used only where it does not read beyond the last column's
  // weights.
  const auto kernel = have_avx2() && count % 8 == 0 ? mac_avx2 : mac_portable;
  if (!wide_.empty()) std::fill(partial_.begin(), partial_.end(), 0);
  kernel(x, rows_, padded_, w, partial_.data(), row_stride_, count);
  for (std::size_t i = 0; i < wide_.size(); ++i) wide_[i] += partial_[i];
}

Sum BeatAccumulators::sum(int row, int column) const {
  const auto first = to_size(to_signed(row) * row_stride_ + column * padded_ / 2),
             parts = to_size(padded_ / 2);
  if (!wide_.empty())
    return std::accumulate(wide_.begin() + to_signed(first), wide_.begin() + to_signed(first + parts),
                           Sum{0});
  std::int32_t total = 0;
  for (std::size_t i = first; i < first + parts; ++i) total += partial_[i];
  return total;
}

void BeatAccumulators::flip(int row, int column, std::uint32_t mask) {
  const auto before = static_cast<std::uint32_t>(sum(row, column));
  const int first = row * row_stride_ + column * padded_ / 2;
  if (!wide_.empty()) {
    nth(wide_, first) += Sum{before ^ mask} - Sum{before};
    return;
  }
  auto& part = nth(partial_, first);
  part = static_cast<std::int32_t>(static_cast<std::uint32_t>(part) + (before ^ mask) - before);
}

void BeatAccumulators::show(std::int32_t* before, bool with_sums, std::uint8_t* to) const {
  if (!wide_.empty()) return show_wide(before, with_sums, to);
  const int parts = padded_ / 2;
  auto* show_row = show_portable;
  if (have_avx2() && columns_ % 8 == 0 && parts <= 4)
    show_row = parts == 1 ? show_avx2<1> : parts == 2 ? show_avx2<2> : show_avx2<4>;
  const std::size_t bytes = to_size(columns_) * sizeof(std::int32_t) * (with_sums ? 2 : 1);
  for (int row = 0; row < rows_; ++row, before += columns_, to += bytes)
    show_row(partial_.data() + to_signed(row) * row_stride_, parts, columns_, with_sums, before, to);
}

// Signals have 32 bits: the lower ones of a sum.
void BeatAccumulators::show_wide(std::int32_t* before, bool with_sums, std::uint8_t* to) const {
  const auto put = [&to](std::uint32_t value) {
    std::memcpy(to, &value, sizeof value);
    to += sizeof value;
  };
  for (int row = 0; row < rows_; ++row) {
    for (int column = 0; column < columns_; ++column, ++before) {
      const auto now = static_cast<std::uint32_t>(sum(row, column));
      put(now - static_cast<std::uint32_t>(*before));
      if (with_sums) put(now);
      *before = static_cast<std::int32_t>(now);
    }
  }
}

}  // namespace tilebeat
