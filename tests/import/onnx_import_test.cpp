// ONNX files as workloads (SPEC RN_1 to RN_3): what is made of them, what is refused, and that a quantised
// network stays close to the float one.
#include "onnx_import.h"

#include "import/operator_table.h"

#include <fstream>
#include <iterator>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>

namespace tilebeat::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

/// x [1, 2, 3, 3] convolved by 4 kernels of 1x1, all quantised.
OnnxModel small_convolution() {
  OnnxModel model;
  model.input("x", kUint8, {1, 2, 3, 3}).output("y");
  model.floats("xs", {}, {0.5F}).integers("xz", kUint8, {}, {3});
  model.integers("w", kInt8, {4, 2, 1, 1}, {1, 2, 3, 4, 5, 6, 7, 8});
  model.floats("ws", {}, {0.25F})
      .integers("wz", kInt8, {}, {0})
      .floats("ys", {}, {0.125F})
      .integers("yz", kUint8, {}, {7});
  model.node("QLinearConv", {"x", "xs", "xz", "w", "ws", "wz", "ys", "yz"}, {"y"});
  return model;
}

TEST_F(OnnxImport, RN_1_maps_lie_channels_last_and_scales_are_kept) {
  const ImportedNetwork network = imported(small_convolution());
  const json workload = workload_of(network);
  EXPECT_EQ(workload["arithmetic"], "float32_ort");
  EXPECT_EQ(workload["inputs"][0]["shape"], json({1, 3, 3, 2}));
  EXPECT_EQ(workload["inputs"][0]["file_axes"], json({0, 3, 1, 2}))
      << "files are [N, C, H, W], as the model's";
  EXPECT_EQ(workload["inputs"][0]["zero_point"], 3);
  EXPECT_EQ(workload["layers"][0]["requant"], json({{"input_scale", 0.5},
                                                    {"weight_scale", 0.25},
                                                    {"output_scale", 0.125},
                                                    {"zero_point", 7},
                                                    {"dtype", "uint8"}}));
  EXPECT_EQ(loaded(network).outputs, std::vector<std::string>{"y"});
  const SourceTensor& y = network.tensors.back();
  EXPECT_EQ(y.name, "y");
  EXPECT_EQ(y.axes, (Extents{0, 2, 3, 1})) << "axis i of the holder is axis axes[i] of the source";
}

TEST_F(OnnxImport, RN_1_everything_that_is_unsupported_is_listed_at_once) {
  OnnxModel model = small_convolution();
  model.node("LSTM", {"y"}, {"a"});
  model.node("LSTM", {"a"}, {"b"});
  model.node("Frobnicate", {"y"}, {"c"}, "com.example");
  OnnxModel::attribute(*model.model().mutable_graph()->mutable_node(0), "strange", {1});
  const std::vector<std::string> lines = reasons(model);
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[0], "1 node: QLinearConv: its attribute strange is not known (y_node)");
  EXPECT_EQ(lines[1],
            "2 nodes: LSTM: has no quantised form here; a float32 part of a network is quantised by "
            "--calibrate X.npy (a_node, b_node)");
  EXPECT_THAT(lines[2], HasSubstr("com.example.Frobnicate"));
}

TEST_F(OnnxImport, RN_1_attributes_are_honoured_or_refused) {
  OnnxModel strided = small_convolution();
  OnnxModel::attribute(*strided.model().mutable_graph()->mutable_node(0), "strides", {2, 2});
  OnnxModel::attribute(*strided.model().mutable_graph()->mutable_node(0), "pads", {0, 1, 2, 3});
  const json layer = workload_of(imported(strided))["layers"][0];
  EXPECT_EQ(layer["stride"], json({2, 2}));
  EXPECT_EQ(layer["pads"], json({0, 1, 2, 3}));

  OnnxModel grouped = small_convolution();
  OnnxModel::attribute(*grouped.model().mutable_graph()->mutable_node(0), "group", {3});
  EXPECT_THAT(reasons(grouped).at(0), HasSubstr("3 groups"));
  OnnxModel kernel = small_convolution();
  OnnxModel::attribute(*kernel.model().mutable_graph()->mutable_node(0), "kernel_shape", {3, 3});
  EXPECT_THAT(reasons(kernel).at(0), HasSubstr("a kernel_shape that is not the weights'"));
}

TEST_F(OnnxImport, RN_1_shapes_that_are_computed_are_folded) {
  OnnxModel model = small_convolution();
  model.model().mutable_graph()->mutable_output(0)->set_name("flat");
  model.longs("axis", {1}, {0}).longs("rest", {1}, {-1});
  model.node("Shape", {"y"}, {"shape"});
  model.node("Gather", {"shape", "axis"}, {"batch"});
  OnnxModel::attribute(model.node("Concat", {"batch", "rest"}, {"wish"}), "axis", {0});
  model.node("Reshape", {"y", "wish"}, {"flat"});
  const ImportedNetwork network = imported(model);
  for (const SourceTensor& tensor : network.tensors) {
    if (tensor.name != "wish") continue;
    EXPECT_EQ(tensor.holder, std::nullopt) << "folded";
  }
}

TEST_F(OnnxImport, RN_1_a_relu_between_sums_and_their_quantisation_limits_the_result) {
  OnnxModel model;
  model.input("x", kInt8, {1, 1, 4, 4}).output("y");
  model.floats("s", {}, {0.5F}).integers("z", kInt8, {}, {10}).integers("w", kInt8, {1, 1, 1, 1}, {3});
  model.floats("six", {}, {6.0F}).floats("zero", {}, {0.0F}).integers("none", kInt8, {}, {0});
  model.node("DequantizeLinear", {"x", "s", "z"}, {"xr"});
  model.node("DequantizeLinear", {"w", "s", "none"}, {"wr"});
  model.node("Conv", {"xr", "wr"}, {"c"});
  model.node("Clip", {"c", "zero", "six"}, {"r"});
  model.node("QuantizeLinear", {"r", "s", "z"}, {"y"});
  const json layers = workload_of(imported(model))["layers"];
  ASSERT_EQ(layers.size(), 1U);
  EXPECT_EQ(layers[0]["output_range"], json({10, 22})) << "0 and 6 in steps of 0.5 around 10";
}

TEST_F(OnnxImport, RN_1_damaged_files_are_refused_with_one_message) {
  EXPECT_THAT(refusal([&] {
                import_model(TILEBEAT_SOURCE_DIR "/tests/fuzz/corpus/onnx/zero_point_beyond_bytes.onnx", {});
              }),
              HasSubstr("1 of its parts cannot be imported"));
  EXPECT_THAT(refusal([&] { import_model(folder_.write("text.onnx", "no protobuf at all"), {}); }),
              HasSubstr("text.onnx"));
  OnnxModel cycle = small_convolution();
  cycle.node("Identity", {"b"}, {"a"});
  cycle.node("Identity", {"a"}, {"b"});
  EXPECT_THAT(refusal([&] { imported(cycle); }), HasSubstr("reads b, which nothing before it makes"));
  OnnxModel twice = small_convolution();
  twice.node("Identity", {"x"}, {"y"});
  EXPECT_THAT(refusal([&] { imported(twice); }), HasSubstr("makes y, which is there already"));
  ASSERT_EQ(::mkfifo(folder_.path("pipe.onnx").c_str(), 0600), 0);
  EXPECT_THAT(refusal([&] { import_model(folder_.path("pipe.onnx"), {}); }),
              HasSubstr("is not a regular file"));
  std::filesystem::create_symlink("/dev/zero", folder_.path("zero.tflite"));
  EXPECT_THAT(refusal([&] { import_model(folder_.path("zero.tflite"), {}); }),
              HasSubstr("is not a regular file"));
  OnnxModel huge = small_convolution();
  huge.integers("huge", kInt8, {1 << 30, 1 << 30}, {});
  EXPECT_THAT(refusal([&] { imported(huge); }), HasSubstr("too many elements"));
  OnnxModel shorter = small_convolution();
  shorter.integers("short", kInt8, {4}, {1, 2});
  EXPECT_THAT(refusal([&] { imported(shorter); }), HasSubstr("needs 4 bytes, it has 2"));
  OnnxModel old(5);
  old.input("x", kInt8, {1}).output("x");
  EXPECT_THAT(refusal([&] { imported(old); }), HasSubstr("has opset 5, 6 to 25 are read"));
}

TEST_F(OnnxImport, RN_1_elements_in_other_files_are_read_below_the_model_alone) {
  const auto with = [&](const std::string& location) {
    OnnxModel model = small_convolution();
    onnx::Tensor& weights = *model.model().mutable_graph()->mutable_initializer(2);
    weights.clear_int32_data();
    weights.set_data_location(1);
    auto* entry = weights.add_external_data();
    entry->set_key("location");
    entry->set_value(location);
    return model;
  };
  folder_.write("weights.bin", std::string("\1\2\3\4\5\6\7\10", 8));
  EXPECT_EQ(imported(with("weights.bin")).files.at("y_weights.npy"),
            imported(small_convolution()).files.at("y_weights.npy"));
  for (const std::string location : {"../weights.bin", "/etc/passwd", "a/../../weights.bin", ""})
    EXPECT_THAT(refusal([&] { imported(with(location)); }),
                HasSubstr("only files below the model's folder are read"))
        << location;
  std::filesystem::create_symlink("/etc/passwd", folder_.path("link.bin"));
  EXPECT_THAT(refusal([&] { imported(with("link.bin")); }),
              HasSubstr("only files below the model's folder are read"));
  EXPECT_THAT(refusal([&] { imported(with("missing.bin")); }), HasSubstr("cannot be opened"));
}

TEST_F(OnnxImport, RN_3_a_float_network_is_quantised_and_stays_close) {
  OnnxModel model;
  model.input("x", kFloat, {1, 3, 8, 8}).output("y");
  model.floats("w", {4, 3, 3, 3}, wave(108, 0.7))
      .floats("gamma", {4}, {1, 2, 0.5F, 1})
      .floats("beta", {4}, {0.1F, 0, 1, -1});
  model.floats("mean", {4}, {0, 0.5F, 0, 1})
      .floats("var", {4}, {1, 2, 1, 4})
      .floats("fc", {5, 144}, wave(720, 0.3))
      .floats("b", {5}, wave(5, 1));
  model.node("Conv", {"x", "w"}, {"c"});
  model.node("BatchNormalization", {"c", "gamma", "beta", "mean", "var"}, {"n"});
  model.node("Relu", {"n"}, {"r"});
  model.node("Flatten", {"r"}, {"f"});
  OnnxModel::attribute(model.node("Gemm", {"f", "fc", "b"}, {"y"}), "transB", {1});
  const ImportOptions options = samples({1, 3, 8, 8}, 4);
  EXPECT_GT(cosine(model, "y", options), 0.999) << "weights behind the flattened map lie in its order";
  const json layers = workload_of(imported(model, options))["layers"];
  std::vector<std::string> ops;
  for (const auto& layer : layers) ops.push_back(layer["op"]);
  EXPECT_EQ(ops, (std::vector<std::string>{"quantize", "conv2d", "reshape", "fully_connected", "dequantize"}))
      << "batch normalisation and relu are part of the convolution";
}

TEST_F(OnnxImport, RN_3_alpha_and_beta_of_a_product_are_honoured) {
  OnnxModel model;
  model.input("x", kFloat, {4, 6}).output("y");
  model.floats("b", {6, 5}, wave(30, 0.9)).floats("c", {5}, {1, -2, 3, 0.5F, 0});
  onnx::Node& gemm = model.node("Gemm", {"x", "b", "c"}, {"y"});
  for (const auto& [name, value] : {std::pair("alpha", 0.5F), std::pair("beta", 2.0F)}) {
    onnx::Attribute& attribute = *gemm.add_attribute();
    attribute.set_name(name);
    attribute.set_type(1);
    attribute.set_f(value);
  }
  EXPECT_GT(cosine(model, "y", samples({4, 6}, 1)), 0.999);
}

TEST_F(OnnxImport, RN_3_constants_are_no_tensors) {
  OnnxModel model;
  model.input("x", kFloat, {1, 3, 4, 4}).output("y");
  model.floats("mean", {3, 1, 1}, {0.5F, -0.25F, 1}).floats("deviation", {}, {0.5F}).floats("two", {1}, {2});
  model.node("Sub", {"x", "mean"}, {"a"});
  model.node("Div", {"a", "deviation"}, {"b"});
  model.node("Sub", {"two", "b"}, {"c"});
  model.node("Neg", {"c"}, {"d"});
  model.node("HardSigmoid", {"d"}, {"e"});
  OnnxModel::attribute(model.node("MaxPool", {"e"}, {"y"}), "kernel_shape", {1, 1});
  EXPECT_GT(cosine(model, "y", samples({1, 3, 4, 4}, 2)), 0.999);
  EXPECT_EQ(workload_of(imported(model, samples({1, 3, 4, 4}, 2)))["inputs"].size(), 1U);
}

// What the operators' texts say: a reshape to six axes, a permutation of them, and a reshape to four.
TEST_F(OnnxImport, OP_2_blocks_move_the_elements_that_onnx_says) {
  struct Case {
    const char *op, *mode;
    Extents shape, six, perm, result;
  };
  for (const Case& c :
       {Case{"DepthToSpace", "DCR", {1, 8, 2, 3}, {1, 2, 2, 2, 2, 3}, {0, 3, 4, 1, 5, 2}, {1, 2, 4, 6}},
        Case{"DepthToSpace", "CRD", {1, 8, 2, 3}, {1, 2, 2, 2, 2, 3}, {0, 1, 4, 2, 5, 3}, {1, 2, 4, 6}},
        Case{"SpaceToDepth", "", {1, 2, 4, 6}, {1, 2, 2, 2, 3, 2}, {0, 3, 5, 1, 2, 4}, {1, 8, 2, 3}}}) {
    OnnxModel model;
    model.input("x", kInt8, c.shape).output("y").output("z");
    model.floats("s", {}, {0.5F}).integers("zero", kInt8, {}, {3});
    model.node("DequantizeLinear", {"x", "s", "zero"}, {"r"});
    onnx::Node& node = model.node(c.op, {"r"}, {"b"});
    model.attribute(node, "blocksize", {2});
    if (*c.mode != 0) add_text(node, "mode", c.mode);
    model.node("QuantizeLinear", {"b", "s", "zero"}, {"y"});
    model.longs("six", {6}, c.six).longs("four", {4}, c.result);
    model.node("Reshape", {"x", "six"}, {"p"});
    model.attribute(model.node("Transpose", {"p"}, {"q"}), "perm", c.perm);
    model.node("Reshape", {"q", "four"}, {"z"});
    const ImportedNetwork network = imported(model);
    const Workload workload = loaded(network);
    const auto made = run_reference(workload);
    const auto elements = [&](const std::string& name) {  // in the source's order
      for (const SourceTensor& tensor : network.tensors) {
        if (tensor.name != name) continue;
        const Tensor& held = made.at(*tensor.holder);
        std::vector<int> values;
        for (std::int64_t i = 0; i < held.elements(); ++i) {
          std::int64_t at = i;
          if (!tensor.axes.empty()) {  // [N, C, H, W] of a holder [N, H, W, C]
            const std::int64_t w = c.result[3], h = c.result[2], d = c.result[1];
            at = (i / w % h * w + i % w) * d + i / (w * h) % d;
          }
          values.push_back(held.at(at));
        }
        return values;
      }
      return std::vector<int>{};
    };
    EXPECT_EQ(elements("y"), elements("z")) << c.op << " " << c.mode;
    EXPECT_FALSE(elements("y").empty());
  }
}

// The last of several that are the greatest, exactly.
TEST_F(OnnxImport, OP_2_the_last_greatest_is_picked) {
  OnnxModel model;
  model.input("x", kFloat, {2, 3, 4, 5}).output("y");
  onnx::Node& node = model.node("ArgMax", {"x"}, {"y"});
  model.attribute(node, "axis", {1}), model.attribute(node, "select_last_index", {1});
  model.attribute(node, "keepdims", {0});
  ImportOptions options;
  std::vector<double> values(120);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i * i % 3);
  options.calibration[""] = make_constant(ElementType::kFloat32, {2, 3, 4, 5}, values);
  const Workload workload = loaded(imported(model, options));
  const Tensor made = run_reference(workload).at(workload.outputs.at(0));
  ASSERT_EQ(made.elements(), 40);
  for (std::int64_t n = 0; n < 2; ++n) {
    for (std::int64_t pixel = 0; pixel < 20; ++pixel) {
      std::int64_t best = 0;
      for (std::int64_t c = 1; c < 3; ++c) {
        const auto at = [&](std::int64_t channel) {
          return values[static_cast<std::size_t>((n * 3 + channel) * 20 + pixel)];
        };
        if (at(c) >= at(best)) best = c;
      }
      EXPECT_EQ(made.at(n * 20 + pixel), best);
    }
  }
}

// Maxima of tensors with one scale are exact; minima, which are made of complements, too.
TEST_F(OnnxImport, OP_2_RN_2_extremes_of_quantised_tensors_are_exact) {
  for (const char* op : {"Max", "Min"}) {
    OnnxModel model;
    model.input("a", kUint8, {1, 40}).input("b", kUint8, {1, 40}).output("y");
    model.floats("s", {}, {0.1F}).integers("z", kUint8, {}, {37});
    model.node("DequantizeLinear", {"a", "s", "z"}, {"ra"});
    model.node("DequantizeLinear", {"b", "s", "z"}, {"rb"});
    model.node(op, {"ra", "rb"}, {"ry"});
    model.node("QuantizeLinear", {"ry", "s", "z"}, {"y"});
    const Workload workload = loaded(imported(model));
    const Tensor made = run_reference(workload).at(workload.outputs.at(0));
    const Tensor &a = workload.input_data.at("a"), &b = workload.input_data.at("b");
    for (std::int64_t i = 0; i < 40; ++i) {
      const auto low = std::min(a.at(i), b.at(i)), high = std::max(a.at(i), b.at(i));
      ASSERT_EQ(made.at(i), *op == 'M' && op[1] == 'a' ? high : low) << op << " " << i;
    }
  }
}

TEST_F(OnnxImport, RN_3_axes_without_a_number_are_those_of_the_samples) {
  OnnxModel model;
  model.input("x", kFloat, {1, 3, 4, 5}).output("y");
  auto* shape =
      model.model().mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
  for (const int axis : {0, 2, 3}) shape->mutable_dim(axis)->clear_value();
  model.node("Relu", {"x"}, {"y"});
  EXPECT_THAT(reasons(model).at(0), HasSubstr("only the first axis may be without a number"));
  const json workload = workload_of(imported(model, samples({1, 3, 6, 2}, 3)));
  EXPECT_EQ(workload["inputs"][0]["shape"], (json{1, 3, 6, 2}));
  EXPECT_THAT(refusal([&] {
                imported(model, samples({1, 4, 6, 2}, 3));
              }),
              HasSubstr("samples of [3, 4, 6, 2] float32 for the input x of [1, 3, 6, 2]"));
}

TEST_F(OnnxImport, RN_3_a_percentile_covers_less_than_all) {
  OnnxModel model;
  model.input("x", kFloat, {1, 1000}).output("y");
  model.node("Relu", {"x"}, {"y"});
  std::vector<double> values(1000, 1.0);
  values[17] = 100;
  ImportOptions options;
  options.calibration["x"] = make_constant(ElementType::kFloat32, {1, 1000}, values);
  const auto scale = [&] {
    return workload_of(imported(model, options))["layers"][0]["requant"]["scale"].get<double>();
  };
  EXPECT_FLOAT_EQ(static_cast<float>(scale()), 100.0F / 255);
  options.percentile = 99;
  EXPECT_FLOAT_EQ(static_cast<float>(scale()), 1.0F / 255);
}

TEST_F(OnnxImport, RN_3_a_float_network_needs_samples_that_fit) {
  OnnxModel model;
  model.input("x", kFloat, {1, 4}).output("y");
  model.node("Sigmoid", {"x"}, {"y"});
  EXPECT_THAT(
      reasons(model).at(0),
      HasSubstr("its input 0 is float32, which no DequantizeLinear makes; --calibrate X.npy quantises"));
  EXPECT_THAT(refusal([&] {
                imported(model, samples({1, 5}, 2));
              }),
              HasSubstr("samples of [2, 5] float32 for the input x of [1, 4]"));
  EXPECT_THAT(refusal([&] {
                imported(small_convolution(), samples({1, 5}, 2));
              }),
              HasSubstr("none of its inputs is float32, there is nothing to quantise"));
}

TEST_F(OnnxImport, RN_2_integer_products_are_int32) {
  OnnxModel model;
  model.input("a", kUint8, {2, 3}).output("y");
  model.integers("w", kInt8, {3, 2}, {1, 2, 3, 4, 5, 6}).integers("az", kUint8, {}, {5});
  model.node("MatMulInteger", {"a", "w", "az"}, {"y"});
  const Workload workload = loaded(imported(model));
  EXPECT_EQ(workload.tensor("y").dtype, DType::kInt32);
  EXPECT_EQ(workload.tensor("a").zero_point, 5);
}

TEST_F(OnnxImport, RN_1_pairs_of_later_opsets_are_read) {
  OnnxModel model(25);
  model.input("x", kFloat, {1, 4}).output("y");
  model.floats("s", {}, {0.5F});
  onnx::Node& first = model.node("QuantizeLinear", {"x", "s"}, {"q"});
  for (const auto& [name, value] : {std::pair{"output_dtype", kInt8}, {"block_size", 0}, {"precision", 1}})
    OnnxModel::attribute(first, name, {value});
  OnnxModel::attribute(model.node("DequantizeLinear", {"q", "s"}, {"y"}), "output_dtype", {1});
  EXPECT_EQ(workload_of(imported(model))["layers"][0]["requant"]["dtype"], "int8");
  OnnxModel blocks(21);
  blocks.input("x", kFloat, {1, 4}).output("y");
  blocks.floats("s", {}, {0.5F});
  OnnxModel::attribute(blocks.node("QuantizeLinear", {"x", "s"}, {"q"}), "block_size", {2});
  blocks.node("DequantizeLinear", {"q", "s"}, {"y"});
  EXPECT_THAT(reasons(blocks).at(0), HasSubstr("scales of blocks"));
  OnnxModel nothing(21);
  nothing.input("x", kFloat, {1, 4}).output("y");
  nothing.floats("s", {}, {0.0F});
  nothing.node("QuantizeLinear", {"x", "s"}, {"q"});
  nothing.node("DequantizeLinear", {"q", "s"}, {"y"});
  EXPECT_THAT(reasons(nothing).at(0), HasSubstr("a result with the scale 0"));
}

// docs/networks.md has the importer's own tables.
TEST_F(OnnxImport, RN_6_the_page_lists_what_the_importer_says) {
  std::ifstream file(TILEBEAT_SOURCE_DIR "/docs/networks.md");
  const std::string page((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::istringstream lines(operator_tables());
  int rows = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line[0] != '|') continue;
    EXPECT_THAT(page, HasSubstr(line + "\n")) << "scripts/doc-tables writes it";
    ++rows;
  }
  EXPECT_GT(rows, 40);
}

}  // namespace
}  // namespace tilebeat::testing
