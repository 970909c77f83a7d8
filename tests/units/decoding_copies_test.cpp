// Copies that decode weights of four bits (SPEC DT-1): when a burst of weights is written, finite room on
// both sides of the decoder, what is refused.
#include "copy_engine_bench.h"
#include "planner/layer/weight_encoder.h"
#include "workload/weights.h"

#include <cstdint>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

class DecodingTest : public CopyEngineTest {
 protected:
  /// Writes `weights` weights of int4 at address 0, those of a section of 16 scales; returns the stream's
  /// bytes.
  std::uint32_t write_stream(std::int64_t weights) {
    EncodableWeights made;
    made.shift = 3;
    for (std::int64_t i = 0; i < weights; ++i) {
      made.codes.push_back(static_cast<std::uint8_t>(i * 5 % 16));
      made.scales.push_back(static_cast<std::uint8_t>(10 + i / 4 % 16));
      expected_.push_back(static_cast<std::uint8_t>(
          decoded_weight(made.codes.back(), made.scales.back(), made.shift, made.is_signed)));
    }
    made.bytes = expected_;
    const std::vector<std::uint8_t> stream = encoded_stream(made);
    for (std::size_t i = 0; i < stream.size(); ++i) outer_->bytes[i] = stream[i];
    return static_cast<std::uint32_t>(stream.size());
  }
  static Copy decoding(std::uint32_t stream, std::uint32_t weights) {
    Copy made = copy(0, kInner, weights);
    made.decodes = true, made.source_inner_stride = stream;
    return made;
  }
  void check_weights() {
    for (std::size_t i = 0; i < expected_.size(); ++i)
      ASSERT_EQ(inner_->bytes[kInner + i], expected_[i]) << i;
  }

  std::vector<std::uint8_t> expected_;
};

// A stream of 128 weights: a header of 8 bytes, 16 scales, 64 bytes of codes. A burst of 64 weights takes 8 +
// 16 + 32 bytes of it, the second one 32.
TEST_F(DecodingTest, DT_1_a_burst_is_written_in_the_cycle_after_its_last_byte_was_decoded) {
  decode_bytes_ = 8;
  build();
  outer_->respond_cycles = 7;
  inner_->respond_cycles = 5;
  ASSERT_EQ(write_stream(128), 8U + 16U + 64U);
  driver_->send(kSent, decoding(88, 128));
  run(100);
  ASSERT_EQ(outer_->arrivals.size(), 2U) << "64 and 24 bytes";
  // The first 64 bytes have arrived: the first burst of weights, and 8 bytes of the second one.
  const Cycle first_bytes =
      kFirst + 7 + 1;  // 64 bytes: the first burst of weights, and 8 bytes of the second one
  const Cycle first = first_bytes + (8 + 16 + 32) / 8, second = first + 32 / 8;
  ASSERT_EQ(inner_->arrivals.size(), 2U);
  EXPECT_EQ(inner_->arrivals[0].cycle, first);
  EXPECT_EQ(inner_->arrivals[1].cycle, second);
  EXPECT_EQ(driver_->done(1), second + 5 + 1);
  check_weights();
  EXPECT_EQ(engine_->bytes, 128);
  EXPECT_EQ(engine_->decoded, 128);
  EXPECT_EQ(cycles_of(engine_->write_ledger.cycles(), Activity::kDecode),
            first - first_bytes + second - first - 1);
  EXPECT_EQ(cycles_of(engine_->write_ledger.cycles(), Activity::kStaging), 7 + 1);
}

TEST_F(DecodingTest, DT_1_a_fast_decoder_makes_a_burst_a_clock) {
  decode_bytes_ = 128;
  build();
  write_stream(256);
  driver_->send(kSent, decoding(8 + 16 + 128, 256));
  run(100);
  ASSERT_EQ(inner_->arrivals.size(), 4U);
  // Each takes a clock: the bytes that it needs have arrived.
  for (std::size_t i = 1; i < 4; ++i) EXPECT_EQ(inner_->arrivals[i].cycle, inner_->arrivals[i - 1].cycle + 1);
  check_weights();
}

// Two bursts have room behind the decoder: with a port that takes none it stops, and so do the reads once the
// buffer is full.
TEST_F(DecodingTest, DT_1_CY_2_finite_room_behind_the_decoder) {
  decode_bytes_ = 32;
  config_.buffer_bytes = 64, config_.max_outstanding = 1;
  build();
  inner_->respond_cycles = 60;
  const std::uint32_t stream = write_stream(512);
  driver_->send(kSent, decoding(stream, 512));
  run(50);
  // One burst of weights is under way, two wait: their bytes, and a buffer of 64 are all that was read.
  EXPECT_EQ(inner_->arrivals.size(), 1U);
  EXPECT_LE(outer_->arrivals.size(), 3U);
  run(1000);
  check_weights();
}

TEST_F(DecodingTest, DT_1_a_stream_and_its_destination_have_as_many_weights) {
  decode_bytes_ = 8;
  build();
  write_stream(128);
  driver_->send(kSent, decoding(88, 160));
  EXPECT_THAT(error_of_run(500, kPeriod),
              ::testing::HasSubstr("the stream ends 32 weights before the destination"));
}
TEST_F(DecodingTest, DT_1_a_stream_that_goes_on_is_refused) {
  decode_bytes_ = 8;
  build();
  write_stream(128);
  driver_->send(kSent, decoding(88, 96));
  EXPECT_THAT(error_of_run(500, kPeriod),
              ::testing::HasSubstr("the stream has more weights than the destination"));
}
TEST_F(DecodingTest, DT_1_an_engine_without_a_decoder_refuses) {
  EXPECT_THAT(refusal(decoding(88, 128)), ::testing::HasSubstr("the engine has no decoder of weights"));
}
TEST(DecodingCopies, DT_1_borders_blocks_and_strides_are_no_instruction) {
  Copy copy;
  copy.run_bytes = 64, copy.decodes = true, copy.source_inner_stride = 40;
  EXPECT_EQ(copy.fault(), "");
  const auto fault_of = [&](const auto& change) {
    Copy changed = copy;
    change(changed);
    return changed.fault();
  };
  EXPECT_NE(fault_of([](Copy& c) { c.pad_top = 1; }), "");
  EXPECT_NE(fault_of([](Copy& c) { c.transposed_columns = 8; }), "");
  EXPECT_NE(fault_of([](Copy& c) { c.unit = Unit::kFold; }), "");
  EXPECT_NE(fault_of([](Copy& c) { c.source_inner_stride = 0; }), "");
  EXPECT_NE(fault_of([](Copy& c) { c.source_outer_stride = 64; }), "");
}

}  // namespace
}  // namespace tilebeat::testing
