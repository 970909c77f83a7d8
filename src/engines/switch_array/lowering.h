#pragma once

#include "base/memo.h"
#include "config/hardware_config.h"
#include "engines/switch_array/config.h"
#include "engines/switch_array/operations.h"
#include "engines/switch_array/schedule.h"
#include "planner/language/matrix_backend.h"
#include "planner/language/problem.h"
#include "planner/language/transfer.h"

#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

namespace tilebeat::switch_array {

/// The engine's cut of a job (SPEC SW-3, SW-7).
struct Tiling {
  int rows = 0, columns = 0;  ///< output pixels of a full tile
  int blocks_per_store = 1;   ///< kernel blocks whose results are stored together
  int blocks_per_chunk = 1;   ///< kernel blocks that are loaded together and run one after the other
  /// channel blocks of a chunk; fewer than all: accumulators carry over to the next chunk
  int planes_per_chunk = 0;
  bool channels_resident = true;  ///< a tile in the banks holds all channels
  LoopOrder order = LoopOrder::kTileOuter;
};

/// Channel blocks [begin, end) that the kernels of block `kernel_block` read (SPEC SW-3).
Interval planes_of(const Problem& problem, const ArrayShape& array, int kernel_block);
/// The most channel blocks that any kernel block reads.
int widest_planes(const Problem& problem, const ArrayShape& array);
/// Whether words have bytes that no kernel has: columns without a kernel, channels behind the last one, or
/// outside a kernel's group. Then only the kernels' own bytes are stored and transferred (SPEC WF-9).
bool fills_words(const Problem& problem, const ArrayShape& array);
/// `load.kernels` for channel blocks `planes` of kernel block `kernel_block`, without addresses and places.
LoadKernels kernel_load(const Problem& problem, const ArrayShape& array, int kernel_block, Interval planes);
/// Bytes of these kernels in memory.
std::int64_t packed_bytes(const Problem& problem, const ArrayShape& array, int kernel_block, Interval planes);
/// Number of kernel blocks from `first` on, within `blocks`, that can run one after the other in one chunk:
/// without groups all complete blocks, with groups those that read equally many channel blocks at equal
/// distances.
int alike_blocks(const Problem& problem, const ArrayShape& array, int first, Interval blocks);
/// Useful multiply-accumulates of one output pixel of kernel block `kernel_block` over channel blocks
/// `planes`.
std::int64_t macs_per_pixel(const Problem& problem, const ArrayShape& array, int kernel_block,
                            Interval planes);
/// The tiles of the whole layer, image by image, row by row, column by column.
std::vector<OutputTile> tiles_of(const Problem& problem, const Tiling& tiling);
/// Replaces the contents of `tiles` by the tiles of `job` of the layer with that problem.
void tiles_of(const Problem& problem, const MatrixJob& job, const Tiling& tiling,
              std::vector<OutputTile>& tiles);

/// A job as the engine cuts it.
struct Job {
  const Problem& problem;
  Interval blocks;      ///< kernel blocks
  int planes = 0;       ///< the most channel blocks that a kernel block adds up at a time
  bool whole = true;    ///< false: the accumulators carry over from job to job, a tile is one operation cycle
  int jobs_of_map = 1;  ///< as in MatrixJob
};
/// A way to cut a job, and the reason for it.
struct TilingChoice {
  Tiling tiling;
  std::string reason;
};
/// The tilings with about equal estimates, for maps and results behind `path` in a memory of `memory_bytes`
/// bytes a cycle; the first is the best one by the estimate. Throws UserError when the job cannot fit.
std::vector<TilingChoice> choose_tilings(const Job& job, const HardwareConfig& hardware, const PortPath& path,
                                         double memory_bytes);

/// Cycles in which the input arrangement takes a map; the key is its height, width and channels, whether its
/// pixels lie apart, and the path's bytes a cycle. Computed once for all lowerings of a layer.
using ArrangingCycles = Memo<std::tuple<int, int, int, bool, int, int>, double>;

/// Makes the lowering that turns the jobs of a unit into tasks: loads of maps and kernels, runs, stores (SPEC
/// SW-7). All arguments outlive it.
std::unique_ptr<MatrixLowering> make_lowering(TaskGraph& graph, const EnginePlace& place,
                                              const Problem& problem, const Tiling& tiling,
                                              const HardwareConfig& hardware, const PortPath& path,
                                              const ArrangingCycles& arranging);

}  // namespace tilebeat::switch_array
