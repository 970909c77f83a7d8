#pragma once

// Gives the layers of a random network an arithmetic of SPEC NU-6: scales of all tensors, and bounds.

#include "random_cases.h"

#include <string>

#include <nlohmann/json.hpp>

namespace tilebeat::testing {

/// Bounds of a result, some of the type's range.
inline nlohmann::json random_bounds(const std::string& type) {
  const int least = type == "uint8" ? 0 : -128;
  return {least + number(0, 120), least + number(130, 255)};
}

/// A sum of products whose combined scale is that of `layer`.
inline void scale_sums(nlohmann::json& layer) {
  nlohmann::json& requant = layer["requant"];
  const double scale = requant["scale"].get<double>(), input = number(1, 1000) * 1e-3;
  const double output = number(1, 1000) * 1e-3;
  requant["input_scale"] = input, requant["output_scale"] = output;
  requant["weight_scale"] = scale * output / input;
  if (layer.contains("out_channels") && one_in(2)) {
    std::vector<double> scales;
    for (int i = 0; i < layer["out_channels"].get<int>(); ++i)
      scales.push_back(scale * output / input * number(50, 150) * 0.01);
    requant["weight_scale"] = scales;
  }
  requant.erase("scale");
  if (layer.contains("activation") && layer["activation"].is_object()) layer.erase("activation");
}

/// `network`, made by RandomNetwork, in `arithmetic`; and a mean over the map of one of its layers' results.
inline nlohmann::json with_arithmetic(nlohmann::json network, const std::string& arithmetic) {
  network["arithmetic"] = arithmetic;
  for (auto& layer : network["layers"]) {
    if (!layer.contains("requant")) continue;
    nlohmann::json& requant = layer["requant"];
    const std::string op = layer["op"];
    if (op == "conv2d" || op == "conv_transpose") {
      scale_sums(layer);
    } else {
      requant["output_scale"] = 1 / requant["scale"].get<double>();
      requant.erase("scale");
    }
    if (op == "conv2d" && one_in(6)) layer["depthwise"] = one_in(2);
    if (op == "conv2d" && one_in(5)) layer["arithmetic"] = one_in(2) ? "fixed" : "float32";
    if (one_in(3)) layer["output_range"] = random_bounds(requant.value("dtype", "int8"));
  }
  const nlohmann::json& input = network["inputs"][0];
  nlohmann::json mean{{"name", "mean"}, {"op", "reduce_mean"}, {"inputs", {input["name"]}}};
  mean["input_scale"] = number(1, 100) * 1e-3;
  mean["axes"] = one_in(2) ? std::vector<int>{1, 2} : std::vector<int>{number(0, 3)};
  mean["requant"] = {{"output_scale", number(1, 100) * 1e-3}, {"zero_point", number(-128, 127)}};
  network["layers"].push_back(mean);
  network["outputs"].push_back("mean");
  return network;
}

}  // namespace tilebeat::testing
