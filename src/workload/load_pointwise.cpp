// Operators that treat every element, or every pixel, by itself and are no table over one byte.
#include "tilebeat/base/error.h"

#include <cmath>

#include <fmt/format.h>

#include "load_layer.h"
#include "npy_header.h"

namespace tilebeat {
namespace {

constexpr TensorRequant kSoftmaxRequant{256, -128, DType::kInt8, 1.0 / 256};

/// `values`, one number or a list written at `place`, as one a channel.
std::vector<double> one_a_channel(const std::vector<double>& values, std::int64_t channels,
                                  const Place& place) {
  if (values.size() == 1) return std::vector<double>(static_cast<std::size_t>(channels), values.front());
  if (values.size() != static_cast<std::size_t>(channels)) {
    place.refuse(fmt::format("a list of {} entries", values.size()),
                 fmt::format("a number or a list of {} entries, the channels", channels));
  }
  return values;
}

Elementwise::Kind kind_of(Operator op) {
  switch (op) {
    case Operator::kAdd:
      return Elementwise::Kind::kAdd;
    case Operator::kSub:
      return Elementwise::Kind::kSub;
    case Operator::kMul:
      return Elementwise::Kind::kMul;
    default:
      throw SimulationError("an operator of two tensors is not known");
  }
}

}  // namespace

void load_operator(const ElementwiseSpec& spec, const LayerSource& source, Layer& layer) {
  const auto& shape = source.input().shape;
  const auto& names = source.spec.inputs;
  if (source.inputs[1].shape != shape) {
    source.input_place(1).refuse(
        fmt::format("{} with shape {}", shown(names[1]), shape_text(source.inputs[1].shape)),
        fmt::format("{}, the shape of {}", shape_text(shape), shown(names[0])));
  }
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
  const auto rank = static_cast<int>(source.input().shape.size());
  if ((spec.axis < 0 ? spec.axis + rank : spec.axis) != rank - 1)
    source.place.key("axis").refuse_value(spec.axis, fmt::format("{} or -1, the last axis", rank - 1));
  layer.output = requantised(source.input().shape, softmax.requant, source.place.key("requant"));
  layer.operation = softmax;
}

}  // namespace tilebeat
