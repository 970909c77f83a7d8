// Where sums of the rolling-register unit lie, and how they come to their places: the table of SPEC RO-2 word
// by word, and every element of all schemes.
#include "rolling_schedules.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace tilebeat::rolling {
namespace {

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

TEST(RollingRealignment, RO_2_realignment_of_all_variants) {
  for (const Variant variant : kAll) {
    for (const auto& [m, k] :
         std::vector<std::pair<int, int>>{{3, 3}, {5, 5}, {3, 6}, {6, 3}, {1, 4}, {4, 1}}) {
      const RollingSchedule schedule(array_of(6, 6), order_of(variant), product_of(m, 4, k));
      EXPECT_EQ(schedule.realignment(schedule.block(0)), std::max(m, k) - 1);
      expect_realigned(schedule, 0, fmt::format("{} {} x {}", variant_name(variant), m, k));
    }
  }
}

TEST(RollingRealignment, RO_2_down_and_right_flip) {
  // Realigned to the left by p, computation t lies at -t: the flip of SPEC RO-2.
  const RollingSchedule schedule(array_of(4, 4), order_of(Variant::kRightBDown), product_of(4, 2, 4));
  const OutputBlock block = schedule.block(0);
  EXPECT_FALSE(schedule.shifts(block, 0).front().right);
  EXPECT_EQ(schedule.aligned_at(block, {2, 0}), (SumPlace{2, 0}));
  EXPECT_EQ(schedule.aligned_at(block, {2, 1}), (SumPlace{2, 3}));
  EXPECT_EQ(schedule.aligned_at(block, {2, 3}), (SumPlace{2, 1}));
}

/// A row of the table of SPEC RO-2. `sum` is +1 where sum (p,t) is c[p,p+t] or c[p+t,p], -1 where it is
/// c[p,p-t] or c[p-t,p]; `p_is_row` says which.
struct TableRow {
  Variant variant;
  bool p_is_row;
  int sum;
  bool to_higher_places;  ///< line p moves right or down by p; else left or up
  bool flip;              ///< then line t of the other kind moves to -t mod L
  bool gives_transposed;
};
const std::vector<TableRow> kTable{
    {Variant::kRightBUp, true, 1, true, false, false},
    {Variant::kRightBDown, true, -1, false, true, false},
    {Variant::kRightAUp, false, 1, true, false, true},
    {Variant::kRightADown, false, -1, false, true, true},
    {Variant::kLeftALeft, false, 1, true, false, false},
    {Variant::kLeftARight, false, -1, false, true, false},
    {Variant::kLeftBLeft, true, 1, true, false, true},
    {Variant::kLeftBRight, true, -1, false, true, true},
};
int modulo(int value, int length) {
  return ((value % length) + length) % length;
}
bool lines_are_rows_of(Variant v) {
  return v == Variant::kRightBUp || v == Variant::kRightBDown || v == Variant::kRightAUp ||
         v == Variant::kRightADown;
}

TEST(RollingRealignment, RO_2_table_as_it_stands) {
  // The table alone, nothing of the engine: what it says leads to C, or to C transposed.
  for (const TableRow& row : kTable) {
    for (const int length : {3, 4, 7}) {
      using Grid = std::vector<std::vector<Element>>;  // [line p][computation t]
      Grid stored(static_cast<std::size_t>(length), std::vector<Element>(static_cast<std::size_t>(length)));
      Grid moved = stored, flipped = stored;
      const auto at = [](Grid& grid, int p, int t) -> Element& {
        return grid[static_cast<std::size_t>(p)][static_cast<std::size_t>(t)];
      };
      for (int p = 0; p < length; ++p) {
        for (int t = 0; t < length; ++t) {
          const int other = modulo(p + row.sum * t, length);
          at(stored, p, t) = row.p_is_row ? Element{p, other} : Element{other, p};
        }
      }
      for (int p = 0; p < length; ++p) {
        for (int t = 0; t < length; ++t)
          at(moved, p, modulo(row.to_higher_places ? t + p : t - p, length)) = at(stored, p, t);
      }
      for (int p = 0; p < length; ++p) {
        for (int t = 0; t < length; ++t) at(flipped, p, row.flip ? modulo(-t, length) : t) = at(moved, p, t);
      }
      for (int p = 0; p < length; ++p) {
        for (int t = 0; t < length; ++t) {
          // A line is a row (right-transposed) or a column of what the buffer holds.
          const Element place = lines_are_rows_of(row.variant) ? Element{p, t} : Element{t, p};
          const Element expected = row.gives_transposed ? Element{place.column, place.row} : place;
          ASSERT_EQ(at(flipped, p, t), expected) << variant_name(row.variant) << " " << p << " " << t;
        }
      }
    }
  }
}

TEST(RollingRealignment, RO_2_the_schedule_moves_lines_as_the_table_says) {
  for (const TableRow& row : kTable) {
    const int length = 5;
    const RollingSchedule schedule(array_of(6, 6), order_of(row.variant), product_of(length, 4, length));
    const OutputBlock block = schedule.block(0);
    ASSERT_EQ(schedule.realignment(block), length - 1);
    std::vector<int> moves(static_cast<std::size_t>(length));
    for (int cycle = 0; cycle < length - 1; ++cycle) {
      for (const auto& shift : schedule.shifts(block, cycle)) {
        EXPECT_EQ(shift.right, row.to_higher_places) << variant_name(row.variant);
        EXPECT_EQ(shift.indices, (Span{0, length}));
        EXPECT_LT(cycle, shift.line) << "all lines move at once, line p stops after p";
        ++moves[static_cast<std::size_t>(shift.line)];
      }
    }
    EXPECT_EQ(moves, (std::vector<int>{0, 1, 2, 3, 4})) << "line p moves by p";
    // Where elements are read afterwards: line p of C, or of C transposed, in order, or flipped.
    for (int p = 0; p < length; ++p) {
      for (int t = 0; t < length; ++t) {
        const bool p_is_row = lines_are_rows_of(row.variant) != row.gives_transposed;
        const Element element = p_is_row ? Element{p, t} : Element{t, p};
        EXPECT_EQ(schedule.aligned_at(block, element), (SumPlace{p, row.flip ? modulo(-t, length) : t}))
            << variant_name(row.variant) << " " << p << " " << t;
      }
    }
  }
}

TEST(RollingRealignment, RO_4_every_element_of_all_schemes_and_variants) {
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

}  // namespace
}  // namespace tilebeat::rolling
