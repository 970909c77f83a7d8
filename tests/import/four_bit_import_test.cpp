// Weights that model files store with four bits (SPEC DT-1, RN-2): per channel they keep the file's values,
// in blocks they become the nearest groups.
#include "onnx_import.h"
#include "tflite_model.h"

#include <cmath>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

constexpr int kUint4 = 21, kInt4 = 22;

class FourBitImport : public OnnxImport {
 protected:
  /// Numbers from `low` on, two a byte, as a file stores four bits.
  static std::string halves(std::size_t count, int step) {
    std::string bytes((count + 1) / 2, '\0');
    for (std::size_t i = 0; i < count; ++i)
      bytes[i / 2] = static_cast<char>(bytes[i / 2] | (half(i, step) << (4 * (i % 2))));
    return bytes;
  }
  static int half(std::size_t i, int step) { return static_cast<int>(i) * step % 16; }

  static void packed(OnnxModel& model, const std::string& name, int type, const Extents& shape,
                     const std::string& bytes) {
    onnx::Tensor& tensor = *model.model().mutable_graph()->add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(type);
    for (const std::int64_t extent : shape) tensor.add_dims(extent);
    tensor.set_raw_data(bytes);
  }
  /// The first layer with weights.
  static const Conv2d& product_of(const Workload& workload) {
    for (const Layer& layer : workload.layers) {
      if (const auto* conv = std::get_if<Conv2d>(&layer.operation)) return *conv;
    }
    throw std::logic_error("no layer has weights");
  }
  static nlohmann::json weights_in(const ImportedNetwork& network) {
    const nlohmann::json workload = workload_of(network);
    for (const nlohmann::json& layer : workload.at("layers")) {
      if (layer.contains("weights")) return layer.at("weights");
    }
    return {};
  }
  /// The signal to noise ratio, in dB, of the first layer's weights against `real` [K, N], with one scale a
  /// column.
  double sqnr(const ImportedNetwork& network, const std::vector<double>& real, std::size_t columns) const {
    const Workload workload = loaded(network);
    const Conv2d& conv = product_of(workload);
    const std::size_t k = real.size() / columns;
    double signal = 0, noise = 0;
    for (std::size_t column = 0; column < columns; ++column) {
      double most = 0;
      for (std::size_t i = 0; i < k; ++i) most = std::max(most, std::abs(real[i * columns + column]));
      for (std::size_t i = 0; i < k; ++i) {
        const double weight = real[i * columns + column];
        const double made = static_cast<std::int8_t>(conv.weights.int8()->bytes[column * k + i]) * most / 127;
        signal += weight * weight, noise += (made - weight) * (made - weight);
      }
    }
    return 10 * std::log10(signal / noise);
  }
};

TEST_F(FourBitImport, DT_1_RN_2_onnx_weights_with_a_scale_a_channel_stay_int4) {
  for (const bool is_signed : {true, false}) {
    OnnxModel model(21);
    model.input("x", kFloat, {1, 64});
    model.floats("sx", {}, {0.05F}).integers("zx", kInt8, {}, {3});
    model.node("QuantizeLinear", {"x", "sx", "zx"}, {"xq"});
    model.node("DequantizeLinear", {"xq", "sx", "zx"}, {"xd"});
    packed(model, "w", is_signed ? kInt4 : kUint4, {64, 4}, halves(256, 5));
    model.floats("sw", {4}, {0.1F, 0.2F, 0.05F, 0.15F});
    packed(model, "zw", is_signed ? kInt4 : kUint4, {4},
           is_signed ? std::string(2, '\0') : std::string(2, '\x88'));
    auto& node = model.node("DequantizeLinear", {"w", "sw", "zw"}, {"wd"});
    OnnxModel::attribute(node, "axis", {1});
    model.node("MatMul", {"xd", "wd"}, {"y"});
    model.floats("sy", {}, {0.4F}).integers("zy", kInt8, {}, {-2});
    model.node("QuantizeLinear", {"y", "sy", "zy"}, {"yq"});
    model.node("DequantizeLinear", {"yq", "sy", "zy"}, {"out"});
    model.output("out");
    const ImportedNetwork network = imported(model);
    const Workload workload = loaded(network);
    const Conv2d& conv = product_of(workload);
    ASSERT_NE(conv.weights.four_bits(), nullptr) << "weights of four bits";
    EXPECT_EQ(conv.weights.four_bits()->group, 0);
    EXPECT_EQ(conv.weights.four_bits()->is_signed, is_signed);
    for (std::size_t column = 0; column < 4; ++column) {
      for (std::size_t i = 0; i < 64; ++i) {
        const int code = half(i * 4 + column, 5);
        const int weight = is_signed ? (code ^ 8) - 8 : code - 8;
        ASSERT_EQ(static_cast<std::int8_t>(conv.weights.int8()->bytes[column * 64 + i]), weight);
      }
    }
  }
}

TEST_F(FourBitImport, DT_1_onnx_weights_in_blocks_become_groups) {
  constexpr std::size_t kK = 64, kN = 8, kBlock = 32;
  for (const bool zeros : {false, true}) {
    OnnxModel model(21);
    model.input("x", kFloat, {1, kK});
    packed(model, "w", zeros ? kUint4 : kInt4, {kK, kN}, halves(kK * kN, 7));
    std::vector<float> scales(kK / kBlock * kN);
    for (std::size_t i = 0; i < scales.size(); ++i) scales[i] = 0.01F * static_cast<float>(1 + i % 5);
    model.floats("sw", {kK / kBlock, kN}, scales);
    std::vector<std::string> inputs{"w", "sw"};
    if (zeros)
      packed(model, "zw", kUint4, {kK / kBlock, kN}, halves(kK / kBlock * kN, 3)), inputs.push_back("zw");
    auto& node = model.node("DequantizeLinear", inputs, {"wd"});
    OnnxModel::attribute(node, "axis", {0});
    OnnxModel::attribute(node, "block_size", {kBlock});
    model.node("MatMul", {"x", "wd"}, {"y"});
    model.output("y");
    const ImportedNetwork network = imported(model, samples({1, kK}, 4));
    const nlohmann::json weights = weights_in(network);
    EXPECT_EQ(weights.at("dtype"), "int4");
    EXPECT_EQ(weights.at("group"), kBlock);
    EXPECT_EQ(weights.contains("zero_points"), zeros);
    std::vector<double> real(kK * kN);
    for (std::size_t i = 0; i < real.size(); ++i) {
      const std::size_t of = i / kN / kBlock * kN + i % kN;
      const int code = half(i, 7), zero = zeros ? half(of, 3) : 0;
      real[i] = ((zeros ? code : (code ^ 8) - 8) - zero) * static_cast<double>(scales[of]);
    }
    EXPECT_GT(sqnr(network, real, kN), 30) << "scales are rounded to eight bits, weights to int8";
  }
}

TEST_F(FourBitImport, DT_1_products_with_blocks_of_four_bits_are_read) {
  constexpr std::size_t kK = 80, kN = 6, kBlock = 32, kBlocks = 3;  // the last block is half full
  for (const bool zeros : {false, true}) {
    OnnxModel model(17);
    model.input("x", kFloat, {2, kK});
    packed(model, "b", kUint8, {kN, kBlocks, kBlock / 2}, halves(kN * kBlocks * kBlock, 5));
    std::vector<float> scales(kN * kBlocks);
    for (std::size_t i = 0; i < scales.size(); ++i) scales[i] = 0.02F * static_cast<float>(1 + i % 4);
    model.floats("s", {kN * kBlocks}, scales);
    std::vector<std::string> inputs{"x", "b", "s"};
    // Two zero points a byte; a column has three, in two bytes.
    if (zeros) packed(model, "z", kUint8, {kN * 2}, halves(kN * 4, 3)), inputs.push_back("z");
    auto& node = model.node("MatMulNBits", inputs, {"y"}, "com.microsoft");
    OnnxModel::attribute(node, "K", {kK}), OnnxModel::attribute(node, "N", {kN});
    OnnxModel::attribute(node, "bits", {4}), OnnxModel::attribute(node, "block_size", {kBlock});
    model.output("y");
    const ImportedNetwork network = imported(model, samples({2, kK}, 4));
    const nlohmann::json weights = weights_in(network);
    EXPECT_EQ(weights.at("dtype"), "int4");
    EXPECT_EQ(weights.at("group"), kBlock);
    EXPECT_EQ(weights.contains("zero_points"), zeros);
    std::vector<double> real(kK * kN);
    for (std::size_t i = 0; i < kK; ++i) {
      for (std::size_t column = 0; column < kN; ++column) {
        const std::size_t block = column * kBlocks + i / kBlock;
        const int zero = zeros ? half(column * 4 + i / kBlock, 3) : 8;
        real[i * kN + column] =
            (half(block * kBlock + i % kBlock, 5) - zero) * static_cast<double>(scales[block]);
      }
    }
    EXPECT_GT(sqnr(network, real, kN), 30);
    EXPECT_GT(cosine(model, "y", samples({2, kK}, 4)), 0.999);
  }
}

TEST_F(FourBitImport, DT_1_RN_10_what_does_not_fit_is_refused_by_name) {
  const auto model_of = [](std::int64_t block, int type, const std::string& bytes) {
    OnnxModel model(17);
    model.input("x", kFloat, {1, 32});
    packed(model, "b", type, {4, 1, 16}, bytes);
    model.floats("s", {4}, {0.1F, 0.1F, 0.1F, 0.1F});
    auto& node = model.node("MatMulNBits", {"x", "b", "s"}, {"y"}, "com.microsoft");
    OnnxModel::attribute(node, "K", {32}), OnnxModel::attribute(node, "N", {4});
    OnnxModel::attribute(node, "bits", {4}), OnnxModel::attribute(node, "block_size", {block});
    model.output("y");
    return model;
  };
  const ImportOptions options = samples({1, 32}, 2);
  EXPECT_THAT(reasons(model_of(16, kUint8, halves(128, 3)), options),
              ::testing::ElementsAre(::testing::HasSubstr("do not fit K, N and block_size")));
  OnnxModel cut(21);
  cut.input("x", kFloat, {1, 32});
  packed(cut, "w", kInt4, {32, 4}, halves(126, 3));
  cut.output("x");
  try {
    imported(cut, options);
    FAIL() << "a tensor that is cut off is read";
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("[32, 4] of int4 needs 64 bytes, it has 63"));
  }
}

TEST_F(FourBitImport, DT_1_RN_2_tflite_weights_stay_int4) {
  TfliteModel model;
  const int x = model.tensor({1, 32}, tflite::TensorType::INT8, 0.05F, 3);
  const std::string bytes = halves(96, 5);
  const int w = model.channels({3, 32}, {0.1F, 0.2F, 0.3F}, 0, {bytes.begin(), bytes.end()}, {},
                               tflite::TensorType::INT4);
  const int y = model.tensor({1, 3}, tflite::TensorType::INT8, 0.4F, -2);
  model.op(tflite::Builtin::FULLY_CONNECTED, {x, w, -1}, {y}, tflite::Options::FullyConnectedOptions,
           tflite::CreateFullyConnectedOptions(model.builder()).Union());
  folder_.write("model.tflite", model.bytes({x}, {y}));
  const Workload workload = loaded(import_model(folder_.path("model.tflite"), {}));
  const Conv2d& conv = product_of(workload);
  ASSERT_NE(conv.weights.four_bits(), nullptr);
  for (std::size_t i = 0; i < 96; ++i)
    ASSERT_EQ(static_cast<std::int8_t>(conv.weights.int8()->bytes[i]), (half(i, 5) ^ 8) - 8);
}

}  // namespace
}  // namespace tilebeat::testing
