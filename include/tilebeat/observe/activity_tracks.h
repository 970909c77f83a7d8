#pragma once

#include "tilebeat/observe/activity_log.h"

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

namespace tilebeat {

class ActivityTracks;

/// Where the cycles of one module went, as a sequence of groups: in a group each activity stands once, in the
/// order in which they first came. Cycles whose order nobody knows are one group; others are groups of their
/// own until the tracks are coarsened.
class ActivityTrack : public ActivityListener {
 public:
  explicit ActivityTrack(ActivityTracks& all) : all_(all) {}

  void spent(Activity activity, Cycle begin, Cycle end, CycleOrder order) override;
  /// Nothing comes any more.
  void finish();
  /// Calls `show(activity, begin, end)` for everything, in order; neighbours differ.
  void for_each(const std::function<void(Activity, Cycle, Cycle)>& show) const;

 private:
  friend class ActivityTracks;
  struct Piece {
    std::uint64_t first : 1;  // of a group
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
  // What has come since, not yet in a group: a stretch, or cycles in any order.
  std::optional<Activity> stretch_;
  Cycle stretch_cycles_ = 0;
  std::array<Cycle, kActivityCount> mixed_{};
  bool has_mixed_ = false;
  // The group that is being made.
  std::vector<std::pair<Activity, Cycle>> group_;
  Cycle group_begin_ = 0, end_ = 0;
};

/// All tracks of a timeline. They hold at most a number of pieces: before there would be more, the groups of
/// all tracks are joined so that each spans a window of twice the cycles. What the tracks hold in the end
/// does not depend on when this was done.
class ActivityTracks {
 public:
  explicit ActivityTracks(std::int64_t most_pieces) : most_(most_pieces) {}

  ActivityTrack& add() { return tracks_.emplace_back(*this); }
  /// Nothing is taken any more.
  void stop() { stopped_ = true; }
  void finish();
  /// Cycles that a group spans, but for stretches that are longer.
  Cycle window() const { return window_; }

 private:
  friend class ActivityTrack;
  void coarsen_if_full();

  std::deque<ActivityTrack> tracks_;
  std::int64_t most_, pieces_ = 0;
  Cycle window_ = 1;
  bool stopped_ = false;
};

}  // namespace tilebeat
