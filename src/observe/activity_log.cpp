#include "observe/activity_log.h"

#include <algorithm>

namespace tilebeat {

void ActivityLog::add(Activity activity, Cycle begin, Cycle end, CycleOrder order) {
  if (begin == end) return;
  const bool open = activity == Activity::kMemory;
  if (open && !held_.empty() && held_.back().open && held_.back().end == begin) {
    held_.back().end = end;
    return;
  }
  held_.push_back({activity, begin, end, order, open});
  if (!open) pass_on();
}

void ActivityLog::explain(Cycle begin, Cycle end, Activity cause) {
  if (begin == end) return;
  const auto found = std::find_if(held_.begin(), held_.end(), [&](const Stretch& s) {
    return s.open && s.begin <= begin && end <= s.end;
  });
  if (found == held_.end()) return;
  const Stretch whole = *found;
  auto at = held_.erase(found);
  const auto insert = [&](Activity activity, Cycle from, Cycle to, bool open) {
    if (from < to) at = std::next(held_.insert(at, {activity, from, to, whole.order, open}));
  };
  insert(whole.activity, whole.begin, begin, true);
  insert(cause, begin, end, false);
  insert(whole.activity, end, whole.end, true);
  pass_on();
}

void ActivityLog::close() {
  for (Stretch& stretch : held_) stretch.open = false;
  pass_on();
}

void ActivityLog::pass_on() {
  for (; !held_.empty() && !held_.front().open; held_.pop_front()) {
    const Stretch& front = held_.front();
    for (ActivityListener* listener : listeners_)
      listener->spent(front.activity, front.begin, front.end, front.order);
  }
}

}  // namespace tilebeat
