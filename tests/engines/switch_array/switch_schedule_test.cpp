// The switch array's pure schedules against SPEC section 3: what is expected is written out or computed here.
#include "engines/switch_array/schedule.h"
#include "switch_array_formulas.h"
#include "worked_tables.h"

#include <map>
#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

namespace tilebeat::testing {

using switch_array::Arrangement;
using switch_array::ArrayShape;
using switch_array::BankCensus;
using switch_array::BankSlot;
using switch_array::Beat;
using switch_array::ChunkGeometry;
using switch_array::Selection;
using switch_array::SwitchSchedule;
using switch_array::take_census;
using switch_array::words_per_plane;

namespace {

ArrayShape shape_of(const SpecArray& a) {
  return {a.rows, a.columns, a.groups, a.port};
}

ChunkGeometry worked_geometry(int dilation) {
  ChunkGeometry g;
  g.rows = kTableHeight - 2 * dilation, g.columns = kTableWidth - 2 * dilation;
  g.height = kTableHeight, g.width = kTableWidth;
  g.kernel_h = g.kernel_w = 3;
  g.dilation_h = g.dilation_w = dilation;
  return g;
}

// The quotient that conv.run brings, against the words that the fullest bank gets one by one.
TEST(SwitchSetup, SW_9_words_of_a_channel_block_in_the_fullest_bank) {
  EXPECT_TRUE(rc::check([] {
    const int groups = *rc::gen::inRange(1, 5), lanes = *rc::gen::inRange(1, 9);
    const int height = *rc::gen::inRange(1, 30), width = *rc::gen::inRange(1, 30);
    const int stride_h = *rc::gen::inRange(1, 6), stride_w = *rc::gen::inRange(1, 6);
    const ArrayShape array{groups * lanes, 16, groups, 4};
    const Arrangement arrangement(array, height, width, stride_h, stride_w);
    int words = 0;
    for (int h = 0; h < height; ++h) {
      for (int w = 0; w < width; ++w) words = std::max(words, arrangement.place(h, w).address + 1);
    }
    RC_ASSERT(words_per_plane(array, height, width, stride_h) == words);
    RC_ASSERT(arrangement.words_per_plane() == words);
  }));
}

/// What every lane selects in every beat, beat by beat, with the beats as the schedule numbers them.
struct Walk {
  std::vector<Beat> beats;
  std::vector<std::vector<Selection>> selections;
};
Walk walk(const SwitchSchedule& schedule) {
  Walk result;
  Beat beat = schedule.first();
  do {
    result.beats.push_back(beat);
    std::vector<Selection> lanes;
    schedule.select_all(beat, [&](int lane, const Selection& selection) {
      EXPECT_EQ(lane, static_cast<int>(lanes.size()));
      lanes.push_back(selection);
    });
    result.selections.push_back(lanes);
  } while (schedule.advance(beat));
  return result;
}

TEST(Arrangement, SW_1_table_1_in_all_banks) {
  const Arrangement arrangement({16, 16, 2, 4}, kTableHeight, kTableWidth, 1, 1);
  EXPECT_EQ(arrangement.words_per_plane(), kTableWords);
  const auto table = table1();
  for (const auto& [bank, words] : table1_spelled()) {
    EXPECT_EQ(table.at(static_cast<std::size_t>(bank)), words)
        << "the formula of SW-1 gives the words it spells, b" << bank;
  }
  for (int bank = 0; bank < kTableBanks; ++bank) {
    for (int address = 0; address < kTableWords; ++address) {
      const auto [h, w] = table.at(static_cast<std::size_t>(bank)).at(static_cast<std::size_t>(address));
      const BankSlot slot = arrangement.place(h, w);
      EXPECT_EQ(slot.bank.value(), bank) << "d" << h << "." << w;
      EXPECT_EQ(slot.address, address) << "d" << h << "." << w;
    }
  }
}

class SelectionTable : public ::testing::TestWithParam<int> {};

TEST_P(SelectionTable, SW_2_tables_2_and_3_for_all_sub_switches_and_clocks) {
  const int dilation = GetParam();
  const auto table = dilation == 1 ? table2() : table3();
  const Walk steps = walk(SwitchSchedule({16, 16, 2, 4}, worked_geometry(dilation)));
  ASSERT_GE(steps.beats.size(), static_cast<std::size_t>(kTableClocks));
  for (std::size_t clock = 0; clock < kTableClocks; ++clock) {
    for (std::size_t lane = 0; lane < kTableBanks; ++lane) {
      const Selection& got = steps.selections[clock][lane];
      const auto [h, w] = table.at(lane).at(clock);
      EXPECT_TRUE(got.valid && got.h == h && got.w == w)
          << "sw" << lane << " clk" << clock + 1 << " reads d" << h << "." << w << ", not d" << got.h << "."
          << got.w;
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Dilation, SelectionTable, ::testing::Values(1, 2));

TEST(SwitchSchedule, SW_2_lanes_without_an_output_read_nothing) {
  // Dilation 2 has outputs 10 wide: the second operation cycle has two lanes a row group ([0186], [0190]).
  const SwitchSchedule schedule({16, 16, 2, 4}, worked_geometry(2));
  const Walk steps = walk(schedule);
  const std::vector<Pixel> sw0 =
      parse_pixels("d0.8 d0.10 d0.12 d2.8 d2.10 d2.12 d4.8 d4.10 d4.12");  // [0187]
  const std::vector<Pixel> sw1 =
      parse_pixels("d0.9 d0.11 d0.13 d2.9 d2.11 d2.13 d4.9 d4.11 d4.13");  // [0189]
  for (std::size_t clock = 0; clock < kTableClocks; ++clock) {
    const auto& lanes = steps.selections[kTableClocks + clock];
    for (std::size_t lane = 0; lane < kTableBanks; ++lane) {
      EXPECT_EQ(lanes[lane].valid, lane % 8 < 2)
          << "sw" << lane << " clk" << clock + 1 << " of the second operation cycle";
    }
    EXPECT_EQ(Pixel(lanes[0].h, lanes[0].w), sw0[clock]);
    EXPECT_EQ(Pixel(lanes[1].h, lanes[1].w), sw1[clock]);
  }
  EXPECT_EQ(schedule.active_lanes(0, 0), 16);
  EXPECT_EQ(schedule.active_lanes(0, 1), 4) << "two lanes in each of two row groups";
}

TEST(SwitchSchedule, SW_2_lanes_beyond_the_last_row_and_column_compute_nothing) {
  ChunkGeometry geometry;
  geometry.rows = geometry.height = 7, geometry.columns = geometry.width = 9;
  const SwitchSchedule schedule({12, 16, 3, 4}, geometry);  // blocks of 3 rows and 4 columns
  const int rows[] = {3, 3, 1}, columns[] = {4, 4, 1};
  for (int row_block = 0; row_block < 3; ++row_block) {
    for (int column_block = 0; column_block < 3; ++column_block) {
      EXPECT_EQ(schedule.active_lanes(row_block, column_block), rows[row_block] * columns[column_block])
          << "operation cycle " << row_block << ", " << column_block;
    }
  }
}

TEST(SwitchSchedule, SW_3_beats_of_the_worked_example) {
  const ArrayShape array{16, 16, 2, 4};
  EXPECT_EQ(SwitchSchedule(array, worked_geometry(1)).beats(), 54) << "dense: 6 operation cycles of 9";
  EXPECT_EQ(SwitchSchedule(array, worked_geometry(2)).beats(), 36) << "dilation 2: 4 operation cycles of 9";
  ChunkGeometry zero_inserted = worked_geometry(2);
  zero_inserted.kernel_h = zero_inserted.kernel_w = 5;
  zero_inserted.dilation_h = zero_inserted.dilation_w = 1;
  EXPECT_EQ(SwitchSchedule(array, zero_inserted).beats(), 100) << "the 5x5 kernel: 4 operation cycles of 25";
}

SpecArray random_array() {
  SpecArray a;
  a.groups = *rc::gen::inRange(1, 5);
  a.rows = a.groups * *rc::gen::inRange(1, 9);
  a.columns = *rc::gen::inRange(1, 20);
  a.port = *rc::gen::inRange(1, 9);
  return a;
}

/// A chunk on a map of its own: one kernel block, all channel blocks.
SpecConv random_conv(const SpecArray& a) {
  SpecConv c;
  c.height = *rc::gen::inRange(1, 20), c.width = *rc::gen::inRange(1, 30);
  c.channels = *rc::gen::inRange(1, 20);
  c.out_channels = *rc::gen::inRange(1, a.columns + 1);
  c.out_height = *rc::gen::inRange(1, 12), c.out_width = *rc::gen::inRange(1, 20);
  for (int axis = 0; axis < 2; ++axis) {
    c.kernel[axis] = *rc::gen::inRange(1, 5);
    c.stride[axis] = *rc::gen::inRange(1, 5);
    c.dilation[axis] = *rc::gen::inRange(1, 5);
    c.pad[axis] = *rc::gen::inRange(0, 5);
  }
  return c;
}

ChunkGeometry geometry_of(const SpecConv& c, const SpecArray& a) {
  ChunkGeometry g;
  g.rows = c.out_height, g.columns = c.out_width, g.height = c.height, g.width = c.width;
  g.h_offset = -c.pad[0], g.w_offset = -c.pad[1];
  g.kernel_h = c.kernel[0], g.kernel_w = c.kernel[1];
  g.stride_h = c.stride[0], g.stride_w = c.stride[1];
  g.dilation_h = c.dilation[0], g.dilation_w = c.dilation[1];
  g.planes = static_cast<int>(ceiling(c.channels, a.port));
  return g;
}

RC_GTEST_PROP(SwitchSchedule, SW_3_beats_of_random_layers, ()) {
  const SpecArray a = random_array();
  const SpecConv c = random_conv(a);
  RC_ASSERT(SwitchSchedule(shape_of(a), geometry_of(c, a)).beats() == beats_of(c, a));
}

RC_GTEST_PROP(SwitchSchedule, SW_2_every_beat_of_random_layers, ()) {
  const SpecArray a = random_array();
  const SpecConv c = random_conv(a);
  const Walk steps = walk(SwitchSchedule(shape_of(a), geometry_of(c, a)));
  const auto planes = static_cast<int>(ceiling(c.channels, a.port));
  const int taps = c.kernel[0] * c.kernel[1];
  std::size_t at = 0;
  for (int oh = 0; oh < c.out_height; oh += a.groups) {
    for (int ow = 0; ow < c.out_width; ow += a.lanes()) {  // owb innermost
      for (int t = 0; t < planes * taps; ++t, ++at) {
        RC_ASSERT(at < steps.beats.size());
        const Beat& beat = steps.beats[at];
        RC_ASSERT(beat.plane == t / taps);
        RC_ASSERT(beat.tap_h == t % taps / c.kernel[1]);
        RC_ASSERT(beat.tap_w == t % c.kernel[1]);
        RC_ASSERT(beat.index == t);
        RC_ASSERT(beat.last_of_cycle == (t == planes * taps - 1));
        for (int lane = 0; lane < a.rows; ++lane) {
          const int row = oh + lane / a.lanes(), column = ow + lane % a.lanes();
          const int h = row * c.stride[0] + beat.tap_h * c.dilation[0] - c.pad[0];
          const int w = column * c.stride[1] + beat.tap_w * c.dilation[1] - c.pad[1];
          const bool reads =
              row < c.out_height && column < c.out_width && h >= 0 && h < c.height && w >= 0 && w < c.width;
          const Selection& got = steps.selections[at][static_cast<std::size_t>(lane)];
          RC_ASSERT(got.valid == reads);
          if (reads) RC_ASSERT((got.h == h && got.w == w));
        }
      }
    }
  }
  RC_ASSERT(at == steps.beats.size());
}

/// The cycles of one full beat at `sh`, `sw` on a map of `width`, in the middle of it.
int clocks_of_full_beat(const ArrayShape& array, int width, int sh, int sw, const Arrangement& arrangement) {
  ChunkGeometry g;
  g.height = array.groups * sh, g.width = width;
  g.rows = array.groups, g.columns = array.lanes();
  g.stride_h = sh, g.stride_w = sw;
  const BankCensus census = take_census(SwitchSchedule(array, g), arrangement);
  EXPECT_EQ(census.cycle_clocks.size(), 1U);
  EXPECT_EQ(census.read_words, array.rows) << "every lane reads";
  return census.cycle_clocks.at(0);
}

TEST(BankConflicts, SW_5_table_1_at_strides) {
  const ArrayShape array{16, 16, 2, 4};
  const auto clocks = [&](int width, int sh, int sw) {
    return clocks_of_full_beat(array, width, sh, sw, Arrangement(array, 2 * sh, width, 1, 1));
  };
  EXPECT_EQ(clocks(56, 1, 1), 1);
  EXPECT_EQ(clocks(56, 1, 2), 2);
  EXPECT_EQ(clocks(56, 2, 1), 2);
  EXPECT_EQ(clocks(56, 2, 2), 4);
  EXPECT_EQ(clocks(56, 2, 4), 8);
  EXPECT_EQ(clocks(57, 2, 2), 2) << "an odd width shifts the second row by a bank";
  EXPECT_EQ(clocks(57, 2, 4), 4);
}

TEST(BankConflicts, SW_5_stride_aware_has_none_at_the_same_strides) {
  const ArrayShape array{16, 16, 2, 4};
  for (const auto& [sh, sw] : std::vector<std::pair<int, int>>{{1, 2}, {2, 1}, {2, 2}, {2, 4}}) {
    for (const int width : {56, 57}) {
      EXPECT_EQ(clocks_of_full_beat(array, width, sh, sw, Arrangement(array, 2 * sh, width, sh, sw)), 1)
          << "stride " << sh << "," << sw << " on a map " << width << " wide";
    }
  }
}

RC_GTEST_PROP(BankConflicts, SW_5_stride_aware_is_free_of_conflicts, ()) {
  const SpecArray a = random_array();
  const SpecConv c = random_conv(a);
  const SwitchSchedule schedule(shape_of(a), geometry_of(c, a));
  const Arrangement arrangement(shape_of(a), c.height, c.width, c.stride[0], c.stride[1]);
  for (const auto& lanes : walk(schedule).selections) {
    std::set<int> banks;
    std::size_t reads = 0;
    for (const Selection& selection : lanes) {
      if (!selection.valid) continue;
      ++reads;
      banks.insert(arrangement.place(selection.h, selection.w).bank.value());
    }
    RC_ASSERT(banks.size() == reads);
  }
}

RC_GTEST_PROP(BankConflicts, SW_5_census_of_random_layers, ()) {
  const SpecArray a = random_array();
  SpecConv c = random_conv(a);
  c.channels = a.port;  // the census is that of one channel block
  const bool aware = *rc::gen::arbitrary<bool>();
  const Arrangement arrangement(shape_of(a), c.height, c.width, aware ? c.stride[0] : 1,
                                aware ? c.stride[1] : 1);
  const BankCensus census = take_census(SwitchSchedule(shape_of(a), geometry_of(c, a)), arrangement);
  std::int64_t clocks = 0;
  for (const int cycle : census.cycle_clocks) clocks += cycle;
  // The whole map lies in the banks here, whatever part of it is read: one tile.
  const TileSpan h{0, c.out_height, 0, c.height}, w{0, c.out_width, 0, c.width};
  RC_ASSERT(clocks - beats_of(c, a) ==
            conflicts_of_tile(c, a, h, w, aware ? Layout::kStrideAware : Layout::kTable1));
  if (aware || (c.stride[0] == 1 && c.stride[1] == 1)) RC_ASSERT(clocks == beats_of(c, a));
}

RC_GTEST_PROP(Arrangement, SW_1_and_SW_5_places_of_random_maps, ()) {
  const SpecArray a = random_array();
  const int height = *rc::gen::inRange(1, 24), width = *rc::gen::inRange(1, 40);
  const int stride[2] = {*rc::gen::inRange(1, 6), *rc::gen::inRange(1, 6)};
  const Arrangement table(shape_of(a), height, width, 1, 1),
      aware(shape_of(a), height, width, stride[0], stride[1]);
  const int one[2] = {1, 1};
  for (int h = 0; h < height; ++h) {
    for (int w = 0; w < width; ++w) {
      const PlaceInHalf plain = place_of(h, w, width, a, one, Layout::kTable1);
      const PlaceInHalf unit = place_of(h, w, width, a, one, Layout::kStrideAware);
      const PlaceInHalf strided = place_of(h, w, width, a, stride, Layout::kStrideAware);
      RC_ASSERT((unit.bank(a) == plain.bank(a) &&
                 unit.address(a) == plain.address(a)));  // equals table 1 at stride 1
      RC_ASSERT(table.place(h, w).bank.value() == plain.bank(a));
      RC_ASSERT(table.place(h, w).address == plain.address(a));
      RC_ASSERT(aware.place(h, w).bank.value() == strided.bank(a));
      RC_ASSERT(aware.place(h, w).address == strided.address(a));
    }
  }
}

RC_GTEST_PROP(Arrangement, SW_1_no_two_pixels_share_a_word_and_halves_are_dense, ()) {
  const SpecArray a = random_array();
  const int height = *rc::gen::inRange(1, 24), width = *rc::gen::inRange(1, 40);
  const Arrangement arrangement(shape_of(a), height, width, *rc::gen::inRange(1, 6), *rc::gen::inRange(1, 6));
  std::map<int, std::set<int>> taken;  // by bank, addresses
  std::map<int, int> pixels;           // by half
  for (int h = 0; h < height; ++h) {
    for (int w = 0; w < width; ++w) {
      const BankSlot slot = arrangement.place(h, w);
      RC_ASSERT((slot.bank.value() >= 0 && slot.bank.value() < a.rows));
      RC_ASSERT(taken[slot.bank.value()].insert(slot.address).second);
      ++pixels[slot.bank.value() / a.lanes()];
    }
  }
  int deepest = 0;
  for (const auto& [bank, addresses] : taken) {
    RC_ASSERT((*addresses.begin() == 0 && *addresses.rbegin() == static_cast<int>(addresses.size()) - 1));
    // Words of a half are dealt out to its L banks in turn.
    const auto share = ceiling(pixels[bank / a.lanes()] - bank % a.lanes(), a.lanes());
    RC_ASSERT(static_cast<std::int64_t>(addresses.size()) == share);
    deepest = std::max(deepest, static_cast<int>(addresses.size()));
  }
  RC_ASSERT(arrangement.words_per_plane() == deepest);
}

}  // namespace
}  // namespace tilebeat::testing
