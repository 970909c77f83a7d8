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

/// The decisions for a layer on the W-fold engine.
struct WfoldChoice {
  WfoldShape shape;
  GranularityChoice granularity;                         ///< WF-1; of the channels that a kernel tile reads
  bool forced = false;                                   ///< by wfold.pci
  int slave_groups = 1;                                  ///< groups of slaves with lines of their own
  int touched = 0;                                       ///< bytes of a folded pixel that a kernel tile reads
  int folded_span = 0;                                   ///< folded columns from the first tap to the last
  WfoldReadMode read_mode = WfoldReadMode::kContinuous;  ///< read mode of the first block
};
/// What the groups of slaves are chosen for: no more cycles than the engine or DRAM takes, or the fewest
/// cycles of the engine, for maps that do not cross DRAM.
enum class GroupsFor : std::uint8_t { kEngineAndDram, kEngine };
WfoldChoice choose_wfold(const Problem& problem, const HardwareConfig& hardware, GroupsFor groups_for);

/// Kernels of a block: those of a kernel tile, or fewer per slave when they would take more than half of
/// WRAM.
int fitting_block_kernels(const Workload& workload, const Layer& layer, const HardwareConfig& hardware);

/// Bytes [begin, end) of a folded pixel that the kernels of block `block` read: all, or those of their
/// groups, from the first phase to the last. With groups of slaves, those of the first one.
ByteRange channels_of(const Problem& problem, int block, int slave_groups);

/// The geometry of one row of `columns` outputs of the kernels of block `block` over bytes `channels` of a
/// folded pixel.
WfoldGeometry tile_geometry(const Problem& problem, const WfoldChoice& choice, const WfoldConfig& config,
                            int block, int columns, const ByteRange& channels);
/// Whether kernels come as the workload has them and are dealt to the regions (SPEC WF-9); kernels that are a
/// tensor are copied as folded lines.
bool deals_kernels(const Problem& problem, const WfoldConfig& config);
/// The place in the regions of the kernels from block `block` on.
WfoldKernelLayout kernel_layout_of(const Problem& problem, const WfoldConfig& config, int block,
                                   int slave_groups);
/// The read mode of maps for a run that takes bytes `channels` of a folded pixel; runs of a layer may differ.
/// Throws UserError when `config` forces a mode that the run does not allow.
WfoldReadMode read_mode_of(const Problem& problem, const WfoldChoice& choice, const ByteRange& channels,
                           const WfoldConfig& config);

/// Number of kernels that fit the regions for a block, equally many in each of `slaves` slaves.
int kernels_of_regions(const Problem& problem, int slaves, int block);
/// Bytes of a block in all regions of WRAM.
std::int64_t packed_bytes(const Problem& problem, const WfoldConfig& config, int block);
/// Kernels and post-parameters of a block, region after region, in the layout of WfoldSchedule, with folded
/// widths (SPEC WF-3, WF-5, WF-6).
std::vector<std::uint8_t> pack_regions(const Problem& problem, const WfoldChoice& choice,
                                       const Tensor& weights, int set, int block);
/// The records of the kernels, in their order.
std::vector<std::uint8_t> records_of(const Problem& problem);
/// The post-parameters alone; every block has as many records per region as the first block.
std::vector<std::uint8_t> pack_post_parameters(const Problem& problem, const WfoldChoice& choice);

/// The decisions in words, for `tilebeat plan`.
Explanation explain(const WfoldChoice& choice, const Problem& problem, const HardwareConfig& hardware);

/// The estimated costs of runs, from a dry run: it has the order of lines, beats and results but no data, and
/// ignores other users of NRAM. Of a long run only some rows are gone through; the others are assumed to be
/// like them.
class RunCosts {
 public:
  /// `hardware` outlives it.
  explicit RunCosts(const HardwareConfig& hardware) : hardware_(hardware) {}

  /// The cost of a run with the registers `setup` and the kernels' place `kernels`, which but for
  /// `first_in_group` are the same for all runs.
  const TaskCost& of(const ConvSetup& setup, const WfoldKernelLayout& kernels, const WfoldRun& run) const;

 private:
  TaskCost work_out(const ConvSetup& setup, const WfoldKernelLayout& layout, const WfoldRun& run) const;

  using Key = std::array<std::int64_t, 15>;
  const HardwareConfig& hardware_;
  Memo<Key, TaskCost> known_;
};

/// The timing of the engine's ports to NRAM, those of the masters for lines and one for results, without
/// data. Of all ports, one request a cycle is granted, the older one first; banks make one access a cycle;
/// the number of bursts in flight is limited.
class DryPorts {
 public:
  DryPorts(const ChipConfig& chip, int outstanding, int masters);

  /// A master reads `bytes` bytes at `offset` of NRAM, not before cycle `earliest`; returns the cycle in
  /// which they can be used.
  Cycle read(int master, Cycle earliest, std::int64_t offset, std::int64_t bytes);
  /// The banks are taken in the `cycles` cycles from `at` on: they are those of WRAM, too.
  void take_banks(Cycle at, Cycle cycles);
  /// Sends a write request in cycle `at`; cycles must rise.
  void write(Cycle at, std::int64_t offset, std::int64_t bytes) { writes_.push_back({at, offset, bytes}); }

 private:
  struct Write {
    Cycle at;
    std::int64_t offset, bytes;
  };
  Cycle grant(Cycle at);
  // A data bus of NRAM, with the words that it carries in cycle `at`.
  struct DataBus {
    Cycle at = -1;
    int words = 0;
  };
  Cycle access(Cycle arrival, std::int64_t offset, std::int64_t bytes, DataBus& data);

  struct Reads {
    std::vector<Cycle> taken;  // cycles of the last reads, as many as may be in flight
    std::size_t oldest = 0;
    Cycle lane_free = 0;
  };
  InterconnectConfig bus_;
  MemoryConfig nram_;
  std::vector<Reads> reads_;  // by master
  Cycle free_ = 0, granted_ = -1;
  DataBus read_, written_;
  std::vector<Cycle> bank_used_;
  std::vector<bool> banks_taken_;  // by cycle
  std::deque<Write> writes_;       // writes that are not granted yet
};

/// The cycles of a run's tiles in sequence, from cycle 0 on, as WfoldMaster and WfoldWriter have them,
/// without other users of NRAM and without a full write queue.
class DryRun {
 public:
  /// All arguments outlive it.
  DryRun(const HardwareConfig& hardware, const WfoldRun& run, const WfoldSchedule& schedule, DType output);

  /// Advances by the next tile.
  void tile();

  Cycle first_beat() const { return first_beat_; }
  /// The cycle after the last beat so far; the cycle in which the results so far have left the third buffers;
  /// the cycle in which they are stored.
  Cycle beats_end() const { return timing_.beats.settled_at(); }
  Cycle drained() const { return drain_free_; }
  Cycle stored() const { return stored_; }

 private:
  void fetch(int master);
  void enter_line(int master, const WfoldTile& tile, const WfoldRefill& refill, int line);
  void enter_lines(const WfoldTile& tile, const WfoldRefill& refill, int end);
  void read_kernels();
  void do_step(const WfoldTile& tile, WfoldBeat& beat, Cycle drained_at);
  void do_latched_step(const WfoldTile& tile, WfoldBeat& beat, Cycle drained_at);
  void drain(const WfoldTile& tile);

  struct Master {
    WfoldReader reader;
    WfoldFetch fetch;  // the window of the next line
    std::vector<Cycle> arrived;
    int lines_left = 0;
    std::deque<Cycle> left;  // for up to `limit_` windows: cycle in which the last line left
  };

  const WfoldConfig& config_;
  const WfoldRun& run_;
  const WfoldSchedule& s_;
  int element_, bus_bytes_, trip_;
  DryPorts ports_;
  std::size_t limit_;
  std::vector<Master> masters_;
  WfoldTiming<PlainClock> timing_;
  std::int64_t tile_ = 0, first_line_ = 0;
  int line_ = 0;                  // lines of the refill that have been sent
  std::int64_t step_number_ = 0;  // number within the kernel tile
  int kernel_tile_ = -1;
  Cycle first_beat_ = -1;
  std::vector<Cycle> drained_at_;  // by tile modulo 2
  Cycle drain_free_ = 0, write_ = 0, stored_ = 0;
  Cycle reads_ = 0;    // requests since the last tile drained
  Cycle waiting_ = 0;  // cycles that the writing port is behind
};

}  // namespace tilebeat::wfold
