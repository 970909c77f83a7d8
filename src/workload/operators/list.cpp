#include "workload/operators/operator.h"

namespace tilebeat {

// The forms, by the file that defines them. A class for several operators is told which one it is.

// convolution.cpp
Form conv2d_form();
Form fully_connected_form();
Form conv_transpose_form();

// product.cpp
Form matmul_form();   ///< of an input and weights
Form product_form();  ///< of two inputs

// pooling.cpp
Form max_pool_form();
Form average_pool_form();
Form global_pool_form(Pooling::Kind kind);
Form reduce_form(Reduce::Kind kind);
Form reduce_max_form();

// elementwise.cpp
Form elementwise_form(Elementwise::Kind kind);
Form relu_form();
Form clamp_form();
Form leaky_relu_form();
Form function_form(ByteFunction::Kind kind);
Form scale_form();
Form batchnorm_form();
Form requantize_form();

// rows.cpp
Form softmax_form();
Form norm_form(RowNorm::Kind kind);
Form lrn_form();
Form argmax_form();
Form quantize_form();
Form dequantize_form();
Form dynamic_quantize_form();

// movement.cpp
Form dropout_form();
Form flatten_form();
Form reshape_form();
Form concat_form();
Form resize_form();
Form pad_form();
Form transpose_form();
Form slice_form();
Form gather_form();

const std::vector<Operator>& operators() {
  using Element = Elementwise::Kind;
  using Function = ByteFunction::Kind;
  constexpr Count kOne{1, 1}, kTwo{2, 2};
  static const std::vector<Operator> list{
      {"conv2d", kOne, Reads::kMaps, conv2d_form},
      {"fully_connected", kOne, Reads::kMaps, fully_connected_form},
      {"matmul", kOne, Reads::kBytes, matmul_form},
      {"max_pool", kOne, Reads::kMaps, max_pool_form},
      {"average_pool", kOne, Reads::kMaps, average_pool_form},
      {"global_max_pool", kOne, Reads::kMaps, [] { return global_pool_form(Pooling::Kind::kMax); }},
      {"global_average_pool", kOne, Reads::kMaps, [] { return global_pool_form(Pooling::Kind::kAverage); }},
      {"add", kTwo, Reads::kBytes, [] { return elementwise_form(Element::kAdd); }},
      {"sub", kTwo, Reads::kBytes, [] { return elementwise_form(Element::kSub); }},
      {"mul", kTwo, Reads::kBytes, [] { return elementwise_form(Element::kMul); }},
      {"relu", kOne, Reads::kBytes, relu_form},
      {"clamp", kOne, Reads::kBytes, clamp_form},
      {"leaky_relu", kOne, Reads::kBytes, leaky_relu_form},
      {"sigmoid", kOne, Reads::kBytes, [] { return function_form(Function::kSigmoid); }},
      {"tanh", kOne, Reads::kBytes, [] { return function_form(Function::kTanh); }},
      {"hard_swish", kOne, Reads::kBytes, [] { return function_form(Function::kHardSwish); }},
      {"gelu", kOne, Reads::kBytes, [] { return function_form(Function::kGelu); }},
      {"scale", kOne, Reads::kMaps, scale_form},
      {"batchnorm", kOne, Reads::kMaps, batchnorm_form},
      {"requantize", kOne, Reads::kAccumulators, requantize_form},
      {"softmax", kOne, Reads::kBytes, softmax_form},
      {"flatten", kOne, Reads::kMaps, flatten_form},
      {"reshape", kOne, Reads::kBytesOrReals, reshape_form},
      {"dropout", kOne, Reads::kBytes, dropout_form},
      {"concat", {2, 16}, Reads::kBytes, concat_form},
      {"resize", kOne, Reads::kMaps, resize_form},
      {"conv_transpose", kOne, Reads::kMaps, conv_transpose_form},
      {"pad", kOne, Reads::kMaps, pad_form},
      {"reduce_mean", kOne, Reads::kBytes, [] { return reduce_form(Reduce::Kind::kMean); }},
      {"quantize", kOne, Reads::kReals, quantize_form},
      {"dequantize", kOne, Reads::kAccumulators, dequantize_form},
      {"dynamic_quantize", kOne, Reads::kReals, dynamic_quantize_form},
      {"div", kTwo, Reads::kBytes, [] { return elementwise_form(Element::kDiv); }},
      {"gelu_tanh", kOne, Reads::kBytes, [] { return function_form(Function::kGeluTanh); }},
      {"silu", kOne, Reads::kBytes, [] { return function_form(Function::kSilu); }},
      {"exp", kOne, Reads::kBytes, [] { return function_form(Function::kExp); }},
      {"erf", kOne, Reads::kBytes, [] { return function_form(Function::kErf); }},
      {"sqrt", kOne, Reads::kBytes, [] { return function_form(Function::kSqrt); }},
      {"reduce_sum", kOne, Reads::kBytes, [] { return reduce_form(Reduce::Kind::kSum); }},
      {"reduce_max", kOne, Reads::kBytes, reduce_max_form},
      {"layernorm", kOne, Reads::kBytes, [] { return norm_form(RowNorm::Kind::kLayerNorm); }},
      {"rmsnorm", kOne, Reads::kBytes, [] { return norm_form(RowNorm::Kind::kRmsNorm); }},
      {"lrn", kOne, Reads::kBytes, lrn_form},
      {"argmax", kOne, Reads::kBytes, argmax_form},
      {"transpose", kOne, Reads::kBytes, transpose_form},
      {"slice", kOne, Reads::kBytes, slice_form},
      {"gather", kOne, Reads::kBytes, gather_form},
      {"matmul", kTwo, Reads::kBytes, product_form, " of two inputs"},
  };
  return list;
}

}  // namespace tilebeat
