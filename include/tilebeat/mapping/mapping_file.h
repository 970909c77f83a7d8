#pragma once

#include "tilebeat/config/hardware_config.h"
#include "tilebeat/mapping/layer_mapping.h"
#include "tilebeat/mapping/unit_mapping.h"
#include "tilebeat/schema/place.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace tilebeat {

/// What a user asks of a layer's mapping (SPEC MA-1); a field that is absent is the planner's choice.
struct MappingRequest {
  std::string layer;
  std::optional<std::string> engine;
  /// By the engine's key in hardware files: a JSON object with those of its fields that are the layer's own.
  std::map<std::string, std::string> engine_choices;
  std::optional<int> row_parts, column_parts, kernel_parts, group_parts, image_parts, reduction_parts;
  std::optional<int> kernels_per_block, tile_rows, tile_columns;
  std::optional<int> blocks_per_load, channel_parts, map_buffers, kernel_buffers, kernels_ahead;
  std::optional<std::string> kernels_during;
  std::optional<bool> map_strips;
  std::optional<StepOrder> order;
  std::optional<DataPath> maps, kernels, results;
};

/// What a user asks of a fused unit (SPEC MA-1, FU-4).
struct UnitRequest {
  std::vector<std::string> layers;
  std::optional<int> clusters, step_rows, step_columns, step_maps;
  std::optional<Holding> holding;  ///< of tensors that `holdings` does not name
  std::map<std::string, Holding> holdings;
  std::optional<UnitKernels> kernels = {};  ///< left out: resident
  std::map<std::string, int> reductions = {};
  std::optional<int> kernels_ahead = {};
  std::optional<std::string> kernels_during = {};
};

/// A mapping file: the version of its schema, and the layers that it says something of.
struct NetworkMapping {
  std::string file;  ///< it was read from; empty: none
  std::vector<MappingRequest> layers;
  std::vector<UnitRequest> units = {};
};

constexpr int kMappingVersion = 1;

/// The hardware as a layer uses it: with the choices that `request`, which stands at `place`, makes for the
/// layer. Throws UserError when they contradict the hardware or are those of an engine that it does not have.
HardwareConfig with_choices(const HardwareConfig& hardware, const MappingRequest& request,
                            const Place& place);

/// Reads a mapping file. Throws UserError naming file, JSON path, value and allowed range.
NetworkMapping load_mapping(const std::string& path);
/// The request for exactly this mapping.
MappingRequest request_of(const LayerMapping& mapping);
/// The text of a file that asks for exactly these mappings.
std::string mapping_text(const std::vector<LayerMapping>& layers, const std::vector<UnitMapping>& units = {});
nlohmann::ordered_json mapping_schema();

}  // namespace tilebeat
