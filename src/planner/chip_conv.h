#pragma once

// Convolutions on a chip, whatever the matrix unit: how outputs are spread over cores (chip_split.cpp), what
// lies in their memories (chip_buffers.cpp), and the steps, buffers and transfers of every core
// (chip_steps.cpp). What a unit computes in a step is its own lowering (chip_conv.cpp: the switch array,
// chip_wfold.cpp: the W-fold engine).

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "chip_plan.h"

namespace tilebeat {

/// What a matrix unit computes at once, and what that costs.
struct ConvUnit {
  int rows = 1, columns = 1;      ///< output pixels side by side: parts and tiles are multiples of them
  int channels = 1;               ///< kernels of a kernel block
  std::int64_t clocks = 1;        ///< of so many pixels and kernels, at most
  std::int64_t kernel_bytes = 0;  ///< packed kernels of one block, at most
  /// Maps are folded on their way to NRAM (SPEC WF-5): a row lies there as (outputs + this) columns of so
  /// many pixels as the stride; -1: rows lie there as they are.
  int folded_span = -1;
};

/// A convolution that a chip computes with units of a kind. What it refers to outlives it.
struct ChipConv {
  const ConvProblem& problem;  ///< its kernel blocks are those of the unit
  const HardwareConfig& hardware;
  ConvUnit unit;
  const ChipConfig& chip() const { return *hardware.chip; }
  int element_bytes() const { return dtype_size(problem.output.dtype); }
  Window window_h(Interval outs) const;
  Window window_w(Interval outs) const;
  /// Bytes of a row of a tile's map in NRAM.
  std::int64_t map_row_bytes(const Window& w) const;
};

struct ConvBuffers;

// ---- how outputs are spread over cores ----

constexpr int kTilesOfPart = 4;  ///< at least, where a core has so many rows

/// Parts of a layer's outputs, one a core.
struct Split {
  int rows = 1, columns = 1, channels = 1;
  int cores() const { return rows * columns * channels; }
};
/// Of splits that are expected to take about the same time the one with the fewest cores, then without shared
/// maps, then with the fewest bytes: more masters on a saturated DRAM only disturb one another's rows. Throws
/// UserError when not even the smallest tile fits NRAM.
Split choose_split(const ChipConv& conv);

/// Expected clocks of a split, and bytes over DRAM when a core fetches every input once. What goes through
/// the SRAM is fetched once for the cores of a cluster that need the same, through one port.
struct SplitCost {
  double clocks = 0;
  std::int64_t bytes = 0;
};
SplitCost cost_of(const ChipConv& conv, const Split& split, const ConvBuffers& buffers, SramWays ways);
/// Cores of a cluster whose maps differ, when those that need the same share one fetch.
int maps_apart(const ChipConv& conv, const Split& split);
/// Bytes of two tiles of all maps that differ in a cluster.
std::int64_t shared_map_bytes(const ChipConv& conv, const Split& split, const ConvBuffers& buffers);
/// Whether cores of a cluster need the same maps, and these tiles fit the SRAM.
bool maps_shared(const ChipConv& conv, const Split& split, const ConvBuffers& buffers);

/// Outputs and kernel blocks that one core computes.
struct CorePart {
  Interval rows, columns, blocks;
  bool empty() const { return rows.size() == 0 || columns.size() == 0 || blocks.size() == 0; }
};
CorePart part_of_core(const ChipConv& conv, const Split& split, int core);
/// The largest part of a core.
CorePart largest_part(const ChipConv& conv, const Split& split);

// ---- what lies in the memories of a core ----

/// Where the packed kernels of a layer lie in DRAM, block by block.
struct KernelPlace {
  std::uint64_t address = 0;
  std::vector<std::uint64_t> blocks;  ///< offset of each kernel block, and the end
  std::uint64_t post = 0;             ///< post-parameters; 0: none
  std::int64_t post_bytes = 0;        ///< of one kernel block
  /// WRAM has so many regions of so many bytes, and every block a part for each of them, one behind the
  /// other in DRAM; 1: a block lies in WRAM as it does in DRAM.
  int regions = 1;
  std::int64_t region_bytes = 0;

  /// Bytes of a group's kernels in WRAM; their post-parameters lie behind.
  std::int64_t kernel_bytes(Interval group) const;
  /// Both.
  std::int64_t bytes(Interval group) const;
};

/// Buffers of a core: tiles of maps and results in NRAM, groups of kernel blocks in WRAM.
struct ConvBuffers {
  int tile_rows = 0, tile_columns = 0;  ///< outputs of a full tile
  int map_buffers = 2;
  std::int64_t map_bytes = 0, result_bytes = 0;  ///< of one buffer
  int group_blocks = 0;                          ///< kernel blocks of a full group
  bool resident = false;                         ///< all kernels of a core stay in WRAM
  std::int64_t kernel_bytes = 0;                 ///< of one buffer
  int kernel_buffers() const { return resident ? kMemoryBuffers : 2; }
};
/// The inputs of so many outputs away from the map's edges.
Window inner_h(const ConvProblem& problem, int rows);
Window inner_w(const ConvProblem& problem, int columns);
/// Tiles of whole rows as large as two of them, with their results, fit NRAM, but at least four a part, so
/// that loading, computing and storing overlap; columns are cut when the fewest rows do not fit (SPEC SW-7).
/// One buffer for maps where two leave so little room that halos cost more than they hide. False: nothing
/// fits.
bool choose_tile(const ChipConv& conv, const Split& split, ConvBuffers& buffers);
/// Throws UserError: not even the smallest tile fits.
[[noreturn]] void refuse_tile(const ChipConv& conv);
/// Kernel blocks that WRAM holds at a time: all of a core's, or half of it twice. Sizes the buffers of
/// results too. Throws UserError when nothing fits.
void choose_group(const ChipConv& conv, const Split& split, const KernelPlace& kernels, ConvBuffers& buffers);

// ---- what every core does ----

/// Outputs of one tile of a core's part.
struct NramTile {
  int image = 0;
  Window h, w;
};
/// A tile as a layer of its own, whose map lies in NRAM.
ConvProblem tile_problem(const ConvProblem& problem, const NramTile& tile);

/// One step: a tile, a group of kernel blocks, and where the core finds them.
struct ConvStep {
  NramTile tile;
  Interval blocks;
  int kernels = 0;                                          ///< that exist
  std::uint64_t map = 0, result = 0, packed = 0, post = 0;  ///< addresses; post 0: none
  int map_load = 0;     ///< steps of one number find the same map; negative: padding alone
  int kernel_load = 0;  ///< likewise
  SegmentTokens tokens;
};
/// The steps of a core with their loads and stores; `work.steps` is left to the unit's lowering.
struct CoreSteps {
  std::vector<ConvStep> steps;
  CoreWork work;
};
/// Kernels come from somewhere else when `through_sram` (see `broadcast_kernels`). Adds to the traffic of
/// `made`.
CoreSteps steps_of_core(const ChipConv& conv, const CorePart& part, int core, const ConvBuffers& buffers,
                        const KernelPlace& kernels, std::uint64_t input, std::uint64_t output,
                        bool broadcast);

/// Groups of kernel blocks of a part, as they are loaded.
std::vector<Interval> groups_of(Interval blocks, const ConvBuffers& buffers);
/// A group's kernels and post-parameters, from DRAM to a buffer.
std::vector<Transfer> kernel_transfers(const KernelPlace& kernels, Interval group, std::uint64_t destination);

/// How operands and results pass between DRAM and the cores (SPEC HI-4): through the SRAM where several cores
/// of a cluster need the same and that is expected to be faster, or as the configuration forces.
struct ConvWays {
  SramWays ways;
  bool broadcast = false;  ///< kernels are the memory core's: it writes them to all cores that need them
};
ConvWays choose_ways(const ChipConv& conv, const Split& split, const ConvBuffers& buffers);
/// All of it in words; `blocks` is what the unit calls its kernel blocks.
std::string mapping_text(const ChipConv& conv, const Split& split, const ConvBuffers& buffers,
                         const ConvWays& ways, const std::string& blocks);
/// What a memory core does: it fetches every group of kernels once, broadcasts it to the cores that need it
/// and tells them.
std::vector<MemoryStep> broadcast_kernels(const ChipConv& conv, const Split& split,
                                          const ConvBuffers& buffers, const KernelPlace& kernels, int cluster,
                                          LayerPlan& made);

}  // namespace tilebeat
