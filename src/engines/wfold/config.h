#pragma once

#include "engines/wfold/schedule.h"

#include <array>
#include <cstdint>
#include <string_view>

namespace tilebeat::wfold {

/// The name of the engine under `dataflow`.
constexpr const char* kWfoldDataflow = "wfold";

/// The read mode of maps in the W-fold engine (SPEC WF-2); `kAuto`: the planner chooses the best one for each
/// layer.
enum class ReadChoice : std::uint8_t { kAuto, kContinuous, kStrided, kTransit };
constexpr std::array<std::string_view, 4> kReadChoiceNames{"auto", "continuous", "strided", "transit"};

/// The place where a map's width is folded by the stride (SPEC WF-5; document 003 [0209-0212]).
enum class FoldPlace : std::uint8_t { kOnChip, kDram, kInPlace };
constexpr std::array<std::string_view, 3> kFoldPlaceNames{"on_chip", "dram", "in_place"};

/// The place where kernels are dealt to slaves, aligned to the stride and filled (SPEC WF-9): DRAM holds the
/// kernels' own bytes, which the DMA deals to the regions of WRAM and a region's port puts to their places in
/// a line (`kLoad`) or first folds in place (`kInPlace`); or DRAM holds folded lines (`kOffline`).
enum class KernelPlace : std::uint8_t { kLoad, kInPlace, kOffline };
constexpr std::array<std::string_view, 3> kKernelPlaceNames{"load", "in_place", "offline"};

/// The memories that the first and the second storage are (document 003 [0062]): NRAM and WRAM, or two blocks
/// of one memory whose banks each have one port.
enum class StoragePlace : std::uint8_t { kSeparate, kShared };
constexpr std::array<std::string_view, 2> kStorageNames{"separate", "shared"};

constexpr std::array<std::string_view, 2> kFirstBufferNames{"maps", "kernels"};

/// The order of the two outer loops of a tile (SPEC WF-4).
enum class BlockOrder : std::uint8_t { kKernelRowOuter, kBlockOuter };
constexpr std::array<std::string_view, 2> kBlockOrderNames{"kernel_row_outer", "block_outer"};

constexpr std::int64_t kMostMasters = 2;

/// Sizes of the W-fold engine (SPEC section 4; document 003 figure 5) and its modes.
struct WfoldConfig {
  int slaves = 16;              ///< Ns
  int masters = 1;              ///< each broadcasts to its share of the slaves
  int compute_units = 4;        ///< Ncu of a slave
  int line_bytes = 64;          ///< M
  int first_buffer_lines = 8;   ///< L1 of a slave: lines of which each compute unit takes its own
  int second_buffer_lines = 9;  ///< L2 of a slave: lines that all compute units share
  FirstBuffer first_buffer = FirstBuffer::kMaps;
  int adder_stages = 1;               ///< stages of a compute unit's adder tree, each of equal fan-in
  int weight_port_bytes = 64;         ///< bytes a cycle of each region of the second storage
  int multicast_groups = 1;           ///< most groups of slaves that lines of their own can be sent to
  int line_queue = 16;                ///< most lines read ahead of the first buffers
  std::int64_t transit_bytes = 4096;  ///< both halves of the transit buffer
  int write_queue = 16;               ///< most write requests for results that wait
  int post_latency_cycles = 4;        ///< of the post-processing path
  int smallest_pci = 8;               ///< smallest candidate of the channel granularity
  int tolerance_bytes = 16;  ///< bytes of padding beyond the least that a larger granularity may take
  int pci = 0;               ///< forced granularity; 0: chosen
  ReadChoice read_mode = ReadChoice::kAuto;
  StoragePlace storage = StoragePlace::kSeparate;
  FoldPlace fold_place = FoldPlace::kOnChip;
  KernelPlace kernel_place = KernelPlace::kLoad;
  BlockOrder block_order = BlockOrder::kKernelRowOuter;
};

/// Its sizes as the engine's schedules see them.
inline WfoldShape wfold_shape(const WfoldConfig& c) {
  return {c.slaves,       c.compute_units, c.line_bytes, c.first_buffer_lines, c.second_buffer_lines,
          c.first_buffer, c.masters};
}

}  // namespace tilebeat::wfold
