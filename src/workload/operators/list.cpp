#include "workload/operators/operator.h"

namespace tilebeat {

// The forms, by the file that defines them. A class for several operators is told which one it is.

// convolution.cpp, product.cpp; `product` is matmul of two inputs
extern const FormMaker conv2d_form, fully_connected_form, conv_transpose_form, matmul_form, product_form;

// pooling.cpp
extern const FormMaker max_pool_form, average_pool_form;
Form reduce_max_form();
Form global_pool_form(Pooling::Kind kind);
Form reduce_form(Reduce::Kind kind);

// elementwise.cpp
extern const FormMaker relu_form, clamp_form, leaky_relu_form, scale_form, batchnorm_form, requantize_form;
Form elementwise_form(Elementwise::Kind kind);
Form function_form(ByteFunction::Kind kind);

// rows.cpp
extern const FormMaker softmax_form, lrn_form, argmax_form, quantize_form, dequantize_form,
    dynamic_quantize_form;
Form norm_form(RowNorm::Kind kind);

// movement.cpp
extern const FormMaker dropout_form, flatten_form, reshape_form, concat_form, resize_form, pad_form,
    transpose_form, slice_form, gather_form, depth_to_space_form, space_to_depth_form;

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
      {"depth_to_space", kOne, Reads::kMaps, depth_to_space_form},
      {"space_to_depth", kOne, Reads::kMaps, space_to_depth_form},
      {"matmul", kTwo, Reads::kBytes, product_form, " of two inputs"},
  };
  return list;
}

}  // namespace tilebeat
