#pragma once

#include "config/fusion_config.h"
#include "config/hardware_config.h"
#include "schema/place.h"

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace tilebeat {

/// Layers that run as one, and how (SPEC MA-1, FU-4).
struct GroupMapping {
  std::vector<std::string> layers;          ///< in the workload's order; the last one makes the output
  int clusters = 1;                         ///< that share the rows of the output
  int step_rows = 1;                        ///< output rows that a cluster makes in a step
  int step_columns = 1;                     ///< columns of these rows that it makes at a time, strip by strip
  int step_maps = 1;                        ///< images of which it makes all rows in a step; 1: rows of one
  std::map<std::string, Holding> holdings;  ///< by tensor, of all but the output
  GroupKernels kernels = GroupKernels::kResident;  ///< where they are while it runs
  std::map<std::string, int>
      reductions;           ///< cores of a reduction group that shares a layer's channels, by layer
  int weight_prefetch = 0;  ///< loads of kernels that are made while an earlier layer runs
  std::string weight_prefetch_during;  ///< that layer, or the last one of that group; empty: none
};

/// How data passes between DRAM and the memories of cores (SPEC HI-4).
enum class DataPath : std::uint8_t {
  kDirect,     ///< by the IODMA of the core
  kSram,       ///< by way of the cluster's SRAM, to or from one core after the other; one fetch for all
  kBroadcast,  ///< fetched into the SRAM once, and written to all cores of the cluster that need it together
  kChain       ///< likewise, but fetched once for all clusters: by one of them, from which CDMAs pass it on
};
constexpr std::array<std::string_view, 4> kDataPathNames{"direct", "sram", "broadcast", "chain"};
/// Whether a memory core writes to all cores of its cluster that need the same.
constexpr bool broadcasts(DataPath path) {
  return path == DataPath::kBroadcast || path == DataPath::kChain;
}

/// Which loop over a core's steps is the outer one.
enum class StepOrder : std::uint8_t { kTileOuter, kKernelOuter };
constexpr std::array<std::string_view, 2> kStepOrderNames{"tile_outer", "kernel_outer"};

/// What is computed where and when, for one layer on the matrix units of a chip (SPEC MA-1). A fusion group,
/// once there are some, takes the place of a layer.
struct LayerMapping {
  std::string layer;
  std::string engine;  ///< the name of its dataflow
  /// Cores: parts of the output rows, columns and kernel blocks and of the images, one a reduction group.
  int row_parts = 1, column_parts = 1, kernel_parts = 1, image_parts = 1;
  /// Likewise: parts of the groups of a convolution. A reduction group loads the channels of its own groups
  /// alone.
  int group_parts = 1;
  /// Cores of a reduction group: parts of the input channels, one a core, whose sums they add up. They follow
  /// one another in a cluster.
  int reduction_parts = 1;
  /// What the engine chose of its own for the layer: a JSON object with fields of its part of the hardware
  /// file; empty: nothing.
  std::string engine_choices;
  int kernels_per_block = 1;            ///< a size of kernel blocks that the engine offers for the layer
  int tile_rows = 1, tile_columns = 1;  ///< output pixels of a full tile in NRAM
  int blocks_per_load = 1;              ///< kernel blocks that are loaded into WRAM together
  int channel_parts = 1;                ///< parts of the input channels that are added up one after the other
  /// Whether tiles of a core that lie one below the other share a buffer, and load the rows that they share
  /// once.
  bool map_strips = false;
  int map_buffers = 2, kernel_buffers = 2;
  /// Of the loads of each core's kernels, so many, the first ones, are made while an earlier layer runs.
  int weight_prefetch = 0;
  std::string weight_prefetch_during;  ///< that layer; empty: none
  StepOrder order = StepOrder::kTileOuter;
  DataPath maps = DataPath::kDirect, kernels = DataPath::kDirect, results = DataPath::kDirect;

  int reduction_groups() const { return row_parts * column_parts * kernel_parts * group_parts * image_parts; }
  int cores() const { return reduction_groups() * reduction_parts; }
  bool uses_memory_cores() const {
    return maps != DataPath::kDirect || kernels != DataPath::kDirect || results != DataPath::kDirect;
  }
};

/// What a user asks of a layer's mapping (SPEC MA-1); a field that is absent is the planner's choice.
struct MappingRequest {
  std::string layer;
  std::optional<std::string> engine;
  /// By the engine's key in hardware files: a JSON object with those of its fields that are the layer's own.
  std::map<std::string, std::string> engine_choices;
  std::optional<int> row_parts, column_parts, kernel_parts, group_parts, image_parts, reduction_parts;
  std::optional<int> kernels_per_block, tile_rows, tile_columns;
  std::optional<int> blocks_per_load, channel_parts, map_buffers, kernel_buffers, weight_prefetch;
  std::optional<std::string> weight_prefetch_during;
  std::optional<bool> map_strips;
  std::optional<StepOrder> order;
  std::optional<DataPath> maps, kernels, results;
};

/// What a user asks of a fusion group (SPEC MA-1, FU-4).
struct GroupRequest {
  std::vector<std::string> layers;
  std::optional<int> clusters, step_rows, step_columns, step_maps;
  std::optional<Holding> holding;  ///< of tensors that `holdings` does not name
  std::map<std::string, Holding> holdings;
  std::optional<GroupKernels> kernels = {};  ///< left out: resident
  std::map<std::string, int> reductions = {};
  std::optional<int> weight_prefetch = {};
  std::optional<std::string> weight_prefetch_during = {};
};

/// A mapping file: the version of its schema, and the layers that it says something of.
struct NetworkMapping {
  std::string file;  ///< it was read from; empty: none
  std::vector<MappingRequest> layers;
  std::vector<GroupRequest> groups = {};
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
std::string mapping_text(const std::vector<LayerMapping>& layers,
                         const std::vector<GroupMapping>& groups = {});
nlohmann::ordered_json mapping_schema();

}  // namespace tilebeat
