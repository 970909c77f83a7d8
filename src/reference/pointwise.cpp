#include "base/types.h"
#include "reference/arithmetic.h"
#include "reference/operators.h"
#include "tilebeat/error.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

namespace tilebeat {
namespace {

/// A tensor like `output` with `value(i)` for every element i.
template <class Value>
Tensor tensor_of(const TensorInfo& output, Value value) {
  Tensor tensor{output.shape, output.dtype, {}};
  tensor.bytes.reserve(to_size(output.size_bytes()));
  for (std::size_t i = 0; i < to_size(output.elements()); ++i)
    append_element(value(i), output.dtype, tensor.bytes);
  return tensor;
}

std::int32_t requantised(double value, const TensorRequant& requant) {
  return bounded(rounded(value * requant.scale, requant.zero_point, requant.dtype), requant.dtype,
                 requant.range);
}

constexpr double kSqrt2OverPi = 0.7978845608028654;

/// For every element of `output`, the index of its source element in a tensor of shape `own`: axes are
/// aligned at their ends, those of extent 1 repeated.
std::vector<std::size_t> sources(const std::vector<std::int64_t>& output, std::vector<std::int64_t> own) {
  own.insert(own.begin(), output.size() - own.size(), 1);
  std::vector<std::size_t> from{0};
  for (std::size_t axis = 0; axis < output.size(); ++axis) {
    std::vector<std::size_t> longer;
    for (const std::size_t outer : from) {
      for (std::int64_t i = 0; i < output[axis]; ++i)
        longer.push_back(outer * to_size(own[axis]) + to_size(own[axis] == 1 ? 0 : i));
    }
    from = std::move(longer);
  }
  return from;
}

bool is_int16(const TensorRequant& requant) {
  return requant.dtype == DType::kInt16;
}
bool is_exact(const TensorRequant& requant) {
  return requant.arithmetic == Arithmetic::kExact;
}
std::int32_t bounded(std::int64_t value, const TensorRequant& requant) {
  return bounded(value, requant.dtype, requant.range);
}

double combined(Elementwise::Kind kind, double p, double q) {
  switch (kind) {
    case Elementwise::Kind::kAdd:
      return p + q;
    case Elementwise::Kind::kSub:
      return p - q;
    case Elementwise::Kind::kMul:
      return p * q;
    case Elementwise::Kind::kDiv:
      if (q == 0) return p == 0 ? 0 : std::copysign(1e300, p);
      return p / q;
    case Elementwise::Kind::kMax:
      return std::max(p, q);
    case Elementwise::Kind::kMin:
      return std::min(p, q);
  }
  throw SimulationError("an operator of two tensors is not known");
}

// The function of an element after subtraction of its zero point, as in docs/workloads.md.
std::int32_t function_of(const ByteFunction& f, std::int32_t x, const TensorInfo& output) {
  if (!is_exact(f.requant))
    return bounded(is_int16(f.requant) ? function_int16(f, x) : function_value(f, x), f.requant);
  const double v = x * f.input_scale;
  switch (f.kind) {
    case ByteFunction::Kind::kRelu:
      return rounded(x > 0 ? x : 0, output.zero_point, output.dtype);
    case ByteFunction::Kind::kClamp:
      return rounded(static_cast<double>(x < f.low ? f.low : std::min<std::int64_t>(x, f.high)),
                     output.zero_point, output.dtype);
    case ByteFunction::Kind::kLeakyRelu:
      return requantised(v < 0 ? v * f.slope : v, f.requant);
    case ByteFunction::Kind::kSigmoid:
      return requantised(1 / (1 + std::exp(-v)), f.requant);
    case ByteFunction::Kind::kTanh:
      return requantised(std::tanh(v), f.requant);
    case ByteFunction::Kind::kHardSwish:
      return requantised(v * (v <= -3 ? 0 : v >= 3 ? 6 : v + 3) / 6, f.requant);
    case ByteFunction::Kind::kGelu:
      return requantised(0.5 * v * (1 + std::erf(v / std::sqrt(2.0))), f.requant);
    case ByteFunction::Kind::kGeluTanh:
      return requantised(0.5 * v * (1 + std::tanh(kSqrt2OverPi * (v + 0.044715 * v * v * v))), f.requant);
    case ByteFunction::Kind::kSilu:
      return requantised(v / (1 + std::exp(-v)), f.requant);
    case ByteFunction::Kind::kExp:
      return requantised(std::min(std::exp(v), 1e300), f.requant);
    case ByteFunction::Kind::kErf:
      return requantised(std::erf(v), f.requant);
    case ByteFunction::Kind::kSqrt:
      return requantised(v > 0 ? std::sqrt(v) : 0, f.requant);
    case ByteFunction::Kind::kTable:
      break;
  }
  throw SimulationError("a function is not known");
}

}  // namespace

Tensor reference_of(const Elementwise& operation, const Operands& inputs, const TensorInfo& output) {
  const Operand &a = inputs.at(0), &b = inputs.at(1);
  std::vector<std::int32_t> left = centred<std::int32_t>(a.tensor, a.info.zero_point);
  std::vector<std::int32_t> right = centred<std::int32_t>(b.tensor, b.info.zero_point);
  const auto repeat = [&output](std::vector<std::int32_t>& values, const std::vector<std::int64_t>& shape) {
    if (shape == output.shape) return;
    std::vector<std::int32_t> repeated;
    for (const std::size_t i : sources(output.shape, shape)) repeated.push_back(values[i]);
    values = std::move(repeated);
  };
  repeat(left, a.info.shape), repeat(right, b.info.shape);
  if (!is_exact(operation.requant)) {
    return tensor_of(output, [&](std::size_t i) {
      const std::int64_t value = is_int16(operation.requant) ? combined_int16(operation, left[i], right[i])
                                                             : combined(operation, left[i], right[i]);
      return bounded(value, operation.requant);
    });
  }
  return tensor_of(output, [&](std::size_t i) {
    const double p = left[i] * operation.input_scales[0], q = right[i] * operation.input_scales[1];
    const double value = combined(operation.kind, p, q);
    return requantised(operation.relu ? std::max(value, 0.0) : value, operation.requant);
  });
}

Tensor reference_of(const PlainElementwise& operation, const Operands& inputs, const TensorInfo& output) {
  const auto left = sources(output.shape, inputs.at(0).info.shape);
  const auto right = sources(output.shape, inputs.at(1).info.shape);
  Tensor made{output.shape, output.dtype, {}};
  made.bytes.resize(to_size(output.elements()) * 4);
  for (std::size_t i = 0; i < left.size(); ++i) {
    const std::uint8_t* const a = inputs[0].tensor.bytes.data() + left[i] * 4;
    const std::uint8_t* const b = inputs[1].tensor.bytes.data() + right[i] * 4;
    if (output.dtype == DType::kInt32) {
      std::int32_t p = 0, q = 0;
      std::memcpy(&p, a, sizeof p), std::memcpy(&q, b, sizeof q);
      const std::int64_t difference = std::int64_t{p} - q;
      const auto kept = static_cast<std::int32_t>(
          std::min<std::int64_t>(std::max<std::int64_t>(difference, INT32_MIN), INT32_MAX));
      std::memcpy(made.bytes.data() + i * 4, &kept, sizeof kept);
      continue;
    }
    float p = 0, q = 0;
    std::memcpy(&p, a, sizeof p), std::memcpy(&q, b, sizeof q);
    const float value = operation.kind == Elementwise::Kind::kAdd   ? p + q
                        : operation.kind == Elementwise::Kind::kSub ? p - q
                        : operation.kind == Elementwise::Kind::kMul ? p * q
                        : operation.kind == Elementwise::Kind::kMax ? std::max(p, q)
                        : operation.kind == Elementwise::Kind::kMin ? std::min(p, q)
                                                                    : p / q;
    std::memcpy(made.bytes.data() + i * 4, &value, sizeof value);
  }
  return made;
}

Tensor reference_of(const ByteFunction& f, const Operands& inputs, const TensorInfo& output) {
  const Operand& x = inputs.front();
  if (f.kind == ByteFunction::Kind::kTable) {
    return tensor_of(output, [&](std::size_t i) {
      const std::uint8_t byte = x.tensor.bytes[i];
      return f.table[x.info.dtype == DType::kInt8 ? byte ^ 128U : byte];
    });
  }
  // v is x - zx; elements have at most 16 bits, so there are few different values.
  std::map<std::int32_t, std::int32_t> known;
  const std::vector<std::int32_t> values = centred<std::int32_t>(x.tensor, x.info.zero_point);
  return tensor_of(output, [&](std::size_t i) {
    const auto [found, added] = known.try_emplace(values[i], 0);
    if (added) found->second = function_of(f, values[i], output);
    return found->second;
  });
}

Tensor reference_of(const ChannelScale& operation, const Operands& inputs, const TensorInfo& output) {
  const Operand& x = inputs.front();
  const std::vector<std::int32_t> values = centred<std::int32_t>(x.tensor, x.info.zero_point);
  return tensor_of(output, [&](std::size_t i) {
    const std::size_t c = i % operation.scale.size();
    const double product = values[i] * operation.scale[c];
    return requantised(product + operation.offset[c], operation.requant);
  });
}

Tensor reference_of(const Requantize& operation, const Operands& inputs, const TensorInfo& output) {
  const Operand& x = inputs.front();
  const std::vector<std::int32_t> values = centred<std::int32_t>(x.tensor, x.info.zero_point);
  const bool joined = operation.requant.arithmetic == Arithmetic::kFixed &&
                      operation.rule == Requantize::Rule::kConcatenation;
  return tensor_of(output, [&](std::size_t i) {
    if (joined) {
      const std::int32_t zero = x.info.zero_point;
      return bounded(joined_element(operation, values[i] + zero, zero), operation.requant);
    }
    if (!is_exact(operation.requant))
      return bounded(requantised_element(operation, values[i]), operation.requant);
    return requantised(values[i] * operation.input_scale, operation.requant);
  });
}

Tensor reference_of(const Concat& concat, const Operands& inputs, const TensorInfo& output) {
  Tensor tensor{output.shape, output.dtype, {}};
  tensor.bytes.reserve(to_size(output.size_bytes()));
  std::int64_t outers = 1;
  for (int axis = 0; axis < concat.axis; ++axis) outers *= nth(output.shape, axis);
  for (std::int64_t outer = 0; outer < outers; ++outer) {
    for (const Operand& input : inputs) {
      const std::int64_t part = input.info.size_bytes() / outers;
      const auto first = input.tensor.bytes.begin() + outer * part;
      tensor.bytes.insert(tensor.bytes.end(), first, first + part);
    }
  }
  return tensor;
}

}  // namespace tilebeat
