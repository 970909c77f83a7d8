// Functions of one byte, as tables.
#include "tilebeat/base/error.h"
#include "tilebeat/base/numerics.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "load_layer.h"

namespace tilebeat {
namespace {

constexpr double kSqrt2 = 1.4142135623730951;

/// The table of `result(x)`, x from int8 or uint8, whose result is a value of the output's type.
template <class Result>
ByteTable table_of(DType input, Result result) {
  ByteTable bytes;
  for (int raw = 0; raw < 256; ++raw) {
    const int x = input == DType::kInt8 ? static_cast<std::int8_t>(raw) : raw;
    bytes.table[static_cast<std::size_t>(raw)] = static_cast<std::uint8_t>(result(x));
  }
  return bytes;
}

/// y = sat(round(f((x - zx) * input_scale) * scale) + zero_point).
template <class Function>
void load_function(const FunctionSpec& spec, const LayerSource& source, Layer& layer, Function function) {
  const TensorInfo& input = source.input();
  const TensorRequant& requant = spec.requant;
  layer.output = requantised(input.shape, requant, source.place.key("requant"));
  layer.operation = table_of(input.dtype, [&](int x) {
    const double value = static_cast<double>(x - input.zero_point) * spec.input_scale;
    return requantize_real(function(value), requant.scale, requant.zero_point, requant.dtype);
  });
}

double hard_swish(double v) {
  return v * std::min(std::max(v + 3.0, 0.0), 6.0) / 6.0;
}

double gelu(double v) {
  return 0.5 * v * (1.0 + std::erf(v / kSqrt2));
}

}  // namespace

void load_relu(const LayerSource& source, Layer& layer) {
  const TensorInfo& input = source.input();
  layer.output = input;
  layer.operation = table_of(input.dtype, [&](int x) { return std::max(x, input.zero_point); });
}

void load_operator(const ClampSpec& spec, const LayerSource& source, Layer& layer) {
  const TensorInfo& input = source.input();
  if (spec.low > spec.high) {
    source.place.key("low").refuse_value(spec.low, fmt::format("at most high, {}", spec.high));
  }
  layer.output = input;
  layer.operation = table_of(input.dtype, [&](int x) {
    const std::int64_t kept = std::min<std::int64_t>(std::max(x - input.zero_point, spec.low), spec.high);
    return std::clamp(kept + input.zero_point, dtype_min(input.dtype), dtype_max(input.dtype));
  });
}

void load_operator(const LeakyReluSpec& spec, const LayerSource& source, Layer& layer) {
  load_function(spec.function, source, layer, [&spec](double v) { return v >= 0.0 ? v : v * spec.slope; });
}

void load_operator(const FunctionSpec& spec, const LayerSource& source, Layer& layer) {
  switch (source.spec.op) {
    case Operator::kSigmoid:
      return load_function(spec, source, layer, [](double v) { return 1.0 / (1.0 + std::exp(-v)); });
    case Operator::kTanh:
      return load_function(spec, source, layer, [](double v) { return std::tanh(v); });
    case Operator::kHardSwish:
      return load_function(spec, source, layer, hard_swish);
    case Operator::kGelu:
      return load_function(spec, source, layer, gelu);
    default:
      throw SimulationError("a function is not known");
  }
}

}  // namespace tilebeat
