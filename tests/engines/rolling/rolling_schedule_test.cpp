// The order of the rolling-register unit against the tables and examples of document 002 (SPEC section 5).
#include "tilebeat/engines/rolling/schedule.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "rolling_formulas.h"

namespace tilebeat::rolling {
namespace {

namespace testing = tilebeat::testing;

constexpr std::array<Variant, 8> kAll{Variant::kRightBUp,   Variant::kRightBDown, Variant::kRightAUp,
                                      Variant::kRightADown, Variant::kLeftALeft,  Variant::kLeftARight,
                                      Variant::kLeftBLeft,  Variant::kLeftBRight};

Shape array_of(int rows, int columns, int groups = 4) {
  Shape shape;
  shape.rows = rows, shape.columns = columns, shape.groups = groups;
  return shape;
}
Product product_of(int m, int n, int k) {
  Product product;
  product.m = m, product.n = n, product.k = k, product.group_columns = k;
  return product;
}
Order order_of(Variant variant, Scheme scheme = Scheme::kPlain, int blocks = 1, int cuts = 1) {
  Order order;
  order.variant = variant, order.scheme = scheme;
  order.stacked_blocks = blocks, order.stacked_cuts = cuts;
  return order;
}
/// Element (row, column) as the document names it, from 1.
std::string name_of(const Element& e) {
  return fmt::format("c{}{}", e.row + 1, e.column + 1);
}

/// All steps of a round.
std::vector<Step> steps_of(const RollingSchedule& schedule, const OutputBlock& block, int round) {
  std::vector<Step> steps{schedule.first_step(block, round)};
  for (Step step = steps.back(); schedule.advance(block, round, step);) steps.push_back(step);
  return steps;
}
int count(const std::vector<Step>& steps, Step::Kind kind) {
  return static_cast<int>(
      std::count_if(steps.begin(), steps.end(), [&](const Step& s) { return s.kind == kind; }));
}

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

/// Stores all sums of an output block, realigns by rolling, and expects every element in its place.
void expect_realigned(const RollingSchedule& schedule, std::int64_t index, const std::string& what) {
  const OutputBlock block = schedule.block(index);
  std::map<std::pair<int, int>, std::string> buffer;
  for (const Step& step : steps_of(schedule, block, 0)) {
    if (step.kind != Step::Kind::kBeat) continue;
    for (int line = 0; line < block.lines; ++line) {
      const auto sum = schedule.sum_of(block, step, line);
      if (!sum) continue;
      ASSERT_LT(sum->row, block.rows.size) << what;
      ASSERT_LT(sum->column, block.columns.size) << what;
      const SumPlace place = schedule.stored_at(block, step, line);
      std::string& held = buffer[{place.line, place.index}];
      ASSERT_TRUE(held.empty() || held == name_of(*sum)) << what << ": two sums in one place";
      held = name_of(*sum);
    }
  }
  for (int clock = 0; clock < schedule.realignment(block); ++clock) {
    for (const RollingSchedule::Shift& shift : schedule.shifts(block, clock)) {
      std::vector<std::string> line;
      for (int i = 0; i < shift.indices.size; ++i)
        line.push_back(buffer[{shift.line, shift.indices.begin + i}]);
      std::rotate(line.begin(), shift.right ? line.end() - 1 : line.begin() + 1, line.end());
      for (int i = 0; i < shift.indices.size; ++i)
        buffer[{shift.line, shift.indices.begin + i}] = line[static_cast<std::size_t>(i)];
    }
  }
  for (int row = 0; row < block.rows.size; ++row) {
    for (int column = 0; column < block.columns.size; ++column) {
      const SumPlace place = schedule.aligned_at(block, {row, column});
      const std::string held = buffer[{place.line, place.index}];
      ASSERT_EQ(held, name_of({row, column})) << what;
    }
  }
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

TEST(RollingSchedule, RO_2_realignment_of_all_variants) {
  for (const Variant variant : kAll) {
    for (const auto& [m, k] :
         std::vector<std::pair<int, int>>{{3, 3}, {5, 5}, {3, 6}, {6, 3}, {1, 4}, {4, 1}}) {
      const RollingSchedule schedule(array_of(6, 6), order_of(variant), product_of(m, 4, k));
      EXPECT_EQ(schedule.realignment(schedule.block(0)), std::max(m, k) - 1);
      expect_realigned(schedule, 0, fmt::format("{} {} x {}", variant_name(variant), m, k));
    }
  }
}

TEST(RollingSchedule, RO_2_down_and_right_flip) {
  // Realigned to the left by p, computation t lies at -t: the flip of SPEC RO-2.
  const RollingSchedule schedule(array_of(4, 4), order_of(Variant::kRightBDown), product_of(4, 2, 4));
  const OutputBlock block = schedule.block(0);
  EXPECT_FALSE(schedule.shifts(block, 0).front().right);
  EXPECT_EQ(schedule.aligned_at(block, {2, 0}), (SumPlace{2, 0}));
  EXPECT_EQ(schedule.aligned_at(block, {2, 1}), (SumPlace{2, 3}));
  EXPECT_EQ(schedule.aligned_at(block, {2, 3}), (SumPlace{2, 1}));
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

// ---- stacked storage ----

/// The blocks of an operand by register group, as the document names them: "A12".
std::vector<std::string> blocks_in_groups(const RollingSchedule& s, const OutputBlock& block,
                                          OperandName operand, int phase) {
  std::vector<std::string> names(static_cast<std::size_t>(s.order().groups()));
  for (int part = 0; part < block.parts; ++part) {
    for (int cut = 0; cut < s.order().stacked_cuts; ++cut) {
      const int lines = operand == s.rolling() ? s.rolling_part(block, phase, part) : part;
      names[static_cast<std::size_t>(s.group_of(part, cut))] = operand == OperandName::kA
                                                                   ? fmt::format("A{}{}", lines + 1, cut + 1)
                                                                   : fmt::format("B{}{}", cut + 1, lines + 1);
    }
  }
  return names;
}

TEST(RollingSchedule, RO_4_tables_1_to_3) {
  const RollingSchedule s(array_of(2, 2), order_of(Variant::kRightBUp, Scheme::kGroupRolling, 2, 2),
                          product_of(4, 4, 4));
  ASSERT_EQ(s.blocks(), 1);
  ASSERT_EQ(s.rounds_per_block(), 1);
  const OutputBlock block = s.block(0);
  const auto all = [&](OperandName operand, int phase) { return blocks_in_groups(s, block, operand, phase); };
  EXPECT_EQ(all(OperandName::kA, 0), (std::vector<std::string>{"A11", "A12", "A21", "A22"}));  // table 1
  EXPECT_EQ(all(OperandName::kB, 0), (std::vector<std::string>{"B11", "B21", "B12", "B22"}));  // table 2
  EXPECT_EQ(all(OperandName::kB, 1), (std::vector<std::string>{"B12", "B22", "B11", "B21"}));  // table 3
  const std::vector<Step> steps = steps_of(s, block, 0);
  EXPECT_EQ(count(steps, Step::Kind::kBeat), 16);
  EXPECT_EQ(count(steps, Step::Kind::kExchange), 1);
  EXPECT_EQ(steps.size(), 17U);
  // [0178], [0182]: C11 and C22 come first, of two products each; then C12 and C21.
  std::map<std::string, int> products;
  for (const Step& step : steps) {
    if (step.kind != Step::Kind::kBeat) continue;
    const Element sum = *s.sum_of(block, step, 0);
    EXPECT_EQ(sum.row / 2 == sum.column / 2, step.phase == 0);
    for (int line = 0; line < 2; ++line) ++products[name_of(*s.sum_of(block, step, line))];
  }
  EXPECT_EQ(products.size(), 16U);
  for (const auto& [element, number] : products) EXPECT_EQ(number, 2) << element;
}

TEST(RollingSchedule, RO_4_tables_4_and_5) {
  const RollingSchedule s(array_of(2, 2), order_of(Variant::kRightBUp, Scheme::kWholeRolling, 2, 2),
                          product_of(4, 4, 4));
  const OutputBlock block = s.block(0);
  const std::vector<Step> steps = steps_of(s, block, 0);
  EXPECT_EQ(s.computations(block, 0), 4);
  EXPECT_EQ(s.rolls(block).rings, 3);
  EXPECT_EQ(count(steps, Step::Kind::kCorrection), 3);
  EXPECT_EQ(count(steps, Step::Kind::kBeat), 16) << "as in the other scheme";
  // Table 5: after the first roll and its correction reg0 and reg1 hold columns 2 and 3 of B, reg2 and reg3
  // columns 4 and 1.
  Step step;
  step.computation = 1;
  const auto columns = [&](int part) {
    step.part = part;
    return std::vector<int>{*s.rolled_line(block, step, 0) + 1, *s.rolled_line(block, step, 1) + 1};
  };
  EXPECT_EQ(columns(0), (std::vector<int>{2, 3}));
  EXPECT_EQ(columns(1), (std::vector<int>{4, 1}));
  // [0200]: c12 c23 c34 c41.
  std::vector<std::string> sums;
  for (step.part = 0; step.part < 2; ++step.part) {
    for (int line = 0; line < 2; ++line) sums.push_back(name_of(*s.sum_of(block, step, line)));
  }
  EXPECT_EQ(sums, (std::vector<std::string>{"c12", "c23", "c34", "c41"}));
}

TEST(RollingSchedule, RO_4_every_element_of_all_schemes_and_variants) {
  for (const Variant variant : kAll) {
    for (const Scheme scheme : {Scheme::kGroupRolling, Scheme::kWholeRolling}) {
      for (const auto& [m, k] :
           std::vector<std::pair<int, int>>{{6, 6}, {9, 9}, {7, 4}, {2, 8}, {8, 1}, {5, 5}}) {
        const RollingSchedule schedule(array_of(3, 3, 9), order_of(variant, scheme, 3, 1),
                                       product_of(m, 3, k));
        ASSERT_EQ(schedule.blocks(), 1);
        expect_realigned(schedule, 0,
                         fmt::format("{} {} {} x {}", variant_name(variant),
                                     kSchemeNames[static_cast<std::size_t>(scheme)], m, k));
      }
    }
  }
}

TEST(RollingSchedule, RO_6_cuts_are_equal_for_whole_rolling_and_full_first_for_group_rolling) {
  const Product product = product_of(20, 16, 20);
  const RollingSchedule whole(array_of(16, 16), order_of(Variant::kRightBUp, Scheme::kWholeRolling, 2, 1),
                              product);
  EXPECT_EQ(whole.lines_of(whole.block(0), OperandName::kA, 0), (Span{0, 10}));
  EXPECT_EQ(whole.lines_of(whole.block(0), OperandName::kB, 1), (Span{10, 10}));
  const RollingSchedule groups(array_of(16, 16), order_of(Variant::kRightBUp, Scheme::kGroupRolling, 2, 1),
                               product);
  EXPECT_EQ(groups.lines_of(groups.block(0), OperandName::kA, 0), (Span{0, 16}));
  EXPECT_EQ(groups.lines_of(groups.block(0), OperandName::kB, 1), (Span{16, 4}));
}

// ---- clocks ----

TEST(RollingSchedule, RO_6_steps_are_as_many_as_clocks) {
  for (const Variant variant : {Variant::kRightBUp, Variant::kLeftARight}) {
    for (const Scheme scheme : {Scheme::kPlain, Scheme::kGroupRolling, Scheme::kWholeRolling}) {
      for (const Wrap wrap : {Wrap::kRegister, Wrap::kBuffer}) {
        for (const auto& [m, k] : std::vector<std::pair<int, int>>{{6, 6}, {7, 4}, {2, 5}, {1, 1}}) {
          const bool stacks = scheme != Scheme::kPlain;
          Order order = order_of(variant, scheme, stacks ? 2 : 1, stacks ? 2 : 1);
          order.wrap = wrap;
          const RollingSchedule schedule(array_of(4, 4, 4), order, product_of(m, 11, k));
          for (std::int64_t index = 0; index < schedule.blocks(); ++index) {
            const OutputBlock block = schedule.block(index);
            for (int round = 0; round < schedule.rounds_per_block(); ++round) {
              const std::vector<Step> steps = steps_of(schedule, block, round);
              const auto clocks = schedule.clocks(block, round);
              EXPECT_EQ(clocks.all, static_cast<std::int64_t>(steps.size()));
              EXPECT_EQ(clocks.beats, count(steps, Step::Kind::kBeat));
              const auto rolls = schedule.rolls(block);
              EXPECT_EQ(count(steps, Step::Kind::kExchange), rolls.exchanges);
              EXPECT_EQ(count(steps, Step::Kind::kCorrection), rolls.corrections);
              EXPECT_EQ(count(steps, Step::Kind::kWrap), wrap == Wrap::kBuffer ? 2 * rolls.rings : 0);
            }
          }
        }
      }
    }
  }
}

TEST(RollingSchedule, RO_6_clocks_of_rounds) {
  // Against support/rolling_formulas.h, which is written from the specification alone.
  for (const Variant variant : kAll) {
    for (const Scheme scheme : {Scheme::kPlain, Scheme::kGroupRolling, Scheme::kWholeRolling}) {
      for (const auto& [m, k] :
           std::vector<std::pair<int, int>>{{9, 9}, {7, 4}, {2, 5}, {1, 1}, {14, 3}, {5, 13}}) {
        for (const Wrap wrap : {Wrap::kRegister, Wrap::kBuffer}) {
          testing::RollingCase c;
          c.m = m, c.k = k, c.lines = c.lanes = 3;
          c.blocks = scheme == Scheme::kPlain ? 1 : 2, c.cuts = scheme == Scheme::kPlain ? 1 : 2;
          c.scheme = static_cast<testing::RollingScheme>(scheme);
          c.a_stays = rolling_operand(variant) == OperandName::kB;
          c.wrap_buffer = wrap == Wrap::kBuffer;
          Order order = order_of(variant, scheme, c.blocks, c.cuts);
          order.wrap = wrap;
          const RollingSchedule schedule(array_of(3, 3), order, product_of(m, 8, k));
          ASSERT_EQ(schedule.rounds_per_block(), (3 + c.cuts - 1) / c.cuts);
          for (std::int64_t index = 0; index < schedule.blocks(); ++index) {
            const OutputBlock block = schedule.block(index);
            for (int round = 0; round < schedule.rounds_per_block(); ++round) {
              const int cuts = std::min(c.cuts, 3 - round * c.cuts);
              EXPECT_EQ(schedule.cuts_of_round(round), (Span{round * c.cuts, cuts}));
              const auto expected = testing::rolling_round(c, block.rows.size, block.columns.size, cuts);
              EXPECT_EQ(schedule.clocks(block, round).beats, expected.beats);
              EXPECT_EQ(schedule.clocks(block, round).all, expected.beats + expected.moves);
              EXPECT_EQ(static_cast<std::int64_t>(steps_of(schedule, block, round).size()),
                        expected.beats + expected.moves);
              EXPECT_EQ(schedule.realignment(block), expected.longest - 1);
            }
          }
        }
      }
    }
  }
}

TEST(RollingSchedule, RO_6_a_phase_restores_its_rings_before_the_exchange) {
  Order order = order_of(Variant::kRightBUp, Scheme::kGroupRolling, 2, 2);
  order.wrap = Wrap::kBuffer;
  const RollingSchedule schedule(array_of(2, 2), order, product_of(4, 4, 4));
  // Two phases of 2 computations: 1 + 1 rolls between them, and the restoring one; 2 clocks each.
  EXPECT_EQ(schedule.rolls(schedule.block(0)).rings, 3);
  EXPECT_EQ(schedule.clocks(schedule.block(0), 0).all, 16 + 1 + 3 * 2);
}

TEST(RollingSchedule, RO_5_output_stationary_takes_a_beat_an_element_of_n) {
  const RollingSchedule schedule(array_of(4, 6), order_of(Variant::kRightBUp, Scheme::kOutputStationary),
                                 product_of(5, 7, 8));
  EXPECT_EQ(schedule.lanes(), 4);
  ASSERT_EQ(schedule.blocks(), 2 * 2);
  EXPECT_EQ(schedule.block(0).columns, (Span{0, 6}));
  const std::vector<Step> first = steps_of(schedule, schedule.block(0), 0),
                          last = steps_of(schedule, schedule.block(0), 1);
  EXPECT_EQ(count(first, Step::Kind::kBeat), 4);
  EXPECT_EQ(count(first, Step::Kind::kSums), 0);
  EXPECT_EQ(count(last, Step::Kind::kBeat), 3);
  EXPECT_EQ(count(last, Step::Kind::kSums), 4) << "a line of sums a clock";
  EXPECT_EQ(schedule.clocks(schedule.block(0), 1).all, 7);
  EXPECT_EQ(schedule.clocks(schedule.block(0), 1).beats, 3);
}

TEST(RollingSchedule, RO_6_adder_trees) {
  EXPECT_EQ(adder_tree_clocks(1), 1);
  EXPECT_EQ(adder_tree_clocks(2), 2);
  EXPECT_EQ(adder_tree_clocks(16), 5);
  EXPECT_EQ(adder_tree_clocks(17), 6);
}

}  // namespace
}  // namespace tilebeat::rolling
