// The tables of the vector unit (docs/vector.md), entry by entry against formulas of their own and against
// the reference, which shares none of them (SPEC NU-5).
#include "planner/vector/function_table.h"

#include "reference/reference.h"

#include <cmath>
#include <random>

#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

using FunctionKind = ByteFunction::Kind;
constexpr FunctionKind kKinds[] = {FunctionKind::kRelu,    FunctionKind::kClamp, FunctionKind::kLeakyRelu,
                                   FunctionKind::kSigmoid, FunctionKind::kTanh,  FunctionKind::kHardSwish,
                                   FunctionKind::kGelu};

int element(DType dtype, int raw) {
  return dtype == DType::kInt8 && raw > 127 ? raw - 256 : raw;
}

TEST(FunctionTable, UI_6_a_sigmoid_over_the_input_byte) {
  ByteFunction sigmoid;
  sigmoid.kind = FunctionKind::kSigmoid, sigmoid.input_scale = 0.05,
  sigmoid.requant = {256, -128, DType::kInt8};
  for (const DType dtype : {DType::kInt8, DType::kUint8}) {
    const int zero_point = dtype == DType::kInt8 ? -3 : 130;
    const auto table = function_table(sigmoid, dtype, zero_point);
    for (int raw = 0; raw < 256; ++raw) {
      const int x = element(dtype, raw);
      const double value = 256 / (1 + std::exp(-0.05 * (x - zero_point))) - 128;
      const int y = static_cast<std::int8_t>(table[static_cast<std::size_t>(raw)]);
      EXPECT_LE(std::abs(y - std::min(value, 127.0)), 0.5 + 1e-9) << "of " << x;
    }
  }
}

TEST(FunctionTable, NU_5_every_entry_of_every_function_is_what_the_reference_computes) {
  std::mt19937 engine(5);
  const auto number = [&](int low, int high) { return low + static_cast<int>(engine() % (high - low + 1)); };
  for (int round = 0; round < 300; ++round) {
    const DType dtype = round % 2 == 0 ? DType::kInt8 : DType::kUint8;
    const int low = dtype == DType::kInt8 ? -128 : 0;
    const TensorInfo info{{1, 1, 1, 256}, dtype, number(low, low + 255)};
    ByteFunction function;
    function.kind = kKinds[round % 7];
    function.low = number(-200, 100), function.high = number(static_cast<int>(function.low), 300);
    function.input_scale = number(1, 400) * 1e-3, function.slope = number(-100, 300) * 1e-2;
    function.requant = {number(1, 3000) * 0.1, number(-128, 127), DType::kInt8};
    Layer layer;
    layer.operation = function;
    const bool same_type = function.kind == FunctionKind::kRelu || function.kind == FunctionKind::kClamp;
    layer.output = same_type ? info : TensorInfo{info.shape, DType::kInt8, function.requant.zero_point};
    Tensor all{info.shape, dtype, {}};
    for (int raw = 0; raw < 256; ++raw) all.bytes.push_back(static_cast<std::uint8_t>(raw));
    const Tensor wanted = reference_layer(layer, {{all, info}});
    const auto table = function_table(function, dtype, info.zero_point);
    for (std::size_t raw = 0; raw < 256; ++raw)
      ASSERT_EQ(table[raw], wanted.bytes[raw]) << "round " << round << ", byte " << raw;
  }
}

TEST(FunctionTable, UI_6_exponentials_of_a_softmax) {
  Softmax softmax;
  softmax.input_scale = 0.1;
  const auto table = softmax_table(softmax);
  EXPECT_EQ(table[0], 16777216);
  EXPECT_EQ(table[10], 6171993) << "2^24 / e";
  EXPECT_EQ(table[255], 0);
}

}  // namespace
}  // namespace tilebeat::testing
