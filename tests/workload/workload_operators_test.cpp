// What the loader makes of layers other than convolutions: shapes, types, tables, graphs (SPEC UI-6).
#include "../data/sample_layers.h"
#include "operator_run.h"

#include <cmath>
#include <filesystem>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

using nlohmann::json;
using Shape = std::vector<std::int64_t>;

constexpr const char* kModels = TILEBEAT_SOURCE_DIR "/models/";

Workload load(const json& file) {
  const TemporaryFolder folder;
  return load_workload(folder.write("w.json", file.dump()));
}
Workload load_sample(const std::string& op) {
  return load(sample_workload(sample_layers().at(op)));
}
std::string complaint(const json& file) {
  return refusal([&] { load(file); });
}

TEST(WorkloadOperators, UI_6_shapes_and_types) {
  const std::map<std::string, Shape> shapes{{"conv2d", {1, 4, 1, 4}},
                                            {"fully_connected", {1, 1, 1, 3}},
                                            {"matmul", {1, 4, 4, 3}},
                                            {"max_pool", {1, 3, 2, 2}},
                                            {"average_pool", {1, 4, 3, 2}},
                                            {"global_max_pool", {1, 1, 1, 2}},
                                            {"global_average_pool", {1, 1, 1, 2}},
                                            {"flatten", {1, 1, 1, 32}},
                                            {"reshape", {2, 4, 4}},
                                            {"concat", {1, 4, 4, 6}},
                                            {"resize", {1, 3, 7, 2}},
                                            {"conv_transpose", {1, 7, 12, 3}},
                                            {"pad", {1, 7, 7, 5}},
                                            {"reduce_sum", {1, 2}},
                                            {"reduce_max", {1, 4, 4}},
                                            {"transpose", {1, 2, 4, 4}},
                                            {"slice", {1, 2, 4, 1}},
                                            {"gather", {1, 4, 4, 3}}};
  for (const auto& [op, layer] : sample_layers()) {
    const Workload workload = load(sample_workload(layer));
    const TensorInfo& y = workload.tensor("y");
    const auto shape = shapes.find(op);
    EXPECT_EQ(y.shape, shape == shapes.end() ? (Shape{1, 4, 4, 2}) : shape->second) << op;
    const json requant = layer.value("requant", json::object());
    const std::string type = op == "argmax" ? "uint8" : "int8";  // where no requant says it
    EXPECT_EQ(dtype_name(y.dtype), requant.value("dtype", type)) << op;
    EXPECT_EQ(y.zero_point, requant.value("zero_point", 0)) << op;
    EXPECT_EQ(run_reference(workload).at("y").shape, y.shape) << op;
  }
}

TEST(WorkloadOperators, UI_6_fully_connected_is_a_convolution_over_the_whole_map) {
  const Workload workload = load_sample("fully_connected");
  const Layer& layer = workload.layers.at(0);
  const auto& conv = std::get<Conv2d>(layer.operation);
  EXPECT_EQ(layer.op, "fully_connected");
  EXPECT_EQ(conv.kernel, (std::array<int, 2>{4, 4}));
  EXPECT_EQ(conv.out_channels, 3);
  EXPECT_EQ(conv.weights.shape(), (Shape{3, 4, 4, 2}));
  EXPECT_EQ(useful_macs(workload, layer), 96);
}

TEST(WorkloadOperators, UI_6_fully_connected_weights_are_two_dimensional) {
  const TemporaryFolder folder;
  json layer = sample_layers().at("fully_connected");
  layer["weights"] = {{"file", "w.npy"}};
  write_npy(folder.path("w.npy"), Tensor{{3, 4, 4, 2}, DType::kInt8, std::vector<std::uint8_t>(96)});
  const std::string path = folder.write("w.json", sample_workload(layer).dump());
  EXPECT_NE(refusal([&] { load_workload(path); }).find("allowed is shape [3, 32] of int8"),
            std::string::npos);
  write_npy(folder.path("w.npy"), Tensor{{3, 32}, DType::kInt8, std::vector<std::uint8_t>(96, 5)});
  EXPECT_EQ(std::get<Conv2d>(load_workload(path).layers[0].operation).weights.int8()->at(95), 5);
}

TEST(WorkloadOperators, OP_1_matmul_is_a_convolution_over_rows) {
  const TemporaryFolder folder;
  json layer = sample_layers().at("matmul");
  layer["weights"] = {{"file", "w.npy"}};
  layer["inputs"] = {"flat"};
  json file = sample_workload(layer);
  for (json& input : file["inputs"]) {
    if (input["name"] == "flat") input["shape"] = {5, 3, 2};
  }
  for (const bool transposed : {false, true}) {
    file["layers"][0]["transpose_b"] = transposed;
    const Shape shape = transposed ? Shape{3, 2} : Shape{2, 3};
    write_npy(folder.path("w.npy"), Tensor{shape, DType::kInt8, {1, 2, 3, 4, 5, 6}});
    const Workload workload = load_workload(folder.write("w.json", file.dump()));
    const auto& conv = std::get<Conv2d>(workload.layers.at(0).operation);
    EXPECT_EQ(conv.pixels, PixelAxes::kRows);
    EXPECT_EQ(conv.weights.shape(), (Shape{3, 1, 1, 2})) << "a kernel for each column of B";
    EXPECT_EQ(conv.weights.int8()->at(1), transposed ? 2 : 4);
    EXPECT_EQ(workload.tensor("y").shape, (Shape{5, 3, 3}));
    EXPECT_EQ(useful_macs(workload, workload.layers[0]), 5 * 3 * 3 * 2);
    EXPECT_EQ(run_reference(workload).at("y").shape, (Shape{5, 3, 3}));
  }
  write_npy(folder.path("w.npy"), Tensor{{2, 4}, DType::kInt8, std::vector<std::uint8_t>(8)});
  const std::string path = folder.write("w.json", file.dump());
  EXPECT_NE(refusal([&] { load_workload(path); }).find("allowed is shape [3, 2] of int8"), std::string::npos);
}

TEST(WorkloadOperators, UI_6_windows) {
  json layer = sample_layers().at("max_pool");
  layer.erase("stride");
  const auto pool = std::get<Pooling>(load(sample_workload(layer)).layers[0].operation);
  EXPECT_EQ(pool.stride, pool.kernel) << "the default";
  const auto global = std::get<Pooling>(load_sample("global_average_pool").layers[0].operation);
  EXPECT_EQ(global.kind, Pooling::Kind::kAverage);
  EXPECT_EQ(global.kernel, (std::array<int, 2>{4, 4}));
  layer["kernel"] = {2, 2}, layer["dilation"] = {5, 1}, layer["pads"] = {1, 0, 1, 0};
  EXPECT_NE(complaint(sample_workload(layer))
                .find("/layers/0/pads: top and bottom 1 and 1 with a window of 6 on a map of 4"),
            std::string::npos)
      << "one tap above the map, one below";
}

TEST(WorkloadOperators, UI_6_functions_carry_what_they_are) {
  const json fields{{"op", "leaky_relu"},
                    {"slope", 0.25},
                    {"input_scale", 0.05},
                    {"requant", {{"scale", 256}, {"zero_point", -128}}}};
  const Workload workload = load_one_layer(fields, {{{1, 1, 1, 1}, {0}, DType::kInt8, -3}});
  const auto& leaky = std::get<ByteFunction>(workload.layers[0].operation);
  EXPECT_EQ(leaky.kind, ByteFunction::Kind::kLeakyRelu);
  EXPECT_EQ(leaky.slope, 0.25);
  EXPECT_EQ(leaky.input_scale, 0.05);
  EXPECT_EQ(leaky.requant.zero_point, -128);
  json layer = sample_layers().at("softmax");
  layer.erase("requant");
  const Workload probabilities = load(sample_workload(layer));
  const auto& softmax = std::get<Softmax>(probabilities.layers[0].operation);
  EXPECT_EQ(softmax.requant.scale, 256);
  EXPECT_EQ(probabilities.tensor("y").zero_point, -128);
}

TEST(WorkloadOperators, AT_1_a_causal_softmax_has_queries_in_rows_and_keys_in_its_last_axis) {
  const std::vector<Elements> scores{{{2, 3, 8}, std::vector<int>(48, 0)}};
  const auto mask = [&](const json& causal) {
    const Workload workload =
        load_one_layer({{"op", "softmax"}, {"input_scale", 0.1}, {"causal", causal}}, scores);
    return std::get<Softmax>(workload.layers[0].operation).mask.value();
  };
  EXPECT_EQ(mask(json::object()).past, 5) << "the last query sees all keys";
  EXPECT_EQ(mask(json::object()).window, 8);
  EXPECT_EQ(mask({{"past", 2}, {"window", 3}}).past, 2);
  EXPECT_EQ(mask({{"past", 2}, {"window", 3}}).pairs(), 9);
  EXPECT_THAT(refusal([&] {
                mask({{"past", 6}});
              }),
              ::testing::HasSubstr(
                  "/layers/0/causal/past: 6 is not allowed, allowed is at most 5: 8 keys less 3 queries"));
}

TEST(WorkloadOperators, UI_6_layers_with_several_inputs_come_after_all_of_them) {
  const json requant{{"scale", 1}};
  json file = sample_workload({{"name", "y"}, {"op", "add"}, {"inputs", {"q", "p"}}, {"requant", requant}});
  file["layers"].push_back({{"name", "p"}, {"op", "mul"}, {"inputs", {"q", "q"}}, {"requant", requant}});
  file["layers"].push_back({{"name", "q"}, {"op", "relu"}, {"inputs", {"a"}}});
  std::vector<std::string> order;
  for (const Layer& layer : load(file).layers) order.push_back(layer.name);
  EXPECT_EQ(order, (std::vector<std::string>{"sums", "q", "p", "y"}));
  file["layers"][3]["inputs"] = {"y"};
  EXPECT_NE(complaint(file).find("layers read each other in a cycle: \"y\" reads \"q\" reads \"y\""),
            std::string::npos)
      << complaint(file);
  file["layers"][3]["inputs"] = {"z"};
  EXPECT_NE(complaint(file).find("/layers/3/inputs/0: \"z\" is not allowed"), std::string::npos);
}

TEST(WorkloadOperators, UI_6_only_requantize_reads_accumulators) {
  for (auto& [op, layer] : sample_layers()) {
    json reads_sums = layer;
    for (json& input : reads_sums["inputs"]) input = "sums";
    const std::string message = complaint(sample_workload(reads_sums));
    if (op == "requantize") {
      EXPECT_EQ(message, "");
    } else {
      EXPECT_NE(message.find("\"sums\" with int32 accumulators"), std::string::npos) << op << ": " << message;
    }
  }
}

TEST(WorkloadOperators, UI_6_expected_tensors_may_lack_extents_of_one) {
  const TemporaryFolder folder;
  json file = sample_workload(sample_layers().at("fully_connected"));
  file["expected"] = {{"y", "y.npy"}};
  write_npy(folder.path("y.npy"), byte_tensor({{1, 3}, {1, 2, 3}}));
  const std::string path = folder.write("w.json", file.dump());
  EXPECT_EQ(load_workload(path).expected.at("y").shape, (Shape{1, 1, 1, 3}));
  write_npy(folder.path("y.npy"), byte_tensor({{1, 4}, {1, 2, 3, 4}}));
  EXPECT_NE(refusal([&] { load_workload(path); }).find("allowed is shape [1, 1, 1, 3] of int8"),
            std::string::npos);
}

TEST(WorkloadOperators, UI_4_only_convolutions_have_useful_macs) {
  for (const auto& [op, layer] : sample_layers()) {
    const Workload workload = load(sample_workload(layer));
    const bool convolves =
        op == "conv2d" || op == "conv_transpose" || op == "fully_connected" || op == "matmul";
    EXPECT_EQ(useful_macs(workload, workload.layers[0]) > 0, convolves) << op;
  }
}

TEST(WorkloadOperators, OP_2_useful_macs_of_conv_transpose_count_the_mean_number_of_taps) {
  json layer = sample_layers().at("conv_transpose");  // 3 x 4 taps, 2 x 3 strides: 2 an output
  Workload workload = load(sample_workload(layer));
  EXPECT_EQ(useful_macs(workload, workload.layers[0]), 8 * 12 * 3 * 2 * 2)
      << "7 rows are those of 4 pairs, of which the first row is cut off; 12 columns, 3 kernels, 2 channels";
  layer["stride"] = {4, 4}, layer["output_padding"] = {3, 3}, layer["pads"] = {0, 0, 0, 0};
  workload = load(sample_workload(layer));
  EXPECT_EQ(useful_macs(workload, workload.layers[0]), 20 * 20 * 3 * 2) << "at least one tap";
}

TEST(WorkloadOperators, NU_3_outputs_of_conv_transpose_add_up_the_taps_of_a_stride) {
  // 4 taps of 127 * 255 each; two of them meet in an output.
  json layer = sample_layers().at("conv_transpose");
  layer.erase("requant"), layer.erase("output_padding");
  layer["out_channels"] = 1, layer["kernel"] = {1, 4}, layer["stride"] = {1, 2}, layer["pads"] = {0, 0, 0, 0};
  layer["weights"] = {{"random", {{"seed", 1}, {"min", 127}, {"max", 127}}}};
  const std::int64_t pair = 2 * 2 * 127 * 128;
  const auto with_bias = [&](std::int64_t bias) {
    layer["bias"] = {{"random", {{"seed", 1}, {"min", bias}, {"max", bias}}}};
    return complaint(sample_workload(layer));
  };
  EXPECT_EQ(with_bias(INT32_MAX - pair), "");
  EXPECT_NE(with_bias(INT32_MAX - pair + 1).find("accumulators of up to 2147483648"), std::string::npos);
}

struct Network {
  const char* name;
  std::int64_t macs, parameters;
};

// Parameters as published: 60,965,224 and 138,357,544, biases included.
TEST(WorkloadNetworks, FU_7_alexnet_and_vgg16_have_their_sizes) {
  for (const Network& network :
       {Network{"alexnet", 724406816, 60965224}, Network{"vgg16", 15470264320, 138357544}}) {
    const Workload workload = load_workload(std::string(kModels) + network.name + ".json");
    std::int64_t macs = 0, parameters = 0;
    for (const Layer& layer : workload.layers) {
      macs += useful_macs(workload, layer);
      if (const auto* conv = std::get_if<Conv2d>(&layer.operation)) {
        parameters += conv->weights.elements() + static_cast<std::int64_t>(conv->bias.size());
      }
    }
    EXPECT_EQ(macs, network.macs) << network.name;
    EXPECT_EQ(parameters, network.parameters) << network.name;
    EXPECT_EQ(workload.tensor("pool5").shape,
              network.macs < 1000000000 ? (Shape{1, 6, 6, 256}) : (Shape{1, 7, 7, 512}));
    EXPECT_EQ(workload.tensor("softmax").shape, (Shape{1, 1, 1, 1000}));
  }
}

TEST(WorkloadNetworks, FU_7_OP_2_two_small_networks_have_every_operator) {
  std::set<std::string> used;
  for (const char* const name : {"alexnet_small.json", "tensor_operators.json"}) {
    for (const Layer& layer : load_workload(std::string(kModels) + name).layers) used.insert(layer.op);
  }
  for (const auto& [op, layer] : sample_layers()) EXPECT_EQ(used.count(op), 1U) << op;
}

}  // namespace
}  // namespace tilebeat::testing
