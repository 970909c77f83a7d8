// Random tensors of up to six axes through the operators of SPEC OP-2 on random chips: the reference's bytes,
// and one report in both granularities.
#include "../data/temporary_folder.h"
#include "budget.h"
#include "checked_run.h"
#include "random_chip.h"

#include <numeric>

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace tilebeat::testing {
namespace {

using nlohmann::json;
using Shape = std::vector<int>;

Shape random_shape() {
  Shape shape;
  const int rank = number(1, 6);
  int left = 3000;
  for (int axis = 0; axis < rank; ++axis) {
    shape.push_back(std::min(left, skewed(axis + 1 == rank ? 200 : 12)));
    left = std::max(1, left / shape.back());
  }
  return shape;
}

json random_seed() {
  return {{"seed", number(1, 100000)}};
}

json input(const std::string& name, const Shape& shape) {
  const bool is_signed = one_in(2);
  return {{"name", name},
          {"shape", shape},
          {"dtype", is_signed ? "int8" : "uint8"},
          {"zero_point", is_signed ? number(-128, 127) : number(0, 255)},
          {"random", random_seed()}};
}

json requant(double scale) {
  const bool is_signed = one_in(2);
  return {{"scale", scale},
          {"zero_point", is_signed ? number(-128, 127) : number(0, 255)},
          {"dtype", is_signed ? "int8" : "uint8"}};
}

json workload(const std::vector<json>& inputs, json layer) {
  layer["name"] = "y";
  for (const json& x : inputs) layer["inputs"].push_back(x["name"]);
  return {{"inputs", inputs}, {"layers", {layer}}};
}

json function_case() {
  constexpr std::array<const char*, 6> kNames{"gelu_tanh", "silu", "exp", "erf", "sqrt", "gelu"};
  const char* name = kNames.at(static_cast<std::size_t>(number(0, 5)));
  return workload(
      {input("x", random_shape())},
      {{"op", name}, {"input_scale", number(1, 100) * 1e-3}, {"requant", requant(number(1, 50))}});
}

json broadcast_case() {
  constexpr std::array<const char*, 4> kNames{"add", "sub", "mul", "div"};
  const Shape shape = random_shape();
  Shape a = shape, b = shape;
  for (std::size_t axis = 0; axis < shape.size(); ++axis)
    (one_in(2) ? a : b)[axis] = one_in(2) ? 1 : shape[axis];
  if (one_in(2) && b.size() > 1) b.erase(b.begin());
  if (one_in(2)) std::swap(a, b);
  json layer{{"op", kNames.at(static_cast<std::size_t>(number(0, 3)))}, {"requant", requant(number(1, 40))}};
  layer["input_scales"] = {0.04, 0.03};
  if (one_in(3)) layer["activation"] = "relu";
  return workload({input("a", a), input("b", b)}, layer);
}

json reduction_case() {
  const Shape shape = random_shape();
  const int rank = static_cast<int>(shape.size()), first = number(0, rank - 1),
            last = number(first, rank - 1);
  Shape axes;
  for (int axis = first; axis <= last; ++axis) axes.push_back(one_in(2) ? axis : axis - rank);
  json layer{{"op", "reduce_max"}, {"axes", axes}, {"keep_dims", one_in(2)}};
  if (one_in(3)) return workload({input("x", shape)}, layer);
  layer["op"] = one_in(2) ? "reduce_mean" : "reduce_sum";
  layer["input_scale"] = number(1, 100) * 1e-3, layer["requant"] = requant(number(1, 50));
  return workload({input("x", shape)}, layer);
}

json transpose_case() {
  const Shape shape = random_shape();
  Shape perm(shape.size());
  std::iota(perm.begin(), perm.end(), 0);
  for (std::size_t i = perm.size(); i > 1; --i)
    std::swap(perm[i - 1], perm[static_cast<std::size_t>(number(0, static_cast<int>(i) - 1))]);
  return workload({input("x", shape)}, {{"op", "transpose"}, {"perm", perm}});
}

json block_case() {
  const int b = skewed(4), depth = skewed(9), height = skewed(8), width = skewed(8), maps = skewed(3);
  if (one_in(2))
    return workload({input("x", {maps, height * b, width * b, depth})},
                    {{"op", "space_to_depth"}, {"block_size", b}});
  return workload({input("x", {maps, height, width, depth * b * b})},
                  {{"op", "depth_to_space"}, {"block_size", b}, {"mode", one_in(2) ? "dcr" : "crd"}});
}

json slice_case() {
  const Shape shape = random_shape();
  json layer{{"op", "slice"}};
  for (const int extent : shape) {
    const int start = number(0, extent - 1);
    layer["starts"].push_back(start), layer["ends"].push_back(number(start + 1, extent));
    layer["steps"].push_back(skewed(4));
  }
  return workload({input("x", shape)}, layer);
}

json concat_case() {
  const Shape shape = random_shape();
  const int rank = static_cast<int>(shape.size()), axis = number(0, rank - 1);
  std::vector<json> inputs;
  for (int i = 0; i < number(2, 4); ++i) {
    Shape part = shape;
    part[static_cast<std::size_t>(axis)] = skewed(20);
    inputs.push_back({{"name", "x" + std::to_string(i)}, {"shape", part}, {"random", random_seed()}});
  }
  return workload(inputs, {{"op", "concat"}, {"axis", one_in(2) ? axis : axis - rank}});
}

json gather_case() {
  const Shape shape = random_shape();
  const int rank = static_cast<int>(shape.size()), axis = number(0, rank - 1);
  std::vector<int> indices;
  for (int i = 0; i < skewed(20); ++i)
    indices.push_back(number(0, shape[static_cast<std::size_t>(axis)] - 1));
  if (indices.empty()) indices.push_back(0);
  return workload({input("x", shape)},
                  {{"op", "gather"}, {"axis", one_in(2) ? axis : axis - rank}, {"indices", indices}});
}

json softmax_case() {
  const Shape shape = random_shape();
  json layer{{"op", "softmax"}, {"input_scale", number(1, 100) * 1e-3}};
  layer["axis"] = number(0, static_cast<int>(shape.size()) - 1);
  json made = workload({input("x", shape)}, layer);
  constexpr std::array<const char*, 4> kNames{"exact", "float32", "float32_ort", "fixed"};
  made["arithmetic"] = kNames.at(static_cast<std::size_t>(number(0, 3)));
  return made;
}

json causal_case() {
  const int queries = skewed(40), keys = queries + skewed(50);
  Shape shape{queries, keys};
  for (int axis = number(0, 2); axis > 0; --axis) shape.insert(shape.begin(), skewed(4));
  json causal = json::object();
  if (one_in(2)) causal["past"] = number(0, keys - queries);
  if (one_in(2)) causal["window"] = skewed(60);
  return workload({input("x", shape)}, {{"op", "softmax"},
                                        {"input_scale", number(1, 100) * 1e-3},
                                        {"causal", causal},
                                        {"requant", requant(number(1, 255))}});
}

json row_case() {
  const Shape shape = random_shape();
  json layer{{"op", one_in(2) ? "layernorm" : "rmsnorm"}, {"input_scale", number(1, 100) * 1e-3}};
  if (one_in(3)) {
    layer["op"] = "lrn", layer["size"] = skewed(9), layer["alpha"] = number(1, 100) * 1e-3;
  } else if (one_in(2)) {
    std::vector<double> gamma, beta;
    for (int c = 0; c < shape.back(); ++c)
      gamma.push_back(number(-20, 20) * 0.1), beta.push_back(number(-9, 9));
    layer["gamma"] = gamma, layer["beta"] = beta;
  }
  layer["requant"] = requant(number(1, 30));
  if (one_in(3)) layer["output_range"] = {20, 100};
  return workload({input("x", shape)}, layer);
}

json argmax_case() {
  return workload({input("x", random_shape())},
                  {{"op", "argmax"}, {"result", one_in(2) ? "index" : "one_hot"}});
}

void check_on_chips(int cases, json (*make)()) {
  check_generated(budget(cases, 10), make, random_chip);
}

TEST(TensorOperators, OP_2_functions) {
  check_on_chips(15, function_case);
}
TEST(TensorOperators, OP_2_add_sub_mul_div_with_repeated_axes) {
  check_on_chips(40, broadcast_case);
}
TEST(TensorOperators, OP_2_reductions) {
  check_on_chips(40, reduction_case);
}
TEST(TensorOperators, OP_2_transpose) {
  check_on_chips(30, transpose_case);
}
TEST(TensorOperators, OP_2_depth_to_space_and_space_to_depth) {
  check_on_chips(30, block_case);
}
TEST(TensorOperators, OP_2_slice) {
  check_on_chips(30, slice_case);
}
TEST(TensorOperators, OP_2_gather_by_constant_indices) {
  check_on_chips(25, gather_case);
}
TEST(TensorOperators, OP_2_concat_on_any_axis) {
  check_on_chips(30, concat_case);
}
TEST(TensorOperators, OP_2_softmax_on_any_axis) {
  check_on_chips(30, softmax_case);
}
TEST(TensorOperators, AT_1_causal_softmax_with_windows) {
  check_on_chips(40, causal_case);
}
TEST(TensorOperators, OP_2_layernorm_rmsnorm_and_lrn) {
  check_on_chips(40, row_case);
}
TEST(TensorOperators, OP_2_argmax) {
  check_on_chips(20, argmax_case);
}

// Tables of two to five axes; the indices are the places of the greatest elements of random rows.
json lookup_case() {
  Shape table = random_shape();
  while (table.size() < 2) table.push_back(skewed(40));
  if (table.size() > 5) table.resize(5);
  const int numbers = one_in(3) ? 2 : 1, axis = number(0, static_cast<int>(table.size()) - numbers);
  const int count = one_in(4) ? skewed(400) : skewed(20);
  json made{{"inputs", {input("t", table)}}, {"layers", json::array()}, {"outputs", {"y"}}};
  json inputs{"t"};
  for (int i = 0; i < numbers; ++i) {
    const std::string scores = "s" + std::to_string(i), index = "i" + std::to_string(i);
    made["inputs"].push_back(input(scores, {count, table.at(static_cast<std::size_t>(axis + i))}));
    made["layers"].push_back({{"name", index}, {"op", "argmax"}, {"inputs", {scores}}});
    inputs.push_back(index);
  }
  made["layers"].push_back({{"name", "y"}, {"op", "gather"}, {"inputs", inputs}, {"axis", axis}});
  return made;
}

TEST(TensorOperators, OP_2_gather_by_computed_indices) {
  check_on_chips(60, lookup_case);
}

// A megabyte of which one byte, or one of 1,024 rows, is read.
TEST(TensorOperators, OP_2_CY_1_bounds_count_what_is_read_alone) {
  const TemporaryFolder folder;
  const auto bound_of = [&](const std::string& layer) {
    const std::string text = R"({"name": "n", "inputs": [{"name": "x", "shape": [1024, 1024], "dtype": "int8",
      "random": {"seed": 1}}], "layers": [{"name": "y", "inputs": ["x"], )" +
                             layer + R"(}]})";
    HardwareConfig hardware;
    hardware.chip.emplace();
    return make_plan(load_workload(folder.write("n.json", text)), hardware).layers.front().bound.dram;
  };
  EXPECT_GE(bound_of(R"("op": "slice", "starts": [0, 0], "ends": [1024, 1024])"), 2 * 1024 * 1024 / 64);
  EXPECT_LE(bound_of(R"("op": "slice", "starts": [5, 7], "ends": [6, 8])"), 10);
  EXPECT_LE(bound_of(R"("op": "gather", "axis": 0, "indices": [3, 3])"), 3 * 1024 / 16);
}

}  // namespace
}  // namespace tilebeat::testing
