// Places in a memory (SPEC MA-2).
#include "planner/language/task_graph.h"
#include "tilebeat/error.h"

#include <optional>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

TEST(Arena, MA_2_places_lie_one_behind_the_other_aligned) {
  Arena arena(1000, 4096, 64);
  EXPECT_EQ(arena.used(), 0);
  EXPECT_EQ(arena.allocate(10), 1000U);
  EXPECT_EQ(arena.used(), 10);
  EXPECT_EQ(arena.allocate(64), 1064U) << "alignment counts from the base";
  EXPECT_EQ(arena.allocate(1), 1128U);
  EXPECT_EQ(arena.used(), 129);
  EXPECT_EQ(arena.size(), 4096);
}

TEST(Arena, MA_2_a_place_is_free_again_behind_its_lifetime) {
  Arena arena(0, 256, 16);
  EXPECT_EQ(arena.allocate(100, {0, 1}), 0U);
  EXPECT_EQ(arena.allocate(100, {1, 2}), 112U) << "both ends are included";
  EXPECT_EQ(arena.allocate(100, {2, 3}), 0U);
  EXPECT_EQ(arena.allocate(200, {4, 4}), 0U);
  EXPECT_EQ(arena.used(), 212);
}

TEST(Arena, MA_2_the_lowest_gap_that_is_large_enough) {
  Arena arena(0, 1024, 1);
  arena.allocate(100, {0, 0});  // 0: gone in step 1
  arena.allocate(50, {0, 9});   // 100
  arena.allocate(200, {0, 0});  // 150: gone likewise
  arena.allocate(50, {0, 9});   // 350
  EXPECT_EQ(arena.allocate(150, {1, 9}), 150U) << "not the first gap: it is 100 bytes";
  EXPECT_EQ(arena.allocate(100, {1, 9}), 0U);
  EXPECT_EQ(arena.allocate(51, {1, 9}), 400U);
  EXPECT_EQ(arena.allocate(50, {1, 9}), 300U);
}

TEST(Arena, MA_2_what_does_not_fit_is_refused_and_leaves_everything_as_it_was) {
  Arena arena(0, 100, 10);
  arena.allocate(41);
  try {
    arena.allocate(51);
    FAIL() << "50 bytes are left behind the alignment";
  } catch (const UserError& error) {
    EXPECT_EQ(std::string(error.what()), "51 bytes do not fit: 50 of 100 are taken");
  }
  EXPECT_EQ(arena.used(), 41);
  EXPECT_EQ(arena.allocate(50), 50U);
  EXPECT_THROW(arena.allocate(1), UserError);
}

// Against trying every place.
TEST(Arena, MA_2_random_lifetimes) {
  std::mt19937 random(1);
  const auto number = [&random](int low, int high) {
    return low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1));
  };
  struct Place {
    std::int64_t begin, end;
    Lifetime lifetime;
  };
  int refused = 0, given = 0;
  for (int round = 0; round < 300; ++round) {
    const int size = number(50, 400), alignment = 1 << number(0, 5);
    const std::uint64_t base = random() % 1000;
    Arena arena(base, size, alignment);
    std::vector<Place> places;
    for (int i = 0; i < 25; ++i) {
      const int bytes = number(1, 80), first = number(0, 9);
      const Lifetime lifetime{first, first + number(0, 3)};
      std::optional<std::int64_t> expected;
      for (std::int64_t at = 0; at + bytes <= size && !expected; at += alignment) {
        bool free = true;
        for (const Place& p : places)
          free = free && !(p.lifetime.first <= lifetime.last && lifetime.first <= p.lifetime.last &&
                           p.begin < at + bytes && at < p.end);
        if (free) expected = at;
      }
      if (!expected) {
        ASSERT_THROW(arena.allocate(bytes, lifetime), UserError);
        ++refused;
        continue;
      }
      ASSERT_EQ(arena.allocate(bytes, lifetime), base + static_cast<std::uint64_t>(*expected));
      places.push_back({*expected, *expected + bytes, lifetime});
      ++given;
    }
    std::int64_t end = 0;
    for (const Place& p : places) end = std::max(end, p.end);
    ASSERT_EQ(arena.used(), end);
  }
  EXPECT_GT(refused, 100);
  EXPECT_GT(given, 100);
}

}  // namespace
}  // namespace tilebeat::testing
