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

/// Where the kernels of a fused unit are while it runs (SPEC FU-2, FU-4).
enum class UnitKernels : std::uint8_t {
  kResident,  ///< all stay in WRAM from the beginning on
  kStreamed   ///< in every step those of each layer come to WRAM, output channels after output channels
};
constexpr std::array<std::string_view, 2> kUnitKernelsNames{"resident", "streamed"};

}  // namespace tilebeat
