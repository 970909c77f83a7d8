// The reference against oneDNN's f32 primitives, which know nothing of it. Sums stay below 2^24, where float
// is exact; where a division or an exponential follows, the reference's rounded result is half a step away at
// most.
#include "onednn_library.h"
#include "reference/reference.h"
#include "workload/tensor_source.h"

#include <cmath>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

// Read by the address sanitizer, for all tests of this program: its leak checker crashes at the end of one
// that has used oneDNN's inner product ("Tracer caught signal 11"), depending on the length of the command
// line. GCC 12, oneDNN 2.6.
extern "C" const char* __asan_default_options() {
  return "detect_leaks=0";
}

namespace tilebeat::testing {
namespace {

struct Layer2d {
  Tensor x;
  TensorInfo info;
  Conv2d conv;
  std::vector<std::int64_t> output_shape;
};

std::vector<float> onednn_conv2d(const OneDnn& onednn, const Layer2d& layer) {
  const Conv2d& c = layer.conv;
  const auto& in = layer.x.shape;
  const auto& out = layer.output_shape;
  const auto src = describe_map(onednn, in), dst = describe_map(onednn, out);
  const auto wei = describe_memory(
      onednn, {c.groups, c.out_channels / c.groups, in[3] / c.groups, c.kernel[0], c.kernel[1]}, dnnl_gohwi);
  const std::int64_t strides[]{c.stride[0], c.stride[1]}, dilates[]{c.dilation[0] - 1, c.dilation[1] - 1};
  const std::int64_t before[]{c.pads[0], c.pads[1]}, after[]{c.pads[2], c.pads[3]};
  std::vector<float> x = as_float(layer.x, layer.info.zero_point),
                     w = as_float(*c.weights.int8(), c.weight_zero_point);
  std::vector<float> y(static_cast<std::size_t>(out[0] * out[1] * out[2] * out[3]));
  dnnl_convolution_desc_t operation;
  ONEDNN(dnnl_dilated_convolution_forward_desc_init, &operation, dnnl_forward_inference,
         dnnl_convolution_direct, &src, &wei, nullptr, &dst, strides, dilates, before, after);
  execute(onednn, &operation, {{DNNL_ARG_SRC, src, x}, {DNNL_ARG_WEIGHTS, wei, w}, {DNNL_ARG_DST, dst, y}});
  return y;
}

/// A layer of at most 4 * 3 * 3 taps, |products| <= 255 * 255: sums stay below 2^22.
Layer2d random_layer() {
  const auto number = [](int low, int high) { return *rc::gen::inRange(low, high + 1); };
  Layer2d layer;
  Conv2d& c = layer.conv;
  c.groups = number(1, 3);
  c.out_channels = c.groups * number(1, 20);
  c.kernel = {number(1, 3), number(1, 3)};
  c.stride = {number(1, 3), number(1, 3)};
  c.dilation = {number(1, 4), number(1, 4)};
  c.pads = {number(0, 3), number(0, 3), number(0, 3), number(0, 3)};
  c.weight_zero_point = number(-128, 127);
  const std::int64_t channels = number(1, 4);
  layer.output_shape = {number(1, 2), 0, 0, c.out_channels};
  layer.info.shape = {layer.output_shape[0], 0, 0, channels * c.groups};
  for (std::size_t axis = 0; axis < 2; ++axis) {
    const int window = (c.kernel[axis] - 1) * c.dilation[axis] + 1;
    const int size = window + number(0, 12);
    layer.info.shape[1 + axis] = size;
    layer.output_shape[1 + axis] = (size + c.pads[axis] + c.pads[axis + 2] - window) / c.stride[axis] + 1;
  }
  layer.info.zero_point = number(-128, 127);
  const auto seed = static_cast<std::uint64_t>(number(0, 1000));
  layer.x = random_tensor(layer.info.shape, DType::kInt8, seed, -128, 127);
  c.weights =
      random_tensor({c.out_channels, c.kernel[0], c.kernel[1], channels}, DType::kInt8, seed + 1, -128, 127);
  return layer;
}

class ReferenceOneDnn : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!onednn.available()) GTEST_SKIP() << "libdnnl.so.2 is not installed";
  }
  OneDnn onednn;
};
constexpr const char* kCounterexample = "the counterexample is printed above";

TEST_F(ReferenceOneDnn, NU_5_convolution_agrees) {
  const bool agrees = rc::check([this] {
    const Layer2d layer = random_layer();
    const Tensor y = reference_conv2d(layer.x, layer.info, layer.conv);
    RC_ASSERT(y.shape == layer.output_shape);
    const std::vector<float> expected = onednn_conv2d(onednn, layer);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      RC_ASSERT(y.at(static_cast<std::int64_t>(i)) == static_cast<std::int32_t>(expected[i]));
    }
  });
  EXPECT_TRUE(agrees) << kCounterexample;
}

/// A map whose extents are given, with random elements.
TensorInfo random_map(std::vector<std::int64_t> shape, Tensor& x) {
  const TensorInfo info{std::move(shape), DType::kInt8, *rc::gen::inRange(-128, 128)};
  x = random_tensor(info.shape, DType::kInt8, static_cast<std::uint64_t>(*rc::gen::inRange(0, 1000)), -128,
                    127);
  return info;
}

Layer layer_of(LayerOperation operation, std::vector<std::int64_t> shape, std::int32_t zero_point) {
  Layer layer;
  layer.operation = std::move(operation);
  layer.output = {std::move(shape), DType::kInt8, zero_point};
  return layer;
}

std::vector<float> onednn_pool(const OneDnn& onednn, const Pooling& p, const Operand& x,
                               const std::vector<std::int64_t>& shape) {
  const auto src = describe_map(onednn, x.info.shape), dst = describe_map(onednn, shape);
  const auto kind = p.kind == Pooling::Kind::kMax ? dnnl_pooling_max
                    : p.count_include_pad         ? dnnl_pooling_avg_include_padding
                                                  : dnnl_pooling_avg_exclude_padding;
  const std::int64_t kernel[]{p.kernel[0], p.kernel[1]}, strides[]{p.stride[0], p.stride[1]};
  const std::int64_t dilates[]{p.dilation[0] - 1, p.dilation[1] - 1};
  const std::int64_t before[]{p.pads[0], p.pads[1]}, after[]{p.pads[2], p.pads[3]};
  dnnl_pooling_v2_desc_t operation;
  ONEDNN(dnnl_pooling_v2_forward_desc_init, &operation, dnnl_forward_inference, kind, &src, &dst, strides,
         kernel, dilates, before, after);
  std::vector<float> elements = as_float(x.tensor, x.info.zero_point);
  std::vector<float> y(static_cast<std::size_t>(shape[0] * shape[1] * shape[2] * shape[3]));
  execute(onednn, &operation, {{DNNL_ARG_SRC, src, elements}, {DNNL_ARG_DST, dst, y}});
  return y;
}

TEST_F(ReferenceOneDnn, NU_5_pooling_agrees) {
  const bool agrees = rc::check([this] {
    const auto number = [](int low, int high) { return *rc::gen::inRange(low, high + 1); };
    Pooling pool;
    pool.kind = number(0, 1) == 0 ? Pooling::Kind::kMax : Pooling::Kind::kAverage;
    pool.count_include_pad = number(0, 1) == 1;
    pool.kernel = {number(1, 4), number(1, 4)};
    pool.stride = {number(1, 3), number(1, 3)};
    std::vector<std::int64_t> shape{number(1, 2), 0, 0, number(1, 20)}, output = shape;
    for (std::size_t axis = 0; axis < 2; ++axis) {
      if (pool.kind == Pooling::Kind::kMax) pool.dilation[axis] = number(1, 3);
      const int window = (pool.kernel[axis] - 1) * pool.dilation[axis] + 1;
      shape[1 + axis] = window + number(0, 8);
      pool.pads[axis] = number(0, pool.kernel[axis] - 1),
      pool.pads[axis + 2] = number(0, pool.kernel[axis] - 1);
      output[1 + axis] =
          (shape[1 + axis] + pool.pads[axis] + pool.pads[axis + 2] - window) / pool.stride[axis] + 1;
    }
    Tensor x;
    const TensorInfo info = random_map(shape, x);
    const Operand operand{x, info};
    const Tensor y = reference_layer(layer_of(pool, output, info.zero_point), {operand});
    const std::vector<float> expected = onednn_pool(onednn, pool, operand, output);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const int steps = y.at(static_cast<std::int64_t>(i)) - info.zero_point;
      const float allowed = pool.kind == Pooling::Kind::kMax ? 0.0F : 0.5001F;
      RC_ASSERT(std::abs(static_cast<float>(steps) - expected[i]) <= allowed);
    }
  });
  EXPECT_TRUE(agrees) << kCounterexample;
}

TEST_F(ReferenceOneDnn, NU_5_fully_connected_agrees) {
  const bool agrees = rc::check([this] {
    const auto number = [](int low, int high) { return *rc::gen::inRange(low, high + 1); };
    Tensor x;
    const TensorInfo info = random_map({number(1, 3), number(1, 5), number(1, 5), number(1, 9)}, x);
    Conv2d conv;
    conv.kernel = {static_cast<int>(info.shape[1]), static_cast<int>(info.shape[2])};
    conv.out_channels = number(1, 30);
    conv.weights = random_tensor({conv.out_channels, info.shape[1], info.shape[2], info.shape[3]},
                                 DType::kInt8, 5, -128, 127);
    const Tensor y = reference_conv2d(x, info, conv);
    const auto src = describe_map(onednn, info.shape);
    const auto wei =
        describe_memory(onednn, {conv.out_channels, info.shape[3], info.shape[1], info.shape[2]}, dnnl_ohwi);
    const auto dst = describe_memory(onednn, {info.shape[0], conv.out_channels}, dnnl_nc);
    dnnl_inner_product_desc_t operation;
    ONEDNN(dnnl_inner_product_forward_desc_init, &operation, dnnl_forward_inference, &src, &wei, nullptr,
           &dst);
    std::vector<float> elements = as_float(x, info.zero_point), weights = as_float(*conv.weights.int8(), 0);
    std::vector<float> sums(static_cast<std::size_t>(y.elements()));
    execute(onednn, &operation,
            {{DNNL_ARG_SRC, src, elements}, {DNNL_ARG_WEIGHTS, wei, weights}, {DNNL_ARG_DST, dst, sums}});
    RC_ASSERT(y.shape == (std::vector<std::int64_t>{info.shape[0], 1, 1, conv.out_channels}));
    for (std::size_t i = 0; i < sums.size(); ++i) {
      RC_ASSERT(y.at(static_cast<std::int64_t>(i)) == static_cast<std::int32_t>(sums[i]));
    }
  });
  EXPECT_TRUE(agrees) << kCounterexample;
}

/// A product of matrices with leading axes: B a second input, or weights.
struct RandomMatmul {
  Conv2d conv;
  std::vector<Tensor> tensors;  ///< A and B as they lie in memory
  std::vector<TensorInfo> infos;
  TensorInfo output;
};

/// Sums of at most 100 products of nine-bit numbers: below 2^24. Extents of 1 among the leading axes are
/// repeated; oneDNN wants as many axes of both.
RandomMatmul random_matmul(KernelSource source) {
  const auto number = [](int low, int high) { return *rc::gen::inRange(low, high + 1); };
  RandomMatmul made;
  MatrixProduct& p = made.conv.product;
  made.conv.pixels = PixelAxes::kMatrices;
  made.conv.kernels = source;
  p.a = number(0, 1) == 1 ? MatrixOrder::kTransposed : MatrixOrder::kPlain;
  p.b = number(0, 1) == 1 ? MatrixOrder::kTransposed : MatrixOrder::kPlain;
  p.rows = number(1, 12), p.inner = number(1, 100), made.conv.out_channels = number(1, 12);
  for (int axis = number(0, 3); axis > 0; --axis) {
    const int extent = number(1, 4), kind = number(0, 2);
    p.a_axes.push_back(kind == 0 ? 1 : extent), p.b_axes.push_back(kind == 1 ? 1 : extent);
    made.output.shape.push_back(extent);
  }
  made.output.shape.push_back(p.rows), made.output.shape.push_back(made.conv.out_channels);
  made.output.dtype = DType::kInt32;
  const auto add = [&](const std::vector<std::int64_t>& axes, std::int64_t rows, std::int64_t columns,
                       MatrixOrder order) {
    TensorInfo info{axes, DType::kInt8, number(-128, 127)};
    if (order == MatrixOrder::kTransposed) std::swap(rows, columns);
    info.shape.push_back(rows), info.shape.push_back(columns);
    made.tensors.push_back(
        random_tensor(info.shape, info.dtype, static_cast<std::uint64_t>(number(0, 1000)), -128, 127));
    made.infos.push_back(info);
  };
  add(p.a_axes, p.rows, p.inner, p.a);
  add(p.b_axes, p.inner, made.conv.out_channels, p.b);
  made.conv.weight_zero_point = made.infos[1].zero_point;
  if (source == KernelSource::kWeights) made.conv.weights = made.tensors[1];
  return made;
}

/// A memory of matrices, [rows, columns] for oneDNN however they lie.
dnnl_memory_desc_t describe_matrices(const OneDnn& onednn, std::vector<std::int64_t> shape,
                                     MatrixOrder order) {
  std::vector<std::int64_t> strides(shape.size(), 1);
  for (std::size_t axis = shape.size() - 1; axis-- > 0;) strides[axis] = strides[axis + 1] * shape[axis + 1];
  if (order == MatrixOrder::kTransposed) {
    std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
    std::swap(strides[shape.size() - 1], strides[shape.size() - 2]);
  }
  dnnl_memory_desc_t description;
  ONEDNN(dnnl_memory_desc_init_by_strides, &description, static_cast<int>(shape.size()), shape.data(),
         dnnl_f32, strides.data());
  return description;
}

TEST_F(ReferenceOneDnn, OP_1_matmul_agrees) {
  for (const KernelSource source : {KernelSource::kInput, KernelSource::kWeights}) {
    const bool agrees = rc::check([&] {
      const RandomMatmul random = random_matmul(source);
      const MatrixProduct& p = random.conv.product;
      std::vector<Operand> operands{{random.tensors[0], random.infos[0]}};
      if (source == KernelSource::kInput) operands.push_back({random.tensors[1], random.infos[1]});
      Layer layer;
      layer.operation = random.conv;
      layer.output = random.output;
      const Tensor y = reference_layer(layer, operands);
      const auto src = describe_matrices(onednn, random.infos[0].shape, p.a),
                 wei = describe_matrices(onednn, random.infos[1].shape, p.b),
                 dst = describe_matrices(onednn, random.output.shape, MatrixOrder::kPlain);
      dnnl_matmul_desc_t operation;
      ONEDNN(dnnl_matmul_desc_init, &operation, &src, &wei, nullptr, &dst);
      std::vector<float> a = as_float(random.tensors[0], random.infos[0].zero_point),
                         b = as_float(random.tensors[1], random.infos[1].zero_point);
      std::vector<float> sums(static_cast<std::size_t>(y.elements()));
      execute(onednn, &operation,
              {{DNNL_ARG_SRC, src, a}, {DNNL_ARG_WEIGHTS, wei, b}, {DNNL_ARG_DST, dst, sums}});
      RC_ASSERT(y.shape == random.output.shape);
      for (std::size_t i = 0; i < sums.size(); ++i) {
        RC_ASSERT(y.at(static_cast<std::int64_t>(i)) == static_cast<std::int32_t>(sums[i]));
      }
    });
    EXPECT_TRUE(agrees) << kCounterexample;
  }
}

TEST_F(ReferenceOneDnn, NU_5_softmax_agrees) {
  const bool agrees = rc::check([this] {
    Tensor x;
    const TensorInfo info = random_map({1, 2, *rc::gen::inRange(1, 4), *rc::gen::inRange(1, 40)}, x);
    constexpr double kInputScale = 0.03125;
    Softmax softmax;
    softmax.input_scale = kInputScale;
    softmax.requant = {256, -128, DType::kInt8};
    const Tensor y = reference_layer(layer_of(softmax, info.shape, -128), {{x, info}});
    const auto map = describe_map(onednn, info.shape);
    dnnl_softmax_desc_t operation;
    ONEDNN(dnnl_softmax_forward_desc_init, &operation, dnnl_forward_inference, &map, 1);
    std::vector<float> reals = as_float(x, info.zero_point), p(reals.size());
    for (float& real : reals) real *= static_cast<float>(kInputScale);
    execute(onednn, &operation, {{DNNL_ARG_SRC, map, reals}, {DNNL_ARG_DST, map, p}});
    for (std::size_t i = 0; i < p.size(); ++i) {
      const double expected = std::min(p[i] * 256.0 - 128, 127.0);
      RC_ASSERT(std::abs(y.at(static_cast<std::int64_t>(i)) - expected) <= 0.501);
    }
  });
  EXPECT_TRUE(agrees) << kCounterexample;
}

}  // namespace
}  // namespace tilebeat::testing
