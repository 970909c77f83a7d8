#include "workload/operators/operator.h"

#include <algorithm>
#include <array>

namespace tilebeat {

using namespace std::string_view_literals;

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
    kTransposeForm, kSliceForm, kGatherForm, kLookupForm, kDepthToSpaceForm, kSpaceToDepthForm;

// host.cpp
extern const FormMaker kHostSoftmaxForm, kHostConvForm, kHostGlobalPoolForm, kHostMatmulForm, kHostGemmForm,
    kHostTransposeForm, kHostSliceForm, kHostReshapeForm, kHostConcatForm, kHostQuantizeForm,
    kHostDequantizeForm;
Form host_elementwise_form(HostElementwise::Kind kind);
Form host_function_form(HostFunction::Kind kind);
Form host_reduce_form(HostReduce::Kind kind);
Form host_pool_form(HostPool::Kind kind);

namespace {

constexpr Count kOne{1, 1}, kTwo{2, 2};

template <HostElementwise::Kind Kind>
Operator on_host(std::string_view name) {
  return {name, {2, 2}, Reads::kReals, [] { return host_elementwise_form(Kind); }};
}
template <HostFunction::Kind Kind>
Operator on_host(std::string_view name) {
  return {name, {1, 1}, Reads::kReals, [] { return host_function_form(Kind); }};
}

/// Operators of float32 that the host computes.
void add_host_operators(std::vector<Operator>& list) {
  using Element = HostElementwise::Kind;
  using Function = HostFunction::Kind;
  constexpr Count kMore{2, 3};
  for (const Operator& op : {
           on_host<Element::kAdd>("host_add"),
           on_host<Element::kSub>("host_sub"),
           on_host<Element::kMul>("host_mul"),
           on_host<Element::kDiv>("host_div"),
           on_host<Element::kMax>("host_max"),
           on_host<Element::kMin>("host_min"),
           on_host<Element::kPow>("host_pow"),
           on_host<Function::kRelu>("host_relu"),
           on_host<Function::kClip>("host_clip"),
           on_host<Function::kLeakyRelu>("host_leaky_relu"),
           on_host<Function::kHardSigmoid>("host_hard_sigmoid"),
           on_host<Function::kHardSwish>("host_hard_swish"),
           on_host<Function::kSigmoid>("host_sigmoid"),
           on_host<Function::kTanh>("host_tanh"),
           on_host<Function::kExp>("host_exp"),
           on_host<Function::kErf>("host_erf"),
           on_host<Function::kLog>("host_log"),
           on_host<Function::kSqrt>("host_sqrt"),
           on_host<Function::kAbs>("host_abs"),
           on_host<Function::kNeg>("host_neg"),
           Operator{"host_softmax", kOne, Reads::kReals, kHostSoftmaxForm},
           Operator{"host_reduce_mean", kOne, Reads::kReals,
                    [] { return host_reduce_form(HostReduce::Kind::kMean); }},
           Operator{"host_reduce_sum", kOne, Reads::kReals,
                    [] { return host_reduce_form(HostReduce::Kind::kSum); }},
           Operator{"host_conv", kMore, Reads::kReals, kHostConvForm},
           Operator{"host_max_pool", kOne, Reads::kReals,
                    [] { return host_pool_form(HostPool::Kind::kMax); }},
           Operator{"host_average_pool", kOne, Reads::kReals,
                    [] { return host_pool_form(HostPool::Kind::kAverage); }},
           Operator{"host_global_average_pool", kOne, Reads::kReals, kHostGlobalPoolForm},
           Operator{"host_matmul", kTwo, Reads::kReals, kHostMatmulForm},
           Operator{"host_gemm", kMore, Reads::kReals, kHostGemmForm},
           Operator{"host_transpose", kOne, Reads::kReals, kHostTransposeForm},
           Operator{"host_slice", kOne, Reads::kReals, kHostSliceForm},
           Operator{"host_reshape", kOne, Reads::kReals, kHostReshapeForm},
           Operator{"host_concat", {2, 16}, Reads::kReals, kHostConcatForm},
           Operator{"host_quantize", kOne, Reads::kReals, kHostQuantizeForm},
           Operator{"host_dequantize", kOne, Reads::kAccumulators, kHostDequantizeForm},
       })
    list.push_back(op);
}

/// Operators that know int16 besides bytes (SPEC DT-2).
constexpr std::array kOfInt16{"conv2d"sv, "fully_connected"sv, "matmul"sv, "conv_transpose"sv,
                              // movement
                              "flatten"sv, "reshape"sv, "dropout"sv, "concat"sv, "pad"sv, "transpose"sv,
                              "slice"sv, "gather"sv, "depth_to_space"sv, "space_to_depth"sv,
                              // several elements
                              "max_pool"sv, "average_pool"sv, "global_max_pool"sv, "global_average_pool"sv,
                              "reduce_mean"sv, "reduce_max"sv, "softmax"sv,
                              // one or two elements
                              "add"sv, "sub"sv, "mul"sv, "max"sv, "min"sv, "relu"sv, "clamp"sv,
                              "leaky_relu"sv, "sigmoid"sv, "tanh"sv, "requantize"sv, "quantize"sv,
                              "dequantize"sv};

/// A product of two inputs does not.
bool knows_int16(const Operator& op) {
  return op.which.empty() && std::find(kOfInt16.begin(), kOfInt16.end(), op.name) != kOfInt16.end();
}

}  // namespace

const std::vector<Operator>& operators() {
  using Element = Elementwise::Kind;
  using Function = ByteFunction::Kind;
  static const std::vector<Operator> list = [] {
    std::vector<Operator> made{
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
        {"gather", {2, 3}, Reads::kTable, kLookupForm, " by computed indices"},
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
    add_host_operators(made);
    for (Operator& op : made) op.reads_int16 = knows_int16(op);
    return made;
  }();
  return list;
}

}  // namespace tilebeat
