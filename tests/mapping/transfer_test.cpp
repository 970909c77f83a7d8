// Transfers between memories: every byte arrives where it should, by whatever way (SPEC MA-2, HI-4).
#include "planner/language/transfer.h"

#include "planner/language/relayout.h"

#include <map>
#include <random>
#include <tuple>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

using ::testing::Each;
using ::testing::SizeIs;

class Transfers : public ::testing::Test {
 protected:
  int number(int low, int high) {
    return low + static_cast<int>(random_() % static_cast<unsigned>(high - low + 1));
  }
  /// A transfer whose destination runs do not overlap; `free` is the first free byte there.
  Transfer transfer(std::uint64_t& free) {
    Transfer t;
    CopyShape& s = t.shape;
    s.run = number(1, 20), s.columns = number(1, 5), s.rows = number(1, 5);
    s.source_column = number(0, 40), s.source_row = number(0, 200);
    s.destination_column = s.run + number(0, 1) * number(0, 9);
    s.destination_row = s.destination_column * (s.columns - 1) + s.run + number(0, 1) * number(0, 9);
    if (number(0, 3) == 0) {  // blocks that arrive turned
      s.transposed = number(1, s.run > 10 ? 4 : 20), s.run = s.transposed * number(1, 4);
      s.destination_column = s.columns + number(0, 3);
      s.transposed_row = s.destination_column * s.transposed + number(0, 3);
      s.destination_row = s.transposed_row * (s.run / s.transposed) + number(0, 3);
    }
    t.source = static_cast<std::uint64_t>(number(0, 1000));
    t.destination = free + static_cast<std::uint64_t>(number(0, 3));
    free = t.destination + static_cast<std::uint64_t>(s.destination_row * s.rows);
    return t;
  }

  std::mt19937 random_{1};
};

using BytesOf = std::map<std::uint64_t, int>;

/// Where every byte goes: destination and source, in the order of the copy.
std::vector<std::pair<std::uint64_t, std::uint64_t>> moves(const Transfer& t) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> found;
  const CopyShape& s = t.shape;
  for (std::int64_t r = 0; r < s.rows; ++r) {
    for (std::int64_t j = 0; s.transposed > 0 && j < s.run; ++j) {
      for (std::int64_t i = 0; i < s.columns; ++i)
        found.emplace_back(t.destination + static_cast<std::uint64_t>(
                                               r * s.destination_row + j / s.transposed * s.transposed_row +
                                               j % s.transposed * s.destination_column + i),
                           t.source + static_cast<std::uint64_t>(r * s.source_row + i * s.source_column + j));
    }
    for (std::int64_t c = 0; s.transposed == 0 && c < s.columns; ++c) {
      for (std::int64_t i = 0; i < s.run; ++i)
        found.emplace_back(
            t.destination + static_cast<std::uint64_t>(r * s.destination_row + c * s.destination_column + i),
            t.source + static_cast<std::uint64_t>(r * s.source_row + c * s.source_column + i));
    }
  }
  return found;
}
/// Copies bytes; a byte that is not in `from` has its address as contents.
void run(const std::vector<Transfer>& transfers, const BytesOf& from, BytesOf& to) {
  for (const Transfer& t : transfers) {
    for (const auto& [destination, source] : moves(t)) {
      const auto found = from.find(source);
      to[destination] = found == from.end() ? static_cast<int>(source) : found->second;
    }
  }
}

TEST_F(Transfers, MA_2_HI_4_parts_pass_through_a_buffer) {
  constexpr std::uint64_t kBuffer = 1 << 20;
  int cut = 0;
  for (int round = 0; round < 2000; ++round) {
    std::vector<Transfer> all;
    std::uint64_t free = 0;
    for (int i = number(1, 5); i > 0; --i) all.push_back(transfer(free));
    const std::int64_t bytes = number(1, 120);
    BytesOf expected, found;
    run(all, {}, expected);
    std::int64_t sum = 0;
    const auto parts = parts_of(all, bytes);
    for (const std::vector<Transfer>& part : parts) {
      const std::int64_t size = bytes_of(part);
      ASSERT_LE(size, bytes) << "a part fits the buffer";
      ASSERT_GT(size, 0);
      sum += size;
      BytesOf buffer;
      run(into_buffer(part, kBuffer), {}, buffer);
      ASSERT_EQ(static_cast<std::int64_t>(buffer.size()), size) << "nothing is written twice";
      ASSERT_EQ(buffer.begin()->first, kBuffer);
      ASSERT_EQ(buffer.rbegin()->first, kBuffer + static_cast<std::uint64_t>(size - 1)) << "without gaps";
      run(out_of_buffer(part, kBuffer), buffer, found);
    }
    ASSERT_EQ(found, expected);
    ASSERT_EQ(sum, bytes_of(all));
    cut += parts.size() > 1 ? 1 : 0;
  }
  EXPECT_GT(cut, 500);
}

/// Where the bytes of transfers come from, by where they go to; nothing is written twice.
std::map<std::uint64_t, std::uint64_t> sources(const std::vector<Transfer>& transfers) {
  std::map<std::uint64_t, std::uint64_t> found;
  for (const Transfer& t : transfers) {
    for (const auto& [to, from] : moves(t)) EXPECT_TRUE(found.emplace(to, from).second);
  }
  return found;
}

TEST_F(Transfers, OP_1_single_bytes_are_turned_in_blocks) {
  for (int round = 0; round < 300; ++round) {
    const int across = number(2, 40), down = number(2, 90), bytes = number(1, 900);
    Transfer t;
    t.source = static_cast<std::uint64_t>(number(0, 99)), t.destination = 5000;
    const int source = across + number(0, 9), destination = down + number(0, 9);
    t.shape = {1, across, down, 1, source, destination, 1};
    if (number(0, 1) == 0) t.shape = {1, down, across, source, 1, 1, destination};
    const std::vector<Transfer> made = transposed({t}, bytes);
    ASSERT_EQ(sources(made), sources({t}));
    for (const Transfer& block : made) {
      EXPECT_GT(block.shape.transposed, 0);
      EXPECT_LE(block.shape.run * block.shape.columns, bytes) << "a block fits";
    }
    const std::int64_t blocks = (std::int64_t{across} * down + bytes - 1) / bytes;
    if (bytes >= 64) {
      EXPECT_LE(static_cast<std::int64_t>(made.size()), 4 * blocks) << "blocks are filled";
    }
    EXPECT_EQ(sources(transposed({t}, 0)), sources({t}));
    EXPECT_THAT(transposed({t}, 0), SizeIs(1));
  }
}

TEST_F(Transfers, OP_1_runs_and_bytes_that_are_no_neighbours_stay) {
  Transfer runs, apart;
  runs.shape = {4, 8, 8, 1, 8, 8, 1}, apart.shape = {1, 8, 8, 2, 16, 8, 1};
  for (const Transfer& t : {runs, apart}) {
    ASSERT_THAT(transposed({t}, 4096), SizeIs(1));
    EXPECT_EQ(transposed({t}, 4096).front().shape.transposed, 0);
  }
}

TEST_F(Transfers, OP_1_blocks_of_a_transfer_are_cut) {
  for (int round = 0; round < 1000; ++round) {
    std::uint64_t free = 0;
    Transfer t = transfer(free);
    if (t.shape.transposed == 0) continue;
    const int bytes = number(1, 60);
    const std::vector<Transfer> cut = cut_blocks(t, bytes);
    ASSERT_EQ(sources(cut), sources({t}));
    for (const Transfer& block : cut) EXPECT_LE(block.shape.run * block.shape.columns, bytes);
  }
}

TEST_F(Transfers, MA_2_what_fits_is_one_part) {
  std::uint64_t free = 0;
  for (int round = 0; round < 100; ++round) {
    const std::vector<Transfer> all{transfer(free), transfer(free)};
    EXPECT_THAT(parts_of(all, bytes_of(all)), SizeIs(1));
    EXPECT_GT(parts_of(all, bytes_of(all) - 1).size(), 1U);
  }
}

TEST_F(Transfers, MA_2_parts_are_whole_rows_else_runs_else_pieces_of_runs) {
  Transfer t;
  t.shape = {10, 3, 4, 20, 100, 10, 30};
  const auto shapes = [&](std::int64_t bytes) {
    std::vector<std::tuple<std::int64_t, std::int64_t, std::int64_t>> found;  // run, columns, rows
    for (const auto& part : parts_of({t}, bytes)) {
      for (const Transfer& piece : part)
        found.emplace_back(piece.shape.run, piece.shape.columns, piece.shape.rows);
    }
    return found;
  };
  EXPECT_EQ(shapes(70), (decltype(shapes(0)){{10, 3, 2}, {10, 3, 2}}));
  EXPECT_EQ(
      shapes(25),
      (decltype(shapes(0)){
          {10, 2, 1}, {10, 1, 1}, {10, 1, 1}, {10, 2, 1}, {10, 2, 1}, {10, 1, 1}, {10, 1, 1}, {10, 2, 1}}));
  EXPECT_THAT(shapes(5), SizeIs(24));
  EXPECT_THAT(shapes(5), Each(std::tuple(5, 1, 1)));
}

TEST_F(Transfers, HI_2_a_copy_for_each_transfer) {
  for (int round = 0; round < 500; ++round) {
    std::uint64_t free = 5000;
    const Transfer t = transfer(free);
    const std::vector<Copy> copies = copies_of(Unit::kMvdma, t);
    ASSERT_THAT(copies, SizeIs(1));
    const Copy& c = copies.front();
    EXPECT_EQ(c.unit, Unit::kMvdma);
    Transfer back;
    back.source = c.source, back.destination = c.destination;
    back.shape = {c.run_bytes,
                  c.inner_count,
                  c.outer_count,
                  c.source_inner_stride,
                  c.source_outer_stride,
                  c.destination_inner_stride,
                  c.destination_outer_stride,
                  c.transposed_columns,
                  c.transposed_stride};
    EXPECT_EQ(moves(back), moves(t));
    EXPECT_EQ(c.pad_top + c.pad_left + c.pad_bottom + c.pad_right, 0);
  }
}

TEST_F(Transfers, HI_2_counts_beyond_16_bits_are_several_copies) {
  const std::pair<std::int64_t, std::int64_t> cases[] = {{65535, 1},  {65536, 1},  {1, 65536},
                                                         {3, 131071}, {200000, 2}, {65536, 3}};
  for (const auto& [columns, rows] : cases) {
    Transfer t;
    t.source = 7, t.destination = 1 << 30;
    t.shape = {1, columns, rows, 3, 5, 2, 2 * columns};
    std::map<std::uint64_t, std::uint64_t> expected, found;
    for (const auto& [to, from] : moves(t)) expected[to] = from;
    std::size_t moved = 0;
    const std::vector<Copy> copies = copies_of(Unit::kIodma, t);
    EXPECT_THAT(copies,
                SizeIs(static_cast<std::size_t>(((columns + 65534) / 65535) * ((rows + 65534) / 65535))));
    for (const Copy& c : copies) {
      Transfer part;
      part.source = c.source, part.destination = c.destination;
      part.shape = {c.run_bytes,
                    c.inner_count,
                    c.outer_count,
                    c.source_inner_stride,
                    c.source_outer_stride,
                    c.destination_inner_stride,
                    c.destination_outer_stride};
      for (const auto& [to, from] : moves(part)) found[to] = from, ++moved;
    }
    EXPECT_TRUE(found == expected) << columns << " x " << rows;
    EXPECT_EQ(moved, expected.size()) << "no byte twice";
  }
}

TEST_F(Transfers, MA_3_runs_that_touch_are_one) {
  const auto expect = [](const Runs& found, std::int64_t run, std::int64_t count) {
    EXPECT_EQ(found.run, run);
    EXPECT_EQ(found.count, count);
  };
  expect(merged_runs(8, 4, 8, 3, 32), 96, 1);   // all
  expect(merged_runs(8, 4, 8, 3, 40), 32, 3);   // the columns of a row
  expect(merged_runs(8, 4, 16, 3, 64), 8, 12);  // none
  expect(merged_runs(8, 1, 99, 3, 8), 24, 1);   // a column is no stride
  expect(merged_runs(8, 4, 8, 1, 99), 32, 1);   // a row is none
  expect(merged_runs(8, 4, 16, 1, 99), 8, 4);
  expect(merged_runs(8, 1, 0, 1, 0), 8, 1);
}

// Runs counted one by one, where those that touch are equally long.
TEST_F(Transfers, MA_3_runs_that_touch_are_one_whatever_the_shape) {
  int merged = 0;
  for (int round = 0; round < 20000; ++round) {
    const std::int64_t run = number(1, 6), columns = number(1, 4), rows = number(1, 4);
    const std::int64_t column = run + number(0, 2), row = column * (columns - 1) + run + number(0, 3);
    std::vector<std::int64_t> lengths;
    std::int64_t end = -1;
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t c = 0; c < columns; ++c) {
        const std::int64_t at = r * row + c * column;
        if (at == end) {
          lengths.back() += run;
        } else {
          lengths.push_back(run);
        }
        end = at + run;
      }
    }
    bool even = true;
    for (const std::int64_t length : lengths) even = even && length == lengths.front();
    if (!even) continue;
    const Runs found = merged_runs(run, columns, column, rows, row);
    ASSERT_EQ(found.count, static_cast<std::int64_t>(lengths.size()));
    ASSERT_EQ(found.run, lengths.front());
    merged += static_cast<std::int64_t>(lengths.size()) < columns * rows ? 1 : 0;
  }
  EXPECT_GT(merged, 1000);
}

}  // namespace
}  // namespace tilebeat::testing
