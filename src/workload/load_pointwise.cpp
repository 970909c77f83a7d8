// Operators that treat every element, or every pixel, by itself and are no table over one byte.
// Functions of one element.
#include "tilebeat/error.h"
#include "workload/load_layer.h"
#include "workload/npy.h"
#include "workload/tensor_source.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace tilebeat {
namespace {

constexpr TensorRequant kSoftmaxRequant{256, -128, DType::kInt8, 1.0 / 256};

Elementwise::Kind kind_of(Operator op) {
  switch (op) {
    case Operator::kAdd:
      return Elementwise::Kind::kAdd;
    case Operator::kSub:
      return Elementwise::Kind::kSub;
    case Operator::kMul:
      return Elementwise::Kind::kMul;
    case Operator::kDiv:
      return Elementwise::Kind::kDiv;
    default:
      throw SimulationError("an operator of two tensors is not known");
  }
}

/// The shape of the result of two tensors whose axes are aligned at their ends.
std::vector<std::int64_t> broadcast_shape(const LayerSource& source) {
  const auto& names = source.spec.inputs;
  std::vector<std::int64_t> a = source.inputs[0].shape, b = source.inputs[1].shape;
  const std::size_t rank = std::max(a.size(), b.size());
  a.insert(a.begin(), rank - a.size(), 1), b.insert(b.begin(), rank - b.size(), 1);
  for (std::size_t axis = 0; axis < rank; ++axis) {
    if (a[axis] != b[axis] && a[axis] != 1 && b[axis] != 1) {
      source.input_place(1).refuse(
          fmt::format("{} with shape {}", shown(names[1]), shape_text(source.inputs[1].shape)),
          fmt::format("{}, the shape of {}, or extents of 1", shape_text(source.input().shape),
                      shown(names[0])));
    }
    a[axis] = std::max(a[axis], b[axis]);
  }
  check_shape(a, source.place);
  return a;
}

}  // namespace

std::vector<double> one_a_channel(const std::vector<double>& values, std::int64_t channels,
                                  const Place& place) {
  if (values.size() == 1) return std::vector<double>(static_cast<std::size_t>(channels), values.front());
  if (values.size() != static_cast<std::size_t>(channels)) {
    place.refuse(fmt::format("a list of {} entries", values.size()),
                 fmt::format("a number or a list of {} entries, the channels", channels));
  }
  return values;
}

void load_operator(const ElementwiseSpec& spec, const LayerSource& source, Layer& layer) {
  const std::vector<std::int64_t> shape = broadcast_shape(source);
  layer.output = requantised(shape, spec.requant, source.place.key("requant"));
  layer.operation = Elementwise{kind_of(source.spec.op), spec.input_scales, spec.relu, spec.requant};
}

void load_operator(const ScaleSpec& spec, const LayerSource& source, Layer& layer) {
  const TensorInfo& input = source.input();
  const std::int64_t channels = input.shape[3];
  layer.output = requantised(input.shape, spec.requant, source.place.key("requant"));
  layer.operation =
      ChannelScale{one_a_channel(spec.scale, channels, source.place.key("scale")),
                   one_a_channel(spec.offset, channels, source.place.key("offset")), spec.requant};
}

void load_operator(const BatchnormSpec& spec, const LayerSource& source, Layer& layer) {
  const TensorInfo& input = source.input();
  const std::int64_t channels = input.shape[3];
  const auto list = [&](const std::vector<double>& values, const char* key) {
    return one_a_channel(values, channels, source.place.key(key));
  };
  const std::vector<double> mean = list(spec.mean, "mean"), variance = list(spec.variance, "variance");
  const std::vector<double> gamma = list(spec.gamma, "gamma"), beta = list(spec.beta, "beta");
  ChannelScale folded;
  folded.requant = spec.requant;
  for (std::size_t c = 0; c < mean.size(); ++c) {
    const double s = gamma[c] / std::sqrt(variance[c] + spec.epsilon);
    folded.scale.push_back(s * spec.input_scale);
    folded.offset.push_back(beta[c] - mean[c] * s);
  }
  layer.output = requantised(input.shape, spec.requant, source.place.key("requant"));
  layer.operation = std::move(folded);
}

void load_operator(const RequantizeSpec& spec, const LayerSource& source, Layer& layer) {
  layer.output = requantised(source.input().shape, spec.requant, source.place.key("requant"));
  layer.operation = Requantize{spec.input_scale, spec.requant};
}

void load_operator(const SoftmaxSpec& spec, const LayerSource& source, Layer& layer) {
  Softmax softmax;
  softmax.requant = spec.requant.value_or(kSoftmaxRequant);
  softmax.requant.range = spec.range;
  softmax.input_scale = spec.input_scale, softmax.beta = spec.beta;
  softmax.axis = axis_of(spec.axis, source.input().shape.size(), source.place.key("axis"));
  layer.output = requantised(source.input().shape, softmax.requant, source.place.key("requant"));
  layer.operation = softmax;
}

namespace {

ByteFunction::Kind function_of(Operator op) {
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
  function.kind = function_of(source.spec.op);
  load_function(spec, source, layer, function);
}

}  // namespace tilebeat
