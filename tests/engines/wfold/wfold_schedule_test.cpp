// The order of tiles, refills, steps and beats of the W-fold engine and what they find in its buffers,
// against SPEC section 4: WF-3, WF-4, WF-6, WF-8. What is expected is written out or computed here.
#include "engines/wfold/schedule.h"
#include "wfold_cases.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace tilebeat::testing {

using wfold::ByteRange;
using wfold::WfoldBeat;
using wfold::WfoldRefill;
using wfold::WfoldSchedule;
using wfold::WfoldShape;
using wfold::WfoldTile;

namespace {

/// All beats of a run, in order.
std::vector<WfoldBeat> beats_of(const WfoldSchedule& schedule) {
  std::vector<WfoldBeat> beats;
  WfoldBeat beat;
  do beats.push_back(beat);
  while (schedule.advance(beat));
  return beats;
}

TEST(WfoldSchedule, WF_4_beats_of_the_examples) {
  const WfoldSchedule one = worked_case(16, 64, 3, 16).schedule();
  EXPECT_EQ(one.tiles(), 1) << "16 columns x 64 channels";
  EXPECT_EQ(one.beats_of(one.tile(0)), 36) << "example 1: 4 kernels a slave x 3 x 3";
  EXPECT_EQ(one.beats(), 36);
  EXPECT_EQ(beats_of(one).size(), 36U);
  const WfoldSchedule two = worked_case(48, 32, 3, 16).schedule();
  EXPECT_EQ(two.beats(), 54) << "example 2: 2 kernels a slave x 3 x 3 x 3 blocks";
  EXPECT_EQ(beats_of(two).size(), 54U);
}

TEST(WfoldSchedule, WF_4_widest_kernel) {
  const WfoldShape shape;
  const std::vector<std::pair<int, int>> kmax{{64, 5}, {32, 9}, {16, 17}, {8, 33}, {4, 65}};  // [0143]
  for (const auto& [pci, most] : kmax) {
    EXPECT_EQ(shape.widest_kernel(pci), most) << "Pci " << pci;
    WfoldCase c = worked_case(pci, 16, 1, pci, 4 * 64 / pci);
    c.conv.kernel[1] = most;
    EXPECT_EQ(c.schedule().parts(), 1) << "Pci " << pci;
    EXPECT_EQ(c.schedule().lines(0), 8) << "it fills the first buffer, Pci " << pci;
    c.conv.kernel[1] = most + 1;
    EXPECT_EQ(c.schedule().parts(), 2) << "Pci " << pci;
    EXPECT_EQ(c.schedule().steps(1), std::vector<int>{most}) << "Pci " << pci;
    EXPECT_EQ(c.schedule().beats(), most + 1) << "Pci " << pci;
  }
}

TEST(WfoldSchedule, WF_4_wide_kernels_are_split_outermost) {
  WfoldCase c = worked_case(100, 16, 1, 64, 4);
  c.conv.kernel[0] = 2, c.conv.kernel[1] = 12;
  const WfoldSchedule schedule = c.schedule();
  ASSERT_EQ(schedule.parts(), 3) << "Kmax is 5";
  EXPECT_EQ(schedule.steps(0), (std::vector<int>{0, 1, 2, 3, 4}));
  EXPECT_EQ(schedule.steps(1), (std::vector<int>{5, 6, 7, 8, 9}));
  EXPECT_EQ(schedule.steps(2), (std::vector<int>{10, 11}));
  EXPECT_EQ(schedule.beats(), 12 * 2 * 2);
  ASSERT_EQ(schedule.refills(), 12);
  for (int i = 0; i < 12; ++i) {
    const WfoldRefill refill = schedule.refill(i);
    EXPECT_EQ(refill.part, i / 4) << "refill " << i;
    EXPECT_EQ(refill.kernel_row, i / 2 % 2) << "refill " << i;
    EXPECT_EQ(refill.block, i % 2) << "refill " << i;
  }
}

TEST(WfoldSchedule, WF_4_split_by_the_span_of_folded_columns) {
  WfoldCase c = worked_case(64, 16, 1, 64, 4);
  c.conv.kernel[1] = 3, c.conv.dilation[1] = 2;
  EXPECT_EQ(c.schedule().parts(), 1) << "(3 - 1) * 2 + 1 = Kmax";
  c.conv.dilation[1] = 3;
  ASSERT_EQ(c.schedule().parts(), 2) << "WF-6: (3 - 1) * 3 + 1 > Kmax though it has three taps";
  EXPECT_EQ(c.schedule().steps(0), (std::vector<int>{0, 3}));
  EXPECT_EQ(c.schedule().steps(1), (std::vector<int>{6}));
  EXPECT_EQ(c.schedule().lines(1), 4) << "no more than the compute units take";
  c.conv.stride[1] = 2, c.conv.channels = c.used = 32;
  EXPECT_EQ(c.schedule().parts(), 1) << "6 div 2 + 1 folded columns";
}

TEST(WfoldSchedule, WF_4_tiles_columns_then_rows_then_channels) {
  WfoldCase c = worked_case(16, 100, 1, 16, 40);
  c.conv.height = c.conv.out_height = 2;
  const WfoldSchedule schedule = c.schedule();
  ASSERT_EQ(schedule.tiles(), 12);
  EXPECT_EQ(schedule.kernel_tiles(), 2);
  for (int i = 0; i < 12; ++i) {
    const WfoldTile tile = schedule.tile(i);
    EXPECT_EQ(tile.column, i % 3 * 16) << "tile " << i;
    EXPECT_EQ(tile.columns, i % 3 == 2 ? 8 : 16) << "tile " << i;
    EXPECT_EQ(tile.row, i / 3 % 2) << "tile " << i;
    EXPECT_EQ(tile.kernel_tile, i / 6) << "tile " << i;
    EXPECT_EQ(tile.kernels, i < 6 ? 64 : 36) << "tile " << i;
    EXPECT_EQ(tile.kernels_per_slave, i < 6 ? 4 : 3) << "tile " << i;
  }
}

/// A beat of slave 0: row of the map, first column and columns of each compute unit, line of the second
/// buffer.
struct Operands {
  int row = 0, block = 0, kernel_row = 0, column = 0;
  std::vector<std::vector<int>> unit_columns;
  int second_line = 0, channel = 0;
};
Operands operands_of(const WfoldSchedule& schedule, const WfoldBeat& beat) {
  const WfoldTile tile = schedule.tile(beat.tile);
  const WfoldRefill refill = schedule.refill(beat.refill);
  const std::vector<int>& steps = schedule.steps(refill.part);
  const int fold = schedule.fold();
  Operands got;
  got.row = schedule.map_row(tile, refill), got.block = refill.block, got.kernel_row = refill.kernel_row;
  got.column = steps.at(static_cast<std::size_t>(beat.step));
  for (int unit = 0; unit < schedule.shape().compute_units; ++unit) {
    std::vector<int> columns;
    for (int i = 0; i < fold; ++i) {
      const int position = got.column - steps.front() + unit * fold + i;
      columns.push_back(schedule.line_column(tile, refill, position / fold) + position % fold);
    }
    got.unit_columns.push_back(columns);
  }
  got.second_line = schedule.kernel_slot(beat, tile);
  got.channel = tile.kernel_tile * schedule.shape().tile_kernels() + schedule.shape().slaves * beat.kernel;
  return got;
}
std::vector<std::vector<int>> units_from(int column) {
  std::vector<std::vector<int>> units(4);
  for (int i = 0; i < 16; ++i) units[static_cast<std::size_t>(i / 4)].push_back(column + i);
  return units;
}

TEST(WfoldSchedule, WF_4_figure_10_beat_by_beat) {
  const WfoldSchedule schedule = worked_case(16, 64, 3, 16).schedule();
  const auto beats = beats_of(schedule);
  ASSERT_EQ(beats.size(), 36U);
  for (std::size_t i = 0; i < beats.size(); ++i) {
    const int step = static_cast<int>(i) / 4, k = static_cast<int>(i) % 4, kh = step / 3, kw = step % 3;
    const Operands got = operands_of(schedule, beats[i]);
    EXPECT_EQ(got.row, kh) << "beat " << i;
    EXPECT_EQ(got.kernel_row, kh) << "beat " << i;
    EXPECT_EQ(got.column, kw) << "beat " << i;
    EXPECT_EQ(got.unit_columns, units_from(kw)) << "columns slide by one a kw, beat " << i;
    EXPECT_EQ(got.second_line, step % 2 * 4 + k)
        << "rows 0-3, 4-7, 0-3 of kh 0 and 4-7 of kh 1 kw 0, beat " << i;
    EXPECT_EQ(got.channel, 16 * k) << "channels 0, 16, 32, 48 of slave 0, beat " << i;
  }
  EXPECT_EQ(operands_of(schedule, beats[12]).second_line, 4) << "[0176]";
}

TEST(WfoldSchedule, WF_4_figure_12_order_of_example_2) {
  for (const bool block_outer : {false, true}) {
    WfoldCase c = worked_case(48, 32, 3, 16);
    c.block_outer = block_outer;
    const WfoldSchedule schedule = c.schedule();
    const auto beats = beats_of(schedule);
    ASSERT_EQ(beats.size(), 54U);
    for (std::size_t i = 0; i < beats.size(); ++i) {
      const int step = static_cast<int>(i) / 2, k = static_cast<int>(i) % 2, outer = step / 9,
                inner = step / 3 % 3;
      const Operands got = operands_of(schedule, beats[i]);
      EXPECT_EQ(got.block, block_outer ? outer : inner) << "beat " << i << ", block outer " << block_outer;
      EXPECT_EQ(got.row, block_outer ? inner : outer) << "beat " << i << ", block outer " << block_outer;
      EXPECT_EQ(got.unit_columns, units_from(step % 3)) << "beat " << i;
      EXPECT_EQ(got.second_line, step % 4 * 2 + k) << "four sets of two lines in nine, beat " << i;
      EXPECT_EQ(got.channel, 16 * k) << "channels 0 and 16 of slave 0, beat " << i;
    }
  }
}

TEST(WfoldSchedule, WF_4_beats_of_random_stride_1_layers) {
  check_cases(500, [] {
    WfoldCase c = random_case(2000000);
    c.conv.stride[1] = c.conv.dilation[1] = 1;
    c.first = 0, c.used = c.conv.channels;
    const SpecConv& v = c.conv;
    const int pci = c.pci, fold = c.engine.line / pci;
    const std::int64_t want = v.out_height * ceiling(v.out_width, c.engine.units * fold) *
                              ceiling(v.out_channels, c.engine.slaves) * v.kernel[0] * v.kernel[1] *
                              ceiling(v.channels, pci);
    RC_LOG() << c;
    RC_ASSERT(c.schedule().beats() == want);
    RC_ASSERT(wfold_beats(v, c.engine, pci) == want);
  });
}

/// WF-4's loops written out.
void check_order(const WfoldCase& c) {
  const WfoldSchedule schedule = c.schedule();
  const SpecConv& v = c.conv;
  const auto parts = kernel_parts(v, c.engine, c.pci);
  const auto blocks = static_cast<int>(ceiling(c.span(), c.pci));
  const int outer = c.block_outer ? blocks : v.kernel[0], inner = c.block_outer ? v.kernel[0] : blocks;
  const auto beats = beats_of(schedule);
  std::size_t at = 0;
  for (int co = 0; co < v.out_channels; co += c.engine.tile_channels()) {
    const auto a_slave =
        static_cast<int>(ceiling(std::min(c.engine.tile_channels(), v.out_channels - co), c.engine.slaves));
    std::int64_t j = 0;
    for (int ho = 0; ho < v.out_height; ++ho) {
      for (int wo = 0; wo < v.out_width; wo += c.engine.tile_columns(c.pci)) {
        for (std::size_t r = 0; r < parts.size() * static_cast<std::size_t>(outer * inner); ++r) {
          const std::size_t part = r / static_cast<std::size_t>(outer * inner);
          const int in_part = static_cast<int>(r) % (outer * inner);
          for (const int column : parts[part]) {
            for (int k = 0; k < a_slave; ++k, ++at) {
              RC_ASSERT(at < beats.size());
              const WfoldTile tile = schedule.tile(beats[at].tile);
              const Operands got = operands_of(schedule, beats[at]);
              const int kh = c.block_outer ? in_part % inner : in_part / inner;
              RC_ASSERT((tile.row == ho && tile.column == wo));
              RC_ASSERT(got.channel == co + k * c.engine.slaves);
              RC_ASSERT((got.kernel_row == kh && got.column == column));
              RC_ASSERT(got.block == (c.block_outer ? in_part / inner : in_part % inner));
              RC_ASSERT(got.row == ho * v.stride[0] + kh * v.dilation[0] - v.pad[0]);
              RC_ASSERT(got.unit_columns[0][0] == wo + column);
              RC_ASSERT(got.second_line == j % (c.engine.second / a_slave) * a_slave + k);
            }
            ++j;
          }
        }
      }
    }
  }
  RC_ASSERT(at == beats.size());
  RC_ASSERT(schedule.beats() == static_cast<std::int64_t>(beats.size()));
}
TEST(WfoldSchedule, WF_4_every_beat_of_random_layers) {
  check_cases(300, [] {
    const WfoldCase c = random_case(2000000);
    RC_LOG() << c;
    check_order(c);
  });
}

// The bytes of a slave's region that a beat's line is read from.
wfold::ByteRange line_of(const WfoldSchedule& schedule, const WfoldBeat& beat, int slave = 0) {
  wfold::KernelLine line;
  schedule.find_kernel_line(beat, schedule.tile(beat.tile), slave, line);
  return line.bytes;
}

TEST(WfoldKernels, WF_3_figure_8_channels_of_the_slaves) {
  const WfoldSchedule schedule = worked_case(16, 100, 3, 16).schedule();
  const std::int64_t kernel = 3 * 3 * 16;
  EXPECT_EQ(schedule.kernel_bytes(), kernel);
  EXPECT_EQ(schedule.region_bytes(), 7 * kernel) << "Aco = 16 * ceil(100 / 16)";
  for (int co = 0; co < 100; ++co) {
    const int slave = co % 16, place = co / 16;  // [0126]
    const WfoldTile tile = schedule.tile(co / 64);
    ASSERT_EQ(tile.kernel_tile, co / 64) << "64 channels a tile, one tile of outputs each";
    WfoldBeat beat;
    beat.tile = co / 64, beat.kernel = place % 4;
    EXPECT_LT(beat.kernel, tile.kernels_per_slave) << "co " << co;
    EXPECT_EQ(operands_of(schedule, beat).channel + slave, co);
    EXPECT_EQ(line_of(schedule, beat, slave).begin, place * kernel) << "co " << co;
  }
}

TEST(WfoldKernels, WF_3_kernels_of_neighbouring_channel_blocks_are_one_run_of_bytes) {
  const WfoldSchedule schedule = worked_case(40, 64, 3, 16).schedule();
  std::int64_t at = 0;
  for (int block = 0; block < 3; ++block) {
    const int bytes = block < 2 ? 16 : 8;
    EXPECT_EQ(schedule.block_bytes(block), bytes);
    for (int k = 0; k < 4; ++k) {
      for (int row = 0; row < 3; ++row) {
        for (int step = 0; step < 3; ++step, at += bytes) {
          WfoldBeat beat;
          beat.kernel = k, beat.refill = row * 3 + block, beat.step = step;
          const ByteRange line = line_of(schedule, beat);
          EXPECT_EQ(line.begin, at);
          EXPECT_EQ(line.end, at + bytes);
        }
      }
    }
  }
  EXPECT_EQ(schedule.region_bytes(), at);
}

TEST(WfoldKernels, WF_8_lines_and_records_cover_the_region) {
  check_cases(300, [] {
    const WfoldCase c = random_case(2000000);
    RC_LOG() << c;
    const WfoldSchedule schedule = c.schedule();
    std::vector<std::int64_t> taken(static_cast<std::size_t>(schedule.region_bytes()), 0);
    for (const WfoldBeat& beat : beats_of(schedule)) {
      const ByteRange line = line_of(schedule, beat);
      RC_ASSERT((c.own_bytes || !line.empty()) && line.end - line.begin <= c.pci);
      for (auto b = line.begin; b < line.end; ++b) ++taken.at(static_cast<std::size_t>(b));
    }
    const std::int64_t tiles = schedule.tiles() / schedule.kernel_tiles();
    for (int t = 0; c.records && t < schedule.kernel_tiles(); ++t) {
      const auto begin = schedule.records_begin(t);
      const std::int64_t records = schedule.tile(t * tiles).kernels_per_slave;
      for (auto b = begin; b < begin + 16 * records; ++b) taken.at(static_cast<std::size_t>(b)) += tiles;
    }
    for (const std::int64_t times : taken) RC_ASSERT(times == tiles);
  });
}

TEST(WfoldBuffers, WF_8_lines_of_a_refill) {
  EXPECT_EQ(worked_case(16, 64, 3, 16).schedule().lines(0), 5) << "ceil((16 + 2) / 4)";
  EXPECT_EQ(worked_case(16, 64, 3, 16).schedule().all_lines(), 15) << "of each of three kernel rows";
  EXPECT_EQ(worked_case(48, 32, 3, 16).schedule().all_lines(), 45) << "and each of three blocks";
  EXPECT_EQ(worked_case(64, 64, 5, 64).schedule().lines(0), 8) << "4 + 4";
  check_cases(500, [] {
    WfoldCase c = random_case(2000000);
    RC_LOG() << c;
    const WfoldSchedule schedule = c.schedule();
    const auto parts = kernel_parts(c.conv, c.engine, c.pci);
    RC_ASSERT(schedule.parts() == static_cast<int>(parts.size()));
    for (int part = 0; part < schedule.parts(); ++part) {
      RC_ASSERT(schedule.lines(part) == refill_lines(c.engine, c.pci, parts[static_cast<std::size_t>(part)]));
      RC_ASSERT(schedule.lines(part) <= c.engine.first);
    }
    if (c.whole()) RC_ASSERT(schedule.all_lines() == wfold_lines(c.conv, c.engine, c.pci));
    c.conv.stride[1] = 1, c.folded = false;
    if ((c.conv.kernel[1] - 1) * c.conv.dilation[1] < c.engine.kmax(c.pci)) {
      const int fold = c.engine.line / c.pci;
      RC_ASSERT(c.schedule().lines(0) ==
                ceiling(c.engine.units * fold + (c.conv.kernel[1] - 1) * c.conv.dilation[1], fold));
    }
  });
}

TEST(WfoldBuffers, WF_8_lines_of_a_step_are_all_it_selects) {
  check_cases(300, [] {
    const WfoldCase c = random_case(2000000);
    RC_LOG() << c;
    const WfoldSchedule schedule = c.schedule();
    const int fold = c.engine.line / c.pci;
    for (int part = 0; part < schedule.parts(); ++part) {
      const std::vector<int>& steps = schedule.steps(part);
      int freed = 0;
      for (std::size_t step = 0; step < steps.size(); ++step) {
        const auto lines = schedule.lines_of_step(part, static_cast<int>(step));
        const int first = steps[step] - steps.front(), last = first + c.engine.units * fold - 1;
        RC_ASSERT((lines.first == first / fold && lines.end == last / fold + 1));
        RC_ASSERT((lines.end <= schedule.lines(part) && lines.end - lines.first <= c.engine.units + 1));
        RC_ASSERT(lines.first >= freed);  // a line that was freed is not read again
        freed = lines.first;
        if (step + 1 == steps.size()) RC_ASSERT(lines.end == schedule.lines(part));
      }
    }
  });
}

TEST(WfoldBuffers, WF_8_consecutive_steps_share_no_line_of_the_second_buffer) {
  check_cases(300, [] {
    const WfoldCase c = random_case(2000000);
    RC_LOG() << c;
    const WfoldSchedule schedule = c.schedule();
    std::array<std::vector<int>, 2> sets;
    std::int64_t lines = 0;
    WfoldBeat before;
    for (const WfoldBeat& beat : beats_of(schedule)) {
      const WfoldTile tile = schedule.tile(beat.tile);
      if (tile.kernel_tile != schedule.tile(before.tile).kernel_tile) sets = {}, lines = 0;
      if (beat.kernel == 0) sets[0] = sets[1], sets[1].clear();
      const int slot = schedule.kernel_slot(beat, tile);
      RC_ASSERT((slot >= 0 && slot < c.engine.second));
      for (const auto& set : sets) RC_ASSERT(std::count(set.begin(), set.end(), slot) == 0);
      sets[1].push_back(slot);
      RC_ASSERT(beat.step_number == lines++ / tile.kernels_per_slave);
      before = beat;
    }
  });
}

TEST(WfoldBuffers, WF_8_lines_before_a_beat) {
  check_cases(200, [] {
    const WfoldCase c = random_case(2000000);
    RC_LOG() << c;
    const WfoldSchedule schedule = c.schedule();
    std::int64_t lines = 0, last = -1;
    for (const WfoldBeat& beat : beats_of(schedule)) {
      const std::int64_t refill = beat.tile * schedule.refills() + beat.refill;
      if (refill != last && last >= 0) {
        lines += schedule.lines(schedule.refill(static_cast<int>(last % schedule.refills())).part);
      }
      last = refill;
      RC_ASSERT(beat.first_line == lines);
    }
    lines += schedule.lines(schedule.refill(schedule.refills() - 1).part);
    RC_ASSERT(lines == schedule.all_lines());
  });
}

}  // namespace
}  // namespace tilebeat::testing
