#include "tilebeat/observe/counter_track.h"

#include <algorithm>
#include <optional>

namespace tilebeat {
namespace {

__extension__ using Wide = __int128;

}  // namespace

void CounterTrack::count(Picoseconds begin, Picoseconds end, std::int64_t amount) {
  if (end <= begin) end = begin + 1;
  window_of(end - 1);  // so that windows stay as they are from here on
  // What was counted up to an instant within, so that parts sum to the whole.
  const auto until = [&](Picoseconds at) {
    return static_cast<std::int64_t>(static_cast<Wide>(amount) * (at - begin) / (end - begin));
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
  while (static_cast<std::size_t>(at / window_) >= kMostWindows) join();
  const auto index = static_cast<std::size_t>(at / window_);
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
