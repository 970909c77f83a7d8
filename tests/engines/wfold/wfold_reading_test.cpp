// How the W-fold engine folds, reads and lines up the map, against SPEC section 4: WF-1, WF-2, WF-5, WF-6.
// What is expected is written out or computed here.
#include "engines/wfold/schedule.h"
#include "wfold_cases.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace tilebeat::testing {

using wfold::ByteRange;
using wfold::can_read_continuously;
using wfold::choose_granularity;
using wfold::choose_read_mode;
using wfold::fold_kernel;
using wfold::FoldedColumn;
using wfold::GranularityCandidate;
using wfold::GranularityChoice;
using wfold::transit_holds_block;
using wfold::transit_holds_pixels;
using wfold::WfoldFetch;
using wfold::WfoldReader;
using wfold::WfoldReadMode;
using wfold::WfoldRefill;
using wfold::WfoldRequest;
using wfold::WfoldSchedule;
using wfold::WfoldTile;

namespace {

using Range = std::pair<std::int64_t, std::int64_t>;

int granularity_of(int channels, int width = 100, int smallest = 8, int tolerance = 16) {
  return choose_granularity(channels, width, smallest, tolerance, 64).granularity;
}

TEST(WfoldGranularity, WF_1_examples_of_the_document) {
  EXPECT_EQ(granularity_of(48), 16) << "[0092]: 8 and 16 need no padding, 32 and 64 need 16 bytes";
  EXPECT_EQ(granularity_of(28), 32) << "[0093]: 4 bytes up to 32, 36 bytes up to 64";
  EXPECT_EQ(granularity_of(49), 64) << "[0094]: 7 bytes at 8, 15 bytes up to 64";
  EXPECT_EQ(granularity_of(2 * 48), 32) << "WF-5: Ci 48 at horizontal stride 2 is 96 channels";
}

TEST(WfoldGranularity, WF_1_paddings_of_the_candidates) {
  const GranularityChoice choice = choose_granularity(49, 100, 8, 16, 64);
  EXPECT_EQ(choice.least_padding, 7);
  std::vector<std::tuple<int, int, int>> got;
  for (const GranularityCandidate& c : choice.candidates) got.emplace_back(c.granularity, c.fold, c.padding);
  const std::vector<std::tuple<int, int, int>> want{{64, 1, 15}, {32, 2, 15}, {16, 4, 15}, {8, 8, 7}};
  EXPECT_EQ(got, want) << "[0094], table 1: Pci, Ws and padding";
}

TEST(WfoldGranularity, WF_1_all_channel_counts) {
  for (int channels = 1; channels <= 200; ++channels) {
    for (const int width : {1, 2, 3, 4, 7, 8, 15, 16, 100}) {
      for (const int smallest : {4, 8}) {
        for (const int tolerance : {1, 4, 8, 16, 64}) {
          EXPECT_EQ(granularity_of(channels, width, smallest, tolerance),
                    chosen_granularity(channels, width, smallest, tolerance))
              << "Ci " << channels << ", width " << width << ", from " << smallest << ", tolerance "
              << tolerance;
        }
      }
    }
    EXPECT_GE(granularity_of(channels), 16) << "8 comes only from a tolerance of at most 8: Ci " << channels;
  }
}

TEST(WfoldGranularity, WF_1_small_ones_come_from_a_small_tolerance) {
  for (int channels = 1; channels <= 8; ++channels) {
    EXPECT_EQ(granularity_of(channels, 100, 8, 8), 8) << "16 pads by 8 more: Ci " << channels;
    EXPECT_EQ(granularity_of(channels, 100, 4, 4), channels <= 4 ? 4 : 8)
        << "8 pads by 4 more up to 4 channels and by none beyond: Ci " << channels;
  }
}

TEST(WfoldGranularity, WF_1_maps_narrower_than_the_fold) {
  EXPECT_EQ(granularity_of(48, 4), 16) << "Ws 4 fits 4 columns";
  EXPECT_EQ(granularity_of(48, 3), 64) << "of 32 and 64 both pad by 16";
  EXPECT_EQ(granularity_of(32, 2), 32);
  EXPECT_EQ(granularity_of(32, 1), 64) << "only Ws 1 is left";
  EXPECT_EQ(granularity_of(16, 0), 64) << "none is left";
  const GranularityChoice choice = choose_granularity(48, 3, 8, 16, 64);
  for (const GranularityCandidate& c : choice.candidates) {
    EXPECT_EQ(c.too_wide, c.granularity < 32) << c.granularity;
    EXPECT_EQ(c.tolerable, c.granularity >= 32) << c.granularity;
  }
  EXPECT_EQ(choice.least_padding, 16) << "the least padding is that of the candidates that are left";
}

using LineFigure = std::tuple<int, int, int>;  // Pci, Ci, blocks of Ci
class Figure6 : public ::testing::TestWithParam<LineFigure> {};

TEST_P(Figure6, WF_2_columns_and_channels_of_a_line) {
  const auto [pci, channels, blocks] = GetParam();
  const WfoldSchedule schedule = worked_case(channels, 64, 1, pci, 8).schedule();
  const int fold = 64 / pci;
  EXPECT_EQ(schedule.fold(), fold) << "[0096-0098]";
  ASSERT_EQ(schedule.blocks(), blocks) << "Ci " << channels << " in pieces of " << pci;
  const WfoldTile tile = schedule.tile(0);
  for (int block = 0; block < blocks; ++block) {
    const WfoldRefill refill = schedule.refill(block);
    EXPECT_EQ(refill.block, block);
    EXPECT_EQ(schedule.block_begin(block), block * pci);
    EXPECT_EQ(schedule.block_bytes(block), pci);
    ASSERT_EQ(schedule.lines(0), 4);
    for (int line = 0; line < 4; ++line) {
      for (int i = 0; i < fold; ++i) {
        const int column = schedule.line_column(tile, refill, line) + i;
        EXPECT_EQ(column, line * fold + i) << "position " << i << " of line " << line;
        const ByteRange bytes = schedule.bytes_of(column, column, block * pci, (block + 1) * pci);
        if (column >= 8) continue;  // beyond the map
        EXPECT_EQ(bytes.begin, column * channels + block * pci) << "block " << block << ", line " << line;
        EXPECT_EQ(bytes.end, column * channels + (block + 1) * pci) << "block " << block << ", line " << line;
      }
    }
  }
}
INSTANTIATE_TEST_SUITE_P(
    Lines, Figure6, ::testing::Values(LineFigure{16, 48, 3}, LineFigure{32, 96, 3}, LineFigure{64, 128, 2}),
    [](const auto& figure) { return "pci_" + std::to_string(std::get<0>(figure.param)); });

TEST(WfoldLines, WF_2_last_block_is_shorter) {
  const WfoldSchedule schedule = worked_case(47, 64, 1, 16).schedule();
  EXPECT_EQ(schedule.blocks(), 3);
  EXPECT_EQ(schedule.block_bytes(1), 16);
  EXPECT_EQ(schedule.block_bytes(2), 15) << "[0109]: the last piece is filled up by one byte";
}

/// Figures 7a-7c: a 1x1 kernel over 4 rows of 9 columns, Pci 16, three lines a row.
WfoldCase figure_7(int channels) {
  WfoldCase c = worked_case(channels, 64, 1, 16, 9);
  c.engine.units = 3;
  c.conv.height = c.conv.out_height = 4;
  return c;
}
std::vector<WfoldFetch> fetches_of(const WfoldSchedule& schedule, WfoldReadMode mode, std::int64_t half) {
  std::vector<WfoldFetch> fetches;
  for (WfoldReader reader(schedule, mode, half, 0); !reader.done(); reader.advance()) {
    fetches.push_back(reader.fetch());
  }
  return fetches;
}
std::vector<std::pair<int, Range>> requests_of(const std::vector<WfoldFetch>& fetches) {
  std::vector<std::pair<int, Range>> requests;
  for (const WfoldFetch& fetch : fetches) {
    for (const WfoldRequest& r : fetch.requests) requests.push_back({r.row, {r.bytes.begin, r.bytes.end}});
  }
  return requests;
}

TEST(WfoldReading, WF_2_figure_7a_continuous) {
  const WfoldSchedule schedule = figure_7(14).schedule();
  EXPECT_TRUE(can_read_continuously(schedule));
  EXPECT_EQ(choose_read_mode(schedule, 2048), WfoldReadMode::kContinuous);
  std::vector<std::pair<int, Range>> want;
  for (int row = 0; row < 4; ++row) {
    for (const Range& bytes : {Range{0, 56}, Range{56, 112}, Range{112, 126}}) want.push_back({row, bytes});
  }
  ASSERT_EQ(want.size(), 12U);
  const auto fetches = fetches_of(schedule, WfoldReadMode::kContinuous, 2048);
  EXPECT_EQ(requests_of(fetches), want) << "4 columns of 14 bytes at once, the ninth alone";
  EXPECT_EQ(fetches.size(), 12U) << "a line each";
}

TEST(WfoldReading, WF_2_figure_7b_strided) {
  const WfoldSchedule schedule = figure_7(47).schedule();
  EXPECT_FALSE(can_read_continuously(schedule)) << "three pieces a column";
  std::vector<std::pair<int, Range>> want;
  for (int row = 0; row < 4; ++row) {
    for (const Range& piece : {Range{0, 16}, Range{16, 32}, Range{32, 47}}) {
      for (int column = 0; column < 9; ++column) {
        want.push_back({row, {column * 47 + piece.first, column * 47 + piece.second}});
      }
    }
  }
  ASSERT_EQ(want.size(), 108U);
  const auto fetches = fetches_of(schedule, WfoldReadMode::kStrided, 2048);
  EXPECT_EQ(requests_of(fetches), want) << "of a line, piece b of each of its columns";
  EXPECT_EQ(fetches.size(), 36U) << "three lines of each of three pieces of four rows";
}

TEST(WfoldReading, WF_2_figure_7c_transit) {
  const WfoldSchedule schedule = figure_7(47).schedule();
  EXPECT_EQ(choose_read_mode(schedule, 2048), WfoldReadMode::kTransit) << "the fewest requests";
  std::vector<std::pair<int, Range>> want;
  for (int row = 0; row < 4; ++row) {
    for (int column = 0; column < 9; ++column) want.push_back({row, {column * 47, column * 47 + 47}});
  }
  ASSERT_EQ(want.size(), 36U);
  const auto fetches = fetches_of(schedule, WfoldReadMode::kTransit, 2048);
  EXPECT_EQ(requests_of(fetches), want) << "whole columns, once";
  int lines = 0;
  for (const WfoldFetch& fetch : fetches) lines += fetch.lines;
  EXPECT_EQ(lines, 36) << "12 of each piece";
}

TEST(WfoldReading, WF_9_the_lines_of_figure_7_are_those_that_exist) {
  for (const auto& [channels, all, exist] : {std::tuple(14, 16, 12), std::tuple(47, 48, 36)}) {
    WfoldCase c = figure_7(channels);
    c.engine.units = 4;  // a line more than the map has
    const WfoldSchedule schedule = c.schedule();
    EXPECT_EQ(schedule.all_lines(), all);
    for (const auto mode : {WfoldReadMode::kStrided, WfoldReadMode::kTransit}) {
      int lines = 0;
      for (const WfoldFetch& fetch : fetches_of(schedule, mode, 2048)) lines += fetch.lines;
      EXPECT_EQ(lines, exist) << channels << " channels";
    }
  }
}

TEST(WfoldReading, WF_2_transit_that_does_not_hold_a_row_window) {
  const WfoldSchedule schedule = figure_7(47).schedule();
  const std::int64_t window = 12 * 47;  // three lines of four columns
  EXPECT_TRUE(transit_holds_pixels(schedule, window));
  EXPECT_FALSE(transit_holds_pixels(schedule, window - 1));
  EXPECT_TRUE(transit_holds_block(schedule, 12 * 16));
  EXPECT_FALSE(transit_holds_block(schedule, 12 * 16 - 1));
  EXPECT_EQ(requests_of(fetches_of(schedule, WfoldReadMode::kTransit, window)).size(), 36U);
  const auto fetches = fetches_of(schedule, WfoldReadMode::kTransit, window - 1);
  EXPECT_EQ(requests_of(fetches), requests_of(fetches_of(schedule, WfoldReadMode::kStrided, 0)))
      << "read once for each of three pieces";
  EXPECT_EQ(fetches.size(), 12U) << "a window a piece";
  EXPECT_EQ(choose_read_mode(schedule, window - 1), WfoldReadMode::kStrided);
}

TEST(WfoldReading, WF_2_transit_when_the_blocks_are_the_outer_loop) {
  WfoldCase outer = worked_case(47, 64, 3, 16);
  outer.block_outer = true;
  EXPECT_FALSE(transit_holds_pixels(outer.schedule(), 1 << 20)) << "three rows lie between two blocks";
  EXPECT_EQ(choose_read_mode(outer.schedule(), 1 << 20), WfoldReadMode::kStrided);
  WfoldCase one_row = figure_7(47);
  one_row.block_outer = true;
  EXPECT_TRUE(transit_holds_pixels(one_row.schedule(), 2048))
      << "with one kernel row blocks follow each other";
  EXPECT_EQ(requests_of(fetches_of(one_row.schedule(), WfoldReadMode::kTransit, 2048)),
            requests_of(fetches_of(figure_7(47).schedule(), WfoldReadMode::kTransit, 2048)));
}

TEST(WfoldReading, WF_2_one_block_of_a_wider_pixel_is_read_strided) {
  WfoldCase c = figure_7(47);  // channels 20 to 29 of 47, as of a group of kernels
  c.first = 20, c.used = 10;
  const WfoldSchedule schedule = c.schedule();
  EXPECT_FALSE(can_read_continuously(schedule)) << "one block, but columns do not adjoin";
  EXPECT_EQ(choose_read_mode(schedule, 2048), WfoldReadMode::kStrided) << "transit would save no request";
  const auto requests = requests_of(fetches_of(schedule, WfoldReadMode::kStrided, 2048));
  ASSERT_EQ(requests.size(), 36U);
  for (int i = 0; i < 36; ++i) {
    const Range bytes{i % 9 * 47 + 20, i % 9 * 47 + 30};
    EXPECT_EQ(requests[static_cast<std::size_t>(i)], std::pair(i / 9, bytes)) << "request " << i;
  }
}

TEST(WfoldFolding, WF_5_figure_13) {
  const auto columns = fold_kernel(3, 2, 1);
  ASSERT_EQ(columns.size(), 2U) << "3x3 becomes 3x2";
  EXPECT_EQ(columns[0].column, 0);
  EXPECT_EQ(columns[1].column, 1);
  const auto taps = [](const FoldedColumn& column) {
    std::vector<std::pair<int, int>> pairs;
    for (const auto& tap : column.taps) pairs.emplace_back(tap.tap, tap.phase);
    return pairs;
  };
  using Pairs = std::vector<std::pair<int, int>>;
  EXPECT_EQ(taps(columns[0]), (Pairs{{0, 0}, {1, 1}})) << "kw0 and kw1";
  EXPECT_EQ(taps(columns[1]), (Pairs{{2, 0}})) << "kw2 and the zero column kw3";

  WfoldCase c;  // map 4x5xCi, 4x3x2Ci when folded
  c.conv.height = 4, c.conv.width = 5, c.conv.channels = c.used = 8;
  c.conv.kernel[0] = c.conv.kernel[1] = 3, c.conv.stride[1] = 2;
  c.conv.out_height = c.conv.out_width = 2;
  for (const bool folded : {false, true}) {
    c.folded = folded;
    const WfoldSchedule schedule = c.schedule();
    EXPECT_EQ(schedule.steps(0), (std::vector<int>{0, 1}));
    const auto pixels = [&](int output) {
      const ByteRange bytes = schedule.bytes_of(output + 0, output + 1, 0, 16);
      return Range{bytes.begin / 8, bytes.end / 8};
    };
    EXPECT_EQ(pixels(0), (Range{0, 4})) << "wo0 takes w0 to w3 ([0206])";
    EXPECT_EQ(pixels(1), (Range{2, folded ? 6 : 5})) << "wo1 takes w2 to w5, w5 is zeros ([0207])";
  }
}

TEST(WfoldFolding, WF_5_surplus_folded_column_is_dropped) {
  EXPECT_EQ(fold_kernel(2, 2, 1).size(), 1U) << "both taps in one column";
  WfoldCase c = worked_case(16, 16, 1, 16);
  c.conv.width = 3, c.conv.kernel[1] = c.conv.stride[1] = 2;
  c.conv.out_width = (3 - 2) / 2 + 1;
  const WfoldSchedule schedule = c.schedule();
  EXPECT_EQ(schedule.tiles(), 1);
  EXPECT_EQ(schedule.tile(0).columns, 1) << "two folded columns, one output";
}

TEST(WfoldFolding, WF_6_every_tap_once_and_no_column_without_a_tap) {
  check_cases(500, [] {
    const int kernel = number(1, 13), stride = number(1, 9), dilation = number(1, 5);
    std::map<int, std::pair<int, int>> places;
    std::vector<int> columns;
    for (const FoldedColumn& folded : fold_kernel(kernel, stride, dilation)) {
      RC_ASSERT(!folded.taps.empty());
      columns.push_back(folded.column);
      for (const auto& tap : folded.taps) {
        RC_ASSERT(places.insert({tap.tap, {folded.column, tap.phase}}).second);
      }
    }
    RC_ASSERT(static_cast<int>(places.size()) == kernel);
    for (int k = 0; k < kernel; ++k) {
      RC_ASSERT((places.at(k) == std::pair(k * dilation / stride, k * dilation % stride)));
    }
    RC_ASSERT(columns == tap_columns(kernel, stride, dilation));
    RC_ASSERT(columns.back() == (kernel - 1) * dilation / stride);
  });
}

TEST(WfoldFolding, WF_6_columns_without_a_tap_are_skipped) {
  WfoldCase c = worked_case(16, 64, 3, 16);
  c.conv.dilation[1] = 3;
  const WfoldSchedule schedule = c.schedule();
  EXPECT_EQ(schedule.steps(0), (std::vector<int>{0, 3, 6}));
  EXPECT_EQ(schedule.beats(), 36) << "as many as without dilation";
  EXPECT_EQ(schedule.lines(0), 6) << "ceil((16 + 2 * 3) / 4)";
}

}  // namespace
}  // namespace tilebeat::testing
