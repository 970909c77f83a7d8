#include "observe/statistics.h"
#include "tilebeat/error.h"

#include <algorithm>

#include <fmt/format.h>

namespace tilebeat {

void CycleLedger::settle(Cycle at) {
  if (at < since_) {
    throw SimulationError(
        fmt::format("cycle ledger: cycle {} is accounted for twice (up to {} already, {} now)", at, since_,
                    activity_name(current_)));
  }
  if (current_ == Activity::kMemory) await(at);
  if (log_ != nullptr) log_->add(current_, since_, at, CycleOrder::kAsTold);
  nth(cycles_, current_) += at - since_;
  since_ = at;
}

// The module waits for a memory up to cycle `end`.
void CycleLedger::await(Cycle end) {
  if (end == since_) return;
  if (!unexplained_.empty() && unexplained_.back().end == since_) {
    unexplained_.back().end = end;
  } else {
    unexplained_.push_back({since_, end});
  }
}

void CycleLedger::explain(const WaitTrail& trail, Cycle now, Cycle from) {
  if (trail.empty()) return;
  if (current_ == Activity::kMemory && since_ < now) settle(now);
  auto kept = unexplained_.begin();
  for (const Stretch stretch : unexplained_) {
    if (stretch.begin < from) *kept++ = {stretch.begin, std::min(stretch.end, from)};
    Cycle begin = std::min(std::max(stretch.begin, from), stretch.end);
    trail.divide(begin, stretch.end, [&](Activity cause, Cycle cycles) {
      if (log_ != nullptr) log_->explain(begin, begin + cycles, cause);
      begin += cycles;
      cycles_[to_int(Activity::kMemory)] -= cycles;
      nth(cycles_, cause) += cycles;
    });
  }
  unexplained_.erase(kept, unexplained_.end());
}

}  // namespace tilebeat
