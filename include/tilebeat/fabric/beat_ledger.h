#pragma once

#include "tilebeat/observe/ledger.h"

#include <algorithm>
#include <deque>

namespace tilebeat {

/// The cycle ledger of a data bus whose beats are known ahead of time: a cycle in which a beat is on the bus
/// is busy, every other cycle belongs to the activity that the owner names when it accounts for it (SPEC
/// CY-2).
class BeatLedger {
 public:
  /// The bus carries a beat in each of the cycles [begin, begin + count). Stretches are added in rising
  /// order, do not overlap and do not begin before what is accounted for.
  void add_beats(Cycle begin, Cycle count) {
    if (!beats_.empty() && beats_.back().end == begin) {
      beats_.back().end += count;
    } else {
      beats_.push_back({begin, begin + count});
    }
    beats_end_ = begin + count;
  }
  /// Accounts for the cycles before `upto`; those without a beat belong to `otherwise`.
  void advance(Cycle upto, Activity otherwise) {
    for (Cycle at = ledger_.settled_at(); at < upto; at = ledger_.settled_at()) {
      if (beats_.empty() || beats_.front().begin > at) {
        const Cycle stop = beats_.empty() ? upto : std::min(upto, beats_.front().begin);
        ledger_.spend(otherwise, stop - at);
        continue;
      }
      ledger_.spend(Activity::kBusy, std::min(upto, beats_.front().end) - at);
      if (ledger_.settled_at() == beats_.front().end) beats_.pop_front();
    }
  }
  /// As of CycleLedger, of cycles without a beat.
  void explain(const WaitTrail& trail, Cycle now, Cycle from) { ledger_.explain(trail, now, from); }
  void close() { ledger_.close(); }
  /// The cycle after the last known beat.
  Cycle beats_end() const { return beats_end_; }
  /// The cycle up to which everything is accounted for.
  Cycle settled_at() const { return ledger_.settled_at(); }
  const ActivityCycles& cycles() const { return ledger_.cycles(); }
  /// What the cycles are kept in.
  CycleLedger& ledger() { return ledger_; }

 private:
  struct Stretch {
    Cycle begin;
    Cycle end;
  };
  CycleLedger ledger_;
  std::deque<Stretch> beats_;
  Cycle beats_end_ = 0;
};

}  // namespace tilebeat
