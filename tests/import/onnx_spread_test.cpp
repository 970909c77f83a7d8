// Networks as quantisers and exporters really write them (SPEC RN-6 to RN-9): float weights behind pairs,
// parts that stay float32, dynamic quantisation, operators on single elements, patterns of frameworks.
#include "import/operator_table.h"
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
      EXPECT_EQ(static_cast<std::int8_t>(conv.weights.int8()->bytes[i]), std::nearbyint(w[i] / scale)) << i;
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

// What is float32 around dynamic quantisation comes in with samples.
TEST_F(OnnxSpread, RN_7_RN_8_float_parts_around_dynamic_quantisation_are_calibrated) {
  OnnxModel model;
  model.input("x", kFloat, {3, 4}).output("y");
  model.integers("w", kInt8, {4, 2}, {1, -2, 3, 40, -50, 6, 7, -8}).floats("ws", {}, {0.03F});
  model.node("Tanh", {"x"}, {"t"});
  model.node("DynamicQuantizeLinear", {"t"}, {"q", "s", "z"});
  model.node("MatMulInteger", {"q", "w", "z"}, {"i"});
  OnnxModel::attribute(model.node("Cast", {"i"}, {"f"}), "to", {1});
  model.node("Mul", {"s", "ws"}, {"scale"});
  model.node("Mul", {"f", "scale"}, {"p"});
  model.node("Sigmoid", {"p"}, {"y"});
  EXPECT_THAT(reasons(model).at(0), HasSubstr("Tanh: its input 0 is float32"));
  const ImportOptions options = samples({3, 4}, 3);
  EXPECT_THAT(ops(imported(model, options)), ::testing::Contains("dynamic_quantize"));
  EXPECT_GT(cosine(model, "y", options), 0.999);
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
// Between pairs a bias behind a product and moves in front of the quantisation are part of one layer.
TEST_F(OnnxSpread, RN_9_biases_and_moves_between_pairs_are_part_of_the_layer) {
  OnnxModel model;
  model.input("x", kInt8, {2, 3}).output("y");
  model.floats("sx", {}, {0.05F})
      .integers("zx", kInt8, {}, {3})
      .floats("sw", {}, {0.02F})
      .integers("zw", kInt8, {}, {0});
  model.floats("sy", {}, {0.04F})
      .integers("zy", kInt8, {}, {-2})
      .integers("w", kInt8, {3, 2}, {10, -20, 30, 5, -6, 70});
  model.floats("b", {2}, {0.5F, -0.25F}).longs("shape", {3}, {1, 2, 2});
  model.node("DequantizeLinear", {"x", "sx", "zx"}, {"d"});
  model.node("DequantizeLinear", {"w", "sw", "zw"}, {"wd"});
  model.node("MatMul", {"d", "wd"}, {"p"});
  model.node("Add", {"b", "p"}, {"s"});
  model.node("Reshape", {"s", "shape"}, {"r"});
  OnnxModel::attribute(model.node("Transpose", {"r"}, {"t"}), "perm", {0, 2, 1});
  model.node("QuantizeLinear", {"t", "sy", "zy"}, {"y"});
  const ImportedNetwork network = imported(model);
  EXPECT_THAT(network.exact_layers, ::testing::ElementsAre(HasSubstr("matmul with a bias behind it")));
  Workload workload = loaded(network);
  const std::array<int, 6> x{10, -20, 30, 40, 5, -6}, w{10, -20, 30, 5, -6, 70};
  for (std::size_t i = 0; i < x.size(); ++i)
    workload.input_data.at("x").bytes[i] = static_cast<std::uint8_t>(x[i]);
  const auto y = std::find_if(network.tensors.begin(), network.tensors.end(),
                              [](const SourceTensor& tensor) { return tensor.name == "y"; });
  const Tensor made = run_reference(workload).at(y->holder.value());
  for (std::size_t row = 0; row < 2; ++row) {
    for (std::size_t column = 0; column < 2; ++column) {
      double sum = column == 0 ? 0.5 : -0.25;
      for (std::size_t k = 0; k < 3; ++k) sum += (x[row * 3 + k] - 3) * 0.05 * w[k * 2 + column] * 0.02;
      // y is [1, column, row], which its holder may have in another order.
      const std::size_t place = y->axes == Extents{0, 2, 1} ? row * 2 + column : column * 2 + row;
      EXPECT_NEAR(static_cast<double>(made.at(static_cast<std::int64_t>(place))), std::round(sum / 0.04) - 2,
                  1);
    }
  }
}

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

// ONNX Runtime removes the product and merges both pairs into one of another scale.
TEST_F(OnnxSpread, RN_6_what_changes_nothing_between_two_pairs_is_named_inexact) {
  OnnxModel product = paired();
  product.floats("one", {}, {1}).node("Mul", {"d", "one"}, {"m"});
  product.node("QuantizeLinear", {"m", "sy", "zy"}, {"y"});
  EXPECT_THAT(imported(product).exact_layers, ::testing::ElementsAre("y (table)"));
  OnnxModel halved = paired();
  halved.floats("half", {}, {0.5F}).node("Mul", {"d", "half"}, {"m"});
  halved.node("QuantizeLinear", {"m", "sy", "zy"}, {"y"});
  EXPECT_TRUE(imported(halved).exact_layers.empty());
  OnnxModel pairs;
  pairs.input("x", kFloat, {1, 8}).output("y");
  pairs.floats("s", {}, {0.05F}).integers("z", kInt8, {}, {3}).floats("t", {}, {0.04F});
  pairs.node("QuantizeLinear", {"x", "s", "z"}, {"a"});
  pairs.node("DequantizeLinear", {"a", "s", "z"}, {"b"});
  pairs.node("QuantizeLinear", {"b", "t", "z"}, {"c"});
  pairs.node("DequantizeLinear", {"c", "t", "z"}, {"y"});
  EXPECT_THAT(imported(pairs).exact_layers, ::testing::ElementsAre("c (requantize)"));
}

TEST_F(OnnxSpread, RN_6_calibration_alone_promises_no_bytes_of_a_runtime) {
  OnnxModel model(17);
  model.input("x", kFloat, {2, 8}).output("y");
  model.floats("g", {8}, wave(8, 0.4)).node("LayerNormalization", {"x", "g"}, {"y"});
  const ImportedNetwork network = imported(model, samples({2, 8}, 2));
  EXPECT_THAT(ops(network), ::testing::Contains("layernorm"));
  EXPECT_TRUE(network.exact_layers.empty());
}

TEST_F(OnnxSpread, RN_7_folding_has_limits) {
  const auto with_constant = [&](Extents shape) {
    OnnxModel model;
    model.input("x", kFloat, {1, 4}).output("y");
    model.longs("shape", {ssize(shape)}, shape).node("ConstantOfShape", {"shape"}, {"c"});
    return model;
  };
  OnnxModel product = with_constant({4096, 4096});
  product.node("MatMul", {"c", "c"}, {"p"});
  product.node("Add", {"x", "p"}, {"y"});
  EXPECT_THAT(reasons(product).at(0),
              HasSubstr("MatMul: what depends on constants alone takes more than 2147"));
  OnnxModel convolution = with_constant({1, 1, 8000, 8000});
  convolution.floats("w", {1, 1, 7, 7}, wave(49, 0.1));
  convolution.node("Conv", {"c", "w"}, {"p"});
  convolution.node("Add", {"x", "p"}, {"y"});
  EXPECT_THAT(reasons(convolution).at(0), HasSubstr("Conv: what depends on constants alone takes more than"));
  OnnxModel kept = with_constant({6000, 6000});
  for (int i = 0; i < 8; ++i) kept.node("ConstantOfShape", {"shape"}, {"n" + std::to_string(i)});
  kept.node("Sum", {"x", "n0", "n1", "n2", "n3", "n4", "n5", "n6", "n7"}, {"y"});
  EXPECT_THAT(reasons(kept).at(0), HasSubstr("take more than 1073741824 bytes"));
}

TEST_F(OnnxSpread, RN_7_constants_that_nothing_reads_are_freed) {
  OnnxModel model = paired();
  // 3,000 results of 1 MiB, of which one is needed at a time.
  model.longs("shape", {2}, {512, 512}).node("ConstantOfShape", {"shape"}, {"c0"});
  for (int i = 0; i < 1500; ++i) {
    model.node("Neg", {"c" + std::to_string(i)}, {"c" + std::to_string(i + 1)});
    model.node("Abs", {"c" + std::to_string(i)}, {"dead" + std::to_string(i)});
  }
  OnnxModel::attribute(model.node("ReduceMax", {"c1500"}, {"m"}), "keepdims", {0});
  model.node("Add", {"d", "m"}, {"r"});
  model.node("QuantizeLinear", {"r", "sy", "zy"}, {"y"});
  EXPECT_EQ(ops(imported(model)), std::vector<std::string>{"table"});
}

/// An If over x whose branches halve and double "d"; the condition is named "c".
void add_branches(OnnxModel& model) {
  onnx::Node& node = model.node("If", {"c"}, {"r"});
  for (const bool then : {true, false}) {
    onnx::Attribute& attribute = *node.add_attribute();
    attribute.set_name(then ? "then_branch" : "else_branch");
    attribute.set_type(5);
    onnx::Node& inner = *attribute.mutable_g()->add_node();
    inner.set_op_type("Mul");
    for (const char* name : {"d", "factor"}) inner.add_input(name);
    inner.add_output("made");
    onnx::Tensor& factor = *attribute.mutable_g()->add_initializer();
    factor.set_name("factor");
    factor.set_data_type(1);
    factor.add_float_data(then ? 0.5F : 2.0F);
    attribute.mutable_g()->add_output()->set_name("made");
  }
}

TEST_F(OnnxSpread, RN_7_a_branch_whose_condition_is_known_is_taken) {
  for (const bool then : {true, false}) {
    for (const bool computed : {true, false}) {
      OnnxModel model = paired();
      if (computed) {  // of the shape of a result
        model.longs("one", {}, {1}).longs("extent", {}, {then ? 256 : 255});
        model.node("Relu", {"d"}, {"positive"});
        model.node("QuantizeLinear", {"positive", "sx", "zx"}, {"q"});
        model.node("Shape", {"q"}, {"shape"});
        model.node("Gather", {"shape", "one"}, {"columns"});
        model.node("Equal", {"columns", "extent"}, {"c"});
      } else {
        model.integers("c", 9, {}, {then ? 1 : 0});
      }
      add_branches(model);
      model.node("QuantizeLinear", {"r", "sy", "zy"}, {"y"});
      const std::vector<int> made = all_results(model);
      for (int q = -128; q < 128; ++q)
        ASSERT_EQ(made[static_cast<std::size_t>(q + 128)], quantised(real(q) * (then ? 0.5F : 2.0F))) << q;
    }
  }
}

TEST_F(OnnxSpread, RN_7_a_branch_that_depends_on_data_is_refused) {
  OnnxModel model;
  model.input("d", kFloat, {1, 4}).output("r");
  model.floats("zero", {}, {0});
  OnnxModel::attribute(model.node("ReduceMax", {"d"}, {"most"}), "keepdims", {0});
  model.node("Greater", {"most", "zero"}, {"c"});
  add_branches(model);
  EXPECT_THAT(reasons(model, samples({1, 4}, 2)).at(0),
              HasSubstr("If: its condition depends on data; export"));
}

// Both ways in which converters spell it, with the axes where TensorFlow has them.
TEST_F(OnnxSpread, RN_8_a_convolution_of_phases_becomes_one_dilated_layer) {
  for (const bool blocks : {false, true}) {
    OnnxModel model;
    model.input("x", kInt8, {1, 7, 8, 2}).output("y");
    model.floats("s", {}, {0.05F}).integers("z", kInt8, {}, {3}).integers("none", kInt8, {}, {0});
    model.integers("w", kInt8, {3, 2, 3, 3}, [] {
      std::vector<int> values(54);
      for (int i = 0; i < 54; ++i) values[static_cast<std::size_t>(i)] = i * 7 % 23 - 11;
      return values;
    }());
    model.longs("pads", {8}, {0, 2, 2, 0, 0, 3, 2, 0}).longs("from", {2}, {0, 0}).longs("to", {2}, {7, 8});
    model.longs("on", {2}, {1, 2});
    const auto transposed = [&](const char* x, const char* y, const std::vector<std::int64_t>& perm) {
      OnnxModel::attribute(model.node("Transpose", {x}, {y}), "perm", perm);
    };
    model.node("DequantizeLinear", {"x", "s", "z"}, {"xr"});
    model.node("DequantizeLinear", {"w", "s", "none"}, {"wr"});
    model.node("Pad", {"xr", "pads"}, {"p"});
    if (blocks) {
      transposed("p", "a", {3, 0, 1, 2});
      OnnxModel::attribute(model.node("SpaceToDepth", {"a"}, {"b"}), "blocksize", {2});
      transposed("b", "c", {1, 0, 2, 3});
    } else {
      model.longs("r1", {6}, {1, 6, 2, 6, 2, 2}).node("Reshape", {"p", "r1"}, {"a"});
      transposed("a", "b", {2, 4, 0, 5, 1, 3});
      model.longs("r2", {4}, {4, 2, 6, 6}).node("Reshape", {"b", "r2"}, {"c"});
    }
    model.node("Conv", {"c", "wr"}, {"conv"});
    model.node("Relu", {"conv"}, {"relu"});
    if (blocks) {
      transposed("relu", "e", {1, 0, 2, 3});
      OnnxModel::attribute(model.node("DepthToSpace", {"e"}, {"f"}), "blocksize", {2});
      transposed("f", "g", {1, 2, 3, 0});
    } else {
      model.longs("r3", {6}, {2, 2, 1, 3, 4, 4}).node("Reshape", {"relu", "r3"}, {"e"});
      transposed("e", "f", {2, 4, 0, 5, 1, 3});
      model.longs("r4", {4}, {1, 8, 8, 3}).node("Reshape", {"f", "r4"}, {"g"});
    }
    model.node("Slice", {"g", "from", "to", "on"}, {"cut"});
    model.node("QuantizeLinear", {"cut", "s", "z"}, {"y"});
    const json workload = workload_of(imported(model));
    std::vector<json> convolutions;
    for (const json& layer : workload["layers"]) {
      if (layer["op"] == "conv2d") convolutions.push_back(layer);
      EXPECT_THAT(layer["op"].get<std::string>(), ::testing::AnyOf("conv2d", "transpose"));
    }
    ASSERT_EQ(convolutions.size(), 1U);
    EXPECT_EQ(convolutions[0]["dilation"], json({2, 2}));
    EXPECT_EQ(convolutions[0]["pads"], json({2, 2, 2, 2}));
    EXPECT_EQ(convolutions[0]["output_range"], json({3, 127})) << "the activation behind it";
  }
}

// A plane that begins elsewhere, or is put back elsewhere, is no phase.
TEST_F(OnnxSpread, RN_8_other_moves_around_a_convolution_stay) {
  OnnxModel model;
  model.input("x", kFloat, {1, 1, 4, 4}).output("y");
  model.floats("w", {1, 1, 1, 1}, {0.5F});
  model.longs("r1", {6}, {1, 1, 2, 2, 2, 2}).node("Reshape", {"x", "r1"}, {"a"});
  OnnxModel::attribute(model.node("Transpose", {"a"}, {"b"}), "perm", {3, 5, 0, 1, 2, 4});
  model.longs("r2", {4}, {4, 1, 2, 2}).node("Reshape", {"b", "r2"}, {"c"});
  model.node("Conv", {"c", "w"}, {"d"});
  model.longs("r3", {6}, {2, 2, 1, 1, 2, 2}).node("Reshape", {"d", "r3"}, {"e"});
  OnnxModel::attribute(model.node("Transpose", {"e"}, {"f"}), "perm", {2, 3, 4, 1, 5, 0});
  model.longs("r4", {4}, {1, 1, 4, 4}).node("Reshape", {"f", "r4"}, {"y"});
  const ImportOptions options = samples({1, 1, 4, 4}, 2);
  const json workload = workload_of(imported(model, options));
  for (const json& layer : workload["layers"]) EXPECT_FALSE(layer.contains("dilation"));
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
