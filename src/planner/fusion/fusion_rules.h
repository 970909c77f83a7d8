#pragma once

#include "config/fusion_config.h"
#include "planner/language/problem.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tilebeat {

/// What a layer is for the rules of fusion (document 001 [0097], [0102]).
enum class LayerRole : std::uint8_t {
  kMain,    ///< matrix product, any convolution, any pooling
  kScalar,  ///< addition, subtraction, multiplication
  kVector,  ///< activation, batchnorm, scale
  kOther
};

/// A layer as start rules see it.
struct StartCandidate {
  bool conv_or_pool = false, fused = false;
};
/// Number of the layer that the next group begins with; nothing: there is none left.
std::optional<std::size_t> start_layer(const std::vector<StartCandidate>& layers, StartRule rule);

/// All that the rules ask of a group. Bytes; sizes of rules 11 to 13 are those of maps only (SPEC FU-10).
struct GroupFacts {
  bool large_map = false;        ///< its map does not fit the SRAM and is cut; else several maps may be there
  int outputs = 1;               ///< tensors that are read outside, or leave the network
  std::vector<LayerRole> roles;  ///< of its layers in order, an activation of a layer as one of its own
  bool weights_are_output = false, weights_are_shared = false;  ///< of any of its convolutions
  std::int64_t weights = 0;                                     ///< of the unit map in a core's WRAM
  std::int64_t wram = 0, nram = 0, sram = 0;                    ///< free
  std::int64_t loaded = 0, loaded_once = 0;  ///< from DRAM to the SRAM: with and without overlap
  std::int64_t in = 0, out = 0;              ///< a unit map, and what is made of it
  std::int64_t cache = 0;                    ///< IN2: a sub-map and its result, twice
  std::vector<std::int64_t> sub_in, sub_out, step_weights;  ///< by step: SubIN_i, SubOUT_i, W_i
  std::int64_t sub_map = 0;                                 ///< the largest in a core's NRAM
  bool sram_is_all_nram = false;                        ///< the SRAM is as large as all NRAM of its cluster
  int maps = 1;                                         ///< of a unit map
  std::array<std::int64_t, 2> stride_redundancy{0, 0};  ///< height and width, of layers outside whole blocks
};

/// Why rule `rule`, kFirstRule to kLastRule, is violated; nothing: it holds, is switched off, or has nothing
/// to say in this mode. Rules 1 to 3 are about the order in which layers are added.
constexpr int kFirstRule = 4, kLastRule = 19;
std::optional<std::string> violation(int rule, const GroupFacts& facts, const FusionConfig& config);

/// What is done about a violation (SPEC FU-3, FU-10).
enum class Remedy : std::uint8_t {
  kAdjust,      ///< add or remove layers
  kRemove,      ///< the group ends before the convolution
  kStop,        ///< the layer that was added last goes, the group is complete
  kReduceMap,   ///< a smaller unit map
  kFewerMaps,   ///< fewer maps at a time
  kCutFiner,    ///< smaller sub-maps
  kFewerLayers  ///< layers go
};
Remedy remedy_of(int rule);

/// What a kernel reaches beyond its stride along one axis: max(0, (kernel - 1) * dilation + 1 - stride), the
/// stride redundancy of one layer ([0145]).
std::int64_t stride_redundancy(const WindowAxis& axis);

/// A piece that fits `limit` of a map of `parts` equal parts of `part_bytes` bytes: the map is cut by
/// `ratios`, one after the other, the last one again and again ([0072], [0080], [0081]). Parts are whole; 0:
/// not even one fits..
int cut_by_ratios(int parts, std::int64_t part_bytes, std::int64_t limit, const std::vector<int>& ratios);

}  // namespace tilebeat
