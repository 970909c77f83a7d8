#pragma once

#include "tilebeat/base/activity.h"
#include "tilebeat/base/types.h"

#include <deque>
#include <vector>

namespace tilebeat {

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
