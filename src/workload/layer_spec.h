#pragma once

#include "workload/operator_fields.h"

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace tilebeat {

/// The operators that layers can have.
enum class Operator : std::uint8_t {
  kConv2d,
  kFullyConnected,
  kMatmul,
  kMaxPool,
  kAveragePool,
  kGlobalMaxPool,
  kGlobalAveragePool,
  kAdd,
  kSub,
  kMul,
  kRelu,
  kClamp,
  kLeakyRelu,
  kSigmoid,
  kTanh,
  kHardSwish,
  kGelu,
  kScale,
  kBatchnorm,
  kRequantize,
  kSoftmax,
  kFlatten,
  kReshape,
  kDropout,
  kConcat,
  kResize,
  kConvTranspose,
  kPad,
  kReduceMean,
  kQuantize,
  kDequantize,
  kDynamicQuantize,
  kDiv,
  kGeluTanh,
  kSilu,
  kExp,
  kErf,
  kSqrt,
  kReduceSum,
  kReduceMax,
  kLayerNorm,
  kRmsNorm,
  kLrn,
  kArgMax,
  kTranspose,
  kSlice,
  kGather,
};

/// By the number of the Operator.
constexpr std::array<std::string_view, 47> kOperatorNames{"conv2d",
                                                          "fully_connected",
                                                          "matmul",
                                                          "max_pool",
                                                          "average_pool",
                                                          "global_max_pool",
                                                          "global_average_pool",
                                                          "add",
                                                          "sub",
                                                          "mul",
                                                          "relu",
                                                          "clamp",
                                                          "leaky_relu",
                                                          "sigmoid",
                                                          "tanh",
                                                          "hard_swish",
                                                          "gelu",
                                                          "scale",
                                                          "batchnorm",
                                                          "requantize",
                                                          "softmax",
                                                          "flatten",
                                                          "reshape",
                                                          "dropout",
                                                          "concat",
                                                          "resize",
                                                          "conv_transpose",
                                                          "pad",
                                                          "reduce_mean",
                                                          "quantize",
                                                          "dequantize",
                                                          "dynamic_quantize",
                                                          "div",
                                                          "gelu_tanh",
                                                          "silu",
                                                          "exp",
                                                          "erf",
                                                          "sqrt",
                                                          "reduce_sum",
                                                          "reduce_max",
                                                          "layernorm",
                                                          "rmsnorm",
                                                          "lrn",
                                                          "argmax",
                                                          "transpose",
                                                          "slice",
                                                          "gather"};

constexpr std::string_view operator_name(Operator op) {
  return kOperatorNames[static_cast<std::size_t>(op)];
}

/// A layer as it is written. Which fields it has besides the common ones depends on the operator.
struct LayerSpec {
  std::string name;
  Operator op = Operator::kConv2d;
  std::string scene = "main";
  std::vector<std::string> inputs;
  std::optional<Arithmetic> arithmetic;
  OperatorSpec parameters;  ///< the alternative that `op` has

  /// How many inputs a file may name: matmul has one or two.
  Count input_count() const;
  /// Those fields of the operator that its number of inputs asks for.
  void choose_by_inputs();

  // What KindValue asks for.
  std::string kind() const;        ///< "op add"
  std::string kind_title() const;  ///< all operators with the same fields: "op add, sub, mul"
  static std::vector<LayerSpec> kinds();
};

/// The name of an operator; reading it also gives the layer that operator's fields with their defaults.
struct OperatorValue {
  LayerSpec& layer;
  void read(const Json& json, const Place& place);
  OrderedJson write() const { return operator_name(layer.op); }
  /// Allows the operators that have the same fields.
  OrderedJson schema() const;
};

template <class V>
void describe(V& v, LayerSpec& s) {
  v.required().name("name", s.name, "name of the layer and of its output");
  v.required().special("op", OperatorValue{s}, "operator");
  v.name("scene", s.scene,
         "label of the program that the layer belongs to; scenes run in the order of first mention");
  v.optional_choice("arithmetic", s.arithmetic, kArithmeticNames,
                    "whose arithmetic makes the results; without it the workload's");
  const Count kind = std::visit([](const auto& parameters) { return parameters.kInputs; }, s.parameters);
  v.required().names("inputs", s.inputs, v.reading() ? s.input_count() : kind,
                     "workload inputs or layers that are read, in the operator's order");
  if (v.reading()) s.choose_by_inputs();
  std::visit([&](auto& parameters) { describe(v, parameters); }, s.parameters);
}

}  // namespace tilebeat
