// The steps of vector operations and what their elements become, without time (SPEC HI-2, OP-2, NU-6).
#include "units/vector_math.h"

#include "units/vector_steps.h"

#include <cstring>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

TEST(VectorSteps, HI_2_an_average_divides_by_more_than_2_to_the_31_taps) {
  VectorRun run;
  run.kind = VectorKind::kAveragePool;
  run.rows = run.columns = run.height = run.width = 1, run.channels = 4;
  run.kernel_h = run.kernel_w = 46341;
  run.count_padding = true;
  EXPECT_EQ(VectorSteps(run, 16, 64).step().divisor, std::int64_t{46341} * 46341);
}

TEST(VectorSteps, HI_2_a_run_of_taps_is_one_burst_at_most) {
  VectorRun run;
  run.kind = VectorKind::kMaxPool;
  run.rows = run.columns = run.height = 1, run.width = run.kernel_w = 3, run.channels = 32;
  VectorSteps steps(run, 16, 64);
  EXPECT_EQ(steps.step().a_bytes, 64) << "two taps";
  EXPECT_FALSE(steps.step().last);
  steps.advance();
  EXPECT_EQ(steps.step().a_bytes, 32);
  EXPECT_TRUE(steps.step().last);
}

TEST(VectorSteps, OP_2_a_range_begins_with_its_first_burst_and_has_one_result) {
  VectorRun run;
  run.kind = VectorKind::kRange;
  run.a_type = run.out_type = DType::kFloat32;
  run.rows = run.columns = 1, run.channels = 40;
  VectorSteps steps(run, 16, 64);
  EXPECT_TRUE(steps.step().parameters) << "the range so far";
  std::vector<int> results;
  for (const bool first : {true, false, false}) {
    steps.advance();
    EXPECT_EQ(steps.step().first, first);
    results.push_back(steps.step().results);
  }
  EXPECT_EQ(results, (std::vector<int>{0, 0, kRangeReals}));
}

std::vector<std::uint8_t> float32_bytes(const std::vector<float>& reals) {
  std::vector<std::uint8_t> bytes(reals.size() * sizeof(float));
  std::memcpy(bytes.data(), reals.data(), bytes.size());
  return bytes;
}

TEST(VectorMath, OP_2_float32_of_two_operands) {
  VectorRun run;
  run.a_type = run.b_type = run.out_type = DType::kFloat32;
  VectorStep step;
  step.results = 2;
  const auto made = [&](VectorKind kind, bool divide) {
    run.kind = kind, run.divide = divide;
    std::vector<std::uint8_t> results;
    VectorMath().run(Operation(run), step, float32_bytes({3, -2}), float32_bytes({0.5, 4}), results);
    return results;
  };
  EXPECT_EQ(made(VectorKind::kAdd, false), float32_bytes({3.5, 2}));
  EXPECT_EQ(made(VectorKind::kSub, false), float32_bytes({2.5, -6}));
  EXPECT_EQ(made(VectorKind::kMul, false), float32_bytes({1.5, -8}));
  EXPECT_EQ(made(VectorKind::kMul, true), float32_bytes({6, -0.5}));
  EXPECT_EQ(made(VectorKind::kMin, false), float32_bytes({0.5, -2}));
  EXPECT_EQ(made(VectorKind::kMax, false), float32_bytes({3, 4}));
}

// Shares of TensorFlow Lite round halves away from zero, those of ONNX Runtime to even: four equal shares of
// 10 or, with an exponential of 0, none.
TEST(VectorRuntime, NU_6_shares_of_a_softmax_round_as_their_runtime_does) {
  VectorRun run;
  run.kind = VectorKind::kSoftmax, run.out_type = DType::kUint8;
  std::vector<std::uint8_t> factors(257 * sizeof(float), 0);
  const float one = 1;
  std::memcpy(factors.data(), &one, sizeof one);
  const auto shares = [&](Arithmetic arithmetic, float scale) {
    run.arithmetic = arithmetic;
    std::memcpy(factors.data() + 256 * sizeof(float), &scale, sizeof scale);
    std::vector<std::uint8_t> results;
    softmax_shares(run, factors, {0, 0, 0, 0, 1}, results);
    return results;
  };
  EXPECT_EQ(shares(Arithmetic::kFixed, 1 / 10.0F), (std::vector<std::uint8_t>{3, 3, 3, 3, 0}));
  EXPECT_EQ(shares(Arithmetic::kFloat32Ort, 10), (std::vector<std::uint8_t>{2, 2, 2, 2, 0}));
}

TEST(VectorRuntime, NU_6_sums_in_float32_end_with_a_shift_that_rounds_halves_up) {
  VectorRun run;
  run.kind = VectorKind::kAdd, run.arithmetic = Arithmetic::kFloat32;
  std::vector<std::uint8_t> factors(24, 0);
  factors[0] = factors[8] = 1, factors[16] = 2;  // (x + y) / 4
  const auto sum = [&](std::int32_t x) { return combine(run, factors, x, 0); };
  EXPECT_EQ(sum(1), 0);
  EXPECT_EQ(sum(2), 1);
  EXPECT_EQ(sum(5), 1);
  EXPECT_EQ(sum(-2), 0);
  EXPECT_EQ(sum(-3), -1);
}

TEST(VectorRuntime, NU_6_both_operands_count_in_sums_and_differences) {
  VectorRun run;
  std::vector<std::uint8_t> whole(24, 0);
  whole[0] = 3, whole[8] = 5, whole[16] = 1;  // (3 x + 5 y) / 2
  std::vector<std::uint8_t> real(24, 0);
  for (const auto& [at, value] : {std::pair{0, 3.0F}, {8, 5.0F}, {16, 2.0F}})
    std::memcpy(real.data() + at, &value, sizeof value);
  for (const auto& [arithmetic, factors] :
       {std::pair{Arithmetic::kFloat32, whole}, {Arithmetic::kFloat32Ort, real}}) {
    run.arithmetic = arithmetic;
    run.kind = VectorKind::kAdd;
    EXPECT_EQ(combine(run, factors, 4, 2), 11);
    run.kind = VectorKind::kSub;
    EXPECT_EQ(combine(run, factors, 4, 2), 1);
  }
}

}  // namespace
}  // namespace tilebeat::testing
