#include "workload/layer_spec.h"

#include "tilebeat/error.h"

#include <algorithm>

#include <fmt/format.h>

namespace tilebeat {
namespace {

/// The fields of operators on tensors of any shape, with their defaults.
OperatorSpec tensor_parameters_of(Operator op) {
  switch (op) {
    case Operator::kReduceMax:
      return ReduceMaxSpec{};
    case Operator::kLayerNorm:
    case Operator::kRmsNorm:
      return NormSpec{};
    case Operator::kLrn:
      return LrnSpec{};
    case Operator::kArgMax:
      return ArgMaxSpec{};
    case Operator::kTranspose:
      return TransposeSpec{};
    case Operator::kSlice:
      return SliceSpec{};
    case Operator::kGather:
      return GatherSpec{};
    case Operator::kReduceMean:
    case Operator::kReduceSum:
      return ReduceSpec{};
    case Operator::kQuantize:
      return QuantizeSpec{};
    case Operator::kDequantize:
      return DequantizeSpec{};
    case Operator::kDynamicQuantize:
      return DynamicQuantizeSpec{};
    default:
      throw SimulationError("an operator is not known");
  }
}

/// The fields of an operator, with their defaults.
OperatorSpec parameters_of(Operator op) {
  switch (op) {
    case Operator::kConv2d:
      return Conv2dSpec{};
    case Operator::kFullyConnected:
      return FullyConnectedSpec{};
    case Operator::kMatmul:
      return MatmulSpec{};
    case Operator::kMaxPool:
      return MaxPoolSpec{};
    case Operator::kAveragePool:
      return AveragePoolSpec{};
    case Operator::kAdd:
    case Operator::kSub:
    case Operator::kMul:
    case Operator::kDiv:
      return ElementwiseSpec{};
    case Operator::kClamp:
      return ClampSpec{};
    case Operator::kLeakyRelu:
      return LeakyReluSpec{};
    case Operator::kSigmoid:
    case Operator::kTanh:
    case Operator::kHardSwish:
    case Operator::kGelu:
    case Operator::kGeluTanh:
    case Operator::kSilu:
    case Operator::kExp:
    case Operator::kErf:
    case Operator::kSqrt:
      return FunctionSpec{};
    case Operator::kScale:
      return ScaleSpec{};
    case Operator::kBatchnorm:
      return BatchnormSpec{};
    case Operator::kRequantize:
      return RequantizeSpec{};
    case Operator::kSoftmax:
      return SoftmaxSpec{};
    case Operator::kReshape:
      return ReshapeSpec{};
    case Operator::kConcat:
      return ConcatSpec{};
    case Operator::kResize:
      return ResizeSpec{};
    case Operator::kConvTranspose:
      return ConvTransposeSpec{};
    case Operator::kPad:
      return PadSpec{};
    case Operator::kGlobalMaxPool:
    case Operator::kGlobalAveragePool:
    case Operator::kRelu:
    case Operator::kFlatten:
    case Operator::kDropout:
      return PlainSpec{};
    default:
      return tensor_parameters_of(op);
  }
}

/// The names of the operators that have the fields of `op`.
std::vector<std::string> operators_like(Operator op) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < kOperatorNames.size(); ++i) {
    if (parameters_of(static_cast<Operator>(i)).index() == parameters_of(op).index()) {
      names.emplace_back(kOperatorNames[i]);
    }
  }
  return names;
}

LayerSpec sample(Operator op) {
  LayerSpec layer;
  layer.op = op;
  layer.parameters = parameters_of(op);
  return layer;
}

}  // namespace

Count LayerSpec::input_count() const {
  if (op == Operator::kMatmul) return {1, 2};
  return std::visit([](const auto& fields) { return fields.kInputs; }, parameters);
}

void LayerSpec::choose_by_inputs() {
  if (op == Operator::kMatmul && inputs.size() == 2) parameters = ProductSpec{};
}

std::string LayerSpec::kind() const {
  return fmt::format("op {}", operator_name(op));
}

std::string LayerSpec::kind_title() const {
  if (std::holds_alternative<ProductSpec>(parameters)) return "op matmul of two inputs";
  return fmt::format("op {}", fmt::join(operators_like(op), ", "));
}

std::vector<LayerSpec> LayerSpec::kinds() {
  std::vector<LayerSpec> kinds;
  for (std::size_t i = 0; i < kOperatorNames.size(); ++i) {
    LayerSpec layer = sample(static_cast<Operator>(i));
    const auto same = [&layer](const LayerSpec& kind) {
      return kind.parameters.index() == layer.parameters.index();
    };
    if (std::none_of(kinds.begin(), kinds.end(), same)) kinds.push_back(std::move(layer));
  }
  LayerSpec product = sample(Operator::kMatmul);
  product.parameters = ProductSpec{};
  kinds.push_back(std::move(product));
  return kinds;
}

void OperatorValue::read(const Json& json, const Place& place) {
  const std::vector<std::string> names(kOperatorNames.begin(), kOperatorNames.end());
  layer.op = static_cast<Operator>(read_choice(json, place, names));
  layer.parameters = parameters_of(layer.op);
}

OrderedJson OperatorValue::schema() const {
  return {{"enum", operators_like(layer.op)}};
}

}  // namespace tilebeat
