#pragma once

#include "sim/clock.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include <systemc>

namespace tilebeat {

/// A sum with some of its lower 32 bits flipped; one of an accumulator of 32 bits remains one.
inline std::int64_t with_flipped_bits(std::int64_t sum, std::uint32_t mask, bool wide) {
  if (wide) return sum ^ std::int64_t{mask};
  const auto low = static_cast<std::int32_t>(static_cast<std::uint32_t>(sum) ^ mask);
  return sum - static_cast<std::int32_t>(static_cast<std::uint32_t>(sum)) + low;
}

/// Calls `action` once, before anything happens in cycle `at` (at least 1) of `clock` and after everything of
/// the cycle before.
inline void call_before(const ClockDomain& clock, Cycle at, std::function<void()> action) {
  auto event = std::make_shared<sc_core::sc_event>();
  sc_core::sc_spawn_options options;
  options.spawn_method();
  options.dont_initialize();
  options.set_sensitivity(event.get());
  sc_core::sc_spawn([event, action = std::move(action)] { action(); }, sc_core::sc_gen_unique_name("upset"),
                    &options);
  event->notify(to_sc_time(clock.at(at) - 1 - now_ps()));
}

/// Upsets of registers to come, for a unit that computes what happens in a cycle when it knows its inputs:
/// each takes place at the beginning of its cycle.
template <class Upset>
class UpsetsToCome {
 public:
  void add(Cycle at, const Upset& upset) {
    const auto behind =
        std::find_if(upsets_.begin(), upsets_.end(), [at](const auto& other) { return other.first < at; });
    upsets_.insert(behind, {at, upset});
  }
  /// Passes to `take_place` the upsets up to the beginning of cycle `now`, in their order.
  template <class TakePlace>
  void until(Cycle now, const TakePlace& take_place) {
    while (!upsets_.empty() && upsets_.back().first <= now) {
      const Upset upset = upsets_.back().second;
      upsets_.pop_back();
      take_place(upset);
    }
  }

 private:
  std::vector<std::pair<Cycle, Upset>> upsets_;  // the first one last
};

}  // namespace tilebeat
