// Random layers on int16 (SPEC DT-2) on chips of one core and of several clusters: the reference's bytes, and
// one report in both granularities.
#include "budget.h"
#include "checked_run.h"
#include "config/hardware_config.h"
#include "random_chip.h"

#include <cmath>
#include <functional>
#include <numeric>

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace tilebeat::testing {
namespace {

using nlohmann::json;
using Shape = std::vector<int>;

Shape random_shape(int most = 2000) {
  Shape shape;
  const int rank = number(1, 6);
  int left = most;
  for (int axis = 0; axis < rank; ++axis) {
    shape.push_back(std::min(left, skewed(axis + 1 == rank ? 200 : 12)));
    left = std::max(1, left / shape.back());
  }
  return shape;
}
Shape random_map() {
  return {skewed(3), skewed(12), skewed(12), skewed(90)};
}

json input(const std::string& name, const Shape& shape, const char* type = "int16") {
  return {{"name", name}, {"shape", shape}, {"dtype", type}, {"random", {{"seed", number(1, 100000)}}}};
}
json workload(const std::vector<json>& inputs, json layer, const char* arithmetic = "exact") {
  layer["name"] = "y";
  for (const json& x : inputs) layer["inputs"].push_back(x["name"]);
  return {{"arithmetic", arithmetic}, {"inputs", inputs}, {"layers", {layer}}};
}

double random_scale() {
  return number(1, 30000) * 1e-6 * (one_in(3) ? 64 : 1);
}
/// A requantisation of real values; of a scale that both arithmetics know.
json requant(const char* type = "int16") {
  return {{"output_scale", random_scale()}, {"dtype", type}};
}
const char* random_arithmetic() {
  return one_in(2) ? "exact" : "fixed";
}
/// Bounds of an int16 result, some of the type's range.
void add_bounds(json& layer) {
  if (one_in(4)) layer["output_range"] = {-number(0, 30000), number(0, 30000)};
}

// ---- layers ----

json move_case() {
  const Shape shape = random_shape();
  const int rank = static_cast<int>(shape.size());
  if (one_in(3)) {
    Shape perm(shape.size());
    std::iota(perm.begin(), perm.end(), 0);
    for (std::size_t i = perm.size(); i > 1; --i)
      std::swap(perm[i - 1], perm[static_cast<std::size_t>(number(0, static_cast<int>(i) - 1))]);
    return workload({input("x", shape)}, {{"op", "transpose"}, {"perm", perm}});
  }
  if (one_in(2)) {
    json layer{{"op", "slice"}};
    for (const int extent : shape) {
      const int start = number(0, extent - 1);
      layer["starts"].push_back(start), layer["ends"].push_back(number(start + 1, extent));
      layer["steps"].push_back(skewed(4));
    }
    return workload({input("x", shape)}, layer);
  }
  const int axis = number(0, rank - 1);
  std::vector<int> indices{0};
  for (int i = 0; i < skewed(20); ++i)
    indices.push_back(number(0, shape[static_cast<std::size_t>(axis)] - 1));
  return workload({input("x", shape)}, {{"op", "gather"}, {"axis", axis}, {"indices", indices}});
}

json block_case() {
  const int b = skewed(4), depth = skewed(9), height = skewed(8), width = skewed(8), maps = skewed(3);
  if (one_in(2))
    return workload({input("x", {maps, height * b, width * b, depth})},
                    {{"op", "space_to_depth"}, {"block_size", b}});
  return workload({input("x", {maps, height, width, depth * b * b})},
                  {{"op", "depth_to_space"}, {"block_size", b}, {"mode", one_in(2) ? "dcr" : "crd"}});
}

json concat_case() {
  const Shape shape = random_shape();
  const int axis = number(0, static_cast<int>(shape.size()) - 1);
  std::vector<json> inputs;
  for (int i = 0; i < number(2, 4); ++i) {
    Shape part = shape;
    part[static_cast<std::size_t>(axis)] = skewed(20);
    inputs.push_back(input("x" + std::to_string(i), part));
  }
  return workload(inputs, {{"op", "concat"}, {"axis", axis}});
}

json pad_case() {
  return workload({input("x", random_map())},
                  {{"op", "pad"},
                   {"pads", {number(0, 3), number(0, 3), number(0, 3), number(0, 3)}},
                   {"channel_pads", {number(0, 3), number(0, 3)}}});
}

/// flatten, reshape and dropout are names of their inputs: a maximum reads them.
json renamed_case() {
  const Shape shape = random_map();
  const int elements = std::accumulate(shape.begin(), shape.end(), 1, std::multiplies<>());
  constexpr std::array<const char*, 3> kNames{"flatten", "reshape", "dropout"};
  json layer{{"name", "named"}, {"op", kNames.at(static_cast<std::size_t>(number(0, 2)))}, {"inputs", {"x"}}};
  if (layer["op"] == "reshape") layer["shape"] = {elements};
  json made = workload({input("x", shape)}, layer);
  made["layers"][0]["name"] = "named", made["layers"][0]["inputs"] = {"x"};
  made["layers"].push_back({{"name", "y"}, {"op", "reduce_max"}, {"axes", {-1}}, {"inputs", {"named"}}});
  return made;
}

json elementwise_case() {
  constexpr std::array<const char*, 5> kNames{"add", "sub", "mul", "max", "min"};
  const std::string name = kNames.at(static_cast<std::size_t>(number(0, 4)));
  const bool ruled = name != "max" && name != "min";
  const char* arithmetic = random_arithmetic();
  const bool alone = ruled && arithmetic == std::string("fixed");
  const Shape shape = random_shape();
  Shape a = shape, b = shape;
  if (one_in(2)) {
    for (std::size_t axis = 0; axis < shape.size(); ++axis)
      (one_in(2) ? a : b)[axis] = one_in(2) ? 1 : shape[axis];
  }
  json layer{{"op", name}, {"requant", requant(alone || one_in(2) ? "int16" : "int8")}};
  layer["input_scales"] = {random_scale(), random_scale()};
  if (name == "mul") layer["requant"]["output_scale"] = random_scale() * 100;
  if (one_in(3)) layer["activation"] = "relu";
  if (layer["requant"]["dtype"] == "int16") add_bounds(layer);
  if (alone && name != "mul" && one_in(2)) {
    layer["power_of_two_scales"] = true;
    if (a == b) {
      const double scale = std::ldexp(1.0, -number(5, 14)), other = std::ldexp(scale, -number(0, 15));
      layer["requant"]["output_scale"] = scale;
      layer["input_scales"] = {scale, other};
      if (one_in(2)) layer["input_scales"] = {other, scale};
    }
  }
  return workload({input("a", a), input("b", b, alone || one_in(2) ? "int16" : "int8")}, layer, arithmetic);
}

json function_case() {
  const char* arithmetic = random_arithmetic();
  const bool alone = arithmetic == std::string("fixed");
  json layer{{"op", "relu"}};
  if (one_in(4)) {
    const int low = number(-40000, 30000);
    layer = {{"op", "clamp"}, {"low", low}, {"high", number(low, 40000)}};
  } else if (one_in(2)) {
    layer = {{"op", "leaky_relu"}, {"slope", number(alone ? 0 : -100, 150) * 0.01}};
    layer["input_scale"] = random_scale();
    layer["requant"] = requant(alone || one_in(2) ? "int16" : "uint8");
    if (layer["requant"]["dtype"] == "int16") add_bounds(layer);
  }
  return workload({input("x", random_shape())}, layer, arithmetic);
}

json requantize_case() {
  const char* type = one_in(3) ? "int8" : "int16";
  json layer{{"op", "requantize"}, {"input_scale", random_scale()}};
  layer["requant"] = requant(type == std::string("int8") || one_in(2) ? "int16" : "int8");
  if (layer["requant"]["dtype"] == "int8") layer["requant"]["zero_point"] = number(-128, 127);
  json x = input("x", random_shape(), type);
  if (type == std::string("int8")) x["zero_point"] = number(-128, 127);
  return workload({x}, layer, random_arithmetic());
}

json pool_case() {
  const Shape shape{skewed(2), number(3, 12), number(3, 12), skewed(90)};
  json layer{{"op", one_in(2) ? "max_pool" : "average_pool"}};
  if (one_in(4)) {
    layer["op"] = one_in(2) ? "global_max_pool" : "global_average_pool";
    return workload({input("x", shape)}, layer, "exact");
  }
  layer["kernel"] = {number(2, 3), number(2, 3)}, layer["stride"] = {number(1, 3), number(1, 3)};
  layer["pads"] = {number(0, 1), number(0, 1), number(0, 1), number(0, 1)};
  if (layer["op"] == "average_pool") layer["count_include_pad"] = one_in(2);
  add_bounds(layer);
  return workload({input("x", shape)}, layer, random_arithmetic());
}

json reduction_case() {
  const Shape shape = random_shape();
  const int rank = static_cast<int>(shape.size()), first = number(0, rank - 1),
            last = number(first, rank - 1);
  Shape axes;
  for (int axis = first; axis <= last; ++axis) axes.push_back(axis);
  json layer{{"op", "reduce_max"}, {"axes", axes}, {"keep_dims", one_in(2)}};
  if (one_in(3)) return workload({input("x", shape)}, layer);
  const char* arithmetic = random_arithmetic();
  layer["op"] = "reduce_mean", layer["input_scale"] = random_scale();
  layer["requant"] = requant(arithmetic == std::string("fixed") || one_in(2) ? "int16" : "int8");
  if (layer["requant"]["dtype"] == "int16") add_bounds(layer);
  return workload({input("x", shape)}, layer, arithmetic);
}

/// int16 to float32 and back.
json real_case() {
  json made = workload({input("x", random_shape())}, {{"op", "dequantize"}, {"scale", random_scale()}},
                       random_arithmetic());
  made["layers"][0]["name"] = "real";
  made["layers"].push_back({{"name", "y"},
                            {"op", "quantize"},
                            {"inputs", {"real"}},
                            {"requant", {{"scale", random_scale()}, {"dtype", "int16"}}}});
  made["outputs"] = {"real", "y"};
  return made;
}

json curve_case() {
  const bool power = one_in(3);
  json layer{{"op", one_in(2) ? "sigmoid" : "tanh"}};
  layer["input_scale"] = power ? std::ldexp(1.0, -number(9, 14)) : random_scale();
  layer["requant"] = {{"scale", 32768}, {"output_scale", 1.0 / 32768}, {"dtype", "int16"}};
  add_bounds(layer);
  return workload({input("x", random_shape())}, layer, "fixed");
}

json softmax_case() {
  const Shape shape = random_shape();
  json layer{{"op", "softmax"}, {"input_scale", random_scale()}, {"beta", number(1, 20) * 0.1}};
  layer["axis"] = number(0, static_cast<int>(shape.size()) - 1);
  return workload({input("x", shape)}, layer, "fixed");
}

/// Convolutions with vector layers behind them, which fusion groups may have together.
json network_case() {
  const Shape shape{1, number(6, 16), number(6, 16), number(2, 24)};
  json made{{"arithmetic", random_arithmetic()}, {"inputs", {input("x", shape)}}};
  const int channels = shape[3];
  const json sums{
      {"input_scale", 0.001}, {"weight_scale", 0.01}, {"output_scale", 0.002}, {"dtype", "int16"}};
  const auto conv = [&](const char* name, const char* from) {
    made["layers"].push_back({{"name", name},
                              {"op", "conv2d"},
                              {"inputs", {from}},
                              {"out_channels", channels},
                              {"kernel", {3, 3}},
                              {"pads", {1, 1, 1, 1}},
                              {"weights", {{"random", {{"seed", number(1, 1000)}}}}},
                              {"requant", sums}});
  };
  conv("a", "x");
  conv("b", "a");
  made["layers"].push_back({{"name", "sum"},
                            {"op", "add"},
                            {"inputs", {"a", "b"}},
                            {"input_scales", {0.002, 0.003}},
                            {"requant", requant()}});
  made["layers"].push_back({{"name", "bent"},
                            {"op", "leaky_relu"},
                            {"inputs", {"sum"}},
                            {"input_scale", 0.01},
                            {"requant", requant()}});
  made["layers"].push_back({{"name", "y"},
                            {"op", one_in(2) ? "max_pool" : "average_pool"},
                            {"inputs", {"bent"}},
                            {"kernel", {2, 2}}});
  return made;
}

HardwareConfig shipped_chip() {
  const std::string name = one_in(2) ? "core1" : "cluster4x4";
  return load_hardware(std::string(TILEBEAT_SOURCE_DIR) + "/configs/" + name + ".json");
}

HardwareConfig fusing_chip() {
  HardwareConfig hardware = shipped_chip();
  hardware.fused = true;
  return hardware;
}
HardwareConfig some_chip() {
  return one_in(3) ? random_chip() : shipped_chip();
}

void check_on_chips(int cases, json (*make)(), HardwareConfig (*chip)() = some_chip) {
  check_generated(budget(cases, 6), make, chip);
}

TEST(Int16Layers, DT_2_OP_2_transpose_slice_and_gather) {
  check_on_chips(40, move_case);
}
TEST(Int16Layers, DT_2_OP_2_blocks) {
  check_on_chips(15, block_case);
}
TEST(Int16Layers, DT_2_concat_and_pad) {
  check_on_chips(20, concat_case);
  check_on_chips(20, pad_case);
}
TEST(Int16Layers, DT_2_other_shapes) {
  check_on_chips(12, renamed_case);
}
TEST(Int16Layers, DT_2_two_operands) {
  check_on_chips(60, elementwise_case);
}
TEST(Int16Layers, DT_2_functions_of_two_slopes) {
  check_on_chips(40, function_case);
}
TEST(Int16Layers, DT_2_requantize) {
  check_on_chips(30, requantize_case);
}
TEST(Int16Layers, DT_2_pools) {
  check_on_chips(40, pool_case);
}
TEST(Int16Layers, DT_2_reductions) {
  check_on_chips(40, reduction_case);
}
TEST(Int16Layers, DT_2_between_int16_and_float32) {
  check_on_chips(20, real_case);
}
TEST(Int16Layers, DT_2_sigmoid_and_tanh) {
  check_on_chips(25, curve_case);
}
TEST(Int16Layers, DT_2_softmax) {
  check_on_chips(25, softmax_case);
}
TEST(Int16Layers, DT_2_FU_1_vector_layers_behind_convolutions) {
  check_on_chips(8, network_case, shipped_chip);
  check_on_chips(12, network_case, fusing_chip);
}

}  // namespace
}  // namespace tilebeat::testing
