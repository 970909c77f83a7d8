// The reference against oneDNN's f32 convolution, which knows nothing of it. Sums stay below 2^24, where
// float is exact. The library is loaded at run time: only this test needs it.
#include "tilebeat/reference/reference.h"
#include "tilebeat/workload/random.h"

#include <cstdlib>

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <oneapi/dnnl/dnnl.h>
#include <rapidcheck/gtest.h>

namespace tilebeat {
namespace {

/// oneDNN's C functions, found by name.
class OneDnn {
 public:
  /// One thread: the layers are small, and the leak sanitizer cannot stop threads of a library loaded this
  /// late.
  OneDnn() {
    setenv("OMP_NUM_THREADS", "1", 1);
    library_ = dlopen("libdnnl.so.2", RTLD_NOW);
  }
  bool available() const { return library_ != nullptr; }
  /// Calls a function that returns a status, which must be success.
  template <class... Parameters, class... Arguments>
  void call(dnnl_status_t (*)(Parameters...), const char* name, Arguments... arguments) const {
    const auto function = reinterpret_cast<dnnl_status_t (*)(Parameters...)>(dlsym(library_, name));
    if (function == nullptr || function(arguments...) != dnnl_success) throw std::runtime_error(name);
  }

 private:
  void* library_ = nullptr;
};

#define ONEDNN(function, ...) onednn.call(decltype(&function){}, #function, __VA_ARGS__)

struct Layer2d {
  Tensor x;
  TensorInfo info;
  Conv2d conv;
  std::vector<std::int64_t> output_shape;
};

dnnl_memory_desc_t describe_memory(const OneDnn& onednn, std::vector<std::int64_t> dims,
                                   dnnl_format_tag_t tag) {
  dnnl_memory_desc_t description;
  ONEDNN(dnnl_memory_desc_init_by_tag, &description, static_cast<int>(dims.size()), dims.data(), dnnl_f32,
         tag);
  return description;
}

std::vector<float> as_float(const Tensor& tensor, std::int32_t zero_point) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    values.push_back(static_cast<float>(tensor.at(i) - zero_point));
  }
  return values;
}

std::vector<float> onednn_conv2d(const OneDnn& onednn, const Layer2d& layer) {
  const Conv2d& c = layer.conv;
  const auto& in = layer.x.shape;
  const auto& out = layer.output_shape;
  const auto src = describe_memory(onednn, {in[0], in[3], in[1], in[2]}, dnnl_nhwc);
  const auto wei = describe_memory(
      onednn, {c.groups, c.out_channels / c.groups, in[3] / c.groups, c.kernel[0], c.kernel[1]}, dnnl_gohwi);
  const auto dst = describe_memory(onednn, {out[0], out[3], out[1], out[2]}, dnnl_nhwc);
  const std::int64_t strides[]{c.stride[0], c.stride[1]}, dilates[]{c.dilation[0] - 1, c.dilation[1] - 1};
  const std::int64_t before[]{c.pads[0], c.pads[1]}, after[]{c.pads[2], c.pads[3]};
  std::vector<float> x = as_float(layer.x, layer.info.zero_point),
                     w = as_float(c.weights, c.weight_zero_point);
  std::vector<float> y(static_cast<std::size_t>(out[0] * out[1] * out[2] * out[3]));

  dnnl_engine_t engine = nullptr;
  dnnl_stream_t stream = nullptr;
  dnnl_convolution_desc_t operation;
  dnnl_primitive_desc_t choice = nullptr;
  dnnl_primitive_t primitive = nullptr;
  ONEDNN(dnnl_engine_create, &engine, dnnl_cpu, 0U);
  ONEDNN(dnnl_stream_create, &stream, engine, dnnl_stream_default_flags);
  ONEDNN(dnnl_dilated_convolution_forward_desc_init, &operation, dnnl_forward_inference,
         dnnl_convolution_direct, &src, &wei, nullptr, &dst, strides, dilates, before, after);
  ONEDNN(dnnl_primitive_desc_create, &choice, &operation, nullptr, engine, nullptr);
  ONEDNN(dnnl_primitive_create, &primitive, choice);
  std::array<dnnl_exec_arg_t, 3> arguments{{{DNNL_ARG_SRC, {}}, {DNNL_ARG_WEIGHTS, {}}, {DNNL_ARG_DST, {}}}};
  ONEDNN(dnnl_memory_create, &arguments[0].memory, &src, engine, x.data());
  ONEDNN(dnnl_memory_create, &arguments[1].memory, &wei, engine, w.data());
  ONEDNN(dnnl_memory_create, &arguments[2].memory, &dst, engine, y.data());
  ONEDNN(dnnl_primitive_execute, primitive, stream, 3, arguments.data());
  ONEDNN(dnnl_stream_wait, stream);
  for (const auto& argument : arguments) ONEDNN(dnnl_memory_destroy, argument.memory);
  ONEDNN(dnnl_primitive_destroy, primitive);
  ONEDNN(dnnl_primitive_desc_destroy, choice);
  ONEDNN(dnnl_stream_destroy, stream);
  ONEDNN(dnnl_engine_destroy, engine);
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

TEST(ReferenceOneDnn, NU_5_agrees_with_an_independent_library) {
  const OneDnn onednn;
  if (!onednn.available()) GTEST_SKIP() << "libdnnl.so.2 is not installed";
  const bool agrees = rc::check([&onednn] {
    const Layer2d layer = random_layer();
    const Tensor y = reference_conv2d(layer.x, layer.info, layer.conv);
    RC_ASSERT(y.shape == layer.output_shape);
    const std::vector<float> expected = onednn_conv2d(onednn, layer);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      RC_ASSERT(y.at(static_cast<std::int64_t>(i)) == static_cast<std::int32_t>(expected[i]));
    }
  });
  EXPECT_TRUE(agrees) << "the counterexample is printed above";
}

}  // namespace
}  // namespace tilebeat
