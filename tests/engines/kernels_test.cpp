// The inner loops of tile granularity, in the form for this machine, against sums of products one by one.
#include "engines/rolling/sim/pe_array.h"
#include "kernels/mac.h"

#include <cstdint>
#include <random>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

namespace tilebeat {
namespace {

// Nine bits signed, as the multipliers get them (SPEC NU-1), the extremes among them.
std::vector<std::int16_t> operands(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::int16_t> values(count);
  for (auto& value : values) {
    const auto draw = static_cast<int>(random() % 520);
    value = static_cast<std::int16_t>(draw >= 516 ? -255 : draw >= 512 ? 255 : draw - 256);
  }
  return values;
}
// Of maps of int16: low halves and multiples of 256 in turn (SPEC DT-2).
std::vector<std::int16_t> halves(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::int16_t> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto byte = static_cast<int>(random() % 256);
    values[i] = static_cast<std::int16_t>(i % 2 == 0 ? byte : 256 * (byte - 128));
  }
  return values;
}
template <class T = Sum>
std::vector<T> sums(std::size_t count) {
  std::vector<T> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<std::int32_t>(i * 977) - 4000;
  return values;
}

TEST(Kernels, NU_1_the_beats_of_a_fold_refill_are_products_of_lines) {
  for (const int line : {16, 32, 48, 64, 128, 192}) {
    for (int kernels = 1; kernels <= 9; ++kernels) {
      const int units = 3, steps = 5;
      const std::ptrdiff_t offsets[] = {0, 8, 16, 2, 30};
      const auto lines = operands(static_cast<std::size_t>(units * line + 30), 1);
      const auto weights = operands(static_cast<std::size_t>(steps * kernels * line), 2);
      auto acc = sums<std::int32_t>(static_cast<std::size_t>(kernels * units * line / 2));
      auto expected = acc;
      for (int s = 0; s < steps; ++s) {
        for (int k = 0; k < kernels; ++k) {
          for (int i = 0; i < units * line; ++i)
            expected[static_cast<std::size_t>((k * units * line + i) / 2)] +=
                lines[static_cast<std::size_t>(offsets[s] + i)] *
                weights[static_cast<std::size_t>((s * kernels + k) * line + i % line)];
        }
      }
      mac_steps({lines.data(), offsets, steps, units, line, weights.data(), kernels}, acc.data());
      EXPECT_EQ(acc, expected) << "line " << line << ", " << kernels << " kernels";
      std::vector<Sum> wide(acc.size(), Sum{1} << 40);
      mac_steps({lines.data(), offsets, steps, units, line, weights.data(), kernels}, wide.data());
      const auto start = sums<std::int32_t>(acc.size());
      for (std::size_t i = 0; i < wide.size(); ++i)
        ASSERT_EQ(wide[i] - (Sum{1} << 40), expected[i] - start[i]) << "line " << line << ", pair " << i;
    }
  }
}

TEST(Kernels, NU_1_DT_2_a_tile_is_convolved_as_defined) {
  for (const auto& [kernels, planes, channels, wide] : {std::tuple(1, 1, 6, false),
                                                        {16, 1, 6, false},
                                                        {33, 1, 6, true},
                                                        {33, 1, 6, false},
                                                        {16, 3, 2, false},
                                                        {33, 3, 4, false},
                                                        {16, 2, 8, false},
                                                        {5, 200, 16, true},
                                                        {5, 2, 16, false}}) {
    for (const int columns : {1, 5, 17}) {
      TileConvolution g;
      g.planes = planes, g.wide = wide;
      g.rows = 3, g.columns = columns, g.kernel_h = 2, g.kernel_w = 3, g.kernels = kernels;
      g.h_offset = -1, g.w_offset = -1, g.stride_w = 2, g.dilation_h = 2;
      TileOperands tile;
      tile.height = 4, tile.width = 2 * columns, tile.depth = planes * channels;
      const auto elements = static_cast<std::size_t>(tile.height * tile.width * tile.depth);
      tile.pixels = wide ? halves(elements, 3) : operands(elements, 3);
      const int taps = g.kernel_h * g.kernel_w;
      const auto weights = operands(static_cast<std::size_t>(kernels * taps * tile.depth), 4);
      std::vector<std::int16_t> packed;
      pack_weights(g, tile.depth, weights, packed);
      const int stride = accumulator_stride(kernels);
      auto acc = sums(static_cast<std::size_t>(g.rows * columns * stride));
      const auto before = acc;
      convolve_tile(g, tile, packed, acc.data());
      for (int pixel = 0; pixel < g.rows * columns; ++pixel) {
        for (int k = 0; k < kernels; ++k) {
          Sum sum = before[static_cast<std::size_t>(pixel * stride + k)];
          for (int tap = 0; tap < taps; ++tap) {
            const int h = pixel / columns - 1 + tap / 3 * 2, w = pixel % columns * 2 - 1 + tap % 3;
            if (h < 0 || h >= tile.height || w < 0 || w >= tile.width) continue;
            for (int c = 0; c < tile.depth; ++c) {
              const int plane = c / channels, word = (k * planes + plane) * taps + tap;
              sum += tile.pixels[static_cast<std::size_t>((h * tile.width + w) * tile.depth + c)] *
                     weights[static_cast<std::size_t>(word * channels + c % channels)];
            }
          }
          ASSERT_EQ(acc[static_cast<std::size_t>(pixel * stride + k)], sum)
              << kernels << " kernels, " << planes << " planes, pixel " << pixel << " of " << g.rows << " x "
              << columns << ", kernel " << k;
        }
      }
    }
  }
}

TEST(Kernels, NU_1_DT_2_a_block_of_lines_is_multiplied_as_a_matrix) {
  for (const int length : {16, 32, 48, 80, 8192}) {
    const bool wide = length > 80;
    for (int rows = 1; rows <= 9; rows += 2) {
      for (int columns = 1; columns <= 10; columns += 3) {
        const auto count = static_cast<std::size_t>(rows * length);
        const auto a = wide ? halves(count, 5) : operands(count, 5);
        const auto b = operands(static_cast<std::size_t>(columns * length), 6);
        const std::size_t stride = 11;
        auto acc = sums(static_cast<std::size_t>(rows) * stride);
        auto expected = acc;
        for (int i = 0; i < rows; ++i) {
          for (int j = 0; j < columns; ++j) {
            for (int n = 0; n < length; ++n)
              expected[static_cast<std::size_t>(i) * stride + static_cast<std::size_t>(j)] +=
                  a[static_cast<std::size_t>(i * length + n)] * b[static_cast<std::size_t>(j * length + n)];
          }
        }
        const auto width = static_cast<std::size_t>(length);
        rolling::multiply_block({a.data(), width}, rows, {b.data(), width}, columns, length, acc.data(),
                                stride, wide);
        EXPECT_EQ(acc, expected) << rows << " x " << columns << " x " << length;
      }
    }
  }
}

}  // namespace
}  // namespace tilebeat
