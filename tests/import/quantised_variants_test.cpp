// Generated variants of quantised operators (SPEC RN-6): random attributes, shapes, types and scales, byte by
// byte against the rules of docs/arithmetic.md, which are written out here.
#include "budget.h"
#include "onnx_import.h"
#include "tflite_model.h"
#include "tflite_rounding.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iostream>
#include <random>

namespace tilebeat::testing {
namespace {

using Bytes = std::vector<int>;

struct Affine {
  float scale = 1;
  int zero = 0;
};

class Dice {
 public:
  explicit Dice(unsigned seed) : engine_(seed) {}
  int whole(int low, int high) { return std::uniform_int_distribution<int>(low, high)(engine_); }
  bool coin() { return whole(0, 1) == 1; }
  float scale(double low, double high) {
    return static_cast<float>(
        std::exp(std::uniform_real_distribution<double>(std::log(low), std::log(high))(engine_)));
  }
  Bytes bytes(std::size_t count, int low, int high) {
    Bytes made(count);
    for (int& value : made) value = whole(low, high);
    return made;
  }

 private:
  std::mt19937 engine_;
};

/// A convolution of NCHW maps in ONNX, NHWC maps in TensorFlow Lite.
struct Convolution {
  int n = 1, ci = 1, h = 1, w = 1, co = 1, k = 1, l = 1, groups = 1, stride = 1, dilation = 1;
  std::array<int, 4> pads{0, 0, 0, 0};
  bool is_unsigned = false, biased = false;
  Affine x, y;
  std::vector<float> scales;
  Bytes zeros, weights, bias;  ///< weights [co][ci / groups][k][l]

  int low() const { return is_unsigned ? 0 : -128; }
  int rows() const { return (h + pads[0] + pads[2] - (k - 1) * dilation - 1) / stride + 1; }
  int columns() const { return (w + pads[1] + pads[3] - (l - 1) * dilation - 1) / stride + 1; }
  float scale(int c) const { return scales[scales.size() == 1 ? 0 : static_cast<std::size_t>(c)]; }
  int zero(int c) const { return zeros[zeros.size() == 1 ? 0 : static_cast<std::size_t>(c)]; }
  std::int64_t sum(const std::function<int(int, int, int)>& at, int c, int r, int s) const {
    const int each = ci / groups, first = c / (co / groups) * each;
    std::int64_t made = biased ? bias[static_cast<std::size_t>(c)] : 0;
    for (int i = 0; i < each; ++i) {
      for (int dy = 0; dy < k; ++dy) {
        for (int dx = 0; dx < l; ++dx) {
          const int row = r * stride + dy * dilation - pads[0], column = s * stride + dx * dilation - pads[1];
          if (row < 0 || row >= h || column < 0 || column >= w) continue;
          const int weight = weights[static_cast<std::size_t>(((c * each + i) * k + dy) * l + dx)] - zero(c);
          made += std::int64_t{at(first + i, row, column) - x.zero} * weight;
        }
      }
    }
    return made;
  }
};
Convolution random_convolution(Dice& dice, bool depthwise) {
  Convolution c;
  c.is_unsigned = dice.coin(), c.biased = dice.coin();
  c.groups = depthwise ? dice.whole(2, 5) : dice.whole(1, 2);
  c.ci = depthwise ? c.groups : c.groups * dice.whole(1, 4);
  c.co = c.groups * dice.whole(1, 4);
  c.k = dice.whole(1, 3), c.l = dice.whole(1, 3), c.stride = dice.whole(1, 2), c.dilation = dice.whole(1, 2);
  c.n = dice.whole(1, 2), c.h = dice.whole(5, 8), c.w = dice.whole(5, 8);
  c.x = {dice.scale(0.005, 0.1), c.low() + dice.whole(0, 255)};
  c.scales.push_back(dice.scale(0.002, 0.05));
  while (c.scales.size() < static_cast<std::size_t>(c.co) && dice.whole(0, 3) > 0)
    c.scales.resize(static_cast<std::size_t>(c.co), c.scales[0] * dice.scale(0.3, 3));
  for (float& scale : c.scales) scale *= dice.scale(0.8, 1.2);
  c.zeros.assign(c.scales.size(), 0);
  c.weights = dice.bytes(static_cast<std::size_t>(c.co * (c.ci / c.groups) * c.k * c.l), -127, 127);
  if (c.biased) c.bias = dice.bytes(static_cast<std::size_t>(c.co), -3000, 3000);
  c.y = {c.x.scale * c.scales[0] * static_cast<float>(dice.whole(50, 400)), c.low() + dice.whole(0, 255)};
  return c;
}

// ---- ONNX ----

int as_onnx(double real, const Affine& y, int low) {
  return static_cast<int>(std::clamp(std::nearbyint(real) + y.zero, static_cast<double>(low), low + 255.0));
}

class OnnxVariants : public OnnxImport {
 protected:
  /// The elements of y where input x holds `given`, in the order of the source; `rank4`: a map.
  Bytes run(const OnnxModel& model, const std::map<std::string, Bytes>& given,
            bool named_inexact = false) const {
    const ImportedNetwork network = imported(model);
    EXPECT_EQ(network.exact_layers.empty(), !named_inexact);
    Workload workload = loaded(network);
    for (const auto& [name, bytes] : given) {
      const SourceTensor* tensor = named(network, name);
      Tensor& held = workload.input_data.at(tensor->holder.value());
      const std::vector<std::size_t> places = places_of(*tensor, bytes.size());
      for (std::size_t i = 0; i < bytes.size(); ++i)
        held.bytes.at(places[i]) = static_cast<std::uint8_t>(bytes[i]);
    }
    const SourceTensor* y = named(network, "y");
    const Tensor made = run_reference(workload).at(y->holder.value());
    Bytes found;
    for (const std::size_t place : places_of(*y, static_cast<std::size_t>(made.elements())))
      found.push_back(static_cast<int>(made.at(static_cast<std::int64_t>(place))));
    return found;
  }
  static const SourceTensor* named(const ImportedNetwork& network, const std::string& name) {
    for (const SourceTensor& tensor : network.tensors) {
      if (tensor.name == name) return &tensor;
    }
    throw std::runtime_error("no tensor " + name);
  }
  /// Where the holder has element i of the source.
  static std::vector<std::size_t> places_of(const SourceTensor& tensor, std::size_t count) {
    std::vector<std::size_t> places(count);
    for (std::size_t i = 0; i < count; ++i) {
      places[i] = i;
      if (tensor.axes.empty()) continue;
      std::vector<std::size_t> at(tensor.viewed.size());
      std::size_t rest = i;
      for (std::size_t axis = at.size(); axis-- > 0;)
        at[axis] = rest % static_cast<std::size_t>(tensor.viewed[axis]),
        rest /= static_cast<std::size_t>(tensor.viewed[axis]);
      std::size_t to = 0;
      for (const std::int64_t axis : tensor.axes)
        to = to * static_cast<std::size_t>(tensor.viewed[static_cast<std::size_t>(axis)]) +
             at[static_cast<std::size_t>(axis)];
      places[i] = to;
    }
    return places;
  }
  static void quantise(OnnxModel& model, const std::string& name, const Affine& q, bool is_unsigned) {
    model.floats(name + "s", {}, {q.scale}).integers(name + "z", is_unsigned ? kUint8 : kInt8, {}, {q.zero});
  }
  static void each_case(const std::function<void(Dice&)>& check) {
    const int cases = budget(100, 6);
    const unsigned first = std::random_device{}();
    for (int i = 0; i < cases; ++i) {
      const unsigned seed = first + static_cast<unsigned>(i);
      SCOPED_TRACE(::testing::Message() << "seed " << seed);
      Dice dice(seed);
      ASSERT_NO_FATAL_FAILURE(check(dice));
    }
  }
};

/// Weights behind a DequantizeLinear, or float32 ones behind a pair; zero points may differ by channel.
void add_weights(OnnxModel& model, Convolution& c, Dice& dice, const Extents& shape, std::int64_t axis) {
  const Extents count = c.scales.size() == 1 ? Extents{} : Extents{c.co};
  const bool pair = dice.coin();
  if (!pair && dice.coin()) {
    c.weights = dice.bytes(c.weights.size(), -100, 100);
    for (int& zero : c.zeros) zero = dice.whole(-20, 20);
  }
  model.floats("ws", count, c.scales).integers("wz", kInt8, count, c.zeros);
  if (pair) {
    // float32 weights that the pair rounds to the elements
    std::vector<float> reals;
    const std::size_t inner = c.weights.size() / static_cast<std::size_t>(c.co);
    for (std::size_t i = 0; i < c.weights.size(); ++i) {
      const float scale =
          c.scale(static_cast<int>(axis == 0 ? i / inner : i % static_cast<std::size_t>(c.co)));
      reals.push_back((static_cast<float>(c.weights[i]) + (dice.coin() ? 0.3F : -0.3F)) * scale);
    }
    model.floats("w", shape, reals);
    OnnxModel::attribute(model.node("QuantizeLinear", {"w", "ws", "wz"}, {"wq"}), "axis", {axis});
  } else {
    model.integers("wq", kInt8, shape, c.weights);
  }
  OnnxModel::attribute(model.node("DequantizeLinear", {"wq", "ws", "wz"}, {"wr"}), "axis", {axis});
}
std::vector<std::string> with_bias(OnnxModel& model, const Convolution& c, std::vector<std::string> inputs) {
  if (!c.biased) return inputs;
  std::vector<float> steps;
  for (const float scale : c.scales) steps.push_back(c.x.scale * scale);
  model.floats("bs", c.scales.size() == 1 ? Extents{} : Extents{c.co}, steps);
  model.integers("bq", kInt32, {c.co}, c.bias);
  OnnxModel::attribute(model.node("DequantizeLinear", {"bq", "bs"}, {"b"}), "axis", {0});
  inputs.push_back("b");
  return inputs;
}

TEST_F(OnnxVariants, RN_6_random_convolutions_have_the_bytes_of_the_rule) {
  each_case([&](Dice& dice) {
    Convolution c = random_convolution(dice, dice.coin());
    for (int& pad : c.pads) pad = dice.whole(0, 2);
    OnnxModel model;
    model.input("x", c.is_unsigned ? kUint8 : kInt8, {c.n, c.ci, c.h, c.w}).output("y");
    quantise(model, "x", c.x, c.is_unsigned), quantise(model, "y", c.y, c.is_unsigned);
    model.node("DequantizeLinear", {"x", "xs", "xz"}, {"xr"});
    add_weights(model, c, dice, {c.co, c.ci / c.groups, c.k, c.l}, 0);
    onnx::Node& node = model.node("Conv", with_bias(model, c, {"xr", "wr"}), {"r"});
    OnnxModel::attribute(node, "strides", {c.stride, c.stride});
    OnnxModel::attribute(node, "dilations", {c.dilation, c.dilation});
    OnnxModel::attribute(node, "pads", {c.pads[0], c.pads[1], c.pads[2], c.pads[3]});
    OnnxModel::attribute(node, "group", {c.groups});
    const bool positive = dice.coin();
    if (positive) model.node("Relu", {"r"}, {"p"});
    model.node("QuantizeLinear", {positive ? "p" : "r", "ys", "yz"}, {"y"});
    const Bytes x = dice.bytes(static_cast<std::size_t>(c.n * c.ci * c.h * c.w), c.low(), c.low() + 255);
    const Bytes made = run(model, {{"x", x}});
    std::size_t i = 0;
    for (int n = 0; n < c.n; ++n) {
      for (int co = 0; co < c.co; ++co) {
        const float step = c.x.scale * c.scale(co), factor = step / c.y.scale;
        for (int r = 0; r < c.rows(); ++r) {
          for (int s = 0; s < c.columns(); ++s, ++i) {
            const auto at = [&](int ci, int row, int column) {
              return x[static_cast<std::size_t>(((n * c.ci + ci) * c.h + row) * c.w + column)];
            };
            const float scaled = static_cast<float>(c.sum(at, co, r, s)) * factor;
            int wanted = as_onnx(static_cast<double>(scaled), c.y, c.low());
            if (positive) wanted = std::max(wanted, c.y.zero);
            ASSERT_EQ(made.at(i), wanted) << "element " << i;
          }
        }
      }
    }
  });
}

TEST_F(OnnxVariants, RN_6_random_products_have_the_bytes_of_the_rule) {
  each_case([&](Dice& dice) {
    Convolution c = random_convolution(dice, false);  // rows are pixels of a 1x1 kernel
    c.groups = c.k = c.l = c.stride = c.dilation = 1, c.h = 1, c.n = 1;
    c.weights = dice.bytes(static_cast<std::size_t>(c.co * c.ci), -127, 127);
    const bool gemm = dice.coin(), turned = gemm && dice.coin();
    c.biased = c.biased && gemm;
    OnnxModel model;
    const bool deep = !gemm && dice.coin();
    model.input("x", c.is_unsigned ? kUint8 : kInt8, deep ? Extents{1, c.w, c.ci} : Extents{c.w, c.ci})
        .output("y");
    quantise(model, "x", c.x, c.is_unsigned), quantise(model, "y", c.y, c.is_unsigned);
    model.node("DequantizeLinear", {"x", "xs", "xz"}, {"xr"});
    // [K, N] unless it is turned; the rule reads [N, K].
    add_weights(model, c, dice, turned ? Extents{c.co, c.ci} : Extents{c.ci, c.co}, turned ? 0 : 1);
    if (!turned) {
      const Bytes plain = c.weights;
      for (int i = 0; i < c.ci; ++i) {
        for (int o = 0; o < c.co; ++o)
          c.weights[static_cast<std::size_t>(o * c.ci + i)] = plain[static_cast<std::size_t>(i * c.co + o)];
      }
    }
    onnx::Node& node = model.node(gemm ? "Gemm" : "MatMul", with_bias(model, c, {"xr", "wr"}), {"r"});
    if (turned) OnnxModel::attribute(node, "transB", {1});
    model.node("QuantizeLinear", {"r", "ys", "yz"}, {"y"});
    const Bytes x = dice.bytes(static_cast<std::size_t>(c.w * c.ci), c.low(), c.low() + 255);
    const Bytes made = run(model, {{"x", x}});
    for (int row = 0; row < c.w; ++row) {
      for (int co = 0; co < c.co; ++co) {
        const auto at = [&](int ci, int, int column) {
          return x[static_cast<std::size_t>(column * c.ci + ci)];
        };
        const float step = c.x.scale * c.scale(co), factor = step / c.y.scale;
        const float scaled = static_cast<float>(c.sum(at, co, 0, row)) * factor;
        ASSERT_EQ(made.at(static_cast<std::size_t>(row * c.co + co)),
                  as_onnx(static_cast<double>(scaled), c.y, c.low()));
      }
    }
  });
}

TEST_F(OnnxVariants, RN_6_random_sums_and_products_of_elements_have_the_bytes_of_the_rule) {
  each_case([&](Dice& dice) {
    const bool adds = dice.coin(), is_unsigned = dice.coin();
    const int low = is_unsigned ? 0 : -128;
    const std::size_t rank = static_cast<std::size_t>(dice.whole(1, 4));
    Extents shape, other;
    for (std::size_t i = 0; i < rank; ++i)
      shape.push_back(dice.whole(1, 6)), other.push_back(dice.whole(0, 2) == 0 ? 1 : shape.back());
    const Affine a{dice.scale(0.01, 0.1), low + dice.whole(0, 255)},
        b{dice.scale(0.01, 0.1), low + dice.whole(0, 255)},
        y{dice.scale(0.02, 0.2), low + dice.whole(0, 255)};
    OnnxModel model;
    model.input("a", is_unsigned ? kUint8 : kInt8, shape)
        .input("b", is_unsigned ? kUint8 : kInt8, other)
        .output("y");
    quantise(model, "a", a, is_unsigned), quantise(model, "b", b, is_unsigned),
        quantise(model, "y", y, is_unsigned);
    model.node("DequantizeLinear", {"a", "as", "az"}, {"ar"});
    model.node("DequantizeLinear", {"b", "bs", "bz"}, {"br"});
    model.node(adds ? "Add" : "Mul", {"ar", "br"}, {"r"});
    model.node("QuantizeLinear", {"r", "ys", "yz"}, {"y"});
    const Bytes left = dice.bytes(static_cast<std::size_t>(element_count(shape)), low, low + 255),
                right = dice.bytes(static_cast<std::size_t>(element_count(other)), low, low + 255);
    const Bytes made = run(model, {{"a", left}, {"b", right}});
    for (std::size_t i = 0; i < left.size(); ++i) {
      std::size_t rest = i, from = 0, stride = 1;
      for (std::size_t axis = rank; axis-- > 0;) {
        const auto at = rest % static_cast<std::size_t>(shape[axis]);
        rest /= static_cast<std::size_t>(shape[axis]);
        if (other[axis] != 1) from += at * stride;
        stride *= static_cast<std::size_t>(other[axis]);
      }
      const float p = static_cast<float>(left[i] - a.zero) * a.scale,
                  q = static_cast<float>(right[from] - b.zero) * b.scale;
      const float both = adds ? p + q : p * q, quotient = both / y.scale;
      const float shifted = quotient + static_cast<float>(y.zero);
      const int wanted = static_cast<int>(
          std::clamp(std::nearbyint(shifted), static_cast<float>(low), static_cast<float>(low + 255)));
      ASSERT_EQ(made.at(i), wanted) << i;
    }
  });
}

// ---- TensorFlow Lite ----

class TfliteVariants : public OnnxVariants {
 protected:
  static ImportOptions arithmetic(Arithmetic wish) {
    ImportOptions options;
    options.arithmetic = wish;
    return options;
  }
  Bytes run_lite(TfliteModel& model, int x, int y, const Bytes& given, const ImportOptions& options) const {
    const ImportedNetwork network =
        import_model(folder_.write("model.tflite", model.bytes({x}, {y})), options);
    EXPECT_TRUE(network.exact_layers.empty());
    Workload workload = loaded(network);
    Tensor& held = workload.input_data.at(network.tensors[static_cast<std::size_t>(x)].holder.value());
    for (std::size_t i = 0; i < given.size(); ++i) held.bytes.at(i) = static_cast<std::uint8_t>(given[i]);
    const Tensor made =
        run_reference(workload).at(network.tensors[static_cast<std::size_t>(y)].holder.value());
    Bytes found;
    for (std::int64_t i = 0; i < made.elements(); ++i) found.push_back(static_cast<int>(made.at(i)));
    return found;
  }
  static std::vector<std::uint8_t> stored(const Bytes& values) { return {values.begin(), values.end()}; }
};

/// The result of a sum by the rule of a kernel.
int as_lite(std::int64_t sum, const Convolution& c, int co, Arithmetic wish, bool twice, bool product) {
  std::int64_t made = 0;
  if (wish == Arithmetic::kFloat32) {
    const float step = c.x.scale * c.scale(co), factor = step / c.y.scale;
    made = static_cast<std::int64_t>(std::nearbyint(static_cast<float>(sum) * factor));
  } else {
    // A product rounds the scale of its sums to float32 first.
    const float step = c.x.scale * c.scale(co);
    const double whole = static_cast<double>(c.x.scale) * static_cast<double>(c.scale(co));
    const Factor factor =
        factor_of((product ? static_cast<double>(step) : whole) / static_cast<double>(c.y.scale));
    made = twice || wish == Arithmetic::kTflm ? twice_rounded(sum, factor) : once_rounded(sum, factor);
  }
  return static_cast<int>(std::clamp<std::int64_t>(made + c.y.zero, c.low(), c.low() + 255));
}

TEST_F(TfliteVariants, RN_6_random_convolutions_have_the_bytes_of_the_rule) {
  each_case([&](Dice& dice) {
    const bool depthwise = dice.coin(), same = dice.coin();
    Convolution c = random_convolution(dice, depthwise);
    c.is_unsigned = false, c.x.zero = dice.whole(-128, 127), c.y.zero = dice.whole(-128, 127);
    if (!depthwise)
      c.groups = 1, c.weights = dice.bytes(static_cast<std::size_t>(c.co * c.ci * c.k * c.l), -127, 127);
    if (c.dilation > 1) c.stride = 1;
    for (std::size_t axis = 0; same && axis < 2; ++axis) {
      const int in = axis == 0 ? c.h : c.w, extent = ((axis == 0 ? c.k : c.l) - 1) * c.dilation + 1;
      const int total = std::max(0, ((in + c.stride - 1) / c.stride - 1) * c.stride + extent - in);
      c.pads[axis] = total / 2, c.pads[axis + 2] = total - total / 2;
    }
    const int each = c.ci / c.groups;
    TfliteModel model;
    const int x = model.tensor({c.n, c.h, c.w, c.ci}, tflite::TensorType::INT8, c.x.scale, c.x.zero);
    const int y =
        model.tensor({c.n, c.rows(), c.columns(), c.co}, tflite::TensorType::INT8, c.y.scale, c.y.zero);
    // [Co, K, L, Ci], of depthwise ones [1, K, L, Co]
    Bytes kernels(c.weights.size());
    for (int o = 0; o < c.co; ++o) {
      for (int i = 0; i < each; ++i) {
        for (int tap = 0; tap < c.k * c.l; ++tap)
          kernels[static_cast<std::size_t>(depthwise ? tap * c.co + o : (o * c.k * c.l + tap) * each + i)] =
              c.weights[static_cast<std::size_t>((o * each + i) * c.k * c.l + tap)];
      }
    }
    const int w = model.channels(
        depthwise ? std::vector<int>{1, c.k, c.l, c.co} : std::vector<int>{c.co, c.k, c.l, c.ci}, c.scales,
        depthwise ? 3 : 0, stored(kernels));
    std::vector<int> inputs{x, w};
    if (c.biased) inputs.push_back(model.integers(c.bias));
    const auto padding = same ? tflite::Padding::SAME : tflite::Padding::VALID;
    if (depthwise) {
      model.op(tflite::Builtin::DEPTHWISE_CONV_2D, inputs, {y}, tflite::Options::DepthwiseConv2DOptions,
               tflite::CreateDepthwiseConv2DOptions(model.builder(), padding, c.stride, c.stride, c.co / c.ci,
                                                    tflite::Activation::NONE, c.dilation, c.dilation)
                   .Union());
    } else {
      model.op(tflite::Builtin::CONV_2D, inputs, {y}, tflite::Options::Conv2DOptions,
               tflite::CreateConv2DOptions(model.builder(), padding, c.stride, c.stride,
                                           tflite::Activation::NONE, c.dilation, c.dilation)
                   .Union());
    }
    const Bytes given = dice.bytes(static_cast<std::size_t>(c.n * c.h * c.w * c.ci), -128, 127);
    for (const Arithmetic wish : {Arithmetic::kFixed, Arithmetic::kFloat32, Arithmetic::kTflm}) {
      const Bytes made = run_lite(model, x, y, given, arithmetic(wish));
      std::size_t i = 0;
      for (int n = 0; n < c.n; ++n) {
        for (int r = 0; r < c.rows(); ++r) {
          for (int s = 0; s < c.columns(); ++s) {
            for (int co = 0; co < c.co; ++co, ++i) {
              const auto at = [&](int ci, int row, int column) {
                return given[static_cast<std::size_t>(((n * c.h + row) * c.w + column) * c.ci + ci)];
              };
              ASSERT_EQ(made.at(i), as_lite(c.sum(at, co, r, s), c, co, wish, depthwise, false))
                  << nth(kArithmeticNames, wish) << " element " << i;
            }
          }
        }
      }
    }
  });
}

TEST_F(TfliteVariants, RN_6_random_fully_connected_layers_have_the_bytes_of_the_rule) {
  each_case([&](Dice& dice) {
    Convolution c = random_convolution(dice, false);
    c.groups = c.k = c.l = c.stride = c.dilation = c.h = c.n = 1, c.is_unsigned = false;
    c.x.zero = dice.whole(-128, 127), c.y.zero = dice.whole(-128, 127);
    c.scales.resize(1), c.zeros.resize(1);
    c.weights = dice.bytes(static_cast<std::size_t>(c.co * c.ci), -127, 127);
    TfliteModel model;
    const int x = model.tensor({c.w, c.ci}, tflite::TensorType::INT8, c.x.scale, c.x.zero),
              y = model.tensor({c.w, c.co}, tflite::TensorType::INT8, c.y.scale, c.y.zero),
              w = model.channels({c.co, c.ci}, c.scales, 0, stored(c.weights));
    std::vector<int> inputs{x, w};
    if (c.biased) inputs.push_back(model.integers(c.bias));
    model.op(tflite::Builtin::FULLY_CONNECTED, inputs, {y}, tflite::Options::FullyConnectedOptions,
             tflite::CreateFullyConnectedOptions(model.builder()).Union());
    const Bytes given = dice.bytes(static_cast<std::size_t>(c.w * c.ci), -128, 127);
    for (const Arithmetic wish : {Arithmetic::kFixed, Arithmetic::kFloat32, Arithmetic::kTflm}) {
      const Bytes made = run_lite(model, x, y, given, arithmetic(wish));
      for (int row = 0; row < c.w; ++row) {
        for (int co = 0; co < c.co; ++co) {
          const auto at = [&](int ci, int, int column) {
            return given[static_cast<std::size_t>(column * c.ci + ci)];
          };
          ASSERT_EQ(made.at(static_cast<std::size_t>(row * c.co + co)),
                    as_lite(c.sum(at, co, 0, row), c, co, wish, false, true))
              << nth(kArithmeticNames, wish);
        }
      }
    }
  });
}

}  // namespace
}  // namespace tilebeat::testing
