#pragma once

// SPEC OT-4 and OT-6 as a machine that is stepped clock by clock: tags, miss buffer, memory port, places and
// lanes. It shares no code with the product; expectations of the line cache come from it.

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <vector>

namespace tilebeat::testing {

/// What it is made of.
struct PlainCacheSizes {
  int line_bytes = 64, sets = 64, ways = 4;
  bool fifo = false;
  int banks = 16;
  bool rotated = true;
  int shift = 0;
  int misses = 8, hit_latency = 2;
  int line_clocks = 1, memory_latency = 1;
};

/// A beat: addresses and bytes by thread, the first clock in which it may be looked up, and how long the
/// lanes are held up by something else before it.
struct PlainBeat {
  std::vector<std::pair<std::uint64_t, int>> operands;
  std::int64_t earliest = 0;
};

class PlainCache {
 public:
  explicit PlainCache(const PlainCacheSizes& sizes)
      : s_(sizes), sets_(static_cast<std::size_t>(sizes.sets)) {}

  std::int64_t hits = 0, misses = 0, evictions = 0, conflicts = 0;
  /// By beat: the clock of its tags, and the one in which the lanes begin with it.
  std::vector<std::int64_t> looked, begun;

  /// Clock after clock until all beats have gone through lanes that take them as soon as they can.
  void run(const std::vector<PlainBeat>& beats) {
    looked.assign(beats.size(), -1), begun.assign(beats.size(), -1);
    std::size_t next = 0, front = 0;
    std::int64_t lanes_free = 0;
    std::vector<Flight> flights(beats.size());
    for (std::int64_t now = 0; front < beats.size(); ++now) {
      settle(now);
      enter(flights, front, lanes_free, now);
      if (next < beats.size() && looked[next] < 0 && now >= beats[next].earliest && !tags_busy_) {
        looked[next] = now;
        look(beats[next], flights[next]);
        tags_busy_ = true;
      }
      // Entries of the miss buffer, for as many misses of the beat at the tags as there are.
      while (next < beats.size() && tags_busy_ && flights[next].unallocated > 0 && in_buffer_ < s_.misses) {
        ++in_buffer_, --flights[next].unallocated;
        waiting_.push_back({next, flights[next].lines.size()});
        flights[next].lines.push_back(std::nullopt);
      }
      request(flights, now);
      if (next < beats.size() && tags_busy_ && flights[next].unallocated == 0) tags_busy_ = false, ++next;
      // The lanes.
      while (front < next && now >= lanes_free && ready(flights[front], looked[front], now)) {
        begun[front] = now;
        lanes_free = now + clocks(beats[front]);
        ++front;
        break;
      }
    }
  }

 private:
  struct Flight {
    int unallocated = 0;
    std::vector<std::optional<std::int64_t>>
        lines;                // of misses: the first clock in which the bytes are there
    std::size_t entered = 0;  // of them
    std::int64_t last_entered = -1;
  };
  struct Line {
    std::uint64_t number = 0;
    std::int64_t stamp = 0;
  };

  void look(const PlainBeat& beat, Flight& flight) {
    std::vector<std::uint64_t> lines;
    for (const auto& [address, bytes] : beat.operands) {
      for (int i = 0; i < bytes; ++i) {
        const std::uint64_t line =
            (address + static_cast<std::uint64_t>(i)) / static_cast<std::uint64_t>(s_.line_bytes);
        if (std::find(lines.begin(), lines.end(), line) == lines.end()) lines.push_back(line);
      }
    }
    for (const std::uint64_t line : lines) {
      ++time_;
      auto& set = sets_[static_cast<std::size_t>(line % static_cast<std::uint64_t>(s_.sets))];
      const auto found =
          std::find_if(set.begin(), set.end(), [&](const Line& l) { return l.number == line; });
      if (found != set.end()) {
        ++hits;
        if (!s_.fifo) found->stamp = time_;
        continue;
      }
      ++misses, ++flight.unallocated;
      if (static_cast<int>(set.size()) == s_.ways) {
        ++evictions;
        set.erase(std::min_element(set.begin(), set.end(),
                                   [](const Line& a, const Line& b) { return a.stamp < b.stamp; }));
      }
      set.push_back({line, time_});
    }
  }

  // The port takes one line after the other; its bytes are there `memory_latency` clocks after its last
  // access.
  void request(std::vector<Flight>& flights, std::int64_t now) {
    if (waiting_.empty() || now < port_free_) return;
    const auto [beat, line] = waiting_.front();
    waiting_.pop_front();
    port_free_ = now + s_.line_clocks;
    flights[beat].lines[line] = now + s_.line_clocks + s_.memory_latency;
  }

  // One line a clock enters, of the beat that is next for the lanes while these read nothing.
  void enter(std::vector<Flight>& flights, std::size_t front, std::int64_t lanes_free, std::int64_t now) {
    if (front >= flights.size() || now < lanes_free) return;
    Flight& flight = flights[front];
    if (flight.entered == flight.lines.size() || !flight.lines[flight.entered] ||
        *flight.lines[flight.entered] > now)
      return;
    ++flight.entered;
    flight.last_entered = now;
    leaves_.push_back(now);
  }
  // An entry that was left in a clock is free in the next one.
  void settle(std::int64_t now) {
    while (!leaves_.empty() && leaves_.front() < now) leaves_.pop_front(), --in_buffer_;
  }
  bool ready(const Flight& flight, std::int64_t at, std::int64_t now) {
    return flight.unallocated == 0 && flight.entered == flight.lines.size() && flight.last_entered < now &&
           now >= at + s_.hit_latency;
  }

  int clocks(const PlainBeat& beat) {
    std::map<int, std::set<std::uint64_t>> words;
    for (const auto& [address, bytes] : beat.operands) {
      for (int i = 0; i < bytes; ++i) {
        const std::uint64_t word = (address + static_cast<std::uint64_t>(i)) / 4;
        const std::uint64_t line = word * 4 / static_cast<std::uint64_t>(s_.line_bytes);
        const std::uint64_t place = word - line * static_cast<std::uint64_t>(s_.line_bytes) / 4;
        const std::uint64_t turned = place + (s_.rotated ? line >> s_.shift : 0);
        words[static_cast<int>(turned % static_cast<std::uint64_t>(s_.banks))].insert(word);
      }
    }
    std::size_t most = 1;
    for (const auto& [bank, of_bank] : words) most = std::max(most, of_bank.size());
    conflicts += static_cast<std::int64_t>(most) - 1;
    return static_cast<int>(most);
  }

  PlainCacheSizes s_;
  std::vector<std::vector<Line>> sets_;
  std::int64_t time_ = 0;
  bool tags_busy_ = false;
  int in_buffer_ = 0;
  std::deque<std::pair<std::size_t, std::size_t>> waiting_;  // beat and line, not asked for yet
  std::deque<std::int64_t> leaves_;
  std::int64_t port_free_ = 0;
};

}  // namespace tilebeat::testing
