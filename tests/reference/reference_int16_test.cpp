// The reference operators on int16 (SPEC DT-2): exact values by hand, and those of fixed point as TensorFlow
// Lite's kernels give them.
#include "operator_run.h"
#include "tilebeat/error.h"

#include <cmath>
#include <cstring>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

using nlohmann::json;
using Values = std::vector<int>;

Elements int16_pixels(const Values& values) {
  return {{1, 1, static_cast<std::int64_t>(values.size()), 1}, values, DType::kInt16, 0};
}
Elements row_of_int16(const Values& values) {
  return {{1, static_cast<std::int64_t>(values.size())}, values, DType::kInt16, 0};
}
Elements int8_pixels(const Values& values, int zero_point) {
  return {{1, 1, static_cast<std::int64_t>(values.size()), 1}, values, DType::kInt8, zero_point};
}
json in_fixed_point(json layer) {
  layer["arithmetic"] = "fixed";
  return layer;
}
json step_of_output(double scale, const char* type = "int16", int zero_point = 0) {
  return {{"output_scale", scale}, {"dtype", type}, {"zero_point", zero_point}};
}
std::string refusal_of(const json& layer, const std::vector<Elements>& inputs) {
  try {
    computed(layer, inputs);
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

const Values kPlaces{-32768, -20000, -4097, -4096, -2500, -1, 0, 1, 300, 4095, 4096, 12345, 32767};

TEST(ReferenceInt16, DT_2_moves_keep_both_bytes_together) {
  const Elements map{{1, 1, 2, 2}, {1, -2, 300, -32768}, DType::kInt16, 0};
  EXPECT_EQ(computed({{"op", "transpose"}, {"perm", {0, 1, 3, 2}}}, {map}), (Values{1, 300, -2, -32768}));
  EXPECT_EQ(computed({{"op", "slice"}, {"starts", {0, 0, 1, 0}}, {"ends", {1, 1, 2, 2}}}, {map}),
            (Values{300, -32768}));
  EXPECT_EQ(computed({{"op", "gather"}, {"axis", 2}, {"indices", {1, 0, 1}}}, {map}),
            (Values{300, -32768, 1, -2, 300, -32768}));
  EXPECT_EQ(computed({{"op", "pad"}, {"pads", {0, 1, 0, 0}}, {"channel_pads", {0, 1}}}, {map}),
            (Values{0, 0, 0, 1, -2, 0, 300, -32768, 0}));
  EXPECT_EQ(computed({{"op", "concat"}, {"axis", 3}}, {map, map}),
            (Values{1, -2, 1, -2, 300, -32768, 300, -32768}));
  EXPECT_EQ(computed({{"op", "flatten"}}, {map}), map.values);
  EXPECT_EQ(computed({{"op", "space_to_depth"}, {"block_size", 1}}, {map}), map.values);
}

TEST(ReferenceInt16, DT_2_exact_elements_are_rounded_once_half_to_even) {
  json add{{"op", "add"}, {"input_scales", {0.5, 0.25}}, {"requant", {{"scale", 1}, {"dtype", "int16"}}}};
  EXPECT_EQ(computed(add, {int16_pixels({1, 3, 32767, -32768}), int16_pixels({0, 0, 32767, -32768})}),
            (Values{0, 2, 24575, -24576}));
  add["requant"]["dtype"] = "int8";
  EXPECT_EQ(computed(add, {int16_pixels({300, -300}), int8_pixels({2, 2}, 0)}), (Values{127, -128}));
  add["op"] = "max";
  EXPECT_EQ(computed(add, {int16_pixels({-300, 40}), int8_pixels({-40, 2}, 0)}), (Values{-10, 20}));
  EXPECT_EQ(computed({{"op", "leaky_relu"},
                      {"slope", -0.5},
                      {"input_scale", 1},
                      {"requant", {{"scale", 1}, {"dtype", "int16"}}}},
                     {int16_pixels({-3, -5, 9, -32768})}),
            (Values{2, 2, 9, 16384}));
  EXPECT_EQ(computed({{"op", "relu"}}, {int16_pixels({-300, 300})}), (Values{0, 300}));
  EXPECT_EQ(computed({{"op", "clamp"}, {"low", -40000}, {"high", 299}}, {int16_pixels({-32768, 300})}),
            (Values{-32768, 299}));
}

TEST(ReferenceInt16, DT_2_pools_and_reductions) {
  EXPECT_EQ(computed({{"op", "max_pool"}, {"kernel", {1, 2}}}, {int16_pixels({-300, -301, 5, 32767})}),
            (Values{-300, 32767}));
  const json average{{"op", "average_pool"}, {"kernel", {1, 2}}};
  const Elements ties = int16_pixels({1, 2, -1, -2, 2, 3, 32767, 32766});
  EXPECT_EQ(computed(average, {ties}), (Values{2, -2, 2, 32766})) << "half to even";
  EXPECT_EQ(computed(in_fixed_point(average), {ties}), (Values{2, -2, 3, 32767})) << "half away from zero";
  EXPECT_EQ(computed({{"op", "reduce_max"}, {"axes", {-1}}}, {row_of_int16({-300, 7000, 6})}),
            (Values{7000}));
  json mean{{"op", "reduce_mean"}, {"axes", {1}}, {"input_scale", 0.003}, {"requant", step_of_output(0.002)}};
  EXPECT_EQ(computed(in_fixed_point(mean), {row_of_int16({5, -7, 30000, -1, 2, 3, 4})}), (Values{6430}));
  mean["input_scale"] = 0.002;
  EXPECT_EQ(computed(in_fixed_point(mean), {row_of_int16({5, -7, 30000, -1, 2, 3, 4})}), (Values{4287}));
}

TEST(ReferenceInt16, DT_2_sums_in_fixed_point) {
  const Values a{1, -1, 3, -3, 32767, -32768, 1000, -1000}, b{1, 1, 1, -1, 32767, -32768, -7, 7};
  json sum{{"op", "add"}, {"input_scales", {0.003, 0.002}}, {"requant", step_of_output(0.004)}};
  EXPECT_EQ(computed(in_fixed_point(sum), {int16_pixels(a), int16_pixels(b)}),
            (Values{1, 0, 3, -3, 32767, -32768, 746, -746}));
  sum["op"] = "sub";
  EXPECT_EQ(computed(in_fixed_point(sum), {int16_pixels(a), int16_pixels(b)}),
            (Values{0, -1, 2, -2, 8192, -8192, 754, -754}));
  json product{{"op", "mul"}, {"input_scales", {0.003, 0.002}}, {"requant", step_of_output(0.0004)}};
  product["output_range"] = {0, 15000};
  EXPECT_EQ(computed(in_fixed_point(product), {int16_pixels(a), int16_pixels(b)}),
            (Values{0, 0, 0, 0, 15000, 15000, 0, 0}));
}

TEST(ReferenceInt16, DT_2_scales_that_are_powers_of_two_shift_where_the_file_says_so) {
  const Values a{1, -1, 3, -3, 32767, -32768, 1000, -1000}, b{1, 1, 1, -1, 32767, -32768, -7, 7};
  json sum{{"op", "add"}, {"input_scales", {std::ldexp(1, -9), std::ldexp(1, -10)}}};
  sum["requant"] = step_of_output(std::ldexp(1, -9));
  EXPECT_EQ(computed(in_fixed_point(sum), {int16_pixels(a), int16_pixels(b)}),
            (Values{2, -1, 4, -4, 32767, -32768, 997, -997}));
  sum["power_of_two_scales"] = true;
  EXPECT_EQ(computed(in_fixed_point(sum), {int16_pixels(a), int16_pixels(b)}),
            (Values{2, 0, 4, -4, 32767, -32768, 996, -996}));
  sum["op"] = "sub";
  EXPECT_EQ(computed(in_fixed_point(sum), {int16_pixels(a), int16_pixels(b)}),
            (Values{0, -2, 2, -2, 16383, -16384, 1004, -1004}));
  sum["requant"] = step_of_output(0.003);
  EXPECT_EQ(refusal_of(in_fixed_point(sum), {int16_pixels(a), int16_pixels(b)}), "")
      << "one is no power of two: by factors";
}

TEST(ReferenceInt16, DT_2_slopes_and_requantisations_in_fixed_point) {
  const json leaky{
      {"op", "leaky_relu"}, {"slope", 0.3}, {"input_scale", 0.003}, {"requant", step_of_output(0.002)}};
  EXPECT_EQ(computed(in_fixed_point(leaky), {int16_pixels(kPlaces)}),
            (Values{-14746, -9000, -1844, -1843, -1125, -1, 0, 2, 450, 6143, 6144, 18518, 32767}));
  const auto requantised = [](double from, const json& to, const Elements& x) {
    return computed(in_fixed_point({{"op", "requantize"}, {"input_scale", from}, {"requant", to}}), {x});
  };
  EXPECT_EQ(requantised(0.003, step_of_output(0.002), int16_pixels(kPlaces)),
            (Values{-32768, -30000, -6145, -6144, -3750, -1, 0, 1, 450, 6142, 6144, 18517, 32767}));
  EXPECT_EQ(requantised(0.0001, step_of_output(0.02, "int8", -5), int16_pixels(kPlaces)),
            (Values{-128, -105, -25, -25, -18, -5, -5, -5, -3, 15, 15, 57, 127}));
  EXPECT_EQ(requantised(0.02, step_of_output(0.0003), int8_pixels({-128, -5, 0, 127}, -5)),
            (Values{-8200, 0, 333, 8800}));
}

TEST(ReferenceInt16, DT_2_curves_of_tables_and_of_series) {
  const auto curve = [](const char* op, double scale) {
    return computed(
        in_fixed_point({{"op", op}, {"input_scale", scale}, {"requant", step_of_output(1.0 / 32768)}}),
        {int16_pixels(kPlaces)});
  };
  EXPECT_EQ(curve("sigmoid", std::ldexp(1, -12)),
            (Values{11, 243, 8807, 8815, 11535, 16383, 16384, 16384, 16980, 23950, 23952, 31236, 32756}));
  EXPECT_EQ(curve("sigmoid", 0.001),
            (Values{1, 1, 536, 536, 2486, 16376, 16384, 16392, 18823, 32231, 32232, 32767, 32767}));
  EXPECT_EQ(curve("tanh", std::ldexp(1, -12)),
            (Values{-32767, -32767, -24964, -24964, -17844, -8, 0, 8, 2400, 24960, 24964, 32616, 32767}));
  EXPECT_EQ(curve("tanh", std::ldexp(1, -11)),
            (Values{-32767, -32767, -31596, -31596, -27524, -24, 0, 24, 4768, 31596, 31596, 32767, 32767}));
  EXPECT_EQ(curve("tanh", 0.0007),
            (Values{-32767, -32767, -32557, -32557, -30847, -24, 0, 24, 6781, 32556, 32557, 32767, 32767}));
}

TEST(ReferenceInt16, DT_2_shares_of_a_softmax) {
  json softmax{{"op", "softmax"}, {"input_scale", 0.001}};
  const Elements x = row_of_int16({100, 200, -300, 5000, 5100, -32768});
  EXPECT_EQ(computed(in_fixed_point(softmax), {x}), (Values{115, 127, 77, 15415, 17035, 1}));
  softmax["input_scale"] = 0.01, softmax["beta"] = 0.5;
  EXPECT_EQ(computed(in_fixed_point(softmax), {x}), (Values{1, 1, 1, 12369, 20393, 1}));
}

TEST(ReferenceInt16, DT_2_float32_becomes_int16_by_a_quotient_in_double) {
  const TensorInfo output{{5}, DType::kInt16, 0};
  Layer layer;
  layer.output = output;
  const std::vector<float> reals{0.5F, -0.5F, 2.5F, 1e9F, -1e9F};
  Tensor x{{5}, DType::kFloat32, std::vector<std::uint8_t>(reals.size() * sizeof(float))};
  std::memcpy(x.bytes.data(), reals.data(), x.bytes.size());
  const auto made = [&](Arithmetic arithmetic) {
    layer.operation = Quantize{1.0F, arithmetic};
    return elements_of(reference_layer(layer, {{x, {{5}, DType::kFloat32, 0}}}));
  };
  EXPECT_EQ(made(Arithmetic::kExact), (Values{0, 0, 2, 32767, -32768}));
  EXPECT_EQ(made(Arithmetic::kFixed), (Values{1, -1, 3, 32767, -32768}));
}

TEST(ReferenceInt16, DT_2_what_has_no_rule_is_refused_with_what_has_one) {
  using ::testing::HasSubstr;
  const json curve{{"op", "sigmoid"}, {"input_scale", 1}, {"requant", step_of_output(1.0 / 32768)}};
  EXPECT_THAT(
      refusal_of(curve, {int16_pixels({1})}),
      HasSubstr(
          R"(/layers/0/arithmetic: "exact" for op sigmoid of int16 is not allowed, allowed is "fixed"; give )"
          R"(the workload or layer "arithmetic": "fixed")"));
  json add{{"op", "add"}, {"input_scales", {1, 1}}, {"requant", step_of_output(1)}};
  EXPECT_THAT(
      refusal_of(in_fixed_point(add), {int16_pixels({1}), int8_pixels({1}, 0)}),
      HasSubstr(R"(/layers/0/inputs/1: "b" of int8 beside int16 in arithmetic fixed is not allowed)"));
  add["arithmetic"] = "float32";
  EXPECT_THAT(refusal_of(add, {int16_pixels({1}), int16_pixels({1})}),
              HasSubstr(R"(/layers/0/arithmetic: "float32" for tensors of int16 is not allowed)"));
  add["requant"] = step_of_output(1, "int16", 5), add["arithmetic"] = "fixed";
  EXPECT_THAT(refusal_of(add, {int16_pixels({1}), int16_pixels({1})}),
              HasSubstr("/layers/0/requant/zero_point: 5 "));
  add["requant"] = step_of_output(1e-5);
  EXPECT_THAT(refusal_of(add, {int16_pixels({1}), int16_pixels({1})}), HasSubstr("/layers/0/input_scales: "));
  add["requant"] = step_of_output(0.5), add["power_of_two_scales"] = true;
  EXPECT_THAT(refusal_of(add, {int16_pixels({1}), int16_pixels({1})}),
              HasSubstr("/layers/0/input_scales: [1, 1] with "));
  EXPECT_THAT(
      refusal_of({{"op", "gelu"}, {"input_scale", 1}, {"requant", step_of_output(1)}}, {int16_pixels({1})}),
      HasSubstr(R"(/layers/0/inputs/0: "a" of int16 is not allowed)"));
  EXPECT_THAT(
      refusal_of({{"op", "gelu"}, {"input_scale", 1}, {"requant", step_of_output(1)}}, {int8_pixels({1}, 0)}),
      HasSubstr(R"(/layers/0/requant/dtype: "int16" for op gelu is not allowed)"));
  json softmax{{"op", "softmax"}, {"input_scale", 1}, {"causal", json::object()}};
  EXPECT_THAT(refusal_of(in_fixed_point(softmax), {row_of_int16({1, 2})}), HasSubstr("/layers/0/causal: "));
}

}  // namespace
}  // namespace tilebeat::testing
