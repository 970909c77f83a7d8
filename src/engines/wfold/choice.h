#pragma once

#include "tilebeat/engines/wfold/config.h"
#include "tilebeat/engines/wfold/schedule.h"
#include "tilebeat/mapping/matrix_backend.h"

#include <cstdint>
#include <vector>

namespace tilebeat::wfold {

/// What is decided for a layer on the W-fold engine.
struct WfoldChoice {
  WfoldShape shape;
  GranularityChoice granularity;  ///< WF-1, of the channels that a kernel tile touches
  bool forced = false;            ///< by wfold.pci
  int touched = 0;                ///< bytes of a folded pixel that a kernel tile touches
  int folded_span = 0;            ///< folded columns from the first tap to the last
  WfoldReadMode read_mode = WfoldReadMode::kContinuous;  ///< of the first block
};
WfoldChoice choose_wfold(const Problem& problem, const HardwareConfig& hardware);

/// Kernels of a block: a kernel tile, or fewer for every slave where that is too much for half the WRAM.
int fitting_block_kernels(const Workload& workload, const Layer& layer, const HardwareConfig& hardware);

/// Bytes [begin, end) of a folded pixel that the kernels of block `block` touch: all, or those of their
/// groups, from the first phase to the last.
ByteRange channels_of(const Problem& problem, int block);

/// One row of `columns` outputs of `kernels` kernels over bytes `channels` of a folded pixel.
WfoldGeometry tile_geometry(const Problem& problem, const WfoldChoice& choice, int kernels, int columns,
                            const ByteRange& channels);
/// How maps are read of which a run takes bytes `channels` of a folded pixel: not every run takes the same.
WfoldReadMode read_mode_of(const Problem& problem, const WfoldChoice& choice, const ByteRange& channels,
                           const WfoldConfig& config);

/// Kernels that the regions of a block have room for, as many in each of so many slaves.
int kernels_of_regions(const Problem& problem, int slaves, int block);
/// Bytes of a packed block.
std::int64_t packed_bytes(const Problem& problem, int slaves, int block);
/// Kernels and post-parameters of a block, the parts of the regions one after the other, as WfoldSchedule
/// lays them out; widths folded (SPEC WF-3, WF-5, WF-6).
std::vector<std::uint8_t> pack_regions(const Problem& problem, const WfoldChoice& choice, int set, int block);
/// The post-parameters alone: in every block as many records for each region as the first block has there.
std::vector<std::uint8_t> pack_post_parameters(const Problem& problem, const WfoldChoice& choice);

/// The decisions in words, for `tilebeat plan`.
Explanation explain(const WfoldChoice& choice, const Problem& problem, const HardwareConfig& hardware);

}  // namespace tilebeat::wfold
