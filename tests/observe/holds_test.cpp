// Who uses what of a memory, and races about it (SPEC HI-2, CY-3).
#include "observe/holds.h"

#include "random_cases.h"
#include "tilebeat/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

using HoldsAccess = Holds::Access;
using ::testing::AllOf;
using ::testing::HasSubstr;

std::string error(const std::function<void()>& action) {
  try {
    action();
  } catch (const SimulationError& thrown) {
    return thrown.what();
  }
  return "";
}

BytePattern random_pattern() {
  return {static_cast<std::uint64_t>(number(0, 40)), static_cast<std::uint64_t>(number(0, 6)),
          static_cast<std::uint64_t>(number(0, 12)), static_cast<std::uint64_t>(number(0, 6))};
}
bool contains(const BytePattern& pattern, std::uint64_t byte) {
  for (std::uint64_t i = 0; i < pattern.count; ++i) {
    const std::uint64_t begin = pattern.begin + i * pattern.stride;
    if (byte >= begin && byte < begin + pattern.run) return true;
  }
  return false;
}

TEST(BytePatternProperty, HI_2_patterns_meet_where_they_share_a_byte) {
  check_cases(3000, [] {
    const BytePattern a = random_pattern(), b = random_pattern();
    const auto from = static_cast<std::uint64_t>(number(0, 120)),
               to = from + static_cast<std::uint64_t>(number(0, 9));
    bool shared = false, touched = false;
    for (std::uint64_t byte = 0; byte < 200; ++byte) {
      shared = shared || (contains(a, byte) && contains(b, byte));
      touched = touched || (contains(a, byte) && byte >= from && byte < to);
    }
    RC_ASSERT(a.meets(b) == shared);
    RC_ASSERT(a.meets(from, to) == touched);
  });
}

TEST(Holds, HI_2_a_write_into_what_is_read_is_a_race_until_it_is_closed) {
  Holds holds("the buffer");
  holds.access("loader", HoldsAccess::kWrite, 0, 64, 9);
  const std::uint64_t run = holds.open("run", HoldsAccess::kRead, {0, 64}, 10);
  holds.access("reader", HoldsAccess::kRead, 0, 64, 10);
  holds.access("loader", HoldsAccess::kWrite, 64, 65, 10);
  EXPECT_EQ(error([&] { holds.access("loader", HoldsAccess::kWrite, 63, 70, 11); }),
            "race in the buffer: run reads 0x0 to 0x3f while loader writes there");
  holds.close(run, 20);
  EXPECT_NE(error([&] { holds.access("loader", HoldsAccess::kWrite, 0, 1, 20); }), "");
  EXPECT_EQ(error([&] { holds.access("loader", HoldsAccess::kWrite, 0, 1, 21); }), "");
}

TEST(Holds, HI_2_a_read_of_what_is_written_is_a_race) {
  Holds holds("the buffer");
  holds.open("run", HoldsAccess::kWrite, {100, 4, 16, 3}, 10);
  holds.access("reader", HoldsAccess::kRead, 104, 116, 11);
  EXPECT_EQ(error([&] { holds.access("reader", HoldsAccess::kRead, 104, 117, 11); }),
            "race in the buffer: run writes 0x64 to 0x87 while reader reads there");
}

// The order of processes in a cycle does not count.
TEST(Holds, CY_4_who_comes_first_in_a_cycle_makes_no_difference) {
  Holds early("the buffer"), late("the buffer");
  early.open("run", HoldsAccess::kRead, {0, 8}, 10);
  const std::string one = error([&] { early.access("loader", HoldsAccess::kWrite, 4, 5, 10); });
  late.access("loader", HoldsAccess::kWrite, 4, 5, 10);
  EXPECT_EQ(error([&] { late.open("run", HoldsAccess::kRead, {0, 8}, 10); }), one);
  EXPECT_NE(one, "");
}

TEST(Holds, CY_4_who_comes_first_in_the_cycle_of_an_end_makes_no_difference) {
  for (const bool next_run : {false, true}) {
    Holds early("the buffer"), late("the buffer");
    const std::uint64_t run = late.open("run", HoldsAccess::kRead, {0, 8}, 10);
    early.open("run", HoldsAccess::kRead, {0, 8}, 10);
    const std::string one = error([&] { early.access("loader", HoldsAccess::kWrite, 4, 5, 20); });
    late.close(run, 20);
    if (next_run) late.open("next run", HoldsAccess::kRead, {64, 8}, 20);
    EXPECT_EQ(error([&] { late.access("loader", HoldsAccess::kWrite, 4, 5, 20); }), one);
    EXPECT_NE(one, "");
  }
}

TEST(Holds, HI_2_an_engine_reads_no_results_that_it_has_not_finished) {
  Holds holds("nram");
  holds.open("run 1", HoldsAccess::kWrite, {0, 64}, 10);
  holds.open("run 2", HoldsAccess::kWrite, {0, 64}, 11);  // in its turn
  EXPECT_EQ(error([&] {
              holds.open("run 3", HoldsAccess::kRead, {60, 8}, 12);
            }),
            "race in nram: run 3 reads 0x3c to 0x43 while run 1 writes there");
  holds.close_oldest(14);
  holds.close_oldest(14);
  EXPECT_NE(error([&] { holds.open("run 3", HoldsAccess::kRead, {60, 8}, 13); }), "");
  EXPECT_EQ(error([&] { holds.open("run 3", HoldsAccess::kRead, {60, 8}, 14); }), "");
}

TEST(Holds, HI_2_results_that_overlap_have_no_order) {
  Holds holds("nram");
  EXPECT_THAT(error([&] {
                holds.open("run", HoldsAccess::kWrite, {0, 4, 3, 2}, 1);
              }),
              AllOf(HasSubstr("2 times 4"), HasSubstr("3 apart")));
  EXPECT_EQ(error([&] { holds.open("run", HoldsAccess::kWrite, {0, 4, 4, 2}, 1); }), "");
  EXPECT_EQ(error([&] { holds.open("run", HoldsAccess::kWrite, {100, 4, 0, 1}, 1); }), "");
}

TEST(Holds, OT_4_copies_are_watched_until_they_are_thrown_away) {
  Holds holds("nram");
  holds.watch({0, 16});
  holds.watch({32, 16});
  holds.access("loader", HoldsAccess::kRead, 0, 64, 1);
  holds.access("loader", HoldsAccess::kWrite, 16, 32, 2);
  EXPECT_FALSE(holds.changed());
  holds.access("loader", HoldsAccess::kWrite, 15, 16, 3);
  EXPECT_TRUE(holds.changed());
  holds.end_watch();
  EXPECT_FALSE(holds.changed());
  holds.watch({0, 16});
  holds.open("run", HoldsAccess::kWrite, {8, 4}, 4);
  EXPECT_TRUE(holds.changed());
}

}  // namespace
}  // namespace tilebeat::testing
