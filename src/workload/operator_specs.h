#pragma once

#include "workload/operators.h"
#include "workload/source_spec.h"
#include "workload/workload_values.h"

#include <optional>
#include <variant>
#include <vector>

namespace tilebeat {

// The fields that the operators of a workload file have besides those of every layer: one struct for every
// set of fields, each with the number of inputs that it takes.

constexpr Count kOneInput{1, 1};
constexpr Count kTwoInputs{2, 2};
constexpr Bounds kPositiveScale{1e-30, 1e9};
constexpr Bounds kReal{-1e12, 1e12};
constexpr Bounds kVariance{0, 1e12};
constexpr Bounds kEpsilon{1e-12, 1e3};
constexpr Bounds kSlope{-1e6, 1e6};
constexpr Range kAxis{-6, 5};

// By the numbers of the enums of Resize.
constexpr std::array<std::string_view, 2> kResizeModeNames{"nearest", "bilinear"};
constexpr std::array<std::string_view, 4> kResizeCoordinatesNames{"half_pixel", "pytorch_half_pixel",
                                                                  "align_corners", "asymmetric"};
constexpr std::array<std::string_view, 4> kResizeRoundingNames{"round_prefer_floor", "round_prefer_ceil",
                                                               "floor", "ceil"};

struct Conv2dSpec {
  static constexpr Count kInputs = kOneInput;
  Conv2d conv;  ///< without tensors
  WeightsSpec weights;
  std::optional<SourceSpec> bias;
  std::optional<bool> depthwise;
  std::optional<OutputRange> range;
};
struct ConvTransposeSpec {
  static constexpr Count kInputs = kOneInput;
  Conv2dSpec layer;  ///< its stride is that of the output, its pads are cut off there
  std::array<int, 2> output_padding{0, 0};
};
struct FullyConnectedSpec {
  static constexpr Count kInputs = kOneInput;
  Conv2dSpec layer;  ///< `out_features` are its out_channels; the kernel follows from the input
};
/// matmul with weights.
struct MatmulSpec {
  static constexpr Count kInputs = kOneInput;
  Conv2dSpec layer;  ///< `out_features` are its out_channels
  std::vector<std::int64_t> weights_axes;
  bool transpose_a = false, transpose_b = false;
};
/// matmul of two inputs.
struct ProductSpec {
  static constexpr Count kInputs = kTwoInputs;
  Conv2dSpec layer;  ///< without weights
  bool transpose_a = false, transpose_b = false;
};
struct MaxPoolSpec {
  static constexpr Count kInputs = kOneInput;
  Pooling pool;
  std::optional<std::array<int, 2>> stride;
};
struct AveragePoolSpec {
  static constexpr Count kInputs = kOneInput;
  Pooling pool;
  std::optional<std::array<int, 2>> stride;
  std::optional<double> input_scale;
  std::optional<TensorRequant> requant;
};
/// Operators without parameters: global pools, relu, flatten, dropout.
struct PlainSpec {
  static constexpr Count kInputs = kOneInput;
};
struct ConcatSpec {
  static constexpr Count kInputs{2, 16};
  int axis = -1;
};
/// add, sub, mul, div.
struct ElementwiseSpec {
  static constexpr Count kInputs = kTwoInputs;
  std::array<double, 2> input_scales{1, 1};
  bool relu = false;
  TensorRequant requant;
};
struct ClampSpec {
  static constexpr Count kInputs = kOneInput;
  std::int32_t low = 0, high = 0;
};
/// sigmoid, tanh, hard_swish, gelu, gelu_tanh, silu, exp, erf, sqrt.
struct FunctionSpec {
  static constexpr Count kInputs = kOneInput;
  double input_scale = 1;
  TensorRequant requant;
};
struct LeakyReluSpec {
  static constexpr Count kInputs = kOneInput;
  double slope = 0.01;
  FunctionSpec function;
};
struct ScaleSpec {
  static constexpr Count kInputs = kOneInput;
  std::vector<double> scale{1}, offset{0};
  TensorRequant requant;
};
struct BatchnormSpec {
  static constexpr Count kInputs = kOneInput;
  std::vector<double> mean, variance, gamma{1}, beta{0};
  double epsilon = 1e-5;
  double input_scale = 1;
  TensorRequant requant;
};
struct RequantizeSpec {
  static constexpr Count kInputs = kOneInput;
  double input_scale = 1;
  TensorRequant requant;
};
struct SoftmaxSpec {
  static constexpr Count kInputs = kOneInput;
  double input_scale = 1, beta = 1;
  int axis = -1;
  std::optional<OutputRange> range;
  std::optional<TensorRequant> requant;
};
struct ReshapeSpec {
  static constexpr Count kInputs = kOneInput;
  std::vector<std::int64_t> shape;
};

struct ResizeSpec {
  static constexpr Count kInputs = kOneInput;
  std::array<int, 2> size{1, 1};
  Resize::Mode mode = Resize::Mode::kNearest;
  ResizeCoordinates coordinates = ResizeCoordinates::kHalfPixel;
  std::optional<Resize::Rounding> rounding;
};

struct PadSpec {
  static constexpr Count kInputs = kOneInput;
  Pad pad;
  std::optional<std::int32_t> value;
};
/// reduce_mean, reduce_sum.
struct ReduceSpec {
  static constexpr Count kInputs = kOneInput;
  std::vector<int> axes;
  bool keep_dims = true;
  double input_scale = 1;
  TensorRequant requant;
};
struct ReduceMaxSpec {
  static constexpr Count kInputs = kOneInput;
  std::vector<int> axes;
  bool keep_dims = true;
};
/// layernorm, rmsnorm.
struct NormSpec {
  static constexpr Count kInputs = kOneInput;
  std::vector<double> gamma{1}, beta{0};
  double epsilon = 1e-5, input_scale = 1;
  TensorRequant requant;
};
struct LrnSpec {
  static constexpr Count kInputs = kOneInput;
  Lrn lrn;
};
struct ArgMaxSpec {
  static constexpr Count kInputs = kOneInput;
  ArgMax::Result result = ArgMax::Result::kIndex;
};
constexpr std::array<std::string_view, 2> kArgMaxResultNames{"index", "one_hot"};
struct TransposeSpec {
  static constexpr Count kInputs = kOneInput;
  std::vector<int> perm;
};
struct SliceSpec {
  static constexpr Count kInputs = kOneInput;
  std::vector<std::int64_t> starts, ends, steps;
};
struct GatherSpec {
  static constexpr Count kInputs = kOneInput;
  int axis = 0;
  std::vector<std::int64_t> indices;
};
/// The type, zero point and step of quantized elements.
struct StepRequant {
  double scale = 1;
  std::int32_t zero_point = 0;
  DType dtype = DType::kInt8;
};
struct QuantizeSpec {
  static constexpr Count kInputs = kOneInput;
  StepRequant requant;
};
struct DequantizeSpec {
  static constexpr Count kInputs = kOneInput;
  double scale = 1;
};
struct DynamicQuantizeSpec {
  static constexpr Count kInputs = kOneInput;
  DynamicQuantize::Result result = DynamicQuantize::Result::kY;
};
constexpr std::array<std::string_view, 3> kDynamicResultNames{"y", "scale", "zero_point"};

using OperatorSpec =
    std::variant<Conv2dSpec, FullyConnectedSpec, MatmulSpec, ProductSpec, MaxPoolSpec, AveragePoolSpec,
                 PlainSpec, ConcatSpec, ElementwiseSpec, ClampSpec, FunctionSpec, LeakyReluSpec, ScaleSpec,
                 BatchnormSpec, RequantizeSpec, SoftmaxSpec, ReshapeSpec, ResizeSpec, ConvTransposeSpec,
                 PadSpec, ReduceSpec, QuantizeSpec, DequantizeSpec, DynamicQuantizeSpec, ReduceMaxSpec,
                 NormSpec, LrnSpec, ArgMaxSpec, TransposeSpec, SliceSpec, GatherSpec>;

}  // namespace tilebeat
