// The references of conv_transpose and of bilinear resize against oneDNN's f32 primitives (SPEC OP-2, NU-5).
#include "onednn_library.h"
#include "reference/reference.h"
#include "workload/tensor_source.h"

#include <cmath>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace tilebeat::testing {
namespace {

class UpsamplingOneDnn : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!onednn.available()) GTEST_SKIP() << "libdnnl.so.2 is not installed";
  }
  OneDnn onednn;
};

int number(int low, int high) {
  return *rc::gen::inRange(low, high + 1);
}

TEST_F(UpsamplingOneDnn, OP_2_conv_transpose_agrees) {
  const bool agrees = rc::check([this] {
    Conv2d c;
    c.form = ConvForm::kTransposed;
    c.kernel = {number(1, 4), number(1, 4)}, c.stride = {number(1, 3), number(1, 3)};
    c.out_channels = number(1, 20), c.weight_zero_point = number(-128, 127);
    TensorInfo info{
        {number(1, 2), number(1, 7), number(1, 7), number(1, 6)}, DType::kInt8, number(-128, 127)};
    Layer layer;
    layer.output = {{info.shape[0], 0, 0, c.out_channels}, DType::kInt32, 0};
    std::int64_t after[2];
    for (std::size_t axis = 0; axis < 2; ++axis) {
      const int most = c.kernel[axis] - 1;
      c.pads[axis] = number(0, most), c.pads[axis + 2] = number(0, most);
      after[axis] = number(0, c.pads[axis + 2]);  // the rest is output_padding
      const std::int64_t out =
          (info.shape[1 + axis] - 1) * c.stride[axis] + c.kernel[axis] - c.pads[axis] - after[axis];
      RC_PRE(out > 0);
      layer.output.shape[1 + axis] = out;
    }
    const auto seed = static_cast<std::uint64_t>(number(0, 1000));
    const Tensor x = random_tensor(info.shape, DType::kInt8, seed, -128, 127);
    c.weights = random_tensor({c.out_channels, c.kernel[0], c.kernel[1], info.shape[3]}, DType::kInt8,
                              seed + 1, -128, 127);
    layer.operation = c;
    const Tensor y = reference_layer(layer, {{x, info}});
    const auto src = describe_map(onednn, info.shape), dst = describe_map(onednn, layer.output.shape);
    const auto wei =
        describe_memory(onednn, {c.out_channels, info.shape[3], c.kernel[0], c.kernel[1]}, dnnl_ohwi);
    const std::int64_t strides[]{c.stride[0], c.stride[1]}, before[]{c.pads[0], c.pads[1]};
    std::vector<float> elements = as_float(x, info.zero_point),
                       w = as_float(*c.weights.int8(), c.weight_zero_point);
    std::vector<float> sums(static_cast<std::size_t>(y.elements()));
    dnnl_deconvolution_desc_t operation;
    ONEDNN(dnnl_deconvolution_forward_desc_init, &operation, dnnl_forward_inference,
           dnnl_deconvolution_direct, &src, &wei, nullptr, &dst, strides, before, after);
    execute(onednn, &operation,
            {{DNNL_ARG_SRC, src, elements}, {DNNL_ARG_WEIGHTS, wei, w}, {DNNL_ARG_DST, dst, sums}});
    for (std::size_t i = 0; i < sums.size(); ++i)
      RC_ASSERT(y.at(static_cast<std::int64_t>(i)) == static_cast<std::int32_t>(sums[i]));
  });
  EXPECT_TRUE(agrees) << "the counterexample is printed above";
}

// oneDNN has half_pixel alone.
TEST_F(UpsamplingOneDnn, OP_2_bilinear_resize_agrees) {
  const bool agrees = rc::check([this] {
    const TensorInfo info{
        {number(1, 2), number(1, 9), number(1, 9), number(1, 6)}, DType::kInt8, number(-128, 127)};
    const Tensor x =
        random_tensor(info.shape, DType::kInt8, static_cast<std::uint64_t>(number(0, 1000)), -128, 127);
    Layer layer;
    layer.operation = Resize{Resize::Mode::kBilinear, ResizeCoordinates::kHalfPixel, {}};
    layer.output = {
        {info.shape[0], number(1, 20), number(1, 20), info.shape[3]}, DType::kInt8, info.zero_point};
    const Tensor y = reference_layer(layer, {{x, info}});
    const auto src = describe_map(onednn, info.shape), dst = describe_map(onednn, layer.output.shape);
    std::vector<float> elements = as_float(x, info.zero_point);
    std::vector<float> means(static_cast<std::size_t>(y.elements()));
    dnnl_resampling_desc_t operation;
    ONEDNN(dnnl_resampling_forward_desc_init, &operation, dnnl_forward_inference, dnnl_resampling_linear,
           nullptr, &src, &dst);
    execute(onednn, &operation, {{DNNL_ARG_SRC, src, elements}, {DNNL_ARG_DST, dst, means}});
    for (std::size_t i = 0; i < means.size(); ++i) {
      const int steps = y.at(static_cast<std::int64_t>(i)) - info.zero_point;
      RC_ASSERT(std::abs(static_cast<float>(steps) - means[i]) <= 0.501F);
    }
  });
  EXPECT_TRUE(agrees) << "the counterexample is printed above";
}

}  // namespace
}  // namespace tilebeat::testing
