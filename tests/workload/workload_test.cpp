#include "workload/workload.h"

#include "../data/temporary_folder.h"
#include "reference/reference.h"
#include "workload/npy.h"
#include "workload/tensor_source.h"

#include <filesystem>
#include <map>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <rapidcheck/gtest.h>

namespace tilebeat {
namespace {

using nlohmann::json;

json input(const std::string& name, std::vector<int> shape) {
  return {{"name", name}, {"shape", shape}, {"random", {{"seed", 1}}}};
}

/// A 3x3 layer of 4 kernels with requantisation.
json layer(const std::string& name, const std::string& reads) {
  return {{"name", name},
          {"op", "conv2d"},
          {"inputs", {reads}},
          {"out_channels", 4},
          {"kernel", {3, 3}},
          {"pads", {1, 1, 1, 1}},
          {"weights", {{"random", {{"seed", 2}}}}},
          {"requant", {{"scale", 0.01}}}};
}

json workload(std::vector<json> layers) {
  return {{"inputs", {input("x", {1, 6, 7, 4})}}, {"layers", layers}};
}

class WorkloadLoader : public ::testing::Test {
 protected:
  Workload load(const json& file) { return load_workload(folder_.write("w.json", file.dump(1))); }
  std::string message(const json& file) {
    return refusal([&] { load(file); });
  }
  std::vector<std::string> order(const json& file) {
    std::vector<std::string> names;
    for (const Layer& l : load(file).layers) names.push_back(l.name);
    return names;
  }
  TemporaryFolder folder_;
};

using Names = std::vector<std::string>;

TEST_F(WorkloadLoader, UI_6_files_of_inputs_may_have_other_extents_of_1) {
  const auto load_shape = [&](const std::vector<std::int64_t>& shape) {
    write_npy(folder_.path("x.npy"), random_tensor(shape, DType::kInt8, 1, -128, 127));
    return load_workload(folder_.write("w.json", R"({"name": "n",
   "inputs": [{"name": "x", "shape": [2, 1, 1, 8], "dtype": "int8", "file": "x.npy"}],
   "layers": [{"name": "p", "op": "global_max_pool", "inputs": ["x"]}]})"));
  };
  for (const std::vector<std::int64_t>& shape :
       {std::vector<std::int64_t>{2, 8}, {2, 1, 8}, {2, 1, 1, 8}, {1, 2, 1, 8, 1}})
    EXPECT_EQ(load_shape(shape).input_data.at("x").shape, (std::vector<std::int64_t>{2, 1, 1, 8}));
  EXPECT_THROW(load_shape({8, 2}), UserError);
  EXPECT_THROW(load_shape({16}), UserError);
}

TEST_F(WorkloadLoader, UI_6_reads_the_sample_of_the_specification) {
  write_npy(folder_.path("x.npy"), random_tensor({1, 8, 14, 3}, DType::kInt8, 1, -128, 127));
  write_npy(folder_.path("w.npy"), random_tensor({16, 3, 3, 3}, DType::kInt8, 2, -127, 127));
  write_npy(folder_.path("b.npy"), random_tensor({16}, DType::kInt32, 3, -99, 99));
  write_npy(folder_.path("conv1.npy"), random_tensor({1, 4, 10, 16}, DType::kInt8, 4, 0, 1));
  const Workload w = load_workload(folder_.write("w.json", R"({"name": "worked_dilated",
   "inputs": [{"name": "x", "shape": [1, 8, 14, 3], "dtype": "int8", "file": "x.npy", "zero_point": 0}],
   "layers": [{"name": "conv1", "op": "conv2d", "inputs": ["x"], "out_channels": 16, "kernel": [3, 3],
     "stride": [1, 1], "dilation": [2, 2], "pads": [0, 0, 0, 0], "groups": 1,
     "weights": {"file": "w.npy", "zero_point": 0}, "bias": {"file": "b.npy"}, "activation": "relu",
     "requant": {"scale": 0.0031, "zero_point": 0, "dtype": "int8"}}],
   "outputs": ["conv1"], "expected": {"conv1": "conv1.npy"}})"));
  const auto& conv = std::get<Conv2d>(w.layers.at(0).operation);
  EXPECT_EQ(w.name, "worked_dilated");
  EXPECT_EQ(w.layers[0].op, "conv2d");
  EXPECT_EQ(w.layers[0].scene, "main");
  EXPECT_EQ(w.layers[0].output.shape, (std::vector<std::int64_t>{1, 4, 10, 16}));
  EXPECT_EQ(w.layers[0].output.dtype, DType::kInt8);
  EXPECT_EQ(conv.dilation, (std::array<int, 2>{2, 2}));
  EXPECT_EQ(conv.activation.kind, ActivationKind::kRelu);
  EXPECT_EQ(conv.bias.size(), 16U);
  EXPECT_EQ(conv.requant->scale, std::vector<double>{0.0031});
  EXPECT_EQ(w.expected.at("conv1").shape, w.layers[0].output.shape);
  EXPECT_EQ(useful_macs(w, w.layers[0]), 17280) << "SW-3";
  EXPECT_EQ(&w.tensor("conv1"), &w.layers[0].output);
}

TEST_F(WorkloadLoader, UI_6_defaults_are_dense_ungrouped_int32) {
  json only = layer("a", "x");
  only.erase("requant");
  only.erase("pads");
  const Workload w = load(workload({only}));
  const auto& conv = std::get<Conv2d>(w.layers[0].operation);
  EXPECT_EQ(w.layers[0].output.dtype, DType::kInt32);
  EXPECT_EQ(w.layers[0].output.shape, (std::vector<std::int64_t>{1, 4, 5, 4}));
  EXPECT_EQ(conv.groups, 1);
  EXPECT_TRUE(conv.bias.empty());
  EXPECT_EQ(w.outputs, Names{"a"}) << "outputs default to the layers that no layer reads";
}

TEST_F(WorkloadLoader, UI_6_layers_may_stand_in_any_order) {
  EXPECT_EQ(order(workload({layer("c", "b"), layer("b", "a"), layer("a", "x"), layer("d", "x")})),
            (Names{"a", "b", "c", "d"}));
  EXPECT_EQ(order(workload({layer("b", "x"), layer("a", "x")})), (Names{"b", "a"}))
      << "the order of the file stands";
}

TEST_F(WorkloadLoader, UI_6_cycles_are_refused_by_name) {
  const std::string text =
      message(workload({layer("z", "x"), layer("a", "b"), layer("b", "c"), layer("c", "b")}));
  EXPECT_NE(text.find("\"b\" reads \"c\" reads \"b\""), std::string::npos) << text;
  EXPECT_NE(message(workload({layer("a", "a")})).find("\"a\" reads \"a\""), std::string::npos);
}

TEST_F(WorkloadLoader, SW_6_scenes_run_in_the_order_of_first_mention) {
  json one = layer("one", "x"), two = layer("two", "one"), three = layer("three", "x");
  one["scene"] = three["scene"] = "dense";
  two["scene"] = "dilated";
  EXPECT_EQ(order(workload({one, two, three})), (Names{"one", "three", "two"}));
  one["inputs"] = {"two"};
  two["inputs"] = {"x"};
  const std::string text = message(workload({one, two, three}));
  EXPECT_NE(text.find("/layers/0/inputs/0: \"two\""), std::string::npos) << text;
}

TEST_F(WorkloadLoader, NU_1_uint8_weights_are_shifted_with_their_zero_point) {
  write_npy(folder_.path("w.npy"), Tensor{{1, 1, 1, 4}, DType::kUint8, {0, 100, 128, 255}});
  json one = layer("a", "x");
  one["out_channels"] = 1;
  one["kernel"] = {1, 1};
  one["weights"] = {{"file", "w.npy"}, {"zero_point", 100}};
  const Workload w = load(workload({one}));
  const auto& conv = std::get<Conv2d>(w.layers[0].operation);
  EXPECT_EQ(conv.weights.int8()->dtype, DType::kInt8);
  EXPECT_EQ(conv.weight_zero_point, -28);
  for (const auto& [index, difference] : {std::pair{0, -100}, {1, 0}, {2, 28}, {3, 155}}) {
    EXPECT_EQ(conv.weights.int8()->at(index) - conv.weight_zero_point, difference);
  }
}

TEST_F(WorkloadLoader, NU_1_layers_with_the_same_weights_share_them) {
  write_npy(folder_.path("w.npy"), Tensor{{4, 1, 1, 4}, DType::kUint8, std::vector<std::uint8_t>(16, 9)});
  const auto with = [](const std::string& name, const json& weights) {
    json made = layer(name, "x");
    made["kernel"] = {1, 1}, made["weights"] = weights;
    return made;
  };
  const json file{{"file", "w.npy"}}, four_bits{{"random", {{"seed", 2}}}, {"dtype", "int4"}};
  json other_zero = file, other_type = four_bits;
  other_zero["zero_point"] = 3, other_type["dtype"] = "uint4";
  const Workload w =
      load(workload({with("a", file), with("b", other_zero), with("c", four_bits), with("d", four_bits),
                     with("e", other_type), with("f", {{"random", {{"seed", 2}}}})}));
  const auto conv = [&w](std::size_t number) { return std::get<Conv2d>(w.layers.at(number).operation); };
  EXPECT_EQ(conv(0).weights.int8(), conv(1).weights.int8()) << "the same tensor in memory";
  EXPECT_EQ(conv(0).weight_zero_point, -128);
  EXPECT_EQ(conv(1).weight_zero_point, -125);
  const auto held = conv(2).weights.int8();
  EXPECT_EQ(conv(3).weights.int8(), held);
  const auto codes = conv(2).weights.codes();
  EXPECT_EQ(conv(3).weights.codes(), codes);
  const Workload bytes =
      load(workload({with("a", {{"random", {{"seed", 2}}}, {"dtype", "int8"}}),
                     with("b", {{"random", {{"seed", 2}}}, {"dtype", "uint8"}, {"zero_point", 200}})}));
  EXPECT_NE(std::get<Conv2d>(bytes.layers[0].operation).weights.int8()->bytes,
            std::get<Conv2d>(bytes.layers[1].operation).weights.int8()->bytes);
  EXPECT_EQ(std::get<Conv2d>(bytes.layers[1].operation).weight_zero_point, 72);
  for (const std::size_t other : {4, 5}) {
    EXPECT_NE(conv(other).weights.name(), conv(2).weights.name());
    EXPECT_NE(conv(other).weights.int8(), held);
  }
  EXPECT_EQ(conv(2).weights.least_bytes(), 8);
  EXPECT_EQ(conv(0).weights.least_bytes(), 16);
}

TEST_F(WorkloadLoader, NU_1_known_weights_are_checked_again) {
  write_npy(folder_.path("w.npy"), Tensor{{4, 3, 3, 4}, DType::kUint8, std::vector<std::uint8_t>(144, 9)});
  json one = layer("a", "x"), two = layer("b", "a");
  one["weights"] = {{"file", "w.npy"}};
  for (const auto& [field, value] :
       {std::pair{"dtype", json("int8")}, {"zero_point", json(-1)}, {"shift", json(1)}}) {
    two["weights"] = one["weights"];
    two["weights"][field] = value;
    EXPECT_NE(message(workload({one, two})).find("/layers/1/weights/"), std::string::npos) << field;
  }
}

TEST_F(WorkloadLoader, NU_2_activations_and_scales_in_all_forms) {
  json one = layer("a", "x");
  one["activation"] = {{"clamp", {-5, 70}}};
  one["requant"] = {{"scale", {0.1, 0.2, 0.3, 0.4}}, {"zero_point", 200}, {"dtype", "uint8"}};
  const Workload w = load(workload({one}));
  const auto& conv = std::get<Conv2d>(w.layers[0].operation);
  EXPECT_EQ(conv.activation.kind, ActivationKind::kClamp);
  EXPECT_EQ(conv.activation.low, -5);
  EXPECT_EQ(conv.activation.high, 70);
  EXPECT_EQ(conv.requant->scale, (std::vector<double>{0.1, 0.2, 0.3, 0.4}));
  EXPECT_EQ(w.layers[0].output.zero_point, 200);
  EXPECT_EQ(w.layers[0].output.dtype, DType::kUint8);
}

TEST_F(WorkloadLoader, NU_2_functions_of_the_real_value_need_a_scale) {
  json one = layer("a", "x");
  one["activation"] = {{"leaky_relu", {{"slope", 0.25}, {"output_scale", 3}}}};
  one["requant"] = {{"scale", {0.1, 0.2, 0.3, 0.4}}, {"dtype", "int8"}};
  const auto activation = std::get<Conv2d>(load(workload({one})).layers[0].operation).activation;
  EXPECT_EQ(activation.kind, ActivationKind::kFunction);
  EXPECT_EQ(activation.function, RealFunction::kLeakyRelu);
  EXPECT_EQ(activation.slope, 0.25);
  EXPECT_EQ(activation.output_scale, 3);
  one.erase("requant");
  EXPECT_NE(message(workload({one})).find("/layers/0/requant: is missing: an activation that is a function"),
            std::string::npos);
}

/// A 1x1 layer of one kernel over `channels` channels, all weights -128, on int8 with zero point `zx`, bias
/// `bias`.
json extreme(int channels, int zx, std::int64_t bias) {
  json file = workload({layer("deep", "x")});
  file["inputs"][0]["shape"] = {1, 1, 1, channels};
  file["inputs"][0]["zero_point"] = zx;
  json& deep = file["layers"][0];
  deep["kernel"] = {1, 1};
  deep["pads"] = {0, 0, 0, 0};
  deep["out_channels"] = 1;
  deep["weights"] = {{"random", {{"seed", 1}, {"min", -128}, {"max", -128}}}};
  deep["bias"] = {{"random", {{"seed", 1}, {"min", bias}, {"max", bias}}}};
  return file;
}

TEST_F(WorkloadLoader, NU_3_refuses_accumulators_beyond_int32) {
  // 131071 * 128 * 128 = 2^31 - 16384: the bias decides.
  EXPECT_EQ(message(extreme(131071, 0, 16383)), "") << "2^31 - 1 is allowed";
  EXPECT_EQ(message(extreme(131071, 0, -16383)), "");
  for (const int bias : {16384, -16384}) {
    const std::string text = message(extreme(131071, 0, bias));
    EXPECT_NE(text.find("layer \"deep\""), std::string::npos) << text;
    EXPECT_NE(text.find("2147483648"), std::string::npos) << "the bound must be named: " << text;
    EXPECT_NE(text.find("2147483647"), std::string::npos) << "the limit must be named: " << text;
  }
}

TEST_F(WorkloadLoader, NU_3_counts_zero_points_and_actual_weights) {
  // zx = 127: the farthest input is -128, 255 away. 65793 * 128 * 255 = 2147483520.
  EXPECT_EQ(message(extreme(65793, 127, 127)), "");
  EXPECT_NE(message(extreme(65793, 127, 128)).find("2147483648"), std::string::npos);
  json file = extreme(65793, 127, 128);
  file["layers"][0]["weights"]["zero_point"] = -128;
  EXPECT_EQ(message(file), "") << "weights equal to their zero point add nothing";
}

TEST_F(WorkloadLoader, UI_6_random_elements_are_reproducible_and_within_bounds) {
  // Reference values of SplitMix64 with seed 1234567 (Vigna's splitmix64.c).
  EXPECT_EQ(splitmix64(1234567, 0), 6457827717110365317U);
  EXPECT_EQ(splitmix64(1234567, 1), 3203168211198807973U);
  EXPECT_EQ(splitmix64(1234567, 2), 9817491932198370423U);
  const Tensor tensor = random_tensor({4096}, DType::kInt8, 7, -3, 2);
  std::map<int, int> seen;
  for (int i = 0; i < 4096; ++i) ++seen[tensor.at(i)];
  EXPECT_EQ(seen.size(), 6U);
  EXPECT_EQ(seen.begin()->first, -3);
  EXPECT_EQ(seen.rbegin()->first, 2);
  for (const auto& [value, count] : seen) EXPECT_NEAR(count, 4096 / 6, 120) << value;
  const Tensor wide = random_tensor({64}, DType::kInt32, 7, INT32_MIN, INT32_MAX);
  EXPECT_EQ(wide.at(5),
            static_cast<std::int32_t>(INT32_MIN + static_cast<std::int64_t>(splitmix64(7, 5) >> 32)));
}

TEST_F(WorkloadLoader, UI_6_random_ranges_default_to_the_type) {
  json file = workload({layer("a", "x")});
  file["inputs"][0]["dtype"] = "uint8";
  file["inputs"][0]["shape"] = {1, 64, 64, 4};
  file["layers"][0]["out_channels"] = 1024;
  file["layers"][0]["bias"] = {{"random", {{"seed", 5}}}};
  const Workload w = load(file);
  const Tensor& x = w.input_data.at("x");
  const auto& conv = std::get<Conv2d>(w.layers[0].operation);
  const auto range = [](const Tensor& t) {
    std::int32_t low = t.at(0), high = t.at(0);
    for (std::int64_t i = 0; i < t.elements(); ++i) {
      low = std::min(low, t.at(i));
      high = std::max(high, t.at(i));
    }
    return std::pair{low, high};
  };
  EXPECT_EQ(range(x), std::pair(0, 255));
  EXPECT_EQ(range(*conv.weights.int8()), std::pair(-127, 127));
  EXPECT_GE(*std::min_element(conv.bias.begin(), conv.bias.end()), -1000);
  EXPECT_LE(*std::max_element(conv.bias.begin(), conv.bias.end()), 1000);
}

TEST(WorkloadModels, UI_6_all_models_load) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(TILEBEAT_SOURCE_DIR "/models")) {
    if (entry.path().extension() != ".json") continue;
    if (entry.path().extension() != ".json") continue;
    const Workload w = load_workload(entry.path().string());
    EXPECT_EQ(w.name, entry.path().stem().string()) << "a model is called like its file";
    EXPECT_FALSE(w.outputs.empty());
    ++files;
  }
  EXPECT_GE(files, 12);
}

TEST(WorkloadModels, SW_3_worked_examples_have_the_documents_useful_macs) {
  const Workload dense = load_workload(TILEBEAT_SOURCE_DIR "/models/worked_dense.json");
  const Workload dilated = load_workload(TILEBEAT_SOURCE_DIR "/models/worked_dilated.json");
  EXPECT_EQ(useful_macs(dense, dense.layers[0]), 31104);
  EXPECT_EQ(useful_macs(dilated, dilated.layers[0]), 17280);
}

TEST(WorkloadModels, SW_6_the_scenes_are_the_worked_examples_on_one_map) {
  const Workload scenes = load_workload(TILEBEAT_SOURCE_DIR "/models/worked_scenes.json");
  const std::map<std::string, Tensor> outputs = run_reference(scenes);
  for (const char* name : {"dense", "dilated"}) {
    const Workload alone = load_workload(std::string(TILEBEAT_SOURCE_DIR "/models/worked_") + name + ".json");
    EXPECT_EQ(alone.input_data.at("x").bytes, scenes.input_data.at("x").bytes);
    EXPECT_FALSE(first_mismatch(name, run_reference(alone).at("conv1"), outputs.at(name)));
  }
}

RC_GTEST_PROP(WorkloadProperties, UI_6_random_valid_workloads_load, ()) {
  const auto number = [](int low, int high) { return *rc::gen::inRange(low, high + 1); };
  const int groups = number(1, 3);
  const int channels = groups * number(1, 4);
  const std::vector<int> shape{number(1, 2), number(1, 12), number(1, 12), channels};
  const std::vector<int> kernel{number(1, 3), number(1, 3)}, dilation{number(1, 3), number(1, 3)};
  const std::vector<int> stride{number(1, 4), number(1, 4)};
  std::vector<int> pads{number(0, 2), number(0, 2), 0, 0};
  std::vector<std::int64_t> expected{shape[0], 0, 0, groups * number(1, 4)};
  for (int axis = 0; axis < 2; ++axis) {
    const int window = (kernel[axis] - 1) * dilation[axis] + 1;
    pads[axis + 2] = std::max(0, window - shape[1 + axis] - pads[axis]) + number(0, 2);
    for (int first = 0; first + window <= shape[1 + axis] + pads[axis] + pads[axis + 2];
         first += stride[axis]) {
      ++expected[1 + axis];
    }
  }
  json one{
      {"name", "a"},
      {"op", "conv2d"},
      {"inputs", {"x"}},
      {"out_channels", expected[3]},
      {"kernel", kernel},
      {"stride", stride},
      {"dilation", dilation},
      {"pads", pads},
      {"groups", groups},
      {"weights", {{"random", {{"seed", number(0, 9)}}}, {"dtype", number(0, 1) == 0 ? "int8" : "uint8"}}}};
  const TemporaryFolder folder;
  const json file{{"inputs", {input("x", shape)}}, {"layers", {one}}};
  const Workload w = load_workload(folder.write("w.json", file.dump()));
  RC_ASSERT(w.layers[0].output.shape == expected);
  RC_ASSERT(run_reference(w).at("a").shape == expected);
}

}  // namespace
}  // namespace tilebeat
