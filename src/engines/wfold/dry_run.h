#pragma once

#include "tilebeat/base/types.h"
#include "tilebeat/config/hardware_config.h"
#include "tilebeat/engines/wfold/config.h"
#include "tilebeat/engines/wfold/operations.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <set>
#include <vector>

namespace tilebeat::wfold {

/// A port to NRAM without data: when what is asked for is there. One request a clock; banks make one access a
/// clock; so many bursts are under way.
class DryPort {
 public:
  DryPort(const ChipConfig& chip, int outstanding);

  /// The first clock from `earliest` on in which a request can be sent.
  Cycle next(Cycle earliest) const;
  /// Reads `bytes` bytes at `offset` of NRAM with a request that is sent in clock `at`; returns the clock in
  /// which they can be used.
  Cycle read(Cycle at, std::int64_t offset, std::int64_t bytes);
  /// Another port takes the grant of clock `at`.
  void lose(Cycle at) { lost_.insert(at); }

 private:
  Cycle access(Cycle first, std::int64_t offset, std::int64_t bytes);

  InterconnectConfig bus_;
  MemoryConfig nram_;
  std::vector<Cycle> taken_;  // of the last requests, as many as may be under way
  std::size_t oldest_ = 0;
  Cycle free_ = 0, lane_free_ = 0;
  std::vector<Cycle> bank_used_;
  std::set<Cycle> lost_;
};

/// The clocks of a run's tiles, one after the other, from clock 0 on, as WfoldMaster and WfoldWriter have
/// them; what it leaves out are other users of NRAM and a write queue that is full.
class DryRun {
 public:
  /// All of them outlive it.
  DryRun(const HardwareConfig& hardware, const WfoldRun& run, const WfoldSchedule& schedule, DType output);

  /// The next tile.
  void tile();

  Cycle first_beat() const { return first_beat_; }
  /// The clock after the last beat so far; that in which the results so far have left the third buffers; that
  /// in which they are stored.
  Cycle beats_end() const { return beat_; }
  Cycle drained() const { return drain_free_; }
  Cycle stored() const { return stored_; }

 private:
  void fetch();
  void enter_line(const WfoldTile& tile, const WfoldRefill& refill, int line);
  void do_step(const WfoldTile& tile, WfoldBeat& beat);
  Cycle kernel_line(const WfoldBeat& beat, const WfoldTile& tile);
  void drain(const WfoldTile& tile);
  Cycle& freed_at(std::int64_t line) {
    return freed_at_[static_cast<std::size_t>(line % static_cast<std::int64_t>(freed_at_.size()))];
  }

  struct Window {
    WfoldFetch fetch;
    std::vector<Cycle> arrived;
    Cycle begun = 0;
    int lines_left = 0;
  };

  const WfoldConfig& config_;
  const WfoldRun& run_;
  const WfoldSchedule& s_;
  int element_, trip_;
  DryPort port_;
  WfoldReader reader_;
  std::size_t limit_;
  Window window_;
  std::deque<Cycle> left_;  // when the last lines of so many windows left
  std::int64_t tile_ = 0, line_ = 0, first_line_ = 0, freed_ = 0;
  Cycle entered_ = -1;             // of the last line
  std::vector<Cycle> entered_at_;  // by place of the first buffer
  std::vector<Cycle> freed_at_;
  std::vector<Cycle> used_at_;  // by slot of the second buffer
  std::int64_t step_number_ = 0;
  Cycle weights_free_ = 0;
  Cycle beat_ = 0, first_beat_ = -1;
  std::vector<Cycle> drained_at_;  // by tile modulo 2
  Cycle drain_free_ = 0, write_ = 0, stored_ = 0;
};

}  // namespace tilebeat::wfold
