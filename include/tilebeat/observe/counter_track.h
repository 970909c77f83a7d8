#pragma once

#include "tilebeat/observe/timeline.h"

#include <cstddef>
#include <functional>
#include <vector>

namespace tilebeat {

/// A counter over time, in windows of equal length. There are at most a number of them: before there would be
/// more, every two become one.
class CounterTrack {
 public:
  /// A window spans `period` at least.
  CounterTrack(CounterInfo info, Picoseconds period)
      : info_(std::move(info)), window_(kFirstWindow * period), period_(period) {}

  const CounterInfo& info() const { return info_; }
  /// As in Timeline. The parts of windows sum to `amount`.
  void count(Picoseconds begin, Picoseconds end, std::int64_t amount);
  void level(Picoseconds at, std::int64_t value);
  /// Joins windows until there are at most `most`.
  void limit(std::size_t most);
  /// Calls `show(cycle, value)` wherever the value changes: a level, or the amount by cycle.
  void for_each(const std::function<void(Cycle, double)>& show) const;
  Cycle window_cycles() const { return window_ / period_; }

 private:
  static constexpr Cycle kFirstWindow = 16;
  static constexpr std::size_t kMostWindows = 256;
  struct Window {
    std::int64_t value = 0;  // the amount, or the largest level
    std::int64_t last = 0;   // level
    bool told = false;
  };
  Window& window_of(Picoseconds at);
  void join();

  CounterInfo info_;
  Picoseconds window_, period_;
  std::vector<Window> windows_;
};

}  // namespace tilebeat
