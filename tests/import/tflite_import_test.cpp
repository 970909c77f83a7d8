// TensorFlow Lite files as workloads (SPEC RN_1), written here with the schema's builder.
#include "../data/temporary_folder.h"
#include "import/imported.h"
#include "reference/reference.h"
#include "tflite_model.h"
#include "workload/workload.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <tflite_generated.h>

namespace tilebeat::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using tflite::Builtin;
using tflite::TensorType;

class TfliteImport : public ::testing::Test {
 protected:
  ImportedNetwork imported(const std::string& bytes, const ImportOptions& options = {}) const {
    return import_model(folder_.write("model.tflite", bytes), options);
  }
  json layers(const std::string& bytes, const ImportOptions& options = {}) const {
    const ImportedNetwork network = imported(bytes, options);
    for (const auto& [name, file] : network.files) folder_.write(name, file);
    load_workload(folder_.path("workload.json"));
    return json::parse(network.files.at("workload.json"))["layers"];
  }

  Workload loaded(const ImportedNetwork& network) const {
    for (const auto& [name, file] : network.files) folder_.write(name, file);
    return load_workload(folder_.path("workload.json"));
  }

  TemporaryFolder folder_;
};

TEST_F(TfliteImport, RN_1_a_depthwise_convolution_with_a_multiplier_has_a_kernel_a_channel) {
  TfliteModel model;
  const int x = model.tensor({1, 4, 4, 2}, TensorType::INT8, 0.5F, 3);
  const int w = model.channels({1, 1, 1, 4}, {0.1F, 0.2F, 0.3F, 0.4F}, 3, {1, 2, 3, 4});
  const int y = model.tensor({1, 2, 2, 4}, TensorType::INT8, 0.25F, -128);
  const auto options = tflite::CreateDepthwiseConv2DOptions(model.builder(), tflite::Padding::SAME, 2, 2, 2,
                                                            tflite::Activation::RELU6);
  model.op(Builtin::DEPTHWISE_CONV_2D, {x, w, -1}, {y}, tflite::Options::DepthwiseConv2DOptions,
           options.Union());
  const json layer = layers(model.bytes({x}, {y})).at(0);
  EXPECT_EQ(layer["groups"], 2);
  EXPECT_EQ(layer["out_channels"], 4);
  EXPECT_EQ(layer["stride"], json({2, 2}));
  EXPECT_EQ(layer["output_range"], json({-128, -104})) << "6 / 0.25 above the zero point";
  EXPECT_EQ(layer["requant"]["weight_scale"].size(), 4U);
}

TEST_F(TfliteImport, OP_2_blocks_have_the_size_that_their_shapes_say) {
  TfliteModel model;
  const int x = model.tensor({1, 2, 3, 8}, TensorType::INT8, 0.5F, 3),
            wide = model.tensor({1, 4, 6, 2}, TensorType::INT8, 0.5F, 3),
            back = model.tensor({1, 2, 3, 8}, TensorType::INT8, 0.5F, 3);
  model.op(Builtin::DEPTH_TO_SPACE, {x}, {wide});
  model.op(Builtin::SPACE_TO_DEPTH, {wide}, {back});
  const json made = layers(model.bytes({x}, {back}));
  EXPECT_EQ(made.at(0)["op"], "depth_to_space");
  EXPECT_EQ(made.at(0)["block_size"], 2);
  EXPECT_EQ(made.at(1)["op"], "space_to_depth");
  EXPECT_EQ(made.at(1)["block_size"], 2);

  TfliteModel wrong;
  const int in = wrong.tensor({1, 2, 3, 8}, TensorType::INT8, 0.5F, 3),
            out = wrong.tensor({1, 6, 6, 2}, TensorType::INT8, 0.5F, 3);
  wrong.op(Builtin::DEPTH_TO_SPACE, {in}, {out});
  EXPECT_THROW(imported(wrong.bytes({in}, {out})), ImportError);
}

TEST_F(TfliteImport, RN_1_one_channel_is_depthwise_where_the_file_says_so) {
  TfliteModel model;
  const int x = model.tensor({1, 4, 4, 1}, TensorType::INT8, 0.5F, 3);
  const int w = model.channels({1, 1, 1, 4}, {0.1F, 0.2F, 0.3F, 0.4F}, 3, {1, 2, 3, 4});
  const int y = model.tensor({1, 4, 4, 4}, TensorType::INT8, 0.25F, 0);
  const auto options = tflite::CreateDepthwiseConv2DOptions(model.builder(), tflite::Padding::VALID, 1, 1, 4);
  model.op(Builtin::DEPTHWISE_CONV_2D, {x, w, -1}, {y}, tflite::Options::DepthwiseConv2DOptions,
           options.Union());
  EXPECT_EQ(layers(model.bytes({x}, {y})).at(0)["depthwise"], true);
}

TEST_F(TfliteImport, RN_1_element_operators_become_layers) {
  TfliteModel model;
  const int x = model.tensor({1, 4, 4, 2}, TensorType::INT8, 0.5F, 3);
  const int sum = model.tensor({1, 4, 4, 2}, TensorType::INT8, 0.75F, 0),
            product = model.tensor({1, 4, 4, 2}, TensorType::INT8, 0.5F, 0);
  const int sigmoid = model.tensor({1, 4, 4, 2}, TensorType::INT8, 1.0F / 256, -128),
            again = model.tensor({1, 4, 4, 2}, TensorType::INT8, 0.5F, 1);
  const int mean = model.tensor({1, 2}, TensorType::INT8, 0.5F, 1), axes = model.integers({1, 2});
  const int padded = model.tensor({1, 6, 7, 2}, TensorType::INT8, 0.5F, 1),
            pads = model.integers({0, 0, 1, 1, 1, 2, 0, 0});
  const int pooled = model.tensor({1, 3, 3, 2}, TensorType::INT8, 0.5F, 1), real = model.real({1, 3, 3, 2});
  model.op(Builtin::SUB, {x, x}, {sum}, tflite::Options::SubOptions,
           tflite::CreateSubOptions(model.builder()).Union());
  model.op(Builtin::MUL, {sum, x}, {product}, tflite::Options::MulOptions,
           tflite::CreateMulOptions(model.builder()).Union());
  model.op(Builtin::LOGISTIC, {product}, {sigmoid});
  model.op(Builtin::QUANTIZE, {sigmoid}, {again});
  model.op(Builtin::MEAN, {again, axes}, {mean}, tflite::Options::ReducerOptions,
           tflite::CreateReducerOptions(model.builder(), false).Union());
  model.op(Builtin::PAD, {again, pads}, {padded});
  const auto window = tflite::CreatePool2DOptions(model.builder(), tflite::Padding::VALID, 2, 2, 2, 2);
  model.op(Builtin::MAX_POOL_2D, {padded}, {pooled}, tflite::Options::Pool2DOptions, window.Union());
  model.op(Builtin::DEQUANTIZE, {pooled}, {real});
  std::vector<std::string> ops;
  for (const json& layer : layers(model.bytes({x}, {mean, real}))) ops.push_back(layer["op"]);
  EXPECT_EQ(ops, (std::vector<std::string>{"sub", "mul", "sigmoid", "requantize", "reduce_mean", "pad",
                                           "max_pool", "dequantize"}));
}

/// Elements of y, where x holds `given`, against real numbers.
void expect_close(const ImportedNetwork& network, Workload workload, const std::vector<int>& given,
                  const std::vector<double>& wanted, double scale, int zero) {
  Tensor& x = workload.input_data.at(network.tensors.at(0).holder.value());
  for (std::size_t i = 0; i < given.size(); ++i) x.bytes.at(i) = static_cast<std::uint8_t>(given[i]);
  const Tensor y = run_reference(workload).at(network.tensors.at(1).holder.value());
  for (std::size_t i = 0; i < wanted.size(); ++i)
    EXPECT_NEAR(static_cast<double>(y.at(static_cast<std::int64_t>(i))), std::round(wanted[i] / scale) + zero,
                1)
        << i;
}

TEST_F(TfliteImport, RN_2_slopes_may_differ_by_channel) {
  TfliteModel model;
  const int x = model.tensor({1, 2, 2, 3}, TensorType::INT8, 0.05F, 3),
            y = model.tensor({1, 2, 2, 3}, TensorType::INT8, 0.04F, -5);
  const int alpha = model.tensor({1, 1, 3}, TensorType::INT8, 0.01F, 2, {12, 52, 0xD0});  // 0.1, 0.5, -0.5
  model.op(tflite::Builtin::PRELU, {x, alpha}, {y});
  const std::vector<int> given{-100, -50, -20, 20, 3, 90, 127, -128, 0, -3, 60, -70};
  std::vector<double> wanted;
  for (std::size_t i = 0; i < given.size(); ++i) {
    const double real = (given[i] - 3) * 0.05, slope = std::vector<double>{0.1, 0.5, -0.5}[i % 3];
    wanted.push_back(std::clamp(real < 0 ? real * slope : real, (-128 + 5) * 0.04, (127 + 5) * 0.04));
  }
  const ImportedNetwork network = imported(model.bytes({x}, {y}));
  EXPECT_TRUE(network.exact_layers.empty());
  expect_close(network, loaded(network), given, wanted, 0.04, -5);
}

TEST_F(TfliteImport, RN_2_batched_products_take_tensors_as_they_lie) {
  for (const bool turned : {false, true}) {
    TfliteModel model;
    const int x = model.tensor({2, 2, 3}, TensorType::INT8, 0.05F, 3),
              y = model.tensor({2, 2, 2}, TensorType::INT8, 0.08F, -5);
    const std::vector<std::uint8_t> data{1, 0xFE, 3, 4, 5, 0xFA};  // [3, 2] or, turned, [2, 3]
    const int w = model.tensor(turned ? std::vector<int>{2, 3} : std::vector<int>{3, 2}, TensorType::INT8,
                               0.1F, 1, data);
    model.op(tflite::Builtin::BATCH_MATMUL, {x, w}, {y}, tflite::Options::BatchMatMulOptions,
             tflite::CreateBatchMatMulOptions(model.builder(), false, turned).Union());
    const std::vector<int> given{10, -20, 30, 5, 6, 7, -8, 9, 10, 40, 2, -60};
    std::vector<double> wanted;
    for (std::size_t row = 0; row < 4; ++row) {
      for (std::size_t column = 0; column < 2; ++column) {
        double sum = 0;
        for (std::size_t k = 0; k < 3; ++k)
          sum += (given[row * 3 + k] - 3) * 0.05 *
                 (static_cast<std::int8_t>(data[turned ? column * 3 + k : k * 2 + column]) - 1) * 0.1;
        wanted.push_back(sum);
      }
    }
    const ImportedNetwork network = imported(model.bytes({x}, {y}));
    expect_close(network, loaded(network), given, wanted, 0.08, -5);
  }
}

TEST_F(TfliteImport, RN_2_a_uint8_input_is_brought_to_int8_by_128) {
  TfliteModel model;
  const int x = model.tensor({1, 4, 4, 2}, TensorType::UINT8, 0.5F, 131),
            y = model.tensor({1, 4, 4, 2}, TensorType::INT8, 0.5F, 3);
  model.op(Builtin::QUANTIZE, {x}, {y});
  const std::string bytes = model.bytes({x}, {y});
  for (const Arithmetic arithmetic : {Arithmetic::kFixed, Arithmetic::kFloat32}) {
    ImportOptions options;
    options.arithmetic = arithmetic;
    layers(bytes, options);
    const Workload workload = load_workload(folder_.path("workload.json"));
    const Tensor& given = workload.input_data.at("t0");
    const Tensor made = run_reference(workload).at("quantize_t1");
    for (std::int64_t i = 0; i < 32; ++i) EXPECT_EQ(made.at(i), given.at(i) - 128) << i;
  }
}

TEST_F(TfliteImport, RN_1_everything_that_is_unsupported_is_listed_at_once) {
  TfliteModel model;
  const int x = model.tensor({1, 4}, TensorType::INT8, 0.5F, 3),
            a = model.tensor({1, 4}, TensorType::INT8, 0.5F, 3),
            b = model.tensor({1, 4}, TensorType::INT8, 0.25F, 3),
            c = model.tensor({1, 4}, TensorType::INT8, 0.25F, 3);
  model.op(Builtin::SVDF, {x}, {a});
  model.op(Builtin::RESHAPE, {a}, {b});
  model.op(Builtin::BATCH_MATMUL, {b}, {c});
  try {
    imported(model.bytes({x}, {c}));
    FAIL() << "three operators cannot be imported";
  } catch (const ImportError& error) {
    EXPECT_THAT(error.what(), HasSubstr("3 of its parts cannot be imported"));
    ASSERT_EQ(error.lines().size(), 3U);
    EXPECT_EQ(error.lines()[0],
              "1 node: SVDF: is no operator that is built: no layers compute it (operator 0 making t1)");
    EXPECT_THAT(error.lines()[1],
                HasSubstr("RESHAPE: its output has another type, scale or zero point than its input"));
    EXPECT_THAT(error.lines()[2], HasSubstr("BATCH_MATMUL"));
  }
}

TEST_F(TfliteImport, RN_1_damaged_files_are_refused_with_one_message) {
  EXPECT_THAT(refusal([&] {
                import_model(TILEBEAT_SOURCE_DIR "/tests/fuzz/corpus/tflite/input_that_nothing_makes.tflite",
                             {});
              }),
              HasSubstr("2 of its parts cannot be imported"));
  TfliteModel model;
  const int x = model.tensor({1, 4}, TensorType::INT8, 0.5F, 3),
            y = model.tensor({1, 4}, TensorType::INT8, 0.5F, 3);
  model.op(Builtin::RESHAPE, {x}, {y});
  const std::string whole = model.bytes({x}, {y});
  EXPECT_NO_THROW(imported(whole));
  for (std::size_t size = 0; size < whole.size(); size += 7) {
    const std::string message = refusal([&] { imported(whole.substr(0, size)); });
    EXPECT_THAT(message, HasSubstr("model.tflite")) << size << " bytes";
  }
  TfliteModel cycle;
  const int a = cycle.tensor({4}, TensorType::INT8, 0.5F, 3),
            b = cycle.tensor({4}, TensorType::INT8, 0.5F, 3);
  cycle.op(Builtin::RESHAPE, {b}, {a});
  cycle.op(Builtin::RESHAPE, {a}, {b});
  EXPECT_THAT(refusal([&] { imported(cycle.bytes({}, {b})); }), HasSubstr("which nothing before it makes"));
  TfliteModel beyond;
  beyond.tensor({4}, TensorType::INT8, 0.5F, 3);
  beyond.op(Builtin::RESHAPE, {0}, {5});
  EXPECT_THAT(refusal([&] { imported(beyond.bytes({0}, {0})); }), HasSubstr("is tensor 5, there are 1"));
}

}  // namespace
}  // namespace tilebeat::testing
