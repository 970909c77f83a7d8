// A copy engine between two stubs: order and overlap of requests, limits, borders, errors (SPEC HI-2 to HI-4,
// CY-1, CY-2).
#include "copy_engine_bench.h"

#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

TEST_F(CopyEngineTest, HI_2_reads_one_request_a_clock_and_writes_behind_them) {
  build();
  outer_->respond_cycles = 7;
  inner_->respond_cycles = 5;
  driver_->send(kSent, copy(0, kInner, 256));
  run(100);
  ASSERT_EQ(outer_->arrivals.size(), 4U);
  ASSERT_EQ(inner_->arrivals.size(), 4U);
  for (int i = 0; i < 4; ++i) {
    const auto index = static_cast<std::size_t>(i);
    EXPECT_EQ(outer_->arrivals[index].cycle, kFirst + i);
    EXPECT_EQ(outer_->arrivals[index].address, 64U * index);
    EXPECT_EQ(inner_->arrivals[index].cycle, kFirst + i + 7 + 1) << "in the cycle after its data arrived";
    EXPECT_EQ(inner_->arrivals[index].address, kInner + 64U * index);
  }
  const Cycle last_data = kFirst + 3 + 7, last_write = last_data + 1;
  EXPECT_EQ(driver_->released(1), last_data + 1);
  EXPECT_EQ(driver_->done(1), last_write + 5 + 1) << "in the cycle after the last response";
  EXPECT_EQ(engine_->bytes, 256);
  EXPECT_EQ(cycles_of(engine_->read_ledger.cycles(), Activity::kBusy), 4);
  EXPECT_EQ(cycles_of(engine_->write_ledger.cycles(), Activity::kBusy), 4);
  EXPECT_EQ(cycles_of(engine_->write_ledger.cycles(), Activity::kStaging), 7 + 1)
      << "from the first cycle until the first data";
  EXPECT_EQ(sum_of(engine_->read_ledger.cycles()), 100);
  EXPECT_EQ(sum_of(engine_->write_ledger.cycles()), 100);
}

TEST_F(CopyEngineTest, HI_2_bursts_keep_to_their_windows_on_both_sides) {
  build();
  driver_->send(kSent, copy(40, kInner + 8, 130));
  run(100);
  const auto addresses = [](const ScriptedTarget& target) {
    std::vector<std::uint64_t> list;
    for (const auto& arrival : target.arrivals) list.push_back(arrival.address);
    return list;
  };
  EXPECT_EQ(addresses(*outer_), (std::vector<std::uint64_t>{40, 64, 128}));
  EXPECT_EQ(addresses(*inner_), (std::vector<std::uint64_t>{kInner + 8, kInner + 64, kInner + 128}));
}

TEST_F(CopyEngineTest, HI_4_next_instruction_is_read_while_the_previous_is_written) {
  build();
  outer_->respond_cycles = 9;
  inner_->respond_cycles = 30;
  driver_->send(kSent, copy(0, kInner, 128));
  driver_->send(kSent + 1, copy(4096, kInner + 4096, 128));
  run(200);
  ASSERT_EQ(outer_->arrivals.size(), 4U);
  EXPECT_EQ(outer_->arrivals[2].cycle, kFirst + 2) << "without a gap";
  const Cycle first_done = kFirst + 1 + 9 + 1 + 30 + 1;
  EXPECT_EQ(driver_->done(1), first_done);
  EXPECT_EQ(driver_->done(2), first_done + 2) << "two bursts behind";
  EXPECT_LT(driver_->released(2), driver_->done(1));
}

TEST_F(CopyEngineTest, HI_4_opposite_directions_share_a_port) {
  build();
  outer_->respond_cycles = inner_->respond_cycles = 3;
  driver_->send(kSent, copy(0, kInner, 64));
  driver_->send(kSent + 1, copy(kInner + 4096, 8192, 64));
  run(100);
  EXPECT_EQ(driver_->done(1), kFirst + 3 + 1 + 3 + 1);
  // The second read is the first access of the inner side; its data waits for its turn behind the first
  // write.
  EXPECT_EQ(inner_->arrivals[0].cycle, kFirst + 1);
  EXPECT_EQ(inner_->arrivals[0].address, kInner + 4096);
  EXPECT_EQ(inner_->arrivals[1].cycle, kFirst + 4);
  EXPECT_EQ(outer_->arrivals[1].cycle, kFirst + 1 + 3 + 1);
  EXPECT_EQ(outer_->arrivals[1].address, 8192U);
}

TEST_F(CopyEngineTest, HI_2_limit_of_bursts_under_way) {
  config_.max_outstanding = 3;
  build();
  outer_->respond_cycles = 20;
  driver_->send(kSent, copy(0, kInner, 256));
  run(200);
  ASSERT_EQ(outer_->arrivals.size(), 4U);
  EXPECT_EQ(outer_->arrivals[2].cycle, kFirst + 2);
  EXPECT_EQ(outer_->arrivals[3].cycle, kFirst + 20 + 1) << "in the cycle after the first response";
  EXPECT_EQ(cycles_of(engine_->read_ledger.cycles(), Activity::kOutstanding), 20 + 1 - 3);
}

/// Reads that a buffer of `buffer_bytes` allows while the first write is never granted.
class BufferTest : public CopyEngineTest {
 protected:
  std::size_t reads_with(int buffer_bytes) {
    config_.buffer_bytes = buffer_bytes;
    build();
    inner_->accept_cycles = 1'000'000;
    inner_->respond_cycles = 2'000'000;
    driver_->send(kSent, copy(0, kInner, 1024));
    run(300);
    EXPECT_GT(cycles_of(engine_->read_ledger.cycles(), Activity::kLanding), 200);
    EXPECT_GT(cycles_of(engine_->write_ledger.cycles(), Activity::kBusGrant), 200);
    return outer_->arrivals.size();
  }
};
// The write that is not granted has left the buffer.
TEST_F(BufferTest, CY_2_landing_at_n) {
  EXPECT_EQ(reads_with(4 * 64), 4U + 1U);
}
TEST_F(BufferTest, CY_2_landing_at_n_minus_1) {
  EXPECT_EQ(reads_with(4 * 64 - 1), 3U + 1U);
}

TEST_F(CopyEngineTest, HI_2_border_takes_request_clocks_and_no_bus) {
  build();
  Copy padded = copy(0, kInner, 16);
  padded.inner_count = 2, padded.outer_count = 1, padded.source_inner_stride = 32;
  padded.pad_top = padded.pad_left = 1, padded.fill = 0xab;
  padded.destination_inner_stride = 16, padded.destination_outer_stride = 48;
  driver_->send(kSent, padded);
  run(100);
  ASSERT_EQ(outer_->arrivals.size(), 2U);
  EXPECT_EQ(outer_->arrivals[0].cycle, kFirst + 4)
      << "behind three runs of the top border and one at the left";
  EXPECT_EQ(engine_->bytes, 96);
  for (std::uint64_t i = 0; i < 64; ++i) EXPECT_EQ(inner_->bytes[kInner + i], 0xab);
  EXPECT_EQ(inner_->bytes[kInner + 64], 0);
}

TEST_F(CopyEngineTest, HI_2_runs_that_touch_are_one_inside_a_border) {
  build();
  Copy padded = copy(0, kInner, 16);
  padded.inner_count = 2, padded.source_inner_stride = 16;
  padded.pad_left = padded.pad_right = 1, padded.fill = 0xab;
  padded.destination_inner_stride = 16;
  driver_->send(kSent, padded);
  run(100);
  ASSERT_EQ(outer_->arrivals.size(), 1U) << "32 bytes in one request";
  EXPECT_EQ(outer_->arrivals[0].cycle, kFirst + 1) << "behind one run of the border";
  EXPECT_EQ(engine_->bytes, 64);
}

TEST_F(CopyEngineTest, WF_5_without_a_source_the_border_fills_the_destination) {
  build();
  Copy fill = copy(kInner, 0, 100);
  fill.outer_count = 0, fill.pad_top = 1, fill.fill = 0xab;
  std::swap(fill.source, fill.destination);
  driver_->send(kSent, fill);
  run(100);
  EXPECT_EQ(outer_->arrivals.size(), 0U) << "nothing is read";
  EXPECT_EQ(engine_->bytes, 100);
  for (std::uint64_t i = 0; i < 100; ++i) EXPECT_EQ(inner_->bytes[kInner + i], 0xab);
  EXPECT_EQ(inner_->bytes[kInner + 100], 0);
}

TEST_F(CopyEngineTest, OP_1_blocks_arrive_turned_in_the_cycle_after_their_last_byte) {
  build();
  outer_->respond_cycles = 7;
  inner_->respond_cycles = 5;
  for (std::uint64_t i = 0; i < 8192; ++i) outer_->bytes[i] = static_cast<std::uint8_t>(i * 7 + i / 1024);
  driver_->send(kSent, turned_copy());
  run(100);
  ASSERT_EQ(outer_->arrivals.size(), 8U) << "a request for each run";
  for (std::size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(outer_->arrivals[i].cycle, kFirst + static_cast<Cycle>(i)) << "one a clock, also across blocks";
    EXPECT_EQ(outer_->arrivals[i].address, 1024 * i);
  }
  // 128 bytes of a block lie together: two bursts of 64, one a clock.
  ASSERT_EQ(inner_->arrivals.size(), 4U);
  const Cycle first_block = kFirst + 3 + 7, second_block = kFirst + 7 + 7;
  EXPECT_EQ(inner_->arrivals[0].cycle, first_block + 1);
  EXPECT_EQ(inner_->arrivals[1].cycle, first_block + 2);
  EXPECT_EQ(inner_->arrivals[2].cycle, second_block + 1);
  EXPECT_EQ(inner_->arrivals[3].address, kInner + 1024 + 64);
  EXPECT_EQ(driver_->done(1), second_block + 2 + 5 + 1);
  for (std::uint64_t block = 0; block < 2; ++block) {
    for (std::uint64_t column = 0; column < 32; ++column) {
      for (std::uint64_t row = 0; row < 4; ++row)
        ASSERT_EQ(inner_->bytes[kInner + block * 1024 + column * 4 + row],
                  outer_->bytes[block * 4096 + row * 1024 + column]);
    }
  }
  EXPECT_EQ(engine_->bytes, 256);
  EXPECT_EQ(cycles_of(engine_->write_ledger.cycles(), Activity::kStaging), (7 + 4) + 2)
      << "until the first block is there, and between the blocks";
}

TEST_F(CopyEngineTest, OP_1_no_burst_has_bytes_of_two_blocks) {
  build();
  Copy turned = turned_copy();
  turned.run_bytes = turned.transposed_columns = 4,
  turned.destination_outer_stride = 16;  // blocks that touch
  driver_->send(kSent, turned);
  run(100);
  ASSERT_EQ(inner_->arrivals.size(), 2U);
  EXPECT_EQ(inner_->arrivals[1].address, kInner + 16);
}

TEST_F(CopyEngineTest, OP_1_a_block_and_a_burst_fill_the_buffer) {
  config_.buffer_bytes = 128 + 64;
  EXPECT_EQ(refusal(turned_copy()), "");
  EXPECT_GT(driver_->done(1), 0);
}
TEST_F(CopyEngineTest, OP_1_refuses_a_block_beyond_the_buffer) {
  config_.buffer_bytes = 128 + 63;
  EXPECT_THAT(
      refusal(turned_copy()),
      ::testing::HasSubstr("iodma.copy: a block of 128 bytes to turn and a burst of 64 do not fit the "
                           "buffer of 191 bytes"));
}
TEST_F(CopyEngineTest, OP_1_refuses_turned_bytes_beyond_the_memory) {
  Copy turned = turned_copy();
  turned.destination = kInner + kInnerBytes - 1024 - 127;
  EXPECT_THAT(refusal(turned), ::testing::HasSubstr("leaves the memory"));
}
TEST_F(CopyEngineTest, OP_1_takes_turned_bytes_to_the_end_of_the_memory) {
  Copy turned = turned_copy();
  turned.destination = kInner + kInnerBytes - 1024 - 128;
  EXPECT_EQ(refusal(turned), "");
}
class TurnedCopies : public CopyEngineTest {};

TEST_F(TurnedCopies, OP_1_border_and_columns_that_do_not_divide_are_no_instruction) {
  Copy turned = turned_copy();
  EXPECT_EQ(turned.fault(), "");
  turned.transposed_columns = 5;
  EXPECT_THAT(turned.fault(),
              ::testing::HasSubstr("transposed_columns is 5, which does not divide run_bytes, 32"));
  turned = turned_copy();
  turned.pad_left = 1;
  EXPECT_THAT(turned.fault(), ::testing::HasSubstr("no border"));
  turned = turned_copy();
  turned.unit = Unit::kFold;
  EXPECT_THAT(turned.fault(), ::testing::HasSubstr("fold.copy"));
}

TEST_F(CopyEngineTest, HI_2_refuses_a_copy_of_nothing) {
  EXPECT_THAT(refusal(copy(0, kInner, 0)), ::testing::HasSubstr("iodma.copy: nothing to copy"));
}
TEST_F(CopyEngineTest, HI_2_refuses_addresses_on_one_side) {
  EXPECT_THAT(refusal(copy(kInner, kInner + 64, 64)), ::testing::HasSubstr("lie on the same side"));
}
// A core's MVDMA moves maps within its NRAM, from where one layer wrote them to where the next one reads
// them.
TEST_F(CopyEngineTest, HI_2_FU_11_mvdma_moves_within_the_memories_of_its_core) {
  build();
  inner_->respond_cycles = 5;
  for (std::uint64_t i = 0; i < 256; ++i) inner_->bytes[kInner + i] = static_cast<std::uint8_t>(3 * i + 1);
  Copy moved = copy(kInner, kInner + 1024, 256);
  moved.unit = Unit::kMvdma;
  driver_->send(kSent, moved);
  run(100);
  for (std::uint64_t i = 0; i < 256; ++i)
    ASSERT_EQ(inner_->bytes[kInner + 1024 + i], inner_->bytes[kInner + i]);
  EXPECT_EQ(inner_->arrivals.size(), 8U)
      << "four bursts are read and four are written, all on the core's side";
  EXPECT_TRUE(outer_->arrivals.empty());
}
TEST_F(CopyEngineTest, HI_2_FU_11_refuses_a_move_over_what_is_still_to_be_read) {
  Copy moved = copy(kInner, kInner + 32, 64);
  moved.unit = Unit::kMvdma;
  EXPECT_THAT(refusal(moved), ::testing::HasSubstr("runs into what is still to be read"));
}
TEST_F(CopyEngineTest, HI_2_refuses_a_destination_that_leaves_its_memory) {
  EXPECT_THAT(refusal(copy(0, kInner + kInnerBytes - 63, 64)),
              ::testing::HasSubstr("iodma.copy: the destination 0x10ffc1 to 0x110000 leaves the memory at "
                                   "0x100000 to 0x10ffff"));
}
TEST_F(CopyEngineTest, HI_2_refuses_a_source_that_leaves_its_memory) {
  Copy strided = copy(kInner, 0, 64);
  strided.outer_count = 3, strided.source_outer_stride = kInnerBytes / 2,
  strided.destination_outer_stride = 64;
  EXPECT_THAT(refusal(strided), ::testing::HasSubstr("the source 0x100000 to 0x11003f leaves"));
}
TEST_F(CopyEngineTest, HI_2_takes_the_last_byte_of_a_memory) {
  EXPECT_EQ(refusal(copy(0, kInner + kInnerBytes - 64, 64)), "");
  EXPECT_GT(driver_->done(1), 0);
}

TEST(CopyStreamProperty, HI_2_pieces_are_the_runs_and_their_border) {
  check_cases(200, [] {
    Copy c = random_copy(4096, 8192);
    const int burst = 1 << number(0, 7);
    std::vector<std::pair<bool, std::uint64_t>> bytes, expected;
    for (CopyStream stream(c, burst); !stream.done(); stream.advance()) {
      const CopyStream::Piece& piece = stream.piece();
      RC_ASSERT(piece.bytes > 0);
      RC_ASSERT(piece.bytes <= burst);
      const auto window = static_cast<std::uint64_t>(burst);
      if (!piece.fill)
        RC_ASSERT(piece.address / window ==
                  (piece.address + static_cast<std::uint64_t>(piece.bytes) - 1) / window);
      for (int i = 0; i < piece.bytes; ++i)
        bytes.emplace_back(piece.fill, piece.fill ? 0 : piece.address + static_cast<std::uint64_t>(i));
    }
    for (int row = -c.pad_top; row < c.outer_count + c.pad_bottom; ++row) {
      for (int column = -c.pad_left; column < c.inner_count + c.pad_right; ++column) {
        const bool fill = row < 0 || column < 0 || row >= c.outer_count || column >= c.inner_count;
        for (std::uint32_t i = 0; i < c.run_bytes; ++i) {
          expected.emplace_back(fill, fill ? 0
                                           : c.source + std::uint64_t{c.source_outer_stride} * row +
                                                 std::uint64_t{c.source_inner_stride} * column + i);
        }
      }
    }
    RC_ASSERT(bytes == expected);
    RC_ASSERT(CopyStream::total_bytes(c) == static_cast<std::int64_t>(expected.size()));
  });
}

TEST(CopyStreamProperty, HI_2_long_runs_do_not_overflow) {
  Copy c;
  c.run_bytes = std::uint32_t{1} << 31;
  c.inner_count = 2;
  c.source_inner_stride = c.run_bytes;
  CopyStream stream(c, 4096);
  std::int64_t bytes = 0;
  for (; !stream.done(); stream.advance()) bytes += stream.piece().bytes;
  EXPECT_EQ(bytes, std::int64_t{1} << 32);
}

// 65537 x 65535 bytes fit the field of a run exactly: behind a border they are one, and bursts end where
// windows do.
TEST(CopyStreamProperty, HI_2_runs_that_touch_are_one_up_to_the_length_of_a_field) {
  const auto second_window = [](std::uint16_t count) {
    Copy c;
    c.run_bytes = c.source_inner_stride = 65537;
    c.inner_count = count, c.pad_left = 1;
    CopyStream stream(c, 4096);
    while (stream.piece().fill || stream.piece().address < 65536) stream.advance();
    return stream.piece().bytes;
  };
  EXPECT_EQ(second_window(65534), 4096);
  EXPECT_EQ(second_window(65535), 4096);
}

}  // namespace
}  // namespace tilebeat::testing
