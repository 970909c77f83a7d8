#pragma once

#include "config/fusion_config.h"
#include "planner/language/problem.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tilebeat {

/// The role of a layer in the rules of fusion (document 001 [0097], [0102]).
enum class LayerRole : std::uint8_t {
  kMain,    ///< matrix product, any convolution, any pooling
  kScalar,  ///< addition, subtraction, multiplication
  kVector,  ///< activation, batchnorm, scale
  kOther
};

/// A layer as the start rules see it.
struct StartCandidate {
  bool conv_or_pool = false, fused = false;
};
/// Number of the layer that the next group begins with; nothing: no layer is left.
std::optional<std::size_t> start_layer(const std::vector<StartCandidate>& layers, StartRule rule);

/// All facts that the rules need of a fusion group. Sizes are bytes; those of rules 11 to 13 count maps only
/// (SPEC FU-10).
struct GroupFacts {
  bool large_map = false;  ///< the map does not fit the SRAM and is cut; else the SRAM may hold several maps
  int outputs = 1;         ///< tensors that are read outside the group or leave the network
  std::vector<LayerRole> roles;  ///< by layer in order; an activation of a layer counts as a layer
  bool weights_are_output = false, weights_are_shared = false;  ///< of any convolution of the group
  std::int64_t weights = 0;                                     ///< weights of the unit map in a core's WRAM
  std::int64_t wram = 0, nram = 0, sram = 0;                    ///< free bytes
  std::int64_t loaded = 0, loaded_once = 0;  ///< from DRAM to the SRAM: with and without overlap
  std::int64_t in = 0, out = 0;              ///< a unit map, and its result
  std::int64_t cache = 0;                    ///< IN2: a sub-map and its result, twice
  /// By step: SubIN_i, SubOUT_i, and W_i on its way through the SRAM and in a core's WRAM.
  std::vector<std::int64_t> sub_in, sub_out, step_weights, step_wram;
  std::int64_t sub_map = 0;       ///< the largest sub-map in a core's NRAM
  bool sram_is_all_nram = false;  ///< the SRAM is as large as all NRAM of its cluster
  int maps = 1;                   ///< images in a unit map
  /// height and width; layers inside whole blocks do not count
  std::array<std::int64_t, 2> stride_redundancy{0, 0};
};

/// The reason why rule `rule`, kFirstRule to kLastRule, is violated; nothing: it holds, is switched off, or
/// does not apply in this mode. Rules 1 to 3 concern the order in which layers are added.
constexpr int kFirstRule = 4, kLastRule = 19;
std::optional<std::string> violation(int rule, const GroupFacts& facts, const FusionConfig& config);
/// The rules of those that apply which no group of the executor can violate, with the reason (SPEC FU-12).
std::vector<std::pair<int, std::string>> rules_that_always_hold(const FusionConfig& config);
/// Rules 5 to 7 count layers that compute and layers on vector units: they judge a complete group, the other
/// rules judge every layer that is added.
constexpr bool judges_complete_groups(int rule) {
  return rule >= 5 && rule <= 7;
}

/// The remedy for a violation (SPEC FU-3, FU-10).
enum class Remedy : std::uint8_t {
  kAdjust,      ///< add or remove layers
  kRemove,      ///< end the group before the convolution
  kStop,        ///< drop the layer that was added last; the group is complete
  kReduceMap,   ///< a smaller unit map
  kFewerMaps,   ///< fewer maps at a time
  kCutFiner,    ///< smaller sub-maps
  kFewerLayers  ///< drop layers
};
Remedy remedy_of(int rule);

/// The stride redundancy of one layer along one axis: max(0, (kernel - 1) * dilation + 1 - stride), the
/// extent of the kernel beyond its stride ([0145]).
std::int64_t stride_redundancy(const WindowAxis& axis);

/// Size, in parts, of the largest piece of a map that fits `limit` bytes. The map has `parts` equal parts of
/// `part_bytes` bytes and is cut to `ratios` percent, one after the other, the last one repeatedly ([0072],
/// [0080], [0081]). 0: not even one part fits.
int cut_by_ratios(int parts, std::int64_t part_bytes, std::int64_t limit, const std::vector<int>& ratios);

}  // namespace tilebeat
