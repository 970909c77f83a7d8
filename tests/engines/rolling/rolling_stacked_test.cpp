// Stacked storage of the rolling-register unit (document 002 tables 1 to 5), and the cycles of its rounds.
#include "rolling_formulas.h"
#include "rolling_schedules.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace tilebeat::rolling {
namespace {

namespace testing = tilebeat::testing;

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

// ---- cycles ----

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
              EXPECT_EQ(count(steps, Step::Kind::kWrap),
                        clocks.all - clocks.beats - rolls.exchanges - rolls.corrections);
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
        for (const auto& [wrap, spare_lines, multipliers] :
             {std::tuple{Wrap::kRegister, SpareLines::kPerRing, 1},
              {Wrap::kRegister, SpareLines::kShared, 1},
              {Wrap::kBuffer, SpareLines::kShared, 2},
              {Wrap::kBuffer, SpareLines::kNone, 1},
              {Wrap::kRegister, SpareLines::kShared, 3},
              {Wrap::kRegister, SpareLines::kPerRing, 4}}) {
          testing::RollingCase c;
          c.m = m, c.k = k, c.lines = c.lanes = 3;
          c.blocks = scheme == Scheme::kPlain ? 1 : 2, c.cuts = scheme == Scheme::kPlain ? 1 : 2;
          c.scheme = static_cast<testing::RollingScheme>(scheme);
          c.a_stays = rolling_operand(variant) == OperandName::kB, c.to_front = rolls_to_front(variant);
          c.wrap_buffer = wrap == Wrap::kBuffer, c.spare_shared = spare_lines == SpareLines::kShared;
          c.multipliers = multipliers;
          Order order = order_of(variant, scheme, c.blocks, c.cuts);
          order.wrap = wrap;
          Shape shape = array_of(3, 3);
          shape.spare_lines = spare_lines, shape.multipliers = multipliers;
          const RollingSchedule schedule(shape, order, product_of(m, 8, k));
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
  // Two phases of 2 computations: 1 + 1 rolls between them, and the restoring one; 2 cycles for each of 4
  // rings.
  EXPECT_EQ(schedule.rolls(schedule.block(0)).rings, 3);
  EXPECT_EQ(schedule.clocks(schedule.block(0), 0).all, 16 + 1 + 3 * 4 * 2);
}

TEST(RollingStacked, RO_7_rings_that_share_spare_registers_roll_one_after_the_other) {
  Shape shape = array_of(2, 2);
  const auto clocks = [&](Scheme scheme) {
    const RollingSchedule schedule(shape, order_of(Variant::kRightBUp, scheme, 2, 2), product_of(4, 4, 4));
    return schedule.clocks(schedule.block(0), 0).all;
  };
  // Three rolls of four rings in either scheme; three corrections, or one exchange.
  EXPECT_EQ(clocks(Scheme::kWholeRolling), 16 + 3);
  EXPECT_EQ(clocks(Scheme::kGroupRolling), 16 + 1);
  shape.spare_lines = SpareLines::kShared;
  EXPECT_EQ(clocks(Scheme::kWholeRolling), 16 + 3 + 3 * 3) << "three rings wait for the first one";
  EXPECT_EQ(clocks(Scheme::kGroupRolling), 16 + 1 + 3 * 3);
  // Two multipliers take two groups a beat.
  shape.multipliers = 2;
  EXPECT_EQ(clocks(Scheme::kWholeRolling), 8 + 3 + 3 * 3);
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
  EXPECT_EQ(count(last, Step::Kind::kSums), 4) << "a line of sums a cycle";
  EXPECT_EQ(schedule.clocks(schedule.block(0), 1).all, 7);
  EXPECT_EQ(schedule.clocks(schedule.block(0), 1).beats, 3);
}

TEST(RollingSchedule, RO_6_adder_trees) {
  EXPECT_EQ(adder_tree_clocks(1, 1), 1);
  EXPECT_EQ(adder_tree_clocks(2, 1), 2);
  EXPECT_EQ(adder_tree_clocks(16, 1), 5);
  EXPECT_EQ(adder_tree_clocks(17, 1), 6);
  EXPECT_EQ(adder_tree_clocks(16, 3), 7) << "two levels add up the sums of three groups";
}

}  // namespace
}  // namespace tilebeat::rolling
