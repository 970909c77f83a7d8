// Functions of single float32 elements and sums over rows, with the polynomials and the order of sums of ONNX
// Runtime's kernels for x86-64 with FMA.
#include "base/types.h"
#include "host/host.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>

namespace tilebeat::host {
namespace {

/// The polynomial with these coefficients, that of the highest power first, a rounding a step.
template <std::size_t N>
float polynomial(float x, const std::array<float, N>& coefficients) {
  float value = coefficients[0];
  for (std::size_t i = 1; i < N; ++i) value = std::fma(value, x, coefficients[i]);
  return value;
}

float float_of(std::uint32_t bits) {
  float value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

std::uint32_t bits_of(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

/// x = m * ln 2 + rest; `exponent` has m in the exponent's bits.
struct Reduced {
  float rest = 0;
  std::uint32_t exponent = 0;
};
Reduced reduced(float x) {
  constexpr float kRound = 12582912;  // 1.5 * 2^23: the sum's last bits are a whole number
  const float biased = std::fma(1.44269504088896341F, x, kRound);
  const float m = biased - kRound;
  const float rest = std::fma(m, -1.42860677e-6F, std::fma(m, -6.93145752e-1F, x));
  return {rest, bits_of(biased) << 23U};
}

constexpr std::uint32_t kOne = 0x3F800000;  // the bits of 1
constexpr std::array<float, 6> kExponential{0x1.694000p-10F, 0x1.125edcp-7F, 0x1.555b5ap-5F,
                                            0x1.555450p-3F,  0x1.fffff6p-2F, 1};

/// exp(x) for x <= 0.
float exponential_below_1(float x) {
  const Reduced r = reduced(at_least(-88.3762626647949F, x));
  return std::fma(polynomial(r.rest, kExponential), r.rest, 1.0F) * float_of(r.exponent + kOne);
}

}  // namespace

float exponential(float x) {
  const Reduced r = reduced(at_most(88.7762626647950F, at_least(-103.9720840454F, x)));
  // Exponents beyond those of a float are applied in two factors.
  const auto exponent = static_cast<std::int32_t>(r.exponent);
  const std::int32_t normal =
      std::max(std::min(exponent, 0x3F800000), static_cast<std::int32_t>(0xC1000000U));
  const float first = float_of(static_cast<std::uint32_t>(exponent - normal) + kOne);
  const float second = float_of(static_cast<std::uint32_t>(normal) + kOne);
  return std::fma(polynomial(r.rest, kExponential), r.rest * first, first) * second;
}

float sigmoid(float x) {
  constexpr std::array<float, 5> kAbove{4.37031012579801e-11F, 1.15627324459942e-07F, 6.08574864600143e-05F,
                                        8.51377133304701e-03F, 2.48287947061529e-01F};
  constexpr std::array<float, 6> kBelow{6.10247389755681e-13F, 5.76102136993427e-09F, 6.29106785017040e-06F,
                                        1.70198817374094e-03F, 1.16817656904453e-01F, 9.93151921023180e-01F};
  const float v = at_most(18, at_least(-18, x)), square = v * v;
  const float value = polynomial(square, kAbove) * v / polynomial(square, kBelow) + 0.5F;
  return at_most(1, at_least(0, value));
}

float tangent(float x) {
  constexpr std::array<float, 7> kAbove{-2.76076847742355e-16F, 2.00018790482477e-13F, -8.60467152213735e-11F,
                                        5.12229709037114e-08F,  1.48572235717979e-05F, 6.37261928875436e-04F,
                                        4.89352455891786e-03F};
  constexpr std::array<float, 4> kBelow{1.19825839466702e-06F, 1.18534705686654e-04F, 2.26843463243900e-03F,
                                        4.89352518554385e-03F};
  const float v = at_most(9, at_least(-9, x)), square = v * v;
  return polynomial(square, kAbove) * v / polynomial(square, kBelow);
}

float error_function(float x) {
  constexpr std::array<float, 6> kSmall{-5.99104969e-4F, 4.99339588e-3F,  -2.67667342e-2F,
                                        1.12818025e-1F,  -3.76124859e-1F, 1.28379151e-1F};
  constexpr std::array<float, 7> kLarge{1.72948930e-5F, -3.83208680e-4F, 3.88393435e-3F, -2.42545605e-2F,
                                        1.06777847e-1F, 6.34846687e-1F,  1.28717512e-1F};
  constexpr std::array<float, 7> kExp{
      1.38319808e-3F, 8.37550033e-3F, 4.16689515e-2F, 1.66664466e-1F, 4.99999851e-1F, 1, 1};
  const float v = at_most(3.925F, std::abs(x));
  float value = 0;
  if (v > 0.921875F) {
    const float power = std::fma(polynomial(v, kLarge), v, v);
    const Reduced r = reduced(at_least(-88.3762626647949F, -power));
    value = 1 - polynomial(r.rest, kExp) * float_of(r.exponent + kOne);
  } else {
    value = std::fma(polynomial(v * v, kSmall), v, v);
  }
  return std::copysign(value, x);
}

namespace {

float of(const HostFunction& f, float x) {
  using Kind = HostFunction::Kind;
  const auto hard = [&](float a, float b) {
    const float line = a * x;
    return at_least(0, at_most(1, line + b));
  };
  switch (f.kind) {
    case Kind::kRelu:
      return at_least(0, x);
    case Kind::kClip:
      return at_most(f.b, at_least(f.a, x));
    case Kind::kLeakyRelu:
      return x >= 0 ? x : f.a * x;
    case Kind::kHardSigmoid:
      return hard(f.a, f.b);
    case Kind::kHardSwish:
      return x * hard(1.0F / 6, 0.5F);
    case Kind::kSigmoid:
      return sigmoid(x);
    case Kind::kTanh:
      return tangent(x);
    case Kind::kExp:
      return exponential(x);
    case Kind::kErf:
      return error_function(x);
    case Kind::kLog:
      return std::log(x);
    case Kind::kSqrt:
      return std::sqrt(x);
    case Kind::kAbs:
      return std::abs(x);
    case Kind::kNeg:
      return -x;
  }
  return x;
}

/// The elements along `axis` are `count` ones, `inner` apart.
struct Line {
  std::size_t count = 1, inner = 1;
};
Line line_of(const std::vector<std::int64_t>& shape, int axis) {
  Line line{to_size(nth(shape, axis)), 1};
  for (std::size_t i = to_size(axis) + 1; i < shape.size(); ++i) line.inner *= to_size(shape[i]);
  return line;
}

}  // namespace

Tensor computed(const HostFunction& function, const std::vector<Operand>& inputs, const TensorInfo& output) {
  std::vector<float> values = reals_of(inputs[0].tensor);
  for (float& value : values) value = of(function, value);
  return tensor_of(values, output);
}

Tensor computed(const HostSoftmax& softmax, const std::vector<Operand>& inputs, const TensorInfo& output) {
  std::vector<float> values = reals_of(inputs[0].tensor);
  const Line line = line_of(output.shape, softmax.axis);
  for (std::size_t block = 0; block < values.size(); block += line.count * line.inner) {
    for (std::size_t first = block; first < block + line.inner; ++first) {
      const auto at = [&](std::size_t i) -> float& { return values[first + i * line.inner]; };
      float greatest = at(0);
      for (std::size_t i = 1; i < line.count; ++i) greatest = std::max(greatest, at(i));
      std::array<float, 8> lanes{};
      for (std::size_t i = 0; i < line.count; ++i) {
        at(i) = exponential_below_1(at(i) - greatest);
        lanes[i % lanes.size()] += at(i);
      }
      const float low = (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
      const float high = (lanes[4] + lanes[5]) + (lanes[6] + lanes[7]);
      const float factor = 1 / (high + low);
      for (std::size_t i = 0; i < line.count; ++i) at(i) *= factor;
    }
  }
  return tensor_of(values, output);
}

Tensor computed(const HostReduce& reduce, const std::vector<Operand>& inputs, const TensorInfo& output) {
  const std::vector<float> values = reals_of(inputs[0].tensor);
  std::vector<double> sums(values.begin(), values.end());
  std::vector<std::int64_t> shape = inputs[0].info.shape;
  std::size_t count = 1;
  for (const int axis : reduce.axes) {
    const Line line = line_of(shape, axis);
    std::vector<double> less;
    for (std::size_t block = 0; block < sums.size(); block += line.count * line.inner) {
      for (std::size_t first = block; first < block + line.inner; ++first) {
        double sum = 0;
        for (std::size_t i = 0; i < line.count; ++i) sum += sums[first + i * line.inner];
        less.push_back(sum);
      }
    }
    sums = std::move(less);
    nth(shape, axis) = 1, count *= line.count;
  }
  std::vector<float> made;
  const double by = reduce.kind == HostReduce::Kind::kMean ? static_cast<double>(count) : 1;
  for (const double sum : sums) made.push_back(static_cast<float>(sum / by));
  return tensor_of(made, output);
}

}  // namespace tilebeat::host
