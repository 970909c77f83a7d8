#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

// A trace that keeps every change, for tests that look at signals.

#include "observe/trace.h"
#include "sim/clock.h"

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
  SignalId declare(const SignalInfo& info) override {
    EXPECT_GE(info.width_bits, 1);
    const auto id = static_cast<SignalId>(changes_.size());
    EXPECT_TRUE(ids_.emplace(info.scope + "." + info.name, id).second) << "names are unique";
    changes_.emplace_back();
    return id;
  }
  void change(SignalId signal, Picoseconds at, std::uint64_t value) override {
    EXPECT_GE(at, now_ps()) << "changes lie in the present or the future";
    changes_[static_cast<std::size_t>(signal)][at] = value;
  }
  /// The lowest 64 bits are recorded.
  void change(SignalId signal, Picoseconds at, const std::uint8_t* bytes, std::size_t count) override {
    std::uint64_t value = 0;
    std::memcpy(&value, bytes, std::min(count, sizeof value));
    change(signal, at, value);
  }
  void text(SignalId signal, Picoseconds at, std::string_view text) override { texts_[signal][at] = text; }
  void unknown(SignalId signal, Picoseconds at) override { unknown_[signal].insert(at); }
  /// When the signal's value was said to be unknown.
  std::set<Picoseconds> unknown(const std::string& name) const {
    const auto found = unknown_.find(ids_.at(name));
    return found == unknown_.end() ? std::set<Picoseconds>{} : found->second;
  }

  bool declared(const std::string& name) const { return ids_.count(name) > 0; }
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
  std::map<SignalId, std::map<Picoseconds, std::string>> texts_;
  std::map<SignalId, std::set<Picoseconds>> unknown_;
  std::vector<std::map<Picoseconds, std::uint64_t>> changes_;
};

/// A timeline that keeps its slices.
class RecordingTimeline : public Timeline {
 public:
  struct Span {
    std::string track;
    std::string what;
    Picoseconds begin;
    Picoseconds end;
  };
  std::vector<Span> spans;
  void slice(const std::string& track, const Slice& slice) override {
    spans.push_back({track, slice.what, slice.begin, slice.end});
  }
  ActivityListener& activities(const std::string& /*module*/, Picoseconds /*period*/) override {
    return nobody_;
  }
  CounterId add_counter(const CounterInfo& /*info*/) override { return 0; }
  void count(CounterId, Picoseconds, Picoseconds, std::int64_t) override {}
  void level(CounterId, Picoseconds, std::int64_t) override {}

 private:
  class Nobody : public ActivityListener {
    void spent(Activity, Cycle, Cycle, CycleOrder) override {}
  };
  Nobody nobody_;
};

}  // namespace tilebeat::testing
