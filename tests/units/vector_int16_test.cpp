// The vector unit on int16 (SPEC DT-2): lanes that an element takes, parameters, and what fixed point gives.
#include "tilebeat/error.h"
#include "units/vector_math.h"
#include "units/vector_steps.h"

#include <cstring>
#include <vector>

#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

using Bytes = std::vector<std::uint8_t>;

template <class T>
void add(T value, Bytes& bytes) {
  const std::size_t at = bytes.size();
  bytes.resize(at + sizeof value);
  std::memcpy(bytes.data() + at, &value, sizeof value);
}
Bytes words(const std::vector<std::int32_t>& values) {
  Bytes bytes;
  for (const std::int32_t value : values) add(value, bytes);
  return bytes;
}
VectorRun run_of(VectorKind kind, Arithmetic arithmetic = Arithmetic::kFixed) {
  VectorRun run;
  run.kind = kind, run.arithmetic = arithmetic;
  run.a_type = run.b_type = run.out_type = DType::kInt16;
  run.rows = run.columns = 1, run.channels = 40;
  return run;
}

TEST(VectorInt16, DT_2_an_element_takes_two_lanes_and_two_bytes) {
  VectorSteps steps(run_of(VectorKind::kMax, Arithmetic::kExact), 16, 64);
  EXPECT_TRUE(steps.step().parameters);
  steps.advance();
  EXPECT_EQ(steps.step().a_bytes, 64);
  EXPECT_EQ(steps.step().b_bytes, 64);
  EXPECT_EQ(steps.step().results, 32);
  EXPECT_EQ(steps.step().clocks, 4) << "32 elements, eight a cycle";
  steps.advance();
  EXPECT_EQ(steps.step().a, 64U);
  EXPECT_EQ(steps.step().result, 64U);
  EXPECT_EQ(steps.step().clocks, 1);
}

TEST(VectorInt16, DT_2_one_operand_or_the_result_alone_takes_two_lanes_too) {
  const auto clocks = [](DType a, DType out) {
    VectorRun run = run_of(VectorKind::kSlopes);
    run.a_type = a, run.out_type = out;
    VectorSteps steps(run, 16, 64);
    steps.advance();
    return steps.step().clocks;
  };
  EXPECT_EQ(clocks(DType::kInt8, DType::kInt8), 3) << "40 elements";
  EXPECT_EQ(clocks(DType::kInt8, DType::kInt16), 5);
  EXPECT_EQ(clocks(DType::kInt16, DType::kInt8), 4) << "32 elements";
}

TEST(VectorInt16, DT_2_taps_of_a_pooling_have_two_bytes_a_channel) {
  VectorRun run = run_of(VectorKind::kMaxPool, Arithmetic::kExact);
  run.height = 1, run.width = run.kernel_w = 3, run.channels = 16, run.a = 10;
  VectorSteps steps(run, 16, 64);
  EXPECT_EQ(steps.step().a_bytes, 64) << "two taps";
  EXPECT_EQ(steps.step().clocks, 4);
  steps.advance();
  EXPECT_EQ(steps.step().a, 10U + 64);
  EXPECT_EQ(steps.step().a_bytes, 32);
  EXPECT_TRUE(steps.step().last);
}

TEST(VectorInt16, DT_2_a_pixel_of_a_softmax_has_two_bytes_a_channel) {
  VectorRun run = run_of(VectorKind::kSoftmax);
  run.columns = 2;
  EXPECT_EQ(VectorSteps::parameter_bytes(run), 8 + 2 * 513 * 2);
  VectorSteps steps(run, 16, 64);
  steps.advance();
  EXPECT_EQ(steps.step().a_bytes, 80);
  EXPECT_EQ(steps.step().clocks, 3 * 5);
  steps.advance();
  EXPECT_EQ(steps.step().a, 80U);
  EXPECT_EQ(steps.step().result, 80U);
}

TEST(VectorInt16, DT_2_what_an_instruction_reads_and_writes) {
  VectorRun run = run_of(VectorKind::kMaxPool, Arithmetic::kExact);
  run.height = 1, run.width = run.columns = 4, run.channels = 3, run.a = 100, run.destination = 200;
  const AccessedBytes bytes = accessed_bytes(Operation(run), 0);
  ASSERT_EQ(bytes.reads.ranges().size(), 1U);
  EXPECT_EQ(bytes.reads.ranges().begin()->first, 100U);
  EXPECT_EQ(bytes.reads.ranges().begin()->second, 124U);
  ASSERT_EQ(bytes.writes.ranges().size(), 1U);
  EXPECT_EQ(bytes.writes.ranges().begin()->second, 224U);
}

TEST(VectorInt16, DT_2_operands_are_shifted_half_away_from_zero) {
  const auto sum = [](VectorKind kind, std::int32_t x, std::int32_t y) {
    const auto shifts = static_cast<std::int32_t>(SumForm::kShifts);
    return sum_of_int16(kind, words({0, 0, 0, 2, 0, 0, shifts}), x, y);
  };
  EXPECT_EQ(sum(VectorKind::kAdd, 10, 6), 12);
  EXPECT_EQ(sum(VectorKind::kAdd, 10, -6), 8);
  EXPECT_EQ(sum(VectorKind::kAdd, 10, 5), 11);
  EXPECT_EQ(sum(VectorKind::kSub, 10, -6), 12);
}

TEST(VectorInt16, DT_2_sums_have_a_head_of_fifteen_bits) {
  // Factors of 1/2, and a result of 2^-14: x + y.
  const Bytes factors = words({1 << 30, 0, 1 << 30, 0, 1 << 30, -13, 0});
  EXPECT_EQ(sum_of_int16(VectorKind::kAdd, factors, 32767, 32767), 65534);
  EXPECT_EQ(sum_of_int16(VectorKind::kSub, factors, -32768, 32767), -65535);
}

TEST(VectorInt16, DT_2_slopes_choose_by_the_sign) {
  VectorRun run = run_of(VectorKind::kSlopes);
  const Bytes factors = words({1 << 30, 1, 1 << 30, -1, 0, 0});  // 1 and 1/4
  EXPECT_EQ(sloped(run, factors, 300), 300);
  EXPECT_EQ(sloped(run, factors, -300), -75);
  EXPECT_EQ(sloped(run, factors, -2), -1) << "half away from zero";
  run.floor = 32768 - 10, run.ceiling = 32767 - 20;
  EXPECT_EQ(sloped(run, factors, 300), 20);
  EXPECT_EQ(sloped(run, factors, -300), -10);
}

TEST(VectorInt16, DT_2_series_need_no_table) {
  const auto series = static_cast<std::int32_t>(CurveForm::kSeries);
  const auto at = [&](VectorKind kind, int left, std::int32_t x) {
    return curve_of(run_of(kind), words({series, 0, left, 0}), x);
  };
  EXPECT_EQ(at(VectorKind::kSigmoid, 0, 0), 16384);
  EXPECT_EQ(at(VectorKind::kSigmoid, 0, -4097), 8807);
  EXPECT_EQ(at(VectorKind::kSigmoid, 0, 32767), 32756);
  EXPECT_EQ(at(VectorKind::kTanh, 0, -2500), -17844);
  EXPECT_EQ(at(VectorKind::kTanh, 1, -2500), -27524);
  EXPECT_EQ(at(VectorKind::kTanh, 1, 0), 0);
}

TEST(VectorInt16, DT_2_tables_that_are_not_there_end_the_run) {
  const Bytes none = words({0, 1, 0, 0});
  EXPECT_THROW(curve_of(run_of(VectorKind::kSigmoid), none, 5), SimulationError);
  EXPECT_THROW(softmax_shares(run_of(VectorKind::kSoftmax), words({0, 0}), std::vector<std::int32_t>{1}),
               SimulationError);
  const Bytes zeros(8 + 2 * 513 * 2, 0);
  EXPECT_THROW(softmax_shares(run_of(VectorKind::kSoftmax), zeros, std::vector<std::int32_t>{1, 2}),
               SimulationError)
      << "exponentials that sum to 0";
}

}  // namespace
}  // namespace tilebeat::testing
