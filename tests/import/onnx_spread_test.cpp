// Networks as quantisers and exporters really write them (SPEC RN-6 to RN-9): float weights behind pairs,
// parts that stay float32, dynamic quantisation, operators on single elements, patterns of frameworks.
#include "onnx_import.h"

#include <algorithm>

#include <gmock/gmock.h>

namespace tilebeat::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class OnnxSpread : public OnnxImport {
 protected:
  static std::vector<std::string> ops(const ImportedNetwork& network) {
    std::vector<std::string> found;
    const json workload = workload_of(network);
    for (const json& layer : workload["layers"]) found.push_back(layer["op"]);
    return found;
  }
  /// A float32 input x [1, 256] of all int8 values in steps of 0.05 around 3, with its pair behind it: "d".
  static OnnxModel paired() {
    OnnxModel model;
    model.input("x", kInt8, {1, 256}).output("y");
    model.floats("sx", {}, {0.05F}).integers("zx", kInt8, {}, {3});
    model.floats("sy", {}, {0.04F}).integers("zy", kInt8, {}, {-2});
    model.node("DequantizeLinear", {"x", "sx", "zx"}, {"d"});
    return model;
  }
  /// The elements of y for all elements of x, in order.
  std::vector<int> all_results(const OnnxModel& model) const {
    const ImportedNetwork network = imported(model);
    Workload workload = loaded(network);
    for (int i = 0; i < 256; ++i)
      workload.input_data.at("x").bytes[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(i - 128);
    const Tensor made = run_reference(workload).at("y");
    std::vector<int> found;
    for (int i = 0; i < 256; ++i) found.push_back(made.at(i));
    return found;
  }
  static int quantised(float value) {
    return static_cast<int>(std::clamp(std::nearbyint(value / 0.04F) - 2, -128.0F, 127.0F));
  }
  static float real(int q) { return static_cast<float>(q - 3) * 0.05F; }
};

TEST_F(OnnxSpread, RN_6_chains_on_single_elements_are_one_table_of_float32) {
  OnnxModel model = paired();
  model.floats("three", {}, {3}).floats("zero", {}, {0}).floats("six", {1, 1}, {6});
  model.node("Add", {"d", "three"}, {"a"});
  model.node("Clip", {"a", "zero", "six"}, {"c"});
  model.node("Mul", {"d", "c"}, {"m"});
  model.node("Div", {"m", "six"}, {"r"});
  model.node("QuantizeLinear", {"r", "sy", "zy"}, {"y"});
  const ImportedNetwork network = imported(model);
  EXPECT_EQ(ops(network), std::vector<std::string>{"table"});
  EXPECT_TRUE(network.exact_layers.empty()) << "float32 has one result";
  const std::vector<int> made = all_results(model);
  for (int q = -128; q < 128; ++q) {
    const float x = real(q), bounded = std::min(std::max(x + 3, 0.0F), 6.0F), product = x * bounded;
    EXPECT_EQ(made[static_cast<std::size_t>(q + 128)], quantised(product / 6)) << q;
  }
}

TEST_F(OnnxSpread, RN_6_functions_that_runtimes_approximate_are_named) {
  OnnxModel model = paired();
  model.node("Sigmoid", {"d"}, {"s"});
  model.node("Mul", {"d", "s"}, {"r"});
  model.node("QuantizeLinear", {"r", "sy", "zy"}, {"y"});
  const ImportedNetwork network = imported(model);
  EXPECT_EQ(ops(network), std::vector<std::string>{"table"});
  EXPECT_EQ(network.exact_layers.size(), 1U);
}

TEST_F(OnnxSpread, RN_6_a_maximum_with_constants_of_any_shape_rounds_only_once) {
  for (const char* op : {"Max", "Min"}) {
    OnnxModel model = paired();
    std::vector<float> limits = wave(256, 0.11);
    model.floats("limits", {1, 256}, limits);
    model.node(op, {"limits", "d"}, {"r"});
    model.node("QuantizeLinear", {"r", "sy", "zy"}, {"y"});
    EXPECT_TRUE(imported(model).exact_layers.empty());
    const std::vector<int> made = all_results(model);
    for (int q = -128; q < 128; ++q) {
      const float x = real(q), limit = limits[static_cast<std::size_t>(q + 128)];
      const float wanted = *op == 'M' && op[1] == 'a' ? std::max(x, limit) : std::min(x, limit);
      EXPECT_EQ(made[static_cast<std::size_t>(q + 128)], quantised(wanted)) << op << q;
    }
  }
}

TEST_F(OnnxSpread, RN_7_float_weights_behind_pairs_are_quantised_as_float32_quotients) {
  for (const bool channels : {false, true}) {
    OnnxModel model;
    model.input("x", kInt8, {2, 3}).output("y");
    model.floats("sx", {}, {0.05F}).integers("zx", kInt8, {}, {3});
    model.floats("sy", {}, {0.04F}).integers("zy", kInt8, {}, {-2});
    const Extents count = channels ? Extents{2} : Extents{};
    model.floats("w", {3, 2}, {0.37F, -0.5F, 0.11F, 0.29F, -0.41F, 0.63F});
    model.floats("sw", count, channels ? std::vector<float>{0.02F, 0.01F} : std::vector<float>{0.02F});
    model.integers("zw", kInt8, count, channels ? std::vector<int>{0, 0} : std::vector<int>{0});
    model.node("DequantizeLinear", {"x", "sx", "zx"}, {"d"});
    OnnxModel::attribute(model.node("QuantizeLinear", {"w", "sw", "zw"}, {"wq"}), "axis", {1});
    OnnxModel::attribute(model.node("DequantizeLinear", {"wq", "sw", "zw"}, {"wd"}), "axis", {1});
    model.node("MatMul", {"d", "wd"}, {"r"});
    model.node("QuantizeLinear", {"r", "sy", "zy"}, {"y"});
    const Workload workload = loaded(imported(model));
    const auto& conv = std::get<Conv2d>(workload.layers.back().operation);
    const std::vector<float> w{0.37F, 0.11F, -0.41F, -0.5F, 0.29F, 0.63F};  // columns are kernels
    for (std::size_t i = 0; i < w.size(); ++i) {
      const float scale = channels && i >= 3 ? 0.01F : 0.02F;
      EXPECT_EQ(static_cast<std::int8_t>(conv.weights.bytes[i]), std::nearbyint(w[i] / scale)) << i;
    }
  }
}

TEST_F(OnnxSpread, RN_7_float_parts_of_a_quantised_network_need_samples_and_take_them) {
  OnnxModel model;
  model.input("x", kFloat, {2, 8}).output("y");
  model.floats("s", {}, {0.02F}).integers("z", kInt8, {}, {0});
  model.node("QuantizeLinear", {"x", "s", "z"}, {"q"});
  model.node("DequantizeLinear", {"q", "s", "z"}, {"d"});
  model.node("Softmax", {"d"}, {"y"});
  EXPECT_THAT(reasons(model).at(0), HasSubstr("Softmax: its result is not quantised"));
  EXPECT_GT(cosine(model, "y", samples({2, 8}, 4)), 0.999);
}

TEST_F(OnnxSpread, RN_7_what_depends_on_constants_alone_is_folded) {
  OnnxModel model = paired();
  model.longs("start", {}, {0}).longs("limit", {}, {4}).longs("step", {}, {1}).longs("two", {}, {2});
  model.node("Range", {"start", "limit", "step"}, {"r"});  // 0 1 2 3
  model.node("Greater", {"r", "two"}, {"g"});              // 0 0 0 1
  model.node("Where", {"g", "r", "two"}, {"w"});           // 2 2 2 3
  model.longs("at", {1}, {3});
  model.node("Gather", {"w", "at"}, {"three"});
  OnnxModel::attribute(model.node("Cast", {"three"}, {"factor"}), "to", {1});
  model.node("Mul", {"d", "factor"}, {"m"});
  model.node("QuantizeLinear", {"m", "sy", "zy"}, {"y"});
  const std::vector<int> made = all_results(model);
  for (int q = -128; q < 128; ++q)
    EXPECT_EQ(made[static_cast<std::size_t>(q + 128)], quantised(real(q) * 3)) << q;
}

TEST_F(OnnxSpread, RN_8_dynamic_quantisation_runs_with_computed_zero_points) {
  OnnxModel model;
  model.input("x", kFloat, {3, 4}).output("y");
  model.integers("w", kInt8, {4, 2}, {1, -2, 3, 40, -50, 6, 7, -8}).integers("wz", kInt8, {}, {0});
  model.floats("ws", {}, {0.03F}).floats("b", {2}, {0.5F, -1});
  model.node("DynamicQuantizeLinear", {"x"}, {"q", "s", "z"});
  model.node("MatMulInteger", {"q", "w", "z", "wz"}, {"i"});
  OnnxModel::attribute(model.node("Cast", {"i"}, {"f"}), "to", {1});
  model.node("Mul", {"s", "ws"}, {"scale"});
  model.node("Mul", {"f", "scale"}, {"p"});
  model.node("Add", {"p", "b"}, {"y"});
  const ImportedNetwork network = imported(model);
  Workload workload = loaded(network);
  std::vector<float> x = wave(12, 0.7);
  std::memcpy(workload.input_data.at("x").bytes.data(), x.data(), x.size() * sizeof(float));
  const Tensor made = run_reference(workload).at("y");
  float low = 0, high = 0;
  for (const float v : x) low = std::min(low, v), high = std::max(high, v);
  const float step = (high - low) / 255, zero = std::nearbyint(-low / step);
  const std::array<int, 8> w{1, -2, 3, 40, -50, 6, 7, -8};
  for (std::size_t row = 0; row < 3; ++row) {
    for (std::size_t column = 0; column < 2; ++column) {
      float acc = 0;
      for (std::size_t k = 0; k < 4; ++k)
        acc += (std::clamp(std::nearbyint(x[row * 4 + k] / step) + zero, 0.0F, 255.0F) - zero) *
               static_cast<float>(w[k * 2 + column]);
      const float scale = step * 0.03F, product = acc * scale;
      float result = 0;
      std::memcpy(&result, made.bytes.data() + (row * 2 + column) * sizeof result, sizeof result);
      EXPECT_EQ(result, product + (column == 0 ? 0.5F : -1.0F)) << row << " " << column;
    }
  }
}

TEST_F(OnnxSpread, RN_9_patterns_of_frameworks_are_one_layer) {
  OnnxModel model(18);
  model.input("x", kFloat, {1, 6, 8}).output("y");
  model.floats("two", {}, {2})
      .floats("eps", {}, {1e-5F})
      .floats("g", {8}, wave(8, 0.4))
      .floats("o", {8}, wave(8, 0.9));
  model.longs("last", {1}, {-1});
  model.node("ReduceMean", {"x", "last"}, {"m"});
  model.node("Sub", {"x", "m"}, {"d"});
  model.node("Pow", {"d", "two"}, {"p"});
  model.node("ReduceMean", {"p", "last"}, {"v"});
  model.node("Add", {"v", "eps"}, {"e"});
  model.node("Sqrt", {"e"}, {"r"});
  model.node("Div", {"d", "r"}, {"n"});
  model.node("Mul", {"n", "g"}, {"ng"});
  model.node("Add", {"ng", "o"}, {"norm"});
  model.floats("w", {8, 8}, wave(64, 0.3)).floats("b", {8}, wave(8, 0.2)).floats("half", {}, {0.5F});
  model.node("MatMul", {"norm", "w"}, {"p1"});
  model.node("Mul", {"p1", "half"}, {"p2"});
  model.node("Add", {"p2", "b"}, {"y"});
  const ImportOptions options = samples({1, 6, 8}, 4);
  std::vector<std::string> found = ops(imported(model, options));
  found.erase(std::remove(found.begin(), found.end(), "reshape"), found.end());
  EXPECT_EQ(found, (std::vector<std::string>{"quantize", "layernorm", "matmul", "dequantize"}));
  EXPECT_GT(cosine(model, "y", options), 0.999);
}

// A factor of three axes makes a tensor of three axes out of the matrix.
TEST_F(OnnxSpread, RN_9_a_factor_that_adds_axes_stays) {
  OnnxModel model;
  model.input("x", kFloat, {2, 4}).output("y");
  model.floats("w", {4, 3}, wave(12, 0.3)).floats("half", {1, 1, 1}, {0.5F});
  model.node("MatMul", {"x", "w"}, {"p"});
  model.node("Mul", {"p", "half"}, {"m"});
  OnnxModel::attribute(model.node("Transpose", {"m"}, {"y"}), "perm", {1, 0, 2});
  const ImportOptions options = samples({2, 4}, 4);
  EXPECT_EQ(element_count(loaded(imported(model, options)).tensor("y").shape), 6);
  EXPECT_GT(cosine(model, "y", options), 0.999);
}

TEST_F(OnnxSpread, RN_10_messages_name_types_and_what_can_be_done) {
  OnnxModel model;
  model.input("x", 4, {1, 4}).output("y");
  model.node("Relu", {"x"}, {"y"});
  EXPECT_THAT(reasons(model).at(0), HasSubstr("it is uint16, float32, int8 and uint8 are read"));
  OnnxModel real;
  real.input("x", kFloat, {1, 4}).output("y");
  real.node("Tanh", {"x"}, {"y"});
  EXPECT_THAT(reasons(real).at(0),
              HasSubstr("Tanh: its input 0 is float32, which no DequantizeLinear makes; --calibrate"));
}

}  // namespace
}  // namespace tilebeat::testing
