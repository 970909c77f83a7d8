#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace tilebeat {

/// Which layer a fusion group begins with (SPEC FU-3, document 001 [0084], [0085]).
enum class StartRule : std::uint8_t {
  kFirstLayer,       ///< the first that is in no unit
  kFirstConvOrPool,  ///< the first convolution or pooling that is in no unit
};
constexpr std::array<std::string_view, 2> kStartRuleNames{"first_layer", "first_convolution_or_pooling"};

/// Where a unit grows from its start layer: forward only (rule 1), or toward the input first (rule 2).
enum class FusionDirection : std::uint8_t { kForward, kBackwardFirst };
constexpr std::array<std::string_view, 2> kFusionDirectionNames{"forward", "backward_first"};

/// What of a unit map that is too large is cut: its rows, and its columns once there is one row; or rows and
/// columns in turn ([0071], [0072]).
enum class FusionCut : std::uint8_t { kRowsFirst, kAlternating };
constexpr std::array<std::string_view, 2> kFusionCutNames{"rows_first", "alternating"};

/// Who chooses the units (SPEC FU-8), and what the optimal planner makes least.
enum class FusionPlanner : std::uint8_t { kRules, kOptimal };
constexpr std::array<std::string_view, 2> kFusionPlannerNames{"rules", "optimal"};
enum class FusionObjective : std::uint8_t { kCycles, kDramBytes };
constexpr std::array<std::string_view, 2> kFusionObjectiveNames{"cycles", "dram_bytes"};

/// How layers are fused where `fused` asks for it: which of the rules of document 001 apply, and their
/// thresholds (SPEC FU-3).
struct FusionConfig {
  FusionPlanner planner = FusionPlanner::kRules;
  FusionObjective objective = FusionObjective::kCycles;  ///< of the optimal planner
  StartRule start = StartRule::kFirstLayer;
  FusionDirection direction = FusionDirection::kForward;
  std::vector<int> rules_off{6, 7};  ///< rules that do not apply, of 4 to 19
  int least_main_layers = 2;         ///< rule 5
  int redundancy_percent = 100;      ///< rule 11
  bool share_in_and_out = false;     ///< rule 12: a unit map and its result use the same places
  int most_maps = 8;                 ///< rule 18
  int stride_redundancy = 4;         ///< rule 19
  FusionCut cut = FusionCut::kRowsFirst;
  std::vector<int> ratios{50, 75, 80};  ///< per cent by which a map is cut, one after the other
};

/// How a tensor that stays on the chip is held between the layers of a fusion group (SPEC FU-8).
enum class Holding : std::uint8_t {
  kRecompute,  ///< every step makes all rows that it needs: those of the halo again
  kRowBuffer,  ///< rows stay in a ring until the last layer that reads them is through with them
  kWhole       ///< all rows are made before the first is read
};
constexpr std::array<std::string_view, 3> kHoldingNames{"recompute", "row_buffer", "whole"};

/// Where the kernels of a fusion group are while it runs (SPEC FU-2, FU-4).
enum class GroupKernels : std::uint8_t {
  kResident,  ///< all stay in WRAM from the beginning on
  kStreamed   ///< in every step those of each layer come to WRAM, output channels after output channels
};
constexpr std::array<std::string_view, 2> kGroupKernelsNames{"resident", "streamed"};

}  // namespace tilebeat
