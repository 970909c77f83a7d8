#pragma once

#include "tilebeat/config/hardware_config.h"
#include "tilebeat/engines/switch_array/config.h"
#include "tilebeat/engines/switch_array/schedule.h"
#include "tilebeat/mapping/problem.h"
#include "tilebeat/mapping/transfer.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tilebeat::switch_array {

/// How the engine cuts a job (SPEC SW-3, SW-7).
struct Tiling {
  int rows = 0, columns = 0;      ///< output pixels of a full tile
  int blocks_per_store = 1;       ///< kernel blocks whose results are stored together
  int planes_per_chunk = 0;       ///< channel blocks of one chunk; fewer than all: accumulators carry over
  bool channels_resident = true;  ///< a tile in the banks holds all channels
  LoopOrder order = LoopOrder::kTileOuter;
};

/// Channel blocks [begin, end) that the kernels of block `kernel_block` touch (SPEC SW-3).
Interval planes_of(const Problem& problem, const ArrayShape& array, int kernel_block);
/// The most that any kernel block touches.
int widest_planes(const Problem& problem, const ArrayShape& array);
/// Useful multiply-accumulates of one output pixel of kernel block `kernel_block` over channel blocks
/// `planes`.
std::int64_t macs_per_pixel(const Problem& problem, const ArrayShape& array, int kernel_block,
                            Interval planes);
/// The tiles of a job, column by column, then row by row.
std::vector<OutputTile> tiles_of(const Problem& problem, const Tiling& tiling);

/// A job as the engine cuts it: `planes` channel blocks of each kernel block at most.
struct Job {
  const Problem& problem;
  Interval blocks;      ///< kernel blocks
  int planes = 0;       ///< that are added up at a time
  bool whole = true;    ///< false: the accumulators carry over from job to job, a tile is one operation cycle
  int jobs_of_map = 1;  ///< as in MatrixJob
};
/// A way to cut a job, and why.
struct TilingChoice {
  Tiling tiling;
  std::string reason;
};
/// The tilings that are expected to be about as fast, for maps and results behind `path`, in a memory of
/// `memory_bytes` bytes a cycle; the first is the best without a closer look. Throws UserError when the job
/// cannot fit.
std::vector<TilingChoice> choose_tilings(const Job& job, const HardwareConfig& hardware, const PortPath& path,
                                         double memory_bytes);

}  // namespace tilebeat::switch_array
