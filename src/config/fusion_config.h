#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace tilebeat {

/// The rule for the first layer of a fusion group (SPEC FU-3, document 001 [0084], [0085]).
enum class StartRule : std::uint8_t {
  kFirstLayer,       ///< the first layer that is in no group
  kFirstConvOrPool,  ///< the first convolution or pooling that is in no group
};
constexpr std::array<std::string_view, 2> kStartRuleNames{"first_layer", "first_convolution_or_pooling"};

/// The direction in which a group grows from its start layer: forward only (rule 1), or toward the input
/// first (rule 2).
enum class FusionDirection : std::uint8_t { kForward, kBackwardFirst };
constexpr std::array<std::string_view, 2> kFusionDirectionNames{"forward", "backward_first"};

/// The way a unit map that is too large is cut: by rows, and by columns once a single row is left; or by rows
/// and columns in turn ([0071], [0072]).
enum class FusionCut : std::uint8_t { kRowsFirst, kAlternating };
constexpr std::array<std::string_view, 2> kFusionCutNames{"rows_first", "alternating"};

/// The order in which unit maps are tried: from the whole map down, cut by ratios; or from one map, else one
/// row, up to the largest that fits ([0064], [0080]).
enum class FusionSplit : std::uint8_t { kRatios, kBottomUp };
constexpr std::array<std::string_view, 2> kFusionSplitNames{"ratios", "bottom_up"};

/// The planner that chooses the fusion groups (SPEC FU-8), and the objective that the optimal planner
/// minimises.
enum class FusionPlanner : std::uint8_t { kRules, kOptimal };
constexpr std::array<std::string_view, 2> kFusionPlannerNames{"rules", "optimal"};
enum class FusionObjective : std::uint8_t { kCycles, kDramBytes };
constexpr std::array<std::string_view, 2> kFusionObjectiveNames{"cycles", "dram_bytes"};

/// The memory of the maps between the layers of a group that the planners make: the SRAM of a cluster, or the
/// NRAM of the core that makes and reads a part of them ([0060]), or what is better.
enum class FusionInner : std::uint8_t { kAuto, kSram, kNram };
constexpr std::array<std::string_view, 3> kFusionInnerNames{"auto", "sram", "nram"};

/// Layer fusion, where `fused` enables it: the rules of document 001 that apply, and their thresholds (SPEC
/// FU-3).
struct FusionConfig {
  FusionPlanner planner = FusionPlanner::kRules;
  FusionObjective objective = FusionObjective::kCycles;  ///< objective of the optimal planner
  StartRule start = StartRule::kFirstLayer;
  FusionDirection direction = FusionDirection::kForward;
  std::vector<int> rules_off{6, 7};        ///< rules of 4 to 19 that are switched off
  int least_main_layers = 2;               ///< rule 5
  int redundancy_percent = 100;            ///< rule 11
  bool share_in_and_out = false;           ///< rule 12: a unit map and its result share their places
  int most_maps = 8;                       ///< rule 18
  int stride_redundancy = 4;               ///< rule 19
  FusionInner inner = FusionInner::kAuto;  ///< memory of the maps between layers
  FusionSplit split = FusionSplit::kRatios;
  FusionCut cut = FusionCut::kRowsFirst;
  std::vector<int> ratios{50, 75, 80};  ///< percentages to which a map is cut, one after the other
  /// Whether the planner `rules` keeps groups that are slower than their layers one by one or move more
  /// bytes.
  bool keep_where_slower = false;
};

/// The way a tensor that stays on the chip is held between layers of a fusion group (SPEC FU-8).
enum class Holding : std::uint8_t {
  kRecompute,  ///< every step makes all rows that it needs, halo rows again
  kRowBuffer,  ///< a row buffer: rows stay in a ring until the last layer that reads them has finished with
               ///< them
  kWhole,      ///< all rows are made before the first one is read
  kNram        ///< in the NRAM of the core that makes and reads it, part by part, halos again (a pyramid)
};
constexpr std::array<std::string_view, 4> kHoldingNames{"recompute", "row_buffer", "whole", "nram"};

/// The place of a fusion group's kernels while it runs (SPEC FU-2, FU-4).
enum class GroupKernels : std::uint8_t {
  kResident,  ///< all stay in WRAM from the beginning on
  kStreamed  ///< in every step the kernels of each layer are loaded into WRAM, in portions of output channels
};
constexpr std::array<std::string_view, 2> kGroupKernelsNames{"resident", "streamed"};

}  // namespace tilebeat
