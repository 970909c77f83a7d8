#pragma once

#include "base/activity.h"
#include "base/types.h"

#include <algorithm>
#include <deque>
#include <vector>

namespace tilebeat {

/// What a request has waited for, one after the other, since it was issued (SPEC CY-2): everyone whom it
/// passes adds what kept it there, and who waited for the answer learns it from `CycleLedger::explain`.
class WaitTrail {
 public:
  /// From the end of the wait before, up to cycle `until`, the request waited for `cause`; nothing when that
  /// cycle is already accounted for.
  void add(Cycle until, Activity cause) {
    if (until <= this->until()) return;
    if (!waits_.empty() && waits_.back().cause == cause) {
      waits_.back().until = until;
    } else {
      waits_.push_back({until, cause});
    }
  }
  /// The waits of a request that was made on behalf of this one.
  void add(const WaitTrail& other) {
    for (const Wait& wait : other.waits_) add(wait.until, wait.cause);
  }
  void clear() { waits_.clear(); }
  bool empty() const { return waits_.empty(); }
  /// The cycle up to which the waits are known.
  Cycle until() const { return waits_.empty() ? -1 : waits_.back().until; }

  /// Calls `spent(cause, cycles)` for the cycles [begin, end), in order. Those before the request belong to
  /// its first wait; those behind the last one are the answer's way.
  template <class Spent>
  void divide(Cycle begin, Cycle end, Spent spent) const {
    for (const Wait& wait : waits_) {
      if (begin == end) return;
      if (wait.until <= begin) continue;
      const Cycle stop = std::min(end, wait.until);
      spent(wait.cause, stop - begin);
      begin = stop;
    }
    if (begin < end) spent(Activity::kBusLatency, end - begin);
  }

 private:
  struct Wait {
    Cycle until;
    Activity cause;
  };
  std::vector<Wait> waits_;
};

/// In which order the cycles of neighbouring stretches went.
enum class CycleOrder : std::uint8_t {
  kAsTold,  ///< one after the other, as they are told
  kMixed    ///< in any order: an engine that advances a chunk in one step knows the sums alone (SPEC CY-3)
};

/// Hears where the cycles of one module went (SPEC UI-7), once this is certain: stretch after stretch,
/// without gaps, from cycle 0 on.
class ActivityListener {
 public:
  virtual ~ActivityListener() = default;
  /// The cycles [begin, end) belong to `activity`.
  virtual void spent(Activity activity, Cycle begin, Cycle end, CycleOrder order) = 0;
};

/// Passes on what a ledger accounts for. What waits for a memory is held back until the answer tells what the
/// memory was waited for.
class ActivityLog {
 public:
  /// `listener` outlives the log.
  void add_listener(ActivityListener& listener) { listeners_.push_back(&listener); }

  // As CycleLedger does it.
  void add(Activity activity, Cycle begin, Cycle end, CycleOrder order);
  /// The cycles [begin, end), of kMemory so far, belong to `cause`.
  void explain(Cycle begin, Cycle end, Activity cause);
  /// Nothing before is explained any more.
  void close();

 private:
  struct Stretch {
    Activity activity;
    Cycle begin, end;
    CycleOrder order;
    bool open;  // may be explained
  };
  void pass_on();

  std::deque<Stretch> held_;  // from the first one on that may be explained
  std::vector<ActivityListener*> listeners_;
};

}  // namespace tilebeat
