// When a module wakes next.
#include "sim/clock.h"
#include "systemc_test.h"

#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

TEST(NextClock, is_the_first_after_now) {
  NextClock next(10);
  EXPECT_FALSE(next.any());
  next.at(10);
  next.at(-1);
  EXPECT_FALSE(next.any()) << "now and the past do not count";
  next.at(30);
  next.at(12);
  next.at(20);
  ASSERT_TRUE(next.any());
  EXPECT_EQ(next.first(), 12);
}

}  // namespace
}  // namespace tilebeat::testing
