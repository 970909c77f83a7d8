#pragma once

#include "tilebeat/base/activity.h"
#include "tilebeat/base/types.h"

#include <array>

namespace tilebeat {

/// Cycles of one module, by activity.
using ActivityCycles = std::array<Cycle, kActivityCount>;

/// Accounts for every cycle of one module. A module either switches (`enter`) when its activity changes or,
/// when it knows a stretch in advance, spends it in one go (`spend`). Time never runs backwards and no cycle
/// is counted twice.
class CycleLedger {
 public:
  /// The module changes to `activity` from cycle `at` on (`at` not before the previous change).
  void enter(Activity activity, Cycle at) {
    settle(at);
    current_ = activity;
  }
  /// The next `cycles` cycles, starting where the ledger stands, belong to `activity`; the current activity
  /// goes on afterwards.
  void spend(Activity activity, Cycle cycles) {
    cycles_[static_cast<int>(activity)] += cycles;
    since_ += cycles;
  }
  /// Accounts for the current activity up to cycle `at`, which may not lie before what is already accounted
  /// for.
  void settle(Cycle at);
  /// The cycle up to which everything is accounted for.
  Cycle settled_at() const { return since_; }
  Activity current() const { return current_; }
  /// The cycles accounted for so far, by activity; they sum to `settled_at()`.
  const ActivityCycles& cycles() const { return cycles_; }

 private:
  ActivityCycles cycles_{};
  Activity current_ = Activity::kHost;
  Cycle since_ = 0;
};

}  // namespace tilebeat
