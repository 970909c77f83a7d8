#include "explain.h"

#include <fmt/format.h>

namespace tilebeat {

std::string in_words(const LayerMapping& m, const ChipConfig& chip) {
  const auto path = [](DataPath p) { return kDataPathNames[static_cast<std::size_t>(p)]; };
  const auto optional = [](const char* text, int parts) {
    return parts > 1 ? fmt::format(fmt::runtime(text), parts) : std::string();
  };
  return fmt::format("{} of {} cores: {} x {} parts of the map, {} of the kernels{}{}{}; ", m.cores(),
                     chip.cores(), m.row_parts, m.column_parts, m.kernel_parts,
                     optional(", {} of the groups", m.group_parts),
                     optional(", {} of the images", m.image_parts),
                     optional(", {} of the channels", m.reduction_parts)) +
         fmt::format("tiles of {} x {} outputs in NRAM{}, {} kernel blocks a load{}; ", m.tile_rows,
                     m.tile_columns, m.map_strips ? " that share rows" : "", m.blocks_per_load,
                     optional(", channels in {} parts", m.channel_parts)) +
         fmt::format("maps {}, kernels {}, results {}", path(m.maps), path(m.kernels), path(m.results));
}

std::string in_words(const SharedLayer& layer) {
  return fmt::format(
      "{} cores of a cluster each add up at most {} of {} channels; they exchange the int32 sums through its "
      "SRAM and their vector units add them{}",
      layer.cores(), layer.largest().layer->problem().channels, layer.problem.channels,
      layer.post_parameters != 0 ? " and make results of them" : "");
}

}  // namespace tilebeat
