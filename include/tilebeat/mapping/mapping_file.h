#pragma once

#include "tilebeat/mapping/layer_mapping.h"

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace tilebeat {

/// What a user asks of a layer's mapping (SPEC MA-1); a field that is absent is the planner's choice.
struct MappingRequest {
  std::string layer;
  std::optional<std::string> engine;
  std::optional<int> row_parts, column_parts, kernel_parts, image_parts;
  std::optional<int> kernels_per_block, tile_rows, tile_columns;
  std::optional<int> blocks_per_load, channel_parts, map_buffers, kernel_buffers;
  std::optional<StepOrder> order;
  std::optional<DataPath> maps, kernels, results;
};

/// A mapping file: the version of its schema, and the layers that it says something of.
struct NetworkMapping {
  std::string file;  ///< it was read from; empty: none
  std::vector<MappingRequest> layers;
};

constexpr int kMappingVersion = 1;

/// Reads a mapping file. Throws UserError naming file, JSON path, value and allowed range.
NetworkMapping load_mapping(const std::string& path);
/// The request for exactly this mapping.
MappingRequest request_of(const LayerMapping& mapping);
/// The text of a file that asks for exactly these mappings.
std::string mapping_text(const std::vector<LayerMapping>& mappings);
nlohmann::ordered_json mapping_schema();

}  // namespace tilebeat
