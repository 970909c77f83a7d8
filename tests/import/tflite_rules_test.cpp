// The bytes of TensorFlow Lite's built-in kernels for classes of operators, attributes, shapes and scales
// (SPEC RN-6). Models are written here; what is expected is computed here by the kernels' rules, apart from
// the product.
#include "../data/temporary_folder.h"
#include "import/imported.h"
#include "reference/reference.h"
#include "tflite_model.h"
#include "tflite_rounding.h"
#include "tilebeat/error.h"
#include "workload/workload.h"

#include <algorithm>
#include <cmath>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tilebeat::testing {
namespace {

using tflite::Builtin;
using tflite::TensorType;
using Shape = std::vector<int>;

struct Scales {
  float sx;
  int zx;
  float sy;
  int zy;
};

std::int64_t count_of(const Shape& shape) {
  std::int64_t count = 1;
  for (const int extent : shape) count *= extent;
  return count;
}

class TfliteRules : public ::testing::Test {
 protected:
  struct Made {
    std::vector<int> elements;
    std::vector<std::string> inexact;
    nlohmann::json layers;
  };
  /// Imports the model, runs its workload, and gives the elements of tensor `output`.
  Made run(TfliteModel& model, const std::vector<int>& inputs, int output,
           const std::vector<std::vector<int>>& given, const ImportOptions& options = {}) const {
    const ImportedNetwork network =
        import_model(folder_.write("model.tflite", model.bytes(inputs, {output})), options);
    for (const auto& [name, bytes] : network.files) folder_.write(name, bytes);
    Workload workload = load_workload(folder_.path("workload.json"));
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      Tensor& tensor =
          workload.input_data.at(network.tensors[static_cast<std::size_t>(inputs[i])].holder.value());
      for (std::size_t k = 0; k < given[i].size(); ++k)
        tensor.bytes.at(k) = static_cast<std::uint8_t>(given[i][k]);
    }
    const Tensor made =
        run_reference(workload).at(network.tensors[static_cast<std::size_t>(output)].holder.value());
    Made found;
    for (std::int64_t i = 0; i < made.elements(); ++i) found.elements.push_back(made.at(i));
    found.inexact = network.exact_layers;
    found.layers = nlohmann::json::parse(network.files.at("workload.json"))["layers"];
    return found;
  }
  std::vector<int> random(std::int64_t count, TensorType type) {
    std::uniform_int_distribution<int> byte(type == TensorType::INT8 ? -128 : 0,
                                            type == TensorType::INT8 ? 127 : 255);
    std::vector<int> values(static_cast<std::size_t>(count));
    for (int& value : values) value = byte(engine_);
    return values;
  }
  static std::vector<int> all_bytes(TensorType type) {
    std::vector<int> values;
    for (int i = 0; i < 256; ++i) values.push_back(type == TensorType::INT8 ? i - 128 : i);
    return values;
  }
  static int within(std::int64_t value, TensorType type) {
    const int low = type == TensorType::INT8 ? -128 : 0;
    return static_cast<int>(std::clamp<std::int64_t>(value, low, low + 255));
  }
  Scales random_scales(TensorType type) {
    std::uniform_real_distribution<double> exponent(-6, -1);
    std::uniform_int_distribution<int> zero(-60, 60);
    const int middle = type == TensorType::INT8 ? 0 : 128;
    const auto sx = static_cast<float>(std::exp(exponent(engine_)));
    return {sx, zero(engine_) + middle, static_cast<float>(double{sx} * std::exp(exponent(engine_) / 3 + 1)),
            zero(engine_) + middle};
  }

  TemporaryFolder folder_;
  std::mt19937 engine_{20240611};
};

std::vector<std::int64_t> sums_over(const Shape& shape, const std::vector<int>& axes,
                                    const std::vector<int>& x) {
  Shape kept;
  for (std::size_t axis = 0; axis < shape.size(); ++axis)
    kept.push_back(std::count(axes.begin(), axes.end(), static_cast<int>(axis)) > 0 ? 1 : shape[axis]);
  std::vector<std::int64_t> sums(static_cast<std::size_t>(count_of(kept)), 0);
  for (std::size_t i = 0; i < x.size(); ++i) {
    std::size_t rest = i, to = 0, stride = 1;
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      const std::size_t at = rest % static_cast<std::size_t>(shape[axis]);
      rest /= static_cast<std::size_t>(shape[axis]);
      if (kept[axis] != 1) to += at * stride;
      stride *= static_cast<std::size_t>(kept[axis]);
    }
    sums[to] += x[i];
  }
  return sums;
}

TEST_F(TfliteRules, RN_6_mean_over_any_axes_has_the_rule_of_its_class) {
  const std::vector<Shape> shapes{{1, 5, 3, 4}, {2, 7, 6}, {5, 6}};
  for (const Shape& shape : shapes) {
    const int rank = static_cast<int>(shape.size());
    for (int mask = 1; mask < 1 << rank; ++mask) {
      std::vector<int> axes, said;
      for (int axis = 0; axis < rank; ++axis) {
        if ((mask >> axis & 1) != 0) axes.push_back(axis), said.push_back(mask % 3 == 0 ? axis - rank : axis);
      }
      for (const bool keep : {false, true}) {
        for (const TensorType type : {TensorType::INT8, TensorType::UINT8}) {
          Scales q = random_scales(type);
          if (mask % 4 == 1) q.sy = q.sx, q.zy = q.zx;
          Shape out;
          for (int axis = 0; axis < rank; ++axis) {
            const bool gone = (mask >> axis & 1) != 0;
            if (!gone || keep) out.push_back(gone ? 1 : shape[static_cast<std::size_t>(axis)]);
          }
          TfliteModel model;
          const int x = model.tensor(shape, type, q.sx, q.zx), y = model.tensor(out, type, q.sy, q.zy);
          model.op(Builtin::MEAN, {x, model.integers(said)}, {y}, tflite::Options::ReducerOptions,
                   tflite::CreateReducerOptions(model.builder(), keep).Union());
          const std::vector<int> given = random(count_of(shape), type);
          const Made made = run(model, {x}, y, {given});
          EXPECT_TRUE(made.inexact.empty());
          const bool of_map = keep && rank == 4 && said == std::vector<int>{1, 2};
          const std::vector<std::int64_t> sums = sums_over(shape, axes, given);
          const auto k = static_cast<float>(given.size() / sums.size());
          for (std::size_t i = 0; i < sums.size(); ++i) {
            std::int64_t expected = 0;
            if (of_map) {
              const float steps = k * q.sy, real = static_cast<float>(q.zx) * q.sx;
              const float u = real / q.sy, bias = u > 0 ? u + 0.5F : u - 0.5F, ratio = q.sx / steps;
              expected =
                  twice_rounded(sums[i], factor_of(double{ratio})) + q.zy - static_cast<std::int64_t>(bias);
            } else if (q.sx == q.sy && q.zx == q.zy) {
              expected = sums[i] / static_cast<std::int64_t>(k);
            } else {
              const float ratio = q.sx / q.sy, average = static_cast<float>(sums[i]) / k;
              const float scaled = average * ratio, offset = static_cast<float>(-q.zx) * ratio;
              expected = std::llround(scaled + offset) + q.zy;
            }
            ASSERT_EQ(made.elements[i], within(expected, type))
                << "axes " << mask << " keep " << keep << " " << i;
          }
        }
      }
    }
  }
}

TEST_F(TfliteRules, RN_6_leaky_relu_rounds_twice_on_either_side_of_zero) {
  for (const TensorType type : {TensorType::INT8, TensorType::UINT8}) {
    for (const float alpha : {0.0F, 0.01F, 0.2F, 0.3F, 1.5F}) {
      const Scales q = random_scales(type);
      TfliteModel model;
      const int x = model.tensor({1, 256}, type, q.sx, q.zx), y = model.tensor({1, 256}, type, q.sy, q.zy);
      model.op(Builtin::LEAKY_RELU, {x}, {y}, tflite::Options::LeakyReluOptions,
               tflite::CreateLeakyReluOptions(model.builder(), alpha).Union());
      const std::vector<int> given = all_bytes(type);
      const Made made = run(model, {x}, y, {given});
      EXPECT_TRUE(made.inexact.empty());
      for (std::size_t i = 0; i < given.size(); ++i) {
        const int v = given[i] - q.zx;
        const double d = v >= 0 ? double{q.sx} / double{q.sy} : double{q.sx} * double{alpha} / double{q.sy};
        ASSERT_EQ(made.elements[i], within(twice_rounded(v, factor_of(d)) + q.zy, type)) << given[i];
      }
    }
  }
}

TEST_F(TfliteRules, RN_6_parts_of_a_uint8_concatenation_are_rescaled_in_float32) {
  for (int axis : {0, 1, 2, -1}) {
    const Scales a = random_scales(TensorType::UINT8), b = random_scales(TensorType::UINT8);
    TfliteModel model;
    Shape shape{2, 3, 4}, out = shape;
    out[static_cast<std::size_t>(axis < 0 ? axis + 3 : axis)] *= 2;
    const int x = model.tensor(shape, TensorType::UINT8, a.sx, a.zx),
              z = model.tensor(shape, TensorType::UINT8, b.sx, b.zx),
              y = model.tensor(out, TensorType::UINT8, a.sy, a.zy);
    model.op(Builtin::CONCATENATION, {x, z}, {y}, tflite::Options::ConcatenationOptions,
             tflite::CreateConcatenationOptions(model.builder(), axis).Union());
    const std::vector<int> left = random(24, TensorType::UINT8), right = random(24, TensorType::UINT8);
    const Made made = run(model, {x, z}, y, {left, right});
    EXPECT_TRUE(made.inexact.empty());
    const auto rescaled = [&](int element, float scale, int zero) {
      const float inverse = 1.0F / a.sy, ratio = scale * inverse;
      const float part = static_cast<float>(element) * ratio, offset = static_cast<float>(-zero) * ratio;
      return within(std::llround(part + offset) + a.zy, TensorType::UINT8);
    };
    std::vector<int> expected(48);
    const std::size_t inner = axis == 0 ? 24 : axis == 1 ? 12 : 4;
    for (std::size_t i = 0; i < 24; ++i) {
      const std::size_t at = i / inner * 2 * inner + i % inner;
      expected[at] = rescaled(left[i], a.sx, a.zx), expected[at + inner] = rescaled(right[i], b.sx, b.zx);
    }
    EXPECT_EQ(made.elements, expected) << "axis " << axis;
  }
}

TEST_F(TfliteRules, RN_6_int8_concatenations_that_rescale_and_what_has_no_rule_are_named_inexact) {
  TfliteModel model;
  const int x = model.tensor({1, 4}, TensorType::INT8, 0.5F, 3),
            z = model.tensor({1, 4}, TensorType::INT8, 0.25F, 1),
            y = model.tensor({1, 8}, TensorType::INT8, 0.5F, 3);
  model.op(Builtin::CONCATENATION, {x, z}, {y}, tflite::Options::ConcatenationOptions,
           tflite::CreateConcatenationOptions(model.builder(), 1).Union());
  EXPECT_EQ(run(model, {x, z}, y, {{1, 2, 3, 4}, {1, 2, 3, 4}}).inexact.size(), 1U);

  TfliteModel resized;
  const int a = resized.tensor({1, 4, 4, 2}, TensorType::UINT8, 0.5F, 3),
            b = resized.tensor({1, 8, 8, 2}, TensorType::UINT8, 0.5F, 3);
  resized.op(Builtin::RESIZE_BILINEAR, {a, resized.integers({8, 8})}, {b},
             tflite::Options::ResizeBilinearOptions,
             tflite::CreateResizeBilinearOptions(resized.builder(), false, true).Union());
  EXPECT_EQ(run(resized, {a}, b, {random(32, TensorType::UINT8)}).inexact.size(), 1U);
}

TEST_F(TfliteRules, RN_6_inverse_square_roots_are_named_inexact) {
  for (const Arithmetic arithmetic : {Arithmetic::kFixed, Arithmetic::kFloat32, Arithmetic::kTflm}) {
    TfliteModel model;
    const int x = model.tensor({1, 4}, TensorType::INT8, 0.25F, 0),
              y = model.tensor({1, 4}, TensorType::INT8, 0.1F, 0);
    model.op(Builtin::RSQRT, {x}, {y});
    ImportOptions options;
    options.arithmetic = arithmetic;
    const Made made = run(model, {x}, y, {{16, 1, 100, 0}}, options);
    EXPECT_EQ(made.elements, (std::vector<int>{5, 20, 2, 127}));
    EXPECT_EQ(made.inexact.size(), 1U);
  }
}

// XNNPACK rounds means of maps by a rule of its own; with several zero points a channel, weights are as if
// the zero point was subtracted.
TEST_F(TfliteRules, RN_6_means_of_maps_in_float32_are_named_inexact) {
  for (const bool in_float : {true, false}) {
    TfliteModel model;
    const int x = model.tensor({1, 2, 3, 4}, TensorType::INT8, 0.5F, 3),
              y = model.tensor({1, 1, 1, 4}, TensorType::INT8, 0.3F, 1);
    model.op(Builtin::MEAN, {x, model.integers({1, 2})}, {y}, tflite::Options::ReducerOptions,
             tflite::CreateReducerOptions(model.builder(), true).Union());
    ImportOptions options;
    if (in_float) options.arithmetic = Arithmetic::kFloat32;
    EXPECT_EQ(run(model, {x}, y, {random(24, TensorType::INT8)}, options).inexact.size(), in_float ? 1U : 0U);
  }
}

TEST_F(TfliteRules, RN_6_zero_points_that_differ_by_channel_are_subtracted) {
  const std::vector<std::uint8_t> weights{1, 2, 3, 4, 5, 6, 7, 8, 9}, less{0, 1, 2, 6, 7, 8, 5, 6, 7};
  std::vector<std::vector<int>> made;
  const std::vector<int> given = random(3, TensorType::INT8);
  for (const bool several : {true, false}) {
    TfliteModel model;
    const int x = model.tensor({1, 3}, TensorType::INT8, 0.05F, 3),
              w = model.channels(
                  {3, 3}, {0.1F, 0.2F, 0.15F}, 0, several ? weights : less,
                  several ? std::vector<std::int64_t>{1, -2, 2} : std::vector<std::int64_t>(3, 0)),
              y = model.tensor({1, 3}, TensorType::INT8, 0.06F, 1);
    model.op(Builtin::FULLY_CONNECTED, {x, w}, {y}, tflite::Options::FullyConnectedOptions,
             tflite::CreateFullyConnectedOptions(model.builder()).Union());
    made.push_back(run(model, {x}, y, {given}).elements);
  }
  EXPECT_EQ(made[0], made[1]);
}

TEST_F(TfliteRules, RN_10_hybrid_and_sparse_files_are_refused_with_the_reason) {
  const auto refusal_of = [&](TfliteModel& model, int x, int y, const ImportOptions& options) -> std::string {
    try {
      import_model(folder_.write("refused.tflite", model.bytes({x}, {y})), options);
    } catch (const ImportError& error) {
      return error.lines().at(0);
    } catch (const UserError& error) {
      return error.what();
    }
    return "";
  };
  for (const bool calibrated : {false, true}) {
    TfliteModel model;
    const int x = model.real({1, 3}), y = model.real({1, 3}),
              w = model.channels({3, 3}, {0.1F, 0.2F, 0.15F}, 0, {1, 2, 3, 4, 5, 6, 7, 8, 9});
    model.op(Builtin::FULLY_CONNECTED, {x, w}, {y}, tflite::Options::FullyConnectedOptions,
             tflite::CreateFullyConnectedOptions(model.builder()).Union());
    ImportOptions options;
    if (calibrated) options.calibration[""] = make_constant(ElementType::kFloat32, {1, 3}, {1, 2, 3});
    EXPECT_THAT(refusal_of(model, x, y, options), ::testing::HasSubstr("int8 weights beside float32"));
  }
  TfliteModel sparse;
  const int x = sparse.tensor({1, 3}, TensorType::INT8, 0.05F, 3),
            y = sparse.tensor({1, 3}, TensorType::INT8, 1, 0);
  const int w = sparse.sparse({3, 3}, 0.1F, {1, 2, 3});
  sparse.op(Builtin::FULLY_CONNECTED, {x, w}, {y}, tflite::Options::FullyConnectedOptions,
            tflite::CreateFullyConnectedOptions(sparse.builder()).Union());
  EXPECT_THAT(refusal_of(sparse, x, y, {}), ::testing::HasSubstr("sparse weights"));
}

TEST_F(TfliteRules, RN_6_bilinear_resizes_have_places_of_ten_bits) {
  for (const auto& [corners, half] : {std::pair{false, false}, {true, false}, {false, true}}) {
    for (const auto& [oh, ow] : {std::pair{10, 8}, {7, 9}, {3, 2}, {1, 1}, {21, 5}}) {
      constexpr int kH = 5, kW = 4, kC = 3;
      TfliteModel model;
      const int x = model.tensor({1, kH, kW, kC}, TensorType::INT8, 0.5F, 11),
                y = model.tensor({1, oh, ow, kC}, TensorType::INT8, 0.5F, 11);
      model.op(Builtin::RESIZE_BILINEAR, {x, model.integers({oh, ow})}, {y},
               tflite::Options::ResizeBilinearOptions,
               tflite::CreateResizeBilinearOptions(model.builder(), corners, half).Union());
      const std::vector<int> given = random(kH * kW * kC, TensorType::INT8);
      const Made made = run(model, {x}, y, {given});
      EXPECT_TRUE(made.inexact.empty());
      const auto step = [corners = corners](int in, int out) {
        return corners && out > 1 ? (1024 * (in - 1) + (out - 1) / 2) / (out - 1)
                                  : (1024 * in + out / 2) / out;
      };
      const auto place = [half = half](int o, int by) { return half ? o * by + by / 2 - 512 : o * by; };
      std::size_t at = 0;
      for (int i = 0; i < oh; ++i) {
        const int p = place(i, step(kH, oh)), y0 = std::max(p / 1024, 0),
                  y1 = std::min((p + 1023) / 1024, kH - 1);
        for (int j = 0; j < ow; ++j) {
          const int q = place(j, step(kW, ow)), x0 = std::max(q / 1024, 0),
                    x1 = std::min((q + 1023) / 1024, kW - 1);
          const std::int64_t a = p - 1024 * y0, b = q - 1024 * x0;
          for (int c = 0; c < kC; ++c, ++at) {
            const auto pixel = [&](int h, int w) {
              return std::int64_t{given[static_cast<std::size_t>((h * kW + w) * kC + c)]};
            };
            std::int64_t t = pixel(y0, x0) * (1024 - a) * (1024 - b) + pixel(y1, x0) * a * (1024 - b) +
                             pixel(y0, x1) * (1024 - a) * b + pixel(y1, x1) * a * b;
            t += t > 0 ? 1 << 19 : -(1 << 19);
            ASSERT_EQ(made.elements.at(at), t / (1 << 20)) << oh << "x" << ow << " " << corners << half;
          }
        }
      }
    }
  }
}

TEST_F(TfliteRules, RN_6_transposed_convolutions_round_twice) {
  for (int round = 0; round < 20; ++round) {
    const Scales q = random_scales(TensorType::INT8);
    const float sw = 0.01F;
    TfliteModel model;
    std::vector<std::uint8_t> weights;
    for (const int w : random(3 * 16, TensorType::INT8)) weights.push_back(static_cast<std::uint8_t>(w));
    const int shape = model.integers({1, 1, 1, 3}),
              w = model.channels({3, 1, 1, 16}, {sw, sw / 2, sw * 3}, 0, weights),
              x = model.tensor({1, 1, 1, 16}, TensorType::INT8, q.sx, q.zx),
              y = model.tensor({1, 1, 1, 3}, TensorType::INT8, q.sy * 4, q.zy);
    model.op(Builtin::TRANSPOSE_CONV, {shape, w, x}, {y}, tflite::Options::TransposeConvOptions,
             tflite::CreateTransposeConvOptions(model.builder(), tflite::Padding::VALID, 1, 1).Union());
    const std::vector<int> given = random(16, TensorType::INT8);
    const Made made = run(model, {x}, y, {given});
    const std::array<float, 3> scales{sw, sw / 2, sw * 3};
    for (std::size_t c = 0; c < 3; ++c) {
      std::int64_t acc = 0;
      for (std::size_t k = 0; k < 16; ++k)
        acc += (given[k] - q.zx) * std::int64_t{static_cast<std::int8_t>(weights[c * 16 + k])};
      const double d = double{q.sx} * double{scales[c]} / double{q.sy * 4};
      EXPECT_EQ(made.elements[c], within(twice_rounded(acc, factor_of(d)) + q.zy, TensorType::INT8));
    }
  }
}

TEST_F(TfliteRules, RN_6_tflm_rounds_every_sum_twice) {
  ImportOptions micro;
  micro.arithmetic = Arithmetic::kTflm;
  for (int round = 0; round < 20; ++round) {
    const Scales q = random_scales(TensorType::INT8);
    TfliteModel model;
    std::vector<std::uint8_t> weights;
    for (const int w : random(64, TensorType::INT8)) weights.push_back(static_cast<std::uint8_t>(w));
    const int x = model.tensor({1, 64}, TensorType::INT8, q.sx, q.zx),
              w = model.tensor({1, 64}, TensorType::INT8, 0.013F, 0, weights),
              y = model.tensor({1, 1}, TensorType::INT8, q.sy * 8, q.zy);
    model.op(Builtin::FULLY_CONNECTED, {x, w, -1}, {y}, tflite::Options::FullyConnectedOptions,
             tflite::CreateFullyConnectedOptions(model.builder()).Union());
    const std::vector<int> given = random(64, TensorType::INT8);
    std::int64_t acc = 0;
    for (std::size_t k = 0; k < 64; ++k)
      acc += (given[k] - q.zx) * std::int64_t{static_cast<std::int8_t>(weights[k])};
    const float product = q.sx * 0.013F;
    const Factor factor = factor_of(double{product} / double{q.sy * 8});
    EXPECT_EQ(run(model, {x}, y, {given}, micro).elements[0],
              within(twice_rounded(acc, factor) + q.zy, TensorType::INT8));
  }
}

TEST_F(TfliteRules, RN_8_a_convolution_of_phases_becomes_one_dilated_layer) {
  for (const auto& [block, pads, crops] :
       {std::tuple{2, std::vector<int>{2, 2, 2, 2}, std::vector<int>{0, 0, 0, 0}},
        std::tuple{3, std::vector<int>{3, 4, 3, 4}, std::vector<int>{0, 1, 0, 1}}}) {
    const int in = 8, padded = in + pads[0] + pads[1], phase = padded / block, inner = phase - 2;
    const int out = inner * block - crops[0] - crops[1];
    TfliteModel model;
    std::vector<std::uint8_t> weights;
    for (const int w : random(2 * 9 * 3, TensorType::INT8)) weights.push_back(static_cast<std::uint8_t>(w));
    const int x = model.tensor({1, in, in, 3}, TensorType::INT8, 0.1F, 7),
              s = model.tensor({block * block, phase, phase, 3}, TensorType::INT8, 0.1F, 7),
              w = model.tensor({2, 3, 3, 3}, TensorType::INT8, 0.02F, 0, weights),
              c = model.tensor({block * block, inner, inner, 2}, TensorType::INT8, 0.5F, -3),
              y = model.tensor({1, out, out, 2}, TensorType::INT8, 0.5F, -3);
    const int blocks = model.integers({block, block});
    model.op(Builtin::SPACE_TO_BATCH_ND, {x, blocks, model.integers(pads)}, {s});
    const auto conv = tflite::CreateConv2DOptions(model.builder(), tflite::Padding::VALID, 1, 1);
    model.op(Builtin::CONV_2D, {s, w, -1}, {c}, tflite::Options::Conv2DOptions, conv.Union());
    model.op(Builtin::BATCH_TO_SPACE_ND, {c, blocks, model.integers(crops)}, {y});
    const std::vector<int> given = random(in * in * 3, TensorType::INT8);
    const Made made = run(model, {x}, y, {given});
    ASSERT_EQ(made.layers.size(), 1U);
    EXPECT_EQ(made.layers[0]["dilation"], nlohmann::json({block, block}));
    // The same with the phases given out, so that nothing can be folded.
    ImportOptions all;
    all.keep_all = true;
    TfliteModel plain;
    const int px = plain.tensor({1, in, in, 3}, TensorType::INT8, 0.1F, 7),
              ps = plain.tensor({block * block, phase, phase, 3}, TensorType::INT8, 0.1F, 7),
              back = plain.tensor({1, padded, padded, 3}, TensorType::INT8, 0.1F, 7);
    const int plain_blocks = plain.integers({block, block});
    plain.op(Builtin::SPACE_TO_BATCH_ND, {px, plain_blocks, plain.integers(pads)}, {ps});
    plain.op(Builtin::BATCH_TO_SPACE_ND, {ps, plain_blocks, plain.integers({0, 0, 0, 0})}, {back});
    const Made again = run(plain, {px}, back, {given});
    for (int i = 0; i < padded; ++i) {
      for (int j = 0; j < padded; ++j) {
        const int h = i - pads[0], v = j - pads[0];
        const bool inside = h >= 0 && h < in && v >= 0 && v < in;
        ASSERT_EQ(again.elements[static_cast<std::size_t>((i * padded + j) * 3)],
                  inside ? given[static_cast<std::size_t>((h * in + v) * 3)] : 7);
      }
    }
  }
}

TEST_F(TfliteRules, RN_7_float_files_are_quantised_with_samples) {
  std::vector<float> kernels{0.5F, -0.25F, 1, 0.75F, -1, 0.125F};
  std::vector<std::uint8_t> bytes(kernels.size() * sizeof(float));
  std::memcpy(bytes.data(), kernels.data(), bytes.size());
  TfliteModel model;
  const int x = model.real({1, 4, 4, 2}), w = model.tensor({3, 1, 1, 2}, TensorType::FLOAT32, 1, 0, bytes),
            c = model.real({1, 4, 4, 3}), y = model.real({1, 4, 4, 3});
  model.op(Builtin::CONV_2D, {x, w, -1}, {c}, tflite::Options::Conv2DOptions,
           tflite::CreateConv2DOptions(model.builder(), tflite::Padding::VALID, 1, 1).Union());
  model.op(Builtin::HARD_SWISH, {c}, {y});
  const std::string file = model.bytes({x}, {y});
  ImportOptions options;
  try {
    import_model(folder_.write("model.tflite", file), options);
    FAIL() << "a float network needs samples";
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("is a float network; --calibrate X.npy quantises it"));
  }
  std::vector<double> samples;
  for (int i = 0; i < 4 * 32; ++i) samples.push_back(3 * std::sin(i * 0.37));
  options.calibration[""] = make_constant(ElementType::kFloat32, {4, 4, 4, 2}, samples);
  const ImportedNetwork network = import_model(folder_.write("model.tflite", file), options);
  for (const auto& [name, made] : network.files) folder_.write(name, made);
  const Workload workload = load_workload(folder_.path("workload.json"));
  const std::string holder = network.tensors[static_cast<std::size_t>(y)].holder.value();
  const auto made = run_reference(workload);
  EXPECT_GT(quality_of(made.at(holder), workload.float_references.at(holder)).cosine, 0.999);
}

}  // namespace
}  // namespace tilebeat::testing
