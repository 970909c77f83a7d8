// Which bytes of kernels lie in memory (docs/isa.md, load.kernels; SPEC SW-8).

#include "engines/switch_array/kernel_words.h"

#include "tilebeat/error.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace tilebeat::switch_array {
namespace {

constexpr int kColumns = 16, kChannels = 4;

// 32 kernels of one channel each, 3 x 3 taps: a block of 16 kernels has 4 channel blocks.
LoadKernels depthwise(int first_kernel) {
  LoadKernels load;
  load.words = load.block_words = 36, load.taps = 9;
  load.group_channels = load.group_kernels = 1;
  load.kernels =
      static_cast<std::uint16_t>(32 - first_kernel);  // the rest: every kernel is its group's first
  return load;
}

TEST(KernelWords, SW_8_without_groups_all_bytes_lie_in_memory) {
  LoadKernels load;
  load.words = 18;
  const KernelWords words(load, kColumns, kChannels);
  EXPECT_EQ(words.bytes(), 18 * 16 * 4);
  EXPECT_EQ(words.brought(17, 15), (Interval{0, 4}));
}

TEST(KernelWords, SW_8_of_a_depthwise_kernel_one_byte_a_tap) {
  for (const int first : {0, 16}) {
    const KernelWords words(depthwise(first), kColumns, kChannels);
    EXPECT_EQ(words.bytes(), 16 * 9);
    // Column 6 is channel 6 of the block: byte 2 of its second channel block.
    EXPECT_EQ(words.brought(9, 6), (Interval{2, 3}));
    EXPECT_EQ(words.brought(17, 6), (Interval{2, 3})) << "of every tap";
    EXPECT_EQ(words.brought(8, 6).size(), 0);
    EXPECT_EQ(words.brought(18, 6).size(), 0);
  }
}

TEST(KernelWords, SW_8_blocks_one_behind_the_other_have_channels_of_their_own) {
  LoadKernels load = depthwise(0);
  load.words = 72, load.block_channels = 16;
  const KernelWords words(load, kColumns, kChannels);
  EXPECT_EQ(words.bytes(), 2 * 16 * 9);
  for (int word = 0; word < 36; ++word) {
    for (int column = 0; column < kColumns; ++column)
      EXPECT_EQ(words.brought(word, column), words.brought(36 + word, column));
  }
}

TEST(KernelWords, SW_8_kernels_that_do_not_exist_have_no_bytes) {
  LoadKernels load = depthwise(16);
  load.kernels = 4;
  const KernelWords words(load, kColumns, kChannels);
  EXPECT_EQ(words.bytes(), 4 * 9);
  EXPECT_EQ(words.brought(9, 4).size(), 0);
}

TEST(KernelWords, SW_8_refuses_words_that_are_no_blocks) {
  for (const auto& [words, block, taps] : {std::tuple{37, 36, 9}, {36, 36, 0}, {36, 36, 7}, {36, 0, 9}}) {
    LoadKernels load = depthwise(0);
    load.words = static_cast<std::uint32_t>(words), load.block_words = static_cast<std::uint32_t>(block);
    load.taps = static_cast<std::uint32_t>(taps);
    EXPECT_THROW(KernelWords(load, kColumns, kChannels), SimulationError);
  }
}

TEST(KernelWords, UI_5_refuses_a_distance_of_blocks_where_there_is_one) {
  LoadKernels load = depthwise(0);
  load.block_channels = 16;
  EXPECT_THROW(KernelWords(load, kColumns, kChannels), SimulationError);
  load.words *= 2;
  EXPECT_NO_THROW(KernelWords(load, kColumns, kChannels));
}

// Byte by byte: a byte lies in memory when its channel belongs to the group of its column's kernel.
RC_GTEST_PROP(KernelWords, SW_8_bytes_of_random_groups, ()) {
  const auto number = [](int from, int to) { return *rc::gen::inRange(from, to + 1); };
  LoadKernels load;
  const int channels = number(1, 9), kernels = number(1, 9), groups = number(1, 40);
  load.group_channels = static_cast<std::uint32_t>(channels);
  load.group_kernels = static_cast<std::uint16_t>(kernels);
  load.taps = static_cast<std::uint32_t>(number(1, 4));
  const int planes = number(1, 6);
  load.words = load.block_words = static_cast<std::uint32_t>(planes) * load.taps;
  const int first_kernel = number(0, kernels * groups - 1);
  const int first_channel = number(0, channels * groups / kChannels) * kChannels;
  load.first_kernel = static_cast<std::uint16_t>(first_kernel % kernels);
  load.kernels = static_cast<std::uint16_t>(kernels * groups - first_kernel);
  load.first_channel = first_channel - first_kernel / kernels * channels;
  const KernelWords words(load, kColumns, kChannels);
  std::int64_t bytes = 0;
  for (int word = 0; word < static_cast<int>(load.words); ++word) {
    for (int column = 0; column < kColumns; ++column) {
      const int kernel = first_kernel + column;
      for (int i = 0; i < kChannels; ++i) {
        const int channel = first_channel + word / static_cast<int>(load.taps) * kChannels + i;
        const bool stored = kernel < kernels * groups && channel / channels == kernel / kernels;
        const Interval brought = words.brought(word, column);
        RC_ASSERT(stored == (i >= brought.begin && i < brought.end));
        bytes += stored ? 1 : 0;
      }
    }
  }
  RC_ASSERT(words.bytes() == bytes);
}

}  // namespace
}  // namespace tilebeat::switch_array
