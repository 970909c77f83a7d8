#include "reference/reference.h"

#include "tilebeat/error.h"
#include "workload/tensor_source.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace tilebeat {
namespace {

std::int64_t output_extent(std::int64_t size, int kernel, int dilation, int stride, int before, int after) {
  std::int64_t outputs = 0;
  while (outputs * stride + (kernel - 1) * dilation < size + before + after) ++outputs;
  return outputs;
}

/// The sum of one output element by the definition, with a padded map of zero points.
std::int64_t defined_sum(const Tensor& x, std::int32_t zx, const Conv2d& c, std::int64_t n, std::int64_t oh,
                         std::int64_t ow, std::int64_t co) {
  const std::int64_t channels = x.shape[3] / c.groups;
  const std::int64_t group = co / (c.out_channels / c.groups);
  std::int64_t sum = 0;
  for (std::int64_t ci = 0; ci < channels; ++ci) {
    for (int r = 0; r < c.kernel[0]; ++r) {
      for (int s = 0; s < c.kernel[1]; ++s) {
        const std::int64_t h = oh * c.stride[0] - c.pads[0] + r * c.dilation[0];
        const std::int64_t w = ow * c.stride[1] - c.pads[1] + s * c.dilation[1];
        const bool inside = h >= 0 && w >= 0 && h < x.shape[1] && w < x.shape[2];
        const std::int64_t pixel =
            inside ? x.at(((n * x.shape[1] + h) * x.shape[2] + w) * x.shape[3] + group * channels + ci) : zx;
        const std::int64_t weight =
            c.weights.int8()->at(((co * c.kernel[0] + r) * c.kernel[1] + s) * channels + ci);
        sum += (pixel - zx) * (weight - c.weight_zero_point);
      }
    }
  }
  return sum + (c.bias.empty() ? 0 : c.bias[static_cast<std::size_t>(co)]);
}

struct Case {
  Tensor x;
  TensorInfo info;
  Conv2d conv;
};

/// A random layer that fits its map; without requantisation.
Case random_case() {
  const auto number = [](int low, int high) { return *rc::gen::inRange(low, high + 1); };
  Case c;
  Conv2d& conv = c.conv;
  conv.groups = number(1, 3);
  conv.kernel = {number(1, 4), number(1, 4)};
  conv.stride = {number(1, 3), number(1, 3)};
  conv.dilation = {number(1, 3), number(1, 3)};
  conv.pads = {number(0, 3), number(0, 3), number(0, 3), number(0, 3)};
  conv.out_channels = conv.groups * number(1, 5);
  c.info.dtype = *rc::gen::element(DType::kInt8, DType::kUint8);
  c.info.zero_point =
      number(static_cast<int>(dtype_min(c.info.dtype)), static_cast<int>(dtype_max(c.info.dtype)));
  conv.weight_zero_point = number(-128, 127);
  const std::int64_t channels = number(1, 5);
  c.info.shape = {number(1, 2), (conv.kernel[0] - 1) * conv.dilation[0] + number(1, 6),
                  (conv.kernel[1] - 1) * conv.dilation[1] + number(1, 6), channels * conv.groups};
  const auto seed = static_cast<std::uint64_t>(number(0, 1000));
  c.x = random_tensor(c.info.shape, c.info.dtype, seed, dtype_min(c.info.dtype), dtype_max(c.info.dtype));
  conv.weights = random_tensor({conv.out_channels, conv.kernel[0], conv.kernel[1], channels}, DType::kInt8,
                               seed + 1, -128, 127);
  if (number(0, 1) == 1) {
    const Tensor bias = random_tensor({conv.out_channels}, DType::kInt32, seed + 2, -100000, 100000);
    for (int i = 0; i < conv.out_channels; ++i) conv.bias.push_back(bias.at(i));
  }
  return c;
}

RC_GTEST_PROP(Reference, NU_1_accumulators_follow_the_definition, ()) {
  const Case c = random_case();
  const Tensor y = reference_conv2d(c.x, c.info, c.conv);
  RC_ASSERT(y.dtype == DType::kInt32);
  const auto& k = c.conv;
  const std::vector<std::int64_t> shape{
      c.x.shape[0],
      output_extent(c.x.shape[1], k.kernel[0], k.dilation[0], k.stride[0], k.pads[0], k.pads[2]),
      output_extent(c.x.shape[2], k.kernel[1], k.dilation[1], k.stride[1], k.pads[1], k.pads[3]),
      k.out_channels};
  RC_ASSERT(y.shape == shape);
  std::int64_t element = 0;
  for (std::int64_t n = 0; n < shape[0]; ++n) {
    for (std::int64_t oh = 0; oh < shape[1]; ++oh) {
      for (std::int64_t ow = 0; ow < shape[2]; ++ow) {
        for (std::int64_t co = 0; co < shape[3]; ++co) {
          RC_ASSERT(y.at(element++) == defined_sum(c.x, c.info.zero_point, c.conv, n, oh, ow, co));
        }
      }
    }
  }
}

/// What a layer of one 1x1 kernel of weight 1 makes of the accumulator `acc`, which its bias delivers.
std::int32_t post_processed(std::int32_t acc, Activation activation, std::optional<Requant> requant) {
  Conv2d conv;
  conv.weights = Tensor{{1, 1, 1, 1}, DType::kInt8, {1}};
  conv.bias = {acc};
  conv.activation = activation;
  conv.requant = std::move(requant);
  return reference_conv2d(Tensor{{1, 1, 1, 1}, DType::kInt8, {0}}, {{1, 1, 1, 1}, DType::kInt8, 0}, conv)
      .at(0);
}

TEST(Reference, NU_2_rounds_half_to_even_and_saturates) {
  const Requant half{{0.5}, 0, DType::kInt8};
  for (const auto& [acc, expected] : {std::pair{1, 0},
                                      {2, 1},
                                      {3, 2},
                                      {5, 2},
                                      {7, 4},
                                      {-1, 0},
                                      {-3, -2},
                                      {-5, -2},
                                      {-7, -4},
                                      {254, 127},
                                      {256, 127},
                                      {-256, -128},
                                      {-258, -128},
                                      {INT32_MAX, 127},
                                      {INT32_MIN, -128}}) {
    EXPECT_EQ(post_processed(acc, {}, half), expected) << acc << " * 0.5";
  }
  EXPECT_EQ(post_processed(-8, {}, Requant{{0.5}, 3, DType::kUint8}), 0);
  EXPECT_EQ(post_processed(-3, {}, Requant{{0.5}, 3, DType::kUint8}), 1)
      << "rounded before the zero point is added";
  EXPECT_EQ(post_processed(1000, {}, Requant{{0.5}, 3, DType::kUint8}), 255);
  EXPECT_EQ(post_processed(1000000, {}, Requant{{1e6}, 0, DType::kInt8}), 127);
}

// v = acc * 0.5; the values by hand.
TEST(Reference, NU_2_functions_of_the_real_value) {
  struct FunctionCase {
    RealFunction function;
    double output_scale;
    std::int32_t acc, result;
  };
  for (const FunctionCase& c :
       {FunctionCase{RealFunction::kLeakyRelu, 1, 7, 4}, FunctionCase{RealFunction::kLeakyRelu, 1, -40, -5},
        FunctionCase{RealFunction::kLeakyRelu, 2, -40, -10}, FunctionCase{RealFunction::kSigmoid, 100, 0, 50},
        FunctionCase{RealFunction::kSigmoid, 100, 4, 88}, FunctionCase{RealFunction::kSigmoid, 100, -4, 12},
        FunctionCase{RealFunction::kTanh, 100, 2, 76}, FunctionCase{RealFunction::kTanh, 100, -2, -76},
        FunctionCase{RealFunction::kHardSwish, 10, 2, 7}, FunctionCase{RealFunction::kHardSwish, 10, -4, -3},
        FunctionCase{RealFunction::kHardSwish, 1, 12, 6}, FunctionCase{RealFunction::kGelu, 100, 2, 84},
        FunctionCase{RealFunction::kGelu, 100, -2, -16}}) {
    Activation activation;
    activation.kind = ActivationKind::kFunction;
    activation.function = c.function, activation.output_scale = c.output_scale, activation.slope = 0.25;
    EXPECT_EQ(post_processed(c.acc, activation, Requant{{0.5}, 0, DType::kInt8}), c.result)
        << static_cast<int>(c.function) << " of " << c.acc << " halves";
    EXPECT_EQ(post_processed(c.acc, activation, Requant{{0.5}, 5, DType::kInt8}), c.result + 5);
  }
}

TEST(Reference, NU_2_activates_between_bias_and_requantisation) {
  const Activation relu{ActivationKind::kRelu, INT32_MIN, INT32_MAX};
  const Activation clamp{ActivationKind::kClamp, -10, 20};
  EXPECT_EQ(post_processed(-7, relu, std::nullopt), 0);
  EXPECT_EQ(post_processed(7, relu, std::nullopt), 7);
  EXPECT_EQ(post_processed(-70, clamp, std::nullopt), -10);
  EXPECT_EQ(post_processed(70, clamp, std::nullopt), 20);
  EXPECT_EQ(post_processed(-70, relu, Requant{{1.0}, -5, DType::kInt8}), -5) << "0 becomes the zero point";
}

TEST(Reference, NU_2_scales_each_output_channel_by_its_own) {
  Conv2d conv;
  conv.out_channels = 2;
  conv.weights = Tensor{{2, 1, 1, 1}, DType::kInt8, {1, 1}};
  conv.requant = Requant{{1.0, 0.25}, 0, DType::kInt8};
  const Tensor y =
      reference_conv2d(Tensor{{1, 1, 2, 1}, DType::kInt8, {100, 40}}, {{1, 1, 2, 1}, DType::kInt8, 0}, conv);
  EXPECT_EQ(y.bytes, (std::vector<std::uint8_t>{100, 25, 40, 10}));
}

TEST(Reference, NU_5_names_the_first_difference) {
  const Tensor good{{2, 2, 1, 3}, DType::kInt32, std::vector<std::uint8_t>(48, 0)};
  Tensor bad = good;
  bad.bytes[4 * 7 + 1] = 1;
  bad.bytes[4 * 9] = 1;
  EXPECT_FALSE(first_mismatch("a", good, good));
  const Mismatch found = first_mismatch("a", good, bad).value();
  EXPECT_EQ(found.layer, "a");
  EXPECT_EQ(found.index, (std::vector<std::int64_t>{1, 0, 0, 1}));
  EXPECT_EQ(found.expected, 0);
  EXPECT_EQ(found.actual, 256);
  bad.shape = {2, 2, 3, 1};
  EXPECT_THROW(first_mismatch("a", good, bad), SimulationError) << "shapes must agree";
}

TEST(Reference, NU_5_equals_the_published_results_of_real_layers) {
  const std::string layers = TILEBEAT_SOURCE_DIR "/tests/data/layers/";
  for (const char* name : {"residual_3x3", "residual_3x3_stride2", "conv2d_dilated_stride2"}) {
    const Workload workload = load_workload(layers + name + "/workload.json");
    const std::map<std::string, Tensor> outputs = run_reference(workload);
    ASSERT_EQ(workload.expected.size(), 1U);
    for (const auto& [layer, expected] : workload.expected) {
      EXPECT_FALSE(first_mismatch(layer, expected, outputs.at(layer))) << name;
    }
  }
}

}  // namespace
}  // namespace tilebeat
