// Functions of one element.
#include "tilebeat/base/error.h"

#include <fmt/format.h>

#include "load_layer.h"

namespace tilebeat {
namespace {

ByteFunction::Kind kind_of(Operator op) {
  switch (op) {
    case Operator::kSigmoid:
      return ByteFunction::Kind::kSigmoid;
    case Operator::kTanh:
      return ByteFunction::Kind::kTanh;
    case Operator::kHardSwish:
      return ByteFunction::Kind::kHardSwish;
    case Operator::kGelu:
      return ByteFunction::Kind::kGelu;
    case Operator::kGeluTanh:
      return ByteFunction::Kind::kGeluTanh;
    case Operator::kSilu:
      return ByteFunction::Kind::kSilu;
    case Operator::kExp:
      return ByteFunction::Kind::kExp;
    case Operator::kErf:
      return ByteFunction::Kind::kErf;
    case Operator::kSqrt:
      return ByteFunction::Kind::kSqrt;
    default:
      throw SimulationError("a function is not known");
  }
}

void load_function(const FunctionSpec& spec, const LayerSource& source, Layer& layer, ByteFunction function) {
  function.input_scale = spec.input_scale, function.requant = spec.requant;
  layer.output = requantised(source.input().shape, spec.requant, source.place.key("requant"));
  layer.operation = function;
}

}  // namespace

void load_relu(const LayerSource& source, Layer& layer) {
  layer.output = source.input();
  layer.operation = ByteFunction{};
}

void load_operator(const ClampSpec& spec, const LayerSource& source, Layer& layer) {
  if (spec.low > spec.high) {
    source.place.key("low").refuse_value(spec.low, fmt::format("at most high, {}", spec.high));
  }
  ByteFunction clamp;
  clamp.kind = ByteFunction::Kind::kClamp, clamp.low = spec.low, clamp.high = spec.high;
  layer.output = source.input();
  layer.operation = clamp;
}

void load_operator(const LeakyReluSpec& spec, const LayerSource& source, Layer& layer) {
  ByteFunction leaky;
  leaky.kind = ByteFunction::Kind::kLeakyRelu, leaky.slope = spec.slope;
  load_function(spec.function, source, layer, leaky);
}

void load_operator(const FunctionSpec& spec, const LayerSource& source, Layer& layer) {
  ByteFunction function;
  function.kind = kind_of(source.spec.op);
  load_function(spec, source, layer, function);
}

}  // namespace tilebeat
