// The stages of the offset-table engine, cycle by cycle: expectations from SPEC OT-6 and docs/offset.md.
#include "engines/offset_table/pipeline.h"

#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

using offset_table::Addresses;
using offset_table::AddressGenerator;
using offset_table::LineCache;
using offset_table::OffsetConfig;
using offset_table::Operand;
using offset_table::Pipeline;
using offset_table::PortTimes;

/// A pipeline whose lines are all there after the first beat, and what a test asks of it.
class OffsetPipeline : public ::testing::Test {
 protected:
  OffsetConfig config_;
  std::vector<LineCache::Reference> references_;
  std::vector<Pipeline::RowTimes> rows_;

  Pipeline make() const { return Pipeline(config_, PortTimes{1, 1, 1}); }
  Pipeline::BeatTimes beat(Pipeline& p, Cycle tables = 0, int kernel_accesses = 1) {
    return p.beat({Operand{0, 4}}, tables, kernel_accesses, references_);
  }
};

TEST_F(OffsetPipeline, OT_6_a_base_is_read_a_clock_and_the_first_beat_follows) {
  for (const int threads : {1, 7, 16}) {
    Pipeline p = make();
    p.begin_group(threads, 100);
    p.begin_slice(true);
    EXPECT_EQ(beat(p).looked.at, 100 + threads);
  }
}

TEST_F(OffsetPipeline, OT_6_bases_of_the_next_group_are_read_ahead_of_the_last_beat) {
  for (const int beats : {8, 16, 40}) {
    Pipeline p = make();
    p.begin_group(16, 0);
    p.begin_slice(true);
    for (int i = 0; i < beats; ++i) beat(p);
    p.begin_group(16, 0);
    p.begin_slice(true);
    // They are read from cycle 16 on, so that they are there in 32; without a group before, a beat follows a
    // beat.
    EXPECT_EQ(beat(p).looked.at, std::max(16 + beats, 32)) << beats;
  }
}

TEST_F(OffsetPipeline, OT_6_a_third_group_waits_for_the_registers_of_the_first) {
  Pipeline p = make();
  for (int group = 0; group < 3; ++group) {
    p.begin_group(16, 0);
    p.begin_slice(true);
    const Cycle at = beat(p).looked.at;
    // One beat a group: the registers of the first one are free in 17, those of group 1 are read until 32.
    EXPECT_EQ(at, 16 * (group + 1)) << group;
  }
  Pipeline long_ones = make();
  long_ones.begin_group(16, 0);
  long_ones.begin_slice(true);
  for (int i = 0; i < 100; ++i) beat(long_ones);
  long_ones.begin_group(1, 0);
  beat(long_ones);
  long_ones.begin_group(16, 0);
  EXPECT_EQ(beat(long_ones).looked.at, 116 + 16)
      << "from the cycle after the last beat of the first group on";
}

TEST_F(OffsetPipeline, OT_6_beats_follow_one_another_and_wait_for_their_kernels) {
  Pipeline p = make();
  p.begin_group(1, 0);
  p.begin_slice(true);
  const Cycle first = beat(p).begin;
  EXPECT_EQ(beat(p).begin, first + 1);
  Pipeline slow = make();
  slow.begin_group(1, 0);
  slow.begin_slice(true);
  const Pipeline::BeatTimes one = beat(slow, 0, 4), two = beat(slow, 0, 4);
  EXPECT_EQ(one.kernels, one.looked.at + 4 + 1) << "four accesses, then the latency of WRAM";
  EXPECT_EQ(two.begin, one.kernels + 4);
}

TEST_F(OffsetPipeline, OT_6_the_beat_queue_bounds_how_far_tags_are_ahead) {
  config_.beat_queue = 4;
  Pipeline p(config_, PortTimes{1, 50, 1});
  p.begin_group(1, 0);
  p.begin_slice(true);
  const Cycle begin = beat(p).begin;  // after the latency of NRAM
  for (int i = 0; i < 3; ++i) EXPECT_LT(beat(p).looked.at, begin);
  EXPECT_EQ(beat(p).looked.at, begin + 1) << "the fifth beat takes the place of the first";
}

TEST_F(OffsetPipeline, OT_3_a_beat_waits_for_tables) {
  Pipeline p = make();
  p.begin_group(1, 0);
  p.begin_slice(true);
  EXPECT_EQ(beat(p, 77).looked.at, 77);
}

TEST_F(OffsetPipeline, OT_6_sums_leave_row_by_row_behind_the_adder_trees) {
  Pipeline p = make();
  p.begin_group(2, 0);
  p.begin_slice(true);
  const Cycle last = beat(p).begin;
  const Cycle done = p.end_slice(16, 0, {1, 1}, rows_);
  // Four products are added in 2 clocks, and to the sum in one: complete at the end of cycle last + 3.
  EXPECT_EQ(rows_[0].begin, last + 4);
  EXPECT_EQ(rows_[1].begin, last + 5) << "64 bytes of sums a clock are a row";
  EXPECT_EQ(rows_[0].sent, rows_[0].begin + 1 + config_.post_latency_cycles);
  EXPECT_EQ(done, rows_[1].sent + 1);
}

// One access a bank and cycle: words 0, 16 and 32 of 16 banks in plain order are in one, 0 to 2 are not.
TEST_F(OffsetPipeline, OT_6_a_beat_takes_as_many_cycles_as_its_worst_bank) {
  config_.cache.bank_order = offset_table::BankOrder::kPlain;
  Pipeline p = make();
  p.begin_group(3, 0);
  p.begin_slice(true);
  const std::vector<Operand> spread{{0, 4}, {4, 4}, {8, 4}}, together{{0, 4}, {64, 4}, {128, 4}};
  const auto lasts = [&](const std::vector<Operand>& operands) {
    const Pipeline::BeatTimes t = p.beat(operands, 0, 1, references_);
    return t.end - t.begin;
  };
  EXPECT_EQ(lasts(spread), 1);
  EXPECT_EQ(lasts(together), 3);
  const Cycle before = beat(p).end;
  EXPECT_EQ(p.beat(together, 0, 1, references_).begin, before);
  EXPECT_EQ(beat(p).begin, before + 3) << "the next beat follows the last of the three cycles";
}

TEST_F(OffsetPipeline, OT_6_a_row_takes_the_cycles_that_its_sums_need_whole) {
  for (const auto& [columns, cycles] : {std::pair(2, 1), {3, 2}, {4, 2}, {5, 3}}) {
    config_.drain_bytes = 8;
    Pipeline p = make();
    p.begin_group(2, 0);
    p.begin_slice(true);
    beat(p);
    p.end_slice(columns, 0, {1, 1}, rows_);
    EXPECT_EQ(rows_[1].begin - rows_[0].begin, cycles) << columns << " sums of 4 bytes";
  }
}

TEST_F(OffsetPipeline, OT_6_a_third_slice_waits_for_the_sums_of_the_first) {
  config_.drain_bytes = 4;
  Pipeline p = make();
  p.begin_group(16, 0);
  Cycle left = 0;
  for (int slice = 0; slice < 3; ++slice) {
    p.begin_slice(true);
    const Cycle begin = beat(p).begin;
    if (slice == 2) {
      EXPECT_EQ(begin, left) << "16 rows of 16 clocks each";
    }
    p.end_slice(16, 0, std::vector<int>(16, 1), rows_);
    if (slice == 0) left = rows_.back().begin + 16;
  }
}

TEST_F(OffsetPipeline, OT_6_rows_wait_for_a_place_in_the_write_queue) {
  config_.write_queue = 2;
  Pipeline p = make();
  p.begin_group(3, 0);
  p.begin_slice(true);
  beat(p);
  p.end_slice(16, 0, {10, 10, 10}, rows_);
  EXPECT_EQ(rows_[1].sent, rows_[0].sent + 10);
  EXPECT_EQ(rows_[2].begin, rows_[0].sent + 1) << "when the first row leaves the queue";
}

TEST(OffsetAddressGenerator, OT_4_OT_6_divisions_follow_one_another_and_products_overlap) {
  OffsetConfig config;
  config.divider_cycles = 8, config.multiplier_cycles = 3;
  AddressGenerator generator(config);
  // Two divisions, then five products a clock apart, of which the last takes three.
  EXPECT_EQ(generator.make(AddressGenerator::kThreadProducts, 0), 16 + 4 + 3);
  EXPECT_EQ(generator.make(AddressGenerator::kThreadProducts, 0), 32 + 4 + 3)
      << "the divider is not pipelined";
  EXPECT_EQ(generator.interval(AddressGenerator::kThreadProducts), 16);
  config.divider_cycles = 1;
  EXPECT_EQ(AddressGenerator(config).interval(AddressGenerator::kThreadProducts), 5) << "one multiplier";
}

TEST(OffsetAddressGenerator, OT_4_the_divider_waits_while_offsets_have_no_place) {
  const auto third = [](int places, Cycle first_taken, Cycle second_taken) {
    OffsetConfig config;
    config.divider_cycles = 8, config.multiplier_cycles = 1, config.address_queue = places;
    AddressGenerator generator(config);
    generator.make_offset(0);
    generator.take_offset(first_taken);
    generator.make_offset(0);
    generator.take_offset(second_taken);
    return generator.make_offset(0);
  };
  EXPECT_EQ(third(3, 500, 501), 3 * 16 + 4) << "three places: each follows the one before";
  EXPECT_EQ(third(2, 31, 36), 3 * 16 + 4) << "the first is taken in the cycle before the third could begin";
  EXPECT_EQ(third(2, 32, 36), 33 + 16 + 4) << "a cycle later: the third begins in the cycle behind that";
  EXPECT_EQ(third(2, 500, 501), 501 + 16 + 4);
  EXPECT_EQ(third(1, 20, 36), 37 + 16 + 4) << "one place: the second has to be taken";
}

TEST_F(OffsetPipeline, OT_4_computed_addresses_take_the_generator_for_every_thread_and_offset) {
  config_.addresses = Addresses::kComputed;
  Pipeline p = make();
  p.begin_group(4, 0);
  p.begin_slice(true);
  const Cycle threads = 4 * 2 * config_.divider_cycles + 4 + config_.multiplier_cycles;
  const Cycle first = beat(p).looked.at, second = beat(p).looked.at;
  EXPECT_EQ(first, threads + 2 * config_.divider_cycles + 3 + config_.multiplier_cycles);
  EXPECT_EQ(second - first, 2 * config_.divider_cycles) << "products overlap with the next divisions";
  EXPECT_EQ(p.cycles_saved(), 0);
}

TEST_F(OffsetPipeline, OT_4_cycles_saved_are_those_that_the_generator_would_take_beyond_the_tables) {
  Pipeline p = make();
  p.begin_group(16, 0);
  p.begin_slice(true);
  for (int i = 0; i < 10; ++i) beat(p);
  EXPECT_EQ(p.cycles_saved(), (16 + 10) * (2 * config_.divider_cycles - 1));
}

}  // namespace
}  // namespace tilebeat::testing
