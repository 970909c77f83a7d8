// The order of the rolling-register unit against the tables and examples of document 002 (SPEC section 5):
// variants and blocks.
#include "rolling_schedules.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace tilebeat::rolling {
namespace {

/// The sums of every computation of a product that is not blocked, line by line.
std::vector<std::string> sums_of(const RollingSchedule& schedule) {
  const OutputBlock block = schedule.block(0);
  std::vector<std::string> computations;
  for (const Step& step : steps_of(schedule, block, 0)) {
    std::string sums;
    for (int line = 0; line < block.lines; ++line) {
      const auto sum = schedule.sum_of(block, step, line);
      sums += (line > 0 ? " " : "") + (sum ? name_of(*sum) : std::string("-"));
    }
    computations.push_back(sums);
  }
  return computations;
}

// ---- variants ----

TEST(RollingSchedule, RO_2_three_by_three_up_order) {
  const RollingSchedule schedule(array_of(4, 4), order_of(Variant::kRightBUp), product_of(3, 3, 3));
  EXPECT_EQ(sums_of(schedule),
            (std::vector<std::string>{"c11 c22 c33", "c12 c23 c31", "c13 c21 c32"}));  // [0111]-[0122]
  const OutputBlock block = schedule.block(0);
  EXPECT_EQ(schedule.realignment(block), 2) << "L - 1";
  // [0126]-[0129]: row 2 moves by one, row 3 by two, to the right.
  const auto lines = [&](int clock) {
    std::vector<int> moved;
    for (const auto& shift : schedule.shifts(block, clock)) {
      EXPECT_TRUE(shift.right);
      moved.push_back(shift.line);
    }
    return moved;
  };
  EXPECT_EQ(lines(0), (std::vector<int>{1, 2}));
  EXPECT_EQ(lines(1), (std::vector<int>{2}));
}

TEST(RollingSchedule, RO_2_three_by_three_left_order) {
  const RollingSchedule schedule(array_of(4, 4), order_of(Variant::kLeftALeft), product_of(3, 3, 3));
  EXPECT_EQ(sums_of(schedule),
            (std::vector<std::string>{"c11 c22 c33", "c21 c32 c13", "c31 c12 c23"}));  // [0139]-[0148]
}

TEST(RollingSchedule, RO_2_sums_of_all_variants) {
  // SPEC RO-2, column "sum (p,t)": which index the stationary line p gives, and which way the other one runs.
  struct Row {
    Variant variant;
    bool p_is_row;
    int direction;
  };
  const std::vector<Row> table{{Variant::kRightBUp, true, 1},   {Variant::kRightBDown, true, -1},
                               {Variant::kRightAUp, false, 1},  {Variant::kRightADown, false, -1},
                               {Variant::kLeftALeft, false, 1}, {Variant::kLeftARight, false, -1},
                               {Variant::kLeftBLeft, true, 1},  {Variant::kLeftBRight, true, -1}};
  for (const Row& row : table) {
    for (const int length : {3, 5}) {
      const RollingSchedule schedule(array_of(6, 6), order_of(row.variant), product_of(length, 4, length));
      const OutputBlock block = schedule.block(0);
      for (int t = 0; t < length; ++t) {
        Step step;
        step.computation = t;
        for (int p = 0; p < length; ++p) {
          const int other = ((p + row.direction * t) % length + length) % length;
          const Element expected = row.p_is_row ? Element{p, other} : Element{other, p};
          EXPECT_EQ(schedule.sum_of(block, step, p), expected)
              << variant_name(row.variant) << ", p " << p << ", t " << t;
          EXPECT_EQ(schedule.stored_at(block, step, p), (SumPlace{p, t}));
        }
      }
    }
  }
}

TEST(RollingSchedule, RO_1_computations_and_rolls) {
  for (const Variant variant : kAll) {
    const RollingSchedule schedule(array_of(8, 8), order_of(variant), product_of(3, 2, 7));
    const OutputBlock block = schedule.block(0);
    EXPECT_EQ(schedule.computations(block, 0), 7) << "L = max(m, k), whichever operand rolls";
    EXPECT_EQ(schedule.rolls(block).rings, 6) << "L - 1";
    const std::vector<Step> steps = steps_of(schedule, block, 0);
    EXPECT_EQ(steps.size(), 7U) << "a roll takes no clock";
    for (const Step& step : steps) EXPECT_TRUE(step.ends_computation);
  }
}

TEST(RollingSchedule, RO_1_the_shorter_operand_rolls_in_a_ring_with_empty_places) {
  // A of two rows rolls past B of four columns: no product where the ring is empty.
  const RollingSchedule schedule(array_of(4, 4), order_of(Variant::kRightAUp), product_of(2, 4, 4));
  EXPECT_EQ(sums_of(schedule),
            (std::vector<std::string>{"c11 c22 - -", "c21 - - c14", "- - c13 c24", "- c12 c23 -"}));
}

// ---- blocking ----

TEST(RollingSchedule, RO_3_two_by_four_times_four_by_three) {
  const RollingSchedule schedule(array_of(2, 2), order_of(Variant::kRightBUp), product_of(2, 4, 3));
  EXPECT_EQ(schedule.cuts(), 2) << "figure 2a, not 2b";
  EXPECT_EQ(schedule.cut(0), (Span{0, 2}));
  EXPECT_EQ(schedule.cut(1), (Span{2, 2}));
  ASSERT_EQ(schedule.blocks(), 2);
  EXPECT_EQ(schedule.block(0).columns, (Span{0, 2}));
  EXPECT_EQ(schedule.block(1).columns, (Span{2, 1}));
  EXPECT_EQ(schedule.rounds_per_block(), 2);
}

TEST(RollingSchedule, RO_3_full_blocks_first_remainders_last) {
  const RollingSchedule schedule(array_of(4, 3), order_of(Variant::kRightBUp), product_of(10, 8, 5));
  EXPECT_EQ(schedule.cuts(), 3);
  EXPECT_EQ(schedule.cut(2), (Span{6, 2}));
  ASSERT_EQ(schedule.blocks(), 3 * 2);
  EXPECT_EQ(schedule.block(0).rows, (Span{0, 4}));
  EXPECT_EQ(schedule.block(2).rows, (Span{8, 2}));
  EXPECT_EQ(schedule.block(2).columns, (Span{0, 4}));
  EXPECT_EQ(schedule.block(3).rows, (Span{0, 4}));
  EXPECT_EQ(schedule.block(5).columns, (Span{4, 1}));
  EXPECT_EQ(schedule.block_rows(), 20);
}

TEST(RollingSchedule, RO_3_left_transposed_lines_are_columns) {
  const RollingSchedule schedule(array_of(4, 3), order_of(Variant::kLeftALeft), product_of(10, 8, 5));
  EXPECT_EQ(schedule.cuts(), 2) << "n runs down the rows";
  EXPECT_EQ(schedule.blocks(), 4 * 2) << "lines are columns";
}

TEST(RollingSchedule, RO_5_matrices_may_start_at_any_pe) {
  Shape shape = array_of(4, 4);
  shape.start_row = 1, shape.start_column = 2;
  const RollingSchedule right(shape, order_of(Variant::kRightBUp), product_of(6, 4, 6));
  EXPECT_EQ(right.lines(), 3);
  EXPECT_EQ(right.lanes(), 2);
  const RollingSchedule left(shape, order_of(Variant::kLeftALeft), product_of(6, 4, 6));
  EXPECT_EQ(left.lines(), 2);
  EXPECT_EQ(left.lanes(), 3);
}

TEST(RollingSchedule, groups_of_a_convolution_are_not_mixed) {
  Product product = product_of(4, 4, 5);
  product.first_column = 2, product.group_columns = 3;  // columns 2 | 3 4 5 | 6
  const RollingSchedule schedule(array_of(4, 4), order_of(Variant::kRightBUp), product);
  ASSERT_EQ(schedule.blocks(), 3);
  EXPECT_EQ(schedule.block(0).columns, (Span{0, 1}));
  EXPECT_EQ(schedule.block(1).columns, (Span{1, 3}));
  EXPECT_EQ(schedule.block(2).columns, (Span{4, 1}));
}

TEST(RollingSchedule, shapes_of_all_blocks) {
  for (const auto& [m, k] : std::vector<std::pair<int, int>>{{10, 5}, {8, 8}, {3, 2}, {4, 9}}) {
    const RollingSchedule schedule(array_of(4, 4), order_of(Variant::kRightBUp), product_of(m, 8, k));
    std::map<std::pair<int, int>, std::int64_t> expected, actual;
    for (std::int64_t i = 0; i < schedule.blocks(); ++i)
      ++expected[{schedule.block(i).rows.size, schedule.block(i).columns.size}];
    for (const auto& [block, number] : schedule.block_shapes())
      actual[{block.rows.size, block.columns.size}] += number;
    EXPECT_EQ(actual, expected) << m << " x " << k;
  }
}

}  // namespace
}  // namespace tilebeat::rolling
