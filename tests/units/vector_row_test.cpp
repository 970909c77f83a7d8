// vector.row between stubs: cycles, results worked out by hand, what is refused (SPEC OP-2, CY-1).
#include "unit_driver.h"
#include "units/vector_unit.h"

#include <cstring>
#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

constexpr Picoseconds kRowPeriod = 1000;
constexpr Cycle kRowSent = 10, kRowFirst = kRowSent + 1;
constexpr Cycle kRowRead = 5, kRowWrite = 3;  // cycles from a request to its response
constexpr std::uint64_t kFactors = 4096, kResults = 8192;

class VectorRowTest : public ::testing::Test {
 protected:
  VectorRowTest() {
    strict_systemc();
    config_.lanes = 16;
    config_.latency_cycles = 7;
    ports_.burst_bytes = 64;
    ports_.buffer_bytes = 4096;
  }
  void build() {
    unit_ = std::make_unique<VectorUnit>("vector", context_, config_, ports_, 0);
    driver_ = std::make_unique<UnitDriver>("driver", context_);
    driver_->command.bind(unit_->command);
    unit_->completion.bind(driver_->completion);
    for (const char* name : {"a_memory", "b_memory", "result_memory"})
      memories_.push_back(std::make_unique<ScriptedTarget>(name, context_));
    unit_->a.socket.bind(memories_[0]->socket);
    unit_->b.socket.bind(memories_[1]->socket);
    unit_->result.socket.bind(memories_[2]->socket);
    a().respond_cycles = kRowRead, result().respond_cycles = kRowWrite;
  }
  ScriptedTarget& a() { return *memories_[0]; }
  ScriptedTarget& result() { return *memories_[2]; }
  void put(const std::vector<int>& elements) {
    for (std::size_t i = 0; i < elements.size(); ++i) a().bytes[i] = static_cast<std::uint8_t>(elements[i]);
  }
  void put_factors(const std::vector<double>& factors) {
    for (std::size_t i = 0; i < factors.size(); ++i) {
      std::uint8_t bytes[sizeof(double)];
      std::memcpy(bytes, &factors[i], sizeof bytes);
      for (std::size_t b = 0; b < sizeof bytes; ++b) a().bytes[kFactors + 8 * i + b] = bytes[b];
    }
  }
  static VectorRow row(RowKind kind, int pixels, int channels) {
    VectorRow run;
    run.kind = kind;
    run.pixels = static_cast<std::uint32_t>(pixels), run.channels = static_cast<std::uint16_t>(channels);
    run.destination = kResults, run.parameters = kFactors;
    return run;
  }
  void run(const VectorRow& operation) {
    driver_->send(kRowSent, operation);
    sc_core::sc_start(to_sc_time(context_.clock.at(400)));
  }
  std::vector<int> results(int count) {
    std::vector<int> found;
    for (int i = 0; i < count; ++i)
      found.push_back(static_cast<std::int8_t>(result().bytes[kResults + static_cast<std::uint64_t>(i)]));
    return found;
  }

  SimContext context_{ClockDomain(kRowPeriod)};
  VectorConfig config_;
  DmaConfig ports_;
  std::unique_ptr<VectorUnit> unit_;
  std::unique_ptr<UnitDriver> driver_;
  std::vector<std::unique_ptr<ScriptedTarget>> memories_;
};

TEST_F(VectorRowTest, OP_2_latency_pair_of_three_passes) {
  build();
  VectorRow operation = row(RowKind::kLayerNorm, 2, 32);
  put_factors(std::vector<double>(2 + 64, 1.0));
  driver_->send(kRowSent, operation);
  // The factors, 528 bytes, are nine bursts; the first pixel's burst follows them.
  const Cycle enters = kRowFirst + 9 + kRowRead + 1, passes = 3 * 32 / 16;
  const Cycle ready = enters + passes + config_.latency_cycles;
  sc_core::sc_start(to_sc_time(context_.clock.at(ready) - 1));
  EXPECT_TRUE(result().arrivals.empty()) << "not before cycle " << ready;
  sc_core::sc_start(to_sc_time(context_.clock.at(100)));
  ASSERT_EQ(result().arrivals.size(), 2U);
  EXPECT_EQ(result().arrivals[0].cycle, ready);
  EXPECT_EQ(result().arrivals[1].cycle, ready + passes) << "pixels follow one another without a gap";
  EXPECT_EQ(unit_->lane_clocks, 2 * passes);
}

TEST_F(VectorRowTest, OP_2_layernorm_by_hand) {
  build();
  put({1, 3, 5, 7});  // mean 4, deviations -3, -1, 1, 3, variance 5
  put_factors({0.0, 10.0, 1, 0, 1, 0, 1, 0, 2, 0.5});
  run(row(RowKind::kLayerNorm, 1, 4));
  // -3 / sqrt(5) = -1.342, -0.447, 0.447; 2 * 1.342 + 0.5 = 3.183
  EXPECT_THAT(results(4), ::testing::ElementsAre(-13, -4, 4, 32));
}

TEST_F(VectorRowTest, OP_2_rmsnorm_by_hand) {
  build();
  put({3, -4, 0, 0});  // mean square 25 / 4
  put_factors({0.0, 10.0, 1, 0, 1, 0, 1, 0, 1, 0});
  run(row(RowKind::kRmsNorm, 1, 4));
  EXPECT_THAT(results(4), ::testing::ElementsAre(12, -16, 0, 0));
}

TEST_F(VectorRowTest, OP_2_lrn_by_hand) {
  build();
  put({2, 4, 6, 8});
  // v = x / 2; windows of three: 1 + 4, 1 + 4 + 9, 4 + 9 + 16, 9 + 16; v / (1 + m)
  put_factors({0.5, 1.0, 1.0, 1.0, 100.0});
  VectorRow operation = row(RowKind::kLrn, 1, 4);
  operation.size = 3;
  run(operation);
  EXPECT_THAT(results(4), ::testing::ElementsAre(17, 13, 10, 15));
}

TEST_F(VectorRowTest, OP_2_lrn_of_even_size_has_one_channel_more_behind_than_before) {
  build();
  put({2, 4, 6, 8});
  // v = x / 2; windows of two: 1 + 4, 4 + 9, 9 + 16, 16; v / (1 + m)
  put_factors({0.5, 1.0, 1.0, 1.0, 100.0});
  VectorRow operation = row(RowKind::kLrn, 1, 4);
  operation.size = 2;
  run(operation);
  EXPECT_THAT(results(4), ::testing::ElementsAre(17, 14, 12, 24));
}

// e(0) = 8, e(1) = 4, e(2) = 2, e(3) = 1 and so on; a share of 1 becomes 96.
class CausalSoftmaxTest : public VectorRowTest {
 protected:
  void build_causal(const std::vector<int>& elements) {
    build();
    put(elements);
    for (std::uint64_t d = 0; d < 256; ++d)
      a().bytes[kFactors + 8 * d] = static_cast<std::uint8_t>(d < 4 ? 8 >> d : 0);
    double scale = 96;
    std::uint8_t bytes[sizeof scale];
    std::memcpy(bytes, &scale, sizeof scale);
    for (std::uint64_t b = 0; b < sizeof scale; ++b)
      a().bytes[kFactors + std::uint64_t{8} * 256 + b] = bytes[b];
  }
  static VectorRow causal(int pixels, int channels, std::uint32_t rows, std::uint32_t past) {
    VectorRow operation = row(RowKind::kCausalSoftmax, pixels, channels);
    operation.rows = rows, operation.past = past;
    operation.size = static_cast<std::uint16_t>(channels);
    return operation;
  }
};

TEST_F(CausalSoftmaxTest, AT_1_queries_see_keys_up_to_their_own) {
  build_causal({5, 90, 90, 5, 6, 90, 5, 5, 4});
  run(causal(3, 3, 3, 0));
  EXPECT_THAT(results(9), ::testing::ElementsAre(96, 0, 0, 32, 64, 0, 38, 38, 19));
}

TEST_F(CausalSoftmaxTest, AT_1_a_window_ends_before_older_keys_and_rows_begin_again) {
  build_causal({90, 5, 6, 90, 5, 5, 90, 90, 90, 6, 6, 90});
  VectorRow operation = causal(3, 4, 2, 1);  // rows 1, 0, 1 of two
  operation.size = 2, operation.row = 1;
  run(operation);
  EXPECT_THAT(results(12), ::testing::ElementsAre(0, 32, 64, 0, 48, 48, 0, 0, 0, 48, 48, 0));
}

TEST_F(CausalSoftmaxTest, AT_1_the_lanes_go_twice_over_what_is_seen_and_once_over_all) {
  build_causal(std::vector<int>(128, 1));
  run(causal(2, 64, 64, 0));
  EXPECT_EQ(unit_->lane_clocks, 2 * (2 + 4));
  EXPECT_EQ(unit_->results, 2 * 64);
}

TEST_F(CausalSoftmaxTest, AT_1_more_queries_than_keys_are_refused_when_decoded) {
  EXPECT_EQ(causal(1, 8, 6, 2).fault(), "");
  EXPECT_THAT(causal(1, 8, 7, 2).fault(), ::testing::HasSubstr("past and rows"));
}

// Rows 1, 0, 1 of two with one key more than queries, of which each sees two: keys 1 and 2, 0 and 1, 1 and 2.
TEST_F(CausalSoftmaxTest, AT_1_HI_2_a_window_reads_the_keys_that_it_sees_alone) {
  VectorRow operation = causal(3, 4, 2, 1);
  operation.size = 2, operation.row = 1;
  ByteSet read;
  read.add(operation.parameters, operation.parameters + to_unsigned(RowSteps::parameter_bytes(operation)));
  for (const std::uint64_t first : {1U, 4U, 9U}) read.add(operation.a + first, operation.a + first + 2);
  EXPECT_EQ(accessed_bytes(Operation(operation), 0).reads.ranges(), read.ranges());
}

TEST_F(VectorRowTest, OP_2_argmax_is_the_first_of_the_greatest) {
  build();
  put({-5, 9, 9, 1, 7, 6, 7, -8});
  VectorRow operation = row(RowKind::kArgMax, 2, 4);
  operation.out_type = DType::kInt32;
  run(operation);
  EXPECT_THAT(results(8), ::testing::ElementsAre(1, 0, 0, 0, 0, 0, 0, 0));
  EXPECT_EQ(unit_->lane_clocks, 2 * 2) << "two passes a pixel";
  EXPECT_EQ(unit_->results, 2);
}

TEST_F(VectorRowTest, OP_2_refuses_more_channels_than_the_row_buffer_holds) {
  build();
  driver_->send(kRowSent, row(RowKind::kArgMax, 1, 5000));
  EXPECT_THAT(error_of_run(100, kRowPeriod), ::testing::HasSubstr("vector.row"));
}

}  // namespace
}  // namespace tilebeat::testing
