#pragma once

#include "tilebeat/program/plan.h"
#include "tilebeat/system/snapshot.h"

#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

namespace tilebeat {

/// Tells apart what layers did of which one begins before the other is complete (SPEC UI-4, FU-9). Such
/// layers work in cores alone, on the cores' own memories and DRAM. What a processor counts belongs to the
/// layer that it has not ended yet, exactly; DRAM bytes are those that completed at its own ports of the
/// interconnect. What no processor of the program counts is told apart where layers complete: rows of DRAM
/// that were opened, bytes over other ports, arrays of cores without work. What others than processors read
/// or write in DRAM belongs to the last of such layers.
class OverlappingLayers {
 public:
  /// What a processor alone has counted up to now, DRAM bytes by its own ports.
  using OwnCounts = std::function<LayerCounts(int processor)>;

  explicit OverlappingLayers(const Plan& plan);

  /// The layer behind `layer` begins before that is complete.
  bool overlaps(std::uint32_t layer) const { return layer < overlaps_.size() && overlaps_[layer]; }
  /// Where any layers overlap, DRAM reads of layers are those that have arrived at ports, but for the last
  /// layer's: it gets what is on its way yet.
  bool counts_arrivals(std::uint32_t layer) const { return any_ && layer + 1 < overlaps_.size(); }
  /// The programs begin, when `all` has been counted.
  void begin(const LayerCounts& all) { before_ = all.bytes; }
  /// A processor has ended its part of a layer that overlaps the next one; `own` is what it has counted.
  void end_part(std::uint32_t layer, int processor, const LayerCounts& own) {
    parts_[layer].emplace_back(processor, own);
  }
  /// A layer is complete, when `all` has been counted: what of it layers up to this one did.
  LayerCounts complete(std::uint32_t layer, const LayerCounts& all, const std::vector<int>& processors,
                       const OwnCounts& own);

 private:
  std::vector<bool> overlaps_;                                               // by layer
  bool any_ = false;                                                         // of them
  std::map<std::uint32_t, std::vector<std::pair<int, LayerCounts>>> parts_;  // of layers, by processor
  std::map<int, MemoryBytes> moved_;  // by processor: up to the layer that is not complete
  MemoryBytes before_;                // of all, up to that layer
};

}  // namespace tilebeat
