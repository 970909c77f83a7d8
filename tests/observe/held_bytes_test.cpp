// What memories hold over time (SPEC UI-8).
#include "observe/held_bytes.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace tilebeat {
namespace {

constexpr auto kRead = HeldBytes::Access::kRead, kWrite = HeldBytes::Access::kWrite;
using Series = std::vector<std::int64_t>;

TEST(HeldBytes, UI_8_bytes_are_held_from_their_write_to_their_last_read) {
  HeldBytes held(1024);
  held.access(kWrite, 0, 128, 20);  // two lines
  held.access(kRead, 0, 64, 50);    // the first
  held.access(kWrite, 0, 64, 100);  // is overwritten: between 50 and 100 nobody needs it
  held.access(kRead, 64, 65, 90);   // the second, of which one byte is enough
  EXPECT_EQ(held.slice_cycles(128), 16);
  EXPECT_EQ(held.by_slice(16, 0, 128), (Series{0, 128, 128, 128, 64, 64, 64, 0}));
}

TEST(HeldBytes, UI_8_slices_begin_where_the_run_does_and_end_with_it) {
  HeldBytes held(64);
  held.access(kWrite, 0, 64, 40);
  EXPECT_EQ(held.by_slice(16, 33, 49), (Series{64, 0}));
  EXPECT_EQ(held.by_slice(32, 33, 49), (Series{64}));
  EXPECT_EQ(held.by_slice(16, 0, 0), Series{});
}

TEST(HeldBytes, UI_8_there_are_at_most_64_slices_and_none_forgets) {
  HeldBytes held(4096);
  held.access(kWrite, 0, 64, 0);
  held.access(kWrite, 64, 128, 17);
  held.access(kWrite, 128, 192, 1023);
  EXPECT_EQ(held.slice_cycles(1024), 16);
  EXPECT_EQ(held.slice_cycles(1025), 32);
  held.access(kWrite, 192, 256, 1024);
  EXPECT_EQ(held.slice_cycles(1), 32);
  const Series series = held.by_slice(32, 0, 1025);
  EXPECT_EQ(series.size(), 33U);
  EXPECT_EQ(series.front(), 128) << "both of the slices that became one";
  EXPECT_EQ(series[31], 64);
  EXPECT_EQ(series[32], 64);
  EXPECT_EQ(std::accumulate(series.begin(), series.end(), std::int64_t{0}), 256);
}

TEST(HeldBytes, UI_8_a_memory_holds_no_more_than_it_has) {
  HeldBytes held(100);  // the second line is a part of one
  held.access(kWrite, 0, 100, 3);
  EXPECT_EQ(held.by_slice(16, 0, 16), Series{100});
  HeldBytes large(64 * 4096 + 1);
  large.access(kWrite, 128, 129, 0);
  EXPECT_EQ(large.by_slice(16, 0, 16), Series{128}) << "lines grow with the memory";
}

// Processes of a cycle run in any order (SPEC CY-4).
TEST(HeldBytes, UI_8_CY_4_accesses_of_a_cycle_give_the_same_in_any_order) {
  struct One {
    HeldBytes::Access kind;
    std::uint64_t begin;
    Cycle cycle;
  };
  for (unsigned seed = 0; seed < 50; ++seed) {
    std::mt19937 random(seed);
    std::vector<One> all;
    for (int i = 0; i < 300; ++i)
      all.push_back(
          {random() % 2 == 0 ? kRead : kWrite, random() % 8 * 64, static_cast<Cycle>(random() % 900)});
    std::stable_sort(all.begin(), all.end(), [](const One& a, const One& b) { return a.cycle < b.cycle; });
    std::vector<One> turned(all.rbegin(), all.rend());
    std::stable_sort(turned.begin(), turned.end(),
                     [](const One& a, const One& b) { return a.cycle < b.cycle; });
    HeldBytes one(512), other(512);
    for (const One& a : all) one.access(a.kind, a.begin, a.begin + 64, a.cycle);
    for (const One& a : turned) other.access(a.kind, a.begin, a.begin + 64, a.cycle);
    EXPECT_EQ(one.by_slice(16, 0, 900), other.by_slice(16, 0, 900)) << seed;
  }
}

}  // namespace
}  // namespace tilebeat
