#include "observe/activity_tracks.h"

#include <algorithm>
#include <optional>

namespace tilebeat {

void ActivityTrack::spent(Activity activity, Cycle begin, Cycle end, CycleOrder order) {
  if (all_.stopped_ || begin == end) return;
  if (order == CycleOrder::kMixed) {
    if (stretch_) end_atom();
    nth(mixed_, activity) += end - begin;
    has_mixed_ = true;
    return;
  }
  if (has_mixed_ || (stretch_ && *stretch_ != activity)) end_atom();
  stretch_ = activity;
  stretch_cycles_ += end - begin;
}

// Ends an atom: everything since the previous atom.
void ActivityTrack::end_atom() {
  if (has_mixed_) {
    for (int i = 0; i < kActivityCount; ++i) {
      Cycle& cycles = nth(mixed_, i);
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
    pieces_.push_back({first ? 1U : 0U, to_unsigned(activity) & 0x7F,
                       to_unsigned(cycles) & ((std::uint64_t{1} << 56) - 1)});
    first = false;
  }
  all_.pieces_ += ssize(group_);
  group_.clear();
  group_begin_ = end_;
}

// Builds all groups again, for another window.
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
  // Stops at a window longer than any run.
  while (pieces_ > most_ && window_ < Cycle{1} << 50) {
    window_ *= 2;
    pieces_ = 0;
    for (ActivityTrack& track : tracks_) track.regroup();
  }
}

void ActivityTracks::finish() {
  for (ActivityTrack& track : tracks_) track.finish();
}

namespace {

__extension__ using Wide = __int128;

}  // namespace

void CounterTrack::count(Picoseconds begin, Picoseconds end, std::int64_t amount) {
  if (end <= begin) end = begin + 1;
  window_of(end - 1);  // windows keep their length from here on
  // The amount counted up to an instant in between; rounded so that parts sum to the whole.
  const auto until = [&](Picoseconds at) {
    return to_signed(static_cast<Wide>(amount) * (at - begin) / (end - begin));
  };
  for (Picoseconds from = begin; from < end;) {
    const Picoseconds to = std::min(end, (from / window_ + 1) * window_);
    Window& window = window_of(from);
    window.value += until(to) - until(from);
    window.told = true;
    from = to;
  }
}

void CounterTrack::level(Picoseconds at, std::int64_t value) {
  Window& window = window_of(at);
  window.value = window.told ? std::max(window.value, value) : value;
  window.last = value;
  window.told = true;
}

CounterTrack::Window& CounterTrack::window_of(Picoseconds at) {
  while (to_size(at / window_) >= kMostWindows) join();
  const auto index = to_size(at / window_);
  if (index >= windows_.size()) windows_.resize(index + 1);
  return windows_[index];
}

void CounterTrack::join() {
  window_ *= 2;
  const bool sums = info_.kind != CounterInfo::Kind::kLevel;
  for (std::size_t i = 0; i < windows_.size(); i += 2) {
    Window joined = windows_[i];
    if (i + 1 < windows_.size() && windows_[i + 1].told) {
      const Window& second = windows_[i + 1];
      if (sums)
        joined.value += second.value;
      else
        joined.value = joined.told ? std::max(joined.value, second.value) : second.value;
      joined.last = second.last, joined.told = true;
    }
    windows_[i / 2] = joined;
  }
  windows_.resize((windows_.size() + 1) / 2);
}

void CounterTrack::limit(std::size_t most) {
  while (windows_.size() > std::max<std::size_t>(most, 1)) join();
}

void CounterTrack::for_each(const std::function<void(Cycle, double)>& show) const {
  std::optional<double> shown;
  std::int64_t last = 0;  // level
  const auto cycles = static_cast<double>(window_cycles());
  for (std::size_t i = 0; i <= windows_.size(); ++i) {
    const Window window = i < windows_.size() ? windows_[i] : Window{};
    double value = static_cast<double>(window.value);
    if (info_.kind == CounterInfo::Kind::kLevel) {
      value = static_cast<double>(window.told ? std::max(last, window.value) : last);
      if (window.told) last = window.last;
    } else {
      value /= cycles;
    }
    if (shown && *shown == value) continue;
    shown = value;
    show(static_cast<Cycle>(i) * window_cycles(), value);
  }
}

}  // namespace tilebeat
