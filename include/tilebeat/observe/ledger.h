#pragma once

#include "tilebeat/base/activity.h"
#include "tilebeat/base/types.h"
#include "tilebeat/observe/activity_log.h"
#include "tilebeat/observe/wait_trail.h"

#include <array>
#include <vector>

namespace tilebeat {

/// Cycles of one module, by activity.
using ActivityCycles = std::array<Cycle, kActivityCount>;

/// Accounts for every cycle of one module. A module either switches (`enter`) when its activity changes or,
/// when it knows a stretch in advance, spends it in one go (`spend`). Time never runs backwards and no cycle
/// is counted twice.
///
/// What keeps a memory is known when it answers: cycles of `kMemory` are then divided by `explain`.
class CycleLedger {
 public:
  /// The module changes to `activity` from cycle `at` on (`at` not before the previous change).
  void enter(Activity activity, Cycle at) {
    settle(at);
    current_ = activity;
  }
  /// The next `cycles` cycles, starting where the ledger stands, belong to `activity`; the current activity
  /// goes on afterwards. `order` is what the engine knows of these and the neighbouring cycles.
  void spend(Activity activity, Cycle cycles, CycleOrder order = CycleOrder::kAsTold) {
    if (activity == Activity::kMemory) await(since_ + cycles);
    if (log_ != nullptr) log_->add(activity, since_, since_ + cycles, order);
    cycles_[static_cast<int>(activity)] += cycles;
    since_ += cycles;
  }
  /// Accounts for the current activity up to cycle `at`, which may not lie before what is already accounted
  /// for.
  void settle(Cycle at);
  /// The answer to a request is there in cycle `now`: those of the cycles of `kMemory` before it that are not
  /// explained yet, and not before cycle `from`, belong to what the request has waited for. Does nothing when
  /// `trail` is empty.
  void explain(const WaitTrail& trail, Cycle now, Cycle from = 0);
  /// The cycles so far have been reported: they stay as they are.
  void close() {
    unexplained_.clear();
    if (log_ != nullptr) log_->close();
  }
  /// From now on `log`, which outlives the ledger's use, hears where the cycles go; null: nobody does.
  void report_to(ActivityLog* log) { log_ = log; }
  /// The cycle up to which everything is accounted for.
  Cycle settled_at() const { return since_; }
  Activity current() const { return current_; }
  /// The cycles accounted for so far, by activity; they sum to `settled_at()`.
  const ActivityCycles& cycles() const { return cycles_; }

 private:
  struct Stretch {
    Cycle begin, end;
  };
  void await(Cycle end);

  ActivityCycles cycles_{};
  Activity current_ = Activity::kHost;
  Cycle since_ = 0;
  std::vector<Stretch> unexplained_;  // of kMemory
  ActivityLog* log_ = nullptr;
};

}  // namespace tilebeat
