#include "tilebeat/observe/activity_tracks.h"

#include <algorithm>

namespace tilebeat {

void ActivityTrack::spent(Activity activity, Cycle begin, Cycle end, CycleOrder order) {
  if (all_.stopped_ || begin == end) return;
  if (order == CycleOrder::kMixed) {
    if (stretch_) end_atom();
    mixed_[static_cast<std::size_t>(activity)] += end - begin;
    has_mixed_ = true;
    return;
  }
  if (has_mixed_ || (stretch_ && *stretch_ != activity)) end_atom();
  stretch_ = activity;
  stretch_cycles_ += end - begin;
}

// What has come since the last atom is one.
void ActivityTrack::end_atom() {
  if (has_mixed_) {
    for (int i = 0; i < kActivityCount; ++i) {
      Cycle& cycles = mixed_[static_cast<std::size_t>(i)];
      if (cycles > 0) add(static_cast<Activity>(i), cycles);
      cycles = 0;
    }
    has_mixed_ = false;
  } else if (stretch_) {
    add(*stretch_, stretch_cycles_);
    stretch_.reset();
    stretch_cycles_ = 0;
  }
  end_group_if_full();
  all_.coarsen_if_full();
}

void ActivityTrack::add(Activity activity, Cycle cycles) {
  const auto known =
      std::find_if(group_.begin(), group_.end(), [&](const auto& part) { return part.first == activity; });
  if (known != group_.end())
    known->second += cycles;
  else
    group_.emplace_back(activity, cycles);
  end_ += cycles;
}

void ActivityTrack::end_group_if_full() {
  if (end_ / all_.window_ > group_begin_ / all_.window_) keep_group();
}

void ActivityTrack::keep_group() {
  bool first = true;
  for (const auto& [activity, cycles] : group_) {
    pieces_.push_back({first ? 1U : 0U, static_cast<std::uint64_t>(activity) & 0x7F,
                       static_cast<std::uint64_t>(cycles) & ((std::uint64_t{1} << 56) - 1)});
    first = false;
  }
  all_.pieces_ += static_cast<std::int64_t>(group_.size());
  group_.clear();
  group_begin_ = end_;
}

// All groups once more, for another window.
void ActivityTrack::regroup() {
  const std::vector<Piece> pieces = std::move(pieces_);
  const std::vector<std::pair<Activity, Cycle>> open = std::move(group_);
  pieces_.clear(), group_.clear();
  group_begin_ = end_ = 0;
  for (const Piece& piece : pieces) {
    if (piece.first != 0) end_group_if_full();
    add(static_cast<Activity>(piece.activity), static_cast<Cycle>(piece.cycles));
  }
  end_group_if_full();
  for (const auto& [activity, cycles] : open) add(activity, cycles);
  pieces_.shrink_to_fit();
}

void ActivityTrack::finish() {
  end_atom();
  keep_group();
}

void ActivityTrack::for_each(const std::function<void(Activity, Cycle, Cycle)>& show) const {
  Cycle begin = 0, at = 0;
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    at += static_cast<Cycle>(pieces_[i].cycles);
    if (i + 1 < pieces_.size() && pieces_[i + 1].activity == pieces_[i].activity) continue;
    show(static_cast<Activity>(pieces_[i].activity), begin, at);
    begin = at;
  }
}

void ActivityTracks::coarsen_if_full() {
  // A window of a longer run than any does not help.
  while (pieces_ > most_ && window_ < Cycle{1} << 50) {
    window_ *= 2;
    pieces_ = 0;
    for (ActivityTrack& track : tracks_) track.regroup();
  }
}

void ActivityTracks::finish() {
  for (ActivityTrack& track : tracks_) track.finish();
}

}  // namespace tilebeat
