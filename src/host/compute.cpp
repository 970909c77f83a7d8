// Layers on the host: dispatch, operations on pairs of elements, moves, and the borders to integers.
#include "base/types.h"
#include "host/host.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace tilebeat {
namespace host {

std::vector<float> reals_of(const Tensor& tensor) {
  std::vector<float> values(tensor.bytes.size() / sizeof(float));
  if (!values.empty()) std::memcpy(values.data(), tensor.bytes.data(), values.size() * sizeof(float));
  return values;
}

Tensor tensor_of(const std::vector<float>& values, const TensorInfo& info) {
  Tensor made{info.shape, DType::kFloat32, std::vector<std::uint8_t>(values.size() * sizeof(float))};
  if (!values.empty()) std::memcpy(made.bytes.data(), values.data(), made.bytes.size());
  return made;
}

namespace {

/// Elements from one index of an axis to the next, 0 where the extent is 1, along the axes of `shape`.
std::vector<std::int64_t> repeated_strides(const std::vector<std::int64_t>& from,
                                           const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> strides(shape.size(), 0);
  std::int64_t step = 1;
  for (std::size_t i = 1; i <= from.size(); ++i) {
    const std::int64_t extent = from[from.size() - i];
    if (extent > 1) strides[shape.size() - i] = step;
    step *= extent;
  }
  return strides;
}

/// Calls use(place) for every index of `shape` in C order, with the sum of index * strides.
template <class Use>
void walk(const std::vector<std::int64_t>& shape, const std::vector<std::int64_t>& strides,
          std::int64_t offset, const Use& use) {
  std::vector<std::int64_t> index(shape.size(), 0);
  std::int64_t place = offset, left = 1;
  for (const std::int64_t extent : shape) left *= extent;
  for (; left > 0; --left) {
    use(to_size(place));
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      place += strides[axis];
      if (++index[axis] < shape[axis]) break;
      place -= strides[axis] * shape[axis];
      index[axis] = 0;
    }
  }
}

float combined(HostElementwise::Kind kind, float a, float b) {
  using Kind = HostElementwise::Kind;
  switch (kind) {
    case Kind::kAdd:
      return a + b;
    case Kind::kSub:
      return a - b;
    case Kind::kMul:
      return a * b;
    case Kind::kDiv:
      return a / b;
    case Kind::kMax:
      return std::isnan(b) ? b : at_least(b, a);
    case Kind::kMin:
      return std::isnan(b) ? b : at_most(b, a);
    case Kind::kPow:
      break;
  }
  return std::pow(a, b);
}

/// The runtime multiplies where the exponent is one number, 2 or 3.
float to_power(float a, float exponent) {
  return exponent == 2 ? a * a : exponent == 3 ? a * a * a : std::pow(a, exponent);
}

Tensor computed(const HostElementwise& operation, const std::vector<Operand>& inputs,
                const TensorInfo& output) {
  std::vector<float> made;
  const std::vector<float> a = reals_of(inputs[0].tensor), b = reals_of(inputs[1].tensor);
  walk(output.shape, repeated_strides(inputs[0].info.shape, output.shape), 0,
       [&](std::size_t place) { made.push_back(a[place]); });
  if (operation.kind == HostElementwise::Kind::kPow && b.size() == 1) {
    for (float& value : made) value = to_power(value, b.front());
    return tensor_of(made, output);
  }
  std::size_t i = 0;
  walk(output.shape, repeated_strides(inputs[1].info.shape, output.shape), 0, [&](std::size_t place) {
    made[i] = combined(operation.kind, made[i], b[place]);
    ++i;
  });
  return tensor_of(made, output);
}

Tensor computed(const HostMove& move, const std::vector<Operand>& inputs, const TensorInfo& output) {
  const std::vector<float> from = reals_of(inputs[0].tensor);
  std::vector<float> made;
  walk(output.shape, move.strides, move.offset, [&](std::size_t place) { made.push_back(from[place]); });
  return tensor_of(made, output);
}

Tensor computed(const HostReshape& /*reshape*/, const std::vector<Operand>& inputs,
                const TensorInfo& output) {
  return {output.shape, output.dtype, inputs[0].tensor.bytes};
}

Tensor computed(const HostConcat& concat, const std::vector<Operand>& inputs, const TensorInfo& output) {
  std::int64_t outer = 1;
  for (int axis = 0; axis < concat.axis; ++axis) outer *= nth(output.shape, axis);
  Tensor made{output.shape, output.dtype, {}};
  for (std::int64_t i = 0; i < outer; ++i) {
    for (const Operand& input : inputs) {
      const std::vector<std::uint8_t>& bytes = input.tensor.bytes;
      const std::int64_t part = ssize(bytes) / outer;
      made.bytes.insert(made.bytes.end(), bytes.begin() + i * part, bytes.begin() + (i + 1) * part);
    }
  }
  return made;
}

Tensor computed(const HostQuantize& quantize, const std::vector<Operand>& inputs, const TensorInfo& output) {
  Tensor made{output.shape, output.dtype, {}};
  for (const float value : reals_of(inputs[0].tensor)) {
    const float quotient = value / quantize.scale;
    const float low = static_cast<float>(dtype_min(output.dtype) - output.zero_point);
    const float high = static_cast<float>(dtype_max(output.dtype) - output.zero_point);
    // A quotient that is no number becomes the lower bound, as the runtime's conversion makes of it.
    const float limited = quotient >= low ? std::min(quotient, high) : low;
    const auto whole = static_cast<std::int32_t>(std::nearbyint(limited));
    made.bytes.push_back(static_cast<std::uint8_t>(whole + output.zero_point));
  }
  return made;
}

Tensor computed(const HostDequantize& dequantize, const std::vector<Operand>& inputs,
                const TensorInfo& output) {
  std::int64_t inner = 1;
  for (std::size_t axis = to_size(dequantize.axis) + 1; axis < output.shape.size(); ++axis)
    inner *= output.shape[axis];
  std::vector<float> made;
  const Tensor& from = inputs[0].tensor;
  for (std::int64_t i = 0; i < from.elements(); ++i) {
    const float scale = nth(dequantize.scales, i / inner % ssize(dequantize.scales));
    const std::int64_t distance = std::int64_t{from.at(i)} - inputs[0].info.zero_point;
    made.push_back(static_cast<float>(distance) * scale);
  }
  return tensor_of(made, output);
}

}  // namespace

Tensor computed(const HostOperation& operation, const std::vector<Operand>& inputs,
                const TensorInfo& output) {
  return std::visit([&](const auto& step) { return computed(step, inputs, output); }, operation.step);
}

}  // namespace host

Tensor compute_on_host(const HostOperation& operation, const std::vector<Operand>& inputs,
                       const TensorInfo& output) {
  return host::computed(operation, inputs, output);
}

}  // namespace tilebeat
