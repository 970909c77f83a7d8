#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tilebeat {

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

/// What is computed where and when, for one layer on the matrix units of a chip (SPEC MA-1). A fused unit,
/// once there are some, takes the place of a layer.
struct LayerMapping {
  std::string layer;
  std::string engine;  ///< the name of its dataflow
  /// Cores: parts of the output rows, columns and kernel blocks and of the images, one a team.
  int row_parts = 1, column_parts = 1, kernel_parts = 1, image_parts = 1;
  /// Likewise: parts of the groups of a convolution. A team loads the channels of its own groups alone.
  int group_parts = 1;
  /// Cores of a team: parts of the input channels, one a core, whose sums they add up. They follow one
  /// another in a cluster.
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
  int kernels_ahead = 0;
  std::string kernels_during;  ///< that layer; empty: none
  StepOrder order = StepOrder::kTileOuter;
  DataPath maps = DataPath::kDirect, kernels = DataPath::kDirect, results = DataPath::kDirect;

  int teams() const { return row_parts * column_parts * kernel_parts * group_parts * image_parts; }
  int cores() const { return teams() * reduction_parts; }
  bool uses_memory_cores() const {
    return maps != DataPath::kDirect || kernels != DataPath::kDirect || results != DataPath::kDirect;
  }
};

}  // namespace tilebeat
