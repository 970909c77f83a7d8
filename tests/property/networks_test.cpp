// The networks of models/ compute something: int8 activations that neither die nor saturate (SPEC FU-7).
#include "reference/reference.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

namespace tilebeat {
namespace {

class Network : public ::testing::TestWithParam<const char*> {};

TEST_P(Network, FU_7_activations_stay_lively) {
  const Workload workload = load_workload(std::string(TILEBEAT_SOURCE_DIR "/models/") + GetParam() + ".json");
  const auto outputs = run_reference(workload);
  for (const Layer& layer : workload.layers) {
    const auto* conv = std::get_if<Conv2d>(&layer.operation);
    if (conv == nullptr || !conv->requant) continue;
    const Tensor& y = outputs.at(layer.name);
    double sum = 0, squares = 0, count = 0, saturated = 0;
    for (std::int64_t i = 0; i < y.elements(); ++i) {
      const int value = y.at(i) - layer.output.zero_point;
      if (value == 0) continue;
      sum += value, squares += value * value, ++count;
      saturated += y.at(i) == dtype_max(y.dtype) || y.at(i) == dtype_min(y.dtype) ? 1 : 0;
    }
    const double mean = sum / count, deviation = std::sqrt(squares / count - mean * mean);
    EXPECT_GT(deviation, 20) << layer.name;
    EXPECT_LT(deviation, 50) << layer.name;
    EXPECT_LT(saturated / count, 0.05) << layer.name;
    EXPECT_GT(count / static_cast<double>(y.elements()), 0.3) << layer.name;
  }
  const Tensor& p = outputs.at("softmax");
  std::vector<int> values;
  for (std::int64_t i = 0; i < p.elements(); ++i) values.push_back(p.at(i));
  std::sort(values.begin(), values.end());
  EXPECT_LT(values.back(), 120) << "one class has it all";
  EXPECT_GT(values.end()[-4], -128) << "several classes are likely";
}
INSTANTIATE_TEST_SUITE_P(Networks, Network, ::testing::Values("alexnet", "vgg16", "alexnet_small"),
                         [](const auto& network) { return network.param; });

/// Networks with residual sums and depthwise convolutions, written by scripts/make-networks.
class MadeNetwork : public ::testing::TestWithParam<const char*> {};

TEST_P(MadeNetwork, FU_7_every_layer_stays_lively) {
  const Workload workload = load_workload(std::string(TILEBEAT_SOURCE_DIR "/models/") + GetParam() + ".json");
  const auto outputs = run_reference(workload);
  for (const Layer& layer : workload.layers) {
    if (layer.op == "softmax") continue;
    const Tensor& y = outputs.at(layer.name);
    double sum = 0, squares = 0, saturated = 0;
    const auto count = static_cast<double>(y.elements());
    for (std::int64_t i = 0; i < y.elements(); ++i) {
      const int value = y.at(i) - layer.output.zero_point;
      sum += value, squares += value * value;
      saturated += y.at(i) == dtype_max(y.dtype) || y.at(i) == dtype_min(y.dtype) ? 1 : 0;
    }
    const double mean = sum / count, deviation = std::sqrt(squares / count - mean * mean);
    EXPECT_GT(deviation, 10) << layer.name;
    EXPECT_LT(deviation, 80) << layer.name;
    EXPECT_LT(saturated / count, 0.05) << layer.name;
  }
}
INSTANTIATE_TEST_SUITE_P(Networks, MadeNetwork,
                         ::testing::Values("resnet18", "resnet50", "mobilenet_v1", "mobilenet_v2", "fsrcnn",
                                           "deeplab_v3", "matting_unet"),
                         [](const auto& network) { return network.param; });

}  // namespace
}  // namespace tilebeat
