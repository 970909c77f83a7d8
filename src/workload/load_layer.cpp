#include "workload/load_layer.h"

#include "tilebeat/error.h"
#include "workload/npy.h"

#include <fmt/format.h>

namespace tilebeat {
namespace {

/// Operators that are defined by height and width, or by groups of channels.
bool needs_map(Operator op) {
  switch (op) {
    case Operator::kConv2d:
    case Operator::kConvTranspose:
    case Operator::kFullyConnected:
    case Operator::kMaxPool:
    case Operator::kAveragePool:
    case Operator::kGlobalMaxPool:
    case Operator::kGlobalAveragePool:
    case Operator::kScale:
    case Operator::kBatchnorm:
    case Operator::kFlatten:
    case Operator::kResize:
    case Operator::kPad:
      return true;
    default:
      return false;
  }
}

void check_inputs(const LayerSource& source) {
  const Operator op = source.spec.op;
  for (std::size_t i = 0; i < source.inputs.size(); ++i) {
    const TensorInfo& input = source.inputs[i];
    const std::string name = shown(source.spec.inputs[i]);
    if (input.shape.size() != 4 && needs_map(op)) {
      source.input_place(i).refuse(fmt::format("{} with shape {}", name, shape_text(input.shape)),
                                   "a map [N, H, W, C]");
    }
    if (input.dtype == DType::kInt32 && op != Operator::kRequantize && op != Operator::kDequantize) {
      source.input_place(i).refuse(fmt::format("{} with int32 accumulators", name),
                                   "an int8 or uint8 tensor; give the layer that makes it a requant");
    }
    const bool of_reals = op == Operator::kQuantize || op == Operator::kDynamicQuantize;
    if (input.dtype == DType::kFloat32 && !of_reals && op != Operator::kReshape) {
      source.input_place(i).refuse(fmt::format("{} of float32", name),
                                   "an int8 or uint8 tensor; quantize it first");
    }
    if (of_reals && input.dtype != DType::kFloat32) {
      source.input_place(i).refuse(fmt::format("{} of {}", name, dtype_name(input.dtype)),
                                   "a float32 tensor");
    }
  }
}

}  // namespace

int axis_of(int axis, std::size_t rank, const Place& place) {
  const int size = static_cast<int>(rank), from_start = axis < 0 ? axis + size : axis;
  if (from_start < 0 || from_start >= size)
    place.refuse_value(axis, fmt::format("{} to {}, an axis of {}", -size, size - 1, size));
  return from_start;
}

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
  set_arithmetic(source, layer);
  return layer;
}

}  // namespace tilebeat
