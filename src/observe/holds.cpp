#include "observe/holds.h"

#include "tilebeat/error.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace tilebeat {

void Holds::refuse(const std::string& user, Access access, std::uint64_t begin, std::uint64_t end,
                   const std::string& other, Access others_access) const {
  const auto verb = [](Access a) { return a == Access::kRead ? "reads" : "writes"; };
  throw SimulationError(fmt::format("race in {}: {} {} {:#x} to {:#x} while {} {} there", memory_, user,
                                    verb(access), begin, end - 1, other, verb(others_access)));
}

void Holds::note_write(const BytePattern& pattern) {
  changed_ = changed_ || std::any_of(watched_.begin(), watched_.end(),
                                     [&](const BytePattern& watched) { return watched.meets(pattern); });
}

void Holds::forget_closed(Cycle now) {
  holds_.erase(std::remove_if(holds_.begin(), holds_.end(), [now](const Hold& h) { return h.end < now; }),
               holds_.end());
}

std::uint64_t Holds::open(std::string user, Access access, const BytePattern& pattern, Cycle now) {
  forget_closed(now);
  if (access == Access::kWrite && pattern.overlaps_itself()) {
    throw SimulationError(fmt::format("{}: {} writes {} times {} bytes only {} apart", memory_, user,
                                      pattern.count, pattern.run, pattern.stride));
  }
  for (const Hold& hold : holds_) {
    // Successive instructions may add to the same sums; each finishes its results before the next one does.
    if (hold.end > now && hold.access != access && hold.pattern.meets(pattern))
      refuse(user, access, pattern.begin, pattern.end(), hold.user, hold.access);
  }
  if (touched_at_ == now) {
    for (const Touch& touch : touches_) {
      if (clash(touch.access, access) && pattern.meets(touch.begin, touch.end))
        refuse(user, access, pattern.begin, pattern.end(), touch.user, touch.access);
    }
  }
  if (access == Access::kWrite) note_write(pattern);
  tell(access == Access::kRead ? HeldBytes::Access::kRead : HeldBytes::Access::kWrite, pattern, now);
  holds_.push_back({next_number_, std::move(user), access, pattern, kOpen});
  return next_number_++;
}

void Holds::close(std::uint64_t number, Cycle end) {
  const auto hold =
      std::find_if(holds_.begin(), holds_.end(), [number](const Hold& h) { return h.number == number; });
  if (hold != holds_.end()) close(*hold, end);
}

// Until `end` its bytes are in use, also those that are written, because the first of them are there already.
void Holds::close(Hold& hold, Cycle end) {
  hold.end = end;
  tell(HeldBytes::Access::kRead, hold.pattern, end);
}

void Holds::tell(HeldBytes::Access kind, const BytePattern& pattern, Cycle at) const {
  if (held_ == nullptr) return;
  if (pattern.stride == pattern.run || pattern.count == 1)
    return held_->access(kind, pattern.begin - base_, pattern.begin - base_ + pattern.count * pattern.run,
                         at);
  for (std::uint64_t i = 0; i < pattern.count; ++i) {
    const std::uint64_t from = pattern.begin - base_ + i * pattern.stride;
    held_->access(kind, from, from + pattern.run, at);
  }
}

void Holds::close_oldest(Cycle end) {
  const auto hold = std::find_if(holds_.begin(), holds_.end(), [](const Hold& h) { return h.end == kOpen; });
  if (hold != holds_.end()) close(*hold, end);
}

void Holds::access(const char* user, Access access, std::uint64_t begin, std::uint64_t end, Cycle now) {
  for (const Hold& hold : holds_) {
    if (hold.end >= now && clash(hold.access, access) && hold.pattern.meets(begin, end))
      refuse(hold.user, hold.access, hold.pattern.begin, hold.pattern.end(), user, access);
  }
  if (access == Access::kWrite) note_write({begin, end - begin});
  if (touched_at_ != now) {
    touches_.clear();
    touched_at_ = now;
  }
  touches_.push_back({user, access, begin, end});
}

}  // namespace tilebeat
