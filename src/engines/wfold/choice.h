#pragma once

#include "base/memo.h"
#include "base/types.h"
#include "config/hardware_config.h"
#include "engines/wfold/config.h"
#include "engines/wfold/operations.h"
#include "engines/wfold/schedule.h"
#include "engines/wfold/timing.h"
#include "planner/language/matrix_backend.h"
#include "planner/language/task_graph.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
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

/// What runs are expected to cost: the cycles of a dry run, which has the order of lines, beats and results
/// but no data, and knows nothing of other users of NRAM. Of a long run some rows are gone through; the
/// others are taken to be like them.
class RunCosts {
 public:
  /// `hardware` outlives it.
  explicit RunCosts(const HardwareConfig& hardware) : hardware_(hardware) {}

  /// The cost of a run with the registers `setup`, which are the same for all of them.
  const TaskCost& of(const ConvSetup& setup, const WfoldRun& run) const;

 private:
  TaskCost work_out(const ConvSetup& setup, const WfoldRun& run) const;

  using Key = std::array<std::int64_t, 14>;
  const HardwareConfig& hardware_;
  Memo<Key, TaskCost> known_;
};

/// The engine's two ports to NRAM without data: when what is asked for is there. Of both, one request a cycle
/// is granted, the older one first; banks make one access a cycle; so many bursts are under way.
class DryPorts {
 public:
  DryPorts(const ChipConfig& chip, int outstanding);

  /// The first cycle from `earliest` on in which the reading port can send a request.
  Cycle next(Cycle earliest) const { return std::max(earliest, free_); }
  /// Nothing is asked for in cycle `at`, which a request could have been sent in.
  void skip(Cycle at) { free_ = at + 1; }
  /// Reads `bytes` bytes at `offset` of NRAM, from cycle `earliest` on; returns the cycle in which they can
  /// be used.
  Cycle read(Cycle earliest, std::int64_t offset, std::int64_t bytes);
  /// The writing port sends a request in cycle `at`. Rising cycles.
  void write(Cycle at, std::int64_t offset, std::int64_t bytes) { writes_.push_back({at, offset, bytes}); }

 private:
  struct Write {
    Cycle at;
    std::int64_t offset, bytes;
  };
  Cycle grant(Cycle at);
  Cycle access(Cycle arrival, std::int64_t offset, std::int64_t bytes);

  InterconnectConfig bus_;
  MemoryConfig nram_;
  std::vector<Cycle> taken_;  // of the last reads, as many as may be under way
  std::size_t oldest_ = 0;
  Cycle free_ = 0, granted_ = -1, lane_free_ = 0;
  std::vector<Cycle> bank_used_;
  std::deque<Write> writes_;  // that are not granted
};

/// The cycles of a run's tiles, one after the other, from cycle 0 on, as WfoldMaster and WfoldWriter have
/// them; what it leaves out are other users of NRAM and a write queue that is full.
class DryRun {
 public:
  /// All of them outlive it.
  DryRun(const HardwareConfig& hardware, const WfoldRun& run, const WfoldSchedule& schedule, DType output);

  /// The next tile.
  void tile();

  Cycle first_beat() const { return first_beat_; }
  /// The cycle after the last beat so far; that in which the results so far have left the third buffers; that
  /// in which they are stored.
  Cycle beats_end() const { return timing_.beats.settled_at(); }
  Cycle drained() const { return drain_free_; }
  Cycle stored() const { return stored_; }

 private:
  void fetch();
  void enter_line(const WfoldTile& tile, const WfoldRefill& refill, int line);
  void do_step(const WfoldTile& tile, WfoldBeat& beat, Cycle drained_at);
  void drain(const WfoldTile& tile);

  struct Window {
    WfoldFetch fetch;
    std::vector<Cycle> arrived;
    Cycle begun = 0;
    int lines_left = 0;
  };

  const WfoldConfig& config_;
  const WfoldRun& run_;
  const WfoldSchedule& s_;
  int element_, bus_bytes_, trip_;
  DryPorts ports_;
  WfoldReader reader_;
  std::size_t limit_;
  Window window_;
  std::deque<Cycle> left_;  // when the last lines of so many windows left
  WfoldTiming<PlainClock> timing_;
  std::int64_t tile_ = 0, first_line_ = 0;
  std::int64_t step_number_ = 0;  // of the kernel tile
  int kernel_tile_ = -1;
  Cycle first_beat_ = -1;
  std::vector<Cycle> drained_at_;  // by tile modulo 2
  Cycle drain_free_ = 0, write_ = 0, stored_ = 0;
  Cycle reads_ = 0;    // requests since the last tile drained
  Cycle waiting_ = 0;  // cycles that the writing port is behind
};

}  // namespace tilebeat::wfold
