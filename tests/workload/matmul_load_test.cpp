// Products of matrices as workload files (SPEC OP_1, UI_6, NU_3): shapes that are inferred, and one line with
// file, place, value and what is allowed for every way to get them wrong.
#include "../data/malformed_file.h"
#include "reference/reference.h"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace tilebeat {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using Shape = std::vector<std::int64_t>;

/// y = a x b, with the inputs' shapes and further fields of the layer.
json product_file(const Shape& a, const Shape& b, const char* fields = "{}") {
  json layer = json::parse(fields);
  layer["name"] = "y", layer["op"] = "matmul";
  layer["inputs"] = {"a", "b"};
  return {{"inputs",
           {{{"name", "a"}, {"shape", a}, {"random", {{"seed", 1}}}},
            {{"name", "b"}, {"shape", b}, {"zero_point", 7}, {"random", {{"seed", 2}}}}}},
          {"layers", {layer}}};
}
Workload load(const json& file) {
  const TemporaryFolder folder;
  return load_workload(folder.write("w.json", file.dump()));
}
std::string complaint(const json& file) {
  return refusal([&] { load(file); });
}

TEST(MatmulShapes, OP_1_leading_axes_are_broadcast) {
  struct Case {
    Shape a, b;
    const char* fields;
    Shape y;
    std::int64_t macs;
  };
  for (const Case& c : std::vector<Case>{
           {{3, 4}, {4, 5}, "{}", {3, 5}, 60},
           {{4, 3}, {5, 4}, R"({"transpose_a": true, "transpose_b": true})", {3, 5}, 60},
           {{2, 1, 3, 4}, {7, 4, 5}, "{}", {2, 7, 3, 5}, 14 * 60},
           {{3, 4}, {6, 1, 2, 4, 5}, "{}", {6, 1, 2, 3, 5}, 12 * 60},
           {{1, 2, 1, 2, 3, 4}, {2, 1, 2, 1, 5, 4}, R"({"transpose_b": true})", {2, 2, 2, 2, 3, 5}, 16 * 60},
       }) {
    const Workload workload = load(product_file(c.a, c.b, c.fields));
    const Layer& layer = workload.layers.at(0);
    EXPECT_EQ(layer.output.shape, c.y);
    EXPECT_EQ(layer.output.dtype, DType::kInt32);
    EXPECT_EQ(useful_macs(workload, layer), c.macs);
    EXPECT_EQ(std::get<Conv2d>(layer.operation).weight_zero_point, 7) << "B's";
    EXPECT_EQ(run_reference(workload).at("y").shape, c.y);
  }
}

// Every element by itself, from the definition.
TEST(MatmulShapes, OP_1_elements_are_sums_over_the_inner_axis) {
  const Workload workload = load(product_file({2, 1, 4, 3}, {5, 6, 4}, R"({"transpose_a": true,
      "transpose_b": true, "bias": {"random": {"seed": 3}}, "activation": "relu"})"));
  const Tensor &a = workload.input_data.at("a"), &b = workload.input_data.at("b");
  const auto& bias = std::get<Conv2d>(workload.layers[0].operation).bias;
  const Tensor y = run_reference(workload).at("y");
  ASSERT_EQ(y.shape, (Shape{2, 5, 3, 6}));
  std::int64_t at = 0;
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 5; ++j) {
      for (int row = 0; row < 3; ++row) {
        for (int column = 0; column < 6; ++column, ++at) {
          int sum = bias[static_cast<std::size_t>(column)];
          for (int k = 0; k < 4; ++k)
            sum += a.at((i * 4 + k) * 3 + row) * (b.at((j * 6 + column) * 4 + k) - 7);
          ASSERT_EQ(y.at(at), std::max(sum, 0)) << i << " " << j << " " << row << " " << column;
        }
      }
    }
  }
}

TEST(MatmulShapes, OP_1_weights_have_leading_axes) {
  json file = product_file({3, 1, 2, 4}, {1, 1});
  file["layers"][0] = {{"name", "y"},
                       {"op", "matmul"},
                       {"inputs", {"a"}},
                       {"out_features", 5},
                       {"weights_axes", {6}},
                       {"transpose_a", true},
                       {"weights", {{"random", {{"seed", 4}}}}}};
  const Workload workload = load(file);
  EXPECT_EQ(workload.tensor("y").shape, (Shape{3, 6, 4, 5}));
  EXPECT_EQ(std::get<Conv2d>(workload.layers[0].operation).weights.shape(), (Shape{6, 5, 2}));
  file["layers"][0]["weights_axes"] = {6, 2, 1};
  EXPECT_THAT(complaint(file),
              HasSubstr("/layers/0/weights_axes: the weights with shape [6, 2, 1, 2, 5] is not allowed, "
                        "allowed is leading axes that are 1 or equal to those of \"a\""));
}

TEST(MatmulShapes, OP_1_shapes_that_do_not_fit_are_refused) {
  const auto expect = [](const Shape& a, const Shape& b, const char* fields, const char* wanted) {
    const std::string message = complaint(product_file(a, b, fields));
    EXPECT_THAT(message, HasSubstr(wanted));
    EXPECT_EQ(message.find('\n'), std::string::npos);
  };
  expect(
      {3, 4}, {5, 6}, "{}",
      R"(/layers/0/inputs/1: "b" with shape [5, 6] is not allowed, allowed is a matrix of 4 rows, the columns of "a" with shape [3, 4])");
  expect(
      {3, 4}, {4, 6}, R"({"transpose_a": true})",
      R"("b" with shape [4, 6] is not allowed, allowed is a matrix of 3 rows, the columns of "a" with shape [3, 4] transposed)");
  expect(
      {2, 3, 4}, {3, 4, 5}, "{}",
      R"(/layers/0/inputs/1: "b" with shape [3, 4, 5] is not allowed, allowed is leading axes that are 1 or equal to those of "a" with shape [2, 3, 4])");
  expect({4}, {4, 5}, "{}", R"(/layers/0/inputs/0: "a" with shape [4])");
  expect({3, 4}, {4}, "{}",
         R"(/layers/0/inputs/1: "b" with shape [4] is not allowed, allowed is a matrix [..., K, columns])");
  expect(
      {1, 1, 1, 1, 1, 3, 4}, {4, 5}, "{}",
      R"(/layers/0/inputs/0: "a" with shape [1, 1, 1, 1, 1, 3, 4] is not allowed, allowed is at most 6 axes)");
  expect({3, 4}, {1, 1, 1, 1, 1, 4, 5}, "{}", R"(/layers/0/inputs/1: "b" with shape)");
  expect({3, 4}, {4, 5}, R"({"requant": {"scale": [1, 2]}})",
         "/layers/0/requant/scale: a list of 2 entries is not allowed, allowed is a number or a list of 5 "
         "entries, the columns of B");
}

TEST(MatmulShapes, OP_1_a_second_input_stands_instead_of_weights) {
  const json file = product_file({3, 4}, {4, 5});
  for (const char* key : {"weights", "out_features", "weights_axes"}) {
    json spoilt = file;
    spoilt["layers"][0][key] = 1;
    EXPECT_THAT(complaint(spoilt), HasSubstr(fmt::format("/layers/0/{0}: key \"{0}\" of op matmul", key)));
  }
  json three = file;
  three["layers"][0]["inputs"] = {"a", "b", "b"};
  EXPECT_THAT(complaint(three), HasSubstr("allowed is a list of 1 to 2 entries"));
}

// The greatest sum: k |a| |b|, with b between -128 - 7 and 127 - 7.
TEST(MatmulShapes, NU_3_OP_1_sums_are_bounded_by_the_types_of_both_operands) {
  const std::int64_t most = INT32_MAX / (128 * 135);
  EXPECT_EQ(complaint(product_file({1, most}, {most, 1})), "");
  EXPECT_THAT(complaint(product_file({1, most + 1}, {most + 1, 1})),
              HasSubstr(fmt::format("/layers/0: layer \"y\" with accumulators of up to {} is not allowed, "
                                    "allowed is at most 2147483647, the greatest int32",
                                    (most + 1) * 128 * 135)));
  EXPECT_THAT(complaint(product_file({1, most}, {most, 1}, R"({"bias": {"random": {"seed": 1,
                  "min": 2000000000, "max": 2000000000}}})")),
              HasSubstr("accumulators of up to"));
}

TEST(MatmulShapes, OP_1_accumulators_are_no_operand) {
  json file = product_file({4, 4}, {4, 4});
  file["layers"].push_back({{"name", "z"}, {"op", "matmul"}, {"inputs", {"a", "y"}}});
  EXPECT_THAT(complaint(file), HasSubstr("/layers/1/inputs/1: \"y\" with int32 accumulators"));
}

}  // namespace
}  // namespace tilebeat
