#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tilebeat {

/// How a tensor that stays on the chip is held between the layers of a fused unit (SPEC FU-8).
enum class Holding : std::uint8_t {
  kRecompute,  ///< every step makes all rows that it needs: those of the halo again
  kRing,       ///< rows stay in a ring until the last layer that reads them is through with them
  kWhole       ///< all rows are made before the first is read
};
constexpr std::array<std::string_view, 3> kHoldingNames{"recompute", "rolling", "whole"};

/// Layers that run as one, and how (SPEC MA-1, FU-4).
struct UnitMapping {
  std::vector<std::string> layers;          ///< in the workload's order; the last one makes the output
  int clusters = 1;                         ///< that share the rows of the output
  int step_rows = 1;                        ///< output rows that a cluster makes in a step
  std::map<std::string, Holding> holdings;  ///< by tensor, of all but the output
};

}  // namespace tilebeat
