// Multipliers of result_unit with operands that reach all their bits, against the processor's own arithmetic:
// float and double of IEEE 754, whole numbers of 128 bits. Prints how many results were compared; at the
// first that differs the operands, and ends with status 1.
#include "Vresult_unit.h"

#include <cfenv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>

namespace {

constexpr int kSetupWords = 12;

void set_bits(VlWide<kSetupWords>& words, int at, int width, std::uint64_t value) {
  for (int i = 0; i < width; ++i) {
    const std::uint32_t bit = 1U << ((at + i) % 32);
    if ((value >> i & 1) != 0)
      words[(at + i) / 32] |= bit;
    else
      words[(at + i) / 32] &= ~bit;
  }
}

std::int64_t saturated(double value) {
  return value < -2147483648.0  ? INT32_MIN
         : value > 2147483647.0 ? INT32_MAX
                                : static_cast<std::int64_t>(value);
}

std::int64_t expected(int rule, std::int32_t sum, double scale, std::int32_t shift) {
  if (rule == 0) return saturated(std::nearbyint(static_cast<double>(sum) * scale));
  if (rule == 1) {
    const float product = static_cast<float>(sum) * static_cast<float>(scale);
    return saturated(std::nearbyint(static_cast<double>(product)));
  }
  const auto multiplier = static_cast<__int128>(scale);
  if (rule == 2) {
    const __int128 value = (sum * multiplier + (static_cast<__int128>(1) << (30 - shift))) >> (31 - shift);
    return static_cast<std::int64_t>(value < INT32_MIN ? INT32_MIN : value > INT32_MAX ? INT32_MAX : value);
  }
  const auto shifted = static_cast<std::int32_t>(static_cast<std::uint32_t>(sum) << (shift > 0 ? shift : 0));
  const __int128 high = (shifted * multiplier + (static_cast<__int128>(1) << 30)) >> 31;
  const std::int64_t size = static_cast<std::int64_t>(high < 0 ? -high : high);
  const std::int64_t value = shift < 0 ? (size + (std::int64_t{1} << (-shift - 1))) >> -shift : size;
  return high < 0 ? -value : value;
}

}  // namespace

int main(int argc, char** argv) {
  const long count = argc > 1 ? std::atol(argv[1]) : 1000000;
  Vresult_unit unit;
  std::mt19937_64 random(1);
  constexpr std::int32_t kSums[]{0,
                                 1,
                                 -1,
                                 2,
                                 3,
                                 0x55555555,
                                 INT32_MIN,
                                 INT32_MIN + 1,
                                 INT32_MAX,
                                 INT32_MAX - 1,
                                 1 << 24,
                                 (1 << 24) + 1,
                                 -(1 << 24) - 3};
  constexpr std::uint64_t kFractions[]{0,
                                       1,
                                       0xFFFFFFFFFFFFF,
                                       0xFFFFFFFFFFFFE,
                                       0x8000000000000,
                                       0x5555555555555,
                                       0xAAAAAAAAAAAAA,
                                       0xFFFFFE0000000};
  constexpr std::int32_t kMultipliers[]{0,          1 << 30,   (1 << 30) + 1, INT32_MAX, INT32_MAX - 1,
                                        0x55555555, 0x60000000};
  constexpr long kCorners = std::size(kSums) * std::size(kFractions) * 64;
  for (int rule = 0; rule < 4; ++rule) {
    set_bits(unit.setup, 492 - 128, 2, rule);
    set_bits(unit.setup, 258 - 128, 2, 2);  // int32
    set_bits(unit.setup, 260 - 128, 1, 1);
    for (long i = 0; i < count + kCorners; ++i) {
      const bool corner = i < kCorners;
      const auto sum =
          corner ? kSums[i / 64 % std::size(kSums)] : static_cast<std::int32_t>(random()) >> random() % 31;
      const std::uint64_t fraction =
          corner ? kFractions[i / 64 / std::size(kSums)] : random() & 0xFFFFFFFFFFFFF;
      const auto step = static_cast<int>(
          corner ? i % 64 : random() % 64);  // it brings every bit of the product into the result
      double scale = std::ldexp(1 + std::ldexp(static_cast<double>(fraction), -52), step - 32);
      if (rule == 1) scale = static_cast<double>(static_cast<float>(scale));
      if (rule >= 2)
        scale = corner ? kMultipliers[i / 64 / std::size(kSums) % std::size(kMultipliers)]
                       : static_cast<double>((1 << 30) | (random() & 0x3FFFFFFF));
      const std::int32_t shift = rule >= 2 ? step % 62 - 31 : 0;
      std::uint64_t bits;
      std::memcpy(&bits, &scale, sizeof bits);
      unit.accumulator = static_cast<std::uint32_t>(sum);
      unit.record[0] = static_cast<std::uint32_t>(bits),
      unit.record[1] = static_cast<std::uint32_t>(bits >> 32);
      unit.record[2] = 0, unit.record[3] = static_cast<std::uint32_t>(shift);
      unit.eval();
      const std::int64_t right = expected(rule, sum, scale, shift);
      if (static_cast<std::int32_t>(unit.result) == right) continue;
      std::printf("rule %d, sum %d, scale %a, shift %d: %d, not %lld\n", rule, sum, scale, shift,
                  static_cast<std::int32_t>(unit.result), static_cast<long long>(right));
      return 1;
    }
  }
  std::printf("%ld\n", 4 * (count + kCorners));
  return 0;
}
