#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace tilebeat {

/// Whose arithmetic makes the results of a layer (SPEC NU-6).
enum class Arithmetic : std::uint8_t {
  kExact,       ///< the real value in IEEE doubles, rounded once (SPEC NU-2)
  kFloat32,     ///< TensorFlow Lite with XNNPACK
  kFloat32Ort,  ///< ONNX Runtime
  kFixed        ///< TensorFlow Lite's built-in kernels: whole numbers alone
};
constexpr std::array<std::string_view, 4> kArithmeticNames{"exact", "float32", "float32_ort", "fixed"};
constexpr std::string_view arithmetic_name(Arithmetic arithmetic) {
  return kArithmeticNames[static_cast<std::size_t>(arithmetic)];
}

/// How a post-processor brings an accumulator to the scale of the result (SPEC NU-2, NU-6).
enum class Rescale : std::uint8_t {
  kReal64,          ///< IEEE double, half to even
  kReal32,          ///< float32, half to even
  kSingleRounding,  ///< a whole multiplier of 32 bits and a shift, half up
  kDoubleRounding   ///< the same, rounded behind the multiplier and again behind the shift
};
constexpr std::array<std::string_view, 4> kRescaleNames{"real64", "real32", "single_rounding",
                                                        "double_rounding"};

}  // namespace tilebeat
