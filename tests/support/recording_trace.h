#pragma once

// A trace that keeps every change, for tests that look at signals.

#include "tilebeat/observe/trace.h"
#include "tilebeat/sim/clock.h"

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace tilebeat::testing {

/// Keeps every change; a change before the present is an error.
class RecordingTrace : public Trace {
 public:
  SignalId add_signal(const std::string& scope, const std::string& name, int width_bits) override {
    EXPECT_GE(width_bits, 1);
    EXPECT_LE(width_bits, 64);
    const auto id = static_cast<SignalId>(changes_.size());
    EXPECT_TRUE(ids_.emplace(scope + "." + name, id).second) << "names are unique";
    changes_.emplace_back();
    return id;
  }
  void change(SignalId signal, Picoseconds at, std::uint64_t value) override {
    EXPECT_GE(at, now_ps()) << "changes lie in the present or the future";
    changes_[static_cast<std::size_t>(signal)][at] = value;
  }
  void unknown(SignalId signal, Picoseconds at) override { unknown_[signal].insert(at); }
  /// When the signal's value was said to be unknown.
  std::set<Picoseconds> unknown(const std::string& name) const {
    const auto found = unknown_.find(ids_.at(name));
    return found == unknown_.end() ? std::set<Picoseconds>{} : found->second;
  }

  /// Changes of the value, in order.
  std::vector<std::pair<Picoseconds, std::uint64_t>> of(const std::string& name) const {
    std::vector<std::pair<Picoseconds, std::uint64_t>> result;
    for (const auto& change : changes_[static_cast<std::size_t>(ids_.at(name))]) {
      if (result.empty() || result.back().second != change.second) result.emplace_back(change);
    }
    return result;
  }
  /// Cycles of `period` in which the signal is not zero.
  Cycle busy(const std::string& name, Picoseconds period) const {
    Picoseconds total = 0;
    const auto changes = of(name);
    for (std::size_t i = 0; i + 1 < changes.size(); ++i) {
      if (changes[i].second != 0) total += changes[i + 1].first - changes[i].first;
    }
    return total / period;
  }

 private:
  std::map<std::string, SignalId> ids_;
  std::map<SignalId, std::set<Picoseconds>> unknown_;
  std::vector<std::map<Picoseconds, std::uint64_t>> changes_;
};

/// A timeline that keeps its spans.
class RecordingTimeline : public Timeline {
 public:
  struct Span {
    std::string track;
    std::string what;
    Picoseconds begin;
    Picoseconds end;
  };
  std::vector<Span> spans;
  void span(const std::string& track, const std::string& what, Picoseconds begin, Picoseconds end) override {
    spans.push_back({track, what, begin, end});
  }
};

}  // namespace tilebeat::testing
