// The vector unit between stubs: latency, throughput, buffers, errors (SPEC HI-2, CY-1, CY-2).
#include "units/vector_unit.h"

#include "unit_driver.h"
#include "units/vector_math.h"
#include "units/vector_steps.h"

#include <cstring>
#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

constexpr Picoseconds kVectorPeriod = 1000;
constexpr Cycle kVectorSent = 10, kVectorFirst = kVectorSent + 1;
constexpr int kChannels = 64;
constexpr Cycle kVectorRead = 5, kVectorWrite = 3;  // cycles from a request to its response

class VectorUnitTest : public ::testing::Test {
 protected:
  VectorUnitTest() {
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
    a().respond_cycles = b().respond_cycles = kVectorRead;
    result().respond_cycles = kVectorWrite;
  }
  ScriptedTarget& a() { return *memories_[0]; }
  ScriptedTarget& b() { return *memories_[1]; }
  ScriptedTarget& result() { return *memories_[2]; }
  void run(Cycle cycles) {
    sc_core::sc_start(to_sc_time(context_.clock.at(cycles)));
    for (CycleLedger* ledger : {&unit_->ledger, &unit_->a.ledger, &unit_->b.ledger, &unit_->result.ledger}) {
      ledger->settle(cycles);
      EXPECT_EQ(sum_of(ledger->cycles()), cycles);
    }
  }
  /// Pools 1 x 1: each pixel is a step of one burst without parameters, four passes of the lanes.
  static VectorRun pool(int pixels) {
    VectorRun run;
    run.kind = VectorKind::kMaxPool;
    run.rows = run.height = 1;
    run.columns = run.width = static_cast<std::uint16_t>(pixels);
    run.channels = kChannels;
    run.destination = 8192;
    return run;
  }
  Cycle clocks(const CycleLedger& ledger, Activity activity) { return cycles_of(ledger.cycles(), activity); }
  std::string refusal(const Operation& run) {
    build();
    driver_->send(kVectorSent, run);
    return error_of_run(3000, kVectorPeriod);
  }

  SimContext context_{ClockDomain(kVectorPeriod)};
  VectorConfig config_;
  DmaConfig ports_;
  std::unique_ptr<VectorUnit> unit_;
  std::unique_ptr<UnitDriver> driver_;
  std::vector<std::unique_ptr<ScriptedTarget>> memories_;
};

TEST_F(VectorUnitTest, HI_2_latency_pair) {
  build();
  driver_->send(kVectorSent, pool(1));
  const Cycle enters = kVectorFirst + kVectorRead + 1;  // in the cycle after its operand arrived
  const Cycle passes = kChannels / config_.lanes;
  const Cycle ready = enters + passes + config_.latency_cycles;
  sc_core::sc_start(to_sc_time(context_.clock.at(ready) - 1));
  EXPECT_TRUE(result().arrivals.empty()) << "not before cycle " << ready;
  run(100);
  ASSERT_EQ(result().arrivals.size(), 1U);
  EXPECT_EQ(result().arrivals[0].cycle, ready);
  EXPECT_EQ(driver_->released(1), enters);
  EXPECT_EQ(driver_->done(1), ready + kVectorWrite + 1);
  EXPECT_EQ(unit_->lane_clocks, passes);
  EXPECT_EQ(clocks(unit_->ledger, Activity::kBusy), passes);
}

TEST_F(VectorUnitTest, HI_2_steps_follow_without_a_gap_also_across_instructions) {
  build();
  driver_->send(kVectorSent, pool(6));
  VectorRun second = pool(5);
  second.a = 2048, second.destination = 16384;
  driver_->send(kVectorSent + 1, second);
  run(200);
  const Cycle first_result = kVectorFirst + kVectorRead + 1 + 4 + config_.latency_cycles;
  ASSERT_EQ(result().arrivals.size(), 11U);
  for (std::size_t i = 0; i < 11; ++i)
    EXPECT_EQ(result().arrivals[i].cycle, first_result + 4 * static_cast<Cycle>(i)) << "step " << i;
  EXPECT_EQ(driver_->done(2), first_result + 40 + kVectorWrite + 1);
  EXPECT_EQ(unit_->results, 11 * kChannels);
  EXPECT_EQ(clocks(unit_->ledger, Activity::kBusy), 44);
  EXPECT_EQ(clocks(unit_->a.ledger, Activity::kBusy), 11) << "one request a step";
  EXPECT_EQ(clocks(unit_->b.ledger, Activity::kBusy), 0);
}

TEST_F(VectorUnitTest, HI_2_parameters_then_two_operands_at_once) {
  build();
  VectorRun run_add;
  run_add.kind = VectorKind::kAdd;
  run_add.rows = run_add.columns = 1, run_add.channels = kChannels;
  run_add.a = 64, run_add.b = 1024, run_add.destination = 4096, run_add.parameters = 512;
  driver_->send(kVectorSent, run_add);
  run(200);
  ASSERT_EQ(a().arrivals.size(), 2U);
  ASSERT_EQ(b().arrivals.size(), 1U);
  EXPECT_EQ(a().arrivals[0].address, 512U) << "the factors";
  EXPECT_EQ(a().arrivals[1].cycle, kVectorFirst + 1);
  EXPECT_EQ(b().arrivals[0].cycle, kVectorFirst) << "the second operand does not wait for the factors";
  // The factors take no cycle of the lanes.
  EXPECT_EQ(result().arrivals[0].cycle, kVectorFirst + 1 + kVectorRead + 1 + 4 + config_.latency_cycles);
}

TEST_F(VectorUnitTest, HI_2_softmax_takes_three_passes) {
  build();
  VectorRun softmax = pool(1);
  softmax.kind = VectorKind::kSoftmax;
  softmax.parameters = 32768;
  std::int64_t one = 1 << 24;
  double scale = 256;
  for (std::uint64_t entry = 0; entry < 256; ++entry) {
    for (std::uint64_t i = 0; i < 8; ++i)
      a().bytes[32768 + 8 * entry + i] = static_cast<std::uint8_t>(one >> (8 * i));
  }
  for (std::uint64_t i = 0; i < 8; ++i)
    a().bytes[32768 + 2048 + i] = reinterpret_cast<const std::uint8_t*>(&scale)[i];
  driver_->send(kVectorSent, softmax);
  run(300);
  EXPECT_EQ(unit_->lane_clocks, 3 * kChannels / config_.lanes);
  EXPECT_EQ(result().bytes[8192], 256 / kChannels) << "equal elements have equal shares";
}

// Entries that no planner makes: 64 bits wrap, and the share of a greatest element is below the least result.
TEST_F(VectorUnitTest, HI_2_exponentials_of_a_softmax_wrap_in_64_bits) {
  build();
  VectorRun softmax = pool(1);
  softmax.kind = VectorKind::kSoftmax;
  softmax.parameters = 32768;
  for (std::uint64_t i = 0; i < 8 * 256; ++i) a().bytes[32768 + i] = i % 8 == 7 ? 0x7f : 0xff;
  a().bytes[32768 + 2048 + 6] = 0xf0, a().bytes[32768 + 2048 + 7] = 0x3f;  // 1.0
  driver_->send(kVectorSent, softmax);
  run(300);
  ASSERT_EQ(kChannels % 2, 0) << "the sum is -kChannels";
  EXPECT_EQ(result().bytes[8192], 0x80);
}

TEST_F(VectorUnitTest, OP_2_bilinear_pixels_are_made_of_runs_of_source_rows) {
  build();
  VectorResize run;
  run.kind = ResizeKind::kBilinear;
  run.rows = 1, run.columns = 2, run.channels = 32;
  run.height = 2, run.width = 4;
  run.h_first = 1, run.h_divisor = 2;                  // between the rows
  run.w_first = 1, run.w_step = 1, run.w_divisor = 2;  // between two columns, then on the second one
  run.destination = 8192;
  driver_->send(kVectorSent, run);
  for (std::uint64_t i = 0; i < 8; ++i) {
    for (std::uint64_t c = 0; c < 32; ++c) a().bytes[32 * i + c] = static_cast<std::uint8_t>(10 * i);
  }
  this->run(200);
  ASSERT_EQ(a().arrivals.size(), 4U) << "two rows of two taps, two rows of one";
  EXPECT_EQ(a().arrivals[0].address, 0U);
  EXPECT_EQ(a().arrivals[1].address, 128U);
  EXPECT_EQ(a().arrivals[2].address, 32U);
  EXPECT_EQ(a().arrivals[3].address, 160U);
  EXPECT_EQ(unit_->lane_clocks, 6 * 32 / config_.lanes) << "six taps";
  EXPECT_EQ(unit_->results, 2 * 32);
  EXPECT_EQ(result().bytes[8192], 25) << "the mean of 0, 10, 40, 50";
  EXPECT_EQ(result().bytes[8192 + 32], 30) << "the mean of 10 and 50";
}

/// Sums of matrix units: one pixel of kSums channels of int32.
class VectorSumsTest : public VectorUnitTest {
 protected:
  static constexpr int kSums = 32;  // two steps of 64 bytes, each one pass of 16 lanes
  static constexpr std::uint64_t kRecords = 16384 + 32;
  static VectorRun sums(VectorKind kind, DType type) {
    VectorRun run;
    run.kind = kind;
    run.a_type = run.b_type = DType::kInt32, run.out_type = type;
    run.rows = run.columns = 1, run.channels = kSums;
    run.a = 64, run.b = 4096, run.destination = 8192, run.parameters = 16384;
    return run;
  }
  template <class T>
  static void put(ScriptedTarget& memory, std::uint64_t address, T value) {
    for (std::size_t i = 0; i < sizeof value; ++i)
      memory.bytes[address + i] = reinterpret_cast<const std::uint8_t*>(&value)[i];
  }
  std::int32_t sum_at(std::uint64_t address) {
    std::uint32_t value = 0;
    for (std::uint64_t i = 0; i < 4; ++i) value |= std::uint32_t{result().bytes[address + i]} << (8 * i);
    return static_cast<std::int32_t>(value);
  }
};

TEST_F(VectorSumsTest, HI_2_RO_6_sums_of_two_cores_latency_pair) {
  build();
  put<std::int32_t>(a(), 64, 1'000'000), put<std::int32_t>(b(), 4096, -3);
  put<std::int32_t>(a(), 64 + 4 * 31, INT32_MAX), put<std::int32_t>(b(), 4096 + 4 * 31, 2);
  driver_->send(kVectorSent, sums(VectorKind::kAddSums, DType::kInt32));
  // The first step's operands come one a port; no parameters are read.
  const Cycle enters = kVectorFirst + kVectorRead + 1, ready = enters + 1 + config_.latency_cycles;
  sc_core::sc_start(to_sc_time(context_.clock.at(ready) - 1));
  EXPECT_TRUE(result().arrivals.empty()) << "not before cycle " << ready;
  run(100);
  ASSERT_EQ(result().arrivals.size(), 2U);
  EXPECT_EQ(result().arrivals[0].cycle, ready);
  EXPECT_EQ(result().arrivals[1].cycle, ready + 1) << "steps follow one another";
  EXPECT_EQ(a().arrivals.size(), 2U);
  EXPECT_EQ(b().arrivals.size(), 2U);
  EXPECT_EQ(unit_->lane_clocks, 2);
  EXPECT_EQ(driver_->released(1), enters + 1);
  EXPECT_EQ(driver_->done(1), ready + 1 + kVectorWrite + 1);
  EXPECT_EQ(sum_at(8192), 999'997);
  EXPECT_EQ(sum_at(8192 + 4 * 31), INT32_MIN + 1) << "sums wrap as in a matrix unit";
}

TEST_F(VectorSumsTest, HI_2_NU_2_the_last_ones_become_results_behind_their_records) {
  build();
  put<std::int32_t>(a(), 16384, 0), put<std::int32_t>(a(), 16384 + 4, 1000);  // relu, and an upper bound
  for (std::uint64_t channel = 0; channel < kSums; ++channel) {
    put<double>(a(), kRecords + 16 * channel, 0.5);
    put<std::int32_t>(a(), kRecords + 16 * channel + 8, static_cast<std::int32_t>(10 * channel));
  }
  put<std::int32_t>(a(), 64, 5), put<std::int32_t>(b(), 4096, 8);                  // 13 / 2: 6.5 to even
  put<std::int32_t>(a(), 64 + 4, -100), put<std::int32_t>(b(), 4096 + 4, 50);      // below 0
  put<std::int32_t>(a(), 64 + 8, 180), put<std::int32_t>(b(), 4096 + 8, 3);        // 203 / 2: 101.5
  put<std::int32_t>(a(), 64 + 12, 50'000), put<std::int32_t>(b(), 4096 + 12, 50);  // above 1000, saturates
  VectorRun run_sums = sums(VectorKind::kEndSums, DType::kInt8);
  run_sums.out_zero = -7;
  driver_->send(kVectorSent, run_sums);
  // 544 bytes of parameters in bursts of 64, then the first operand on the same port.
  constexpr int kBursts = (32 + 16 * kSums + 63) / 64;
  const Cycle ready = kVectorFirst + kBursts + kVectorRead + 1 + 1 + config_.latency_cycles;
  sc_core::sc_start(to_sc_time(context_.clock.at(ready) - 1));
  EXPECT_TRUE(result().arrivals.empty()) << "not before cycle " << ready;
  run(200);
  ASSERT_EQ(result().arrivals.size(), 2U) << "bytes of a step together";
  EXPECT_EQ(result().arrivals[0].cycle, ready);
  EXPECT_EQ(a().arrivals.size(), kBursts + 2U);
  const auto value = [&](std::uint64_t i) { return static_cast<std::int8_t>(result().bytes[8192 + i]); };
  EXPECT_EQ(value(0), 6 - 7);
  EXPECT_EQ(value(1), 0 - 7);
  EXPECT_EQ(value(2), 102 - 7);
  EXPECT_EQ(value(3), 127);
  EXPECT_EQ(value(20), 100 - 7) << "the bias alone";
}

TEST_F(VectorSumsTest, HI_2_refuses_sums_that_are_no_int32) {
  VectorRun run = sums(VectorKind::kEndSums, DType::kInt8);
  run.b_type = DType::kInt8;
  EXPECT_THAT(refusal(run), ::testing::HasSubstr("vector.run: endsums of elements that are not int32"));
}
TEST_F(VectorSumsTest, HI_2_refuses_sums_whose_result_is_no_int32) {
  EXPECT_THAT(refusal(sums(VectorKind::kAddSums, DType::kUint8)),
              ::testing::HasSubstr("vector.run: addsums of elements that are not int32"));
}
TEST_F(VectorSumsTest, HI_2_takes_records_that_just_fit) {
  config_.parameter_bytes = 32 + 16 * kSums;
  EXPECT_EQ(refusal(sums(VectorKind::kEndSums, DType::kInt32)), "");
  EXPECT_GT(driver_->done(1), 0);
}
TEST_F(VectorSumsTest, HI_2_refuses_records_that_are_too_many) {
  config_.parameter_bytes = 32 + 16 * kSums - 1;
  EXPECT_THAT(refusal(sums(VectorKind::kEndSums, DType::kInt32)),
              ::testing::HasSubstr("vector.run: 544 bytes of parameters, there is room for 543"));
}

/// Operand buffers and result buffers that fill up.
class VectorBufferTest : public VectorUnitTest {
 protected:
  std::size_t reads_with(int buffer_bytes) {
    ports_.buffer_bytes = buffer_bytes;
    build();
    a().respond_cycles = 1'000'000;
    driver_->send(kVectorSent, pool(40));
    run(200);
    EXPECT_EQ(clocks(unit_->a.ledger, Activity::kLanding),
              200 - kVectorFirst - static_cast<Cycle>(a().arrivals.size()));
    return a().arrivals.size();
  }
  std::int64_t steps_with(int buffer_bytes) {
    ports_.buffer_bytes = buffer_bytes;
    build();
    result().accept_cycles = 1'000'000, result().respond_cycles = 2'000'000;
    driver_->send(kVectorSent, pool(40));
    run(300);
    EXPECT_GT(clocks(unit_->ledger, Activity::kBusGrant), 200) << "the lanes wait for the write's grant";
    return unit_->results / kChannels;
  }
};
TEST_F(VectorBufferTest, CY_2_operands_at_n) {
  EXPECT_EQ(reads_with(4 * kChannels), 4U);
}
TEST_F(VectorBufferTest, CY_2_operands_at_n_minus_1) {
  EXPECT_EQ(reads_with(4 * kChannels - 1), 3U);
}
// The write that is not granted has left the buffer; another step enters while less than N bytes wait.
TEST_F(VectorBufferTest, CY_2_results_at_n) {
  EXPECT_EQ(steps_with(4 * kChannels), 4 + 1);
}
TEST_F(VectorBufferTest, CY_2_results_at_n_plus_1) {
  EXPECT_EQ(steps_with(4 * kChannels + 1), 5 + 1);
}

TEST_F(VectorUnitTest, HI_2_limit_of_bursts_under_way) {
  ports_.max_outstanding = 2;
  build();
  a().respond_cycles = 20;
  driver_->send(kVectorSent, pool(3));
  run(200);
  ASSERT_EQ(a().arrivals.size(), 3U);
  EXPECT_EQ(a().arrivals[1].cycle, kVectorFirst + 1);
  EXPECT_EQ(a().arrivals[2].cycle, kVectorFirst + 20 + 1);
  EXPECT_EQ(clocks(unit_->a.ledger, Activity::kOutstanding), 20 + 1 - 2);
}

// Operands of both inputs share the buffer: the third pair waits until the first one has left it.
class OperandRoom : public VectorUnitTest, public ::testing::WithParamInterface<int> {};

TEST_P(OperandRoom, HI_2_operands_of_both_inputs_take_room) {
  const int pairs = GetParam();
  ports_.max_outstanding = 8;
  ports_.buffer_bytes = 24 + pairs * 2 * kChannels;  // with the factors
  build();
  a().respond_cycles = b().respond_cycles = 40;
  VectorRun add;
  add.kind = VectorKind::kAdd;
  add.rows = 1, add.columns = 3, add.channels = kChannels;
  add.a = 64, add.b = 1024, add.destination = 4096, add.parameters = 512;
  driver_->send(kVectorSent, add);
  run(400);
  ASSERT_EQ(b().arrivals.size(), 3U);
  EXPECT_EQ(b().arrivals[1].cycle, kVectorFirst + 1);
  if (pairs == 3) {
    EXPECT_EQ(b().arrivals[2].cycle, kVectorFirst + 2);
  } else {
    EXPECT_GT(b().arrivals[2].cycle, kVectorFirst + 40);
  }
}
INSTANTIATE_TEST_SUITE_P(Pairs, OperandRoom, ::testing::Values(2, 3));

using ::testing::HasSubstr;

TEST_F(VectorUnitTest, HI_2_refuses_more_channels_than_the_row_buffer_holds) {
  config_.row_elements = kChannels - 1;
  EXPECT_THAT(refusal(pool(4)), HasSubstr("vector.run: 64 channels, the row buffer holds 63"));
}
TEST_F(VectorUnitTest, HI_2_takes_as_many_channels_as_the_row_buffer_holds) {
  config_.row_elements = kChannels;
  EXPECT_EQ(refusal(pool(4)), "");
  EXPECT_GT(driver_->done(1), 0);
}
TEST_F(VectorUnitTest, HI_2_refuses_parameters_that_are_too_large) {
  config_.parameter_bytes = 4096;
  VectorRun run = pool(1);
  run.kind = VectorKind::kScale;
  run.channels = 256;
  EXPECT_THAT(refusal(run), HasSubstr("vector.run: 4104 bytes of parameters, there is room for 4096"));
}
TEST_F(VectorUnitTest, OP_2_refuses_a_resize_of_accumulators) {
  VectorResize run;
  run.rows = run.columns = run.channels = run.height = run.width = 1, run.type = DType::kInt32;
  EXPECT_THAT(refusal(run), HasSubstr("vector.resize: of int32 elements"));
}
TEST_F(VectorUnitTest, OP_2_refuses_a_resize_of_more_channels_than_the_row_buffer_holds) {
  config_.row_elements = 63;
  VectorResize run;
  run.rows = run.columns = run.height = run.width = 1, run.channels = 64;
  EXPECT_THAT(refusal(run), HasSubstr("vector.resize: 64 channels, the row buffer holds 63"));
}
TEST_F(VectorUnitTest, HI_2_refuses_int32_where_bytes_are_needed) {
  VectorRun run = pool(4);
  run.kind = VectorKind::kTable;
  run.out_type = DType::kInt32;
  EXPECT_THAT(refusal(run), HasSubstr("vector.run: table of int32 elements"));
}
TEST_F(VectorUnitTest, DT_2_refuses_tables_of_int16) {
  VectorRun run = pool(4);
  run.kind = VectorKind::kTable, run.a_type = DType::kInt16;
  EXPECT_THAT(refusal(run), HasSubstr("vector.run: table of int16 elements"));
}
TEST_F(VectorUnitTest, DT_2_refuses_curves_of_bytes) {
  VectorRun run = pool(4);
  run.kind = VectorKind::kTanh, run.a_type = DType::kInt16;
  EXPECT_THAT(refusal(run), HasSubstr("vector.run: tanh of int8 elements"));
}
TEST_F(VectorUnitTest, DT_2_refuses_an_exact_softmax_of_int16) {
  VectorRun run = pool(1);
  run.kind = VectorKind::kSoftmax, run.a_type = run.out_type = DType::kInt16;
  EXPECT_THAT(refusal(run), HasSubstr("vector.run: softmax of int16 elements"));
}
TEST_F(VectorUnitTest, DT_2_refuses_a_softmax_of_two_types) {
  VectorRun run = pool(1);
  run.kind = VectorKind::kSoftmax, run.a_type = DType::kInt16, run.arithmetic = Arithmetic::kFixed;
  EXPECT_THAT(refusal(run), HasSubstr("vector.run: softmax of int16 with results of int8"));
}
TEST_F(VectorUnitTest, DT_2_refuses_sums_of_int16_and_bytes_in_fixed_point) {
  VectorRun run = pool(4);
  run.kind = VectorKind::kAdd, run.a_type = DType::kInt16, run.arithmetic = Arithmetic::kFixed;
  EXPECT_THAT(refusal(run), HasSubstr("vector.run: add has no such types of elements"));
}
TEST_F(VectorUnitTest, DT_2_operands_of_int16_take_two_bytes_of_the_buffer) {
  ports_.buffer_bytes = 2 * kChannels - 1;
  VectorRun run = pool(1);
  run.a_type = run.out_type = DType::kInt16;
  EXPECT_THAT(refusal(run), HasSubstr("vector.run: 64 channels, the row buffer holds 63"));
}
TEST_F(VectorUnitTest, HI_2_NU_6_refuses_sums_of_accumulators_in_the_arithmetic_of_a_runtime) {
  VectorRun run = pool(4);
  run.kind = VectorKind::kAdd, run.arithmetic = Arithmetic::kFloat32, run.a_type = DType::kInt32;
  EXPECT_THAT(refusal(run), HasSubstr("vector.run: add has no such types of elements"));
}
TEST_F(VectorUnitTest, HI_2_NU_6_refuses_products_of_accumulators_in_the_arithmetic_of_a_runtime) {
  VectorRun run = pool(4);
  run.kind = VectorKind::kMul, run.arithmetic = Arithmetic::kFloat32, run.a_type = DType::kInt32;
  EXPECT_THAT(refusal(run), HasSubstr("vector.run: mul has no such types of elements"));
}
TEST_F(VectorUnitTest, HI_2_refuses_exponentials_that_sum_to_zero) {
  VectorRun run = pool(1);
  run.kind = VectorKind::kSoftmax;
  EXPECT_THAT(refusal(run), HasSubstr("vector.run: the factors of a softmax give no number"));
}

}  // namespace
}  // namespace tilebeat::testing
