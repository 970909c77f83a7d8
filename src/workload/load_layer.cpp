#include "load_layer.h"

#include "tilebeat/base/error.h"

#include <fmt/format.h>

#include "npy_header.h"

namespace tilebeat {
namespace {

void check_inputs(const LayerSource& source) {
  const Operator op = source.spec.op;
  for (std::size_t i = 0; i < source.inputs.size(); ++i) {
    const TensorInfo& input = source.inputs[i];
    const std::string name = shown(source.spec.inputs[i]);
    const bool any_shape = op == Operator::kReshape || op == Operator::kMatmul;
    if (input.shape.size() != 4 && !any_shape) {
      source.input_place(i).refuse(fmt::format("{} with shape {}", name, shape_text(input.shape)),
                                   "a map [N, H, W, C]");
    }
    if (input.dtype == DType::kInt32 && op != Operator::kRequantize) {
      source.input_place(i).refuse(fmt::format("{} with int32 accumulators", name),
                                   "an int8 or uint8 tensor; give the layer that makes it a requant");
    }
  }
}

}  // namespace

void check_zero_point(std::int32_t zero_point, DType dtype, const Place& place) {
  if (zero_point < dtype_min(dtype) || zero_point > dtype_max(dtype)) {
    place.refuse_value(zero_point, fmt::format("{} to {}, the range of {}", dtype_min(dtype),
                                               dtype_max(dtype), dtype_name(dtype)));
  }
}

TensorInfo requantised(const std::vector<std::int64_t>& shape, const TensorRequant& requant,
                       const Place& place) {
  check_zero_point(requant.zero_point, requant.dtype, place.key("zero_point"));
  return {shape, requant.dtype, requant.zero_point};
}

void load_operator(const PlainSpec&, const LayerSource& source, Layer& layer) {
  switch (source.spec.op) {
    case Operator::kGlobalMaxPool:
      return load_global_pool(Pooling::Kind::kMax, source, layer);
    case Operator::kGlobalAveragePool:
      return load_global_pool(Pooling::Kind::kAverage, source, layer);
    case Operator::kRelu:
      return load_relu(source, layer);
    case Operator::kFlatten:
      return load_flatten(source, layer);
    case Operator::kDropout:
      layer.operation = Reshape{};
      layer.output = source.input();
      return;
    default:
      throw SimulationError("an operator without parameters is not known");
  }
}

Layer load_layer(const LayerSource& source) {
  check_inputs(source);
  const LayerSpec& spec = source.spec;
  Layer layer;
  layer.name = spec.name;
  layer.op = operator_name(spec.op);
  layer.scene = spec.scene;
  layer.inputs = spec.inputs;
  std::visit([&](const auto& parameters) { load_operator(parameters, source, layer); }, spec.parameters);
  return layer;
}

}  // namespace tilebeat
