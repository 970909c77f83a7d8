#pragma once

#include "observe/activity_log.h"
#include "observe/timeline.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

namespace tilebeat {

class ActivityTracks;

/// The cycles of one module as a sequence of groups. A group has each activity once, in the order of first
/// occurrence. Cycles of unknown order form one group; other stretches are groups of their own until the
/// tracks are coarsened.
class ActivityTrack : public ActivityListener {
 public:
  explicit ActivityTrack(ActivityTracks& all) : all_(all) {}

  void spent(Activity activity, Cycle begin, Cycle end, CycleOrder order) override;
  /// Ends the track.
  void finish();
  /// Calls `show(activity, begin, end)` for every stretch, in order; adjacent stretches have different
  /// activities.
  void for_each(const std::function<void(Activity, Cycle, Cycle)>& show) const;

 private:
  friend class ActivityTracks;
  struct Piece {
    std::uint64_t first : 1;  // the first piece of a group
    std::uint64_t activity : 7;
    std::uint64_t cycles : 56;
  };
  void end_atom();
  void add(Activity activity, Cycle cycles);
  void end_group_if_full();
  void keep_group();
  void regroup();

  ActivityTracks& all_;
  std::vector<Piece> pieces_;
  // Cycles since the last atom, not in a group yet: one stretch, or cycles in any order.
  std::optional<Activity> stretch_;
  Cycle stretch_cycles_ = 0;
  std::array<Cycle, kActivityCount> mixed_{};
  bool has_mixed_ = false;
  // The group in progress.
  std::vector<std::pair<Activity, Cycle>> group_;
  Cycle group_begin_ = 0, end_ = 0;
};

/// All tracks of a timeline. They hold a limited number of pieces: before the limit would be exceeded, the
/// groups of all tracks are joined so that each spans a window of twice the cycles. The final contents do not
/// depend on when this was done.
class ActivityTracks {
 public:
  explicit ActivityTracks(std::int64_t most_pieces) : most_(most_pieces) {}

  ActivityTrack& add() { return tracks_.emplace_back(*this); }
  /// Ends recording.
  void stop() { stopped_ = true; }
  void finish();
  /// Cycles that a group spans, except for longer stretches.
  Cycle window() const { return window_; }

 private:
  friend class ActivityTrack;
  void coarsen_if_full();

  std::deque<ActivityTrack> tracks_;
  std::int64_t most_, pieces_ = 0;
  Cycle window_ = 1;
  bool stopped_ = false;
};

/// A counter over time, in a limited number of windows of equal length: before the limit would be exceeded,
/// every two windows are joined.
class CounterTrack {
 public:
  /// A window spans at least `period`.
  CounterTrack(CounterInfo info, Picoseconds period)
      : info_(std::move(info)), window_(kFirstWindow * period), period_(period) {}

  const CounterInfo& info() const { return info_; }
  /// As in Timeline. The amounts of the windows sum to `amount`.
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
    std::int64_t value = 0;  // amount, or largest level
    std::int64_t last = 0;   // last level
    bool told = false;
  };
  Window& window_of(Picoseconds at);
  void join();

  CounterInfo info_;
  Picoseconds window_, period_;
  std::vector<Window> windows_;
};

}  // namespace tilebeat
