// Generated TensorFlow Lite files (SPEC RN-6): operators with random attributes, shapes and scales through
// the command line, byte by byte against the rules of the built-in kernels, which are written out here.
#include "budget.h"
#include "tflite_model.h"
#include "tflite_rounding.h"
#include "tilebeat_command.h"

#include <cmath>
#include <functional>
#include <memory>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using tflite::Builtin;
using tflite::TensorType;
using LiteBytes = std::vector<int>;

struct Step {
  float scale = 1;
  int zero = 0;
};

int int8_of(std::int64_t value) {
  return static_cast<int>(std::clamp<std::int64_t>(value, -128, 127));
}
double wide(float value) {
  return static_cast<double>(value);
}

class TfliteKernels : public ::testing::Test {
 protected:
  void each_case(const std::function<void()>& check) {
    const int cases = budget(40, 3);
    const unsigned first = std::random_device{}();
    for (int i = 0; i < cases; ++i) {
      const unsigned seed = first + static_cast<unsigned>(i);
      SCOPED_TRACE(::testing::Message() << "seed " << seed);
      engine_.seed(seed);
      ASSERT_NO_FATAL_FAILURE(check());
    }
  }
  int whole(int low, int high) { return std::uniform_int_distribution<int>(low, high)(engine_); }
  float scale(double low, double high) {
    return static_cast<float>(
        std::exp(std::uniform_real_distribution<double>(std::log(low), std::log(high))(engine_)));
  }
  Step step(double low = 0.01, double high = 0.1) { return {scale(low, high), whole(-100, 100)}; }
  LiteBytes bytes(int count) {
    LiteBytes made(static_cast<std::size_t>(count));
    for (int& value : made) value = whole(-128, 127);
    return made;
  }
  static std::vector<std::uint8_t> stored(const LiteBytes& values) { return {values.begin(), values.end()}; }
  int tensor(const std::vector<int>& shape, const Step& step, const LiteBytes& data = {}) {
    return model_->tensor(shape, TensorType::INT8, step.scale, step.zero, stored(data));
  }
  void begin() { model_ = std::make_unique<TfliteModel>(); }

  /// The elements of tensor `y` of a run whose input `x` has these elements.
  LiteBytes run(const std::vector<int>& inputs, int y, const std::vector<LiteBytes>& given,
                const std::vector<int>& also = {}) {
    std::vector<int> outputs{y};
    outputs.insert(outputs.end(), also.begin(), also.end());
    folder_.write("model.tflite", model_->bytes(inputs, outputs));
    const CommandResult imported = folder_.run({"import", "model.tflite", "--out", "net"});
    EXPECT_EQ(imported.status, 0) << imported.err;
    EXPECT_THAT(imported.out, Not(HasSubstr("Computed exactly")));
    std::vector<std::string> arguments{"run",     "--config",          source_path("configs/core1.json"),
                                       "--layer", "net/workload.json", "--out",
                                       "out",     "--check",           "on"};
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const std::string file = "in" + std::to_string(i) + ".npy";
      folder_.write(file, npy(given[i], inputs[i]));
      arguments.insert(arguments.end(), {"--input", holder(inputs[i]) + "=" + file});
    }
    const CommandResult ran = folder_.run(arguments);
    EXPECT_EQ(ran.status, 0) << ran.err << ran.out;
    return result(y);
  }
  LiteBytes result(int y) const {
    const std::string file = read_bytes(folder_.path("out/outputs/" + holder(y) + ".npy"));
    const std::string elements = file.substr(file.find('\n') + 1);
    const bool wide_type = file.find("<i4") != std::string::npos;
    LiteBytes made;
    for (std::size_t i = 0; i < elements.size(); i += wide_type ? 4 : 1)
      made.push_back(static_cast<signed char>(elements[i]));
    return made;
  }

  CommandFolder folder_;
  std::unique_ptr<TfliteModel> model_;
  std::mt19937 engine_;

 private:
  std::string holder(int tensor) const {
    return nlohmann::json::parse(
        read_bytes(folder_.path("net/tensors.json")))[static_cast<std::size_t>(tensor)]["holder"];
  }
  /// A .npy file in the shape of the workload's input.
  std::string npy(const LiteBytes& values, int tensor) const {
    std::string shape;
    const auto workload = nlohmann::json::parse(read_bytes(folder_.path("net/workload.json")));
    for (const auto& input : workload.at("inputs")) {
      if (input["name"] != holder(tensor)) continue;
      for (const int extent : input["shape"]) shape += std::to_string(extent) + ", ";
    }
    std::string header = "{'descr': '|i1', 'fortran_order': False, 'shape': (" + shape + "), }";
    header.append((64 - (11 + header.size()) % 64) % 64, ' ');
    header += '\n';
    std::string made("\x93NUMPY\x01\x00", 8);
    made += static_cast<char>(header.size() & 0xFF);
    made += static_cast<char>(header.size() >> 8);
    made += header;
    for (const int value : values) made += static_cast<char>(value);
    return made;
  }
};

/// What a table of float32 has for a real number.
int table_entry(float value, const Step& y) {
  const float quotient = value * (1.0F / y.scale);
  if (!std::isfinite(quotient)) return quotient > 0 ? 127 : -128;
  return int8_of(static_cast<std::int64_t>(std::round(std::clamp(quotient, -1e6F, 1e6F))) + y.zero);
}

TEST_F(TfliteKernels, RN_6_functions_of_int8_are_looked_up_in_tables_of_float32) {
  struct Function {
    Builtin code;
    std::function<float(float)> of;
  };
  const std::vector<Function> functions{
      {Builtin::EXP, [](float x) { return std::exp(x); }},
      {Builtin::ELU, [](float x) { return x < 0 ? std::expm1(x) : x; }},
      {Builtin::LOG, [](float x) { return x > 0 ? static_cast<float>(std::log(wide(x))) : -INFINITY; }},
      {Builtin::GELU,
       [](float x) {
         const float place = x * static_cast<float>(std::sqrt(0.5));
         return 0.5F * x * (1 + static_cast<float>(std::erf(wide(place))));
       }},
  };
  LiteBytes all;
  for (int i = -128; i < 128; ++i) all.push_back(i);
  each_case([&] {
    for (const Function& f : functions) {
      const Step x = step(), y = step(0.02, 0.2);
      begin();
      const int in = tensor({1, 4, 8, 8}, x), out = tensor({1, 4, 8, 8}, y);
      model_->op(f.code, {in}, {out});
      const LiteBytes made = run({in}, out, {all});
      for (std::size_t i = 0; i < all.size(); ++i)
        ASSERT_EQ(made.at(i), table_entry(f.of(x.scale * static_cast<float>(all[i] - x.zero)), y))
            << EnumNameBuiltin(f.code) << " of " << all[i];
    }
  });
}

TEST_F(TfliteKernels, RN_6_magnitudes_round_twice_and_negation_knows_no_scale) {
  LiteBytes all;
  for (int i = -128; i < 128; ++i) all.push_back(i);
  each_case([&] {
    const Step x = step(), y = step(0.02, 0.2);
    begin();
    const int in = tensor({1, 4, 8, 8}, x), abs = tensor({1, 4, 8, 8}, y), neg = tensor({1, 4, 8, 8}, y);
    model_->op(Builtin::ABS, {in}, {abs});
    model_->op(Builtin::NEG, {in}, {neg});
    const LiteBytes made = run({in}, abs, {all}, {neg}), negated = result(neg);
    const Factor factor = factor_of(wide(x.scale / y.scale));  // floats are divided
    for (std::size_t i = 0; i < all.size(); ++i) {
      ASSERT_EQ(made.at(i), int8_of(twice_rounded(std::abs(all[i] - x.zero), factor) + y.zero)) << all[i];
      ASSERT_EQ(negated.at(i), all[i] == -128 ? -128 : -all[i]);
    }
  });
}

TEST_F(TfliteKernels, RN_6_magnitudes_of_extreme_scales_are_bounded) {
  LiteBytes all;
  for (int i = -128; i < 128; ++i) all.push_back(i);
  const int zero = 5;
  for (const auto& [scale_of_x, scale_of_y] :
       {std::pair(1e9F, 1e-30F), {1e9F, 1.0F}, {1e6F, 1.0F}, {1.0F, 1e9F}, {1e-30F, 1e9F}}) {
    const bool grows = scale_of_x > scale_of_y;
    const Step x{scale_of_x, zero}, y{scale_of_y, zero};
    begin();
    const int in = tensor({1, 4, 8, 8}, x), abs = tensor({1, 4, 8, 8}, y);
    model_->op(Builtin::ABS, {in}, {abs});
    const LiteBytes made = run({in}, abs, {all});
    for (std::size_t i = 0; i < all.size(); ++i)
      ASSERT_EQ(made.at(i), grows && all[i] != zero ? 127 : zero) << scale_of_x << " " << all[i];
  }
}

TEST_F(TfliteKernels, RN_6_slopes_round_their_products_twice) {
  each_case([&] {
    const int c = whole(1, 9), pixels = whole(1, 12);
    const Step x = step(), y = step(0.02, 0.2), a{scale(0.003, 0.02), whole(-20, 20)};
    const LiteBytes given = bytes(pixels * c), slopes = bytes(c);
    begin();
    const int in = tensor({1, 1, pixels, c}, x), alpha = tensor({1, 1, c}, a, slopes),
              out = tensor({1, 1, pixels, c}, y);
    model_->op(Builtin::PRELU, {in, alpha}, {out});
    const LiteBytes made = run({in}, out, {given});
    const Factor above = factor_of(wide(x.scale) / wide(y.scale));
    const Factor below = factor_of(wide(x.scale) * wide(a.scale) / wide(y.scale));
    for (std::size_t i = 0; i < given.size(); ++i) {
      const int v = given[i] - x.zero, slope = slopes[i % static_cast<std::size_t>(c)] - a.zero;
      ASSERT_EQ(made.at(i),
                int8_of((v >= 0 ? twice_rounded(v, above) : twice_rounded(v * slope, below)) + y.zero));
    }
  });
}

TEST_F(TfliteKernels, RN_6_batched_products_round_twice) {
  each_case([&] {
    const int batch = whole(1, 3), m = whole(1, 6), k = whole(1, 20), n = whole(1, 9);
    const bool turned = whole(0, 1) == 1;
    const Step x = step(), w = step(), y = step(0.1, 1);
    const LiteBytes a = bytes(batch * m * k), b = bytes(batch * k * n);
    begin();
    const int left = tensor({batch, m, k}, x),
              right = tensor(turned ? std::vector<int>{batch, n, k} : std::vector<int>{batch, k, n}, w),
              out = tensor({batch, m, n}, y);
    model_->op(Builtin::BATCH_MATMUL, {left, right}, {out}, tflite::Options::BatchMatMulOptions,
               tflite::CreateBatchMatMulOptions(model_->builder(), false, turned).Union());
    const LiteBytes made = run({left, right}, out, {a, b});
    const Factor factor = factor_of(wide(x.scale) * wide(w.scale) / wide(y.scale));
    for (int i = 0; i < batch * m * n; ++i) {
      const int matrix = i / (m * n), row = i / n % m, column = i % n;
      std::int64_t sum = 0;
      for (int q = 0; q < k; ++q) {
        const int at = turned ? (matrix * n + column) * k + q : (matrix * k + q) * n + column;
        sum += (a[static_cast<std::size_t>((matrix * m + row) * k + q)] - x.zero) *
               (b[static_cast<std::size_t>(at)] - w.zero);
      }
      ASSERT_EQ(made.at(static_cast<std::size_t>(i)), int8_of(twice_rounded(sum, factor) + y.zero));
    }
  });
}

TEST_F(TfliteKernels, RN_6_random_pools_have_the_bytes_of_the_rule) {
  each_case([&] {
    const bool greatest = whole(0, 1) == 1, same = whole(0, 1) == 1;
    const int k = whole(1, 4), l = whole(1, 4), stride = whole(1, 3), h = whole(k, 9), w = whole(l, 9),
              c = whole(1, 9);
    const auto pixels = [&](int in, int taps) {
      return same ? (in + stride - 1) / stride : (in - taps) / stride + 1;
    };
    const int rows = pixels(h, k), columns = pixels(w, l);
    const int top = same ? std::max(0, (rows - 1) * stride + k - h) / 2 : 0;
    const int left = same ? std::max(0, (columns - 1) * stride + l - w) / 2 : 0;
    const Step x = step();
    const LiteBytes given = bytes(h * w * c);
    begin();
    const int in = tensor({1, h, w, c}, x), out = tensor({1, rows, columns, c}, x);
    model_->op(
        greatest ? Builtin::MAX_POOL_2D : Builtin::AVERAGE_POOL_2D, {in}, {out},
        tflite::Options::Pool2DOptions,
        tflite::CreatePool2DOptions(model_->builder(), same ? tflite::Padding::SAME : tflite::Padding::VALID,
                                    stride, stride, l, k, tflite::Activation::NONE)
            .Union());
    const LiteBytes made = run({in}, out, {given});
    std::size_t i = 0;
    for (int r = 0; r < rows; ++r) {
      for (int s = 0; s < columns; ++s) {
        for (int channel = 0; channel < c; ++channel, ++i) {
          int sum = 0, count = 0, most = -128;
          for (int u = 0; u < k * l; ++u) {
            const int row = r * stride - top + u / l, column = s * stride - left + u % l;
            if (row < 0 || row >= h || column < 0 || column >= w) continue;
            const int value = given[static_cast<std::size_t>((row * w + column) * c + channel)];
            sum += value, ++count, most = std::max(most, value);
          }
          const int mean = sum > 0 ? (sum + count / 2) / count : (sum - count / 2) / count;
          ASSERT_EQ(made.at(i), greatest ? most : mean);
        }
      }
    }
  });
}

TEST_F(TfliteKernels, RN_6_random_transposed_convolutions_round_twice) {
  each_case([&] {
    const bool same = whole(0, 1) == 1;
    const int k = whole(1, 4), stride = whole(1, 3), h = whole(1, 5), w = whole(1, 5), ci = whole(1, 6),
              co = whole(1, 6);
    const auto pixels = [&](int in) { return same ? in * stride : in * stride + std::max(k - stride, 0); };
    const int rows = pixels(h), columns = pixels(w), pad = same ? std::max(k - stride, 0) / 2 : 0;
    const Step x = step(), y = step(0.1, 1);
    std::vector<float> scales;
    for (int c = 0; c < co; ++c) scales.push_back(scale(0.001, 0.02));
    const LiteBytes given = bytes(h * w * ci), kernels = bytes(co * k * k * ci);
    std::vector<int> bias;
    for (int c = 0; c < co; ++c) bias.push_back(whole(-2000, 2000));
    begin();
    const int size = model_->integers({1, rows, columns, co}),
              weights = model_->channels({co, k, k, ci}, scales, 0, stored(kernels)),
              in = tensor({1, h, w, ci}, x), biases = model_->integers(bias),
              out = tensor({1, rows, columns, co}, y);
    model_->op(Builtin::TRANSPOSE_CONV, {size, weights, in, biases}, {out},
               tflite::Options::TransposeConvOptions,
               tflite::CreateTransposeConvOptions(model_->builder(),
                                                  same ? tflite::Padding::SAME : tflite::Padding::VALID,
                                                  stride, stride, tflite::Activation::NONE)
                   .Union());
    const LiteBytes made = run({in}, out, {given});
    std::vector<std::int64_t> sums(static_cast<std::size_t>(rows * columns * co));
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] = bias[i % static_cast<std::size_t>(co)];
    for (int pixel = 0; pixel < h * w; ++pixel) {
      for (int tap = 0; tap < k * k; ++tap) {
        const int row = pixel / w * stride + tap / k - pad, column = pixel % w * stride + tap % k - pad;
        if (row < 0 || row >= rows || column < 0 || column >= columns) continue;
        for (int i = 0; i < co * ci; ++i) {
          const int c = i / ci;
          sums[static_cast<std::size_t>((row * columns + column) * co + c)] +=
              (given[static_cast<std::size_t>(pixel * ci + i % ci)] - x.zero) *
              kernels[static_cast<std::size_t>((c * k * k + tap) * ci + i % ci)];
        }
      }
    }
    for (std::size_t i = 0; i < sums.size(); ++i) {
      const Factor factor = factor_of(wide(x.scale) * wide(scales[i % scales.size()]) / wide(y.scale));
      ASSERT_EQ(made.at(i), int8_of(twice_rounded(sums[i], factor) + y.zero)) << i;
    }
  });
}

TEST_F(TfliteKernels, RN_2_parts_of_given_lengths_and_the_place_of_the_greatest) {
  each_case([&] {
    const int first = whole(1, 4), second = whole(1, 4), c = first + second + 1, pixels = whole(1, 6);
    const int axis = whole(2, 3);
    const Step x = step();
    const LiteBytes given = bytes(pixels * c);
    begin();
    const int in = tensor({1, 1, pixels, c}, x), lengths = model_->integers({first, -1, 1}),
              along = model_->integers({3}), a = tensor({1, 1, pixels, first}, x),
              b = tensor({1, 1, pixels, second}, x), d = tensor({1, 1, pixels, 1}, x);
    model_->op(Builtin::SPLIT_V, {in, lengths, along}, {a, b, d});
    const int place = model_->tensor({1, 1, axis == 3 ? pixels : c}, TensorType::INT32, 1, 0);
    model_->op(Builtin::ARG_MAX, {in, model_->integers({axis})}, {place});
    const LiteBytes made = run({in}, b, {given}, {a, d, place}), greatest = result(place), last = result(d);
    for (int p = 0; p < pixels; ++p) {
      const auto at = [&](int channel) { return given[static_cast<std::size_t>(p * c + channel)]; };
      for (int i = 0; i < second; ++i)
        ASSERT_EQ(made.at(static_cast<std::size_t>(p * second + i)), at(first + i));
      ASSERT_EQ(last.at(static_cast<std::size_t>(p)), at(c - 1));
    }
    for (std::size_t i = 0; i < greatest.size(); ++i) {
      const auto at = [&](int j) {
        return given[static_cast<std::size_t>(axis == 3 ? static_cast<int>(i) * c + j
                                                        : j * c + static_cast<int>(i))];
      };
      int best = 0;
      for (int j = 1; j < (axis == 3 ? c : pixels); ++j) best = at(j) > at(best) ? j : best;
      ASSERT_EQ(greatest[i], best);
    }
  });
}

}  // namespace
}  // namespace tilebeat::testing
