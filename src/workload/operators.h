#pragma once

#include "base/numerics.h"
#include "workload/host_operation.h"
#include "workload/tensor.h"
#include "workload/weights.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace tilebeat {

// The computations of the operators of a workload (SPEC UI-6, docs/workloads.md): one struct per family. `x`
// is an element of the input and `zx` the input's zero point, both from the TensorInfo of the tensor that is
// read; dtype and zero point of the result are those of the layer's output. Real numbers are IEEE doubles,
// computed in the order written here; `round` rounds halves to even, `sat` saturates to the output's dtype.
// Pairs are [height, width], pads are [top, left, bottom, right].

/// An activation between bias and requantisation (SPEC NU-2). `kClamp` keeps low <= acc <= high in
/// accumulator units; an end of int32 is no bound. `kFunction` is one of the real value, for requantised
/// results alone: with v = acc * requant.scale[c], sat(round(f(v) * output_scale) + zero_point).
enum class ActivationKind : std::uint8_t { kNone, kRelu, kClamp, kFunction };
struct Activation {
  ActivationKind kind = ActivationKind::kNone;
  std::int32_t low = INT32_MIN;
  std::int32_t high = INT32_MAX;
  RealFunction function = RealFunction::kNone;
  double output_scale = 1;
  double slope = 0;  ///< of kLeakyRelu
};

/// The rules of SPEC NU-6 for sums of products; they differ only in fixed point. A transposed convolution is
/// kDepthwise.
enum class ProductRule : std::uint8_t { kConvolution, kDepthwise, kFullyConnected };

/// The rounding of a sum in fixed point, whose lower 32 bits count: kByRule is once, for kDepthwise twice;
/// kShort is that of whole sums of products of int16, once, with a multiplier of 16 bits, for kFullyConnected
/// in doubles (SPEC DT-2).
enum class Roundings : std::uint8_t { kByRule, kTwo, kShort };

/// Bounds [low, high] of a result, in elements of its dtype.
using OutputRange = std::array<std::int32_t, 2>;

/// Requantisation of accumulators: sat(round(acc * scale[c]) + zero_point) (SPEC NU-2). In an arithmetic
/// other than exact it follows SPEC NU-6 from the scales of the tensors, which are then all present.
struct Requant {
  std::vector<double> scale;  ///< one element, or one an output channel
  std::int32_t zero_point = 0;
  DType dtype = DType::kInt8;
  std::optional<double> input_scale = {};   ///< sx
  std::vector<double> weight_scale = {};    ///< sw, one or one an output channel; empty: not known
  std::optional<double> output_scale = {};  ///< sy
  Arithmetic arithmetic = Arithmetic::kExact;
  ProductRule rule = ProductRule::kConvolution;
  Roundings roundings = Roundings::kByRule;
  std::optional<OutputRange> range = {};

  /// Whether fixed point rounds after the multiplier and again after the shift.
  bool rounds_twice() const { return rule == ProductRule::kDepthwise || roundings == Roundings::kTwo; }
};

/// n where TensorFlow Lite takes `scale` for 2^n: where its logarithm, in float32, is within 0.001 of n.
inline std::optional<int> exponent_of(double scale) {
  const float to_base_2 = 1.0F / static_cast<float>(std::log(2.0));
  const auto logarithm = static_cast<float>(std::log(double{static_cast<float>(scale)}));
  const float exponent = logarithm * to_base_2, nearest = std::round(exponent);
  if (std::abs(exponent - nearest) >= 1e-3F) return std::nullopt;
  return static_cast<int>(nearest);
}

/// Requantisation of real values v: sat(round(v * scale) + zero_point), one scale for the whole tensor. In an
/// arithmetic other than exact from `output_scale`, which is then present.
struct TensorRequant {
  double scale = 1;
  std::int32_t zero_point = 0;
  DType dtype = DType::kInt8;
  std::optional<double> output_scale = {};  ///< sy
  Arithmetic arithmetic = Arithmetic::kExact;
  std::optional<OutputRange> range = {};
};

/// The interpretation of a convolution's input as pixels.
enum class PixelAxes : std::uint8_t {
  kMap,      ///< the input is a map [N, H, W, C]
  kRows,     ///< rows [..., K]: every row is a pixel of K channels, in whatever shape
  kMatrices  ///< matrices, as MatrixProduct says: the rows of each are pixels
};

/// The layout of a matrix in the last two axes of a tensor.
enum class MatrixOrder : std::uint8_t {
  kPlain,      ///< [rows, columns]
  kTransposed  ///< [columns, rows]
};

/// The matrices of a product A [..., m, k] x B [..., k, n]. Leading axes are aligned at their ends; an axis
/// that is missing, or of extent 1, is repeated, as in NumPy and ONNX (SPEC OP-1).
struct MatrixProduct {
  MatrixOrder a = MatrixOrder::kPlain, b = MatrixOrder::kPlain;  ///< as the tensors hold them
  std::vector<std::int64_t> a_axes, b_axes;                      ///< leading axes
  std::int64_t rows = 1, inner = 1;                              ///< m and k; n is out_channels
};

/// The source of a convolution's kernels.
enum class KernelSource : std::uint8_t {
  kWeights,  ///< constants
  kInput     ///< B of a product: the second input
};

/// The direction in which the taps of a kernel are applied.
enum class ConvForm : std::uint8_t {
  kGathered,   ///< an output is a sum over the pixels under the kernel
  kTransposed  ///< conv_transpose: every pixel of the input adds the whole kernel, times itself, to the
               ///< output
};

/// conv2d; fully_connected, a convolution whose kernel covers the whole map, without stride, pads and groups
/// (the bytes of its weights [Co, K] are those of [Co, H, W, C]); and matmul, a convolution with kernels of
/// one tap, whose pixels are the rows of A and whose kernels are the columns of B. conv_transpose: pixel (h,
/// w) and tap (i, j) contribute to output (h * stride + i - top, w * stride + j - left); without dilation and
/// groups.
struct Conv2d {
  PixelAxes pixels = PixelAxes::kMap;
  ConvForm form = ConvForm::kGathered;
  std::array<int, 2> kernel{1, 1};
  std::array<int, 2> stride{1, 1};
  std::array<int, 2> dilation{1, 1};
  std::array<int, 4> pads{0, 0, 0, 0};
  int groups = 1;
  int out_channels = 1;
  MatrixProduct product;  ///< of a matmul whose pixels are kMatrices
  KernelSource kernels = KernelSource::kWeights;
  /// int8 [Co, Kh, Kw, Ci/groups], of kMatrices [..., n, k]; uint8 files are shifted by -128 when loaded.
  /// Empty when the kernels are an input.
  Weights weights;
  /// Names the source of the weights: layers with the same name read the same bytes, each in its own order.
  std::string weights_source;
  std::int32_t weight_zero_point = 0;  ///< of the weights, shifted along, or of the second input
  std::vector<std::int64_t> bias;      ///< empty, or one an output channel
  Activation activation;
  std::optional<Requant> requant;  ///< absent: accumulators are the output, int32, of int16 maps int64
};

/// max_pool, average_pool and, with a kernel as large as the map, global_max_pool and global_average_pool.
/// Only taps on the map count, and every window has one. max: the greatest x. average:
/// sat(round(sum(x - zx) / count) + zx), one division. dtype and zero point are the input's. An average in
/// another arithmetic follows SPEC NU-6, with a requantisation of its own in kFloat32Ort.
struct Pooling {
  enum class Kind : std::uint8_t { kMax, kAverage };
  Kind kind = Kind::kMax;
  std::array<int, 2> kernel{1, 1};
  std::array<int, 2> stride{1, 1};
  std::array<int, 2> dilation{1, 1};  ///< 1 for averages
  std::array<int, 4> pads{0, 0, 0, 0};
  bool count_include_pad = false;  ///< average: count is the kernel's area instead of the taps on the map
  Arithmetic arithmetic = Arithmetic::kExact;
  double input_scale = 1, output_scale = 1;  ///< average in kFloat32Ort
  std::optional<OutputRange> range = {};
};

/// reduce_mean, reduce_sum, reduce_max: over `axes`, which are neighbours and rise. With s = input_scale, of
/// a sum input_scale * count, v = (sum(x - zx) / count) * s; then requantised. A maximum is the greatest x;
/// dtype and zero point are the input's. A mean in fixed point follows `rule`: that of height and width, or
/// that of any axes, in float32 with one factor and one offset, or, with the scale and the zero point of the
/// input, the sum divided towards zero.
struct Reduce {
  enum class Kind : std::uint8_t { kMean, kSum, kMax };
  enum class MeanRule : std::uint8_t { kMap, kAnyAxes };
  Kind kind = Kind::kMean;
  MeanRule rule = MeanRule::kMap;
  std::vector<int> axes;
  double input_scale = 1;
  TensorRequant requant;
};

/// layernorm, rmsnorm: over the n elements x of each index of the other axes, less their zero point, with
/// their sum S and their sum of squares Q, which are exact. layernorm: d = n * x - S, r = sqrt(n * Q - S * S
/// + e), e = epsilon * (n / input_scale)^2. rmsnorm: d = x, r = sqrt(Q / n + e), e = epsilon * (1 /
/// input_scale)^2. v = d / r * gamma[c] + beta[c], 0 / 0 being 0; then requantised.
struct RowNorm {
  enum class Kind : std::uint8_t { kLayerNorm, kRmsNorm };
  Kind kind = Kind::kLayerNorm;
  double input_scale = 1, epsilon = 1e-5;
  std::vector<double> gamma, beta;  ///< one a channel
  TensorRequant requant;
};

/// lrn over the channels of each pixel: v = x * s with s = input_scale, m = the sum of v^2 over the channels
/// from c - floor((size - 1) / 2) to c + ceil((size - 1) / 2) that exist, in their order; v / (bias + alpha /
/// size * m)^beta; then requantised.
struct Lrn {
  int size = 5;
  double alpha = 1e-4, beta = 0.75, bias = 1, input_scale = 1;
  TensorRequant requant;
};

/// argmax along the last axis: the first greatest element's index, int32; or uint8, 1 there and 0 elsewhere.
struct ArgMax {
  enum class Result : std::uint8_t { kIndex, kOneHot };
  Result result = Result::kIndex;
};

/// transpose, slice, depth_to_space, space_to_depth: the elements of the output in C order are gone through
/// as those of a tensor of shape `extents`; that at index i is the input's element `offset` + the sum over
/// axes of i[axis] * strides[axis]. dtype and zero point are the input's.
struct Move {
  std::vector<std::int64_t> extents;  ///< extents whose product is the number of the output's elements
  std::vector<std::int64_t> strides;  ///< in elements of the input, by axis of `extents`
  std::int64_t offset = 0;
};

/// gather: the input's indices `indices` along `axis`, in that order; dtype and zero point are the input's.
struct Gather {
  int axis = 0;
  std::vector<std::int64_t> indices;
};

/// gather by computed indices: the first input's rows from axis `axis` on whose numbers the other inputs
/// have, one or two of int32: of the axis, and of the one behind it. These are [..., n, ...] in place of the
/// axes.
struct Lookup {
  int axis = 0;
};

/// quantize: bytes or int16 of float32: sat(rint(f32(x / scale)) + zero_point) (SPEC NU-6); of int16 in
/// kFixed sat(x / scale), the quotient in double, half away from zero (SPEC DT-2).
struct Quantize {
  float scale = 1;
  Arithmetic arithmetic = Arithmetic::kExact;
};
/// dequantize: float32 of bytes, of int16, or of int32: f32(f32(x - zx) * scale).
struct Dequantize {
  float scale = 1;
};
/// dynamic_quantize: one of the results of ONNX' DynamicQuantizeLinear. With low and high the least and the
/// greatest x, or 0 if that is beyond: scale = f32(f32(high - low) / 255), 1 if that is 0; zero_point =
/// rint(f32(-low / scale)); y = sat(rint(f32(x / scale)) + zero_point); all within uint8.
struct DynamicQuantize {
  enum class Result : std::uint8_t { kY, kScale, kZero };
  Result result = Result::kY;
};

/// add, sub, mul, div, max, min of tensors a and b, whose axes are aligned at their ends and repeated where
/// an extent is 1: with p = (a - za) * input_scales[0] and q = (b - zb) * input_scales[1], v = p + q, p - q,
/// p * q, p / q (a bound of the dtype by the sign of p where q is 0, and 0 where p is 0 too) or the greater
/// or the lesser of them; with `relu` then max(v, 0); then requantised.
struct Elementwise {
  enum class Kind : std::uint8_t { kAdd, kSub, kMul, kDiv, kMax, kMin };
  Kind kind = Kind::kAdd;
  std::array<double, 2> input_scales{1, 1};
  bool relu = false;
  /// Places by which each operand is shifted right in place of a multiplication: of int16 in fixed point,
  /// where the file says so and all three scales are powers of two (SPEC DT-2).
  std::optional<std::array<int, 2>> shifts = {};
  TensorRequant requant;
};

/// add_real, sub_real, mul_real, div_real, max_real, min_real: of float32 tensors a and b, which are aligned
/// and repeated as those of Elementwise; every result is rounded to float32. sub_sums: a - b of int32
/// tensors, within int32.
struct PlainElementwise {
  Elementwise::Kind kind = Elementwise::Kind::kAdd;
};

/// table: the result for every element of the input's type, from the least to the greatest.
/// relu, clamp, leaky_relu, sigmoid, tanh, hard_swish, gelu, gelu_tanh, silu, exp, erf, sqrt (of 0 where v <
/// 0). The first five are functions of int16, too, sigmoid and tanh in fixed point alone. relu: max(x, zx).
/// clamp: sat(min(max(x - zx, low), high) + zx). The others: f(v) of v = (x - zx) * input_scale, requantised.
struct ByteFunction {
  enum class Kind : std::uint8_t {
    kRelu,
    kClamp,
    kLeakyRelu,
    kSigmoid,
    kTanh,
    kHardSwish,
    kGelu,
    kGeluTanh,
    kSilu,
    kExp,
    kErf,
    kSqrt,
    kTable
  };
  Kind kind = Kind::kRelu;
  std::int64_t low = 0, high = 0;  ///< bounds of a clamp
  double input_scale = 1;
  double slope = 0;                 ///< slope of leaky_relu, for v < 0
  std::vector<std::int64_t> table;  ///< of kTable, 256 elements of the output
  TensorRequant requant;  ///< not of relu, clamp and table: dtype and zero point are the input's or fields
};

/// scale and batchnorm: v = (x - zx) * scale[c] + offset[c], then requantised.
struct ChannelScale {
  std::vector<double> scale;   ///< one a channel
  std::vector<double> offset;  ///< one a channel
  TensorRequant requant;
};

/// requantize: v = (x - zx) * input_scale, then requantised. x may be int32, with zero point 0. In fixed
/// point kConcatenation is the float32 rule by which TensorFlow Lite's concatenation rescales its parts.
struct Requantize {
  enum class Rule : std::uint8_t { kPlain, kConcatenation };
  Rule rule = Rule::kPlain;
  double input_scale = 1;
  TensorRequant requant;
};

/// softmax over the elements along `axis`, a "pixel": with d = (greatest x of the pixel) - x,
/// e = round(exp(-d * input_scale * beta) * 2^24), p = e / (their exact sum over the channels), one division;
/// then requantised.
struct Softmax {
  /// Rows are queries and elements keys: row i of every `queries` rows sees the keys from i + past - window +
  /// 1 to i + past (SPEC AT-1). The share of a key that is not seen is 0.
  struct Mask {
    std::int64_t queries = 1;
    std::int64_t past = 0;    ///< keys before the first query; past + queries is at most the number of keys
    std::int64_t window = 1;  ///< at most the number of keys

    /// The keys that rows from `first` to `last` see, which are counted over all queries: from the first of
    /// them to the one after the last. Nothing where these rows belong to several `queries`.
    std::optional<std::pair<std::int64_t, std::int64_t>> seen(std::int64_t first, std::int64_t last) const {
      if (first / queries != last / queries) return std::nullopt;
      return std::pair{std::max<std::int64_t>(0, first % queries + past - window + 1),
                       last % queries + past + 1};
    }
    /// The number of pairs of a query and a key that it sees.
    std::int64_t pairs() const {
      std::int64_t count = 0;
      for (std::int64_t query = 0; query < queries; ++query) count += std::min(window, query + past + 1);
      return count;
    }
  };

  double input_scale = 1;
  double beta = 1;  ///< factor of the exponent
  int axis = -1;    ///< from the start; negative: the last one
  std::optional<Mask> mask;
  TensorRequant requant;
};

/// flatten, reshape, dropout: the bytes of the input under the output's shape.
struct Reshape {};

/// The position of a resized map's pixels on its source (ONNX, coordinate_transformation_mode): output o of
/// `out` pixels made from `in` pixels.
enum class ResizeCoordinates : std::uint8_t {
  kHalfPixel,         ///< (o + 1/2) * in / out - 1/2
  kPytorchHalfPixel,  ///< the same; 0 where there is one output
  kAlignCorners,      ///< o * (in - 1) / (out - 1); 0 where there is one output
  kAsymmetric         ///< o * in / out
};

/// resize of height and width. The place of every output is an exact fraction. Nearest: the pixel at that
/// place, rounded as `rounding` says. Bilinear: sat(round(sum / weights) + zx), where sum is the exact sum of
/// (x - zx) times whole weights over the four pixels around the place; one division. Beyond the edges lie
/// copies of the first and the last pixel. dtype and zero point are the input's. In kFixed a bilinear resize
/// has its places in 1/1024 of a pixel and rounds the weighted mean of the x half away from zero.
struct Resize {
  enum class Mode : std::uint8_t { kNearest, kBilinear };
  enum class Rounding : std::uint8_t {
    kPreferFloor,
    kPreferCeil,
    kFloor,
    kCeil
  };  ///< preferences: of halves
  Mode mode = Mode::kNearest;
  ResizeCoordinates coordinates = ResizeCoordinates::kHalfPixel;
  Rounding rounding = Rounding::kPreferFloor;
  Arithmetic arithmetic = Arithmetic::kExact;
};

/// pad: the input within a border of `value`, which is `pads` pixels wide and, on every pixel, channel_pads
/// [before, after] channels. dtype and zero point are the input's.
struct Pad {
  std::array<int, 4> pads{0, 0, 0, 0};
  std::array<int, 2> channel_pads{0, 0};
  std::int32_t value = 0;
};

/// concat along an axis of inputs with one dtype and zero point.
struct Concat {
  int axis = 3;
};

/// The computation of a layer. (Processors execute an Operation, isa/operation.h.)
using LayerOperation =
    std::variant<Conv2d, Pooling, Elementwise, PlainElementwise, ByteFunction, ChannelScale, Requantize,
                 Softmax, Reshape, Concat, Resize, Pad, Reduce, Quantize, Dequantize, DynamicQuantize,
                 RowNorm, Lrn, ArgMax, Move, Gather, Lookup, HostOperation>;

}  // namespace tilebeat
