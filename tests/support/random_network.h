#pragma once

// Random networks: convolutions and operators of the vector unit on maps of a few KiB, as workload files.

#include "../data/temporary_folder.h"
#include "random_cases.h"
#include "workload/workload.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace tilebeat::testing {

/// Makes a network layer by layer; every layer's output is an output of the network.
class RandomNetwork {
 public:
  explicit RandomNetwork(int layers) {
    file_["name"] = "network";
    file_["inputs"] = nlohmann::json::array(), file_["layers"] = nlohmann::json::array();
    add_input({one_in(4) ? 2 : 1, number(1, 14), number(1, 14), skewed(40)});
    for (int i = 0; i < layers; ++i) add_layer();
    for (const auto& layer : file_["layers"]) file_["outputs"].push_back(layer["name"]);
  }
  std::string text() const { return file_.dump(); }
  Workload load() const {
    const TemporaryFolder folder;
    return load_workload(folder.write("network.json", text()));
  }

 private:
  using json = nlohmann::json;
  struct Map {
    std::string name;
    std::vector<int> shape;
    bool wide = false;  // int32
    std::string type = "int8";
    int zero = 0;
  };

  static std::string byte_type() { return one_in(2) ? "int8" : "uint8"; }
  static int zero_of(const std::string& type) { return type == "int8" ? number(-128, 127) : number(0, 255); }
  json seed() { return {{"random", {{"seed", number(1, 100000)}}}}; }

  void add_input(const std::vector<int>& shape) {
    Map map{fmt::format("x{}", file_["inputs"].size()), shape, false, byte_type(), 0};
    if (one_in(2)) map.zero = zero_of(map.type);
    file_["inputs"].push_back({{"name", map.name},
                               {"shape", shape},
                               {"dtype", map.type},
                               {"zero_point", map.zero},
                               {"random", {{"seed", number(1, 100000)}}}});
    maps_.push_back(map);
  }
  // The newest map, or an older one.
  const Map& pick() const {
    if (one_in(2)) return maps_.back();
    return maps_[static_cast<std::size_t>(number(0, static_cast<int>(maps_.size()) - 1))];
  }
  // Gives `layer` a requantisation and its map a type.
  static void requantise(json& layer, Map& map, double scale) {
    map.type = byte_type(), map.wide = false, map.zero = zero_of(map.type);
    layer["requant"] = {{"scale", scale}, {"zero_point", map.zero}, {"dtype", map.type}};
  }
  void finish(json layer, Map map) {
    map.name = fmt::format("y{}", file_["layers"].size());
    layer["name"] = map.name;
    file_["layers"].push_back(std::move(layer));
    maps_.push_back(std::move(map));
  }

  void add_layer() {
    const Map map = pick();
    if (map.wide) return requantize(map);
    switch (number(0, 14)) {
      case 0:
      case 1:
      case 2:
        return convolution(map);
      case 3:
        return pool(map);
      case 4:
        return elementwise(map);
      case 5:
        return concat(map);
      case 6:
        return softmax(map);
      case 7:
        return batchnorm(map);
      case 8:
        return reshape(map);
      case 9:
        return function(map);
      case 10:
        return requantize(map);
      case 11:
        return resize(map);
      case 12:
        return conv_transpose(map);
      case 13:
        return pad(map);
      default:
        return plain(map);
    }
  }

  // Kernel, stride, dilation and padding; false where no output is left.
  static bool window(json& layer, Map& map, bool pool) {
    std::vector<int> kernel, stride, dilation, before, after;
    for (std::size_t axis = 0; axis < 2; ++axis) {
      int& extent = map.shape[1 + axis];
      const int k = skewed(4), s = skewed(3), d = pool ? 1 : skewed(3);
      const int most = pool ? std::min(k - 1, extent - 1) : 3;
      const int b = number(0, most), a = number(0, most);
      const int outs = (extent + a + b - (k - 1) * d - 1) / s + 1;
      if (extent + a + b < (k - 1) * d + 1) return false;
      extent = outs;
      kernel.push_back(k), stride.push_back(s), dilation.push_back(d);
      before.push_back(b), after.push_back(a);
    }
    layer["kernel"] = kernel, layer["stride"] = stride;
    if (!pool) layer["dilation"] = dilation;
    layer["pads"] = {before[0], before[1], after[0], after[1]};
    return true;
  }
  void convolution(Map map) {
    json layer{{"op", "conv2d"}, {"inputs", {map.name}}, {"weights", seed()}};
    const Map before = map;
    if (!window(layer, map, false)) return plain(before);
    const int channels = map.shape[3];
    const bool depthwise = one_in(3);
    const int out = depthwise ? channels : skewed(40);
    layer["out_channels"] = out, layer["groups"] = depthwise ? channels : 1;
    if (one_in(2)) layer["bias"] = seed();
    if (one_in(2)) layer["activation"] = "relu";
    map.shape[3] = out, map.zero = 0, map.wide = one_in(4), map.type = "int32";
    if (!map.wide) requantise(layer, map, number(1, 4000) * 1e-6);
    if (!map.wide && one_in(4)) layer["activation"] = {{"leaky_relu", {{"slope", 0.125}}}};
    finish(layer, map);
  }
  void conv_transpose(Map map) {
    json layer{{"op", "conv_transpose"}, {"inputs", {map.name}}, {"weights", seed()}};
    std::vector<int> kernel, stride, before, after, more;
    for (std::size_t axis = 0; axis < 2; ++axis) {
      const int k = skewed(5), s = skewed(4), b = number(0, k - 1), a = number(0, k - 1),
                m = number(0, s - 1);
      const int outs = (map.shape[1 + axis] - 1) * s + k + m - b - a;
      if (outs < 1 || outs > 40) return plain(map);
      kernel.push_back(k), stride.push_back(s), before.push_back(b), after.push_back(a), more.push_back(m);
    }
    for (std::size_t axis = 0; axis < 2; ++axis)
      map.shape[1 + axis] =
          (map.shape[1 + axis] - 1) * stride[axis] + kernel[axis] + more[axis] - before[axis] - after[axis];
    layer["kernel"] = kernel, layer["stride"] = stride, layer["output_padding"] = more;
    layer["pads"] = {before[0], before[1], after[0], after[1]};
    layer["out_channels"] = map.shape[3] = skewed(40);
    if (one_in(2)) layer["bias"] = seed();
    if (one_in(2)) layer["activation"] = "relu";
    map.zero = 0, map.wide = one_in(4), map.type = "int32";
    if (!map.wide) requantise(layer, map, number(1, 4000) * 1e-6);
    finish(layer, map);
  }
  void pool(Map map) {
    json layer{{"op", one_in(2) ? "max_pool" : "average_pool"}, {"inputs", {map.name}}};
    if (one_in(4)) {
      layer["op"] = one_in(2) ? "global_max_pool" : "global_average_pool";
      map.shape[1] = map.shape[2] = 1;
      return finish(layer, map);
    }
    const Map before = map;
    if (!window(layer, map, true)) return plain(before);
    finish(layer, map);
  }
  void elementwise(Map map) {
    std::string other = map.name;  // the same input twice
    for (const Map& m : maps_) {
      if (m.shape == map.shape && !m.wide && one_in(2)) other = m.name;
    }
    json layer{{"op", one_in(2) ? "add" : one_in(2) ? "sub" : "mul"}, {"inputs", {map.name, other}}};
    layer["input_scales"] = {0.04, 0.03};
    if (one_in(3)) layer["activation"] = "relu";
    requantise(layer, map, 20);
    finish(layer, map);
  }
  // Of maps of the same size, type and zero point.
  void concat(Map map) {
    json layer{{"op", "concat"}, {"inputs", {map.name}}};
    int channels = map.shape[3];
    for (const Map& m : maps_) {
      const bool same = m.shape[0] == map.shape[0] && m.shape[1] == map.shape[1] &&
                        m.shape[2] == map.shape[2] && !m.wide && m.type == map.type && m.zero == map.zero;
      if (!same || channels + m.shape[3] > 60) continue;
      layer["inputs"].push_back(m.name), channels += m.shape[3];
    }
    if (layer["inputs"].size() < 2 || layer["inputs"].size() > 16) return plain(map);
    map.shape[3] = channels;
    finish(layer, map);
  }
  void softmax(Map map) {
    json layer{{"op", "softmax"}, {"inputs", {map.name}}, {"input_scale", number(1, 100) * 1e-3}};
    requantise(layer, map, 256);
    finish(layer, map);
  }
  void batchnorm(Map map) {
    json layer{{"op", "batchnorm"}, {"inputs", {map.name}}, {"input_scale", 0.04}, {"variance", 1.5}};
    std::vector<double> mean;
    for (int i = 0; i < map.shape[3]; ++i) mean.push_back(number(-10, 10) * 0.1);
    layer["mean"] = mean;
    requantise(layer, map, 25);
    finish(layer, map);
  }
  void reshape(Map map) {
    json layer{{"op", "reshape"}, {"inputs", {map.name}}};
    std::swap(map.shape[1], map.shape[3]);
    layer["shape"] = map.shape;
    finish(layer, map);
  }
  void function(Map map) {
    json layer{{"op", one_in(2) ? "sigmoid" : "hard_swish"}, {"inputs", {map.name}}, {"input_scale", 0.05}};
    requantise(layer, map, 100);
    finish(layer, map);
  }
  void pad(Map map) {
    json layer{{"op", "pad"}, {"inputs", {map.name}}};
    std::vector<int> pads;
    for (int side = 0; side < 4; ++side) pads.push_back(one_in(3) ? 0 : skewed(6));
    layer["pads"] = pads;
    map.shape[1] += pads[0] + pads[2], map.shape[2] += pads[1] + pads[3];
    if (one_in(3)) {
      const int before = skewed(9), after = skewed(9);
      layer["channel_pads"] = {before, after};
      map.shape[3] += before + after;
    }
    if (one_in(2)) layer["value"] = zero_of(map.type);
    finish(layer, map);
  }
  void resize(Map map) {
    json layer{{"op", "resize"}, {"inputs", {map.name}}, {"mode", one_in(2) ? "bilinear" : "nearest"}};
    const char* const coordinates[] = {"half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric"};
    const char* const roundings[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"};
    layer["coordinate_mode"] = coordinates[number(0, 3)];
    if (layer["mode"] == "nearest") layer["nearest_mode"] = roundings[number(0, 3)];
    map.shape[1] = skewed(28), map.shape[2] = skewed(28);
    layer["size"] = {map.shape[1], map.shape[2]};
    finish(layer, map);
  }
  void requantize(Map map) {
    json layer{{"op", "requantize"}, {"inputs", {map.name}}, {"input_scale", map.wide ? 0.0005 : 0.04}};
    requantise(layer, map, 20);
    finish(layer, map);
  }
  void plain(Map map) {
    if (map.wide) return requantize(map);
    finish({{"op", one_in(2) ? "relu" : "dropout"}, {"inputs", {map.name}}}, map);
  }

  json file_;
  std::vector<Map> maps_;
};

/// Whether a layer reads a tensor.
inline bool reads(const Layer& layer, const std::string& tensor) {
  return std::count(layer.inputs.begin(), layer.inputs.end(), tensor) > 0;
}

/// Only what nobody reads leaves the network.
inline void keep_last_outputs(Workload& workload) {
  workload.outputs.clear();
  for (const Layer& layer : workload.layers) {
    const bool read = std::any_of(workload.layers.begin(), workload.layers.end(),
                                  [&](const Layer& other) { return reads(other, layer.name); });
    if (!read) workload.outputs.push_back(layer.name);
  }
}

}  // namespace tilebeat::testing
