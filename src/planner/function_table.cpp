#include "function_table.h"

#include "tilebeat/base/error.h"
#include "tilebeat/base/numerics.h"
#include "tilebeat/base/real_function.h"

#include <algorithm>
#include <cmath>

namespace tilebeat {
namespace {

constexpr double kExponentialUnit = 1 << 24;

RealFunction real_function(ByteFunction::Kind kind) {
  switch (kind) {
    case ByteFunction::Kind::kLeakyRelu:
      return RealFunction::kLeakyRelu;
    case ByteFunction::Kind::kSigmoid:
      return RealFunction::kSigmoid;
    case ByteFunction::Kind::kTanh:
      return RealFunction::kTanh;
    case ByteFunction::Kind::kHardSwish:
      return RealFunction::kHardSwish;
    case ByteFunction::Kind::kGelu:
      return RealFunction::kGelu;
    case ByteFunction::Kind::kRelu:
    case ByteFunction::Kind::kClamp:
      break;
  }
  throw SimulationError("a function is not known");
}

std::int64_t result_of(const ByteFunction& function, int x, DType input, std::int32_t zero_point) {
  if (function.kind == ByteFunction::Kind::kRelu) return std::max(x, zero_point);
  if (function.kind == ByteFunction::Kind::kClamp) {
    const std::int64_t kept =
        std::min<std::int64_t>(std::max<std::int64_t>(x - zero_point, function.low), function.high);
    return std::clamp(kept + zero_point, dtype_min(input), dtype_max(input));
  }
  const double v = static_cast<double>(x - zero_point) * function.input_scale;
  const TensorRequant& requant = function.requant;
  return requantize_real(apply(real_function(function.kind), v, function.slope), requant.scale,
                         requant.zero_point, requant.dtype);
}

}  // namespace

std::array<std::uint8_t, 256> function_table(const ByteFunction& function, DType input,
                                             std::int32_t zero_point) {
  std::array<std::uint8_t, 256> table{};
  for (int raw = 0; raw < 256; ++raw) {
    const int x = input == DType::kInt8 ? static_cast<std::int8_t>(raw) : raw;
    table[static_cast<std::size_t>(raw)] =
        static_cast<std::uint8_t>(result_of(function, x, input, zero_point));
  }
  return table;
}

std::array<std::int64_t, 256> softmax_table(const Softmax& softmax) {
  std::array<std::int64_t, 256> table{};
  for (std::size_t d = 0; d < table.size(); ++d)
    table[d] = std::llrint(std::exp(-static_cast<double>(d) * softmax.input_scale) * kExponentialUnit);
  return table;
}

}  // namespace tilebeat
