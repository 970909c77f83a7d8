#include "workload/operators/operator.h"

namespace tilebeat {

// The forms, by source file. A class for several operators is told which one it is.

// convolution.cpp, product.cpp; `product` is matmul of two inputs
extern const FormMaker kConv2dForm, kFullyConnectedForm, kConvTransposeForm, kMatmulForm, kProductForm;

// pooling.cpp
extern const FormMaker kMaxPoolForm, kAveragePoolForm, kReduceMaxForm;
Form global_pool_form(Pooling::Kind kind);
Form reduce_form(Reduce::Kind kind);

// elementwise.cpp
extern const FormMaker kReluForm, kClampForm, kTableForm, kLeakyReluForm, kScaleForm, kBatchnormForm,
    kRequantizeForm;
Form elementwise_form(Elementwise::Kind kind);
Form plain_elementwise_form(Elementwise::Kind kind, DType type);
Form function_form(ByteFunction::Kind kind);

// rows.cpp
extern const FormMaker kSoftmaxForm, kLrnForm, kArgmaxForm, kQuantizeForm, kDequantizeForm,
    kDynamicQuantizeForm;
Form norm_form(RowNorm::Kind kind);

// movement.cpp
extern const FormMaker kDropoutForm, kFlattenForm, kReshapeForm, kConcatForm, kResizeForm, kPadForm,
    kTransposeForm, kSliceForm, kGatherForm, kDepthToSpaceForm, kSpaceToDepthForm;

const std::vector<Operator>& operators() {
  using Element = Elementwise::Kind;
  using Function = ByteFunction::Kind;
  constexpr Count kOne{1, 1}, kTwo{2, 2};
  static const std::vector<Operator> list{
      {"conv2d", kOne, Reads::kMaps, kConv2dForm},
      {"fully_connected", kOne, Reads::kMaps, kFullyConnectedForm},
      {"matmul", kOne, Reads::kBytes, kMatmulForm},
      {"max_pool", kOne, Reads::kMaps, kMaxPoolForm},
      {"average_pool", kOne, Reads::kMaps, kAveragePoolForm},
      {"global_max_pool", kOne, Reads::kMaps, [] { return global_pool_form(Pooling::Kind::kMax); }},
      {"global_average_pool", kOne, Reads::kMaps, [] { return global_pool_form(Pooling::Kind::kAverage); }},
      {"add", kTwo, Reads::kBytes, [] { return elementwise_form(Element::kAdd); }},
      {"sub", kTwo, Reads::kBytes, [] { return elementwise_form(Element::kSub); }},
      {"mul", kTwo, Reads::kBytes, [] { return elementwise_form(Element::kMul); }},
      {"relu", kOne, Reads::kBytes, kReluForm},
      {"clamp", kOne, Reads::kBytes, kClampForm},
      {"leaky_relu", kOne, Reads::kBytes, kLeakyReluForm},
      {"sigmoid", kOne, Reads::kBytes, [] { return function_form(Function::kSigmoid); }},
      {"tanh", kOne, Reads::kBytes, [] { return function_form(Function::kTanh); }},
      {"hard_swish", kOne, Reads::kBytes, [] { return function_form(Function::kHardSwish); }},
      {"gelu", kOne, Reads::kBytes, [] { return function_form(Function::kGelu); }},
      {"scale", kOne, Reads::kMaps, kScaleForm},
      {"batchnorm", kOne, Reads::kMaps, kBatchnormForm},
      {"requantize", kOne, Reads::kAccumulators, kRequantizeForm},
      {"softmax", kOne, Reads::kBytes, kSoftmaxForm},
      {"flatten", kOne, Reads::kMaps, kFlattenForm},
      {"reshape", kOne, Reads::kBytesOrReals, kReshapeForm},
      {"dropout", kOne, Reads::kBytes, kDropoutForm},
      {"concat", {2, 16}, Reads::kBytes, kConcatForm},
      {"resize", kOne, Reads::kMaps, kResizeForm},
      {"conv_transpose", kOne, Reads::kMaps, kConvTransposeForm},
      {"pad", kOne, Reads::kMaps, kPadForm},
      {"reduce_mean", kOne, Reads::kBytes, [] { return reduce_form(Reduce::Kind::kMean); }},
      {"quantize", kOne, Reads::kReals, kQuantizeForm},
      {"dequantize", kOne, Reads::kAccumulators, kDequantizeForm},
      {"dynamic_quantize", kOne, Reads::kReals, kDynamicQuantizeForm},
      {"div", kTwo, Reads::kBytes, [] { return elementwise_form(Element::kDiv); }},
      {"gelu_tanh", kOne, Reads::kBytes, [] { return function_form(Function::kGeluTanh); }},
      {"silu", kOne, Reads::kBytes, [] { return function_form(Function::kSilu); }},
      {"exp", kOne, Reads::kBytes, [] { return function_form(Function::kExp); }},
      {"erf", kOne, Reads::kBytes, [] { return function_form(Function::kErf); }},
      {"sqrt", kOne, Reads::kBytes, [] { return function_form(Function::kSqrt); }},
      {"reduce_sum", kOne, Reads::kBytes, [] { return reduce_form(Reduce::Kind::kSum); }},
      {"reduce_max", kOne, Reads::kBytes, kReduceMaxForm},
      {"layernorm", kOne, Reads::kBytes, [] { return norm_form(RowNorm::Kind::kLayerNorm); }},
      {"rmsnorm", kOne, Reads::kBytes, [] { return norm_form(RowNorm::Kind::kRmsNorm); }},
      {"lrn", kOne, Reads::kBytes, kLrnForm},
      {"argmax", kOne, Reads::kBytes, kArgmaxForm},
      {"transpose", kOne, Reads::kBytes, kTransposeForm},
      {"slice", kOne, Reads::kBytes, kSliceForm},
      {"gather", kOne, Reads::kBytes, kGatherForm},
      {"depth_to_space", kOne, Reads::kMaps, kDepthToSpaceForm},
      {"space_to_depth", kOne, Reads::kMaps, kSpaceToDepthForm},
      {"matmul", kTwo, Reads::kBytes, kProductForm, " of two inputs"},
      {"table", kOne, Reads::kBytes, kTableForm},
      {"max", kTwo, Reads::kBytes, [] { return elementwise_form(Element::kMax); }},
      {"min", kTwo, Reads::kBytes, [] { return elementwise_form(Element::kMin); }},
      {"add_real", kTwo, Reads::kReals,
       [] { return plain_elementwise_form(Element::kAdd, DType::kFloat32); }},
      {"sub_real", kTwo, Reads::kReals,
       [] { return plain_elementwise_form(Element::kSub, DType::kFloat32); }},
      {"mul_real", kTwo, Reads::kReals,
       [] { return plain_elementwise_form(Element::kMul, DType::kFloat32); }},
      {"div_real", kTwo, Reads::kReals,
       [] { return plain_elementwise_form(Element::kDiv, DType::kFloat32); }},
      {"max_real", kTwo, Reads::kReals,
       [] { return plain_elementwise_form(Element::kMax, DType::kFloat32); }},
      {"min_real", kTwo, Reads::kReals,
       [] { return plain_elementwise_form(Element::kMin, DType::kFloat32); }},
      {"sub_sums", kTwo, Reads::kAccumulators,
       [] { return plain_elementwise_form(Element::kSub, DType::kInt32); }},
  };
  return list;
}

}  // namespace tilebeat
