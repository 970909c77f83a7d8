// Parts of a dimension and receptive fields against counting (SPEC MA-1, MA-2).
#include "planner/language/problem.h"

#include <random>
#include <set>

#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

class Windows : public ::testing::Test {
 protected:
  int number(int low, int high) {
    return low + static_cast<int>(random_() % static_cast<unsigned>(high - low + 1));
  }
  WindowAxis axis() { return {number(1, 30), number(1, 6), number(1, 5), number(1, 4), number(0, 8)}; }
  /// Inputs of the map that taps of `outs` touch.
  static std::set<int> touched(const WindowAxis& axis, Interval outs) {
    std::set<int> inputs;
    for (int o = outs.begin; o < outs.end; ++o) {
      for (int k = 0; k < axis.kernel; ++k) {
        const int input = o * axis.stride + k * axis.dilation - axis.pad;
        if (input >= 0 && input < axis.extent) inputs.insert(input);
      }
    }
    return inputs;
  }

  std::mt19937 random_{1};
};

TEST_F(Windows, MA_2_a_window_holds_all_inputs_of_its_outputs) {
  int padding_only = 0;
  for (int round = 0; round < 20000; ++round) {
    const WindowAxis a = axis();
    const int begin = number(0, 20);
    const Interval outs{begin, begin + number(1, 6)};
    const Window w = a.window(outs);
    ASSERT_EQ(w.out, outs.begin);
    ASSERT_EQ(w.outs, outs.size());
    ASSERT_GE(w.in, 0);
    ASSERT_GE(w.ins, 0);
    ASSERT_LE(w.in + w.ins, a.extent);
    // Tap k of output o is input o * stride + k * dilation + offset of the window.
    ASSERT_EQ(w.in + w.offset, outs.begin * a.stride - a.pad);
    const std::set<int> inputs = touched(a, outs);
    for (const int input : inputs) {
      ASSERT_GE(input, w.in);
      ASSERT_LT(input, w.in + w.ins);
    }
    // No more than lies between the first tap and the last.
    const int first = outs.begin * a.stride - a.pad;
    const int last = (outs.end - 1) * a.stride + (a.kernel - 1) * a.dilation - a.pad;
    int between = 0;
    for (int input = std::max(first, 0); input <= std::min(last, a.extent - 1); ++input) ++between;
    ASSERT_EQ(w.ins, between);
    padding_only += inputs.empty() ? 1 : 0;
  }
  EXPECT_GT(padding_only, 100);
}

TEST_F(Windows, MA_2_the_span_is_the_largest_window) {
  for (int round = 0; round < 5000; ++round) {
    const WindowAxis a = axis();
    const int outs = number(1, 8);
    bool inside = false;
    for (int begin = 0; begin < 30; ++begin) {
      const Window w = a.window({begin, begin + outs});
      ASSERT_LE(w.ins, a.span(outs));
      const int first = begin * a.stride - a.pad;
      const int last = (begin + outs - 1) * a.stride + (a.kernel - 1) * a.dilation - a.pad;
      if (first < 0 || last >= a.extent) continue;
      ASSERT_EQ(w.ins, a.span(outs));
      ASSERT_EQ(a.inner(outs).ins, w.ins);
      inside = true;
    }
    if (!inside) {
      ASSERT_LE(a.span(outs), a.extent);
    }
  }
}

TEST_F(Windows, MA_2_touched_inputs_are_counted_once) {
  for (int round = 0; round < 5000; ++round) {
    const WindowAxis a = axis();
    const int outs = number(0, 12);
    ASSERT_EQ(a.touched(outs), static_cast<std::int64_t>(touched(a, {0, outs}).size()));
  }
}

TEST_F(Windows, MA_1_parts_are_whole_granules_and_even) {
  for (int round = 0; round < 20000; ++round) {
    const int extent = number(0, 60), parts = number(1, 9), granule = number(1, 9);
    int at = 0, largest = 0, fewest = 1 << 20, most = 0;
    for (int i = 0; i < parts; ++i) {
      const Interval part = part_of(extent, parts, i, granule);
      ASSERT_EQ(part.begin, at) << "parts follow one another";
      ASSERT_GE(part.size(), 0);
      at = part.end;
      if (part.end != extent) {
        ASSERT_EQ(part.size() % granule, 0);
      }
      const int granules = (part.size() + granule - 1) / granule;
      fewest = std::min(fewest, granules), most = std::max(most, granules);
      largest = std::max(largest, part.size());
    }
    ASSERT_EQ(at, extent);
    ASSERT_LE(most - fewest, 1);
    // The largest part; up to a granule more where it is the last one.
    ASSERT_GE(largest_part_of(extent, parts, granule), largest);
    ASSERT_LT(largest_part_of(extent, parts, granule), largest + granule);
    ASSERT_LE(largest_part_of(extent, parts, granule), extent);
  }
}

TEST_F(Windows, MA_1_parts_by_hand) {
  EXPECT_EQ(part_of(10, 3, 0, 1), (Interval{0, 3}));
  EXPECT_EQ(part_of(10, 3, 1, 1), (Interval{3, 6}));
  EXPECT_EQ(part_of(10, 3, 2, 1), (Interval{6, 10}));
  EXPECT_EQ(part_of(10, 3, 0, 4), (Interval{0, 4}));
  EXPECT_EQ(part_of(10, 3, 2, 4), (Interval{8, 10}));
  EXPECT_TRUE(part_of(4, 3, 0, 4).empty());
}

}  // namespace
}  // namespace tilebeat::testing
