#pragma once

#include "base/activity.h"
#include "base/types.h"

#include <algorithm>
#include <deque>
#include <vector>

namespace tilebeat {

/// The waits of a request since it was issued, in order (SPEC CY-2): every module that it passes adds the
/// cause that kept it there, and the initiator books them with `CycleLedger::explain`.
class WaitTrail {
 public:
  /// The request waited for `cause` from the end of the previous wait to cycle `until`; ignored when that
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

  /// Calls `spent(cause, cycles)` for the cycles [begin, end), in order. Cycles before the request belong to
  /// its first wait, those after the last wait to the way of the answer.
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

/// The order of the cycles in neighbouring stretches.
enum class CycleOrder : std::uint8_t {
  kAsTold,  ///< one after the other, as they are told
  kMixed    ///< in any order: an engine that advances a chunk in one step knows the sums alone (SPEC CY-3)
};

/// Receives the final activities of one module's cycles (SPEC UI-7): stretch after stretch, without gaps,
/// from cycle 0 on.
class ActivityListener {
 public:
  virtual ~ActivityListener() = default;
  /// The cycles [begin, end) belong to `activity`.
  virtual void spent(Activity activity, Cycle begin, Cycle end, CycleOrder order) = 0;
};

/// Passes on what a ledger accounts for. Waits for a memory are held back until the answer explains their
/// cause.
class ActivityLog {
 public:
  /// `listener` outlives the log.
  void add_listener(ActivityListener& listener) { listeners_.push_back(&listener); }

  // As the ledger accounts for them.
  void add(Activity activity, Cycle begin, Cycle end, CycleOrder order);
  /// The cycles [begin, end), so far kMemory, belong to `cause`.
  void explain(Cycle begin, Cycle end, Activity cause);
  /// Everything so far is final.
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
