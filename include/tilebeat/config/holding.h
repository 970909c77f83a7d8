#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace tilebeat {

/// How a tensor that stays on the chip is held between the layers of a fused unit (SPEC FU-8).
enum class Holding : std::uint8_t {
  kRecompute,  ///< every step makes all rows that it needs: those of the halo again
  kRing,       ///< rows stay in a ring until the last layer that reads them is through with them
  kWhole       ///< all rows are made before the first is read
};
constexpr std::array<std::string_view, 3> kHoldingNames{"recompute", "rolling", "whole"};

}  // namespace tilebeat
