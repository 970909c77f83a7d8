#include "tilebeat/system/overlapping_layers.h"

namespace tilebeat {

OverlappingLayers::OverlappingLayers(const Plan& plan) : overlaps_(plan.layers.size(), false) {
  for (std::size_t i = 1; i < plan.layers.size(); ++i) {
    overlaps_[i - 1] = plan.layers[i].overlaps;
    any_ = any_ || overlaps_[i - 1];
  }
}

LayerCounts OverlappingLayers::complete(std::uint32_t layer, const LayerCounts& all,
                                        const std::vector<int>& processors, const OwnCounts& own) {
  LayerCounts counts = all;
  if (overlaps(layer)) {
    // DRAM counts bytes when it moves them, ports when they have arrived: only one of both can be taken
    // apart.
    counts.bytes.dram_read = before_.dram_read, counts.bytes.dram_write = before_.dram_write;
    for (const auto& [processor, at_end] : parts_[layer]) {
      LayerCounts since = own(processor);
      since -= at_end;
      since.bytes.dram_read = moved_[processor].dram_read - at_end.bytes.dram_read;
      since.bytes.dram_write = moved_[processor].dram_write - at_end.bytes.dram_write;
      counts -= since;
      moved_[processor] = at_end.bytes;
    }
    parts_.erase(layer);
  } else if (overlaps(layer + 1)) {
    for (const int processor : processors) moved_[processor] = own(processor).bytes;
  }
  before_ = counts.bytes;
  return counts;
}

}  // namespace tilebeat
