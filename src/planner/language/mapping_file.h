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

/// The data path between DRAM and the memories of cores (SPEC HI-4).
enum class DataPath : std::uint8_t {
  kDirect,     ///< by the core's IODMA
  kSram,       ///< through the cluster's SRAM, to or from one core after the other; a load is fetched once
  kBroadcast,  ///< fetched into the SRAM once and written to all cores of the cluster that need it at once
  kChain  ///< as kBroadcast, but fetched once for all clusters: one fetches, CDMAs pass it on to the others
};
constexpr std::array<std::string_view, 4> kDataPathNames{"direct", "sram", "broadcast", "chain"};
/// The ways of a fusion group's results.
constexpr std::array<std::string_view, 2> kResultPathNames{kDataPathNames[0], kDataPathNames[1]};
/// A fusion group: layers that run as one, and their mapping (SPEC MA-1, FU-4).
struct GroupMapping {
  std::vector<std::string> layers;  ///< in the workload's order; the last one makes the output
  int clusters = 1;                 ///< number of clusters that divide the output's rows
  int cores = 1;                    ///< cores of each of these clusters that work
  int step_rows = 1;                ///< output rows that a cluster computes in a step
  int step_columns = 1;             ///< columns of these rows per strip; a step computes strip after strip
  int step_maps = 1;  ///< images whose rows a step computes completely; 1: rows of a single image
  std::map<std::string, Holding> holdings;         ///< by tensor name; all tensors but the output
  GroupKernels kernels = GroupKernels::kResident;  ///< place of the kernels while the group runs
  /// the way of the results to DRAM: from NRAM, or through the SRAM, where a step's are collected
  DataPath results = DataPath::kDirect;
  std::map<std::string, int> reductions;  ///< by layer cut along its channels: cores of a reduction group
  int weight_prefetch = 0;                ///< weight prefetch: kernel loads that run during an earlier layer
  std::string
      weight_prefetch_during;  ///< that layer, or the last one of that fusion group; empty: no prefetch
};

/// Whether a memory core writes the same data to all cores of its cluster at once.
constexpr bool broadcasts(DataPath path) {
  return path == DataPath::kBroadcast || path == DataPath::kChain;
}

/// The loop over a core's steps that is the outer one: over tiles or over kernel loads.
enum class StepOrder : std::uint8_t { kTileOuter, kKernelOuter };
constexpr std::array<std::string_view, 2> kStepOrderNames{"tile_outer", "kernel_outer"};

/// The mapping of one layer to the matrix units of a chip: what is computed where and when (SPEC MA-1).
struct LayerMapping {
  std::string layer;
  std::string engine;  ///< name of the engine's dataflow
  /// Numbers of parts of the output rows, columns, kernel blocks and images. Each combination is computed by
  /// one reduction group.
  int row_parts = 1, column_parts = 1, kernel_parts = 1, image_parts = 1;
  /// Parts of a convolution's groups. A reduction group loads only the channels of its own convolution
  /// groups.
  int group_parts = 1;
  /// Cores of a reduction group: each sums over its own part of the input channels, then the group adds up
  /// the partial sums. They are neighbours in one cluster.
  int reduction_parts = 1;
  int cores_per_cluster = 0;  ///< cores that work in each cluster, the first ones; 0: all
  /// The engine's own choices for the layer: a JSON object with fields of the engine's part of the hardware
  /// file; empty: no choices.
  std::string engine_choices;
  int kernels_per_block = 1;            ///< one of the block sizes that the engine offers for the layer
  int tile_rows = 1, tile_columns = 1;  ///< output pixels of a full tile in NRAM
  int blocks_per_load = 1;              ///< kernel blocks per load into WRAM
  int channel_parts = 1;  ///< parts of the input channels that one core accumulates one after the other
  /// Whether vertically neighbouring tiles of a core share a buffer, so that rows needed by both are loaded
  /// once.
  bool map_strips = false;
  int map_buffers = 2, kernel_buffers = 2;
  /// Weight prefetch: this many of each core's first kernel loads run during an earlier layer.
  int weight_prefetch = 0;
  std::string weight_prefetch_during;  ///< that earlier layer; empty: no prefetch
  StepOrder order = StepOrder::kTileOuter;
  DataPath maps = DataPath::kDirect, kernels = DataPath::kDirect, results = DataPath::kDirect;

  int reduction_groups() const { return row_parts * column_parts * kernel_parts * group_parts * image_parts; }
  int cores() const { return reduction_groups() * reduction_parts; }
  /// The chip without the cores that do not work.
  ChipConfig working(ChipConfig chip) const {
    if (cores_per_cluster > 0) chip.cores_per_cluster = cores_per_cluster;
    return chip;
  }
  bool uses_memory_cores() const {
    return maps != DataPath::kDirect || kernels != DataPath::kDirect || results != DataPath::kDirect;
  }
};

/// A user's request for the mapping of a layer (SPEC MA-1); the planner chooses the fields that are absent.
struct MappingRequest {
  std::string layer;
  std::optional<std::string> engine;
  /// By the engine's key in hardware files: a JSON object with those of the engine's fields that may differ
  /// by layer.
  std::map<std::string, std::string> engine_choices;
  std::optional<int> row_parts, column_parts, kernel_parts, group_parts, image_parts, reduction_parts;
  std::optional<int> cores_per_cluster;
  std::optional<int> kernels_per_block, tile_rows, tile_columns;
  std::optional<int> blocks_per_load, channel_parts, map_buffers, kernel_buffers, weight_prefetch;
  std::optional<std::string> weight_prefetch_during;
  std::optional<bool> map_strips;
  std::optional<StepOrder> order;
  std::optional<DataPath> maps, kernels, results;
};

/// A user's request for a fusion group (SPEC MA-1, FU-4); the planner chooses the fields that are absent.
struct GroupRequest {
  std::vector<std::string> layers;
  std::optional<int> clusters, cores, step_rows, step_columns, step_maps;
  std::optional<Holding> holding;  ///< of tensors that `holdings` does not name
  std::map<std::string, Holding> holdings;
  std::optional<GroupKernels> kernels = {};  ///< absent: resident, of products of two results streamed
  std::optional<DataPath> results = {};      ///< kDirect or kSram; absent: as `chip.dram_path` says
  std::map<std::string, int> reductions = {};
  std::optional<int> weight_prefetch = {};
  std::optional<std::string> weight_prefetch_during = {};
};

/// The contents of a mapping file: requests for layers and fusion groups.
struct NetworkMapping {
  std::string file;  ///< path of the file; empty: the requests come from no file
  std::vector<MappingRequest> layers;
  std::vector<GroupRequest> groups = {};
};

constexpr int kMappingVersion = 1;

/// The hardware with the engine choices that `request` (at `place` in its file) makes for the layer. Throws
/// UserError when they contradict the hardware or name an engine that the hardware does not have.
HardwareConfig with_choices(const HardwareConfig& hardware, const MappingRequest& request,
                            const Place& place);

/// Reads a mapping file. Throws UserError naming file, JSON path, value and allowed range.
NetworkMapping load_mapping(const std::string& path);
/// `load_mapping` of a file's text; `file` is named in errors.
NetworkMapping parse_mapping(const std::string& text, const std::string& file);
/// The request that fixes every field to this mapping.
MappingRequest request_of(const LayerMapping& mapping);
/// The text of a mapping file that requests exactly these mappings.
std::string mapping_text(const std::vector<LayerMapping>& layers,
                         const std::vector<GroupMapping>& groups = {});
nlohmann::ordered_json mapping_schema();

}  // namespace tilebeat
