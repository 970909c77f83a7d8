// What a core's buffers for maps hold, and what the next tile still needs (docs/planner.md).
#include "planner/layer/matrix_core.h"

#include <gtest/gtest.h>

namespace tilebeat {
namespace {

bool same(const Access& a, const Access& b) {
  return a.buffer == b.buffer && a.version == b.version;
}

TEST(HeldMaps, MA_2_tiles_of_a_strip_load_the_rows_that_those_above_have_not) {
  TaskGraph graph;
  HeldMaps maps(graph, 1);
  const HeldMaps::Use first = maps.use(0, 4, {4, 9}), second = maps.use(0, 4, {7, 13});
  ASSERT_TRUE(first.load && second.load);
  EXPECT_EQ(first.load->rows, (Interval{4, 9}));
  EXPECT_EQ(second.load->rows, (Interval{9, 13}));
  EXPECT_EQ(second.first_row, 4) << "of the place, for both";
  EXPECT_EQ(first.reads.size(), 1U);
  ASSERT_EQ(second.reads.size(), 2U) << "rows 7 and 8 have come with the first tile";
  EXPECT_TRUE(same(second.reads[0], first.reads[0]));
  EXPECT_FALSE(same(second.reads[1], first.reads[0]));
  const HeldMaps::Use third = maps.use(0, 4, {11, 13});
  EXPECT_FALSE(third.load) << "at the lower edge all is there";
  ASSERT_EQ(third.reads.size(), 1U);
  EXPECT_TRUE(same(third.reads[0], second.reads[1]));
}

TEST(HeldMaps, MA_2_rows_between_tiles_are_not_loaded) {
  TaskGraph graph;
  HeldMaps maps(graph, 1);
  maps.use(0, 0, {0, 2});
  const HeldMaps::Use next = maps.use(0, 0, {5, 7});
  ASSERT_TRUE(next.load);
  EXPECT_EQ(next.load->rows, (Interval{5, 7}));
  EXPECT_EQ(next.reads.size(), 1U);
}

TEST(HeldMaps, MA_2_a_strip_that_is_there_is_not_loaded_again) {
  TaskGraph graph;
  HeldMaps maps(graph, 2);
  EXPECT_EQ(maps.use(0, 0, {0, 2}).place, 0);
  EXPECT_EQ(maps.use(1, 0, {0, 2}).place, 1);
  const HeldMaps::Use again = maps.use(0, 0, {0, 2});
  EXPECT_EQ(again.place, 0);
  EXPECT_FALSE(again.load);
}

TEST(HeldMaps, MA_2_the_next_strip_of_a_place_is_another_version_of_the_same_buffers) {
  TaskGraph graph;
  HeldMaps maps(graph, 1);
  const HeldMaps::Use before = maps.use(0, 0, {0, 3});
  maps.use(0, 0, {1, 6});
  const HeldMaps::Use other = maps.use(1, 0, {0, 3});
  ASSERT_TRUE(other.load);
  EXPECT_EQ(other.load->filling.buffer, before.load->filling.buffer) << "whose readers it waits for";
  EXPECT_NE(other.load->filling.version, before.load->filling.version);
  EXPECT_TRUE(maps.use(0, 0, {0, 3}).load) << "the first one is gone";
}

}  // namespace
}  // namespace tilebeat
