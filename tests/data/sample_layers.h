#pragma once

#include <map>
#include <string>

#include <nlohmann/json.hpp>

namespace tilebeat {

/// One good layer of every operator, with every field that it can have but `scene`. They read the inputs of
/// `sample_workload`.
inline std::map<std::string, nlohmann::json> sample_layers() {
  using nlohmann::json;
  std::map<std::string, json> layers;
  const auto add = [&layers](const char* op, const char* fields, const char* inputs = R"(["a"])") {
    json layer = json::parse(fields);
    layer["name"] = "y";
    layer["op"] = op;
    layer["inputs"] = json::parse(inputs);
    layers[op] = layer;
  };
  const char* pair = R"({"input_scales": [0.5, 0.25], "activation": "relu",
                         "requant": {"scale": 2.5, "zero_point": 3, "dtype": "uint8"}})";
  const char* function = R"({"input_scale": 0.05, "requant": {"scale": 100, "zero_point": -1}})";
  add("conv2d", R"({"out_channels": 4, "kernel": [3, 2], "stride": [1, 2], "dilation": [1, 2],
    "pads": [1, 0, 1, 0], "groups": 2, "weights": {"random": {"seed": 2}}, "bias": {"random": {"seed": 3}},
    "activation": "relu", "requant": {"scale": 0.01}})");
  add("conv_transpose", R"({"out_channels": 3, "kernel": [3, 4], "stride": [2, 3], "pads": [1, 0, 2, 3],
    "output_padding": [1, 2], "weights": {"random": {"seed": 2}, "zero_point": 1},
    "bias": {"random": {"seed": 3}}, "activation": "relu", "requant": {"scale": [0.01, 0.02, 0.03]}})");
  add("fully_connected", R"({"out_features": 3, "weights": {"random": {"seed": 2}, "zero_point": 1},
    "bias": {"random": {"seed": 3}}, "activation": {"clamp": [-9, 99]}, "requant": {"scale": [1, 2, 3]}})");
  add("matmul",
      R"({"out_features": 3, "weights": {"random": {"seed": 2}, "zero_point": 1}, "transpose_b": true,
    "transpose_a": false, "weights_axes": [], "bias": {"random": {"seed": 3}}, "activation": "relu", "requant": {"scale": [1, 2, 3]}})");
  add("max_pool", R"({"kernel": [2, 2], "stride": [1, 2], "pads": [1, 1, 0, 0], "dilation": [2, 1]})");
  add("average_pool",
      R"({"kernel": [3, 2], "stride": [1, 1], "pads": [1, 0, 1, 0], "count_include_pad": true,
          "input_scale": 1, "requant": {"scale": 1}})");
  for (const char* op : {"global_max_pool", "global_average_pool", "relu", "flatten", "dropout"})
    add(op, "{}");
  for (const char* op : {"add", "sub", "mul"}) add(op, pair, R"(["a", "b"])");
  add("clamp", R"({"low": -5, "high": 70})");
  add("leaky_relu", R"({"slope": 0.1, "input_scale": 0.05, "requant": {"scale": 20}})");
  for (const char* op : {"sigmoid", "tanh", "hard_swish", "gelu"}) add(op, function);
  add("scale", R"({"scale": [0.5, -2], "offset": 0.25, "requant": {"scale": 2}})");
  add("batchnorm", R"({"mean": [0.5, -0.5], "variance": 2, "gamma": [1, 2], "beta": 0.5, "epsilon": 0.001,
    "input_scale": 0.05, "requant": {"scale": 20}})");
  add("requantize", R"({"input_scale": 0.5, "requant": {"scale": 0.5}})");
  add("softmax",
      R"({"beta": 1, "axis": 3, "input_scale": 0.1, "requant": {"scale": 255, "dtype": "uint8"}})");
  add("reshape", R"({"shape": [2, 4, 4]})");
  add("pad", R"({"pads": [1, 0, 2, 3], "channel_pads": [2, 1], "value": -9})");
  add("resize",
      R"({"size": [3, 7], "mode": "nearest", "coordinate_mode": "asymmetric", "nearest_mode": "ceil"})");
  add("concat", R"({"axis": 3})", R"(["a", "b", "a"])");
  add("layernorm", R"({"gamma": [1, 2], "beta": 0.5, "epsilon": 0.001, "input_scale": 0.05,
                       "requant": {"scale": 30}})");
  add("lrn", R"({"size": 3, "alpha": 0.1, "beta": 0.5, "bias": 2, "input_scale": 0.05,
                 "requant": {"scale": 30}})");
  add("reduce_sum", R"({"axes": [1, 2], "keep_dims": false, "input_scale": 0.05, "requant": {"scale": 30}})");
  add("reduce_max", R"({"axes": [-1], "keep_dims": false})");
  add("transpose", R"({"perm": [0, 3, 1, 2]})");
  add("slice", R"({"starts": [0, 1, 0, 0], "ends": [1, 4, 4, 1], "steps": [1, 2, 1, 1]})");
  add("gather", R"({"axis": 3, "indices": [1, 0, 1]})");
  add("argmax", R"({"result": "one_hot"})");
  return layers;
}

/// A good matmul of two inputs, with every field that it can have but `scene`.
inline nlohmann::json sample_product() {
  return nlohmann::json::parse(R"({"name": "y", "op": "matmul", "inputs": ["a", "b"], "transpose_a": false,
    "transpose_b": true, "bias": {"random": {"seed": 3}}, "activation": "relu",
    "requant": {"scale": [1, 2, 3, 4]}})");
}

/// A workload of one layer, with the inputs a and b, int8 maps [1, 4, 4, 2], and others that do not fit them.
inline nlohmann::json sample_workload(const nlohmann::json& layer) {
  nlohmann::json file = nlohmann::json::parse(R"({"inputs": [
      {"name": "a", "shape": [1, 4, 4, 2], "random": {"seed": 1}},
      {"name": "b", "shape": [1, 4, 4, 2], "random": {"seed": 2}},
      {"name": "flat", "shape": [32], "random": {"seed": 3}},
      {"name": "narrow", "shape": [1, 4, 3, 2], "random": {"seed": 4}},
      {"name": "shifted", "shape": [1, 4, 4, 2], "random": {"seed": 5}, "zero_point": 7},
      {"name": "unsigned", "shape": [1, 4, 4, 2], "dtype": "uint8", "random": {"seed": 6}}],
    "layers": [
      {"name": "sums", "op": "conv2d", "inputs": ["a"], "out_channels": 2, "kernel": [1, 1],
       "weights": {"random": {"seed": 7}}}],
    "outputs": ["sums"]})");
  file["layers"].insert(file["layers"].begin(), layer);
  return file;
}

}  // namespace tilebeat
